"""What user code emitted and changed afterwards stays as it was emitted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from rekindle.contracts.functions.function_adapters import as_flat_map_function, as_map_function, as_reduce_function
from rekindle.datastream import FilterFunction, KeyedProcessFunction
from rekindle.datastream.state import ValueStateDescriptor
from rekindle.runtime.operators.result_copies import unshared
from rekindle.runtime.operators.stateless import FlatMapOperator, MapOperator
from rekindle.testing import OperatorHarness


class EmitsItsState(KeyedProcessFunction):
    def open(self, runtime_context: Any) -> None:
        self._seen = runtime_context.get_state(ValueStateDescriptor("seen", None))

    def process_element(self, value: tuple[str, int], ctx: Any) -> Any:
        seen = self._seen.value() or []
        seen.append(value[1])
        self._seen.update(seen)
        yield seen
        yield value[0], seen
        yield {"seen": seen}


def test_a_list_that_is_emitted_and_goes_on_growing_in_state() -> None:
    harness = OperatorHarness.keyed(EmitsItsState(), key_selector=lambda value: value[0])
    out = harness.process(("a", 1), ("a", 2))
    assert out == [[1], ("a", [1]), {"seen": [1]}, [1, 2], ("a", [1, 2]), {"seen": [1, 2]}]


class CountsInTheFirst(FilterFunction):
    """Keep the first record of a key, and count the others in it."""

    def open(self, runtime_context: Any) -> None:
        self._first = runtime_context.get_state(ValueStateDescriptor("first", None))

    def filter(self, value: dict[str, int]) -> bool:
        first = self._first.value() or value
        first["seen"] += 1
        self._first.update(first)
        return True


def test_a_record_that_a_filter_lets_pass_and_changes_in_state() -> None:
    harness = OperatorHarness.keyed(CountsInTheFirst(), key_selector=lambda value: value["key"])
    out = harness.process(*({"key": 1, "seen": 0} for _ in range(3)))
    assert [value["seen"] for value in out] == [1, 0, 0]


def test_a_reduce_function_that_changes_its_argument_in_place() -> None:
    def add(left: list[int], right: list[int]) -> list[int]:
        left[0] += right[0]
        return left

    harness = OperatorHarness.keyed(as_reduce_function(add), key_selector=lambda value: 0)
    assert harness.process([1], [2], [3]) == [[1], [3], [6]]


def test_a_downstream_operator_that_changes_records_in_place_does_not_reach_the_state() -> None:
    function = as_reduce_function(lambda left, right: [left[0] + right[0]])
    harness = OperatorHarness.keyed(function, key_selector=lambda value: 0)
    for record in harness.process([1], [2]):
        record.append("changed")
    assert harness.process([3]) == [[6]]


def test_a_function_that_returns_the_same_object_again_and_again() -> None:
    buffer: list[int] = []

    def collect(value: int) -> list[int]:
        buffer.append(value)
        return buffer

    assert OperatorHarness(MapOperator(as_map_function(collect))).process(1, 2) == [[1], [1, 2]]
    nested = {"buffer": buffer}
    harness = OperatorHarness(FlatMapOperator(as_flat_map_function(lambda v: [buffer.append(v) or nested])))
    assert harness.process(3, 4) == [{"buffer": [1, 2, 3]}, {"buffer": [1, 2, 3, 4]}]


@dataclass
class Point:
    x: int
    tags: Any = None


@pytest.mark.parametrize("value", [1, "text", (1, "a"), None, b"x", 1.5])
def test_what_cannot_change_is_not_copied(value: Any) -> None:
    assert unshared(value) is value


def test_fresh_objects_of_plain_content_are_not_copied() -> None:
    for make in (lambda: {"a": 1}, lambda: [1, 2], lambda: Point(1)):
        fresh = make()
        identity = id(fresh)
        fresh = unshared(fresh)
        assert id(fresh) == identity


def test_objects_that_somebody_else_holds_are_copied() -> None:
    held = Point(1)
    assert unshared(held) == held
    keeper = [held]
    assert unshared(held) is not held
    assert keeper[0] is held
    inner: list[int] = []
    assert unshared({"inner": inner})["inner"] is not inner
    assert unshared((1, inner))[1] is not inner
