"""The clock, passed in wherever time matters."""

from __future__ import annotations

import time
from typing import Protocol


class Clock(Protocol):
    """Tell the time, in milliseconds since the epoch."""

    def now(self) -> int:
        """Return the current time."""
        ...


class SystemClock:
    """Tell the time of this machine, which people and time servers set: it may jump."""

    def now(self) -> int:
        """Return the current time."""
        return time.time_ns() // 1_000_000


class SteadyClock:
    """Tell the time of this machine as it was when this clock was made, and what has passed since: it never jumps.

    What waits for a time to pass, such as the interval of checkpoints, does so by this clock. A machine that sleeps
    lets time pass.
    """

    def __init__(self) -> None:
        self._ahead = time.time_ns() - _passed_ns()

    def now(self) -> int:
        """Return the current time."""
        return (self._ahead + _passed_ns()) // 1_000_000


def _passed_ns() -> int:
    if hasattr(time, "CLOCK_BOOTTIME"):
        return time.clock_gettime_ns(time.CLOCK_BOOTTIME)
    return time.monotonic_ns()
