"""A state that clients may query, as the backend that keeps it makes it known."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from rekindle.contracts.key_groups import KeyGroupRange
from rekindle.contracts.state import StateDescriptor
from rekindle.state.kinds.state_kind import StateKind
from rekindle.state.state_serializers import StateSerializers


class StateBusyError(Exception):
    """Say that a state cannot be looked at without waiting for a checkpoint; a moment later it can."""


@dataclass(frozen=True, slots=True)
class QueryableState:
    """Describe a state of one subtask that clients may query.

    Attributes:
        name: The name that clients know it by.
        uid: The operator's uid.
        operator: The operator's name.
        descriptor: The state.
        kind: What kind of state it is.
        serializers: The serializers that the program gives it.
        key_groups: The key groups that the subtask keeps.
        max_parallelism: The number of all key groups.
        peek: Returns what the state keeps for a key and has not expired, as its shape says; None: nothing. To be called
            while nothing else runs in the slot: what it returns may change with the state.
    """

    name: str
    uid: str
    operator: str
    descriptor: StateDescriptor
    kind: StateKind[Any]
    serializers: StateSerializers
    key_groups: KeyGroupRange
    max_parallelism: int
    peek: Callable[[Any], Any]
