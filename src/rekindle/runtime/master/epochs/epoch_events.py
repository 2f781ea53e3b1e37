"""What happens to the epochs of an attempt, as values."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class EpochWaits:
    """An epoch could begin. Its thread waits for leave."""

    epoch: int


@dataclass(frozen=True, slots=True)
class EpochEnded:
    """All slots have reported the end of an epoch.

    Attributes:
        epoch: Its number.
        finished: Whether all operators have seen the end of their input.
        more: Whether another epoch has something to do at once.
        next_timer: When the next processing-time timer is due.
    """

    epoch: int
    finished: bool = False
    more: bool = False
    next_timer: int | None = None
