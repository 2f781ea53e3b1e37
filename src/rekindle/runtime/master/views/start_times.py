"""How long an attempt takes until its first epoch has ended, by phase; after a failure, from the failure on."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum


class Phase(Enum):
    """Name what happens one after the other, as it is told."""

    STOP = "to stop what was left"
    DELAY = "of restart delay"
    SLOTS = "until the slots ran"
    RESTORE = "to restore"
    FIRST_EPOCH = "for the first epoch"


class StartTimes:
    """Measure the phases of a start.

    Args:
        now: Tells the time, in milliseconds.
    """

    def __init__(self, now: Callable[[], int]) -> None:
        self._now = now
        self._last = now()
        self._phases: dict[Phase, int] = {}

    def mark(self, phase: Phase) -> None:
        """Note that a phase has just ended, and the next one begins."""
        now = self._now()
        self._phases[phase] = max(0, now - self._last)  # clocks are set back now and then
        self._last = now

    def so_far(self) -> int:
        """Return how long the phases took that have ended, in milliseconds."""
        return sum(self._phases.values())

    def milliseconds(self) -> dict[Phase, int]:
        """Return the phases so far, in their order."""
        return {phase: self._phases[phase] for phase in Phase if phase in self._phases}


def describe_start(milliseconds: Mapping[Phase, int]) -> str:
    """Return how long a start after a failure took."""
    phases = ", ".join(f"{each / 1000:.2f} s {phase.value}" for phase, each in milliseconds.items())
    return f"{sum(milliseconds.values()) / 1000:.2f} s after the failure: {phases}"
