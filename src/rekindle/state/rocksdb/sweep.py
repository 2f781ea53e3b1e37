"""Looks through a state with time-to-live, a few entries at a time, and removes what has expired.

It takes the part that a compaction filter plays elsewhere, and which rocksdict does not offer.
"""

from __future__ import annotations

import itertools
from typing import Any

from rekindle.state.rocksdb.cache import WriteBackCache
from rekindle.state.rocksdb.codec import last_access_of
from rekindle.state.rocksdb.database import walk
from rekindle.state.ttl.rules import TtlCleanup


class _Clock:
    """Tell what has expired; look at the time only now and then."""

    __slots__ = ("_cleanup", "_left", "_threshold")

    def __init__(self, cleanup: TtlCleanup) -> None:
        self._cleanup = cleanup
        self._left = 0
        self._threshold = 0

    def threshold(self) -> int:
        """Return the last access up to which the next entry has expired."""
        if self._left <= 0:
            self._left = self._cleanup.clock_every
            self._threshold = self._cleanup.threshold()
        self._left -= 1
        return self._threshold


class Sweeper:
    """Go round and round through one state: first through what only the cache has, then through RocksDB."""

    __slots__ = ("_cache", "_cursor", "_unwritten")

    def __init__(self, cache: WriteBackCache) -> None:
        self._cache = cache
        self._unwritten: list[Any] = []  # scope keys that were dirty when the round began, and are still to be visited
        self._cursor = b""

    def sweep(self, limit: int, cleanup: TtlCleanup) -> None:
        """Visit the next entries, but not all of them twice, and remove what has expired; none during a checkpoint."""
        if self._cache.table.frozen:
            return
        self._cache.table.thaw()
        clock = _Clock(cleanup)
        rounds = 0
        while limit > 0:
            while self._unwritten and limit > 0:
                limit -= self._cache.expire(self._unwritten.pop(), clock.threshold())
            if limit <= 0:
                return
            limit, ended = self._sweep_stored(limit, clock)
            if ended:
                if rounds:
                    return
                rounds = 1
                self._unwritten = list(self._cache.dirty)
                self._cursor = b""

    def _sweep_stored(self, limit: int, clock: _Clock) -> tuple[int, bool]:
        """Visit entries in RocksDB; give how many more may be visited, and whether the last one was reached."""
        table, cache = self._cache.table, self._cache
        has_map_keys = table.spec.kind.shape.has_map_keys
        expired = []
        database_key = None
        visited = 0
        for database_key, data in itertools.islice(walk(table.column, self._cursor), limit):
            visited += 1
            if last_access_of(data) <= clock.threshold():
                scope_key = table.scope_key(database_key, data)
                map_key = table.map_key(database_key, table.layout.split(database_key), data) if has_map_keys else None
                if cache.release(scope_key, map_key):
                    expired.append(database_key)
        if database_key is not None:
            self._cursor = database_key + b"\0"
        table.write((key, None) for key in expired)
        return limit - visited, visited < limit
