"""When the next periodic checkpoint is due, as interval, pause and concurrency have it."""

from __future__ import annotations

from rekindle.checkpoint.options import CheckpointOptions


class PeriodicSchedule:
    """Tell when a periodic checkpoint is due.

    Args:
        options: What the user set.
        now: The current time; the first one is due one interval later.
    """

    def __init__(self, options: CheckpointOptions, now: int) -> None:
        self._options = options
        self._last_trigger = now
        self._last_end: int | None = None

    def triggered(self, now: int) -> None:
        """Learn that a checkpoint was triggered: the interval begins."""
        self._last_trigger = now

    def ended(self, now: int) -> None:
        """Learn that a checkpoint is complete, or has failed: the pause begins."""
        self._last_end = now

    def room_for_another(self, under_way: int) -> bool:
        """Return whether another one may begin while so many are under way, savepoints not counted."""
        return under_way < self._options.max_concurrent

    def due_at(self, under_way: int) -> int | None:
        """Return when the next one is due; None if more than time is in the way.

        Args:
            under_way: How many checkpoints are under way, savepoints not counted.
        """
        interval = self._options.interval_ms
        if interval is None or not self.room_for_another(under_way):
            return None
        due_at = self._last_trigger + interval
        return due_at if self._last_end is None else max(due_at, self._last_end + self._options.min_pause_ms)
