"""Keyed state on the heap, one dict per state; key groups appear only in snapshots."""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from rekindle.datastream.state import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    State,
    StateDescriptor,
    ValueStateDescriptor,
)
from rekindle.exceptions import InvalidProgramError, StateRestoreError
from rekindle.state.heap_states import (
    HeapAggregatingState,
    HeapListState,
    HeapMapState,
    HeapReducingState,
    HeapValueState,
)
from rekindle.state.key_groups import KeyGroupRange
from rekindle.state.key_hash import key_group_of, key_groups_of_longs
from rekindle.state.keyed_backend import NO_KEY, KeyedStateBackend, KeyGroupBlock

_KINDS: dict[type[StateDescriptor], str] = {
    ValueStateDescriptor: "value",
    ListStateDescriptor: "list",
    MapStateDescriptor: "map",
    ReducingStateDescriptor: "reducing",
    AggregatingStateDescriptor: "aggregating",
}


class HeapKeyedStateBackend(KeyedStateBackend):
    """Hold keyed state as live Python objects."""

    __slots__ = ("_descriptors", "_entries", "_handles", "_kinds", "_operator")

    def __init__(self, operator: str, key_groups: KeyGroupRange, max_parallelism: int) -> None:
        self.key = NO_KEY
        self.key_groups = key_groups
        self.max_parallelism = max_parallelism
        self._operator = operator
        self._entries: dict[str, dict[Any, Any]] = {}
        self._kinds: dict[str, str] = {}
        self._descriptors: dict[str, StateDescriptor] = {}
        self._handles: dict[str, State] = {}

    def get_or_create(self, descriptor: StateDescriptor) -> State:
        name = descriptor.get_name()
        _refuse_unsupported(descriptor)
        known = self._descriptors.get(name)
        if known is not None:
            if known != descriptor:
                raise InvalidProgramError(
                    f"state {name!r} of operator {self._operator!r} was first asked for with {known!r} and now with "
                    f"{descriptor!r}; give the second state another name"
                )
            return self._handles[name]
        handle = self._create(descriptor)
        self._descriptors[name] = descriptor
        self._handles[name] = handle
        return handle

    def entries_of(self, name: str, kind: str) -> dict[Any, Any]:
        """Give the entries of a state by name, empty where the snapshot had none."""
        restored = self._kinds.setdefault(name, kind)
        if restored != kind:
            raise StateRestoreError(
                f"state {name!r} of operator {self._operator!r} is a {restored} state in the snapshot and a {kind} "
                "state in the program; give the new state another name"
            )
        return self._entries.setdefault(name, {})

    def snapshot_blocks(self) -> Iterator[KeyGroupBlock]:
        for name, entries in self._entries.items():
            kind = self._kinds[name]
            for key_group, keys in _by_key_group(list(entries), self.max_parallelism).items():
                values = [entries[key] for key in keys]
                yield KeyGroupBlock(name, kind, key_group, len(keys), pickle.dumps((keys, values), 5))

    def restore_blocks(self, blocks: Iterable[KeyGroupBlock]) -> None:
        for block in blocks:
            keys, values = pickle.loads(block.data)
            self.entries_of(block.state, block.kind).update(zip(keys, values, strict=True))

    def state_names(self) -> list[str]:
        return sorted(self._entries)

    def entry_count(self) -> int:
        return sum(map(len, self._entries.values()))

    def _create(self, descriptor: StateDescriptor) -> State:
        kind = _KINDS.get(type(descriptor))
        if kind is None:
            raise NotImplementedError(f"{type(descriptor).__name__} is not supported by the heap state backend yet")
        entries = self.entries_of(descriptor.get_name(), kind)
        if isinstance(descriptor, ValueStateDescriptor):
            return HeapValueState(self, entries, descriptor.default_value)
        if isinstance(descriptor, ListStateDescriptor):
            return HeapListState(self, entries, descriptor.get_name())
        if isinstance(descriptor, MapStateDescriptor):
            return HeapMapState(self, entries)
        if isinstance(descriptor, ReducingStateDescriptor):
            return HeapReducingState(self, entries, descriptor.get_reduce_function().reduce)
        assert isinstance(descriptor, AggregatingStateDescriptor)
        return HeapAggregatingState(self, entries, descriptor.get_agg_function())


def _refuse_unsupported(descriptor: StateDescriptor) -> None:
    ttl = descriptor.get_ttl_config()
    if ttl is not None and ttl.is_enabled():
        raise NotImplementedError(
            f"StateDescriptor.enable_time_to_live is not supported yet (state {descriptor.name!r})"
        )
    if descriptor.is_queryable():
        raise NotImplementedError(f"StateDescriptor.set_queryable is not supported yet (state {descriptor.name!r})")


def _by_key_group(keys: list[Any], max_parallelism: int) -> dict[int, list[Any]]:
    groups: dict[int, list[Any]] = {}
    if keys and all(type(key) is int and -(1 << 63) <= key < 1 << 63 for key in keys):
        numbers: Iterable[int] = key_groups_of_longs(np.array(keys, dtype=np.int64), max_parallelism).tolist()
    else:
        numbers = (key_group_of(key, max_parallelism) for key in keys)
    for key, number in zip(keys, numbers, strict=True):
        group = groups.get(number)
        if group is None:
            groups[number] = [key]
        else:
            group.append(key)
    return groups
