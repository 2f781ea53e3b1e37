"""What every keyed state backend offers to the operators above it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from rekindle.datastream.state import State, StateDescriptor
from rekindle.exceptions import StateAccessError
from rekindle.state.key_groups import KeyGroupRange


@dataclass(frozen=True, slots=True)
class KeyGroupBlock:
    """Carry the entries of one state in one key group, encoded."""

    state: str
    kind: str
    key_group: int
    entries: int
    data: bytes


class _NoKey:
    """Stand for the current key while there is none: looking it up in a state raises."""

    __slots__ = ()

    def __hash__(self) -> int:
        raise StateAccessError(
            "keyed state was used where there is no current key, such as in open() or close(): a value belongs to the "
            "key of a record. Only get the state's handle there; read and write it while a record or timer is processed"
        )

    def __repr__(self) -> str:
        return "<no key>"


NO_KEY = _NoKey()


class KeyedStateBackend(ABC):
    """Keep the keyed state of one operator in one subtask.

    ``key`` is the current key: what a state handle returns and changes depends on it. Operators set it before every
    call into user code, so it is a plain attribute; before that it is NO_KEY.
    """

    __slots__ = ("key", "key_groups", "max_parallelism")

    key: Any
    key_groups: KeyGroupRange
    max_parallelism: int

    @abstractmethod
    def get_or_create(self, descriptor: StateDescriptor) -> State:
        """Give the handle of a state; the same descriptor gives the same state."""

    @abstractmethod
    def snapshot_blocks(self) -> Iterator[KeyGroupBlock]:
        """Encode all state, a block per state and key group."""

    @abstractmethod
    def restore_blocks(self, blocks: Iterable[KeyGroupBlock]) -> None:
        """Take over the entries of blocks that were written by :meth:`snapshot_blocks`."""

    @abstractmethod
    def state_names(self) -> list[str]:
        """Name the states that hold anything, or may."""

    @abstractmethod
    def entry_count(self) -> int:
        """Count the entries held, as a measure of how long a snapshot takes."""
