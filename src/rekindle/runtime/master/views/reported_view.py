"""Reports what a job does to the command that runs the program.

Checkpoints as such write no line, or a long run would fill the disk.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from typing import TextIO

from rekindle.checkpoint.completed_checkpoint import CompletedCheckpoint
from rekindle.checkpoint.paths import METADATA
from rekindle.checkpoint.stored_checkpoint import StoredCheckpoint
from rekindle.contracts.job.job_status import JobStatus
from rekindle.exceptions import CheckpointError
from rekindle.program.program_errors import RUN_REPORT
from rekindle.program.run_report import JobReport, write_line
from rekindle.runtime.master.views.progress import EpochSummary, ProgressView
from rekindle.runtime.master.views.start_times import Phase


def reported(view: ProgressView, job_id: str, recoverable: bool = False) -> ProgressView:
    """Let a job be reported, if a command asks for that."""
    path = os.environ.get(RUN_REPORT)
    return ReportedView(view, job_id, path, recoverable) if path else view


class ReportedView(ProgressView):
    """Show what another view shows, and report it as well."""

    def __init__(self, view: ProgressView, job_id: str, path: str, recoverable: bool = False) -> None:
        super().__init__(view.job_name)
        self._view = view
        self._path = path
        self._lock = threading.Lock()  # savepoints are completed in threads of their own
        self._started = time.monotonic()
        self._stored: StoredCheckpoint | None = None
        self._report = JobReport(
            job_id, view.job_name, JobStatus.CREATED.name, pid=os.getpid(), recoverable=recoverable
        )

    def start(self) -> None:
        self._view.start()
        self._tell(JobStatus.CREATED)

    def dashboard_at(self, url: str) -> None:
        self._view.dashboard_at(url)

    def attempt_started(self, attempt: int, checkpoint_id: int | None) -> None:
        self._view.attempt_started(attempt, checkpoint_id)
        self._tell(JobStatus.RUNNING)

    def epoch_finished(self, summary: EpochSummary) -> None:
        self._view.epoch_finished(summary)

    def checkpoint_completed(self, checkpoint: CompletedCheckpoint) -> None:
        self._view.checkpoint_completed(checkpoint)
        self._stored = checkpoint.location

    def checkpoint_failed(self, checkpoint_id: int, reason: str, text: str) -> None:
        self._view.checkpoint_failed(checkpoint_id, reason, text)

    def savepoint_completed(self, location: str) -> None:
        self._view.savepoint_completed(location)
        self._tell(savepoint=location)

    def notice(self, line: str) -> None:
        self._view.notice(line)

    def reachable_at(self, url: str) -> None:
        self._view.reachable_at(url)

    def failed(self, error: BaseException, delay_ms: int | None) -> None:
        self._view.failed(error, delay_ms)
        self._tell(JobStatus.FAILING if delay_ms is None else JobStatus.RESTARTING, failure=str(error))

    def recovered(self, attempt: int, milliseconds: Mapping[Phase, int]) -> None:
        self._view.recovered(attempt, milliseconds)

    def ended(self, status: str) -> None:
        self._view.ended(status)
        self._tell(JobStatus[status], checkpoint=self._last_checkpoint())

    def show(self, text: str, stream: TextIO) -> None:
        self._view.show(text, stream)

    def recent_lines(self) -> dict[str, list[str]]:
        return self._view.recent_lines()

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
