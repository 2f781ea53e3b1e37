"""What the RocksDB backend offers to kinds of state, and the cache that belongs to each shape."""

from __future__ import annotations

from typing import Any

from rekindle.contracts.state import ListState, MapState, ValueState
from rekindle.state.rocksdb.cache import WriteBackCache
from rekindle.state.rocksdb.list_state import ListCache, RocksListState
from rekindle.state.rocksdb.map_state import MapCache, RocksMapState
from rekindle.state.rocksdb.table import StateTable
from rekindle.state.rocksdb.value_state import RocksValueState, UncachedValueState, ValueCache
from rekindle.state.scope import Scope
from rekindle.state.shapes.list_shape import LIST_SHAPE
from rekindle.state.shapes.map_shape import MAP_SHAPE
from rekindle.state.shapes.state_shape import StateShape
from rekindle.state.shapes.value_shape import VALUE_SHAPE
from rekindle.state.state_primitives import StatePrimitives
from rekindle.types.type_serializer import TypeSerializer

_CACHES: dict[StateShape, type[WriteBackCache]] = {
    VALUE_SHAPE: ValueCache,
    LIST_SHAPE: ListCache,
    MAP_SHAPE: MapCache,
}


def cache_of(table: StateTable, entries: int) -> WriteBackCache:
    """Make the cache of a state."""
    return _CACHES[table.spec.kind.shape](table, entries)


class RocksDBPrimitives(StatePrimitives):
    """Give the handles of one cache."""

    __slots__ = ("_cache", "_cached", "_scope")

    def __init__(self, cache: WriteBackCache, scope: Scope, map_key: TypeSerializer[Any], cached: bool) -> None:
        """Open a state.

        Args:
            cache: Its cache.
            scope: Whose state it is.
            map_key: The serializer of the keys of its maps.
            cached: Whether anything is to be kept in the cache.
        """
        super().__init__(cache.table.spec.name, map_key)
        self._cache = cache
        self._scope = scope
        self._cached = cached

    def value_state(self, default: Any = None) -> ValueState[Any]:
        assert isinstance(self._cache, ValueCache)
        if self._cached:
            return RocksValueState(self._scope, self._cache, default)
        return UncachedValueState(self._scope, self._cache.table, default)

    def list_state(self) -> ListState[Any]:
        assert isinstance(self._cache, ListCache)
        return RocksListState(self._scope, self._cache)

    def _map_state(self) -> MapState[Any, Any]:
        assert isinstance(self._cache, MapCache)
        return RocksMapState(self._scope, self._cache)
