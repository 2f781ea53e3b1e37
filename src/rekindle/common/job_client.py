"""What one can ask of a running job. The runtime implements it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from rekindle.common.completable_future import CompletableFuture
from rekindle.common.job_execution_result import JobExecutionResult
from rekindle.common.job_id import JobID
from rekindle.common.job_status import JobStatus

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
        self, advance_to_end_of_event_time: bool, savepoint_directory: str | None = None
    ) -> CompletableFuture[str]:
        """Stop the job with a savepoint; the future has the savepoint's path.

        Args:
            advance_to_end_of_event_time: Emit the highest watermark before, so that all windows fire.
            savepoint_directory: Where to write it; ``None`` takes the configured directory.
        """

    @abstractmethod
    def trigger_savepoint(self, savepoint_directory: str | None = None) -> CompletableFuture[str]:
        """Take a savepoint while the job goes on; the future has the savepoint's path.

        Args:
            savepoint_directory: Where to write it; ``None`` takes the configured directory.
        """

    @abstractmethod
    def get_accumulators(self) -> CompletableFuture[dict[str, Any]]:
        """Ask for the accumulators as they are now."""

    @abstractmethod
    def get_job_execution_result(self) -> CompletableFuture[JobExecutionResult]:
        """Return the future of the job's end: its result, or the exception it failed with."""
