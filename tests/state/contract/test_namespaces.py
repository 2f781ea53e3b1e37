"""State that each key has once per namespace, as windows need."""

from __future__ import annotations

from typing import Any

import pytest

from rekindle.datastream.state import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    ValueStateDescriptor,
)
from rekindle.exceptions import InvalidProgramError, StateAccessError, StateRestoreError

from .driver import ALL_KEY_GROUPS, EVERY_KIND, MAX_PARALLELISM, Keyed, Kind, Mean, restored

NAMESPACES: list[Any] = [(0, 10), (10, 20), None, "window", 7]


class TestNamespaces:
    @pytest.mark.parametrize("descriptor", [ValueStateDescriptor("s"), MapStateDescriptor("s")])
    def test_what_cannot_be_merged_says_so(self, keyed: Keyed, descriptor: Any) -> None:
        keyed.key = "a"
        namespaced = keyed.backend.get_or_create_namespaced(descriptor)
        with pytest.raises(TypeError, match=r"(value|map) state cannot be merged: .* list, reducing or aggregating"):
            namespaced.merge((0, 20), [(0, 10), (10, 20)])

    @EVERY_KIND
    def test_each_key_has_a_state_in_each_namespace(self, keyed: Keyed, kind: Kind) -> None:
        namespaced = keyed.backend.get_or_create_namespaced(kind.descriptor())
        cells = [(key, namespace) for key in ("a", "b", None) for namespace in NAMESPACES]
        for number, (key, namespace) in enumerate(cells):
            keyed.key = key
            kind.write(namespaced.use(namespace), number)
        for number, (key, namespace) in enumerate(cells):
            keyed.key = key
            assert kind.read(namespaced.use(namespace)) == kind.expected(number)

    @EVERY_KIND
    def test_clearing_one_namespace_leaves_the_others(self, keyed: Keyed, kind: Kind) -> None:
        keyed.key = "a"
        namespaced = keyed.backend.get_or_create_namespaced(kind.descriptor())
        for number, namespace in enumerate(NAMESPACES):
            kind.write(namespaced.use(namespace), number)
        namespaced.use((0, 10)).clear()
        read = [kind.read(namespaced.use(namespace)) for namespace in NAMESPACES]
        assert read == [kind.unset, *(kind.expected(number) for number in range(1, len(NAMESPACES)))]

    @EVERY_KIND
    def test_namespaces_come_back_after_a_restart(self, keyed: Keyed, kind: Kind) -> None:
        namespaced = keyed.backend.get_or_create_namespaced(kind.descriptor())
        for key in range(5):
            for namespace in NAMESPACES:
                keyed.key = key
                kind.write(namespaced.use(namespace), key)
        for snapshot in (keyed.checkpoint(), keyed.savepoint()):
            after = keyed.restored(snapshot)
            namespaced = after.backend.get_or_create_namespaced(kind.descriptor())
            for after.key in range(5):
                for namespace in NAMESPACES:
                    assert kind.read(namespaced.use(namespace)) == kind.expected(after.key)

    def test_a_key_with_its_namespaces_stays_in_the_key_group_of_the_key(self, keyed: Keyed) -> None:
        keyed.open(ValueStateDescriptor("plain"))
        namespaced = keyed.backend.get_or_create_namespaced(ValueStateDescriptor("v"))
        for keyed.key in range(40):
            for namespace in NAMESPACES:
                namespaced.use(namespace).update((keyed.key, namespace))
        snapshot = keyed.checkpoint()
        seen = []
        for subtask in range(3):
            part = restored(keyed.under_test, [snapshot], keyed.clock, subtask, 3)
            namespaced = part.backend.get_or_create_namespaced(ValueStateDescriptor("v"))
            own = set(part.backend.keys("v"))
            for part.key in own:
                for namespace in NAMESPACES:
                    assert namespaced.use(namespace).value() == (part.key, namespace)
            seen += own
        assert sorted(seen) == list(range(40))

    def test_keys_gives_a_key_once_whatever_its_namespaces(self, keyed: Keyed) -> None:
        namespaced = keyed.backend.get_or_create_namespaced(ListStateDescriptor("l"))
        for keyed.key in ("a", "b"):
            for namespace in NAMESPACES:
                namespaced.use(namespace).add(1)
        assert sorted(keyed.backend.keys("l")) == ["a", "b"]

    def test_the_namespace_stays_when_the_key_changes(self, keyed: Keyed) -> None:
        namespaced = keyed.backend.get_or_create_namespaced(ValueStateDescriptor("v"))
        state: Any = namespaced.use("n")
        for keyed.key in ("a", "b"):
            state.update(keyed.key)
        keyed.key = "a"
        assert state.value() == "a"
        assert namespaced.use("other").value() is None

    def test_equal_keys_and_equal_namespaces_are_one(self, keyed: Keyed) -> None:
        namespaced = keyed.backend.get_or_create_namespaced(ValueStateDescriptor("v"))
        keyed.key = 1
        namespaced.use((0, 10)).update("x")
        keyed.key = True
        assert namespaced.use((0.0, 10.0)).value() == "x"

    def test_maps_in_namespaces_keep_their_entries_apart(self, keyed: Keyed) -> None:
        namespaced = keyed.backend.get_or_create_namespaced(MapStateDescriptor("m"))
        keyed.key = "a"
        for namespace in (1, 2, 12):
            state: Any = namespaced.use(namespace)
            state.put("x", namespace)
            state.put(namespace, "own")
        for namespace in (1, 2, 12):
            assert dict(namespaced.use(namespace).items()) == {"x": namespace, namespace: "own"}

    def test_without_a_current_key_access_raises(self, keyed: Keyed) -> None:
        namespaced = keyed.backend.get_or_create_namespaced(ValueStateDescriptor("v"))
        state: Any = namespaced.use((0, 10))
        with pytest.raises(StateAccessError, match="no current key"):
            state.value()
        with pytest.raises(StateAccessError, match="no current key"):
            state.update(1)

    def test_the_same_name_with_and_without_namespaces_raises(self, keyed: Keyed) -> None:
        keyed.backend.get_or_create_namespaced(ValueStateDescriptor("v"))
        with pytest.raises(InvalidProgramError, match="state 'v' of operator 'operator'"):
            keyed.open(ValueStateDescriptor("v"))

    @pytest.mark.parametrize("windowed_before", [True, False])
    def test_state_with_namespaces_cannot_be_taken_over_as_state_without_nor_the_other_way_round(
        self, keyed: Keyed, windowed_before: bool
    ) -> None:
        keyed.key = "a"
        if windowed_before:
            keyed.backend.get_or_create_namespaced(ValueStateDescriptor("v")).use(1).update(1)
        else:
            keyed.open(ValueStateDescriptor("v")).update(1)
        for snapshot in (keyed.checkpoint(), keyed.savepoint()):
            backend = keyed.under_test.restore([snapshot], ALL_KEY_GROUPS, MAX_PARALLELISM, keyed.clock.now)
            ask = backend.get_or_create if windowed_before else backend.get_or_create_namespaced
            with pytest.raises(
                StateRestoreError, match=r"state 'v' of operator 'operator' \(uid 'uid'\) belongs to a key"
            ):
                ask(ValueStateDescriptor("v"))


class TestMergingNamespaces:
    def test_lists_are_appended_in_the_order_of_the_namespaces(self, keyed: Keyed) -> None:
        keyed.key = "a"
        namespaced = keyed.backend.get_or_create_namespaced(ListStateDescriptor("l"))
        for namespace, elements in (("target", [1]), ("one", [2, 3]), ("two", [4]), ("untouched", [5])):
            namespaced.use(namespace).add_all(elements)
        namespaced.merge("target", ["one", "missing", "two"])
        read = {name: list(namespaced.use(name).get()) for name in ("target", "one", "missing", "two", "untouched")}
        assert read == {"target": [1, 2, 3, 4], "one": [], "missing": [], "two": [], "untouched": [5]}
        assert sorted(keyed.stored("l")) == [("a", "target"), ("a", "untouched")]

    def test_reductions_are_reduced(self, keyed: Keyed) -> None:
        keyed.key = "a"
        namespaced = keyed.backend.get_or_create_namespaced(ReducingStateDescriptor("r", lambda a, b: f"({a}{b})"))
        for namespace in "xyz":
            namespaced.use(namespace).add(namespace)
        namespaced.merge("x", ["y", "missing", "z"])
        assert [namespaced.use(namespace).get() for namespace in "xyz"] == ["((xy)z)", None, None]

    def test_accumulators_are_merged(self, keyed: Keyed) -> None:
        keyed.key = "a"
        namespaced = keyed.backend.get_or_create_namespaced(AggregatingStateDescriptor("g", Mean()))
        for namespace, numbers in ((1, [1, 2]), (2, [9]), (3, [100])):
            for number in numbers:
                namespaced.use(namespace).add(number)
        namespaced.merge(1, [2])
        assert [namespaced.use(namespace).get() for namespace in (1, 2, 3)] == [4, None, 100]

    def test_what_has_nothing_in_the_target_moves_there(self, keyed: Keyed) -> None:
        keyed.key = "a"
        lists = keyed.backend.get_or_create_namespaced(ListStateDescriptor("l"))
        sums = keyed.backend.get_or_create_namespaced(ReducingStateDescriptor("r", lambda a, b: a + b))
        means = keyed.backend.get_or_create_namespaced(AggregatingStateDescriptor("g", Mean()))
        for namespaced in (lists, sums, means):
            namespaced.use("source").add(4)
            namespaced.merge("target", ["source"])
        assert list(lists.use("target").get()) == [4]
        assert sums.use("target").get() == means.use("target").get() == 4
        assert sums.use("source").get() is None

    def test_other_keys_are_left_alone(self, keyed: Keyed) -> None:
        namespaced = keyed.backend.get_or_create_namespaced(ListStateDescriptor("l"))
        for keyed.key in ("a", "b"):
            for namespace in (1, 2):
                namespaced.use(namespace).add((keyed.key, namespace))
        namespaced.merge(1, [2])
        assert list(namespaced.use(1).get()) == [("b", 1), ("b", 2)]
        keyed.key = "a"
        assert list(namespaced.use(1).get()) == [("a", 1)]
        assert list(namespaced.use(2).get()) == [("a", 2)]

    def test_a_merge_is_part_of_the_next_checkpoint(self, keyed: Keyed) -> None:
        keyed.key = "a"
        namespaced = keyed.backend.get_or_create_namespaced(ListStateDescriptor("l"))
        for namespace in (1, 2):
            namespaced.use(namespace).add(namespace)
        keyed.checkpoint()
        namespaced.merge(1, [2])
        after = keyed.restarted()
        after.key = "a"
        namespaced = after.backend.get_or_create_namespaced(ListStateDescriptor("l"))
        assert list(namespaced.use(1).get()) == [1, 2]
        assert list(namespaced.use(2).get()) == []
