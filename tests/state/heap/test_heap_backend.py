"""Keyed state on the heap: names, blocks, and access without a key. The rules of all backends are in contract/."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import Any

import pytest

from rekindle.common.typeinfo import Types
from rekindle.contracts.key_groups import key_group_range
from rekindle.datastream.functions import AggregateFunction, KeyedProcessFunction, MapFunction, RuntimeContext
from rekindle.datastream.state import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    StateDescriptor,
    ValueStateDescriptor,
)
from rekindle.exceptions import InvalidProgramError, StateAccessError
from rekindle.state.block_decoding import decode_whole
from rekindle.state.blocks import KeyGroupBlock
from rekindle.state.heap.backend import HeapKeyedStateBackend
from rekindle.state.key_hash import key_group_of, key_hash
from rekindle.state.snapshots import SnapshotRequest
from rekindle.state.state_owner import StateOwner
from rekindle.testing import OperatorHarness

MAX_PARALLELISM = 128


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


def backend(subtask: int = 0, parallelism: int = 1, blocks: Iterable[KeyGroupBlock] = ()) -> HeapKeyedStateBackend:
    own = key_group_range(subtask, parallelism, MAX_PARALLELISM)
    created = HeapKeyedStateBackend(StateOwner("counter"), own, MAX_PARALLELISM, lambda: 0)
    created.restore_blocks(block for block in blocks if block.key_group in own)
    return created


def blocks_of(keyed: HeapKeyedStateBackend) -> Iterator[KeyGroupBlock]:
    return keyed.snapshot(SnapshotRequest(1)).blocks()


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

        with pytest.raises(TypeError, match=r"Odd.* is not a descriptor of keyed state"):
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
            stored, _ = decode_whole(block)
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

    def test_integer_keys_and_others_of_equal_value_land_in_the_same_key_group(self) -> None:
        all_integers = {block.key_group for block in blocks_of(filled([7]))}
        mixed = {block.key_group for block in blocks_of(filled([7.0, "x"]))}
        assert all_integers <= mixed


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
