"""What is remembered of a job, running or ended: its states, its failures, its attempts, and how fast it goes.

It is told by the job master, once for each thing that happens and once an epoch; it is read by whoever is asked about
the job. Nothing in it keeps the job's records or state alive.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from rekindle.base.clock import Clock
from rekindle.contracts.job.job_status import JobStatus
from rekindle.exceptions import SlotLostError, UserCodeError
from rekindle.runtime.master.views.epoch_history import EpochHistory, FinishedEpoch, TimelinePoint
from rekindle.runtime.master.views.observer_guard import ObserverGuard
from rekindle.runtime.master.views.progress import EpochSummary, JobObserver
from rekindle.runtime.operators.operator import MIN_WATERMARK

_RATE_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class SlotPlace:
    """Say where a slot runs."""

    host: str
    pid: int


@dataclass(frozen=True, slots=True)
class Failure:
    """Describe one failure of a job.

    Attributes:
        timestamp: When it was noticed.
        attempt: Which attempt it ended, from 0.
        name: The kind of the error.
        text: What it says, with the user's part of the traceback if it has one.
        operator: The name of the operator whose function failed; None: it was none.
        subtask: Which slot it was in, if it was in one.
        place: Where that slot ran.
        restart_delay_ms: After how long the job was to start again; None: the job failed.
    """

    timestamp: int
    attempt: int
    name: str
    text: str
    operator: str | None
    subtask: int | None
    place: SlotPlace | None
    restart_delay_ms: int | None


@dataclass(frozen=True, slots=True)
class Progress:
    """Sum up the epochs of a job.

    Attributes:
        epochs: How many have ended, over all attempts.
        records_in: How many records came from sources, over all attempts.
        records_in_per_second: The average over the last minute.
        last: The last epoch; None: there was none yet.
    """

    epochs: int = 0
    records_in: int = 0
    records_in_per_second: float = 0.0
    last: EpochSummary | None = None

    @property
    def watermark(self) -> int:
        """Return the lowest watermark at the ends of the streams."""
        return MIN_WATERMARK if self.last is None else self.last.watermark


@dataclass(frozen=True, slots=True)
class AttemptStart:
    """Say when the slots of an attempt were ready, and what they restored."""

    attempt: int
    timestamp: int
    restored_checkpoint: int | None
    places: dict[int, SlotPlace] = field(default_factory=dict)


class JobHistory:
    """Keep what happened to one job.

    Attributes:
        start_time: When the job was made, in milliseconds.
        end_request: What asked for its end first, if that is known.

    Args:
        clock: Tells the time.
        locate: Tells where the slots run; asked when they are ready.
        limit: How many failures to remember.
        job_name: The job's name.
    """

    def __init__(
        self,
        clock: Clock,
        locate: Callable[[], dict[int, SlotPlace]] = dict,
        limit: int = 16,
        job_name: str = "",
    ) -> None:
        self._clock = clock
        self._guard = ObserverGuard(job_name)
        self._locate = locate
        self._lock = threading.Lock()
        self._status = JobStatus.CREATED
        self.start_time = clock.now()
        self.end_request: str | None = None
        self._times: dict[str, int] = {"INITIALIZING": self.start_time, JobStatus.CREATED.name: self.start_time}
        self._end_time: int | None = None
        self._limit = limit
        self._failures: deque[Failure] = deque(maxlen=limit)
        self._failed = 0
        self._restarts = 0
        self._attempt: AttemptStart | None = None
        self._attempts: deque[AttemptStart] = deque(maxlen=limit)
        self._listeners: list[Callable[[], None]] = []
        self._running = False
        self._epochs = 0
        self._records = 0
        self._last: EpochSummary | None = None
        self._noted: deque[tuple[float, int]] = deque()
        self._epoch_history = EpochHistory()

    # --- what happens ---

    @property
    def status(self) -> JobStatus:
        """Return what the job does."""
        return self._status

    def enter(self, status: JobStatus) -> None:
        """Note that the job is in another state now."""
        with self._lock:
            if status is self._status:
                return
            now = self._clock.now()
            self._status = status
            self._times[status.name] = now
            if status is not JobStatus.RUNNING:
                self._running = self._running and status is JobStatus.CANCELLING
            if status.is_terminal_state():
                self._end_time = now
                self._locate = dict  # whoever tells where slots are need not outlive the job
        self._tell()

    def ask_for_end(self, what: str) -> bool:
        """Note what asks for the end of the job; tell whether it is the first to do so."""
        with self._lock:
            if self.end_request is not None:
                return False
            self.end_request = what
            return True

    def attempt_started(self, attempt: int, checkpoint_id: int | None) -> None:
        """Note that the slots of an attempt are ready."""
        places = self._locate()
        with self._lock:
            self._attempt = AttemptStart(attempt, self._clock.now(), checkpoint_id, places)
            self._attempts.append(self._attempt)
            self._running = True
        self._tell()

    def epoch_finished(self, summary: EpochSummary) -> None:
        """Count an epoch."""
        now = time.monotonic()
        with self._lock:
            if not self._noted:
                self._noted.append((now - summary.seconds, 0))
            self._epochs += 1
            self._records += summary.records
            self._last = summary
            if now - self._noted[-1][0] >= 1.0:
                self._noted.append((now, self._records))
            while len(self._noted) > 1 and now - self._noted[1][0] >= _RATE_SECONDS:
                self._noted.popleft()
            attempt = 0 if self._attempt is None else self._attempt.attempt
            finished = FinishedEpoch(
                summary.epoch,
                attempt,
                self._clock.now(),
                summary.seconds,
                summary.records,
                summary.busy_seconds,
                summary.watermark,
            )
            self._epoch_history.add(finished)

    def failed(self, error: BaseException, delay_ms: int | None) -> None:
        """Note a failure, and whether the job starts again."""
        with self._lock:
            # Where the slots of an attempt run is known once they are ready; those of the attempt before are elsewhere.
            places = self._attempt.places if self._attempt is not None and self._running else {}
            self._running = False
            self._failed += 1
            self._restarts += delay_ms is not None
            operator = error.operator if isinstance(error, UserCodeError) else None
            subtask = error.subtask if isinstance(error, UserCodeError) else None
            if isinstance(error, SlotLostError):
                subtask = error.slot
            failure = Failure(
                timestamp=self._clock.now(),
                attempt=self._failed - 1,
                name=f"{type(error).__module__}.{type(error).__qualname__}",
                text=str(error),
                operator=operator,
                subtask=subtask,
                place=None if subtask is None else places.get(subtask),
                restart_delay_ms=delay_ms,
            )
            self._failures.append(failure)
        self._tell()

    def given_up(self, error: BaseException) -> None:
        """Note what a job failed with, unless the failure of its last attempt is noted as the reason."""
        if not self._failures or self._failures[-1].restart_delay_ms is not None:
            self.failed(error, None)

    def listen(self, news: Callable[[], None]) -> None:
        """Have a function called after everything that happens but epochs; it must not wait for anything."""
        self._listeners.append(news)

    def _tell(self) -> None:
        for news in self._listeners:
            self._guard.call("a listener", news)

    # --- what is known ---

    @property
    def end_time(self) -> int | None:
        """Return when the job ended; None: it has not."""
        return self._end_time

    def now(self) -> int:
        """Return the current time, as the job's clock has it."""
        return self._clock.now()

    def duration(self) -> int:
        """Return how long the job has run, or ran."""
        return (self.now() if self._end_time is None else self._end_time) - self.start_time

    def status_times(self) -> dict[str, int]:
        """Return when the job came into each state last, 0: never. The names are Flink's."""
        with self._lock:
            return {"INITIALIZING": 0, **{status.name: 0 for status in JobStatus}, **self._times}

    def exceptions(self) -> list[Failure]:
        """Return the failures that are remembered, newest first."""
        with self._lock:
            return list(reversed(self._failures))

    @property
    def exceptions_forgotten(self) -> bool:
        """Return whether there were more failures than are remembered."""
        return self._failed > len(self._failures)

    @property
    def restarts(self) -> int:
        """Return how often the job was started again."""
        return self._restarts

    @property
    def slots_running(self) -> bool:
        """Return whether the slots of the current attempt are ready."""
        return self._running

    @property
    def attempt(self) -> AttemptStart | None:
        """Return the last attempt whose slots were ready; None: there was none."""
        return self._attempt

    def attempts(self) -> list[AttemptStart]:
        """Return the attempts that are remembered, newest first."""
        with self._lock:
            return list(reversed(self._attempts))

    def epochs(self) -> tuple[tuple[FinishedEpoch, ...], int, tuple[TimelinePoint, ...]]:
        """Return the last epochs; and of the whole run, how long a point stands for, and the points."""
        with self._lock:
            return self._epoch_history.recent(), self._epoch_history.step_ms, self._epoch_history.timeline()

    def progress(self) -> Progress:
        """Sum up the epochs."""
        now = time.monotonic()
        with self._lock:
            rate = 0.0
            if self._noted and self._running:
                since, count = self._noted[0]
                rate = (self._records - count) / max(now - since, 1e-3)
            return Progress(self._epochs, self._records, rate, self._last)


class HistoryObserver(JobObserver):
    """Let a history hear what happens to its job; its states the job master tells it itself."""

    def __init__(self, history: JobHistory) -> None:
        self._history = history

    def attempt_started(self, attempt: int, checkpoint_id: int | None) -> None:
        self._history.attempt_started(attempt, checkpoint_id)

    def epoch_finished(self, summary: EpochSummary) -> None:
        self._history.epoch_finished(summary)

    def failed(self, error: BaseException, delay_ms: int | None) -> None:
        self._history.failed(error, delay_ms)
