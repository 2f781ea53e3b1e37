"""Timers of a key in a window: apart from those of other windows, part of the snapshot, moving with their key."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rekindle.contracts.key_groups import key_group_range
from rekindle.datastream.window import CountWindow, CountWindowSerializer, TimeWindow, TimeWindowSerializer
from rekindle.exceptions import StateMigrationException, StateRestoreError
from rekindle.state.key_hash import key_group_of
from rekindle.state.namespace_timers import NamespaceTimerQueue
from rekindle.state.state_owner import StateOwner
from rekindle.state.timers import TimerQueue

OWNER = StateOwner("operator", "uid")
TIMERS = st.lists(st.tuples(st.sampled_from(["a", "b", "c"]), st.integers(0, 5), st.integers(0, 50)), max_size=30)


def queue() -> NamespaceTimerQueue:
    return NamespaceTimerQueue("timers", OWNER, TimeWindowSerializer())


def drained(timers: TimerQueue) -> list[tuple[object, int]]:
    due = []
    while (timer := timers.pop_due(1 << 62)) is not None:
        due.append(timer)
    return due


def test_the_same_key_and_time_in_another_window_is_another_timer() -> None:
    timers = queue()
    for window in (TimeWindow(0, 10), TimeWindow(5, 15), TimeWindow(0, 10)):
        timers.register(("a", window), 9)
    timers.delete(("a", TimeWindow(0, 10)), 9)
    assert drained(timers) == [(("a", TimeWindow(5, 15)), 9)]


@given(timers=TIMERS, parallelism=st.integers(1, 5))
def test_timers_go_with_the_key_group_of_their_key_and_come_back(
    timers: list[tuple[str, int, int]], parallelism: int
) -> None:
    before = queue()
    for key, start, timestamp in timers:
        before.register((key, TimeWindow(start, start + 10)), timestamp)
    blocks = list(before.snapshot_blocks(128))
    found = []
    for subtask in range(parallelism):
        own = key_group_range(subtask, parallelism, 128)
        after = queue()
        after.restore_blocks((block for block in blocks if block.key_group in own), 128)
        restored = drained(after)
        assert all(key_group_of(key, 128) in own for (key, _), _ in restored)  # type: ignore[misc]
        found += restored
    assert sorted(found) == sorted(drained(before))  # type: ignore[type-var]
    assert all(type(window) is TimeWindow for (_, window), _ in found)  # type: ignore[misc]


def test_timers_without_a_window_are_refused_with_words() -> None:
    plain = TimerQueue("timers", OWNER)
    plain.register("a", 1)
    with pytest.raises(StateRestoreError, match=r"operator 'operator' \(uid 'uid'\) were set without a window"):
        queue().restore_blocks(plain.snapshot_blocks(128))


def test_timers_of_another_kind_of_window_are_refused() -> None:
    counted = NamespaceTimerQueue("timers", OWNER, CountWindowSerializer())
    counted.register(("a", CountWindow(1)), 1)
    with pytest.raises(StateMigrationException, match="namespace"):
        queue().restore_blocks(counted.snapshot_blocks(128))
