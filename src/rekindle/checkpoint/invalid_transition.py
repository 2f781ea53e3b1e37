"""The error for a call that the checkpoint coordinator's state does not allow."""

from __future__ import annotations

from rekindle.checkpoint.events import Event
from rekindle.exceptions import CheckpointError


class InvalidCheckpointTransitionError(CheckpointError):
    """The checkpoint coordinator was driven wrongly: a bug in Rekindle, not in the program.

    Attributes:
        problem: What was wrong.
        history: The events before it, oldest first.
    """

    def __init__(self, problem: str, history: tuple[Event, ...] = ()) -> None:
        super().__init__(problem, history)
        self.problem = problem
        self.history = history

    def __str__(self) -> str:
        lines = [f"{self.problem} This is a bug in Rekindle; the last events were:"]
        lines += [f"  {event}" for event in self.history] or ["  (none)"]
        return "\n".join(lines)
