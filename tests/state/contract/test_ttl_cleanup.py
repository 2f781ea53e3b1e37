"""What removes expired state besides reading it."""

from __future__ import annotations

from typing import Any

import pytest

from rekindle.common.time import Duration
from rekindle.datastream.state import ListStateDescriptor, MapStateDescriptor, StateTtlConfig, ValueStateDescriptor
from rekindle.state.backend_settings import BackendSettings
from rekindle.state.rocksdb.settings import RocksDBSettings
from rekindle.testing import BackendUnderTest, heap_backends

from .driver import EVERY_KIND, KINDS, START, TTL, Keyed, Kind, contents, fill, filled, started, ttl, ttl_builder

KEYS = list(range(10))


def described(config: StateTtlConfig, name: str = "v") -> ValueStateDescriptor:
    descriptor = ValueStateDescriptor(name)
    descriptor.enable_time_to_live(config)
    return descriptor


def expired_values(keyed: Keyed, config: StateTtlConfig) -> Any:
    """Write ten values, and let them expire; give the handle."""
    state = keyed.open(described(config))
    for keyed.key in KEYS:
        state.update(keyed.key)
    keyed.clock.advance(TTL)
    return state


class TestNoCleanUp:
    def test_nothing_is_removed_unless_it_is_read(self, keyed: Keyed) -> None:
        state = expired_values(keyed, ttl(return_expired=True))
        keyed.key = "other"
        for _ in range(50):
            state.update(1)
            state.value()
            keyed.backend.after_chunk(100)
        assert sorted(keyed.stored("v"), key=str) == [*KEYS, "other"]
        keyed.key = 3
        assert state.value() == 3
        assert sorted(keyed.stored("v"), key=str) == [0, 1, 2, 4, 5, 6, 7, 8, 9, "other"]

    def test_snapshots_hold_what_has_expired(self, keyed: Keyed) -> None:
        expired_values(keyed, ttl(return_expired=True))
        for snapshot in (keyed.checkpoint(), keyed.savepoint()):
            assert snapshot.entries() == {"v": {key: (key, START) for key in KEYS}}


class TestCleanUpInFullSnapshots:
    config = ttl_builder(return_expired=True).cleanup_full_snapshot().build()

    @EVERY_KIND
    def test_expired_entries_are_left_out_and_local_state_stays(self, keyed: Keyed, kind: Kind) -> None:
        state = keyed.open(kind.descriptor(self.config))
        keyed.key = "old"
        kind.write(state, 1)
        keyed.clock.advance(TTL)
        keyed.key = "new"
        kind.write(state, 2)
        assert list(keyed.savepoint().entries()[kind.name]) == ["new"]
        keyed.key = "old"
        assert kind.read(state) == kind.expected(1)
        assert kind.read(state) == kind.unset

    @EVERY_KIND
    def test_what_expires_in_this_very_millisecond_is_left_out_and_what_does_not_is_not(
        self, keyed: Keyed, kind: Kind
    ) -> None:
        keyed.key = "a"
        kind.write(keyed.open(kind.descriptor(self.config)), 1)
        keyed.clock.advance(TTL - 1)
        assert list(keyed.savepoint().entries()[kind.name]) == ["a"]
        keyed.clock.advance(1)
        assert keyed.savepoint().entries() == {}

    def test_checkpoints_leave_them_out_too_but_files_are_stored_as_they_are(self, keyed: Keyed) -> None:
        expired_values(keyed, self.config)
        snapshot = keyed.checkpoint()
        assert sorted(snapshot.entries().get("v", ())) == (KEYS if snapshot.files else [])

    def test_elements_and_entries_are_left_out_one_by_one(self, keyed: Keyed) -> None:
        elements, entries = ListStateDescriptor("l"), MapStateDescriptor("m")
        for descriptor in (elements, entries):
            descriptor.enable_time_to_live(self.config)
        keyed.key = "a"
        keyed.open(elements).add("old")
        keyed.open(entries).put("old", 1)
        keyed.clock.advance(TTL)
        keyed.open(elements).add("new")
        keyed.open(entries).put("new", 2)
        now = START + TTL
        assert keyed.savepoint().entries() == {"l": {"a": [("new", now)]}, "m": {"a": {"new": (2, now)}}}
        assert list(keyed.open(elements).get()) == ["old", "new"]
        assert dict(keyed.open(entries).items()) == {"old": 1, "new": 2}

    def test_what_was_left_out_is_gone_for_good_after_a_restore(self, keyed: Keyed) -> None:
        fill(keyed, {"old": 1}, self.config)
        keyed.clock.advance(TTL)
        fill(keyed, {"new": 2}, self.config)
        after = keyed.restored(keyed.savepoint())
        assert contents(after, ["old", "new"]) == filled({"new": 2})

    def test_checkpoints_that_build_on_one_with_entries_left_out_are_whole(self, keyed: Keyed) -> None:
        """Local state still has the old entries when the new ones come; the base does not."""
        fill(keyed, {"a": 1, "b": 1}, self.config)
        keyed.clock.advance(TTL)
        fill(keyed, {"b": 2}, self.config)
        keyed.checkpoint()
        for keyed.key in ("a", "b", "c"):
            keyed.open(KINDS[0].descriptor(self.config)).update(7)
            keyed.open(KINDS[1].descriptor(self.config)).add(7)
            keyed.open(KINDS[2].descriptor(self.config)).put("seven", 7)
        after = keyed.restarted()
        values, elements, entries = (after.open(kind.descriptor(self.config)) for kind in KINDS[:3])
        for after.key, young, named in (("a", [], {}), ("b", [2, 3], {"n": 2, 2: None}), ("c", [], {})):
            assert values.value() == 7
            list(elements.get()), dict(entries.items())  # returns what has expired once, where it is still there
            assert list(elements.get()) == [*young, 7]
            assert dict(entries.items()) == {**named, "seven": 7}


class TestIncrementalCleanUp:
    """The way of the heap: some entries are visited at each access, or for each record."""

    @pytest.fixture(params=heap_backends(), ids=lambda under_test: under_test.name)
    def under_test(self, request: pytest.FixtureRequest) -> BackendUnderTest:
        chosen: BackendUnderTest = request.param
        return chosen

    def test_each_access_visits_as_many_entries_as_were_asked_for(self, keyed: Keyed) -> None:
        state = expired_values(keyed, ttl_builder().cleanup_incrementally(3, False).build())
        keyed.key = "other"
        left = []
        for _ in range(4):
            state.value()
            left.append(len(keyed.stored("v")))
        assert left == [7, 4, 1, 0]

    def test_every_sort_of_access_counts(self, keyed: Keyed) -> None:
        state = expired_values(keyed, ttl_builder().cleanup_incrementally(2, False).build())
        keyed.key = "other"
        state.clear()
        assert len(keyed.stored("v")) == 8
        state.update(1)
        assert len(keyed.stored("v")) == 6 + 1

    def test_entries_are_visited_in_turn(self, keyed: Keyed) -> None:
        config = ttl_builder().cleanup_incrementally(2, False).build()
        state = keyed.open(described(config))
        for keyed.key in KEYS:
            state.update(keyed.key)
        keyed.clock.advance(TTL // 2)
        for keyed.key in KEYS[::2]:
            state.update(keyed.key)
        keyed.clock.advance(TTL // 2)
        keyed.key = "other"
        for _ in range(5 + 1):
            state.value()
        assert sorted(keyed.stored("v")) == KEYS[::2]

    def test_an_entry_that_is_gone_when_its_turn_comes_is_passed_over(self, keyed: Keyed) -> None:
        state = expired_values(keyed, ttl_builder().cleanup_incrementally(2, False).build())
        for keyed.key in (3, "other"):
            state.clear()
        assert sorted(keyed.stored("v")) == [0, *KEYS[5:]], "0 had its turn when it was written"

    def test_for_every_record_where_asked_for(self, keyed: Keyed) -> None:
        expired_values(keyed, ttl_builder().cleanup_incrementally(2, True).build())
        keyed.backend.after_chunk(1)
        assert len(keyed.stored("v")) == 8
        keyed.backend.after_chunk(3)
        assert len(keyed.stored("v")) == 2
        keyed.backend.after_chunk(100)
        assert keyed.stored("v") == {}

    def test_not_for_records_where_not_asked_for(self, keyed: Keyed) -> None:
        expired_values(keyed, ttl_builder().cleanup_incrementally(2, False).build())
        keyed.backend.after_chunk(100)
        assert len(keyed.stored("v")) == 10

    def test_other_states_are_not_visited(self, keyed: Keyed) -> None:
        expired_values(keyed, ttl_builder().cleanup_incrementally(2, True).build())
        other = keyed.open(described(ttl(), "other"))
        keyed.key = "a"
        other.update(1)
        keyed.clock.advance(TTL)
        keyed.backend.after_chunk(100)
        assert list(keyed.stored("other")) == ["a"]
        for _ in range(10):
            other.update(1)
        assert keyed.stored("v") == {}

    def test_the_entry_just_accessed_may_be_among_those_removed(self, keyed: Keyed) -> None:
        state = expired_values(keyed, ttl_builder(return_expired=True).cleanup_incrementally(100, False).build())
        keyed.key = 3
        assert state.value() is None
        assert keyed.stored("v") == {}


class TestCleanUpInTheBackground:
    """Each backend's own way, as it is by default."""

    config = StateTtlConfig.new_builder(ttl().get_ttl()).build()

    def clean_up(self, keyed: Keyed, state: Any) -> None:
        """Let the operator go on with other keys."""
        keyed.key = "busy"
        for _ in range(100):
            state.clear()
            keyed.backend.after_chunk(1_000)

    @EVERY_KIND
    def test_what_has_expired_goes_without_being_read(self, keyed: Keyed, kind: Kind) -> None:
        state = keyed.open(kind.descriptor(self.config))
        for keyed.key in KEYS:
            kind.write(state, keyed.key)
        keyed.clock.advance(TTL)
        for keyed.key in ("x", "y"):
            kind.write(state, 1)
        self.clean_up(keyed, state)
        assert sorted(keyed.stored(kind.name)) == ["x", "y"]
        for keyed.key in ("x", "y"):
            assert kind.read(state) == kind.expected(1)

    def test_elements_and_entries_go_one_by_one(self, keyed: Keyed) -> None:
        elements, entries = ListStateDescriptor("l"), MapStateDescriptor("m")
        for descriptor in (elements, entries):
            descriptor.enable_time_to_live(self.config)
        keyed.key = "a"
        keyed.open(elements).add("old")
        keyed.open(entries).put("old", 1)
        keyed.clock.advance(TTL)
        keyed.open(elements).add("new")
        keyed.open(entries).put("new", 2)
        for descriptor in (elements, entries):
            self.clean_up(keyed, keyed.open(descriptor))
        now = START + TTL
        assert keyed.savepoint().entries() == {"l": {"a": [("new", now)]}, "m": {"a": {"new": (2, now)}}}

    def test_what_has_not_expired_stays(self, keyed: Keyed) -> None:
        state = keyed.open(described(self.config))
        for keyed.key in KEYS:
            state.update(keyed.key)
        keyed.clock.advance(TTL - 1)
        self.clean_up(keyed, state)
        for keyed.key in KEYS:
            assert state.value() == keyed.key

    def test_what_was_removed_is_removed_from_the_next_checkpoint_too(self, keyed: Keyed) -> None:
        state = keyed.open(described(self.config))
        for keyed.key in KEYS:
            state.update(keyed.key)
        keyed.checkpoint()
        keyed.clock.advance(TTL)
        self.clean_up(keyed, state)
        after = keyed.restarted()
        for after.key in KEYS:
            assert after.open(ValueStateDescriptor("v")).value() is None

    def test_what_was_restored_goes_too(self, keyed: Keyed) -> None:
        expired_values(keyed, ttl())
        after = keyed.restarted()
        self.clean_up(after, after.open(described(self.config)))
        assert after.stored("v") == {}


class TestCleanUpOfRocksDB:
    """Switches of its own."""

    def left(self, under_test: BackendUnderTest, config: StateTtlConfig) -> int:
        try:
            keyed = started(under_test)
            expired_values(keyed, config)
            keyed.backend.after_chunk(100_000)
            return len(keyed.stored("v"))
        finally:
            under_test.close()

    @pytest.mark.parametrize("every", [0, 1, 3, 1000])
    def test_the_clock_is_looked_at_again_after_some_entries(self, every: int) -> None:
        under_test = BackendUnderTest("rocksdb", BackendSettings(rocksdb=RocksDBSettings()))
        config = ttl_builder().cleanup_in_rocksdb_compact_filter(every, Duration.of_days(1)).build()
        assert self.left(under_test, config) == 0

    def test_it_can_be_switched_off_for_the_whole_job(self) -> None:
        settings = BackendSettings(rocksdb=RocksDBSettings(ttl_compaction=False))
        config = ttl_builder().cleanup_in_rocksdb_compact_filter(1).build()
        assert self.left(BackendUnderTest("rocksdb", settings), config) == 10
