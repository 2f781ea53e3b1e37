"""Snapshots in RocksDB's own files and as blocks, and backends restored from either."""

import contextlib
import os
import shutil

import pytest

from rekindle.contracts.key_groups import KeyGroupRange, key_group_range
from rekindle.datastream.state import ListStateDescriptor, MapStateDescriptor, ValueStateDescriptor
from rekindle.exceptions import StateRestoreError
from rekindle.state.block_decoding import decode_whole
from rekindle.state.block_encoding import BlockEncoder
from rekindle.state.blocks import KeyGroupBlock, StateSpec
from rekindle.state.heap.backend import HeapKeyedStateBackend
from rekindle.state.key_hash import key_group_of
from rekindle.state.kinds.state_kind import kind_named
from rekindle.state.rocksdb.native import native_blocks
from rekindle.state.rocksdb.native_part import NativePart
from rekindle.state.shapes.map_shape import MapChange
from rekindle.state.snapshots import SnapshotRequest
from rekindle.state.state_owner import StateOwner
from rekindle.state.state_serializers import PICKLED

from .conftest import ALL, MAX_PARALLELISM

KEYS = [*range(40), "a", None, ("t", 1), 0.5, 40.0]


def fill(backend, keys=KEYS):
    value = backend.get_or_create(ValueStateDescriptor("v"))
    elements = backend.get_or_create(ListStateDescriptor("l"))
    entries = backend.get_or_create(MapStateDescriptor("m"))
    windowed = backend.get_or_create_namespaced(ListStateDescriptor("w"))
    for key in keys:
        if key_group_of(key, MAX_PARALLELISM) not in backend.key_groups:
            continue
        backend.key = key
        value.update(f"value of {key}")
        elements.add_all([1, f"element of {key}", 3])
        entries.put_all({"key": key, 2: None})
        windowed.use(0).add(str(key))
        windowed.use(("w", 1)).add_all([0, str(key)])


def contents(backend, keys=KEYS):
    value = backend.get_or_create(ValueStateDescriptor("v"))
    elements = backend.get_or_create(ListStateDescriptor("l"))
    entries = backend.get_or_create(MapStateDescriptor("m"))
    windowed = backend.get_or_create_namespaced(ListStateDescriptor("w"))
    found = {}
    for key in keys:
        if key_group_of(key, MAX_PARALLELISM) in backend.key_groups:
            backend.key = key
            windows = windowed.use(0).get(), windowed.use(("w", 1)).get()
            found[key] = (value.value(), elements.get(), dict(entries.items()), windows)
    return found


def expected(key_groups=ALL, keys=KEYS):
    return {
        key: (
            f"value of {key}",
            [1, f"element of {key}", 3] * keys.count(key),
            {"key": key, 2: None},
            ([str(key)] * keys.count(key), [0, str(key)] * keys.count(key)),
        )
        for key in keys
        if key_group_of(key, MAX_PARALLELISM) in key_groups
    }


def settled(backend, checkpoint_id=1, canonical=False):
    """Take a snapshot, as far as to where it can be stored."""
    snapshot = backend.snapshot(SnapshotRequest(checkpoint_id, canonical=canonical))
    assert list(snapshot.blocks()) == []
    snapshot.settle()
    return snapshot


def native_part(backend, target, checkpoint_id=1):
    """Take a native snapshot, and copy its files as an upload and a download would."""
    snapshot = settled(backend, checkpoint_id)
    target.mkdir(parents=True)
    for name in snapshot.native.files:
        shutil.copyfile(os.path.join(snapshot.native.directory, name), target / name)
    snapshot.release()
    return NativePart(str(target), backend.key_groups)


def exported(backend):
    snapshot = settled(backend, canonical=True)
    blocks = list(snapshot.exported())
    snapshot.release()
    return blocks


class TestNativeSnapshots:
    def test_the_files_are_what_a_database_needs_and_those_that_never_change_are_shareable(self, make_backend):
        backend = make_backend()
        fill(backend)
        native = settled(backend).native
        kinds = {name.partition("-")[0].rpartition(".")[2] for name in native.files}
        assert kinds == {"CURRENT", "MANIFEST", "sst"}
        assert native.shareable == {name for name in native.files if name.endswith(".sst")}

    def test_a_later_snapshot_shares_the_files_of_what_did_not_change(self, make_backend):
        backend = make_backend()
        fill(backend)
        first = settled(backend).native
        backend.key = 1
        backend.get_or_create(ValueStateDescriptor("v")).update("other")
        second = settled(backend, 2).native
        assert first.shareable < second.shareable
        assert len(second.shareable - first.shareable) == 1
        for name in first.shareable:
            assert os.path.samefile(os.path.join(first.directory, name), os.path.join(second.directory, name))

    def test_a_snapshot_stays_as_it_is_while_the_backend_goes_on(self, backend, make_backend, tmp_path):
        fill(backend)
        snapshot = settled(backend)
        for key in KEYS:
            backend.key = key
            backend.get_or_create(ValueStateDescriptor("v")).update("later")
            backend.get_or_create(ListStateDescriptor("l")).clear()
            backend.get_or_create(MapStateDescriptor("m")).clear()
        settled(backend, 2)
        restored = make_backend()
        restored.restore_native([NativePart(snapshot.native.directory, ALL)])
        assert contents(restored) == expected()

    def test_releasing_deletes_the_files_and_is_harmless_after_closing(self, make_backend):
        backend = make_backend()
        fill(backend)
        first, second = settled(backend), settled(backend, 2)
        first.release()
        assert not os.path.exists(first.native.directory)
        assert os.path.exists(second.native.directory)
        backend.close()
        second.release()
        assert not os.path.exists(backend._directory)

    def test_what_is_in_memory_goes_into_the_files(self, make_backend):
        backend = make_backend()
        fill(backend)
        snapshot = settled(backend)
        assert snapshot.entries > 0
        assert (snapshot.delta, snapshot.exported) == (False, None)
        assert settled(backend, 2).entries == 0

    def test_an_empty_backend_can_be_snapshotted_and_restored(self, make_backend, tmp_path):
        restored = make_backend()
        restored.restore_native([native_part(make_backend(), tmp_path / "empty")])
        assert restored.state_names() == []
        fill(restored)
        assert contents(restored) == expected()


class TestRestoringNativeSnapshots:
    def test_the_same_key_groups_are_taken_over_file_by_file(self, backend, make_backend, tmp_path):
        fill(backend)
        part = native_part(backend, tmp_path / "part")
        restored = make_backend()
        restored.restore_native([part])
        assert restored.state_names() == ["l", "m", "v", "w"]
        for name in os.listdir(part.directory):
            if name.endswith(".sst"):
                assert os.path.samefile(
                    os.path.join(part.directory, name), os.path.join(restored._database_directory, name)
                )
        assert contents(restored) == expected()

    def test_files_are_copied_where_there_are_no_links(self, make_backend, tmp_path, monkeypatch):
        backend = make_backend()
        fill(backend)
        part = native_part(backend, tmp_path / "part")

        def refuse(source, target):
            raise OSError("cross-device link")

        monkeypatch.setattr(os, "link", refuse)
        restored = make_backend()
        restored.restore_native([part])
        assert contents(restored) == expected()

    def test_the_snapshot_is_not_changed_by_the_backend_that_was_restored(self, make_backend, tmp_path):
        backend = make_backend()
        fill(backend)
        part = native_part(backend, tmp_path / "part")
        before = {path.name: path.read_bytes() for path in (tmp_path / "part").iterdir()}
        for _ in range(2):
            restored = make_backend()
            restored.restore_native([part])
            for key in KEYS:
                restored.key = key
                restored.get_or_create(ValueStateDescriptor("v")).update("later")
            settled(restored, 2)
            restored._tables["v"].column.compact_range(None, None)
        assert {path.name: path.read_bytes() for path in (tmp_path / "part").iterdir()} == before

    def test_rescaling_from_one_to_two_to_three_to_one(self, make_backend, tmp_path, cache_entries):
        first = make_backend(cache_entries)
        fill(first)
        parts = [native_part(first, tmp_path / "1-0")]
        for step, parallelism in enumerate((2, 3, 1, 16, 1)):
            backends = []
            for subtask in range(parallelism):
                own = key_group_range(subtask, parallelism, MAX_PARALLELISM)
                backend = make_backend(cache_entries, own)
                backend.restore_native([part for part in parts if part.key_groups.intersects(own)])
                assert contents(backend) == expected(own)
                backends.append(backend)
            parts = [
                native_part(backend, tmp_path / f"{step}-{number}-of-{parallelism}")
                for number, backend in enumerate(backends)
            ]

    def test_key_groups_of_others_are_gone(self, make_backend, tmp_path):
        backend = make_backend()
        fill(backend)
        half = KeyGroupRange(0, 7)
        restored = make_backend(key_groups=half)
        restored.restore_native([native_part(backend, tmp_path / "part")])
        assert contents(restored) == expected(half)
        for name in "vlmw":
            assert set(restored.keys(name)) == set(expected(half))
        assert {block.key_group for block in exported(restored)} <= set(half)

    def test_lists_grow_in_order_after_rescaling(self, make_backend, tmp_path):
        """Sequence numbers of the parts overlap; elements added later come after all of them."""
        parts = []
        for subtask, length in enumerate((2, 50, 5)):
            backend = make_backend(key_groups=key_group_range(subtask, 3, MAX_PARALLELISM))
            elements = backend.get_or_create(ListStateDescriptor("l"))
            for number in range(length):
                for key in range(30):
                    if key_group_of(key, MAX_PARALLELISM) in backend.key_groups:
                        backend.key = key
                        elements.add((subtask, number))
            parts.append(native_part(backend, tmp_path / f"part-{subtask}"))
        restored = make_backend()
        restored.restore_native(parts)
        elements = restored.get_or_create(ListStateDescriptor("l"))
        for key in range(30):
            restored.key = key
            before = elements.get()
            elements.add("last")
            restored._caches["l"].flush()
            restored._caches["l"].forget(key)
            assert elements.get() == [*sorted(before), "last"]

    def test_a_state_that_only_one_part_has_is_taken_over(self, make_backend, tmp_path):
        parts = []
        for subtask, name in enumerate(("here", "there")):
            backend = make_backend(key_groups=key_group_range(subtask, 2, MAX_PARALLELISM))
            state = backend.get_or_create(ValueStateDescriptor(name))
            backend.key = next(key for key in range(100) if key_group_of(key, MAX_PARALLELISM) in backend.key_groups)
            state.update(backend.key)
            parts.append(native_part(backend, tmp_path / name))
        restored = make_backend()
        restored.restore_native(parts)
        assert restored.state_names() == ["here", "there"]
        for name in ("here", "there"):
            restored.get_or_create(ValueStateDescriptor(name))
            (key,) = restored.keys(name)
            restored.key = key
            assert restored.get_or_create(ValueStateDescriptor(name)).value() == key

    def test_a_state_of_another_kind_is_refused(self, make_backend, tmp_path):
        backend = make_backend()
        fill(backend)
        part = native_part(backend, tmp_path / "part")
        restored = make_backend()
        restored.restore_native([part])
        with pytest.raises(
            StateRestoreError, match=r"'v' of operator 'count' \(.*\) is a value state in the snapshot and a list"
        ):
            restored.get_or_create(ListStateDescriptor("v"))
        with pytest.raises(StateRestoreError, match=r"'l' of operator 'count' \(.*\) belongs to a key in the snapshot"):
            restored.get_or_create_namespaced(ListStateDescriptor("l"))


class TestBlocks:
    def test_canonical_snapshots_are_blocks_that_the_heap_reads(self, backend, clock):
        fill(backend)
        blocks = exported(backend)
        heap = HeapKeyedStateBackend(StateOwner("count"), ALL, MAX_PARALLELISM, clock.now)
        heap.restore_blocks(blocks)
        assert contents(heap) == expected()

    def test_blocks_hold_whole_key_groups_in_order(self, backend):
        fill(backend)
        blocks = exported(backend)
        assert [(block.state, block.key_group) for block in blocks] == sorted(
            {(name, key_group_of(key, MAX_PARALLELISM)) for name in "vlmw" for key in KEYS}
        )
        for block in blocks:
            keys, _ = decode_whole(block)
            assert block.entries == len(keys)
            for key in keys:
                assert key_group_of(key[0] if block.namespaced else key, MAX_PARALLELISM) == block.key_group

    def test_blocks_are_read_as_they_were_at_the_time_of_the_snapshot(self, backend):
        fill(backend)
        before = exported(backend)
        snapshot = settled(backend, canonical=True)
        fill(backend, [*range(100, 150)])
        assert list(snapshot.exported()) == before

    def test_blocks_of_the_heap_and_of_rocksdb_are_restored(self, backend, make_backend, cache_entries, clock):
        fill(backend)
        heap = HeapKeyedStateBackend(StateOwner("count"), ALL, MAX_PARALLELISM, clock.now)
        fill(heap)
        for blocks in (exported(backend), list(heap.snapshot(SnapshotRequest(1)).blocks())):
            restored = make_backend(cache_entries)
            restored.restore_blocks(blocks)
            assert contents(restored) == expected()
            fill(restored)
            assert contents(restored) == expected(keys=KEYS + KEYS)

    def test_changes_are_applied_to_the_blocks_before(self, make_backend):
        group = 3
        value, elements, entries = (
            BlockEncoder(StateSpec(name, kind_named(kind)), PICKLED, PICKLED.stored(StateOwner("count").state(name)))
            for name, kind in (("v", "value"), ("l", "list"), ("m", "map"))
        )
        keys = [key for key in range(500) if key_group_of(key, MAX_PARALLELISM) == group][:3]
        kept, changed, removed = keys
        blocks: list[KeyGroupBlock] = [
            value.whole(group, keys, [1, 2, 3]),
            elements.whole(group, keys, [[1], [2, 3], [4]]),
            entries.whole(group, keys, [{1: 1}, {2: 2, 3: 3}, {4: 4}]),
            value.delta(group, [changed], ["new"], [removed]),
            elements.delta(group, [changed], [(1, ["added"])], [removed]),
            entries.delta(group, [changed], [MapChange(False, {9: 9}, [2])], [removed]),
            elements.delta(group, [changed], [(2, ["more"])], []),
        ]
        restored = make_backend()
        restored.restore_blocks(blocks)
        restored.key = kept
        assert restored.get_or_create(ValueStateDescriptor("v")).value() == 1
        restored.key = changed
        assert restored.get_or_create(ValueStateDescriptor("v")).value() == "new"
        assert restored.get_or_create(ListStateDescriptor("l")).get() == [2, "added", "more"]
        assert dict(restored.get_or_create(MapStateDescriptor("m")).items()) == {3: 3, 9: 9}
        assert {name: set(restored.keys(name)) for name in "vlm"} == {name: {kept, changed} for name in "vlm"}

    def test_native_files_are_read_as_blocks_of_any_key_groups(self, backend, tmp_path):
        fill(backend)
        part = native_part(backend, tmp_path / "part")
        whole = exported(backend)
        assert list(native_blocks(part.directory, ALL)) == whole
        own = KeyGroupRange(4, 9)
        assert list(native_blocks(part.directory, own)) == [block for block in whole if block.key_group in own]
        assert list(native_blocks(part.directory, KeyGroupRange(3, 2))) == []

    def test_a_reader_that_stops_early_leaves_nothing_open(self, make_backend, tmp_path):
        backend = make_backend()
        fill(backend)
        part = native_part(backend, tmp_path / "part")
        blocks = native_blocks(part.directory, ALL)
        next(blocks)
        blocks.close()
        assert not open_files_below(part.directory)


def open_files_below(directory):
    found = []
    for number in os.listdir("/proc/self/fd"):
        with contextlib.suppress(FileNotFoundError):  # the descriptor that lists them
            found.append(os.readlink(f"/proc/self/fd/{number}"))
    return [path for path in found if path.startswith(f"{directory}/")]
