"""Lets what a view is told be kept on disk, too."""

from __future__ import annotations

from typing import Any, cast

from rekindle.checkpoint.completed_checkpoint import CompletedCheckpoint
from rekindle.runtime.master.views.job_archiver import JobArchiver
from rekindle.runtime.master.views.progress import ProgressView


def archived(view: ProgressView, archiver: JobArchiver) -> ProgressView:
    """Let an archiver hear what a view is told; the start and the end of the job the job master tells it itself."""
    return cast(ProgressView, _ArchivedView(view, archiver))


class _ArchivedView:
    """Tell an archiver what a view is told. All else is the view's own."""

    def __init__(self, view: ProgressView, archiver: JobArchiver) -> None:
        self._view = view
        self._archiver = archiver

    def __getattr__(self, name: str) -> Any:
        return getattr(self._view, name)

    def attempt_started(self, attempt: int, checkpoint_id: int | None) -> None:
        self._view.attempt_started(attempt, checkpoint_id)
        self._archiver.note()

    def checkpoint_completed(self, checkpoint: CompletedCheckpoint) -> None:
        self._view.checkpoint_completed(checkpoint)
        self._archiver.note_checkpoint(checkpoint)

    def savepoint_completed(self, location: str) -> None:
        self._view.savepoint_completed(location)
        self._archiver.note_savepoint(location)

    def failed(self, error: BaseException, delay_ms: int | None) -> None:
        self._view.failed(error, delay_ms)
        self._archiver.note()
