"""Keyed state in RocksDB: as much of it as the local disk holds, with what is used most as Python objects in memory."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from typing import Any

from rekindle.contracts.key_groups import KeyGroupRange
from rekindle.contracts.state import StateTtlConfig
from rekindle.exceptions import SerializationError, StateMigrationException
from rekindle.state.blocks import KeyGroupBlock, StateSpec
from rekindle.state.keyed_backend import KeyedStateBackend
from rekindle.state.read_back import reading_back
from rekindle.state.restored_state import check_same_state
from rekindle.state.rocksdb.cache import WriteBackCache
from rekindle.state.rocksdb.database import Database, WriteBuffer, walk
from rekindle.state.rocksdb.layout import end_of_key
from rekindle.state.rocksdb.native import drop_expired, key_blocks, native_blocks
from rekindle.state.rocksdb.native_part import NativePart
from rekindle.state.rocksdb.options import plain_options, settle_options
from rekindle.state.rocksdb.pending_checkpoint import PendingCheckpoint
from rekindle.state.rocksdb.primitives import RocksDBPrimitives, cache_of
from rekindle.state.rocksdb.restoring import restored_database
from rekindle.state.rocksdb.settings import RocksDBSettings
from rekindle.state.rocksdb.sweep import Sweeper
from rekindle.state.rocksdb.table import StateTable
from rekindle.state.rocksdb.timers import RocksDBTimers, TimerTable, opened_timers, taken_out
from rekindle.state.rocksdb.value_state import ValueCache
from rekindle.state.scope import Scope
from rekindle.state.snapshots import KeyedSnapshot, NativeSnapshot, SnapshotRequest
from rekindle.state.state_owner import StateOwner
from rekindle.state.state_primitives import StatePrimitives
from rekindle.state.state_serializers import EvolvedSerializers, StateSerializers, evolved_serializers
from rekindle.state.timer_store import TimerStore
from rekindle.state.timers import TimerQueue
from rekindle.state.ttl.rules import TtlCleanup

_SWEPT_PER_RECORD = 1
_KEYS_CHECKED = 16
_NOT_NEEDED = ("LOG", "LOCK", "IDENTITY", "OPTIONS-", "rocksdict-config.json")
"""How files start that RocksDB can do without when it opens a database; the write-ahead logs, *.log, are empty."""


class RocksDBKeyedStateBackend(KeyedStateBackend):
    """Hold keyed state in a RocksDB database of its own."""

    __slots__ = (
        "_by_key",
        "_caches",
        "_database",
        "_directory",
        "_incremental",
        "_options",
        "_pending",
        "_settings",
        "_snapshots",
        "_sweepers",
        "_tables",
        "_timers",
    )

    def __init__(
        self,
        owner: StateOwner,
        key_groups: KeyGroupRange,
        max_parallelism: int,
        now: Callable[[], int],
        directory: str,
        settings: RocksDBSettings,
        incremental: bool = False,
    ) -> None:
        """Make an empty backend.

        Args:
            owner: The operator.
            key_groups: The key groups whose state is kept here.
            max_parallelism: The number of all key groups.
            now: Tells the processing time, in milliseconds.
            directory: Where the files go: a directory on local disk that nobody else uses.
            settings: How RocksDB is set up.
            incremental: Whether snapshots share files with those before: then none of them is written anew.
        """
        super().__init__(owner, key_groups, max_parallelism, now)
        self._directory = directory
        self._settings = settings
        self._incremental = incremental
        self._options = settle_options(settings)
        self._snapshots = 0
        self._pending: PendingCheckpoint | None = None
        self._tables: dict[str, StateTable] = {}
        self._caches: dict[str, WriteBackCache] = {}
        self._by_key: list[ValueCache] = []  # those that the key of a record is enough for
        self._sweepers: dict[str, Sweeper] = {}
        self._timers: dict[str, TimerTable] = {}
        os.makedirs(directory, exist_ok=True)
        self._database = Database(self._database_directory, self._options, create=True)

    @property
    def _database_directory(self) -> str:
        return os.path.join(self._directory, "db")

    # --- states ---

    def keys(self, name: str) -> Iterator[Any]:
        table = self._tables.get(name)
        if table is None:
            return iter(())
        self._caches[name].flush()
        return _distinct_keys(table, walk(table.column, b""))

    def blocks_of(self, key: Any) -> Iterator[KeyGroupBlock]:
        for name, cache in self._caches.items():
            cache.flush()
            yield from key_blocks(self._database, name, key, self.max_parallelism)

    def stored(self, name: str, key: Any) -> Any:
        return self._caches[name].stored(key)

    def sweep(self, name: str, limit: int, cleanup: TtlCleanup) -> None:
        self._sweepers[name].sweep(limit, cleanup)

    def state_names(self) -> list[str]:
        unasked = self._database.timers.keys() - self._timers.keys()
        return sorted({*self._database.states, *unasked, *self._restored.names()})

    def _timer_store(self, in_memory: TimerQueue) -> TimerStore:
        database, name = self._database, in_memory.name
        database.thaw()
        if not self._settings.timers:
            if name in database.timers:
                in_memory.restore_blocks(taken_out(database, name), self.max_parallelism)
            return in_memory
        table, written = opened_timers(database, in_memory, self.max_parallelism, self.owner.state(name))
        self._timers[name] = table
        limit = self._settings.timer_cache_size * len(self.key_groups)
        store = RocksDBTimers(in_memory, table, self.key_groups, limit)
        store.restore_blocks(written, self.max_parallelism)
        return store

    def _open(self, spec: StateSpec, serializers: StateSerializers, scope: Scope) -> StatePrimitives:
        self._database.thaw()
        table = self._tables[spec.name] = self._opened(spec, serializers)
        cache = self._caches[spec.name] = cache_of(table, self._settings.cache_entries)
        self._sweepers[spec.name] = Sweeper(cache)
        if isinstance(cache, ValueCache) and not spec.namespaced:
            self._by_key.append(cache)
        return RocksDBPrimitives(cache, scope, serializers.map_key, cached=self._settings.cache_entries > 0)

    def _opened(self, spec: StateSpec, serializers: StateSerializers) -> StateTable:
        """Make the table of a state, with what was restored of it, all of it written by today's types."""
        name = self.owner.state(spec.name)
        claimed = self._claimed(spec, serializers)
        record = self._database.states.get(spec.name)
        if record is None:
            stored = claimed.writer.stored(name)
            self._database.create(spec.name, spec.kind.name, spec.ttl, spec.namespaced, stored)
            table = StateTable(self._database, spec.name, self.max_parallelism, claimed.writer)
        else:
            check_same_state(name, record.spec(spec.name), spec)
            evolved = evolved_serializers(record.serializers, claimed.writer, name)
            table = StateTable(self._database, spec.name, self.max_parallelism, evolved.writer)
            if evolved.keys_changed:
                table.check_keys(name)
            else:
                table.check_keys(name, _KEYS_CHECKED, map_keys=False)
            if evolved.migrates:
                self._migrate(table, evolved)
            else:
                table.describe_serializers(evolved.writer.stored(name))
        table.set_ttl(spec.ttl, self.now())
        for entries in claimed.by_key_group():
            restored = cache_of(table, 0)
            restored.fill(entries)
            restored.flush()
        if table.unproven is not None:
            table.unproven.clear()
        return table

    def _migrate(self, table: StateTable, evolved: EvolvedSerializers) -> None:
        """Write all values of a state anew, before anybody sees one."""
        name = self.owner.state(table.spec.name)
        report = self.owner.report
        about = table.estimated_entries()
        try:
            table.migrate(
                evolved.reader.value,
                evolved.writer.stored(name),
                lambda count: report(f"migrating {name}: {count:,} of about {max(count, about):,} values"),
            )
        except SerializationError as error:
            raise StateMigrationException(f"{name} cannot be migrated: {error}") from error

    def _held_objects(self, name: str) -> Callable[[Any], Any]:
        cache = self._caches[name]
        return lambda key: cache.dirty.get(key)

    def _cleanup(self, config: StateTtlConfig) -> TtlCleanup | None:
        strategy = config.get_cleanup_strategies().get_rocksdb_compact_filter_cleanup_strategy()
        if strategy is None or not self._settings.ttl_compaction:
            return None
        ttl, now = config.get_ttl().to_milliseconds(), self.now
        clock_every = max(1, strategy.get_query_time_after_num_entries())
        return TtlCleanup(0, _SWEPT_PER_RECORD, clock_every, lambda: now() - ttl)

    def before_chunk(self, keys: Sequence[Any]) -> None:
        for cache in self._by_key:
            cache.read_ahead(keys)

    def after_chunk(self, records: int) -> None:
        super().after_chunk(records)
        for table in self._tables.values():
            if table.unproven is not None and not table.frozen:
                with reading_back(self.owner.state(table.spec.name)):
                    table.unproven.limit(table.holds)

    # --- snapshots ---

    def snapshot(self, request: SnapshotRequest) -> KeyedSnapshot:
        database = self._database
        database.thaw()
        self._snapshots += 1
        directory = os.path.join(self._directory, f"snapshot-{self._snapshots}")
        tables = list(self._tables.values())
        buffers: list[WriteBuffer] = [*self._caches.values(), *self._timers.values()]
        pending = self._pending = PendingCheckpoint(database, directory, buffers, tables)
        database.freeze(pending)
        unclaimed = self._restored.unclaimed()
        left_out = self._left_out_until()

        def blocks() -> Iterator[KeyGroupBlock]:
            pending.encode()
            yield from unclaimed

        def settle() -> None:
            pending.make()
            pending.check()
            self._prove(pending, directory)
            if left_out and not self._incremental and not request.canonical:
                drop_expired(directory, left_out)

        def release() -> None:
            pending.give_up()
            shutil.rmtree(directory, ignore_errors=True)

        taken = KeyedSnapshot(
            blocks=blocks, entries=pending.entries, write=pending.make, settle=settle, release=release
        )
        if request.canonical:
            return replace(taken, exported=lambda: native_blocks(directory, self.key_groups, left_out))
        return replace(taken, native=_native_snapshot(directory))

    def _prove(self, made: PendingCheckpoint, directory: str) -> None:
        """Read back all that was written since that was done last, and is in a copy of the database."""
        for table, batches in made.unproven:
            name = self.owner.state(table.spec.name)
            assert table.unproven is not None
            with reading_back(name):
                table.unproven.prove(batches, lambda *entry, state=name.state: _is_in(directory, state, *entry))

    def restore_native(self, parts: Sequence[NativePart]) -> None:
        """Take over the files of native snapshots. Before any state is asked for.

        Args:
            parts: Snapshots, each of which holds some of the own key groups, and no two the same.
        """
        if not parts:
            return
        self._database.close()
        self._database, blocks = restored_database(
            parts, self.key_groups, self._database_directory, self._options, self.owner, self.now()
        )
        self._restored.add(blocks)

    def close(self) -> None:
        if self._pending is not None:
            self._pending.give_up()
        self._database.close()
        shutil.rmtree(self._directory, ignore_errors=True)

    def _left_out_until(self) -> dict[str, int]:
        """Tell, by state, up to which time of last access entries are left out of whole snapshots."""
        now = self.now()
        return {
            name: now - config.get_ttl().to_milliseconds()
            for name, config in self.ttl_configs.items()
            if config.get_cleanup_strategies().in_full_snapshot()
        }


def _is_in(directory: str, state: str, database_key: bytes, data: bytes) -> bool:
    """Return whether an entry is in the copy of a database."""
    with closing(Database(directory, plain_options(), read_only=True)) as database:
        return bool(database.column(state).get(database_key) == data)


def _distinct_keys(table: StateTable, entries: Iterator[tuple[bytes, bytes]]) -> Iterator[Any]:
    """Return the key of each run of entries that belong to the same key, whatever their namespaces."""
    last = None
    for database_key, data in entries:
        start = database_key[: end_of_key(database_key)]
        if start != last:
            last = start
            yield table.key(database_key, data)


def _native_snapshot(directory: str) -> NativeSnapshot:
    def list_files() -> tuple[str, ...]:
        names = sorted(os.listdir(directory))
        return tuple(name for name in names if not name.startswith(_NOT_NEEDED) and not name.endswith(".log"))

    return NativeSnapshot(directory, list_files, lambda name: name.endswith((".sst", ".blob")))
