"""The state primitives as functions use them.

A handle belongs to a state, and what it returns belongs to the current key. Objects
that are changed in place without ``update`` or ``put`` are not promised to be kept.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, Generic

from rekindle.base.type_variables import IN, OUT, K, T, V

if TYPE_CHECKING:
    from rekindle.contracts.state.state_descriptors import ListStateDescriptor, MapStateDescriptor


class State(ABC):
    """The base of all states."""

    @abstractmethod
    def clear(self) -> None:
        """Remove everything the state holds for the current key."""


class ValueState(State, Generic[T]):
    """Hold one value per key."""

    @abstractmethod
    def value(self) -> T | Any:
        """Return the value; the descriptor's default, else None, if there is none."""

    @abstractmethod
    def update(self, value: T | None) -> None:
        """Replace the value; None clears the state."""


class AppendingState(State, Generic[IN, OUT]):
    """Take values one by one, and give back what became of them."""

    @abstractmethod
    def get(self) -> OUT | Any:
        """Return what the added values came to; None if there are none."""

    @abstractmethod
    def add(self, value: IN) -> None:
        """Add a value."""


class MergingState(AppendingState[IN, OUT]):
    """An appending state of which two can be merged into one, as merging windows need."""


class ReducingState(MergingState[T, T]):
    """Hold the reduction of all values added for a key, computed as they are added."""


class AggregatingState(MergingState[IN, OUT]):
    """Hold the accumulator of all values added for a key; ``get`` returns its result.

    Adding None clears the state.
    """


class FoldingState(AppendingState[IN, OUT]):
    """Hold all values added for a key folded into one. Deprecated: use ``AggregatingState``."""


class ListState(MergingState[T, Iterable[T]]):
    """Hold a list per key, or, as operator state, a list per subtask. None is no element."""

    @abstractmethod
    def get(self) -> Iterable[T]:
        """Return the elements in the order they were added; nothing to iterate over if there are none."""

    @abstractmethod
    def update(self, values: list[T]) -> None:
        """Replace all elements; an empty list leaves the state empty."""

    @abstractmethod
    def add_all(self, values: list[T]) -> None:
        """Add several elements at the end."""

    def __iter__(self) -> Iterator[T]:
        return iter(self.get())


class MapState(State, Generic[K, V]):
    """Hold a map per key; entries are read, written and expire one by one.

    It reads like a dict: ``state[k]``, ``state[k] = v``, ``del state[k]``, ``k in state``,
    ``for k in state``. Other than with a dict, ``state[k]`` is None if there is no such entry, and deleting
    a missing one is no error.
    """

    @abstractmethod
    def get(self, key: K) -> V | Any:
        """Return the value of ``key``; None if there is no such entry."""

    @abstractmethod
    def put(self, key: K, value: V) -> None:
        """Set the value of ``key``; an entry whose value is None counts as contained."""

    @abstractmethod
    def put_all(self, dict_value: dict[K, V]) -> None:
        """Set several entries."""

    @abstractmethod
    def remove(self, key: K) -> None:
        """Remove the entry of ``key``, if there is one."""

    @abstractmethod
    def contains(self, key: K) -> bool:
        """Return True if there is an entry of ``key``."""

    @abstractmethod
    def items(self) -> Iterable[tuple[K, V]]:
        """Return all entries."""

    @abstractmethod
    def keys(self) -> Iterable[K]:
        """Return the keys of all entries."""

    @abstractmethod
    def values(self) -> Iterable[V]:
        """Return the values of all entries."""

    @abstractmethod
    def is_empty(self) -> bool:
        """Return True if there is no entry."""

    def __getitem__(self, key: K) -> V | Any:
        return self.get(key)

    def __setitem__(self, key: K, value: V) -> None:
        self.put(key, value)

    def __delitem__(self, key: K) -> None:
        self.remove(key)

    def __contains__(self, key: K) -> bool:
        return self.contains(key)

    def __iter__(self) -> Iterator[K]:
        return iter(self.keys())


class ReadOnlyBroadcastState(State, Generic[K, V]):
    """Read the map that the broadcast side keeps; nothing in it may be changed, ``clear`` included."""

    @abstractmethod
    def get(self, key: K) -> V | Any:
        """Return the value of ``key``; None if there is no such entry."""

    @abstractmethod
    def contains(self, key: K) -> bool:
        """Return True if there is an entry of ``key``."""

    @abstractmethod
    def items(self) -> Iterable[tuple[K, V]]:
        """Return all entries."""

    @abstractmethod
    def keys(self) -> Iterable[K]:
        """Return the keys of all entries."""

    @abstractmethod
    def values(self) -> Iterable[V]:
        """Return the values of all entries."""

    @abstractmethod
    def is_empty(self) -> bool:
        """Return True if there is no entry."""

    def immutable_entries(self) -> Iterable[tuple[K, V]]:
        """Return all entries, for reading only."""
        return self.items()

    def __getitem__(self, key: K) -> V | Any:
        return self.get(key)

    def __contains__(self, key: K) -> bool:
        return self.contains(key)

    def __iter__(self) -> Iterator[K]:
        return iter(self.keys())


class BroadcastState(ReadOnlyBroadcastState[K, V]):
    """Hold a map of which every subtask has a copy.

    The copies stay equal only if every subtask makes the same changes for the same broadcast elements, in
    whatever order they come. After a restore with another parallelism each subtask reads one of the copies.
    """

    @abstractmethod
    def put(self, key: K, value: V) -> None:
        """Set the value of ``key``."""

    @abstractmethod
    def put_all(self, dict_value: dict[K, V]) -> None:
        """Set several entries."""

    @abstractmethod
    def remove(self, key: K) -> None:
        """Remove the entry of ``key``, if there is one."""

    def __setitem__(self, key: K, value: V) -> None:
        self.put(key, value)

    def __delitem__(self, key: K) -> None:
        self.remove(key)


class OperatorStateStore(ABC):
    """Hand out operator state: state that belongs to a subtask, not to a key. It is always in memory.

    The same descriptor always gives the same state. A name that is taken, with another type or by another of these
    methods, raises.
    """

    @abstractmethod
    def get_broadcast_state(self, state_descriptor: MapStateDescriptor[K, V]) -> BroadcastState[K, V]:
        """Return the state of which every subtask keeps the same copy."""

    @abstractmethod
    def get_list_state(self, state_descriptor: ListStateDescriptor[T]) -> ListState[T]:
        """Return a list whose elements are dealt out evenly when the parallelism has changed."""

    @abstractmethod
    def get_union_list_state(self, state_descriptor: ListStateDescriptor[T]) -> ListState[T]:
        """Return a list of which every subtask gets the elements of all subtasks after a restore.

        Keep in it only what is the subtask's own: what every subtask leaves in it is there as many times after the next
        restore.
        """

    @abstractmethod
    def get_registered_state_names(self) -> set[str]:
        """Return the names of all lists, those that were restored and not asked for included."""

    @abstractmethod
    def get_registered_broadcast_state_names(self) -> set[str]:
        """Return the names of all broadcast states, those that were restored and not asked for included."""
