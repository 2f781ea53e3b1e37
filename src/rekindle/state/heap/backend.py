"""Keyed state on the heap: one dict per state; key groups appear only in snapshots."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from rekindle.contracts.key_groups import KeyGroupRange
from rekindle.contracts.state import (
    StateTtlConfig,
)
from rekindle.state.block_encoding import BlockEncoder
from rekindle.state.blocks import KeyGroupBlock, StateSpec
from rekindle.state.heap.primitives import HeapPrimitives
from rekindle.state.heap.table import HeapTable
from rekindle.state.keyed_backend import KeyedStateBackend
from rekindle.state.read_back import BlockReadBack
from rekindle.state.scope import Scope
from rekindle.state.snapshots import KeyedSnapshot, SnapshotRequest
from rekindle.state.state_owner import StateOwner
from rekindle.state.state_primitives import StatePrimitives
from rekindle.state.state_serializers import StateSerializers
from rekindle.state.ttl.rules import TtlCleanup


class HeapKeyedStateBackend(KeyedStateBackend):
    """Hold keyed state as live Python objects."""

    __slots__ = ("_incremental", "_noting", "_tables")

    def __init__(
        self,
        owner: StateOwner,
        key_groups: KeyGroupRange,
        max_parallelism: int,
        now: Callable[[], int],
        incremental: bool = False,
    ) -> None:
        super().__init__(owner, key_groups, max_parallelism, now)
        self._incremental = incremental
        self._noting = False  # until the first snapshot, which is whole
        self._tables: dict[str, HeapTable] = {}

    def keys(self, name: str) -> Iterator[Any]:
        table = self._tables.get(name)
        if table is None:
            return iter(())
        if table.spec.namespaced:
            return iter(list(dict.fromkeys(key for key, _ in table.entries)))
        return iter(list(table.entries))

    def blocks_of(self, key: Any) -> Iterator[KeyGroupBlock]:
        for table in self._tables.values():
            yield from table.blocks_of(key, self.max_parallelism)

    def stored(self, name: str, key: Any) -> Any:
        return self._tables[name].entries.get(key)

    def clear(self) -> None:
        """Drop all state, of all keys."""
        for table in self._tables.values():
            table.entries.clear()

    def sweep(self, name: str, limit: int, cleanup: TtlCleanup) -> None:
        self._tables[name].sweep(limit, cleanup.threshold())

    def snapshot(self, request: SnapshotRequest) -> KeyedSnapshot:
        tables = list(self._tables.values())
        base_id = request.base_id
        if not self._incremental or request.canonical:
            return self._whole(tables)
        self._noting = True
        for table in tables:
            table.take_changes(request.checkpoint_id)
        if base_id is None:
            return self._whole(tables)
        since = [(table, table.changes_since(base_id)) for table in tables]
        changes = [(table, changed) for table, changed in since if changed is not None]
        if len(changes) < len(since):
            return self._whole(tables)
        return KeyedSnapshot(
            blocks=lambda: (
                block
                for table, changed in changes
                for block in table.delta_blocks(changed, self.max_parallelism, self._leaves_out(table.spec.name))
            ),
            entries=sum(len(changed) for _, changed in changes),
            delta=True,
            check=self._check,
        )

    def after_chunk(self, records: int) -> None:
        super().after_chunk(records)
        if self._incremental:
            for table in self._tables.values():
                table.limit_changes()

    def changes(self) -> tuple[int, int]:
        entries = sum(len(table.entries) for table in self._tables.values())
        counts = [table.change_count() for table in self._tables.values()]
        noted = [count for count in counts if count is not None]
        return sum(noted) if len(noted) == len(counts) else entries + 1, entries

    def snapshot_completed(self, checkpoint_id: int) -> None:
        for table in self._tables.values():
            table.forget_changes(checkpoint_id)

    def state_names(self) -> list[str]:
        return sorted({*self._tables, *self._restored.names()})

    def _whole(self, tables: list[HeapTable]) -> KeyedSnapshot:
        now = self.now()
        unclaimed = self._restored.unclaimed()

        def blocks() -> Iterator[KeyGroupBlock]:
            yield from unclaimed
            for table in tables:
                yield from table.whole_blocks(self.max_parallelism, self._left_out_until(table.spec.name, now))

        return KeyedSnapshot(blocks=blocks, entries=sum(len(table.entries) for table in tables), check=self._check)

    def _check(self, block: KeyGroupBlock) -> None:
        table = self._tables.get(block.state)  # None: nobody has asked for it, and it is as it was restored
        if table is not None:
            table.read_back.check(block)

    def _held_objects(self, name: str) -> Callable[[Any], Any]:
        return self._tables[name].entries.get

    def _leaves_out(self, name: str) -> bool:
        """Return whether whole snapshots of a state leave out what has expired."""
        config = self.ttl_configs.get(name)
        return config is not None and config.get_cleanup_strategies().in_full_snapshot()

    def _left_out_until(self, name: str, now: int) -> int | None:
        """Tell up to which time of last access entries are left out of snapshots; None: all are in."""
        return now - self.ttl_configs[name].get_ttl().to_milliseconds() if self._leaves_out(name) else None

    def _cleanup(self, config: StateTtlConfig) -> TtlCleanup | None:
        strategy = config.get_cleanup_strategies().get_incremental_cleanup_strategy()
        if strategy is None:
            return None
        size, ttl, now = strategy.get_cleanup_size(), config.get_ttl().to_milliseconds(), self.now
        per_record = size if strategy.run_cleanup_for_every_record() else 0
        return TtlCleanup(size, per_record, size, lambda: now() - ttl)

    def _open(self, spec: StateSpec, serializers: StateSerializers, scope: Scope) -> StatePrimitives:
        return HeapPrimitives(self._opened(spec, serializers), scope, serializers.map_key)

    def _opened(self, spec: StateSpec, serializers: StateSerializers) -> HeapTable:
        """Make the table of a state, with what was restored of it: read as it was written, by today's types."""
        claimed = self._claimed(spec, serializers)
        encoder = BlockEncoder(spec, claimed.writer, claimed.writer.stored(self.owner.state(spec.name)))
        read_back = BlockReadBack(claimed.writer, self.owner.state(spec.name), self.max_parallelism)
        table = HeapTable(spec, encoder, read_back, claimed.entries(), self._incremental, self._noting)
        self._tables[spec.name] = table
        return table
