"""A key group with much in it is written in several blocks, each with some of its keys."""

from __future__ import annotations

from typing import Any

import pytest

from rekindle.contracts.key_groups import KeyGroupRange
from rekindle.datastream.state import ListStateDescriptor, MapStateDescriptor, ValueStateDescriptor
from rekindle.state.backend_settings import BackendSettings
from rekindle.state.rocksdb.settings import RocksDBSettings
from rekindle.testing.backend_snapshots import take_snapshot
from rekindle.testing.backends import BackendUnderTest
from rekindle.testing.clock import ManualClock

ONE_GROUP, LIMIT = KeyGroupRange(0, 0), 100_000
BACKENDS = {
    "heap": BackendSettings(),
    "heap, incremental": BackendSettings(incremental=True),
    "RocksDB": BackendSettings(RocksDBSettings()),
}


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rekindle.state.heap.table.BLOCK_BYTES", LIMIT)
    monkeypatch.setattr("rekindle.state.rocksdb.native.BLOCK_BYTES", LIMIT)


def fill(backend: Any, keys: range, mark: str) -> None:
    for key in keys:
        backend.key = key
        backend.get_or_create(ValueStateDescriptor("v")).update(f"{mark} {key} " * 1_000)
        backend.get_or_create(ListStateDescriptor("l")).update([f"{mark} {key} " * 300] * 3)
        backend.get_or_create(MapStateDescriptor("m")).put(mark, f"{mark} {key} " * 1_000)


def contents(backend: Any, keys: range) -> dict[Any, Any]:
    found = {}
    for key in keys:
        backend.key = key
        found[key] = (
            backend.get_or_create(ValueStateDescriptor("v")).value(),
            list(backend.get_or_create(ListStateDescriptor("l")).get()),
            dict(backend.get_or_create(MapStateDescriptor("m")).items()),
        )
    return found


@pytest.mark.parametrize("name", BACKENDS)
def test_many_large_entries_are_written_in_several_blocks_and_come_back(name: str) -> None:
    under_test, clock = BackendUnderTest(name, BACKENDS[name]), ManualClock()
    try:
        backend = under_test.create(ONE_GROUP, 1, clock.now)
        fill(backend, range(200), "first")
        snapshot = take_snapshot(backend, 1, canonical=name == "RocksDB")
        for state in ("v", "l", "m"):
            blocks = [block for block in snapshot.blocks if block.state == state]
            assert len(blocks) > 5
            assert sum(block.entries for block in blocks) == 200
            assert max(len(block.data) for block in blocks) < 2 * LIMIT
        if name == "heap, incremental":
            backend.snapshot_completed(1)
            fill(backend, range(0, 200, 3), "second")
            for key in range(0, 200, 7):
                backend.key = key
                backend.get_or_create(ValueStateDescriptor("v")).clear()
            snapshot = take_snapshot(backend, 2, base=snapshot)
            assert len([block for block in snapshot.blocks if block.state == "v" and block.delta]) > 3
        for other in BACKENDS.values():
            restored = BackendUnderTest("other", other)
            try:
                after = restored.restore([snapshot], ONE_GROUP, 1, clock.now)
                assert contents(after, range(200)) == contents(backend, range(200))
            finally:
                restored.close()
    finally:
        under_test.close()
