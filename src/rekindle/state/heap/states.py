"""Handles of keyed state on the heap: live Python objects in one dict per state.

These methods run once or more per record. They look up the current key and its entry in the dict, and where snapshots
are incremental note what they changed; entries are sorted into key groups only when a snapshot is written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from rekindle.contracts.functions.basic_functions import AggregateFunction
from rekindle.contracts.state import AggregatingState, ListState, ReducingState, State, ValueState
from rekindle.state.heap.changes import StateChanges
from rekindle.state.list_elements import none_refused, without_none
from rekindle.state.scope import Scope, unhashable_map_key
from rekindle.state.state_primitives import RangedMapState


class HeapState(State):
    """Keep an entry per key, and note in ``_changed`` (None: nobody asks) whose entry was changed."""

    __slots__ = ("_changed", "_entries", "_scope")

    def __init__(self, scope: Scope, entries: dict[Any, Any]) -> None:
        self._scope = scope
        self._entries = entries
        self._changed: Callable[[Any], None] | None = None

    def note_changes(self, changes: StateChanges | None) -> None:
        """Note what is changed from now on, or do not."""
        self._changed = None if changes is None else changes.keys.add

    def stored_all(self, keys: Iterable[Any]) -> list[Any]:
        """Return the entries of many keys; None where there is none."""
        return list(map(self._entries.get, keys))

    def store_all(self, keys: list[Any], values: list[Any]) -> None:
        """Replace the entries of many keys; no value is None."""
        self._entries.update(zip(keys, values, strict=True))
        if self._changed is not None:
            for key in keys:
                self._changed(key)

    def clear(self) -> None:
        key = self._scope.key
        if key in self._entries:
            del self._entries[key]
            if self._changed is not None:
                self._changed(key)

    def _store(self, value: Any) -> None:
        if value is None:
            self.clear()
            return
        key = self._scope.key
        self._entries[key] = value
        if self._changed is not None:
            self._changed(key)


class HeapValueState(HeapState, ValueState[Any]):
    """Keep one value per key."""

    __slots__ = ("_default",)

    def __init__(self, scope: Scope, entries: dict[Any, Any], default: Any = None) -> None:
        super().__init__(scope, entries)
        self._default = default

    def value(self) -> Any:
        return self._entries.get(self._scope.key, self._default)

    def update(self, value: Any) -> None:
        if value is None:
            self.clear()
            return
        if self._changed is None:
            self._entries[self._scope.key] = value
        else:
            key = self._scope.key
            self._entries[key] = value
            self._changed(key)


class HeapReducingState(HeapState, ReducingState[Any]):
    """Keep the reduction of all that was added per key."""

    __slots__ = ("_reduce",)

    def __init__(self, scope: Scope, entries: dict[Any, Any], reduce: Callable[[Any, Any], Any]) -> None:
        super().__init__(scope, entries)
        self._reduce = reduce

    def get(self) -> Any:
        return self._entries.get(self._scope.key)

    def add(self, value: Any) -> None:
        if value is None:
            self.clear()
            return
        key = self._scope.key
        current = self._entries.get(key)
        if current is not None:
            value = self._reduce(current, value)
            if value is None:
                self.clear()
                return
        self._entries[key] = value
        if self._changed is not None:
            self._changed(key)

    stored = get

    def store(self, accumulator: Any) -> None:
        """Replace the accumulator."""
        self._store(accumulator)

    def merged(self, accumulator: Any, other: Any) -> Any:
        """Make one accumulator of two."""
        return self._reduce(accumulator, other)


class HeapAggregatingState(HeapState, AggregatingState[Any, Any]):
    """Keep an accumulator per key."""

    __slots__ = ("_add", "_function")

    def __init__(self, scope: Scope, entries: dict[Any, Any], function: AggregateFunction) -> None:
        super().__init__(scope, entries)
        self._function = function
        self._add = function.add

    def get(self) -> Any:
        accumulator = self.stored()
        return None if accumulator is None else self._function.get_result(accumulator)

    def add(self, value: Any) -> None:
        if value is None:
            self.clear()
            return
        key = self._scope.key
        accumulator = self._entries.get(key)
        accumulator = self._add(value, self._function.create_accumulator() if accumulator is None else accumulator)
        if accumulator is None:
            self.clear()
            return
        self._entries[key] = accumulator
        if self._changed is not None:
            self._changed(key)

    def stored(self) -> Any:
        """Return the accumulator; None if there is none."""
        return self._entries.get(self._scope.key)

    def store(self, accumulator: Any) -> None:
        """Replace the accumulator."""
        self._store(accumulator)

    def merged(self, accumulator: Any, other: Any) -> Any:
        """Make one accumulator of two."""
        return self._function.merge(accumulator, other)


class HeapListState(HeapState, ListState[Any]):
    """Keep a list per key."""

    __slots__ = ("_grew", "_name")

    def __init__(self, scope: Scope, entries: dict[Any, list[Any]], name: str) -> None:
        super().__init__(scope, entries)
        self._name = name
        self._grew: Callable[[Any, int], object] | None = None

    def note_changes(self, changes: StateChanges | None) -> None:
        super().note_changes(changes)
        self._grew = None if changes is None else changes.starts.setdefault

    def get(self) -> list[Any]:
        return list(self._entries.get(self._scope.key, ()))

    def __iter__(self) -> Iterator[Any]:
        return iter(self.get())

    def add(self, value: Any) -> None:
        if value is None:
            raise none_refused(self._name)
        key = self._scope.key
        elements = self._entries.get(key)
        if elements is None:
            self._entries[key] = [value]
            if self._changed is not None:
                self._changed(key)
            return
        if self._grew is not None:
            self._grew(key, len(elements))
        elements.append(value)

    def add_all(self, values: Iterable[Any]) -> None:
        for value in without_none(values, self._name):
            self.add(value)

    def update(self, values: Iterable[Any]) -> None:
        replacement = without_none(values, self._name)
        key = self._scope.key
        self._entries[key] = replacement
        if self._changed is not None:
            self._changed(key)


class HeapMapState(HeapState, RangedMapState):
    """Keep a dict per key."""

    __slots__ = ("_touched",)

    def __init__(self, scope: Scope, entries: dict[Any, dict[Any, Any]]) -> None:
        super().__init__(scope, entries)
        self._touched: Callable[[tuple[Any, Any]], None] | None = None

    def note_changes(self, changes: StateChanges | None) -> None:
        super().note_changes(changes)
        self._touched = None if changes is None else changes.map_entries.add

    def get(self, key: Any) -> Any:
        mapping = self._entries.get(self._scope.key)
        return None if mapping is None else mapping.get(key)

    def put(self, key: Any, value: Any) -> None:
        own = self._scope.key
        mapping = self._entries.get(own)
        try:
            if mapping is None:
                self._entries[own] = {key: value}
            else:
                mapping[key] = value
        except TypeError as error:
            raise unhashable_map_key(key) from error
        if self._touched is not None:
            self._touched((own, key))

    def put_all(self, dict_value: dict[Any, Any]) -> None:
        if dict_value:
            own = self._scope.key
            self._entries.setdefault(own, {}).update(dict_value)
            if self._touched is not None:
                for key in dict_value:
                    self._touched((own, key))

    def remove(self, key: Any) -> None:
        own = self._scope.key
        mapping = self._entries.get(own)
        if mapping is not None and key in mapping:
            del mapping[key]
            if not mapping:
                del self._entries[own]
            if self._touched is not None:
                self._touched((own, key))

    def contains(self, key: Any) -> bool:
        mapping = self._entries.get(self._scope.key)
        return mapping is not None and key in mapping

    # Iterators over a copy: user code may change the map while it walks it.
    def items(self) -> Iterator[tuple[Any, Any]]:
        return iter(list(self._entries.get(self._scope.key, {}).items()))

    def keys(self) -> Iterator[Any]:
        return iter(list(self._entries.get(self._scope.key, ())))

    def values(self) -> Iterator[Any]:
        return iter(list(self._entries.get(self._scope.key, {}).values()))

    def is_empty(self) -> bool:
        return self._scope.key not in self._entries

    def between(self, first: int, last: int) -> list[tuple[int, Any]]:
        mapping = self._entries.get(self._scope.key)
        if mapping is None:
            return []
        if last - first < len(mapping):
            return [(key, mapping[key]) for key in range(first, last + 1) if key in mapping]
        return [(key, mapping[key]) for key in sorted(key for key in mapping if first <= key <= last)]
