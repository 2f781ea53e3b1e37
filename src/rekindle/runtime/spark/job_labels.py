"""What Spark's own UI shows of a job: the names of its query and its stages, the descriptions of its Spark jobs."""

from __future__ import annotations

import textwrap
from collections.abc import Collection
from dataclasses import dataclass

from rekindle.graph.job_graph import JobGraph

STAGE_NAME = "callSite.short"
"""The property by which Spark names the stages that a thread makes; where nothing is said, by the line that does so."""

STAGE_DETAILS = "callSite.long"

_LONGEST = 120


@dataclass(frozen=True, slots=True)
class JobLabels:
    """Describe to readers of Spark's UI what a job is doing.

    Attributes:
        job: The name of the job.
        stages: The name of each level.
    """

    job: str
    stages: tuple[str, ...]

    @classmethod
    def of(cls, job: str, graph: JobGraph) -> JobLabels:
        """Name the levels of a job by the operators in them."""
        operators: list[dict[str, None]] = [{} for _ in range(graph.levels)]
        for node in graph.nodes:
            operators[node.level][node.name] = None
        return cls(job, tuple(_stage(level, [*names]) for level, names in enumerate(operators)))

    def epoch(self, number: int, first: int, last: int) -> str:
        """Describe the part of an epoch that runs these levels."""
        levels = f"level {first}" if first == last else f"levels {first} to {last}"
        return f"{self.job}: epoch {number}, {levels}"

    def query(self, taken: Collection[str]) -> str:
        """Name the query: like the job, unless another query of the session has that name."""
        name, number = self.job if self.job.strip() else "rekindle", 2
        free = name
        while free in taken:
            free = f"{name} ({number})"
            number += 1
        return free


def slots_label(job: str, slots: int, attempt: int) -> str:
    """Describe what starts the slots of an attempt."""
    return f"{job}: start of {slots} slot{'s' * (slots > 1)}, attempt {attempt}"


def rows_label(job: str) -> str:
    """Describe what writes rows of a job into tables."""
    return f"{job}: rows for a table"


def _stage(level: int, operators: list[str]) -> str:
    return textwrap.shorten(f"level {level}: {', '.join(operators)}", _LONGEST, placeholder=" …")
