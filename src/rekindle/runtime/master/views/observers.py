"""Everything that observes a job, told through one guard.

Observers are the view, the history, the archive, and the report to the command that runs the program. They are called
from the job's own threads, and from those that hear the slots.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TextIO

from rekindle.checkpoint.completed_checkpoint import CompletedCheckpoint
from rekindle.runtime.master.views.observer_guard import ObserverGuard
from rekindle.runtime.master.views.progress import EpochSummary, JobObserver, ProgressView
from rekindle.runtime.master.views.start_times import Phase


class JobObservers(ProgressView):
    """Tell a view, and others that observe a job, what happens to it, each by itself.

    Args:
        view: What people see. What the job prints goes there alone.
        first: Who is told before the view.
        then: Who is told after it.
    """

    def __init__(
        self, view: ProgressView, first: tuple[JobObserver, ...] = (), then: tuple[JobObserver, ...] = ()
    ) -> None:
        super().__init__(view.job_name)
        self._view = view
        self._observers = (*first, view, *then)
        self._guard = ObserverGuard(view.job_name)

    def of_job(self, job_id: str) -> None:
        self._tell(lambda each: each.of_job(job_id))

    def start(self) -> None:
        self._tell(lambda each: each.start())

    def attempt_started(self, attempt: int, checkpoint_id: int | None) -> None:
        self._tell(lambda each: each.attempt_started(attempt, checkpoint_id))

    def epoch_finished(self, summary: EpochSummary) -> None:
        self._tell(lambda each: each.epoch_finished(summary))

    def checkpoint_completed(self, checkpoint: CompletedCheckpoint) -> None:
        self._tell(lambda each: each.checkpoint_completed(checkpoint))

    def checkpoint_failed(self, checkpoint_id: int, reason: str, text: str) -> None:
        self._tell(lambda each: each.checkpoint_failed(checkpoint_id, reason, text))

    def savepoint_completed(self, location: str) -> None:
        self._tell(lambda each: each.savepoint_completed(location))

    def notice(self, line: str) -> None:
        self._tell(lambda each: each.notice(line))

    def reachable_at(self, url: str) -> None:
        self._tell(lambda each: each.reachable_at(url))

    def dashboard_at(self, url: str) -> None:
        self._tell(lambda each: each.dashboard_at(url))

    def failed(self, error: BaseException, delay_ms: int | None) -> None:
        self._tell(lambda each: each.failed(error, delay_ms))

    def recovered(self, attempt: int, milliseconds: Mapping[Phase, int]) -> None:
        self._tell(lambda each: each.recovered(attempt, milliseconds))

    def ended(self, status: str) -> None:
        self._tell(lambda each: each.ended(status))

    def show(self, text: str, stream: TextIO | None) -> None:
        self._guard.call(type(self._view).__name__, lambda: self._view.show(text, stream))

    def recent_lines(self) -> dict[str, list[str]]:
        return self._view.recent_lines()

    def _tell(self, what: Callable[[JobObserver], None]) -> None:
        for observer in self._observers:
            self._guard.call(type(observer).__name__, lambda observer=observer: what(observer))  # type: ignore[misc]
