"""What operators ask of the timers of one time domain, wherever these are kept."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from typing import Any

from rekindle.state.blocks import KeyGroupBlock


class TimerStore(ABC):
    """Keep timers; the same (key, timestamp) is one timer.

    In a store with namespaces the key of a timer is ``(key, namespace)``, as that of namespaced state is.

    Attributes:
        name: What the timers are called in a snapshot.
    """

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    @abstractmethod
    def register(self, key: Any, timestamp: int) -> None:
        """Add a timer unless it is there already.

        Raises:
            TypeError: The timestamp is no integer.
            ValueError: It does not fit into 64 bits.
        """

    @abstractmethod
    def delete(self, key: Any, timestamp: int) -> None:
        """Remove a timer if it is there; a timestamp that no timer can have raises as in :meth:`register`."""

    @abstractmethod
    def pop_due(self, until: int) -> tuple[Any, int] | None:
        """Take the earliest timer that is due at ``until``, as (key, timestamp)."""

    @abstractmethod
    def next_timestamp(self) -> int | None:
        """Return when the earliest timer is due."""

    @abstractmethod
    def latest_timestamp(self) -> int | None:
        """Return when the latest timer is due."""

    @abstractmethod
    def clear(self) -> None:
        """Remove all timers."""

    @abstractmethod
    def __len__(self) -> int:
        """Count the timers; where they are on disk, about."""

    @abstractmethod
    def may_hold_any(self) -> bool:
        """Return whether there is any timer, or may be, without looking on disk."""

    @abstractmethod
    def snapshot_blocks(self, max_parallelism: int) -> Iterator[KeyGroupBlock]:
        """Encode the timers that are in memory, a block per key group; all others are in the backend's own snapshot."""

    @abstractmethod
    def blocks_of(self, key: Any, max_parallelism: int) -> Iterator[KeyGroupBlock]:
        """Encode the timers of one key."""

    @abstractmethod
    def blocks(self, ordered: Iterable[tuple[Any, int]], max_parallelism: int) -> Iterator[KeyGroupBlock]:
        """Encode some timers, each as :meth:`pop_due` gives it, a block per key group."""

    def restore_blocks(self, blocks: Iterable[KeyGroupBlock], max_parallelism: int | None = None) -> None:
        """Take over the timers of blocks written by :meth:`snapshot_blocks`.

        Args:
            blocks: The blocks.
            max_parallelism: The number of key groups, by which to check that keys belong where they were; None: do not.

        Raises:
            StateMigrationException: The type of the keys has changed.
        """
        for key, timestamp in self.timers_in(blocks, max_parallelism):
            self.register(key, timestamp)

    @abstractmethod
    def timers_in(
        self, blocks: Iterable[KeyGroupBlock], max_parallelism: int | None = None
    ) -> Iterator[tuple[Any, int]]:
        """Read the timers of blocks, each as :meth:`pop_due` gives it; arguments and errors: :meth:`restore_blocks`."""

    @abstractmethod
    def read_back(self, block: KeyGroupBlock, max_parallelism: int) -> None:
        """Read a block of :meth:`snapshot_blocks` as a restore would.

        Raises:
            SerializationError: It cannot be read.
        """
