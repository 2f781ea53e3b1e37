"""What the job master lets an iteration do in an epoch."""

from __future__ import annotations

from enum import StrEnum


class IterationPhase(StrEnum):
    """Name what becomes of the records that wait in a loop."""

    HOLD = "hold"
    """They wait: not all input of the rounds is there."""

    RUN = "run"
    """They go round once."""

    DRAIN = "drain"
    """They go round, and event time has come to its end: the input has ended."""

    OVER = "over"
    """None go round any more. What the last of several rounds fed back is the result."""
