"""Snapshots: what is in them, and what does not disturb them."""

from __future__ import annotations

import os
import pickle

from rekindle.datastream.state import ValueStateDescriptor
from rekindle.state.block_decoding import decode_whole
from rekindle.state.key_hash import key_group_of
from rekindle.testing import BackendUnderTest, PendingSnapshot

from .driver import (
    ALL_KEY_GROUPS,
    KINDS,
    MAX_PARALLELISM,
    START,
    Keyed,
    contents,
    fill,
    filled,
    restored,
    ttl,
)

KEYS = ["a", "b", "c", "d", None, 1, 2, ("t", 1)]
NUMBERS = {key: number for number, key in enumerate(KEYS)}


def change_everything(keyed: Keyed) -> None:
    """Change, remove and add state of every kind."""
    fill(keyed, {"a": 70, "new": 71})
    for kind in KINDS:
        state = keyed.open(kind.descriptor())
        for keyed.key in ("b", "c"):
            state.clear()
        kind.write(state, 72)


class TestSnapshots:
    def test_a_restored_backend_holds_what_the_snapshot_held(self, keyed: Keyed) -> None:
        fill(keyed, NUMBERS)
        for snapshot in (keyed.checkpoint(), keyed.savepoint()):
            assert contents(keyed.restored(snapshot), KEYS) == filled(NUMBERS)

    def test_a_snapshot_of_nothing_restores_nothing(self, keyed: Keyed) -> None:
        keyed.open(ValueStateDescriptor("value"))
        for snapshot in (keyed.checkpoint(), keyed.savepoint()):
            assert snapshot.entries() == {}
            assert contents(keyed.restored(snapshot), KEYS) == {}

    def test_a_snapshot_of_a_backend_without_any_state_can_be_restored(self, keyed: Keyed) -> None:
        for snapshot in (keyed.checkpoint(), keyed.savepoint()):
            after = keyed.restored(snapshot)
            fill(after, {"a": 1})
            assert contents(after, KEYS) == filled({"a": 1})

    def test_taking_a_snapshot_changes_nothing(self, keyed: Keyed) -> None:
        fill(keyed, NUMBERS)
        for _ in range(2):
            keyed.checkpoint()
            keyed.savepoint()
            assert contents(keyed, KEYS) == filled(NUMBERS)

    def test_what_is_changed_after_a_snapshot_is_not_in_it(self, keyed: Keyed) -> None:
        fill(keyed, NUMBERS)
        snapshots = [keyed.checkpoint(), keyed.savepoint()]
        change_everything(keyed)
        for snapshot in snapshots:
            assert contents(keyed.restored(snapshot), [*KEYS, "new"]) == filled(NUMBERS)

    def test_what_is_changed_while_files_are_still_copied_is_not_in_it(self, keyed: Keyed) -> None:
        fill(keyed, NUMBERS)
        for number, canonical in enumerate((False, True), 1):
            before = contents(keyed, [*KEYS, "new"])
            pending = PendingSnapshot(keyed.backend, number, canonical=canonical)
            change_everything(keyed)
            assert contents(keyed, [*KEYS, "new"]) != before
            assert contents(keyed.restored(pending.finish()), [*KEYS, "new"]) == before

    def test_several_snapshots_can_be_under_way_at_once(self, keyed: Keyed) -> None:
        pending, expected = [], []
        for number, canonical in enumerate((False, True, False), 1):
            fill(keyed, {f"key {number}": number})
            expected.append(filled({f"key {earlier}": earlier for earlier in range(1, number + 1)}))
            pending.append(PendingSnapshot(keyed.backend, number, canonical=canonical))
        keys = [f"key {number}" for number in (1, 2, 3)]
        for snapshot, held in list(zip(pending, expected, strict=True))[::-1]:
            assert contents(keyed.restored(snapshot.finish()), keys) == held

    def test_files_kept_for_a_snapshot_are_deleted_when_it_is_finished_or_given_up(self, keyed: Keyed) -> None:
        fill(keyed, NUMBERS)
        finished, given_up = PendingSnapshot(keyed.backend, 1), PendingSnapshot(keyed.backend, 2)
        directories = [finished.native_directory, given_up.native_directory]
        given_up.write()
        assert all(directory is None or os.listdir(directory) for directory in directories)
        assert contents(keyed.restored(finished.finish()), KEYS) == filled(NUMBERS)
        given_up.give_up()
        assert not any(directory is not None and os.path.exists(directory) for directory in directories)
        assert contents(keyed, KEYS) == filled(NUMBERS)

    def test_a_shareable_file_never_changes_under_its_name(self, keyed: Keyed) -> None:
        known: dict[str, bytes] = {}
        for number in range(5):
            fill(keyed, {f"key {number}": number, "same": number})
            snapshot = keyed.checkpoint()
            assert snapshot.shareable <= snapshot.files.keys()
            for name in snapshot.shareable:
                assert known.setdefault(name, snapshot.files[name]) == snapshot.files[name]
        assert bool(known) == (keyed.under_test.settings.rocksdb is not None)

    def test_a_block_holds_one_state_in_one_key_group(self, keyed: Keyed) -> None:
        numbers = {key: key for key in range(200)}
        fill(keyed, numbers)
        snapshot = keyed.savepoint()
        places = [(block.state, block.key_group) for block in snapshot.blocks]
        assert len(set(places)) == len(places)
        assert {group for _, group in places} == set(ALL_KEY_GROUPS)
        for block in snapshot.blocks:
            keys, values = decode_whole(block)
            assert block.state == block.kind
            assert not block.delta
            assert len(keys) == len(values) == block.entries
            assert {key_group_of(key, MAX_PARALLELISM) for key in keys} == {block.key_group}

    def test_a_savepoint_is_in_the_form_that_every_backend_reads(self, keyed: Keyed) -> None:
        fill(keyed, {"a": 5})
        fill_with_ttl = keyed.restarted()
        savepoint = keyed.savepoint()
        assert not savepoint.files
        assert savepoint.entries() == {
            "value": {"a": 5},
            "list": {"a": [5, 6]},
            "map": {"a": {"n": 5, 5: None}},
            "reducing": {"a": 5},
            "aggregating": {"a": [5, 1]},
            "folding": {"a": [5]},
        }
        for kind in KINDS:
            fill_with_ttl.open(kind.descriptor(ttl()))
        savepoint = fill_with_ttl.savepoint()
        assert all(block.ttl for block in savepoint.blocks)
        assert savepoint.entries() == {
            "value": {"a": (5, START)},
            "list": {"a": [(5, START), (6, START)]},
            "map": {"a": {"n": (5, START), 5: (None, START)}},
            "reducing": {"a": (5, START)},
            "aggregating": {"a": ([5, 1], START)},
            "folding": {"a": ([5], START)},
        }

    def test_state_that_nobody_asks_for_is_carried_on(self, keyed: Keyed) -> None:
        fill(keyed, NUMBERS)
        once = keyed.restarted()
        once.key = "a"
        once.open(ValueStateDescriptor("other")).update(1)
        for way in ("checkpoint", "savepoint"):
            twice = once.restored(getattr(once, way)())
            thrice = twice.restored(getattr(twice, way)())
            assert contents(thrice, KEYS) == filled(NUMBERS)
            thrice.key = "a"
            assert thrice.open(ValueStateDescriptor("other")).value() == 1

    def test_state_with_ttl_that_nobody_asks_for_keeps_its_times(self, keyed: Keyed) -> None:
        fill(keyed, NUMBERS, ttl())
        keyed.clock.advance(60)
        for way in ("checkpoint", "savepoint"):
            once = keyed.restored(getattr(keyed, way)())
            keyed.clock.set(START + 60)
            twice = once.restored(getattr(once, way)())
            keyed.clock.set(START + 99)
            assert contents(twice, KEYS, ttl()) == filled(NUMBERS)
            keyed.clock.set(START + 100)
            assert contents(twice, KEYS, ttl()) == {}

    def test_restoring_takes_nothing_away_from_a_snapshot(self, keyed: Keyed) -> None:
        fill(keyed, NUMBERS)
        for snapshot in (keyed.checkpoint(), keyed.savepoint()):
            first = keyed.restored(snapshot)
            change_everything(first)
            first.checkpoint()
            assert contents(keyed.restored(snapshot), [*KEYS, "new"]) == filled(NUMBERS)

    def test_a_snapshot_can_be_pickled_on_its_way_to_another_process(self, keyed: Keyed) -> None:
        fill(keyed, NUMBERS)
        travelled = pickle.loads(pickle.dumps(keyed.checkpoint()))
        assert contents(keyed.restored(travelled), KEYS) == filled(NUMBERS)

    def test_a_restored_backend_takes_only_its_own_key_groups(self, under_test: BackendUnderTest, keyed: Keyed) -> None:
        fill(keyed, {key: key for key in range(50)})
        for snapshot in (keyed.checkpoint(), keyed.savepoint()):
            half = restored(under_test, [snapshot], keyed.clock, 1, 2)
            own = [key for key in range(50) if key_group_of(key, MAX_PARALLELISM) >= MAX_PARALLELISM // 2]
            assert 0 < len(own) < 50
            assert contents(half, range(50)) == filled({key: key for key in own})
            for kind in KINDS:
                assert sorted(half.backend.keys(kind.name)) == own
