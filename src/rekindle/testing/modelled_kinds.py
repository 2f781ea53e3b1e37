"""The kinds of state that are modelled: how each is described, read and written, and what the model says of it."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from rekindle.contracts.functions import AggregateFunction
from rekindle.contracts.state import (
    AggregatingStateDescriptor,
    FoldingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    StateDescriptor,
    ValueStateDescriptor,
)
from rekindle.testing.state_model import StateModel

Cell = Any
"""A key, or a key and a window."""


@dataclass(frozen=True, slots=True)
class ModelledKind:
    """Say how to use one kind of state without caring which.

    Attributes:
        describe: Makes a descriptor of a given name.
        read: Gives all that a handle holds for the current key.
        expected: Gives what the model says that is, by the state's name and cell.
        writes: What can be done to change it, the more often the more likely: methods of ModelledState.
        reads: What can be done to read it.
        merge: Lets the model move what a state holds in one cell into another; None: such a state cannot be merged.
    """

    describe: Callable[[str], StateDescriptor]
    read: Callable[[Any], Any]
    expected: Callable[[StateModel, str, Cell], Any]
    writes: tuple[str, ...]
    reads: tuple[str, ...] = ("read",)
    merge: Callable[[StateModel, str, Cell, Cell], None] | None = None


class _Collect(AggregateFunction):
    """Collect what is added in a list, which is changed in place; the result is a tuple."""

    def create_accumulator(self) -> list[str]:
        return []

    def add(self, value: str, accumulator: list[str]) -> list[str]:
        accumulator.append(value)
        return accumulator

    def get_result(self, accumulator: list[str]) -> tuple[str, ...]:
        return tuple(accumulator)

    def merge(self, acc_a: list[str], acc_b: list[str]) -> list[str]:
        return [*acc_a, *acc_b]


def _append(folded: list[str], value: str) -> list[str]:
    folded.append(value)
    return folded


def _folding(name: str) -> StateDescriptor:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        return FoldingStateDescriptor(name, [], _append)


def _entries(state: Any) -> dict[Any, Any]:
    items = list(state.items())
    assert len(items) == len(dict(items)), f"a map gave a key twice: {items}"
    return dict(items)


def _result(of: Callable[[list[str]], Any]) -> Callable[[StateModel, str, Cell], Any]:
    """Return what a state gives for all that was added to it, which is what the model keeps."""

    def expected(model: StateModel, state: str, cell: Cell) -> Any:
        added = model.value(state, cell)
        return None if added is None else of(added)

    return expected


def _merge_lists(model: StateModel, state: str, into: Cell, source: Cell) -> None:
    moved = model.elements(state, source)
    model.clear(state, source)
    model.add_all(state, into, moved)


def _merge_accumulators(model: StateModel, state: str, into: Cell, source: Cell) -> None:
    moved = model.value(state, source)
    model.clear(state, source)
    if moved:
        model.update(state, into, [*(model.value(state, into) or []), *moved])


_ACCUMULATE = ("accumulate", "accumulate", "accumulate", "clear")

KINDS = {
    "value": ModelledKind(
        ValueStateDescriptor,
        lambda state: state.value(),
        StateModel.value,
        ("update_value", "update_value", "update_value", "clear"),
    ),
    "list": ModelledKind(
        ListStateDescriptor,
        lambda state: list(state.get()),
        StateModel.elements,
        ("add_to_list", "add_to_list", "add_to_list", "add_to_list", "update_list", "clear"),
        merge=_merge_lists,
    ),
    "map": ModelledKind(
        MapStateDescriptor,
        _entries,
        StateModel.entries,
        ("put_into_map", "put_into_map", "put_into_map", "remove_from_map", "remove_from_map", "clear"),
        ("read", "get_from_map", "ask_whether_map_contains", "ask_whether_map_is_empty", "walk_map"),
    ),
    "reducing": ModelledKind(
        lambda name: ReducingStateDescriptor(name, lambda a, b: a + b),
        lambda state: state.get(),
        _result("".join),
        _ACCUMULATE,
        merge=_merge_accumulators,
    ),
    "aggregating": ModelledKind(
        lambda name: AggregatingStateDescriptor(name, _Collect()),
        lambda state: state.get(),
        _result(tuple),
        _ACCUMULATE,
        merge=_merge_accumulators,
    ),
    "folding": ModelledKind(_folding, lambda state: state.get(), _result(list), _ACCUMULATE),
}
