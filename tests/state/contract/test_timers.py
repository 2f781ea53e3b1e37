"""What timers promise, wherever they are kept: in memory, or the earliest there and all others in RocksDB."""

from __future__ import annotations

import itertools
import random
from collections.abc import Hashable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import pytest

from rekindle.common import Types
from rekindle.contracts.key_groups import KeyGroupRange, key_group_range
from rekindle.datastream.state import ValueStateDescriptor
from rekindle.datastream.window import TimeWindow, TimeWindowSerializer
from rekindle.exceptions import StateMigrationException
from rekindle.serialization.serializer_of import serializer_of
from rekindle.state.backend_settings import BackendSettings
from rekindle.state.blocks import TIMERS, KeyGroupBlock
from rekindle.state.key_hash import key_group_of
from rekindle.state.keyed_backend import KeyedStateBackend
from rekindle.state.rocksdb.settings import RocksDBSettings
from rekindle.state.snapshots import KeyedSnapshot, SnapshotRequest
from rekindle.state.state_owner import StateOwner
from rekindle.state.timer_store import TimerStore
from rekindle.testing import BackendSnapshot, BackendUnderTest
from rekindle.testing.backend_snapshots import PendingSnapshot
from support.seeds import SEED, rounds, seeds

from .driver import ALL_KEY_GROUPS, MAX_PARALLELISM, START

NAME = "_event-time-timers"
FIRST, LAST = -(1 << 63), (1 << 63) - 1
Timer = tuple[Any, int]


def kept_in_rocksdb(cache_size: int) -> BackendUnderTest:
    """Return the RocksDB backend with timers in RocksDB, of which so many for each key group are in memory."""
    settings = RocksDBSettings(timers=True, timer_cache_size=cache_size)
    return BackendUnderTest(f"timers in rocksdb {cache_size}", BackendSettings(settings, incremental=True))


ON_HEAP = BackendUnderTest("heap")
IN_MEMORY = BackendUnderTest("timers in memory", BackendSettings(RocksDBSettings(), incremental=True))
FEW_IN_MEMORY = kept_in_rocksdb(1)
USUAL = kept_in_rocksdb(128)
STORES = [ON_HEAP, IN_MEMORY, FEW_IN_MEMORY, USUAL]


class Subtask:
    """Hold the backend of one subtask and its timers, and snapshot them together as an operator does."""

    _ids = itertools.count(1)

    def __init__(self, backend: KeyedStateBackend, windows: bool = False) -> None:
        self.backend = backend
        self.key_groups = backend.key_groups
        self.timers: TimerStore = backend.timers(NAME, TimeWindowSerializer() if windows else None)

    def snapshot(self, request: SnapshotRequest) -> KeyedSnapshot:
        timers = self.timers
        return self.backend.snapshot(request).followed_by(
            TIMERS,
            lambda: timers.snapshot_blocks(MAX_PARALLELISM),
            len(timers),
            lambda block: timers.read_back(block, MAX_PARALLELISM),
        )

    def begun(self, way: str) -> PendingSnapshot:
        return PendingSnapshot(self, next(self._ids), canonical=way == "savepoint")  # type: ignore[arg-type]

    def taken(self, way: str) -> BackendSnapshot:
        return self.begun(way).finish()

    def set(self, timers: Iterable[Timer]) -> None:
        for key, timestamp in timers:
            self.timers.register(key, timestamp)

    def fired(self, until: int = LAST) -> list[Timer]:
        fired = []
        while (timer := self.timers.pop_due(until)) is not None:
            fired.append(timer)
        return fired


def started(under_test: BackendUnderTest, key_groups: KeyGroupRange = ALL_KEY_GROUPS, windows: bool = False) -> Subtask:
    return Subtask(under_test.create(key_groups, MAX_PARALLELISM, lambda: START), windows)


def restored(
    under_test: BackendUnderTest,
    snapshots: Sequence[BackendSnapshot],
    subtask: int = 0,
    parallelism: int = 1,
    windows: bool = False,
) -> Subtask:
    own = key_group_range(subtask, parallelism, MAX_PARALLELISM)
    return Subtask(under_test.restore(snapshots, own, MAX_PARALLELISM, lambda: START), windows)


@pytest.fixture(params=STORES, ids=lambda under_test: under_test.name)
def store(request: pytest.FixtureRequest) -> Iterator[BackendUnderTest]:
    """Yield one kind of store after the other; close what was made, of the others, too."""
    yield request.param
    for under_test in STORES:
        under_test.close()


def many(count: int = 500) -> list[Timer]:
    """Return more timers than a small store has in memory, out of order, some of them at one time."""
    return [(f"key-{number % 40}", number * 7_919 % 1_009 // 5) for number in range(count)]


def in_time(timers: Iterable[Timer]) -> list[int]:
    return sorted(timestamp for _, timestamp in set(timers))


class TestTimers:
    def test_many_timers_fire_once_each_in_the_order_of_their_timestamps(self, store: BackendUnderTest) -> None:
        subtask = started(store)
        subtask.set(many())
        subtask.set(many())
        fired = subtask.fired()
        assert [timestamp for _, timestamp in fired] == in_time(many())
        assert set(fired) == set(many())

    def test_many_timers_of_one_timestamp_fire_once_each(self, store: BackendUnderTest) -> None:
        subtask = started(store)
        subtask.set((number, 5) for number in [*range(300), *range(300)])
        assert subtask.fired(4) == []
        assert sorted(subtask.fired(5)) == [(number, 5) for number in range(300)]

    def test_timers_that_are_not_due_stay(self, store: BackendUnderTest) -> None:
        subtask = started(store)
        subtask.set(many())
        early = subtask.fired(100)
        assert set(early) == {timer for timer in many() if timer[1] <= 100}
        assert subtask.fired(100) == []
        assert set(subtask.fired()) == set(many()) - set(early)

    def test_deleted_timers_do_not_fire_and_can_be_set_again(self, store: BackendUnderTest) -> None:
        subtask = started(store)
        subtask.set(many())
        gone = [timer for timer in set(many()) if timer[1] % 3]
        for timer in gone:
            subtask.timers.delete(*timer)
            subtask.timers.delete(*timer)
        subtask.timers.delete("key-1", 1 << 40)
        subtask.set(gone[:50])
        assert set(subtask.fired()) == set(many()) - set(gone[50:])

    def test_a_timer_that_was_deleted_before_it_was_set_fires(self, store: BackendUnderTest) -> None:
        subtask = started(store)
        for timer in many():
            subtask.timers.delete(*timer)
            subtask.timers.register(*timer)
        assert set(subtask.fired()) == set(many())

    def test_what_a_firing_timer_sets_and_deletes_counts_at_once(self, store: BackendUnderTest) -> None:
        subtask = started(store)
        subtask.set((number, 10) for number in range(200))
        fired = []
        while (timer := subtask.timers.pop_due(20)) is not None:
            fired.append(timer)
            key, timestamp = timer
            if timestamp == 10:
                subtask.timers.delete((key + 100) % 200, 10)
                subtask.set([(key, 15), (key, 25)])
        first = [key for key, timestamp in fired if timestamp == 10]
        assert len(first) == 100
        assert {key % 100 for key in first} == set(range(100))
        assert sorted(fired[100:]) == sorted((key, 15) for key in first)
        assert sorted(subtask.fired()) == sorted((key, 25) for key in first)

    def test_the_next_and_the_latest_timestamp_are_those_of_timers_that_are_there(
        self, store: BackendUnderTest
    ) -> None:
        subtask = started(store)
        assert subtask.timers.next_timestamp() is subtask.timers.latest_timestamp() is None
        left = sorted(set(many()), key=lambda timer: timer[1])
        subtask.set(left)
        while left:
            assert (subtask.timers.next_timestamp(), subtask.timers.latest_timestamp()) == (left[0][1], left[-1][1])
            for timer in (left[0], left[-1]):
                subtask.timers.delete(*timer)
            left = left[1:-1]
        assert subtask.timers.next_timestamp() is subtask.timers.latest_timestamp() is None

    @pytest.mark.parametrize("timestamp", [FIRST, FIRST + 1, -1, 0, LAST])
    def test_any_timestamp_of_64_bits_can_be_set_and_deleted(self, store: BackendUnderTest, timestamp: int) -> None:
        subtask = started(store)
        subtask.set((number, timestamp) for number in range(60))
        subtask.set((number, other) for number in range(60) for other in (FIRST, 7, LAST))
        subtask.timers.delete(30, timestamp)
        expected = {(number, other) for number in range(60) for other in (FIRST, 7, LAST, timestamp)} - {
            (30, timestamp)
        }
        fired = subtask.fired()
        assert set(fired) == expected
        assert [other for _, other in fired] == in_time(expected)

    def test_an_integer_of_numpy_is_the_timestamp_that_it_equals(self, store: BackendUnderTest) -> None:
        subtask = started(store)
        subtask.set(many())
        subtask.set((key, np.int64(timestamp)) for key, timestamp in many())  # type: ignore[misc]
        subtask.timers.delete("key-0", np.int64(0))  # type: ignore[arg-type]
        assert set(subtask.fired()) == set(many()) - {("key-0", 0)}

    @pytest.mark.parametrize("timestamp", [1 << 63, FIRST - 1, "5", None, 1.5])
    def test_what_can_be_no_timestamp_is_refused(self, store: BackendUnderTest, timestamp: Any) -> None:
        subtask = started(store)
        subtask.set(many())
        for method in (subtask.timers.register, subtask.timers.delete):
            with pytest.raises((TypeError, ValueError), match="the time of a timer of operator 'operator'"):
                method("a", timestamp)
        assert set(subtask.fired()) == set(many())

    def test_keys_come_back_as_they_were_set_first_and_equal_ones_share_a_timer(self, store: BackendUnderTest) -> None:
        keys: list[Hashable] = [True, 2.0, None, (1, "x"), frozenset({1}), b"bytes", 1 << 70, -5, "ä", 0.5]
        subtask = started(store)
        subtask.set(many())
        subtask.set((key, 1 << 40) for key in keys)
        subtask.set((key, 1 << 41) for key in keys)
        for equal in (1, 2):
            subtask.timers.delete(equal, 1 << 41)
        fired = [timer for timer in subtask.fired() if timer[1] > 1 << 30]
        assert {repr(timer) for timer in fired} == {
            *(repr((key, 1 << 40)) for key in keys),
            *(repr((key, 1 << 41)) for key in keys[2:]),
        }

    def test_nothing_is_left_after_a_clear(self, store: BackendUnderTest) -> None:
        subtask = started(store)
        subtask.set(many())
        subtask.timers.clear()
        assert subtask.fired() == []
        assert not subtask.timers.may_hold_any()
        subtask.set([("a", 1)])
        assert subtask.timers.may_hold_any()
        assert subtask.fired() == [("a", 1)]

    def test_the_blocks_of_a_key_hold_its_timers_and_no_others(self, store: BackendUnderTest) -> None:
        subtask = started(store)
        subtask.set(many())
        other = started(ON_HEAP)
        other.timers.restore_blocks(subtask.timers.blocks_of("key-3", MAX_PARALLELISM), MAX_PARALLELISM)
        assert set(other.fired()) == {timer for timer in many() if timer[0] == "key-3"}
        assert set(subtask.fired()) == set(many())

    def test_timers_of_two_names_have_nothing_to_do_with_each_other(self, store: BackendUnderTest) -> None:
        subtask = started(store)
        other = subtask.backend.timers("_processing-time-timers")
        for key, timestamp in many():
            other.register(key, timestamp + 1)
        subtask.set(many())
        assert set(subtask.fired()) == set(many())
        assert other.next_timestamp() == 1

    def test_a_timer_belongs_to_its_namespace(self, store: BackendUnderTest) -> None:
        subtask = started(store, windows=True)
        timers = [((key, TimeWindow(start, start + 10)), start + 9) for key in range(30) for start in range(8)]
        subtask.set(timers)
        subtask.timers.delete((3, TimeWindow(4, 14)), 13)
        other = started(ON_HEAP, windows=True)
        other.timers.restore_blocks(subtask.timers.blocks_of(3, MAX_PARALLELISM), MAX_PARALLELISM)
        assert {window.start for (_, window), _ in other.fired()} == set(range(8)) - {4}
        assert set(subtask.fired()) == set(timers) - {((3, TimeWindow(4, 14)), 13)}


@pytest.mark.parametrize("way", ["checkpoint", "savepoint"])
class TestSnapshots:
    @pytest.mark.parametrize("into", STORES, ids=lambda under_test: f"into {under_test.name}")
    def test_every_store_restores_what_every_other_wrote(
        self, store: BackendUnderTest, way: str, into: BackendUnderTest
    ) -> None:
        before = started(store)
        before.set(many())
        gone = set(before.fired(50))
        before.timers.delete("key-2", 199)
        after = restored(into, [before.taken(way)])
        expected = set(many()) - gone - {("key-2", 199)}
        assert after.timers.may_hold_any()
        after.set(sorted(expected)[::3])  # are there already
        after.timers.delete(*max(expected))
        assert set(after.fired()) == expected - {max(expected)}
        assert set(before.fired()) == expected

    def test_timers_move_with_their_key_groups_and_change_on_the_way(self, store: BackendUnderTest, way: str) -> None:
        model = set(many())
        subtasks = [started(store)]
        subtasks[0].set(model)
        for step, parallelism in enumerate((2, 4, 3, 1, MAX_PARALLELISM, 1)):
            snapshots = [subtask.taken(way) for subtask in subtasks]
            subtasks = [restored(store, snapshots, number, parallelism) for number in range(parallelism)]
            for subtask in subtasks:
                gone = subtask.fired(step * 10)
                assert all(key_group_of(key, MAX_PARALLELISM) in subtask.key_groups for key, _ in gone)
                new = [(f"key-{n}", 300 + step) for n in range(40)]
                new = [timer for timer in new if key_group_of(timer[0], MAX_PARALLELISM) in subtask.key_groups]
                subtask.set(new)
                model = (model - set(gone)) | set(new)
        assert set(subtasks[0].fired()) == model

    def test_windows_come_back(self, store: BackendUnderTest, way: str) -> None:
        before = started(store, windows=True)
        timers = {((key, TimeWindow(start, start + 10)), start + 9) for key in range(30) for start in range(8)}
        before.set(timers)
        snapshot = before.taken(way)
        for into in STORES:
            assert set(restored(into, [snapshot], windows=True).fired()) == timers

    def test_keys_that_equal_others_come_back_as_they_are(self, store: BackendUnderTest, way: str) -> None:
        before = started(store)
        before.set(many())
        before.set([(True, 1 << 40), (2.0, 1 << 40)])
        snapshot = before.taken(way)
        for into in STORES:
            late = [timer for timer in restored(into, [snapshot]).fired() if timer[1] == 1 << 40]
            assert sorted(map(repr, late)) == [repr((2.0, 1 << 40)), repr((True, 1 << 40))]

    def test_what_happens_while_a_snapshot_is_written_is_not_in_it(self, store: BackendUnderTest, way: str) -> None:
        before = started(store)
        before.set(many())
        pending = before.begun(way)
        early = before.fired(60)
        before.set((key, 10_000) for key in range(9_000))
        late = [timer for timer in many() if timer[1] > 150]
        for timer in late:
            before.timers.delete(*timer)
        snapshot = pending.finish()
        assert set(restored(store, [snapshot]).fired()) == set(many())
        after = {*many(), *((key, 10_000) for key in range(9_000))} - set(early) - set(late)
        assert set(restored(store, [before.taken(way)]).fired()) == after

    def test_a_snapshot_that_is_given_up_takes_nothing_along(self, store: BackendUnderTest, way: str) -> None:
        before = started(store)
        before.set(many())
        before.begun(way).give_up()
        assert set(restored(store, [before.taken(way)]).fired()) == set(many())

    def test_timers_that_no_operator_asks_for_go_on_into_the_next_snapshot(
        self, store: BackendUnderTest, way: str
    ) -> None:
        before = started(store)
        before.set(many())
        backend = store.restore([before.taken(way)], ALL_KEY_GROUPS, MAX_PARALLELISM, lambda: START)
        backend.key = "a"
        backend.get_or_create(ValueStateDescriptor("v")).update(1)  # type: ignore[attr-defined]
        assert NAME in backend.state_names()
        again = PendingSnapshot(backend, 99, canonical=way == "savepoint").finish()
        assert set(restored(store, [again]).fired()) == set(many())

    def test_keys_of_another_type_are_refused(self, store: BackendUnderTest, way: str) -> None:
        texts, numbers = (
            StateOwner("operator", "uid", serializer_of(type_)) for type_ in (Types.STRING(), Types.LONG())
        )
        before = Subtask(store.create(ALL_KEY_GROUPS, MAX_PARALLELISM, lambda: START, texts))
        before.set(many())
        snapshot = before.taken(way)
        same = store.restore([snapshot], ALL_KEY_GROUPS, MAX_PARALLELISM, lambda: START, texts)
        assert set(Subtask(same).fired()) == set(many())
        other = store.restore([snapshot], ALL_KEY_GROUPS, MAX_PARALLELISM, lambda: START, numbers)
        with pytest.raises(StateMigrationException, match=NAME):
            Subtask(other)


class TestMemory:
    def test_only_as_many_timers_are_in_memory_as_the_setting_says(self) -> None:
        under_test = kept_in_rocksdb(4)
        subtask = started(under_test)
        most = 4 * MAX_PARALLELISM
        rng = random.Random(SEED)
        held = 0
        for number in range(3_000):
            subtask.timers.register(number, rng.randrange(10_000))
            if number % 7 == 0:
                subtask.timers.pop_due(rng.randrange(500))
            held = max(held, in_memory(subtask))
        assert held == most
        assert len(subtask.fired()) > 2_000
        under_test.close()

    def test_a_checkpoint_shares_the_files_of_timers_that_were_there_before(self) -> None:
        subtask = started(FEW_IN_MEMORY)
        subtask.set((key, 1_000 + key) for key in range(5_000))
        first = subtask.taken("checkpoint")
        subtask.set([("one more", 10)])
        second = subtask.taken("checkpoint")
        stored = {name: data for name, data in first.files.items() if name in first.shareable}
        assert sum(map(len, stored.values())) > 20_000
        shared = [name for name in stored if second.files.get(name) == stored[name]]
        new = sum(len(second.files[name]) for name in second.shareable if name not in shared)
        assert new < sum(len(stored[name]) for name in shared) / 10
        FEW_IN_MEMORY.close()


def in_memory(subtask: Subtask) -> int:
    return sum(block.entries for block in subtask.timers.snapshot_blocks(MAX_PARALLELISM))


class TestRandomHistories:
    """Any order of calls, snapshots, restarts and other parallelisms gives what a plain set of timers gives."""

    @pytest.mark.parametrize("seed", seeds(rounds(6, named=20)))
    def test_a_history_ends_as_that_of_a_plain_set(self, seed: int) -> None:
        print("seed", seed)
        rng = random.Random(seed)
        model: set[Timer] = set()
        stores = [*STORES, kept_in_rocksdb(3)]
        subtasks = [started(rng.choice(stores))]
        now = 0
        for _ in range(rounds(60, named=200)):
            action = rng.choices(["set", "delete", "fire", "one", "restart", "abandon"], [6, 4, 4, 3, 2, 1])[0]
            span = rng.choice([3, 50, 10_000])
            drawn = [(rng.choice(KEYS), now + rng.randrange(-5, span)) for _ in range(rng.choice([1, 20, 120]))]
            if action == "set":
                for timer in drawn:
                    owner_of(timer, subtasks).register(*timer)
                model |= set(drawn)
            elif action == "delete":
                for timer in [*drawn, *rng.sample(sorted(model, key=repr), min(len(model), 15))]:
                    owner_of(timer, subtasks).delete(*timer)
                    model.discard(timer)
            elif action == "fire":
                now += rng.choice([0, 1, 20, 3_000])
                for subtask in subtasks:
                    fired = subtask.fired(now)
                    assert [timestamp for _, timestamp in fired] == in_time(fired)
                    own = {timer for timer in model if is_own(timer, subtask) and timer[1] <= now}
                    assert set(fired) == own
                    assert len(fired) == len(own)
                    model -= own
            elif action == "one":
                subtask = rng.choice(subtasks)
                first = subtask.timers.pop_due(now + span)
                dues = [timer[1] for timer in model if is_own(timer, subtask) and timer[1] <= now + span]
                assert (first and first[1]) == (min(dues) if dues else None)
                model -= {first}  # type: ignore[arg-type]
            elif action == "restart":
                way = rng.choice(["checkpoint", "savepoint"])
                snapshots = [subtask.taken(way) for subtask in subtasks]
                parallelism = rng.choice([1, 2, 3, 5])
                into = rng.choice(stores)
                subtasks = [restored(into, snapshots, number, parallelism) for number in range(parallelism)]
            else:
                pending = subtasks[0].begun("checkpoint")
                subtasks[0].timers.next_timestamp()
                pending.give_up()
            for subtask in subtasks:
                dues = [timer[1] for timer in model if is_own(timer, subtask)]
                assert subtask.timers.next_timestamp() == min(dues, default=None)
                assert subtask.timers.latest_timestamp() == max(dues, default=None)
        left = [timer for subtask in subtasks for timer in subtask.fired()]
        assert sorted(left, key=repr) == sorted(model, key=repr)
        for under_test in stores:
            under_test.close()


KEYS: list[Any] = [*range(30), "a", "b", None, 0.5, ("t", 1)]


def is_own(timer: Timer, subtask: Subtask) -> bool:
    return key_group_of(timer[0], MAX_PARALLELISM) in subtask.key_groups


def owner_of(timer: Timer, subtasks: list[Subtask]) -> TimerStore:
    return next(subtask.timers for subtask in subtasks if is_own(timer, subtask))


def test_blocks_in_a_snapshot_say_which_key_group_they_are_of() -> None:
    subtask = started(FEW_IN_MEMORY)
    subtask.set(many())
    snapshot = subtask.taken("savepoint")
    blocks: list[KeyGroupBlock] = [block for block in snapshot.blocks if block.kind == TIMERS]
    assert sum(block.entries for block in blocks) == len(set(many()))
    for block in blocks:
        groups = {
            key_group_of(key, MAX_PARALLELISM) for key, _ in started(ON_HEAP).timers.timers_in([block], MAX_PARALLELISM)
        }
        assert groups == {block.key_group}
    FEW_IN_MEMORY.close()
