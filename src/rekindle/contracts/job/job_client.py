"""What one can ask of a running job. The runtime implements it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from rekindle.base.html_table import html_table
from rekindle.contracts.job.completable_future import CompletableFuture
from rekindle.contracts.job.job_execution_result import JobExecutionResult
from rekindle.contracts.job.job_id import JobID
from rekindle.contracts.job.job_status import JobStatus
from rekindle.contracts.job.savepoint_format_type import SavepointFormatType

__all__ = ["JobClient"]


class JobClient(ABC):
    """Speak to one job that was submitted; every call but ``get_job_id`` returns a future."""

    @abstractmethod
    def get_job_id(self) -> JobID:
        """Return the job's id."""

    @abstractmethod
    def get_job_status(self) -> CompletableFuture[JobStatus]:
        """Ask for the job's state."""

    @abstractmethod
    def cancel(self) -> CompletableFuture[None]:
        """Cancel the job; the future is done once that is under way."""

    @abstractmethod
    def stop_with_savepoint(
        self,
        advance_to_end_of_event_time: bool,
        savepoint_directory: str | None = None,
        format_type: SavepointFormatType | None = None,
    ) -> CompletableFuture[str]:
        """Stop the job with a savepoint; the future has the savepoint's path once the job is FINISHED.

        All output in the savepoint is committed then. If the savepoint fails, the job continues, and the future raises
        :class:`~rekindle.exceptions.StopFailedError`.

        Args:
            advance_to_end_of_event_time: Let all input end first, so that all windows and timers fire (drain).
            savepoint_directory: Where to write it; ``None`` takes the configured directory.
            format_type: Accepted, as in Java; there is one format.
        """

    @abstractmethod
    def cancel_with_savepoint(
        self, savepoint_directory: str | None = None, format_type: SavepointFormatType | None = None
    ) -> CompletableFuture[str]:
        """Take a savepoint, then cancel the job; the future has the savepoint's path. PyFlink does not have this.

        Output that no checkpoint has committed before is committed by the job that starts from the savepoint. To have
        it at once, stop the job instead.

        Args:
            savepoint_directory: Where to write it; ``None`` takes the configured directory.
            format_type: Accepted, as in Java; there is one format.
        """

    @abstractmethod
    def trigger_savepoint(
        self, savepoint_directory: str | None = None, format_type: SavepointFormatType | None = None
    ) -> CompletableFuture[str]:
        """Take a savepoint while the job continues; the future has the savepoint's path.

        Args:
            savepoint_directory: Where to write it; ``None`` takes the configured directory.
            format_type: Accepted, as in Java; there is one format.
        """

    @abstractmethod
    def get_accumulators(self) -> CompletableFuture[dict[str, Any]]:
        """Ask for the accumulators as they are now."""

    def get_queryable_state_proxies(self) -> CompletableFuture[list[tuple[str, int]]]:
        """Ask where clients can query the job's state: host and port of each slot's proxy. PyFlink does not have this.

        There are none while the job starts or restarts, and where queryable state is off.
        """
        return CompletableFuture.completed([])

    def _repr_html_(self) -> str:
        """Show the job in a notebook."""
        try:
            status: str = self.get_job_status().result().name
        except Exception as error:  # its driver does not answer, for instance
            status = f"not known: {error}"
        return html_table("Job", {"Id": self.get_job_id(), "Status": status})

    @abstractmethod
    def get_job_execution_result(self) -> CompletableFuture[JobExecutionResult]:
        """Return the future of the job's end: its result, or the exception it failed with."""
