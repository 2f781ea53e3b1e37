"""How many records a generating source may emit now. Pure: the time is passed in."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from math import ceil

from rekindle.exceptions import InvalidProgramError

_LEAST_PAUSE_MS = 100  # records come in small groups, ten times a second, rather than in an epoch each


class RateLimiter(ABC):
    """Limit the records of one subtask."""

    @abstractmethod
    def allowed(self, now: int) -> int:
        """Return how many records may be emitted now."""

    @abstractmethod
    def emitted(self, records: int) -> None:
        """Learn how many were emitted."""

    @abstractmethod
    def next_at(self) -> int | None:
        """Return when to ask again, after all that was allowed was emitted; None: no time is known."""

    def checkpoint_completed(self) -> None:  # noqa: B027 - most take no notice
        """Learn that a checkpoint is complete."""


class PerSecond(RateLimiter):
    """Allow this many records a second, evenly; missed ones are made up for, up to a second's worth."""

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
    """Allow this many records from one completed checkpoint to the next."""

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


@dataclass(frozen=True)
class RateLimiterStrategy:
    """How fast a source may emit, all subtasks together.

    Attributes:
        records_per_second: At most this many a second, if set.
        records_per_checkpoint: At most this many from one checkpoint to the next, if set.
    """

    records_per_second: float | None = None
    records_per_checkpoint: int | None = None

    @staticmethod
    def per_second(records_per_second: float) -> RateLimiterStrategy:
        """Allow this many records a second; they come in small groups, at most ten a second."""
        if not records_per_second > 0:
            raise ValueError(f"a rate is above 0 records per second, and {records_per_second} was given")
        return RateLimiterStrategy(records_per_second=records_per_second)

    @staticmethod
    def per_checkpoint(records_per_checkpoint: int) -> RateLimiterStrategy:
        """Allow this many records from one completed checkpoint to the next."""
        if records_per_checkpoint < 1:
            raise ValueError(f"at least 1 record per checkpoint is needed, and {records_per_checkpoint} was given")
        return RateLimiterStrategy(records_per_checkpoint=records_per_checkpoint)

    @staticmethod
    def no_op() -> RateLimiterStrategy:
        """Allow any number."""
        return RateLimiterStrategy()

    def create_rate_limiter(self, parallelism: int) -> RateLimiter | None:
        """Make the limiter of one of ``parallelism`` subtasks; None: there is no limit."""
        if self.records_per_second is not None:
            return PerSecond(self.records_per_second / parallelism)
        if self.records_per_checkpoint is not None:
            if self.records_per_checkpoint < parallelism:
                raise InvalidProgramError(
                    f"{self.records_per_checkpoint} records per checkpoint are too few for {parallelism} subtasks: "
                    "each needs at least one. Allow more, or set a lower parallelism"
                )
            return PerCheckpoint(self.records_per_checkpoint // parallelism)
        return None
