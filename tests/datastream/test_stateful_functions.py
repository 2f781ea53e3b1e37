"""map_with_state and its siblings: one value of state per key, handed in and given back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from rekindle.datastream import KeyedStream, RuntimeContext, StreamExecutionEnvironment
from rekindle.datastream.functions import (
    FilterFunction,
    FlatMapFunction,
    Function,
    MapFunction,
    ReduceFunction,
)
from rekindle.datastream.state import ListStateDescriptor, MapStateDescriptor, ValueStateDescriptor
from rekindle.datastream.stateful_functions import FilterWithState, FlatMapWithState, MapWithState
from rekindle.exceptions import InvalidProgramError
from rekindle.testing import OperatorHarness
from support.in_process_job import InProcessJob, collect

WORDS = ["a", "b", "a", "a", "b"]


def run(words: list[str], transform: Callable[[KeyedStream], Any], parallelism: int = 1) -> list[Any]:
    environment = StreamExecutionEnvironment.get_execution_environment()
    keyed = environment.from_collection(words).key_by(lambda word: word)
    collect(transform(keyed))
    with InProcessJob(environment, parallelism) as job:
        return job.run_to_end()


def numbered(word: str, count: int | None) -> tuple[tuple[str, int], int]:
    count = (count or 0) + 1
    return (word, count), count


def test_map_with_state_gives_each_key_its_own() -> None:
    assert run(WORDS, lambda keyed: keyed.map_with_state(numbered)) == [
        ("a", 1),
        ("b", 1),
        ("a", 2),
        ("a", 3),
        ("b", 2),
    ]


def test_flat_map_with_state_gives_any_number_of_results() -> None:
    def every_second(word: str, count: int | None) -> tuple[list[str], int]:
        count = (count or 0) + 1
        return ([word] if count % 2 == 0 else []), count

    assert run(WORDS, lambda keyed: keyed.flat_map_with_state(every_second)) == ["a", "b"]


def test_filter_with_state_keeps_what_it_is_told_to() -> None:
    def first_time(word: str, seen: bool | None) -> tuple[bool, bool]:
        return not seen, True

    assert run(WORDS, lambda keyed: keyed.filter_with_state(first_time)) == ["a", "b"]


def test_none_as_the_new_state_drops_it() -> None:
    def alternating(word: str, state: int | None) -> tuple[bool, int | None]:
        return state is None, 1 if state is None else None

    harness = OperatorHarness.keyed(MapWithState("map_with_state", alternating, None), lambda word: word)
    assert harness.process("a", "a", "a", "b") == [True, False, True, True]
    assert list(harness.operator.backend.keys("state")) == ["a", "b"]
    harness.process("a", "b")
    assert list(harness.operator.backend.keys("state")) == []


def test_the_state_is_in_snapshots() -> None:
    harness = OperatorHarness.keyed(MapWithState("map_with_state", numbered, None), lambda word: word)
    harness.process("a", "a")
    again = OperatorHarness.keyed(
        MapWithState("map_with_state", numbered, None), lambda word: word, restored=[harness.snapshot()]
    )
    assert again.process("a") == [("a", 3)]


@pytest.mark.parametrize("answer", [None, 1, ("result",), ("a", "b", "c")])
@pytest.mark.parametrize("kind", [MapWithState, FlatMapWithState, FilterWithState])
def test_a_function_that_returns_no_pair_is_told_so(kind: Any, answer: Any) -> None:
    harness = OperatorHarness.keyed(kind("its_name", lambda value, state: answer, None), lambda word: word)
    with pytest.raises(InvalidProgramError, match="its_name must return a pair"):
        harness.process("a")


def test_something_that_cannot_be_called_is_refused_at_once() -> None:
    with pytest.raises(TypeError, match="map_with_state takes a function"):
        MapWithState("map_with_state", "no function", None)  # type: ignore[arg-type]


class _Counting(Function):
    def open(self, runtime_context: RuntimeContext) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count", default_value=0))

    def next(self) -> int:
        self.count.update(self.count.value() + 1)
        return int(self.count.value())


class CountingMap(_Counting, MapFunction):
    def map(self, value: str) -> Any:
        return value, self.next()


class CountingFlatMap(_Counting, FlatMapFunction):
    def flat_map(self, value: str) -> Any:
        yield value, self.next()


class CountingFilter(_Counting, FilterFunction):
    def filter(self, value: str) -> bool:
        return self.next() == 2


class CountingReduce(_Counting, ReduceFunction):
    def reduce(self, value1: Any, value2: Any) -> Any:
        return value1 + value2 * self.next()


@pytest.mark.parametrize(
    ("transform", "expected"),
    [
        (lambda keyed: keyed.map(CountingMap()), [("a", 1), ("b", 1), ("a", 2), ("a", 3), ("b", 2)]),
        (lambda keyed: keyed.flat_map(CountingFlatMap()), [("a", 1), ("b", 1), ("a", 2), ("a", 3), ("b", 2)]),
        (lambda keyed: keyed.filter(CountingFilter()), ["a", "b"]),
        (lambda keyed: keyed.reduce(CountingReduce()), ["a", "b", "aa", "aaaa", "bb"]),
    ],
    ids=["map", "flat_map", "filter", "reduce"],
)
def test_rich_functions_on_a_keyed_stream_have_state(transform: Any, expected: list[Any]) -> None:
    assert run(WORDS, transform) == expected


class AsksForTheWrongKind(MapFunction):
    def __init__(self, method: str, descriptor: Any) -> None:
        self._method = method
        self._descriptor = descriptor

    def open(self, runtime_context: RuntimeContext) -> None:
        getattr(runtime_context, self._method)(self._descriptor)

    def map(self, value: Any) -> Any:
        return value


@pytest.mark.parametrize(
    ("method", "descriptor", "wanted"),
    [
        ("get_state", ListStateDescriptor("s"), "ValueStateDescriptor"),
        ("get_list_state", MapStateDescriptor("s"), "ListStateDescriptor"),
        ("get_map_state", ValueStateDescriptor("s"), "MapStateDescriptor"),
        ("get_reducing_state", ValueStateDescriptor("s"), "ReducingStateDescriptor"),
        ("get_aggregating_state", ValueStateDescriptor("s"), "AggregatingStateDescriptor"),
        ("get_folding_state", "s", "FoldingStateDescriptor"),
    ],
)
def test_a_descriptor_of_another_kind_is_refused(method: str, descriptor: Any, wanted: str) -> None:
    with pytest.raises(TypeError, match=f"described by a {wanted}"):
        OperatorHarness.keyed(AsksForTheWrongKind(method, descriptor), lambda value: value)
