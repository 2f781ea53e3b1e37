"""What is remembered of the epochs of a job: the last ones, and how the whole run went, at a resolution that fits.

Pure: it is told the time. However long a job runs, it holds a bounded number of points.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

RECENT = 200
POINTS = 240
_FIRST_STEP_MS = 1_000


@dataclass(frozen=True, slots=True)
class FinishedEpoch:
    """Describe an epoch that has ended.

    Attributes:
        epoch: Its number in its attempt.
        attempt: The attempt.
        ended: When it ended, in milliseconds.
        seconds: How long it took.
        records: How many records came from sources.
        busy_seconds: For how long the busiest slot worked.
        watermark: The lowest watermark at the ends of the streams.
    """

    epoch: int
    attempt: int
    ended: int
    seconds: float
    records: int
    busy_seconds: float
    watermark: int


@dataclass(frozen=True, slots=True)
class TimelinePoint:
    """Sum up the epochs that ended in a stretch of time, which begins at ``time``."""

    time: int
    epochs: int
    records: int
    seconds: float
    busy_seconds: float

    def with_later(self, other: TimelinePoint) -> TimelinePoint:
        """Return both in one."""
        return TimelinePoint(
            self.time,
            self.epochs + other.epochs,
            self.records + other.records,
            self.seconds + other.seconds,
            self.busy_seconds + other.busy_seconds,
        )


class EpochHistory:
    """Remember epochs.

    Attributes:
        step_ms: How long a stretch of time is that a point of the timeline stands for.
    """

    def __init__(self, recent: int = RECENT, points: int = POINTS) -> None:
        self.step_ms = _FIRST_STEP_MS
        self._recent: deque[FinishedEpoch] = deque(maxlen=recent)
        self._points: dict[int, TimelinePoint] = {}
        self._most = points

    def add(self, epoch: FinishedEpoch) -> None:
        """Remember an epoch that has just ended."""
        self._recent.append(epoch)
        self._put(TimelinePoint(epoch.ended, 1, epoch.records, epoch.seconds, epoch.busy_seconds))
        while len(self._points) > self._most:
            self.step_ms *= 2
            finer, self._points = self._points, {}
            for point in finer.values():
                self._put(point)

    def recent(self) -> tuple[FinishedEpoch, ...]:
        """Return the last epochs, the oldest first."""
        return tuple(self._recent)

    def timeline(self) -> tuple[TimelinePoint, ...]:
        """Return the whole run, the beginning first; where no epoch ended, there is no point."""
        return tuple(self._points[time] for time in sorted(self._points))

    def _put(self, point: TimelinePoint) -> None:
        time = point.time - point.time % self.step_ms
        moved = TimelinePoint(time, point.epochs, point.records, point.seconds, point.busy_seconds)
        known = self._points.get(time)
        self._points[time] = moved if known is None else known.with_later(moved)
