"""Reports what a job does to the command that runs the program.

Checkpoints as such write no line, or a long run would fill the disk.
"""

from __future__ import annotations

import os
import threading
import time
from contextlib import suppress
from dataclasses import replace

from rekindle.checkpoint.completed_checkpoint import CompletedCheckpoint
from rekindle.checkpoint.paths import METADATA
from rekindle.checkpoint.stored_checkpoint import StoredCheckpoint
from rekindle.contracts.job.job_status import JobStatus
from rekindle.exceptions import CheckpointError
from rekindle.program.program_errors import RUN_REPORT
from rekindle.program.run_report import JobReport, write_line
from rekindle.runtime.master.views.progress import JobObserver


def job_reporter(job_id: str, job_name: str, recoverable: bool = False) -> JobReporter | None:
    """Return what reports a job, if a command asks for that."""
    path = os.environ.get(RUN_REPORT)
    return JobReporter(job_id, job_name, path, recoverable) if path else None


class JobReporter(JobObserver):
    """Report a job to the command that runs its program.

    Args:
        job_id: The job's id.
        job_name: Its name.
        path: The file for the report.
        recoverable: Whether the next driver goes on with the job, if this one dies.
    """

    def __init__(self, job_id: str, job_name: str, path: str, recoverable: bool = False) -> None:
        self._path = path
        self._lock = threading.Lock()  # savepoints are completed in threads of their own
        self._started = time.monotonic()
        self._stored: StoredCheckpoint | None = None
        self._report = JobReport(job_id, job_name, JobStatus.CREATED.name, pid=os.getpid(), recoverable=recoverable)

    def start(self) -> None:
        self._tell(JobStatus.CREATED)

    def attempt_started(self, attempt: int, checkpoint_id: int | None) -> None:
        self._tell(JobStatus.RUNNING)

    def checkpoint_completed(self, checkpoint: CompletedCheckpoint) -> None:
        self._stored = checkpoint.location

    def savepoint_completed(self, location: str) -> None:
        self._tell(savepoint=location)

    def failed(self, error: BaseException, delay_ms: int | None) -> None:
        self._tell(JobStatus.FAILING if delay_ms is None else JobStatus.RESTARTING, failure=str(error))

    def ended(self, status: str) -> None:
        self._tell(JobStatus[status], checkpoint=self._last_checkpoint())

    def _tell(
        self,
        status: JobStatus | None = None,
        checkpoint: str | None = None,
        savepoint: str | None = None,
        failure: str | None = None,
    ) -> None:
        """Write a line; what is not given is as it was."""
        runtime = round((time.monotonic() - self._started) * 1000)
        with self._lock:
            before = self._report
            self._report = replace(
                before,
                status=before.status if status is None else status.name,
                runtime_ms=runtime,
                checkpoint=checkpoint or before.checkpoint,
                savepoint=savepoint or before.savepoint,
                failure=failure or before.failure,
            )
            write_line(self._path, self._report.to_line())

    def _last_checkpoint(self) -> str | None:
        return None if self._stored is None else kept_location(self._stored)


def kept_location(stored: StoredCheckpoint) -> str | None:
    """Return where a checkpoint is if it is still there, now that its job has ended."""
    if stored.files is None:
        return None
    with suppress(CheckpointError):  # that the storage cannot be reached is no reason to fail now
        if METADATA in stored.files.list(stored.directory):
            return stored.files.describe(stored.directory)
    return None
