"""How operator state is dealt out at a restore: Flink's rules, exactly."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rekindle.checkpoint.metadata import ListStateMetadata
from rekindle.checkpoint.redistribution import ItemRange, broadcast, deal_out, even_split, owned, union
from rekindle.state.operator_state.stored import DistributionMode

COUNTS = st.lists(st.integers(0, 30), min_size=1, max_size=8)


def items(counts: list[int], ranges: list[ItemRange]) -> list[str]:
    """Name the items that ranges stand for: subtask and index, such as 1.0 for the first of subtask 1."""
    assert all(0 <= r.start < r.stop <= counts[r.old_subtask] for r in ranges)
    return [f"{r.old_subtask}.{index}" for r in ranges for index in range(r.start, r.stop)]


def all_items(counts: list[int]) -> list[str]:
    return [f"{subtask}.{index}" for subtask, count in enumerate(counts) for index in range(count)]


def dealt(counts: list[int], parallelism: int, first_extra: int = 0) -> list[list[str]]:
    return [items(counts, ranges) for ranges in even_split(counts, parallelism, first_extra)[0]]


@given(COUNTS, st.integers(0, 7))
def test_with_the_same_parallelism_each_subtask_gets_its_own_list_back(counts: list[int], first_extra: int) -> None:
    lists = dealt(counts, len(counts), first_extra)
    assert lists == [[f"{subtask}.{i}" for i in range(count)] for subtask, count in enumerate(counts)]


@given(COUNTS, st.integers(1, 12), st.integers(0, 20))
def test_nothing_is_lost_nothing_comes_twice_and_the_order_is_kept(
    counts: list[int], parallelism: int, first_extra: int
) -> None:
    lists = dealt(counts, parallelism, first_extra % parallelism)
    assert len(lists) == parallelism
    assert [item for own in lists for item in own] == all_items(counts)


@given(COUNTS, st.integers(1, 12), st.integers(0, 20))
def test_with_another_parallelism_everybody_gets_the_floor_and_some_one_more(
    counts: list[int], parallelism: int, offset: int
) -> None:
    if len(counts) == parallelism:
        counts = [*counts, 1]
    first_extra = offset % parallelism
    share, extra = divmod(sum(counts), parallelism)
    with_one_more = {(first_extra + i) % parallelism for i in range(extra)}
    lists = dealt(counts, parallelism, first_extra)
    assert [len(own) for own in lists] == [share + (subtask in with_one_more) for subtask in range(parallelism)]


def test_the_first_subtasks_get_one_more() -> None:
    assert dealt([5, 0, 3], 2) == [["0.0", "0.1", "0.2", "0.3"], ["0.4", "2.0", "2.1", "2.2"]]
    assert [len(own) for own in dealt([11], 4)] == [3, 3, 3, 2]


def test_the_next_state_starts_at_the_first_subtask_that_got_no_extra() -> None:
    _, first_extra = even_split([11], 4)
    assert first_extra == 3
    lists, first_extra = even_split([6], 4, first_extra)
    assert [sum(r.stop - r.start for r in ranges) for ranges in lists] == [2, 1, 1, 2]
    assert first_extra == 1


def test_a_state_without_extras_leaves_the_start_of_the_next_where_it_was() -> None:
    assert even_split([8], 4, first_extra=2)[1] == 2
    assert even_split([3, 4], 2, first_extra=1)[1] == 1


def test_fewer_items_than_subtasks_leave_some_without() -> None:
    assert dealt([2], 4) == [["0.0"], ["0.1"], [], []]


@pytest.mark.parametrize("counts", [[0], [0, 0, 0]])
def test_an_empty_state_gives_everybody_nothing(counts: list[int]) -> None:
    assert dealt(counts, 2) == [[], []]


@given(COUNTS)
def test_a_union_state_is_the_whole_concatenation_in_the_order_of_the_subtasks(counts: list[int]) -> None:
    assert items(counts, union(counts)) == all_items(counts)


@given(st.integers(1, 8), st.integers(1, 12))
def test_a_broadcast_state_gives_each_subtask_the_copy_of_one_old_one_counted_round(old: int, new: int) -> None:
    assert [items([1] * old, broadcast([1] * old, i)) for i in range(new)] == [[f"{i % old}.0"] for i in range(new)]


def test_an_old_subtask_without_a_copy_leaves_the_new_one_without() -> None:
    assert [broadcast([0, 1], subtask) for subtask in range(3)] == [[], [ItemRange(1, 0, 1)], []]


@given(COUNTS, st.integers(1, 12))
def test_a_list_with_an_owner_stays_whole_and_goes_to_the_subtask_of_its_number_counted_round(
    counts: list[int], parallelism: int
) -> None:
    lists = [items(counts, owned(counts, parallelism, subtask)) for subtask in range(parallelism)]
    assert sorted(item for own in lists for item in own) == sorted(all_items(counts))
    assert all(int(item.split(".")[0]) % parallelism == subtask for subtask, own in enumerate(lists) for item in own)


def test_each_state_is_dealt_out_in_its_own_mode() -> None:
    counts = [2, 3]
    states = {mode.value: ListStateMetadata(mode, counts) for mode in (DistributionMode.SPLIT, DistributionMode.UNION)}
    states["broadcast"] = ListStateMetadata(DistributionMode.BROADCAST, [1, 1])
    assert deal_out(states, 3, 2) == {
        "split": [ItemRange(1, 2, 3)],
        "union": [ItemRange(0, 0, 2), ItemRange(1, 0, 3)],
        "broadcast": [ItemRange(0, 0, 1)],
    }


def test_only_split_states_take_turns_with_the_extras() -> None:
    states = {
        "a": ListStateMetadata(DistributionMode.SPLIT, [4]),
        "b": ListStateMetadata(DistributionMode.UNION, [5]),
        "c": ListStateMetadata(DistributionMode.BROADCAST, [1]),
        "d": ListStateMetadata(DistributionMode.SPLIT, [4]),
    }
    sizes = [
        {name: sum(r.stop - r.start for r in ranges) for name, ranges in deal_out(states, 3, subtask).items()}
        for subtask in range(3)
    ]
    assert [own["a"] for own in sizes] == [2, 1, 1]
    assert [own["d"] for own in sizes] == [1, 2, 1]
