"""Keyed state on the heap: the rules of every primitive, snapshots, and what moves when the parallelism changes."""

from __future__ import annotations

import copy
import pickle
import random
from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import Any

import numpy as np
import pytest

from rekindle.common.typeinfo import Types
from rekindle.datastream.functions import AggregateFunction, KeyedProcessFunction, MapFunction, RuntimeContext
from rekindle.datastream.state import (
    AggregatingState,
    AggregatingStateDescriptor,
    ListState,
    ListStateDescriptor,
    MapState,
    MapStateDescriptor,
    ReducingState,
    ReducingStateDescriptor,
    StateDescriptor,
    ValueState,
    ValueStateDescriptor,
)
from rekindle.exceptions import InvalidProgramError, StateAccessError, StateRestoreError
from rekindle.state.blocks import KeyGroupBlock
from rekindle.state.heap.backend import HeapKeyedStateBackend
from rekindle.state.key_groups import key_group_range
from rekindle.state.key_hash import key_group_of, key_hash
from rekindle.state.snapshots import SnapshotRequest
from rekindle.testing import OperatorHarness

MAX_PARALLELISM = 128
KEYS: list[Hashable] = ["a", "b", 1, None, ("t", 2), b"bytes", 2.5]


class Mean(AggregateFunction):
    """Average numbers; the accumulator is (sum, count)."""

    def create_accumulator(self) -> tuple[float, int]:
        return 0, 0

    def add(self, value: float, accumulator: tuple[float, int]) -> tuple[float, int]:
        return accumulator[0] + value, accumulator[1] + 1

    def get_result(self, accumulator: tuple[float, int]) -> float:
        return accumulator[0] / accumulator[1]

    def merge(self, acc_a: tuple[float, int], acc_b: tuple[float, int]) -> tuple[float, int]:
        return acc_a[0] + acc_b[0], acc_a[1] + acc_b[1]


VALUE = ValueStateDescriptor("value", Types.INT())
LIST = ListStateDescriptor("list", Types.INT())
MAP = MapStateDescriptor("map", Types.STRING(), Types.INT())
REDUCING = ReducingStateDescriptor("reducing", lambda a, b: a + b, Types.INT())
AGGREGATING = AggregatingStateDescriptor("aggregating", Mean(), Types.PICKLED_BYTE_ARRAY())

# What is done to a state to set it to something that depends on n, and what it then returns.
KINDS: dict[str, tuple[StateDescriptor, Callable[[Any, int], None], Callable[[Any], Any], Any]] = {
    "value": (VALUE, lambda state, n: state.update(n), lambda state: state.value(), None),
    "list": (LIST, lambda state, n: state.update([n, n + 1]), lambda state: list(state.get()), []),
    "map": (MAP, lambda state, n: state.put("n", n), lambda state: dict(state.items()), {}),
    "reducing": (REDUCING, lambda state, n: state.add(n), lambda state: state.get(), None),
    "aggregating": (AGGREGATING, lambda state, n: state.add(n), lambda state: state.get(), None),
}
EVERY_KIND = pytest.mark.parametrize("kind", list(KINDS))


def backend(subtask: int = 0, parallelism: int = 1, blocks: Iterable[KeyGroupBlock] = ()) -> HeapKeyedStateBackend:
    own = key_group_range(subtask, parallelism, MAX_PARALLELISM)
    created = HeapKeyedStateBackend("counter", own, MAX_PARALLELISM, lambda: 0)
    created.restore_blocks(block for block in blocks if block.key_group in own)
    return created


def blocks_of(keyed: HeapKeyedStateBackend) -> Iterator[KeyGroupBlock]:
    return keyed.snapshot(SnapshotRequest(1)).blocks()


class TestEveryKind:
    @EVERY_KIND
    def test_an_unset_state_is_empty(self, kind: str) -> None:
        descriptor, _, read, unset = KINDS[kind]
        keyed = backend()
        keyed.key = "a"
        assert read(keyed.get_or_create(descriptor)) == unset

    @EVERY_KIND
    def test_every_key_has_a_state_of_its_own(self, kind: str) -> None:
        descriptor, write, read, _ = KINDS[kind]
        keyed = backend()
        state = keyed.get_or_create(descriptor)
        seen = []
        for number, key in enumerate(KEYS, 1):
            keyed.key = key
            write(state, number)
            seen.append(read(state))
        assert len({repr(value) for value in seen}) == len(KEYS)
        for key, value in zip(KEYS, seen, strict=True):
            keyed.key = key
            assert read(state) == value

    @EVERY_KIND
    def test_none_is_a_key_like_any_other(self, kind: str) -> None:
        descriptor, write, read, unset = KINDS[kind]
        keyed = backend()
        state = keyed.get_or_create(descriptor)
        keyed.key = None
        write(state, 1)
        keyed.key = "a"
        assert read(state) == unset
        keyed.key = None
        assert read(state) != unset

    @EVERY_KIND
    def test_keys_that_are_equal_are_one_key(self, kind: str) -> None:
        descriptor, write, read, unset = KINDS[kind]
        keyed = backend()
        state = keyed.get_or_create(descriptor)
        keyed.key = 1
        write(state, 5)
        expected = read(state)
        for key in (1.0, True, np.int64(1)):
            keyed.key = key
            assert read(state) == expected != unset

    @EVERY_KIND
    def test_clear_empties_the_state_of_the_current_key_alone(self, kind: str) -> None:
        descriptor, write, read, unset = KINDS[kind]
        keyed = backend()
        state = keyed.get_or_create(descriptor)
        for key in ("a", "b"):
            keyed.key = key
            write(state, 3)
        state.clear()
        state.clear()
        assert read(state) == unset
        keyed.key = "a"
        assert read(state) != unset

    @EVERY_KIND
    def test_a_cleared_state_takes_no_room(self, kind: str) -> None:
        descriptor, write, _, _ = KINDS[kind]
        keyed = backend()
        state = keyed.get_or_create(descriptor)
        keyed.key = "a"
        write(state, 3)
        assert keyed.entry_count() == 1
        state.clear()
        assert keyed.entry_count() == 0
        assert list(blocks_of(keyed)) == []

    @EVERY_KIND
    def test_two_states_of_one_operator_do_not_touch_each_other(self, kind: str) -> None:
        descriptor, write, read, _ = KINDS[kind]
        keyed = backend()
        other = keyed.get_or_create(ValueStateDescriptor("other", Types.INT()))
        state = keyed.get_or_create(descriptor)
        keyed.key = "a"
        write(state, 3)
        expected = read(state)
        other.update(99)  # type: ignore[attr-defined]
        assert read(state) == expected
        other.clear()
        assert read(state) == expected

    @EVERY_KIND
    def test_an_equal_descriptor_gives_the_same_state(self, kind: str) -> None:
        descriptor, write, read, _ = KINDS[kind]
        keyed = backend()
        keyed.key = "a"
        write(keyed.get_or_create(descriptor), 3)
        again = keyed.get_or_create(copy.copy(descriptor))
        assert read(again) == read(keyed.get_or_create(descriptor))
        assert again is keyed.get_or_create(descriptor)

    @EVERY_KIND
    def test_another_kind_of_state_under_the_same_name_raises_naming_operator_and_state(self, kind: str) -> None:
        keyed = backend()
        keyed.get_or_create(KINDS[kind][0])
        other = ListStateDescriptor(kind) if kind != "list" else ValueStateDescriptor(kind)
        with pytest.raises(InvalidProgramError, match=rf"state '{kind}' of operator 'counter'"):
            keyed.get_or_create(other)

    @EVERY_KIND
    def test_a_state_of_the_snapshot_asked_for_under_another_kind_raises_naming_both(self, kind: str) -> None:
        descriptor, write, _, _ = KINDS[kind]
        keyed = backend()
        keyed.key = "a"
        write(keyed.get_or_create(descriptor), 3)
        restored = backend(blocks=blocks_of(keyed))
        other = ListStateDescriptor(kind) if kind != "list" else ValueStateDescriptor(kind)
        wanted = "list" if kind != "list" else "value"
        expected = rf"state '{kind}' of operator 'counter' is a {kind} state in the snapshot and a {wanted} state"
        with pytest.raises(StateRestoreError, match=expected):
            restored.get_or_create(other)

    @EVERY_KIND
    def test_without_a_current_key_access_raises_and_says_what_to_do(self, kind: str) -> None:
        descriptor, write, read, _ = KINDS[kind]
        state = backend().get_or_create(descriptor)
        with pytest.raises(StateAccessError, match="no current key, such as in open"):
            read(state)
        with pytest.raises(StateAccessError, match="no current key, such as in open"):
            write(state, 1)

    @EVERY_KIND
    def test_a_restored_state_is_what_it_was(self, kind: str) -> None:
        descriptor, write, read, _ = KINDS[kind]
        before = backend()
        state = before.get_or_create(descriptor)
        for number, key in enumerate(KEYS):
            before.key = key
            write(state, number + 1)
        after = backend(blocks=list(blocks_of(before)))
        restored = after.get_or_create(descriptor)
        for key in KEYS:
            before.key = after.key = key
            assert read(restored) == read(state)

    @EVERY_KIND
    def test_a_restored_state_can_be_changed(self, kind: str) -> None:
        descriptor, write, read, unset = KINDS[kind]
        before = backend()
        before.key = "a"
        write(before.get_or_create(descriptor), 1)
        after = backend(blocks=list(blocks_of(before)))
        after.key = "a"
        restored = after.get_or_create(descriptor)
        value = read(restored)
        write(restored, 5)
        assert read(restored) != value
        restored.clear()
        assert read(restored) == unset


class TestValueState:
    def state(self, default: Any = None) -> ValueState[Any]:
        keyed = backend()
        keyed.key = "a"
        return keyed.get_or_create(ValueStateDescriptor("v", None, default))  # type: ignore[return-value]

    def test_an_unset_value_is_the_default_of_the_descriptor(self) -> None:
        assert self.state(default=7).value() == 7

    def test_update_with_none_clears_it_so_that_the_default_is_back(self) -> None:
        state = self.state(default=7)
        state.update(1)
        assert state.value() == 1
        state.update(None)
        assert state.value() == 7

    @pytest.mark.parametrize("falsy", [0, "", False, [], {}, 0.0])
    def test_a_falsy_value_is_a_value(self, falsy: Any) -> None:
        state = self.state(default="default")
        state.update(falsy)
        assert state.value() == falsy


class TestListState:
    def state(self) -> ListState[Any]:
        keyed = backend()
        keyed.key = "a"
        return keyed.get_or_create(ListStateDescriptor("l"))  # type: ignore[return-value]

    def test_elements_come_back_in_the_order_in_which_they_were_added(self) -> None:
        state = self.state()
        state.add(3)
        state.add_all([1, 2])
        state.add(3)
        assert list(state.get()) == [3, 1, 2, 3] == list(state)

    def test_update_replaces_all_elements(self) -> None:
        state = self.state()
        state.add(1)
        state.update([2, 3])
        assert list(state.get()) == [2, 3]

    def test_update_with_an_empty_list_leaves_an_empty_list(self) -> None:
        state = self.state()
        state.add(1)
        state.update([])
        assert list(state.get()) == []
        state.add(2)
        assert list(state.get()) == [2]

    def test_adding_nothing_changes_nothing(self) -> None:
        state = self.state()
        state.add(1)
        state.add_all([])
        assert list(state.get()) == [1]

    @pytest.mark.parametrize("way", ["add", "add_all", "update"])
    def test_none_inside_a_list_raises_naming_the_state_and_changes_nothing(self, way: str) -> None:
        state = self.state()
        state.add(1)
        with pytest.raises(ValueError, match="None cannot be an element of list state 'l'"):
            getattr(state, way)(None if way == "add" else [2, None])
        assert list(state.get()) == [1]

    @pytest.mark.parametrize("way", ["add_all", "update"])
    def test_elements_that_compare_element_by_element_can_be_kept(self, way: str) -> None:
        state = self.state()
        getattr(state, way)([np.array([1, 2])])
        assert [element.tolist() for element in state.get()] == [[1, 2]]

    @pytest.mark.parametrize("way", ["add_all", "update"])
    def test_an_iterator_can_be_given(self, way: str) -> None:
        state = self.state()
        getattr(state, way)(iter([1, 2]))
        assert list(state.get()) == [1, 2]

    def test_the_list_that_was_given_or_returned_is_not_the_state_itself(self) -> None:
        state = self.state()
        given = [1]
        state.update(given)
        given.append(2)
        returned = state.get()
        assert isinstance(returned, list)
        returned.append(3)
        assert list(state.get()) == [1]

    def test_the_state_can_be_changed_while_it_is_walked(self) -> None:
        state = self.state()
        state.update([1, 2])
        for element in state:
            state.add(element + 10)
        assert list(state.get()) == [1, 2, 11, 12]


class TestMapState:
    def state(self) -> MapState[Any, Any]:
        keyed = backend()
        keyed.key = "a"
        return keyed.get_or_create(MapStateDescriptor("m"))  # type: ignore[return-value]

    def test_a_missing_entry_is_none_and_not_contained(self) -> None:
        state = self.state()
        assert state.get("x") is None
        assert not state.contains("x")
        state.put("y", 1)
        assert state.get("x") is None

    def test_put_all_sets_many_entries_and_keeps_the_others(self) -> None:
        state = self.state()
        state.put_all({})
        assert state.is_empty()
        state.put("x", 1)
        state.put("y", 2)
        state.put_all({"y": 3, "z": 4})
        assert dict(state.items()) == {"x": 1, "y": 3, "z": 4}

    def test_a_none_value_counts_as_contained(self) -> None:
        state = self.state()
        state.put("x", None)
        assert state.contains("x")
        assert not state.is_empty()
        assert state.get("x") is None

    def test_none_can_be_a_map_key(self) -> None:
        state = self.state()
        state.put(None, 1)
        assert state.get(None) == 1
        assert list(state.keys()) == [None]

    def test_keys_values_and_items_give_all_entries(self) -> None:
        state = self.state()
        state.put_all({"x": 1, "y": 2})
        assert list(state.keys()) == ["x", "y"] == list(state)
        assert list(state.values()) == [1, 2]
        assert list(state.items()) == [("x", 1), ("y", 2)]

    def test_removing_an_entry_that_is_not_there_is_no_error(self) -> None:
        state = self.state()
        state.remove("x")
        state.put("y", 1)
        state.remove("x")
        assert dict(state.items()) == {"y": 1}

    def test_a_map_without_entries_is_empty_again(self) -> None:
        state = self.state()
        assert state.is_empty()
        state.put("x", 1)
        assert not state.is_empty()
        state.remove("x")
        assert state.is_empty()

    def test_it_reads_like_a_dict(self) -> None:
        state = self.state()
        state["x"] = 1
        assert state["x"] == 1
        assert "x" in state
        assert state["missing"] is None
        del state["x"]
        del state["x"]
        assert "x" not in state

    def test_the_map_can_be_changed_while_it_is_walked(self) -> None:
        state = self.state()
        state.put_all({"x": 1, "y": 2})
        for key in state.keys():  # noqa: SIM118 - the method is what is tested
            state.remove(key)
        for _ in state.items():
            pytest.fail("nothing is left")
        state.put("x", 1)
        for key, value in state.items():
            state.put(key + "2", value)
        for value in state.values():
            state.put("v", value)
        assert dict(state.items()) == {"x": 1, "x2": 1, "v": 1}


class TestReducingAndAggregating:
    def reducing(self, function: Callable[[Any, Any], Any] = lambda a, b: a + b) -> ReducingState[Any]:
        keyed = backend()
        keyed.key = "a"
        return keyed.get_or_create(ReducingStateDescriptor("r", function))  # type: ignore[return-value]

    def aggregating(self) -> AggregatingState[Any, Any]:
        keyed = backend()
        keyed.key = "a"
        return keyed.get_or_create(AGGREGATING)  # type: ignore[return-value]

    def test_the_first_value_is_the_reduction_and_later_ones_come_second(self) -> None:
        state = self.reducing(lambda a, b: f"({a}{b})")
        for value in "xyz":
            state.add(value)
        assert state.get() == "((xy)z)"

    def test_adding_none_clears_a_reduction(self) -> None:
        state = self.reducing()
        state.add(1)
        state.add(None)
        assert state.get() is None
        state.add(2)
        assert state.get() == 2

    def test_a_falsy_reduction_goes_on_being_reduced(self) -> None:
        state = self.reducing()
        state.add(0)
        state.add(5)
        assert state.get() == 5
        state.add(-5)
        assert state.get() == 0

    def test_get_gives_the_result_of_the_accumulator(self) -> None:
        state = self.aggregating()
        for value in (1, 2, 6):
            state.add(value)
        assert state.get() == 3

    def test_adding_none_clears_an_aggregate(self) -> None:
        state = self.aggregating()
        state.add(1)
        state.add(None)
        assert state.get() is None
        state.add(4)
        assert state.get() == 4


class TestNames:
    def test_the_same_name_with_another_type_raises_naming_both_descriptors(self) -> None:
        keyed = backend()
        keyed.get_or_create(ValueStateDescriptor("v", Types.INT()))
        with pytest.raises(InvalidProgramError, match=r"state 'v' .*ValueStateDescriptor.*ValueStateDescriptor"):
            keyed.get_or_create(ValueStateDescriptor("v", Types.STRING()))

    def test_state_names_are_those_asked_for_and_those_restored(self) -> None:
        before = backend()
        before.key = "a"
        before.get_or_create(VALUE).update(1)  # type: ignore[attr-defined]
        after = backend(blocks=list(blocks_of(before)))
        after.get_or_create(LIST)
        assert after.state_names() == ["list", "value"]

    def test_a_descriptor_that_cannot_be_served_says_so(self) -> None:
        class Odd(StateDescriptor):
            pass

        with pytest.raises(TypeError, match=r"Odd.* is no descriptor of keyed state"):
            backend().get_or_create(Odd("odd"))


def filled(keys: Iterable[Hashable], subtask: int = 0, parallelism: int = 1) -> HeapKeyedStateBackend:
    keyed = backend(subtask, parallelism)
    for descriptor, write, _, _ in KINDS.values():
        state = keyed.get_or_create(descriptor)
        for key in keys:
            keyed.key = key
            write(state, key_hash(key) % 1_000)
    return keyed


def contents(keyed: HeapKeyedStateBackend, keys: Iterable[Hashable]) -> dict[tuple[str, Hashable], Any]:
    """Read every state of every key that is set."""
    found: dict[tuple[str, Hashable], Any] = {}
    for kind, (descriptor, _, read, unset) in KINDS.items():
        state = keyed.get_or_create(descriptor)
        for key in keys:
            keyed.key = key
            if (value := read(state)) != unset:
                found[kind, key] = value
    return found


class TestSnapshots:
    def test_a_block_holds_one_state_in_one_key_group(self) -> None:
        keys = list(range(500))
        blocks = list(blocks_of(filled(keys)))
        assert len({(block.state, block.key_group) for block in blocks}) == len(blocks)
        for block in blocks:
            stored = pickle.loads(block.data)[0]
            assert len(stored) == block.entries
            assert {key_group_of(key, MAX_PARALLELISM) for key in stored} == {block.key_group}

    def test_what_is_changed_after_a_snapshot_is_not_in_it(self) -> None:
        keyed = filled(["a"])
        before = contents(keyed, ["a", "b"])
        blocks = list(blocks_of(keyed))
        for descriptor, write, _, _ in KINDS.values():
            for key in ("a", "b"):
                keyed.key = key
                write(keyed.get_or_create(descriptor), 77)
        assert contents(backend(blocks=blocks), ["a", "b"]) == before

    @pytest.mark.parametrize(
        "keys",
        [
            list(range(300)),
            [f"key-{i}" for i in range(300)],
            [*range(100), "x", None, 2.5, 1 << 70],
            [-5, (1 << 63) - 1, 1 << 63, 1 << 70],
        ],
        ids=["integers", "strings", "mixed", "far integers"],
    )
    def test_rescaling_from_one_to_two_to_three_to_one_loses_nothing_and_doubles_nothing(
        self, keys: list[Hashable]
    ) -> None:
        subtasks = [filled(keys)]
        expected = contents(subtasks[0], keys)
        assert len(expected) == len(KINDS) * len(keys)
        for parallelism in (2, 3, 1):
            blocks = [block for subtask in subtasks for block in blocks_of(subtask)]
            subtasks = [backend(i, parallelism, blocks) for i in range(parallelism)]
            held = [contents(subtask, keys) for subtask in subtasks]
            assert sum(len(own) for own in held) == len(expected)
            assert {name: value for own in held for name, value in own.items()} == expected
            for subtask in subtasks:
                assert all(block.key_group in subtask.key_groups for block in blocks_of(subtask))

    def test_integer_keys_and_others_of_equal_value_land_in_the_same_key_group(self) -> None:
        all_integers = {block.key_group for block in blocks_of(filled([7]))}
        mixed = {block.key_group for block in blocks_of(filled([7.0, "x"]))}
        assert all_integers <= mixed

    def test_any_sequence_of_changes_and_restores_matches_a_plain_dict(self) -> None:
        seed = 20_240_101
        print(f"seed {seed}")
        chance = random.Random(seed)
        for _ in range(20):
            model: dict[Hashable, Any] = {}
            keyed = backend()
            for _ in range(100):
                keyed.key = key = chance.choice(KEYS)
                state = keyed.get_or_create(VALUE)
                assert isinstance(state, ValueState)
                action = chance.random()
                if action < 0.6:
                    model[key] = chance.randrange(100)
                    state.update(model[key])
                elif action < 0.8:
                    model.pop(key, None)
                    state.clear()
                elif action < 0.9:
                    keyed = backend(blocks=list(blocks_of(keyed)))
                else:
                    assert state.value() == model.get(key)
            state = keyed.get_or_create(VALUE)
            for keyed.key in KEYS:
                assert state.value() == model.get(keyed.key)  # type: ignore[attr-defined]


class TestWhereThereIsNoKey:
    def test_writing_state_in_open_raises_rather_than_being_lost(self) -> None:
        class Eager(MapFunction):
            def open(self, runtime_context: RuntimeContext) -> None:
                runtime_context.get_state(VALUE).update(1)

            def map(self, value: Any) -> Any:
                return value

        with pytest.raises(StateAccessError, match="such as in open"):
            OperatorHarness.keyed(Eager(), lambda value: value)

    def test_writing_state_in_close_raises(self) -> None:
        class Late(KeyedProcessFunction):
            def open(self, runtime_context: RuntimeContext) -> None:
                self.state = runtime_context.get_state(VALUE)

            def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> None:
                self.state.update(value)

            def close(self) -> None:
                self.state.update(2)

        harness = OperatorHarness.keyed(Late(), lambda value: value)
        harness.process(1)
        with pytest.raises(StateAccessError, match="close"):
            harness.close()

    def test_asking_for_keyed_state_on_a_stream_without_a_key_raises_naming_state_and_operator(self) -> None:
        class Unkeyed(MapFunction):
            def open(self, runtime_context: RuntimeContext) -> None:
                runtime_context.get_state(VALUE)

            def map(self, value: Any) -> Any:
                return value

        with pytest.raises(StateAccessError, match=r"State 'value' was asked for by operator 'the map'.*call key_by"):
            OperatorHarness.unkeyed(Unkeyed(), name="the map")
