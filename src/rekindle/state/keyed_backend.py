"""What every keyed state backend offers to the operators above it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from rekindle.datastream.state import State, StateDescriptor
from rekindle.state.key_groups import KeyGroupRange


@dataclass(frozen=True, slots=True)
class KeyGroupBlock:
    """Carry the entries of one state in one key group, encoded."""

    state: str
    kind: str
    key_group: int
    entries: int
    data: bytes


class KeyedStateBackend(ABC):
    """Keep the keyed state of one operator in one subtask.

    ``key`` is the current key: what a state handle returns and changes depends on it. Operators set it before every
    call into user code, so it is a plain attribute.
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
