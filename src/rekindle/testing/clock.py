"""A clock that stands still until a test moves it."""

from __future__ import annotations

__all__ = ["ManualClock"]


class ManualClock:
    """Tell the time a test has set, in milliseconds since the epoch; goes wherever Rekindle takes a clock."""

    def __init__(self, now: int = 0) -> None:
        """Start at ``now``."""
        self._now = now

    def now(self) -> int:
        """Return the current time."""
        return self._now

    def set(self, now: int) -> None:
        """Move to a point in time; backwards too, as the clocks of machines do."""
        self._now = now

    def advance(self, millis: int) -> None:
        """Move on by some milliseconds."""
        self._now += millis
