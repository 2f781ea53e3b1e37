"""The clock, passed in wherever time matters."""

from __future__ import annotations

import time
from typing import Protocol

_LEAST_STEP_NS = 500_000_000


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


class ClockSteps:
    """Notice that the clock of this machine was set, by comparing it with one that only counts what passes."""

    def __init__(self) -> None:
        self._ahead, _ = _ahead_ns()

    def millis(self) -> int:
        """Return by how much it was set since this was asked last; 0: it was not, or by less than can be told."""
        ahead, inexact = _ahead_ns()
        step = ahead - self._ahead
        if abs(step) <= _LEAST_STEP_NS + inexact:
            return 0
        self._ahead = ahead
        return step // 1_000_000


def _ahead_ns() -> tuple[int, int]:
    """Return how far the machine's clock is ahead of what has passed, and how long it took to find that out."""
    before = _passed_ns()
    wall = time.time_ns()
    after = _passed_ns()
    return wall - after, after - before


def _passed_ns() -> int:
    if hasattr(time, "CLOCK_BOOTTIME"):
        return time.clock_gettime_ns(time.CLOCK_BOOTTIME)
    return time.monotonic_ns()
