"""Handles of keyed state on the heap: live Python objects in one dict per state.

These methods run once or more per record. They look up the current key on the backend and the entry in the dict, and do
nothing else: entries are sorted into key groups only when a snapshot is written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from rekindle.datastream.state import AggregatingState, ListState, MapState, ReducingState, ValueState
from rekindle.state.keyed_backend import KeyedStateBackend


class HeapValueState(ValueState[Any]):
    """Keep one value per key."""

    __slots__ = ("_backend", "_default", "_entries")

    def __init__(self, backend: KeyedStateBackend, entries: dict[Any, Any], default: Any) -> None:
        self._backend = backend
        self._entries = entries
        self._default = default

    def value(self) -> Any:
        return self._entries.get(self._backend.key, self._default)

    def update(self, value: Any) -> None:
        if value is None:
            self._entries.pop(self._backend.key, None)
        else:
            self._entries[self._backend.key] = value

    def clear(self) -> None:
        self._entries.pop(self._backend.key, None)


class HeapListState(ListState[Any]):
    """Keep a list per key."""

    __slots__ = ("_backend", "_entries", "_name")

    def __init__(self, backend: KeyedStateBackend, entries: dict[Any, list[Any]], name: str) -> None:
        self._backend = backend
        self._entries = entries
        self._name = name

    def get(self) -> list[Any]:
        return list(self._entries.get(self._backend.key, ()))

    def __iter__(self) -> Iterator[Any]:
        return iter(self.get())

    def add(self, value: Any) -> None:
        if value is None:
            raise self._none_refused()
        elements = self._entries.get(self._backend.key)
        if elements is None:
            self._entries[self._backend.key] = [value]
        else:
            elements.append(value)

    def add_all(self, values: Iterable[Any]) -> None:
        added = self._checked(values)
        if added:
            self._entries.setdefault(self._backend.key, []).extend(added)

    def update(self, values: Iterable[Any]) -> None:
        self._entries[self._backend.key] = self._checked(values)

    def clear(self) -> None:
        self._entries.pop(self._backend.key, None)

    def _checked(self, values: Iterable[Any]) -> list[Any]:
        checked = list(values)
        if any(value is None for value in checked):  # not `in`, which would compare arrays element by element
            raise self._none_refused()
        return checked

    def _none_refused(self) -> ValueError:
        return ValueError(f"None cannot be an element of list state {self._name!r}; leave it out or use another value")


class HeapMapState(MapState[Any, Any]):
    """Keep a dict per key."""

    __slots__ = ("_backend", "_entries")

    def __init__(self, backend: KeyedStateBackend, entries: dict[Any, dict[Any, Any]]) -> None:
        self._backend = backend
        self._entries = entries

    def get(self, key: Any) -> Any:
        mapping = self._entries.get(self._backend.key)
        return None if mapping is None else mapping.get(key)

    def put(self, key: Any, value: Any) -> None:
        mapping = self._entries.get(self._backend.key)
        if mapping is None:
            self._entries[self._backend.key] = {key: value}
        else:
            mapping[key] = value

    def put_all(self, dict_value: dict[Any, Any]) -> None:
        if dict_value:
            self._entries.setdefault(self._backend.key, {}).update(dict_value)

    def remove(self, key: Any) -> None:
        mapping = self._entries.get(self._backend.key)
        if mapping is not None and key in mapping:
            del mapping[key]
            if not mapping:
                del self._entries[self._backend.key]

    def contains(self, key: Any) -> bool:
        mapping = self._entries.get(self._backend.key)
        return mapping is not None and key in mapping

    # Iterators over a copy: user code may change the map while it walks it.
    def items(self) -> Iterator[tuple[Any, Any]]:
        return iter(list(self._entries.get(self._backend.key, {}).items()))

    def keys(self) -> Iterator[Any]:
        return iter(list(self._entries.get(self._backend.key, ())))

    def values(self) -> Iterator[Any]:
        return iter(list(self._entries.get(self._backend.key, {}).values()))

    def is_empty(self) -> bool:
        return self._backend.key not in self._entries

    def clear(self) -> None:
        self._entries.pop(self._backend.key, None)


class HeapReducingState(ReducingState[Any]):
    """Keep the reduction of all that was added per key."""

    __slots__ = ("_backend", "_entries", "_reduce")

    def __init__(self, backend: KeyedStateBackend, entries: dict[Any, Any], reduce: Callable[[Any, Any], Any]) -> None:
        self._backend = backend
        self._entries = entries
        self._reduce = reduce

    def get(self) -> Any:
        return self._entries.get(self._backend.key)

    def add(self, value: Any) -> None:
        if value is None:
            self.clear()
            return
        key = self._backend.key
        current = self._entries.get(key)
        self._entries[key] = value if current is None else self._reduce(current, value)

    def clear(self) -> None:
        self._entries.pop(self._backend.key, None)


class HeapAggregatingState(AggregatingState[Any, Any]):
    """Keep an accumulator per key."""

    __slots__ = ("_backend", "_entries", "_function")

    def __init__(self, backend: KeyedStateBackend, entries: dict[Any, Any], function: Any) -> None:
        self._backend = backend
        self._entries = entries
        self._function = function

    def get(self) -> Any:
        accumulator = self._entries.get(self._backend.key)
        return None if accumulator is None else self._function.get_result(accumulator)

    def add(self, value: Any) -> None:
        if value is None:
            self.clear()
            return
        key = self._backend.key
        accumulator = self._entries.get(key)
        if accumulator is None:
            accumulator = self._function.create_accumulator()
        self._entries[key] = self._function.add(value, accumulator)

    def clear(self) -> None:
        self._entries.pop(self._backend.key, None)
