"""How many records a generating source may emit now. Pure: the time is passed in."""

from __future__ import annotations

from abc import ABC, abstractmethod
from math import ceil

_LEAST_PAUSE_MS = 100  # records come in small groups, ten times a second, rather than in an epoch each


class RateLimiter(ABC):
    """Limit the records of one subtask."""

    @abstractmethod
    def allowed(self, now: int) -> int:
        """Tell how many records may be emitted now."""

    @abstractmethod
    def emitted(self, records: int) -> None:
        """Learn how many were emitted."""

    @abstractmethod
    def next_at(self) -> int | None:
        """Tell when to ask again, after all that was allowed was emitted; None: no time is known."""

    def checkpoint_completed(self) -> None:  # noqa: B027 - most take no notice
        """Learn that a checkpoint is complete."""


class PerSecond(RateLimiter):
    """Allow so many records a second, evenly; what was missed is made up for, up to a second's worth."""

    def __init__(self, records: float) -> None:
        self._per_ms = records / 1000
        self._most = max(1.0, records)
        self._credit = 1.0
        self._as_of: int | None = None

    def allowed(self, now: int) -> int:
        if self._as_of is None:
            self._as_of = now
        elif now > self._as_of:
            self._credit = min(self._most, self._credit + (now - self._as_of) * self._per_ms)
            self._as_of = now
        elif now < self._as_of:
            self._as_of = now  # the clock was set back
        return int(self._credit + 1e-9)

    def emitted(self, records: int) -> None:
        self._credit -= records

    def next_at(self) -> int | None:
        if self._as_of is None:
            return None
        return self._as_of + max(_LEAST_PAUSE_MS, ceil((1 - self._credit) / self._per_ms))


class PerCheckpoint(RateLimiter):
    """Allow so many records from one completed checkpoint to the next."""

    def __init__(self, records: int) -> None:
        self._records = self._left = records

    def allowed(self, now: int) -> int:
        return self._left

    def emitted(self, records: int) -> None:
        self._left -= records

    def next_at(self) -> int | None:
        return None

    def checkpoint_completed(self) -> None:
        self._left = self._records
