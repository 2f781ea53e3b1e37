"""Values in RocksDB: one entry per key. Reducing, aggregating and folding state keep their accumulators in them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rekindle.contracts.state import ValueState
from rekindle.state.rocksdb.cache import WriteBackCache
from rekindle.state.rocksdb.table import StateTable
from rekindle.state.scope import Scope

_UNKNOWN = object()


class ValueCache(WriteBackCache):
    """Cache values; a cell is the value, or None where there is none."""

    __slots__ = ()

    def load(self, key: Any) -> Any:
        """Return the value of a key that has none in ``dirty``; None if there is none."""
        if key in self.dirty:
            return None
        value = self.clean.get(key, _UNKNOWN)
        if value is _UNKNOWN:
            value = self.old.get(key, _UNKNOWN)
            if value is _UNKNOWN:
                value = self.table.read(key)
            self.clean[key] = value
            self.room -= 1
            if self.room <= 0:
                self.make_room()
        return value

    def stored(self, scope_key: Any) -> Any:
        for cells in (self.dirty, self.clean, self.old):
            value = cells.get(scope_key, _UNKNOWN)
            if value is not _UNKNOWN:
                return value
        return self.table.read(scope_key)

    def expire(self, scope_key: Any, threshold: int) -> int:
        pair = self.dirty.get(scope_key)
        if pair is not None and pair[1] <= threshold:
            self.dirty[scope_key] = None
        return 1

    def release(self, scope_key: Any, map_key: Any) -> bool:
        if scope_key in self.dirty:
            return False
        self.forget(scope_key)
        return True

    def _drop_shadowed(self) -> None:
        for key in self.dirty.keys() & self.clean.keys():
            del self.clean[key]

    def _weight(self, cells: dict[Any, Any]) -> int:
        return len(cells)

    def _changes(self, cells: dict[Any, Any]) -> Iterator[tuple[bytes, bytes | None]]:
        place, codec = self.table.layout.place, self.table.codec
        for key, value in cells.items():
            prefix, exact = place(key)
            if value is None:
                yield prefix, None
            else:
                yield prefix, codec.encode(value) if exact else codec.encode_with_key(key, value)


class RocksValueState(ValueState[Any]):
    """Keep one value per key."""

    __slots__ = ("_cache", "_default", "_scope")

    def __init__(self, scope: Scope, cache: ValueCache, default: Any = None) -> None:
        self._scope = scope
        self._cache = cache
        self._default = default

    def value(self) -> Any:
        key = self._scope.key
        value = self._cache.dirty.get(key)
        if value is None:
            value = self._cache.load(key)
            if value is None:
                return self._default
        return value

    def update(self, value: Any) -> None:
        cache = self._cache
        cache.dirty[self._scope.key] = value
        cache.room -= 1
        if cache.room <= 0:
            cache.make_room(self._scope.key)

    def clear(self) -> None:
        self.update(None)


class UncachedValueState(ValueState[Any]):
    """Keep one value per key, and none of them in memory."""

    __slots__ = ("_default", "_read", "_scope", "_table")

    def __init__(self, scope: Scope, table: StateTable, default: Any = None) -> None:
        self._scope = scope
        self._table = table
        self._read = table.read
        self._default = default

    def value(self) -> Any:
        value = self._read(self._scope.key)
        return self._default if value is None else value

    def update(self, value: Any) -> None:
        if value is None:
            self.clear()
            return
        table = self._table
        key = self._scope.key
        prefix, exact = table.layout.place(key)
        try:
            data = table.codec.encode(value) if exact else table.codec.encode_with_key(key, value)
            if table.unproven is not None:
                table.unproven.check(data)
            table.thaw()
            table.column[prefix] = data
        except Exception as error:
            table.explain(error)
            raise

    def clear(self) -> None:
        self._table.thaw()
        del self._table.column[self._table.layout.place(self._scope.key)[0]]
