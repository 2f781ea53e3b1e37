"""The operator that state belongs to, as far as a backend has to know it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from rekindle.serialization.encodings.pickle_serializer import PickleSerializer
from rekindle.state.queryable_state import QueryableState
from rekindle.state.state_evolution import StateName
from rekindle.types.type_serializer import TypeSerializer


def _ignore(line: str) -> None:
    """Tell nobody."""


@dataclass(frozen=True, slots=True)
class StateOwner:
    """Describe an operator to its backend.

    Attributes:
        name: Its name, for messages.
        uid: Its uid, for messages.
        key_serializer: Serializes its keys.
        report: Shows a line of progress to whoever runs the job.
        publish: Lets clients query a state; None: they cannot.
    """

    name: str
    uid: str = ""
    key_serializer: TypeSerializer[Any] = PickleSerializer()  # noqa: RUF009 - it keeps nothing
    report: Callable[[str], None] = _ignore
    publish: Callable[[QueryableState], None] | None = None

    def state(self, name: str) -> StateName:
        """Name one of its states."""
        return StateName(self.name, self.uid, name)
