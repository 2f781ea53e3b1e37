"""Key groups: how many there are, and which subtask owns which."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rekindle.contracts.key_groups import (
    MAX_PARALLELISM_LIMIT,
    KeyGroupRange,
    check_parallelism,
    default_max_parallelism,
    key_group_range,
    subtask_of_key_group,
)
from rekindle.exceptions import ConfigurationError

SHAPES = st.integers(1, 2_000).flatmap(lambda max_p: st.tuples(st.integers(1, max_p), st.just(max_p)))


def assert_ranges_partition_all_groups(parallelism: int, max_parallelism: int) -> None:
    owned = [list(key_group_range(i, parallelism, max_parallelism)) for i in range(parallelism)]
    assert [group for groups in owned for group in groups] == list(range(max_parallelism))
    for subtask, groups in enumerate(owned):
        assert all(subtask_of_key_group(g, parallelism, max_parallelism) == subtask for g in groups)


@pytest.mark.parametrize("max_parallelism", [1, 2, 3, 7, 64, 128])
def test_ranges_partition_all_key_groups_and_agree_with_the_owner_at_every_parallelism(max_parallelism: int) -> None:
    for parallelism in range(1, max_parallelism + 1):
        assert_ranges_partition_all_groups(parallelism, max_parallelism)


@given(SHAPES)
def test_ranges_partition_all_key_groups_and_agree_with_the_owner(shape: tuple[int, int]) -> None:
    assert_ranges_partition_all_groups(*shape)


@pytest.mark.parametrize("parallelism", [1, 3, 1_000, 32_767, 32_768])
def test_ranges_partition_all_key_groups_at_the_largest_max_parallelism(parallelism: int) -> None:
    assert_ranges_partition_all_groups(parallelism, MAX_PARALLELISM_LIMIT)


@given(SHAPES)
def test_no_subtask_owns_more_than_one_group_more_than_another(shape: tuple[int, int]) -> None:
    parallelism, max_parallelism = shape
    sizes = {len(key_group_range(i, parallelism, max_parallelism)) for i in range(parallelism)}
    assert max(sizes) - min(sizes) <= 1
    assert min(sizes) >= 1


@pytest.mark.parametrize(
    ("subtask", "parallelism", "max_parallelism", "start", "end"),
    [(0, 1, 128, 0, 127), (0, 3, 128, 0, 42), (1, 3, 128, 43, 85), (2, 3, 128, 86, 127), (1, 2, 5, 3, 4)],
)
def test_a_range_is_the_one_of_flink(
    subtask: int, parallelism: int, max_parallelism: int, start: int, end: int
) -> None:
    assert key_group_range(subtask, parallelism, max_parallelism) == KeyGroupRange(start, end)


@pytest.mark.parametrize(
    ("parallelism", "derived"),
    [
        (1, 128),
        (85, 128),
        (86, 256),
        (128, 256),
        (170, 256),
        (171, 256),
        (172, 512),
        (21_845, 32_768),
        (32_768, 32_768),
    ],
)
def test_default_max_parallelism_is_the_next_power_of_two_of_one_and_a_half_times(
    parallelism: int, derived: int
) -> None:
    assert default_max_parallelism(parallelism) == derived


@pytest.mark.parametrize("parallelism", range(1, 32_769, 1_111))
def test_a_derived_max_parallelism_is_always_valid(parallelism: int) -> None:
    check_parallelism(parallelism, default_max_parallelism(parallelism))


@pytest.mark.parametrize(("parallelism", "max_parallelism"), [(1, 1), (128, 128), (32_768, 32_768)])
def test_parallelism_up_to_max_parallelism_is_valid(parallelism: int, max_parallelism: int) -> None:
    check_parallelism(parallelism, max_parallelism)


@pytest.mark.parametrize(("parallelism", "max_parallelism"), [(0, 128), (-1, 128), (129, 128)])
def test_parallelism_out_of_range_raises_naming_both_numbers(parallelism: int, max_parallelism: int) -> None:
    with pytest.raises(ConfigurationError, match=rf"parallelism {parallelism} .* {max_parallelism}$"):
        check_parallelism(parallelism, max_parallelism)


@pytest.mark.parametrize("max_parallelism", [0, -1, 32_769])
def test_max_parallelism_out_of_range_raises_naming_the_limit(max_parallelism: int) -> None:
    with pytest.raises(ConfigurationError, match=rf"max parallelism {max_parallelism} .* 32768$"):
        check_parallelism(1, max_parallelism)


@given(st.tuples(*[st.integers(0, 20)] * 4))
def test_ranges_intersect_exactly_when_they_share_a_group(ends: tuple[int, int, int, int]) -> None:
    left = KeyGroupRange(min(ends[:2]), max(ends[:2]))
    right = KeyGroupRange(min(ends[2:]), max(ends[2:]))
    assert left.intersects(right) == bool(set(left) & set(right))
    assert left.intersects(right) == right.intersects(left)


def test_a_range_contains_both_its_ends_and_nothing_beyond() -> None:
    groups = KeyGroupRange(3, 5)
    assert [group for group in range(8) if group in groups] == [3, 4, 5] == list(groups)
    assert len(groups) == 3
