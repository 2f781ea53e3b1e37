"""Mistakes in a program are told where they are made, in words that say what to do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from rekindle.common import Time
from rekindle.datastream import (
    AggregateFunction,
    AsyncDataStream,
    AsyncFunction,
    DataStream,
    KeyedProcessFunction,
    KeySelector,
    Partitioner,
    ReduceFunction,
    SourceFunction,
    StreamExecutionEnvironment,
)
from rekindle.datastream.connectors.datagen import DataGeneratorSource, GeneratorFunction
from rekindle.datastream.functions import CheckpointedFunction, CheckpointListener
from rekindle.datastream.keyed_stream import KeyedStream
from rekindle.datastream.state import MapStateDescriptor
from rekindle.datastream.window import TumblingEventTimeWindows
from rekindle.exceptions import InvalidProgramError

ENVIRONMENT = StreamExecutionEnvironment.get_execution_environment()
WINDOWS = TumblingEventTimeWindows.of(Time.seconds(1))


class Keyed(KeyedProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> None:
        pass


class Endless(SourceFunction):
    def run(self, ctx: Any) -> None:
        pass

    def cancel(self) -> None:
        pass


class Ask(AsyncFunction[Any, Any]):
    async def async_invoke(self, value: Any) -> list[Any]:
        return [value]


class ByParity(KeySelector):
    def get_key(self, value: int) -> int:
        return value % 2


def stream() -> Any:
    return ENVIRONMENT.from_collection([1, 2, 3])


def keyed() -> Any:
    return stream().key_by(ByParity())


@pytest.mark.parametrize(
    ("mistake", "words"),
    [
        (
            lambda: ENVIRONMENT.add_source(lambda ctx: ctx.collect(1)),  # type: ignore[arg-type]
            "add_source takes a SourceFunction, and was given a function: derive a class from SourceFunction",
        ),
        (
            lambda: ENVIRONMENT.add_source(Endless),  # type: ignore[arg-type]
            r"add_source takes a SourceFunction, and was given the class Endless: write Endless\(\)",
        ),
        (lambda: stream().process(Keyed()), r"Keyed is a KeyedProcessFunction: call key_by\(\.\.\.\) before process"),
        (lambda: keyed().process(Keyed), r"given the class Keyed: write Keyed\(\)"),
        (lambda: keyed().process(ByParity), "given the class ByParity$"),
        (lambda: stream().key_by(ByParity), r"given the class ByParity: write ByParity\(\)"),
        (lambda: stream().key_by(0), "key_by takes a KeySelector or a callable, and was given an int"),
        (lambda: keyed().window(WINDOWS).aggregate(max), "aggregate takes an AggregateFunction"),
        (lambda: keyed().window(WINDOWS).reduce(max, max), "takes a WindowFunction or a ProcessWindowFunction"),
        (lambda: stream().union([stream()]), "union takes streams, one after the other, and was given a list"),
        (lambda: AsyncDataStream.ordered_wait(stream(), Ask(), "5 s"), "timeout"),  # type: ignore[arg-type]
    ],
)
def test_something_of_the_wrong_kind_is_refused(mistake: Callable[[], Any], words: str) -> None:
    with pytest.raises(TypeError, match=words):
        mistake()


@pytest.mark.parametrize("method", sorted(set(dir(KeyedStream)) - set(dir(DataStream))))
def test_what_only_keyed_streams_have_is_missed_with_words(method: str) -> None:
    if method.startswith("_"):
        return
    with pytest.raises(AttributeError, match=rf"a stream without a key has no '{method}': call key_by"):
        getattr(stream(), method)
    assert not hasattr(stream(), method)


def test_another_name_is_missed_as_ever() -> None:
    with pytest.raises(AttributeError, match="'DataStream' object has no attribute 'windoww'"):
        _ = stream().windoww
    with pytest.raises(AttributeError, match="or use window_all"):
        _ = stream().window


@pytest.mark.parametrize(
    ("early", "words"),
    [
        (lambda: stream().join(stream()).window, r"JoinedStreams has no 'window': where\(key_selector\) comes next"),
        (lambda: stream().co_group(stream()).apply, r"where\(key_selector\) comes next"),
        (lambda: stream().join(stream()).where(ByParity()).window, r"equal_to\(key_selector\) comes next"),
        (lambda: keyed().interval_join(keyed()).process, r"between\(lower_bound, upper_bound\) comes next"),
        (lambda: keyed().window(WINDOWS).print, "WindowedStream has no 'print': reduce, aggregate, apply or process"),
        (lambda: stream().connect(stream()).print, "map, flat_map or process comes next"),
        (lambda: stream().broadcast(MapStateDescriptor("rules")).process, "connect, of another stream, comes next"),
    ],
)
def test_a_step_that_was_left_out_is_named(early: Callable[[], Any], words: str) -> None:
    with pytest.raises(AttributeError, match=words):
        early()


class WithState(CheckpointedFunction):
    def initialize_state(self, context: Any) -> None:
        pass

    def snapshot_state(self, context: Any) -> None:
        pass


class Add(ReduceFunction, WithState):
    def reduce(self, value1: int, value2: int) -> int:
        return value1 + value2


class Count(AggregateFunction, CheckpointListener):
    def create_accumulator(self) -> int:
        return 0

    def add(self, value: int, accumulator: int) -> int:
        return accumulator + 1

    def get_result(self, accumulator: int) -> int:
        return accumulator

    def merge(self, acc_a: int, acc_b: int) -> int:
        return acc_a + acc_b


class Key(KeySelector, WithState):
    def get_key(self, value: int) -> int:
        return value


class Target(Partitioner, WithState):
    def partition(self, key: int, num_partitions: int) -> int:
        return 0


class Generate(GeneratorFunction, WithState):
    def map(self, value: int) -> int:
        return value


@pytest.mark.parametrize(
    "given",
    [
        lambda: keyed().window(WINDOWS).reduce(Add()),
        lambda: keyed().window(WINDOWS).aggregate(Count()),
        lambda: stream().key_by(Key()),
        lambda: stream().partition_custom(Target(), lambda n: n),
        lambda: DataGeneratorSource(Generate(), 10),
    ],
)
def test_operator_state_is_refused_where_nobody_would_call_for_it(given: Callable[[], Any]) -> None:
    with pytest.raises(InvalidProgramError, match="takes part in checkpoints"):
        given()


def test_a_timeout_may_be_said_in_every_way_a_time_can() -> None:
    for timeout in (Time.seconds(1), 1_000):
        assert AsyncDataStream.ordered_wait(stream(), Ask(), timeout).get_name() == "async wait operator"  # type: ignore[arg-type]
