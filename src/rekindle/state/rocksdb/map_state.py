"""Maps in RocksDB: each entry of a map stands for itself, and is read and written without the others."""

from __future__ import annotations

from collections.abc import Iterator
from operator import itemgetter
from typing import Any

from rekindle.serialization.encodings.pickle_serializer import NAMES_A_CLASS
from rekindle.state.rocksdb.cache import WriteBackCache
from rekindle.state.rocksdb.key_decoding import decode_at, reading_key_back
from rekindle.state.rocksdb.key_encoding import encode
from rekindle.state.scope import Scope, unhashable_map_key
from rekindle.state.state_primitives import RangedMapState

_FEW = 4  # so many entries are read one by one, from the cache if they are there, in less time than a range of them
_UNKNOWN = object()
_REMOVED = object()
_key = itemgetter(0)


class MapCache(WriteBackCache):
    """Cache entries of maps; a cell is a dict of those that are known, with ``_REMOVED`` for those that are not there.

    A cell never says what else there is in RocksDB, so walking through a map is walking through RocksDB.
    """

    __slots__ = ()

    def load(self, scope_key: Any, map_key: Any) -> Any:
        """Return the value of an entry that is not in ``dirty``; ``_REMOVED`` if there is none."""
        if not self._limit:
            return self._read(scope_key, map_key)
        cell = self.clean.get(scope_key)
        if cell is None:
            cell = self.clean[scope_key] = {}
        value = cell.get(map_key, _UNKNOWN)
        if value is _UNKNOWN:
            value = self.old.get(scope_key, {}).get(map_key, _UNKNOWN)
            if value is _UNKNOWN:
                value = self._read(scope_key, map_key)
            cell[map_key] = value
            self.room -= 1
            if self.room <= 0:
                self.make_room()
        return value

    def entries(self, scope_key: Any) -> Iterator[tuple[bytes, bytes]]:
        """Walk through the entries of a map as they are now, whatever becomes of them meanwhile."""
        self.flush_key(scope_key)
        return self.table.entries(scope_key)

    def stored(self, scope_key: Any) -> dict[Any, Any]:
        table = self.table
        at, entries = len(table.layout.place(scope_key)[0]), self._entries_at_once(scope_key)
        found = {table.map_key(entry, at, data): table.codec.decode(data) for entry, data in entries}
        found.update(self.dirty.get(scope_key, {}))
        return {map_key: value for map_key, value in found.items() if value is not _REMOVED}

    def expire(self, scope_key: Any, threshold: int) -> int:
        cell = self.dirty.get(scope_key, {})
        for map_key, pair in cell.items():
            if pair is not _REMOVED and pair[1] <= threshold:
                cell[map_key] = _REMOVED
        return len(cell)

    def release(self, scope_key: Any, map_key: Any) -> bool:
        if map_key in self.dirty.get(scope_key, ()):
            return False
        for cells in (self.clean, self.old):
            cells.get(scope_key, {}).pop(map_key, None)
        return True

    def _read(self, scope_key: Any, map_key: Any) -> Any:
        table = self.table
        data = table.column.get(table.layout.place(scope_key)[0] + encode(map_key)[0])
        return _REMOVED if data is None else table.codec.decode(data)

    def _drop_shadowed(self) -> None:
        for scope_key in self.dirty.keys() & self.clean.keys():
            known, cell = self.clean[scope_key], self.dirty[scope_key]
            for map_key in known.keys() & cell.keys():
                del known[map_key]
            if not known:
                del self.clean[scope_key]

    def _weight(self, cells: dict[Any, Any]) -> int:
        return sum(map(len, cells.values())) + len(cells)

    def _changes(self, cells: dict[Any, Any]) -> Iterator[tuple[bytes, bytes | None]]:
        place, codec = self.table.layout.place, self.table.codec
        for scope_key, cell in cells.items():
            prefix, scope_exact = place(scope_key)
            for map_key, value in cell.items():
                tail, exact = encode(map_key)
                if NAMES_A_CLASS in tail:
                    with reading_key_back(map_key):
                        decode_at(tail, 0)
                if value is _REMOVED:
                    yield prefix + tail, None
                elif exact and scope_exact:
                    yield prefix + tail, codec.encode(value)
                else:
                    yield prefix + tail, codec.encode_with_key((scope_key, map_key), value)

    def take_back(self, cells: dict[Any, Any]) -> None:
        for scope_key, cell in cells.items():
            self.dirty[scope_key] = cell | self.dirty.get(scope_key, {})

    def _keep(self, cells: dict[Any, Any]) -> None:
        clean = self.clean
        for scope_key, cell in cells.items():
            known = clean.get(scope_key)
            if known is None:
                clean[scope_key] = cell
            else:
                known.update(cell)


class RocksMapState(RangedMapState):
    """Keep a map per key. Walking through it gives what was in it when the walk began."""

    __slots__ = ("_cache", "_scope")

    def __init__(self, scope: Scope, cache: MapCache) -> None:
        self._scope = scope
        self._cache = cache

    def get(self, key: Any) -> Any:
        value = self._find(key)
        return None if value is _REMOVED else value

    def contains(self, key: Any) -> bool:
        return self._find(key) is not _REMOVED

    def put(self, key: Any, value: Any) -> None:
        cache = self._cache
        own = self._scope.key
        cell = cache.dirty.get(own)
        try:
            if cell is None:
                cache.dirty[own] = {key: value}
            else:
                cell[key] = value
        except TypeError as error:
            raise unhashable_map_key(key) from error
        cache.room -= 1
        if cache.room <= 0:
            cache.make_room(own)

    def put_all(self, dict_value: dict[Any, Any]) -> None:
        if dict_value:
            cache = self._cache
            cache.dirty.setdefault(self._scope.key, {}).update(dict_value)
            cache.room -= len(dict_value)
            if cache.room <= 0:
                cache.make_room(self._scope.key)

    def remove(self, key: Any) -> None:
        self.put(key, _REMOVED)

    def items(self) -> Iterator[tuple[Any, Any]]:
        own = self._scope.key
        at, map_key, decode = self._tail(own), self._cache.table.map_key, self._cache.table.codec.decode
        return ((map_key(entry, at, data), decode(data)) for entry, data in self._cache.entries(own))

    def keys(self) -> Iterator[Any]:
        own = self._scope.key
        at, map_key = self._tail(own), self._cache.table.map_key
        return (map_key(entry, at, data) for entry, data in self._cache.entries(own))

    def values(self) -> Iterator[Any]:
        decode = self._cache.table.codec.decode
        return (decode(data) for _, data in self._cache.entries(self._scope.key))

    def is_empty(self) -> bool:
        own = self._scope.key
        known = self._cache.dirty.get(own, {})
        if any(value is not _REMOVED for value in known.values()):
            return False
        return next(self._cache.entries(own), None) is None

    def between(self, first: int, last: int) -> list[tuple[int, Any]]:
        if last - first < _FEW:
            found = ((key, self._find(key)) for key in range(first, last + 1))
            return [(key, value) for key, value in found if value is not _REMOVED]
        own = self._scope.key
        table, at = self._cache.table, self._tail(own)
        decode = table.codec.decode
        stored = {
            table.map_key(entry, at, data): decode(data) for entry, data in table.integer_entries(own, first, last)
        }
        cell = self._cache.dirty.get(own)
        if cell is None:
            return list(stored.items())
        stored.update((key, value) for key, value in cell.items() if first <= key <= last)
        return [(key, value) for key, value in sorted(stored.items(), key=_key) if value is not _REMOVED]

    def clear(self) -> None:
        own = self._scope.key
        self._cache.forget(own)
        self._cache.table.delete_entries(own)

    def _find(self, key: Any) -> Any:
        cache = self._cache
        own = self._scope.key
        cell = cache.dirty.get(own)
        if cell is not None:
            value = cell.get(key, _UNKNOWN)
            if value is not _UNKNOWN:
                return value
        return cache.load(own, key)

    def _tail(self, own: Any) -> int:
        return len(self._cache.table.layout.place(own)[0])
