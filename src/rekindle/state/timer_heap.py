"""How a queue of timers keeps them in order. Nothing is promised about those of one timestamp."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

Entry: TypeAlias = tuple[int, int, Any]
"""A timer: its timestamp, a number that no other timer of the queue has, and its key."""


@dataclass(frozen=True, slots=True)
class TimerHeap:
    """Hold what keeps a list of timers in order.

    Attributes:
        push: Adds an entry to the list.
        pop: Takes the first entry of a list that is not empty.
        remove: Removes an entry and tells whether it did; None: entries stay until they are popped.
    """

    push: Callable[[list[Entry], Entry], None]
    pop: Callable[[list[Entry]], Entry]
    remove: Callable[[list[Entry], Entry], bool] | None = None


_HEAPQ = TimerHeap(heapq.heappush, heapq.heappop)


def heapq_timers() -> TimerHeap:
    """Let timers of one timestamp fire in the order in which they were set."""
    return _HEAPQ
