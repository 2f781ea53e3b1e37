"""Values in RocksDB: one entry per key. Reducing, aggregating and folding state keep their accumulators in them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any

from rekindle.contracts.state import ValueState
from rekindle.state.rocksdb.cache import WriteBackCache
from rekindle.state.rocksdb.table import StateTable
from rekindle.state.scope import Scope

_UNKNOWN = object()
_FEW, _RARE = 64, 8  # so many keys of a chunk, and one of so many, must have been missing
_PAUSE = 64  # chunks
_MOST_BYTES_AHEAD = 16 << 20


class ValueCache(WriteBackCache):
    """Cache values; a cell is the value, or None where there is none.

    Where many keys of the last chunk were not in the cache, those of the next chunk are read ahead, all at once. What
    was read ahead is not decoded, and is in ``_ahead`` until somebody asks for it, it is written, or the chunk after
    comes. That is not done for a while where hardly anybody asks for it: a function may write only.
    """

    __slots__ = ("_ahead", "_missed", "_pause", "_read_ahead")

    def __init__(self, table: StateTable, entries: int) -> None:
        super().__init__(table, entries)
        self._ahead: dict[Any, bytes | None] = {}
        self._read_ahead = 0  # how many that were
        self._missed = 0  # since the last chunk began, beside them
        self._pause = 0  # for how many chunks nothing is read ahead

    def read_ahead(self, keys: Sequence[Any]) -> None:
        """Read what is not here of the keys of a chunk, if that promises to pay."""
        unused, used = len(self._ahead), self._read_ahead - len(self._ahead)
        missed = self._missed + used
        self._ahead, self._read_ahead, self._missed = {}, 0, 0
        if self._pause:
            self._pause -= 1
        elif unused > used:
            self._pause = _PAUSE
        elif missed >= max(_FEW, len(keys) // _RARE) and self._limit:
            # A key that cannot be encoded is left to whoever asks for it.
            with suppress(Exception):
                dirty, clean, old = self.dirty, self.clean, self.old
                missing = [k for k in dict.fromkeys(keys) if k not in dirty and k not in clean and k not in old]
                self._ahead = self.table.read_many(missing[: self._limit], _MOST_BYTES_AHEAD)
                self._read_ahead = len(self._ahead)

    def load(self, key: Any) -> Any:
        """Return the value of a key that has none in ``dirty``; None if there is none."""
        if key in self.dirty:
            return None
        value = self.clean.get(key, _UNKNOWN)
        if value is _UNKNOWN:
            value = self.old.get(key, _UNKNOWN)
            if value is _UNKNOWN:
                value = self._read(key)
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

    def _read(self, key: Any) -> Any:
        if key in self._ahead:
            data = self._ahead.pop(key)
            return None if data is None else self.table.codec.decode(data)
        self._missed += 1
        return self.table.read(key)

    def forget(self, scope_key: Any) -> None:
        super().forget(scope_key)
        self._ahead.pop(scope_key, None)

    def _keep(self, cells: dict[Any, Any]) -> None:
        super()._keep(cells)
        for key in self._ahead.keys() & cells.keys():  # what was read before these were written
            del self._ahead[key]

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
        integers = self.table.layout.integers_in_order(list(cells))
        if integers is not None:
            values, encode = list(cells.values()), codec.encode
            for number, prefix in zip(*integers, strict=True):
                value = values[number]
                yield prefix, None if value is None else encode(value)
            return
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
