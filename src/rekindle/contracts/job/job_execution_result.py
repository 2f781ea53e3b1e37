"""What is known of a job once it finished."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rekindle.base.html_table import html_table
from rekindle.contracts.job.job_id import JobID

__all__ = ["JobExecutionResult"]


class JobExecutionResult:
    """Give a finished job's id, running time, and accumulators."""

    def __init__(
        self,
        job_id: JobID,
        net_runtime: int,
        accumulators: Mapping[str, Any] | None = None,
        problem: Exception | None = None,
    ) -> None:
        self._job_id = job_id
        self._net_runtime = net_runtime
        self._accumulators = dict(accumulators or {})
        self._problem = problem

    def get_job_id(self) -> JobID:
        """Return the job's id."""
        return self._job_id

    def get_net_runtime(self) -> int:
        """Return how many milliseconds the job ran, without the time to prepare it."""
        return self._net_runtime

    def get_accumulator_result(self, accumulator_name: str) -> Any:
        """Return an accumulator's value, ``None`` if the job had none of that name.

        Raises:
            InvalidProgramError: Those of all subtasks could not be merged.
        """
        if self._problem is not None:
            raise self._problem
        return self._accumulators.get(accumulator_name)

    def get_all_accumulator_results(self) -> dict[str, Any]:
        """Return the values of all accumulators by name.

        Raises:
            InvalidProgramError: Those of all subtasks could not be merged.
        """
        if self._problem is not None:
            raise self._problem
        return dict(self._accumulators)

    def _repr_html_(self) -> str:
        """Show the result in a notebook."""
        rows = {"Id": self._job_id, "Runtime": f"{self._net_runtime:,} ms", **self._accumulators}
        return html_table("Job finished", {str(name): value for name, value in rows.items()})

    def __str__(self) -> str:
        lines = [
            "Program execution finished",
            f"Job with JobID {self._job_id} has finished.",
            f"Job Runtime: {self._net_runtime} ms",
        ]
        if self._accumulators:
            lines.append("Accumulator Results: ")
            lines.extend(f"- {name} ({type(value).__name__}): {value}" for name, value in self._accumulators.items())
        return "\n".join(lines) + "\n"
