"""Time-to-live in RocksDB: eight bytes before each value, switched on and off at a restore, swept in the background."""

import pytest

from rekindle.common.time import Time
from rekindle.contracts.key_groups import key_group_range
from rekindle.datastream.state import (
    ListStateDescriptor,
    MapStateDescriptor,
    StateTtlConfig,
    ValueStateDescriptor,
)
from rekindle.state.block_decoding import decode_whole
from rekindle.state.rocksdb.database import walk
from rekindle.state.rocksdb.native_part import NativePart
from rekindle.state.snapshots import SnapshotRequest
from rekindle.state.ttl.rules import TtlCleanup
from rekindle.testing.backend_snapshots import take_snapshot

from .conftest import MAX_PARALLELISM
from .test_snapshots import exported, native_part

TTL = 100
DESCRIPTORS = {"v": ValueStateDescriptor, "l": ListStateDescriptor, "m": MapStateDescriptor}


def config(**strategies) -> StateTtlConfig:
    builder = StateTtlConfig.new_builder(Time.milliseconds(TTL)).return_expired_if_not_cleaned_up()
    if not strategies:
        builder.disable_cleanup_in_background()
    for strategy, arguments in strategies.items():
        getattr(builder, strategy)(*arguments)
    return builder.build()


def opened(backend, ttl=None):
    states = {}
    for name, make in DESCRIPTORS.items():
        descriptor = make(name)
        if ttl is not None:
            descriptor.enable_time_to_live(ttl)
        states[name] = backend.get_or_create(descriptor)
    return states


def write(backend, states, key, mark):
    backend.key = key
    states["v"].update(mark)
    states["l"].add(mark)
    states["m"].put(mark, mark)


def read(backend, states, key):
    backend.key = key
    return states["v"].value(), states["l"].get(), dict(states["m"].items())


def raw(backend, name):
    """Return what RocksDB has of a state, as (value, last access)."""
    for cache in backend._caches.values():
        cache.flush()
    return [backend._tables[name].codec.decode(data) for _, data in walk(backend._tables[name].column, b"")]


def cleanup_of(backend, clock, every=1000):
    return TtlCleanup(0, 1, every, lambda: clock.now() - TTL)


class TestConversion:
    @pytest.mark.parametrize("canonical", [False, True], ids=["native", "blocks"])
    @pytest.mark.parametrize("switched_on", [False, True], ids=["off", "on"])
    def test_it_is_switched_on_and_off_at_a_restore(
        self, backend, make_backend, cache_entries, clock, tmp_path, canonical, switched_on
    ):
        states = opened(backend, None if switched_on else config())
        for key in ("a", True, ("b", 1)):
            write(backend, states, key, "x")
            write(backend, states, key, "y")
        restored = make_backend(cache_entries)
        if canonical:
            restored.restore_blocks(exported(backend))
        else:
            restored.restore_native([native_part(backend, tmp_path / "part")])
        clock.advance(10)
        states = opened(restored, config() if switched_on else None)
        for key in ("a", True, ("b", 1)):
            assert read(restored, states, key) == ("y", ["x", "y"], {"x": "x", "y": "y"})
        assert set(restored.keys("m")) == {"a", True, ("b", 1)}
        if switched_on:  # counts as just written
            assert set(raw(restored, "v")) == {("y", clock.now())}
            clock.advance(TTL)
            assert read(restored, states, "a") == ("y", ["x", "y"], {"x": "x", "y": "y"})
            assert read(restored, states, "a") == (None, [], {})

    def test_it_costs_eight_bytes(self, make_backend):
        sizes = []
        for ttl in (None, config()):
            backend = make_backend(0)
            write(backend, opened(backend, ttl), "a", "x")
            sizes.append([len(data) for name in "vlm" for _, data in walk(backend._tables[name].column, b"")])
        assert [with_ttl - without for without, with_ttl in zip(*sizes, strict=True)] == [8, 8, 8]

    def test_parts_may_differ(self, make_backend, tmp_path, clock):
        """A subtask that never asked for a state has it still as it was restored."""
        written = clock.now()
        parts: list[NativePart] = []
        for subtask, ttl in enumerate((None, config(), None)):
            backend = make_backend(key_groups=key_group_range(subtask, 3, MAX_PARALLELISM))
            states = opened(backend, ttl)
            for key in range(20):
                write(backend, states, (subtask, key), "x")
            parts.append(native_part(backend, tmp_path / str(subtask)))
        clock.advance(30)
        restored = make_backend()
        restored.restore_native(parts)
        states = opened(restored, config())
        assert {last_access for _, last_access in raw(restored, "v")} == {written, written + 30}
        found = [key for subtask in range(3) for key in range(20) if read(restored, states, (subtask, key))[0] == "x"]
        assert len(found) == len(list(restored.keys("v"))) > 0


class TestSweeping:
    def test_what_has_expired_goes_and_the_rest_stays(self, backend, clock):
        states = opened(backend, config())
        for key in range(10):
            write(backend, states, key, "old")
        clock.advance(60)
        for key in range(5):
            write(backend, states, key, "new")
        clock.advance(40)
        for name in "vlm":
            backend.sweep(name, 1000, cleanup_of(backend, clock))
        for key in range(10):
            expected = ("new", ["new"], {"new": "new"}) if key < 5 else (None, [], {})
            assert read(backend, states, key) == expected
        assert [len(raw(backend, name)) for name in "vlm"] == [5, 5, 5]
        assert set(backend.keys("l")) == set(range(5))

    @pytest.mark.parametrize("name", ["v", "l", "m"])
    def test_every_entry_is_visited_in_turn(self, backend, clock, name):
        states = opened(backend, config())
        for key in range(30):
            write(backend, states, key, "x")
        clock.advance(TTL)
        write(backend, states, 30, "x")
        for _ in range(40):
            backend.sweep(name, 3, cleanup_of(backend, clock))
        assert set(backend.keys(name)) == {30}

    def test_it_goes_on_where_it_stopped(self, make_backend, clock):
        backend = make_backend(0)
        states = opened(backend, config())
        for key in range(30):
            write(backend, states, key, "x")
        clock.advance(TTL)
        left = []
        for _ in range(10):
            backend.sweep("v", 3, cleanup_of(backend, clock))
            left.append(len(raw(backend, "v")))
        assert left == list(range(27, -1, -3))

    def test_something_newer_in_the_cache_is_not_lost(self, backend, clock):
        states = opened(backend, config())
        write(backend, states, "a", "old")
        raw(backend, "v")  # writes it
        clock.advance(TTL)
        write(backend, states, "a", "new")
        states["m"].put("old", "again")
        for name in "vlm":
            backend.sweep(name, 1000, cleanup_of(backend, clock))
        expected = ("new", ["new"], {"new": "new", "old": "again"})
        assert read(backend, states, "a") == expected
        raw(backend, "v")
        assert read(backend, states, "a") == expected

    def test_something_removed_does_not_come_back(self, backend, clock):
        states = opened(backend, config())
        for key in range(4):
            write(backend, states, key, "old")
        raw(backend, "v")
        for key in range(4):
            read(backend, states, key)  # into the cache
        clock.advance(TTL)
        for name in "vlm":
            backend.sweep(name, 1000, cleanup_of(backend, clock))
        for key in range(4):
            assert read(backend, states, key) == (None, [], {})
        assert [raw(backend, name) for name in "vlm"] == [[], [], []]

    def test_the_clock_is_read_now_and_then(self, make_backend, clock):
        backend = make_backend(0)
        states = opened(backend, config())
        for key in range(30):
            write(backend, states, key, "x")
        asked = []
        backend.sweep("v", 25, TtlCleanup(0, 1, 10, lambda: asked.append(1) or 0))
        assert len(asked) == 3

    def test_the_clock_moves_on_while_it_sweeps(self, make_backend, clock):
        backend = make_backend(0)
        states = opened(backend, config())
        for key in range(30):
            write(backend, states, key, "x")
        thresholds = iter([0, clock.now()])
        backend.sweep("v", 30, TtlCleanup(0, 1, 10, lambda: next(thresholds, 0)))
        assert len(raw(backend, "v")) == 20

    def test_an_empty_state_is_swept_in_no_time(self, backend, clock):
        opened(backend, config())
        for name in "vlm":
            backend.sweep(name, 10**9, cleanup_of(backend, clock))

    def test_keys_that_equal_others_are_swept_as_well(self, backend, clock):
        states = opened(backend, config())
        write(backend, states, True, 1.0)
        raw(backend, "v")
        read(backend, states, 1)
        clock.advance(TTL)
        for name in "vlm":
            backend.sweep(name, 100, cleanup_of(backend, clock))
        assert read(backend, states, True) == (None, [], {})


class TestStrategies:
    def test_the_backend_sweeps_after_each_chunk(self, backend, clock):
        states = opened(backend, config(cleanup_in_rocksdb_compact_filter=(10,)))
        for key in range(10):
            write(backend, states, key, "x")
        clock.advance(TTL)
        for _ in range(20):
            backend.after_chunk(5)
        assert [raw(backend, name) for name in "vlm"] == [[], [], []]

    def test_by_default_it_sweeps(self, make_backend, clock):
        backend = make_backend()
        states = opened(backend, config(cleanup_in_background=()))
        write(backend, states, 1, "x")
        clock.advance(TTL)
        backend.after_chunk(10)
        assert raw(backend, "v") == []

    @pytest.mark.parametrize(
        ("ttl", "settings"),
        [
            (config(), {}),
            (config(cleanup_in_rocksdb_compact_filter=(10,)), {"ttl_compaction": False}),
            (config(cleanup_incrementally=(10, True), disable_cleanup_in_background=()), {}),
        ],
        ids=["not asked for", "switched off", "asked for on the heap"],
    )
    def test_it_does_not_sweep_where_it_should_not(self, make_backend, clock, ttl, settings):
        backend = make_backend(**settings)
        states = opened(backend, ttl)
        write(backend, states, 1, "x")
        clock.advance(TTL)
        backend.after_chunk(10)
        assert len(raw(backend, "v")) == 1

    def test_a_clock_to_be_read_at_every_entry(self, make_backend, clock):
        backend = make_backend()
        opened(backend, config(cleanup_in_rocksdb_compact_filter=(0,)))
        assert {cleanup.clock_every for _, cleanup in backend._sweeps} == {1}

    def test_full_snapshots_leave_out_what_has_expired(self, backend, clock):
        states = opened(backend, config(cleanup_full_snapshot=(), disable_cleanup_in_background=()))
        for key in range(4):
            write(backend, states, key, "old")
        clock.advance(60)
        write(backend, states, 0, "new")
        clock.advance(40)
        values = {}
        for block in exported(backend):
            for key, value in zip(*decode_whole(block), strict=True):
                values[block.state, key] = value
        last = clock.now() - 40
        assert values == {
            ("v", 0): ("new", last),
            ("l", 0): [("new", last)],
            ("m", 0): {"new": ("new", last)},
        }
        assert len(raw(backend, "l")) == 5  # local state stays

    def test_full_checkpoints_leave_it_out_too_and_are_smaller_by_it(self, make_backend, clock):
        backend = make_backend()
        states = opened(backend, config(cleanup_full_snapshot=(), disable_cleanup_in_background=()))
        for key in range(2_000):
            write(backend, states, key, f"old {key * 7919}")
        whole = take_snapshot(backend, 1)
        clock.advance(60)
        write(backend, states, 0, "new")
        clock.advance(40)
        snapshot = take_snapshot(backend, 2)
        last = clock.now() - 40
        assert snapshot.entries() == {
            "v": {0: ("new", last)},
            "l": {0: [("new", last)]},
            "m": {0: {"new": ("new", last)}},
        }
        assert sum(map(len, snapshot.files.values())) < sum(map(len, whole.files.values())) / 2
        assert len(raw(backend, "l")) == 2_001  # local state stays
        write(backend, states, 1, "newer")
        assert set(take_snapshot(backend, 3).entries()["v"]) == {0, 1}

    def test_incremental_checkpoints_store_files_as_they_are(self, make_backend, clock):
        backend = make_backend(incremental=True)
        write(backend, opened(backend, config(cleanup_full_snapshot=())), 1, "x")
        clock.advance(TTL)
        assert set(take_snapshot(backend, 1).entries()) == {"v", "l", "m"}

    def test_what_expires_after_the_barrier_is_in_the_snapshot(self, make_backend, clock):
        backend = make_backend()
        write(backend, opened(backend, config(cleanup_full_snapshot=())), 1, "x")
        snapshot = backend.snapshot(SnapshotRequest(1, canonical=True))
        clock.advance(TTL)
        assert list(snapshot.blocks()) == []
        snapshot.settle()
        assert len(list(snapshot.exported())) == 3
