"""Checkpoints that build on each other: restored, each is all there was when it was taken."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest

from rekindle.datastream.state import (
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    ValueStateDescriptor,
)
from rekindle.testing import BackendSnapshot, BackendUnderTest
from support.seeds import seeds

from .driver import EVERY_KIND, KINDS, TTL, Keyed, Kind, contents, fill, filled, ttl, writes_deltas

VALUE = ValueStateDescriptor("v")
LIST = ListStateDescriptor("l")
MAP = MapStateDescriptor("m")
KEYS = ["a", "b", "c"]


def read(keyed: Keyed, snapshot: BackendSnapshot) -> tuple[dict[Any, Any], dict[Any, Any], dict[Any, Any]]:
    """Return the values, lists and maps that a snapshot holds."""
    after = keyed.restored(snapshot)
    values, lists, maps = after.open(VALUE), after.open(LIST), after.open(MAP)
    found: tuple[dict[Any, Any], dict[Any, Any], dict[Any, Any]] = ({}, {}, {})
    for after.key in KEYS:
        read_now = values.value(), list(lists.get()), dict(maps.items())
        for entries, value in zip(found, read_now, strict=True):
            if value not in (None, [], {}):
                entries[after.key] = value
    return found


class TestChains:
    def test_the_first_checkpoint_is_whole_and_later_ones_hold_what_changed(
        self, under_test: BackendUnderTest, keyed: Keyed
    ) -> None:
        fill(keyed, {key: key for key in range(100)})
        first = keyed.checkpoint()
        assert first.base is None
        keyed.key = 7
        keyed.open(KINDS[0].descriptor()).update(70)
        second = keyed.checkpoint()
        third = keyed.checkpoint()
        if writes_deltas(under_test):
            assert second.base is first
            assert third.base is second
            assert [(block.state, block.entries, block.delta) for block in second.blocks] == [("value", 1, True)]
            assert third.blocks == ()
        else:
            assert second.base is third.base is None
        expected = filled({key: key for key in range(100)})
        expected["value"][7] = 70
        assert contents(keyed.restored(third), range(100)) == expected

    @EVERY_KIND
    def test_state_that_was_set_changed_and_removed(self, keyed: Keyed, kind: Kind) -> None:
        state = keyed.open(kind.descriptor())
        for keyed.key in ("changed", "removed", "kept"):
            kind.write(state, 1)
        first = keyed.checkpoint()
        keyed.key = "changed"
        state.clear()
        kind.write(state, 2)
        for keyed.key in ("new", "short-lived"):
            kind.write(state, 3)
        for keyed.key in ("removed", "short-lived", "never there"):
            state.clear()
        second = keyed.checkpoint()
        keyed.key = "removed"
        kind.write(state, 4)
        third = keyed.checkpoint()
        numbers: list[tuple[BackendSnapshot, dict[str, int]]] = [
            (first, {"changed": 1, "removed": 1, "kept": 1}),
            (second, {"changed": 2, "kept": 1, "new": 3}),
            (third, {"changed": 2, "kept": 1, "new": 3, "removed": 4}),
        ]
        for snapshot, expected in numbers:
            assert snapshot.entries().keys() == {kind.name}
            after = keyed.restored(snapshot)
            state = after.open(kind.descriptor())
            for after.key in ("changed", "removed", "kept", "new", "short-lived", "never there"):
                number = expected.get(after.key)
                assert kind.read(state) == (kind.unset if number is None else kind.expected(number))
            assert set(after.backend.keys(kind.name)) == expected.keys()

    @EVERY_KIND
    def test_state_that_goes_on_growing(self, keyed: Keyed, kind: Kind) -> None:
        state = keyed.open(kind.descriptor())
        expected = []
        for number in range(4):
            for keyed.key in KEYS[: number + 1]:
                kind.write(state, number)
            snapshot = keyed.checkpoint()
            expected.append((snapshot, contents(keyed, KEYS)))
        for snapshot, held in expected:
            assert contents(keyed.restored(snapshot), KEYS) == held

    def test_lists_that_were_appended_to_and_replaced(self, keyed: Keyed) -> None:
        state = keyed.open(LIST)
        for keyed.key in KEYS:
            state.add_all([1, 2])
        first = keyed.checkpoint()
        keyed.key = "a"
        state.add(3)
        state.add_all([4, 5])
        keyed.key = "b"
        state.add(3)
        state.update([9])
        keyed.key = "c"
        state.update([8])
        state.add(9)
        second = keyed.checkpoint()
        for keyed.key in KEYS:
            state.add(0)
        keyed.key = "b"
        state.clear()
        state.add_all([6, 7])
        third = keyed.checkpoint()
        keyed.key = "c"
        state.update([])
        fourth = keyed.checkpoint()
        assert read(keyed, first)[1] == {"a": [1, 2], "b": [1, 2], "c": [1, 2]}
        assert read(keyed, second)[1] == {"a": [1, 2, 3, 4, 5], "b": [9], "c": [8, 9]}
        assert read(keyed, third)[1] == {"a": [1, 2, 3, 4, 5, 0], "b": [6, 7], "c": [8, 9, 0]}
        assert read(keyed, fourth)[1] == {"a": [1, 2, 3, 4, 5, 0], "b": [6, 7]}

    def test_map_entries_that_were_put_removed_cleared_and_put_again(self, keyed: Keyed) -> None:
        state = keyed.open(MAP)
        for keyed.key in KEYS:
            state.put_all({"x": 1, "y": 1, "z": None})
        first = keyed.checkpoint()
        keyed.key = "a"
        state.remove("x")
        state.put("y", 2)
        state.put("new", 2)
        keyed.key = "b"
        state.remove("x")
        state.put("x", 3)
        keyed.key = "c"
        state.clear()
        state.put("y", 4)
        second = keyed.checkpoint()
        keyed.key = "a"
        for entry in ("y", "z", "new"):
            state.remove(entry)
        keyed.key = "b"
        state.put("x", 5)
        state.clear()
        keyed.key = "c"
        state.put("x", None)
        state.remove("y")
        third = keyed.checkpoint()
        keyed.key = "a"
        state.put("z", 6)
        keyed.key = "c"
        state.remove("x")
        fourth = keyed.checkpoint()
        whole = {"x": 1, "y": 1, "z": None}
        assert read(keyed, first)[2] == {"a": whole, "b": whole, "c": whole}
        assert read(keyed, second)[2] == {"a": {"y": 2, "z": None, "new": 2}, "b": {**whole, "x": 3}, "c": {"y": 4}}
        assert read(keyed, third)[2] == {"c": {"x": None}}
        assert read(keyed, fourth)[2] == {"a": {"z": 6}}

    def test_a_map_that_was_emptied_entry_by_entry_and_cleared_and_filled(self, keyed: Keyed) -> None:
        state = keyed.open(MAP)
        keyed.key = "a"
        state.put_all({"x": 1, "y": 1})
        keyed.checkpoint()
        state.remove("x")
        state.remove("y")
        state.put("y", 2)
        state.clear()
        state.put("x", 3)
        assert read(keyed, keyed.checkpoint())[2] == {"a": {"x": 3}}

    def test_what_a_checkpoint_that_never_completed_held_is_in_the_next_one(self, keyed: Keyed) -> None:
        values, lists, maps = keyed.open(VALUE), keyed.open(LIST), keyed.open(MAP)
        for keyed.key in KEYS:
            values.update(1)
            lists.add_all([1, 2])
            maps.put_all({"x": 1, "y": 1})
        keyed.checkpoint()
        keyed.key = "a"
        values.clear()
        lists.add(3)
        maps.remove("x")
        keyed.key = "b"
        values.update(2)
        lists.update([7])
        maps.clear()
        keyed.checkpoint(complete=False)
        keyed.key = "a"
        lists.add(4)
        maps.put("z", 1)
        keyed.checkpoint(complete=False)
        keyed.key = "b"
        lists.add(8)
        maps.put("y", 2)
        expected = (
            {"b": 2, "c": 1},
            {"a": [1, 2, 3, 4], "b": [7, 8], "c": [1, 2]},
            {"a": {"y": 1, "z": 1}, "b": {"y": 2}, "c": {"x": 1, "y": 1}},
        )
        assert read(keyed, keyed.checkpoint()) == expected
        assert read(keyed, keyed.checkpoint()) == expected

    def test_a_checkpoint_that_completes_late_is_the_base_of_those_after_it(self, keyed: Keyed) -> None:
        values, lists = keyed.open(VALUE), keyed.open(LIST)
        keyed.key = "a"
        lists.add(1)
        first = keyed.checkpoint()
        lists.add(2)
        second = keyed.checkpoint(complete=False)
        lists.add(3)
        values.update(3)
        third = keyed.checkpoint(complete=False)
        assert second.base in (first, None)
        assert third.base in (first, None)
        keyed.complete(second)
        lists.add(4)
        fourth = keyed.checkpoint()
        assert fourth.base in (second, None)
        assert read(keyed, second)[:2] == ({}, {"a": [1, 2]})
        assert read(keyed, third)[:2] == ({"a": 3}, {"a": [1, 2, 3]})
        assert read(keyed, fourth)[:2] == ({"a": 3}, {"a": [1, 2, 3, 4]})

    def test_a_savepoint_in_between_does_not_disturb_the_chain(self, keyed: Keyed) -> None:
        values, lists, maps = keyed.open(VALUE), keyed.open(LIST), keyed.open(MAP)
        for keyed.key in KEYS:
            values.update(1)
            lists.add(1)
            maps.put("x", 1)
        keyed.checkpoint()
        keyed.key = "a"
        values.clear()
        lists.add(2)
        maps.remove("x")
        savepoint = keyed.savepoint()
        keyed.key = "b"
        values.clear()
        lists.add(3)
        maps.put("y", 2)
        checkpoint = keyed.checkpoint()
        one = {"x": 1}
        assert savepoint.base is None
        assert read(keyed, savepoint) == (
            {"b": 1, "c": 1},
            {"a": [1, 2], "b": [1], "c": [1]},
            {"b": one, "c": one},
        )
        assert read(keyed, checkpoint) == (
            {"c": 1},
            {"a": [1, 2], "b": [1, 3], "c": [1]},
            {"b": {"x": 1, "y": 2}, "c": one},
        )

    def test_a_whole_checkpoint_in_between_starts_a_new_chain(self, keyed: Keyed) -> None:
        lists = keyed.open(LIST)
        keyed.key = "a"
        lists.add(1)
        keyed.checkpoint()
        lists.add(2)
        keyed.base = None
        whole = keyed.checkpoint()
        lists.add(3)
        last = keyed.checkpoint()
        assert whole.base is None
        assert len(last.chain()) <= 2
        assert read(keyed, whole)[1] == {"a": [1, 2]}
        assert read(keyed, last)[1] == {"a": [1, 2, 3]}

    def test_a_state_that_is_asked_for_only_later_joins_the_chain(self, keyed: Keyed) -> None:
        keyed.key = "a"
        keyed.open(VALUE).update(1)
        keyed.checkpoint()
        keyed.open(LIST).add(1)
        second = keyed.checkpoint()
        keyed.open(LIST).add(2)
        keyed.open(MAP).put("x", 1)
        third = keyed.checkpoint()
        assert read(keyed, second) == ({"a": 1}, {"a": [1]}, {})
        assert read(keyed, third) == ({"a": 1}, {"a": [1, 2]}, {"a": {"x": 1}})

    def test_a_restored_backend_starts_a_chain_of_its_own(self, keyed: Keyed) -> None:
        keyed.key = "a"
        keyed.open(LIST).add(1)
        keyed.checkpoint()
        keyed.open(LIST).add(2)
        after = keyed.restarted()
        first = after.checkpoint()
        assert first.base is None
        after.key = "a"
        after.open(LIST).add(3)
        after.open(VALUE).update(1)
        second = after.checkpoint()
        assert read(after, first) == ({}, {"a": [1, 2]}, {})
        assert read(after, second) == ({"a": 1}, {"a": [1, 2, 3]}, {})

    def test_accumulators_that_are_changed_in_place_are_seen_to_have_changed(self, keyed: Keyed) -> None:
        kind = KINDS[4]
        state = keyed.open(kind.descriptor())
        keyed.key = "a"
        state.add(2)
        keyed.checkpoint()
        state.add(4)
        after = keyed.restarted()
        after.key = "a"
        assert after.open(kind.descriptor()).get() == 3

    def test_namespaces_are_part_of_the_chain(self, keyed: Keyed) -> None:
        described = ReducingStateDescriptor("r", lambda a, b: a + b)
        namespaced = keyed.backend.get_or_create_namespaced(described)
        keyed.key = "a"
        for namespace in (1, 2, 3):
            namespaced.use(namespace).add(namespace)
        keyed.checkpoint()
        namespaced.use(1).clear()
        namespaced.use(2).add(10)
        namespaced.use(4).add(4)
        after = keyed.restarted()
        after.key = "a"
        namespaced = after.backend.get_or_create_namespaced(described)
        assert [namespaced.use(namespace).get() for namespace in (1, 2, 3, 4)] == [None, 12, 3, 4]

    def test_what_was_removed_because_it_had_expired_is_removed_from_the_chain(self, keyed: Keyed) -> None:
        config = ttl()
        fill(keyed, {"old": 1, "both": 1}, config)
        keyed.clock.advance(TTL // 2)
        fill(keyed, {"both": 5, "young": 5}, config)
        keyed.checkpoint()
        keyed.clock.advance(TTL // 2)
        held = contents(keyed, ["old", "both", "young"], config)
        assert held["value"] == {"both": 5, "young": 5}
        assert held["list"] == {"both": [5, 6], "young": [5, 6]}
        assert held["map"] == {"both": {"n": 5, 5: None}, "young": {"n": 5, 5: None}}
        # Without time-to-live nothing hides what should not be there.
        assert contents(keyed.restarted(), ["old", "both", "young"]) == held

    def test_reading_what_has_not_expired_changes_nothing(self, under_test: BackendUnderTest, keyed: Keyed) -> None:
        fill(keyed, {"a": 1}, ttl())
        keyed.checkpoint()
        keyed.clock.advance(TTL - 1)
        assert contents(keyed, ["a"], ttl()) == filled({"a": 1})
        if writes_deltas(under_test):
            assert keyed.checkpoint().blocks == ()

    @pytest.mark.parametrize("seed", seeds(5))
    def test_any_history_matches_plain_dicts(self, keyed: Keyed, seed: int) -> None:
        chance = random.Random(seed)
        values, lists, maps = keyed.open(VALUE), keyed.open(LIST), keyed.open(MAP)
        model: tuple[dict[Any, Any], dict[Any, Any], dict[Any, Any]] = ({}, {}, {})
        for _ in range(6):
            for _ in range(chance.randrange(8)):
                keyed.key = key = chance.choice(KEYS)
                _change(chance, key, (values, lists, maps), model)
            snapshot = keyed.checkpoint(complete=chance.random() < 0.7)
            if chance.random() < 0.3:
                keyed.savepoint()
            assert read(keyed, snapshot) == model


def _change(chance: random.Random, key: Any, states: tuple[Any, Any, Any], model: tuple[Any, Any, Any]) -> None:
    """Do the same at random to a state and to the dict that stands for it."""
    values, lists, maps = states
    number, entry = chance.randrange(100), chance.choice("xyz")
    changes: list[Callable[[], None]] = [
        lambda: (values.update(number), model[0].update({key: number})),
        lambda: (values.clear(), model[0].pop(key, None)),
        lambda: (lists.add(number), model[1].setdefault(key, []).append(number)),
        lambda: (lists.update([number]), model[1].update({key: [number]})),
        lambda: (lists.clear(), model[1].pop(key, None)),
        lambda: (maps.put(entry, number), model[2].setdefault(key, {}).update({entry: number})),
        lambda: (maps.remove(entry), model[2].get(key, {}).pop(entry, None)),
        lambda: (maps.clear(), model[2].pop(key, None)),
    ]
    chance.choice(changes)()
    if model[2].get(key) == {}:
        del model[2][key]
