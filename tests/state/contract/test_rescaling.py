"""Another parallelism: each key's state arrives exactly once, where its key group belongs."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import pytest

from rekindle.contracts.key_groups import KeyGroupRange, subtask_of_key_group
from rekindle.datastream.state import ValueStateDescriptor
from rekindle.state.key_hash import key_group_of
from rekindle.testing import BackendUnderTest, ManualClock

from .driver import KINDS, MAX_PARALLELISM, START, TTL, Keyed, contents, fill, filled, restored, started, ttl

KEYS: list[Hashable] = [
    *range(30),
    *(f"key-{number}" for number in range(20)),
    *("x", "y", None, 2.5, 1 << 70, -5, (1 << 63) - 1, 1 << 63, ("t", 1), b"bytes"),
]
STEPS = (2, 4, 3, 1)


def rescaled(under_test: BackendUnderTest, old: list[Keyed], parallelism: int, way: str) -> list[Keyed]:
    """Take snapshots of all subtasks and give the new ones."""
    snapshots = [getattr(subtask, way)() for subtask in old]
    return [restored(under_test, snapshots, old[0].clock, subtask, parallelism) for subtask in range(parallelism)]


def assert_each_key_is_where_it_belongs(subtasks: list[Keyed], keys: list[Hashable]) -> None:
    for number, subtask in enumerate(subtasks):
        own = {
            key
            for key in keys
            if subtask_of_key_group(key_group_of(key, MAX_PARALLELISM), len(subtasks), MAX_PARALLELISM) == number
        }
        for kind in KINDS:
            subtask.open(kind.descriptor())
            held = list(subtask.backend.keys(kind.name))
            assert len(held) == len(own)
            assert set(held) == own


@pytest.mark.parametrize("way", ["checkpoint", "savepoint"])
class TestRescaling:
    def test_from_one_to_two_to_four_to_three_to_one_loses_nothing_and_doubles_nothing(
        self, under_test: BackendUnderTest, way: str
    ) -> None:
        numbers = {key: number for number, key in enumerate(KEYS)}
        subtasks = [started(under_test)]
        fill(subtasks[0], numbers)
        for parallelism in STEPS:
            subtasks = rescaled(under_test, subtasks, parallelism, way)
            assert_each_key_is_where_it_belongs(subtasks, KEYS)
            held = [contents(subtask, KEYS) for subtask in subtasks]
            for kind in KINDS:
                together: dict[Any, Any] = {}
                for part in held:
                    together.update(part.get(kind.name, {}))
                assert together == filled(numbers)[kind.name]
                assert sum(len(part.get(kind.name, {})) for part in held) == len(KEYS)

    def test_state_goes_on_changing_between_the_steps(self, under_test: BackendUnderTest, way: str) -> None:
        keys = list(range(40))
        numbers: dict[Any, int] = {}
        subtasks = [started(under_test)]
        for step, parallelism in enumerate(STEPS):
            for subtask in subtasks:
                own = [key for key in keys if key_group_of(key, MAX_PARALLELISM) in subtask.backend.key_groups]
                changed = {key: key * 10 + step for key in own if key % 4 == step}
                fill(subtask, changed)
                numbers.update(changed)
                subtask.checkpoint()
                for subtask.key in own:
                    if subtask.key % 4 == step and subtask.key % 3 == 0:
                        for kind in KINDS:
                            subtask.open(kind.descriptor()).clear()
                        del numbers[subtask.key]
            subtasks = rescaled(under_test, subtasks, parallelism, way)
            assert_each_key_is_where_it_belongs(subtasks, list(numbers))
        assert contents(subtasks[0], keys) == filled(numbers)

    def test_time_to_live_goes_with_the_state(self, under_test: BackendUnderTest, way: str) -> None:
        subtasks = [started(under_test)]
        clock = subtasks[0].clock
        fill(subtasks[0], {key: key for key in range(20)}, ttl())
        clock.advance(TTL // 2)
        fill(subtasks[0], {key: key for key in range(20, 40)}, ttl())
        for parallelism in (3, 2, 1):
            subtasks = rescaled(under_test, subtasks, parallelism, way)
        clock.set(START + TTL)
        assert contents(subtasks[0], range(40), ttl()) == filled({key: key for key in range(20, 40)})

    def test_namespaces_go_with_their_keys(self, under_test: BackendUnderTest, way: str) -> None:
        descriptor = ValueStateDescriptor("v")
        subtasks = [started(under_test)]
        namespaced = subtasks[0].backend.get_or_create_namespaced(descriptor)
        for subtasks[0].key in range(30):
            for window in range(3):
                namespaced.use((window, window + 1)).update((subtasks[0].key, window))
        for parallelism in (2, 3, 1):
            subtasks = rescaled(under_test, subtasks, parallelism, way)
            found = []
            for subtask in subtasks:
                namespaced = subtask.backend.get_or_create_namespaced(descriptor)
                for key in subtask.backend.keys("v"):
                    subtask.key = key
                    found += [namespaced.use((window, window + 1)).value() for window in range(3)]
            assert sorted(found) == [(key, window) for key in range(30) for window in range(3)]

    def test_subtasks_without_any_state_take_part(self, under_test: BackendUnderTest, way: str) -> None:
        subtasks = [started(under_test)]
        fill(subtasks[0], {"only": 1})
        subtasks = rescaled(under_test, subtasks, 4, way)
        assert sorted(len(contents(subtask, ["only"])) for subtask in subtasks) == [0, 0, 0, len(KINDS)]
        subtasks = rescaled(under_test, subtasks, 1, way)
        assert contents(subtasks[0], ["only"]) == filled({"only": 1})

    def test_one_key_group_for_each_subtask(self, under_test: BackendUnderTest, way: str) -> None:
        keys = list(range(60))
        whole = started(under_test)
        state = whole.open(ValueStateDescriptor("v"))
        for whole.key in keys:
            state.update(whole.key)
        subtasks = rescaled(under_test, [whole], MAX_PARALLELISM, way)
        assert [subtask.backend.key_groups for subtask in subtasks] == [
            KeyGroupRange(group, group) for group in range(MAX_PARALLELISM)
        ]
        for subtask in subtasks:
            subtask.open(ValueStateDescriptor("v"))
        held = [list(subtask.backend.keys("v")) for subtask in subtasks]
        assert [sorted(part) for part in held] == [
            [key for key in keys if key_group_of(key, MAX_PARALLELISM) == group] for group in range(MAX_PARALLELISM)
        ]


class TestRescalingOfChains:
    def test_chains_of_several_subtasks_are_put_together(self, under_test: BackendUnderTest) -> None:
        keys = list(range(40))
        clock = ManualClock(START)
        whole = started(under_test, clock=clock)
        fill(whole, dict.fromkeys(keys, 1))
        subtasks = rescaled(under_test, [whole], 3, "checkpoint")
        numbers = dict.fromkeys(keys, 1)
        for step in range(3):
            for subtask in subtasks:
                subtask.checkpoint()
                own = [key for key in keys if key_group_of(key, MAX_PARALLELISM) in subtask.backend.key_groups]
                for subtask.key in own[step::3]:
                    for kind in KINDS:
                        state = subtask.open(kind.descriptor())
                        state.clear()
                        if step != 1:
                            kind.write(state, step)
                    numbers.pop(subtask.key)
                    if step != 1:
                        numbers[subtask.key] = step
        subtasks = rescaled(under_test, subtasks, 2, "checkpoint")
        assert_each_key_is_where_it_belongs(subtasks, list(numbers))
        assert contents(rescaled(under_test, subtasks, 1, "checkpoint")[0], keys) == filled(numbers)
