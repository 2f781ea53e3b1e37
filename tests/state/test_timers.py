"""Timers of a keyed operator: one for each key and timestamp, in order, deletable, part of the snapshot."""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Callable, Hashable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rekindle.contracts.key_groups import KeyGroupRange, key_group_range
from rekindle.exceptions import SerializationError, StateMigrationException
from rekindle.state.blocks import KeyGroupBlock
from rekindle.state.key_hash import key_group_of
from rekindle.state.state_owner import StateOwner
from rekindle.state.timers import TimerQueue
from rekindle.testing.in_process.flink_heap import flink_timers
from support.seeds import SEED

MAX_PARALLELISM = 128


def drain(queue: TimerQueue, until: int = 1 << 62) -> list[tuple[Any, int]]:
    fired = []
    while (timer := queue.pop_due(until)) is not None:
        fired.append(timer)
    return fired


def queue_of(*timers: tuple[Hashable, int]) -> TimerQueue:
    return filled(TimerQueue("timers-under-test", StateOwner("operator")), *timers)


def flinks_queue() -> TimerQueue:
    return TimerQueue("timers-under-test", StateOwner("operator", timer_heap=flink_timers))


def filled(queue: TimerQueue, *timers: tuple[Hashable, int]) -> TimerQueue:
    for key, timestamp in timers:
        queue.register(key, timestamp)
    return queue


def test_timers_fire_in_the_order_of_their_timestamps() -> None:
    assert drain(queue_of(("a", 30), ("b", 10), ("c", 20))) == [("b", 10), ("c", 20), ("a", 30)]


def test_timers_of_one_timestamp_fire_in_the_order_of_registration_and_keys_need_no_ordering() -> None:
    keys: list[Hashable] = ["b", 1, None, (2, "x"), frozenset({1}), "a"]
    assert drain(queue_of(*((key, 5) for key in keys))) == [(key, 5) for key in keys]


def test_a_few_timers_of_one_timestamp_fire_in_flinks_order_in_tests() -> None:
    keys: list[Hashable] = ["b", 1, None, (2, "x"), frozenset({1}), "a"]
    flinks: list[Hashable] = ["b", "a", frozenset({1}), (2, "x"), None, 1]
    assert drain(filled(flinks_queue(), *((key, 5) for key in keys))) == [(key, 5) for key in flinks]


@pytest.mark.parametrize("first", [(), [(f"early {number}", 1) for number in range(10_000)]])
def test_many_timers_of_one_timestamp_fire_in_the_order_of_registration_in_tests(first: list[tuple[str, int]]) -> None:
    queue = flinks_queue()
    for key, timestamp in first:
        queue.register(key, timestamp)
        assert drain(queue) == [(key, timestamp)]
    timers = [(number * 7_919 % 2_003, 5) for number in range(2_000)]
    for key, timestamp in timers:
        queue.register(key, timestamp)
    queue.delete(*timers[17])
    assert drain(queue) == timers[:17] + timers[18:]


def test_a_timer_fires_once_time_has_reached_it_and_not_before() -> None:
    queue = queue_of(("a", 10))
    assert drain(queue, until=9) == []
    assert drain(queue, until=10) == [("a", 10)]
    assert drain(queue, until=10) == []


def test_registering_a_timer_again_changes_nothing_not_even_the_order() -> None:
    assert drain(queue_of(("a", 10), ("b", 10), ("a", 10))) == [("a", 10), ("b", 10)]


def test_the_same_key_and_timestamp_is_one_timer() -> None:
    queue = queue_of(("a", 10), ("a", 10), ("a", 11), ("b", 10))
    assert len(queue) == 3
    assert drain(queue) == [("a", 10), ("b", 10), ("a", 11)]


def test_keys_that_are_equal_share_their_timers() -> None:
    queue = queue_of((1, 10), (1.0, 10), (True, 10))
    assert len(queue) == 1
    queue.delete(1.0, 10)
    assert drain(queue) == []


def test_none_is_a_key_like_any_other() -> None:
    assert drain(queue_of((None, 10))) == [(None, 10)]


def test_a_deleted_timer_does_not_fire() -> None:
    queue = queue_of(("a", 10), ("b", 10))
    queue.delete("a", 10)
    assert len(queue) == 1
    assert drain(queue) == [("b", 10)]


def test_deleting_a_timer_that_is_not_there_changes_nothing() -> None:
    queue = queue_of(("a", 10))
    queue.delete("a", 11)
    queue.delete("b", 10)
    assert drain(queue) == [("a", 10)]


def test_a_timer_deleted_while_others_of_the_same_time_fire_does_not_fire() -> None:
    queue = queue_of(("a", 10), ("b", 10))
    assert queue.pop_due(10) == ("a", 10)
    queue.delete("b", 10)
    assert queue.pop_due(10) is None


def test_a_timer_registered_while_timers_fire_fires_in_the_same_round_if_it_is_due() -> None:
    queue = queue_of(("a", 10))
    assert queue.pop_due(20) == ("a", 10)
    queue.register("a", 15)
    queue.register("a", 25)
    assert drain(queue, until=20) == [("a", 15)]


def test_a_timer_can_be_set_again_after_it_has_fired() -> None:
    queue = queue_of(("a", 10))
    assert drain(queue) == [("a", 10)]
    queue.register("a", 10)
    assert drain(queue) == [("a", 10)]


def test_a_timer_deleted_and_set_again_fires_once() -> None:
    queue = queue_of(("a", 10))
    queue.delete("a", 10)
    queue.register("a", 10)
    assert len(queue) == 1
    assert drain(queue) == [("a", 10)]


def test_the_next_timestamp_is_that_of_the_earliest_timer_not_deleted() -> None:
    queue = queue_of(("a", 10), ("b", 20))
    assert queue.next_timestamp() == 10
    queue.delete("a", 10)
    assert queue.next_timestamp() == 20
    queue.delete("b", 20)
    assert queue.next_timestamp() is None


def test_deleted_timers_of_the_far_future_do_not_pile_up_in_memory() -> None:
    queue = queue_of(("kept", 1 << 50))
    for timestamp in range(10_000):
        queue.register("a", (1 << 40) + timestamp)
        queue.delete("a", (1 << 40) + timestamp)
    assert len(queue._heap) < 200
    assert drain(queue) == [("kept", 1 << 50)]


def test_a_snapshot_holds_each_timer_once_with_its_key_group() -> None:
    queue = queue_of(("a", 10), ("a", 20), ("b", 10), (None, 5))
    queue.delete("a", 20)
    queue.register("a", 20)
    queue.delete("b", 10)
    blocks = list(queue.snapshot_blocks(MAX_PARALLELISM))
    assert {block.state for block in blocks} == {"timers-under-test"}
    assert {block.kind for block in blocks} == {"timers"}
    assert {(block.key_group, block.entries) for block in blocks} == {
        (key_group_of("a", MAX_PARALLELISM), 2),
        (key_group_of(None, MAX_PARALLELISM), 1),
    }


def test_taking_a_snapshot_changes_nothing() -> None:
    queue = queue_of(("a", 10), ("b", 5))
    first, second = (list(queue.snapshot_blocks(MAX_PARALLELISM)) for _ in range(2))
    assert first == second
    assert drain(queue) == [("b", 5), ("a", 10)]


def test_restored_timers_fire_in_the_same_order() -> None:
    timers: list[tuple[Hashable, int]] = [(f"key-{i % 7}", i * 37 % 50) for i in range(50)]
    before = queue_of(*timers)
    after = TimerQueue("timers-under-test", StateOwner("operator"))
    after.restore_blocks(list(before.snapshot_blocks(MAX_PARALLELISM)))
    fired, expected = drain(after), drain(before)
    assert [timestamp for _, timestamp in fired] == [timestamp for _, timestamp in expected]
    assert set(fired) == set(expected)


@pytest.mark.parametrize("parallelism", [1, 2, 3, 128])
def test_timers_move_with_their_key_groups_when_the_parallelism_changes(parallelism: int) -> None:
    timers = {(f"key-{i}", i) for i in range(200)}
    blocks = list(queue_of(*timers).snapshot_blocks(MAX_PARALLELISM))
    ranges = [key_group_range(i, parallelism, MAX_PARALLELISM) for i in range(parallelism)]
    fired = [drain(restored(blocks, own)) for own in ranges]
    assert sorted(timer for own in fired for timer in own) == sorted(timers)
    for own, groups in zip(fired, ranges, strict=True):
        assert all(key_group_of(key, MAX_PARALLELISM) in groups for key, _ in own)


def restored(blocks: list[KeyGroupBlock], own: KeyGroupRange) -> TimerQueue:
    queue = TimerQueue("timers-under-test", StateOwner("operator"))
    queue.restore_blocks(block for block in blocks if block.key_group in own)
    return queue


@pytest.mark.parametrize("make", [queue_of, flinks_queue])
@given(
    steps=st.lists(
        st.tuples(st.sampled_from("rrrddp"), st.sampled_from(["a", "b", None]), st.integers(0, 20)), max_size=80
    )
)
def test_the_queue_behaves_as_a_set_of_timers(
    make: Callable[[], TimerQueue], steps: list[tuple[str, Hashable, int]]
) -> None:
    queue, model = make(), set[tuple[Hashable, int]]()
    for action, key, timestamp in steps:
        if action == "r":
            queue.register(key, timestamp)
            model.add((key, timestamp))
        elif action == "d":
            queue.delete(key, timestamp)
            model.discard((key, timestamp))
        else:
            fired = drain(queue, timestamp)
            assert set(fired) == {timer for timer in model if timer[1] <= timestamp}
            assert [t for _, t in fired] == sorted(t for _, t in fired)
            model -= set(fired)
        assert len(queue) == len(model)
        assert queue.next_timestamp() == min((t for _, t in model), default=None)


def test_many_timers_deleted_in_any_order_leave_the_others_in_order() -> None:
    chance = random.Random(SEED)
    timers = [(key, chance.randrange(1_000)) for key in range(2_000)]
    queue = queue_of(*timers)
    gone = chance.sample(timers, 1_500)
    for key, timestamp in gone:
        queue.delete(key, timestamp)
    left = sorted(timestamp for _, timestamp in set(timers) - set(gone))
    assert [timestamp for _, timestamp in drain(queue)] == left


@pytest.mark.parametrize("timestamp", [1 << 63, -(1 << 63) - 1, "5", None, 1.5])
def test_a_timestamp_that_no_timer_can_have_is_refused_when_it_is_set_and_when_it_is_deleted(timestamp: Any) -> None:
    queue = queue_of(("a", 5))
    for method in (queue.register, queue.delete):
        with pytest.raises((TypeError, ValueError), match="the time of a timer of operator 'operator'"):
            method("a", timestamp)
    assert drain(queue) == [("a", 5)]


@pytest.mark.parametrize("timestamp", [(1 << 63) - 1, -(1 << 63)])
def test_the_first_and_the_last_moment_can_be_set_and_deleted(timestamp: int) -> None:
    queue = queue_of(("a", timestamp), ("b", timestamp))
    queue.delete("a", timestamp)
    assert drain(queue, (1 << 63) - 1) == [("b", timestamp)]


def test_timers_whose_key_belongs_to_another_key_group_are_refused_when_restored_and_when_read_back() -> None:
    queue = queue_of(("a", 5))
    (block,) = queue.snapshot_blocks(MAX_PARALLELISM)
    elsewhere = dataclasses.replace(block, key_group=(block.key_group + 1) % MAX_PARALLELISM)
    queue.read_back(block, MAX_PARALLELISM)
    with pytest.raises(SerializationError, match="cannot be part of a snapshot"):
        queue.read_back(elsewhere, MAX_PARALLELISM)
    queue_of().restore_blocks([block], MAX_PARALLELISM)
    with pytest.raises(StateMigrationException):
        queue_of().restore_blocks([elsewhere], MAX_PARALLELISM)
