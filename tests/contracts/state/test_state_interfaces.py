"""What the state interfaces implement themselves: the dict-like operators and iteration."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from rekindle.datastream import state
from rekindle.datastream.state import BroadcastState, ListState, MapState, OperatorStateStore


class DictMapState(MapState[Any, Any]):
    def __init__(self) -> None:
        self.entries: dict[Any, Any] = {}

    def get(self, key: Any) -> Any:
        return self.entries.get(key)

    def put(self, key: Any, value: Any) -> None:
        self.entries[key] = value

    def put_all(self, dict_value: dict[Any, Any]) -> None:
        self.entries.update(dict_value)

    def remove(self, key: Any) -> None:
        self.entries.pop(key, None)

    def contains(self, key: Any) -> bool:
        return key in self.entries

    def items(self) -> Iterable[tuple[Any, Any]]:
        return self.entries.items()

    def keys(self) -> Iterable[Any]:
        return self.entries.keys()

    def values(self) -> Iterable[Any]:
        return self.entries.values()

    def is_empty(self) -> bool:
        return not self.entries

    def clear(self) -> None:
        self.entries.clear()


class DictBroadcastState(BroadcastState[Any, Any]):
    __init__ = DictMapState.__init__
    get = DictMapState.get
    put = DictMapState.put
    put_all = DictMapState.put_all
    remove = DictMapState.remove
    contains = DictMapState.contains
    items = DictMapState.items
    keys = DictMapState.keys
    values = DictMapState.values
    is_empty = DictMapState.is_empty
    clear = DictMapState.clear


class PlainListState(ListState[Any]):
    def __init__(self) -> None:
        self.elements: list[Any] = []

    def get(self) -> Iterable[Any]:
        return self.elements

    def add(self, value: Any) -> None:
        self.elements.append(value)

    def add_all(self, values: list[Any]) -> None:
        self.elements.extend(values)

    def update(self, values: list[Any]) -> None:
        self.elements = list(values)

    def clear(self) -> None:
        self.elements = []


@pytest.mark.parametrize("kind", [DictMapState, DictBroadcastState])
def test_maps_read_and_write_like_a_dict(kind: Any) -> None:
    entries = kind()
    entries["a"] = 1
    entries["b"] = None
    assert entries["a"] == 1
    assert entries["missing"] is None
    assert "a" in entries
    assert "b" in entries
    assert "missing" not in entries
    assert list(entries) == ["a", "b"]
    del entries["a"]
    del entries["missing"]
    assert list(entries) == ["b"]


def test_broadcast_state_gives_its_entries_for_reading() -> None:
    broadcast = DictBroadcastState()
    broadcast["a"] = 1
    assert list(broadcast.immutable_entries()) == [("a", 1)]


def test_a_list_state_is_iterable() -> None:
    elements = PlainListState()
    assert list(elements) == []
    elements.add_all([1, 2])
    assert list(elements) == [1, 2]


def test_read_only_broadcast_state_has_nothing_to_write_with() -> None:
    for writer in ("put", "put_all", "remove", "__setitem__", "__delitem__"):
        assert hasattr(state.BroadcastState, writer)
        assert not hasattr(state.ReadOnlyBroadcastState, writer)


def test_operator_state_store_has_even_split_union_and_broadcast_state() -> None:
    assert OperatorStateStore.__abstractmethods__ == {
        "get_broadcast_state",
        "get_list_state",
        "get_union_list_state",
        "get_registered_state_names",
        "get_registered_broadcast_state_names",
    }


def test_every_primitive_can_be_cleared() -> None:
    primitives = [value for value in vars(state).values() if isinstance(value, type)]
    states = [kind for kind in primitives if issubclass(kind, state.State)]
    assert len(states) == 11
    assert all("clear" in kind.__abstractmethods__ for kind in states)
