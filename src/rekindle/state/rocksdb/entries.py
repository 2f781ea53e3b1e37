"""The entries of a state in the form of blocks: per scope key the value, the accumulator, the list, the dict."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping
from operator import itemgetter
from typing import Any

from rekindle.state.blocks import StateKind
from rekindle.state.key_groups import KeyGroupRange
from rekindle.state.rocksdb.database import walk
from rekindle.state.rocksdb.layout import key_group_at, key_group_start
from rekindle.state.rocksdb.list_state import Elements
from rekindle.state.rocksdb.states import cache_of
from rekindle.state.rocksdb.table import StateTable


def read_key_groups(table: StateTable, key_groups: KeyGroupRange) -> Iterator[tuple[int, Iterator[tuple[Any, Any]]]]:
    """Give key groups and, for each, scope keys and what they have; only key groups that have any, in their order."""
    stored = walk(table.column, key_group_start(key_groups.start), key_group_start(key_groups.end + 1))
    for key_group, entries in itertools.groupby(stored, lambda entry: key_group_at(entry[0])):
        yield key_group, _assembled(table, entries)


def write_entries(table: StateTable, entries: Mapping[Any, Any]) -> None:
    """Write scope keys and what they have. They must have nothing in the table before."""
    cache = cache_of(table, 0)
    is_list = table.spec.kind is StateKind.LIST
    cache.dirty.update({key: Elements(value) for key, value in entries.items()} if is_list else entries)
    cache.flush()


def _assembled(table: StateTable, entries: Iterable[tuple[bytes, bytes]]) -> Iterator[tuple[Any, Any]]:
    decode = table.codec.decode
    if table.spec.kind not in (StateKind.LIST, StateKind.MAP):
        for database_key, data in entries:
            yield table.scope_key(database_key, data), decode(data)
        return
    split = table.layout.split
    tailed = ((database_key, split(database_key), data) for database_key, data in entries)
    for _, group in itertools.groupby(tailed, lambda entry: entry[0][: entry[1]]):
        together = list(group)
        first_key, at, first_data = together[0]
        scope_key = table.scope_key(first_key, first_data)
        values = map(decode, map(itemgetter(2), together))
        if table.spec.kind is StateKind.LIST:
            yield scope_key, list(values)
        else:
            map_keys = (table.map_key(database_key, at, data) for database_key, _, data in together)
            yield scope_key, dict(zip(map_keys, values, strict=True))
