"""Keyed state as an operator of the program's own sees it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol

from rekindle.contracts.key_groups import KeyGroupRange
from rekindle.contracts.state import State, StateDescriptor

__all__ = ["KeyedStateAccess"]


class KeyedStateAccess(Protocol):
    """Give the keyed state of a subtask, and the key whose state it is.

    Attributes:
        key: The current key; it may be set.
        key_groups: The key groups of the subtask.
    """

    key: Any
    key_groups: KeyGroupRange

    def get_or_create(self, descriptor: StateDescriptor) -> State:
        """Return a state, which shows what belongs to the current key."""

    def keys(self, name: str) -> Iterator[Any]:
        """Return the keys that a state holds something for."""

    def state_names(self) -> list[str]:
        """Name all states."""
