"""The entries of a state in the form of blocks: per scope key the value, the accumulator, the list, the dict."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rekindle.state.blocks import StateKind
from rekindle.state.rocksdb.list_state import Elements
from rekindle.state.rocksdb.states import cache_of
from rekindle.state.rocksdb.table import StateTable


def write_entries(table: StateTable, entries: Mapping[Any, Any]) -> None:
    """Write scope keys and what they have. They must have nothing in the table before."""
    cache = cache_of(table, 0)
    is_list = table.spec.kind is StateKind.LIST
    cache.dirty.update({key: Elements(value) for key, value in entries.items()} if is_list else entries)
    cache.flush()
