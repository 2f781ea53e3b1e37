"""The operator that state belongs to, as far as a backend has to know it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from rekindle.serialization.encodings.pickle_serializer import PickleSerializer
from rekindle.state.queryable_state import QueryableState
from rekindle.state.state_evolution import StateName
from rekindle.state.timer_heap import TimerHeap, heapq_timers
from rekindle.types.type_serializer import TypeSerializer


def _ignore(line: str) -> None:
    """Tell nobody."""


def _ignore_queries(state: QueryableState) -> None:
    """Let nobody query a state."""


@dataclass(frozen=True, slots=True)
class StateOwner:
    """Describe an operator to its backend.

    Attributes:
        name: Its name, for messages.
        uid: Its uid, for messages.
        key_serializer: Serializes its keys.
        report: Shows a line of progress to whoever runs the job.
        publish: Lets clients query a state; by default there are none.
        timer_heap: Makes what keeps the timers of one of its queues in order.
    """

    name: str
    uid: str = ""
    key_serializer: TypeSerializer[Any] = PickleSerializer()  # noqa: RUF009 - it keeps nothing
    report: Callable[[str], None] = _ignore
    publish: Callable[[QueryableState], None] = _ignore_queries
    timer_heap: Callable[[], TimerHeap] = heapq_timers

    def state(self, name: str) -> StateName:
        """Name one of its states."""
        return StateName(self.name, self.uid, name)
