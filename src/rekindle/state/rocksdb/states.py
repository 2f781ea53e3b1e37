"""The handle and the cache that belong to each kind of state."""

from __future__ import annotations

from typing import Any

from rekindle.contracts.state import State
from rekindle.state.blocks import StateKind
from rekindle.state.rocksdb.cache import WriteBackCache
from rekindle.state.rocksdb.list_state import ListCache, RocksListState
from rekindle.state.rocksdb.map_state import MapCache, RocksMapState
from rekindle.state.rocksdb.table import StateTable
from rekindle.state.rocksdb.value_state import RocksValueState, UncachedValueState, ValueCache
from rekindle.state.scope import Scope


def cache_of(table: StateTable, entries: int) -> WriteBackCache:
    """Make the cache of a state."""
    if table.spec.kind is StateKind.LIST:
        return ListCache(table, entries)
    if table.spec.kind is StateKind.MAP:
        return MapCache(table, entries)
    return ValueCache(table, entries)


def handle_of(cache: WriteBackCache, scope: Scope, default: Any, cached: bool) -> State:
    """Make the handle of a state, given its cache, and whether anything is to be kept in it."""
    if isinstance(cache, ListCache):
        return RocksListState(scope, cache)
    if isinstance(cache, MapCache):
        return RocksMapState(scope, cache)
    assert isinstance(cache, ValueCache)
    return RocksValueState(scope, cache, default) if cached else UncachedValueState(scope, cache.table, default)
