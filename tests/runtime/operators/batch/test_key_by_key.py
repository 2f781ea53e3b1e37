"""Keyed operators over input that has ended: one key after the other, each with all its timers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from rekindle.common import Time, Types
from rekindle.datastream import OutputTag
from rekindle.datastream.functions import (
    CoFlatMapFunction,
    KeyedCoProcessFunction,
    KeyedProcessFunction,
    MapFunction,
    ProcessWindowFunction,
    ReduceFunction,
    RuntimeContext,
)
from rekindle.datastream.state import ListStateDescriptor, StateTtlConfig, ValueStateDescriptor
from rekindle.datastream.window import EventTimeSessionWindows, EventTimeTrigger, TumblingEventTimeWindows
from rekindle.graph.transformations.windows import WindowContents, Windowing
from rekindle.runtime.operators.batch.batch_operators import batch_operator
from rekindle.runtime.operators.batch.final_reduce import FinalReduceOperator
from rekindle.runtime.operators.keyed import KeyedMapOperator, KeyedProcessOperator, ReduceOperator
from rekindle.runtime.operators.two_input import KeyedCoOperator
from rekindle.runtime.operators.windows.window_operator import WindowOperator
from rekindle.state.backend_settings import BackendSettings
from rekindle.state.heap.backend import HeapKeyedStateBackend
from rekindle.state.rocksdb.settings import RocksDBSettings
from rekindle.testing import OperatorHarness
from rekindle.testing.backends import BackendUnderTest

MIN = -(1 << 63)
MAX = (1 << 63) - 1


def first(value: Any) -> Any:
    return value[0]


def harness(operator: Any, memory: int = 1_000, **settings: Any) -> OperatorHarness:
    return OperatorHarness(batch_operator(operator, memory), first, first, **settings)


def process(h: OperatorHarness, *records: tuple[Any, int]) -> None:
    assert h.process(*records, timestamps=[timestamp for _, timestamp in records]) == []


class Chatty(KeyedProcessFunction):
    """Tell of everything, and set timers with timers."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.seen = runtime_context.get_list_state(ListStateDescriptor("seen", Types.INT()))

    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        self.seen.add(value[1])
        timers = ctx.timer_service()
        yield value, ctx.timestamp(), timers.current_watermark()
        timers.register_event_time_timer(value[1] + 10)
        timers.register_processing_time_timer(value[1] + 7)

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[Any]:
        timers = ctx.timer_service()
        domain = ctx.time_domain().name[0]
        yield ctx.get_current_key(), domain, timestamp, list(self.seen.get()), timers.current_watermark()
        if (domain, timestamp) == ("E", 20):
            timers.register_event_time_timer(12)  # before the one that fires
            timers.register_event_time_timer(1_000)
            timers.register_processing_time_timer(3)
        if (domain, timestamp) == ("P", 17):
            timers.register_event_time_timer(5_000)
            timers.register_processing_time_timer(1)
        if domain == "P":
            timers.register_processing_time_timer(timestamp + 1_000)  # again and again


def test_timers_of_a_key_fire_when_it_is_done_event_time_first() -> None:
    h = harness(KeyedProcessOperator(Chatty()))
    process(h, ("b", 10), ("a", 30), ("b", 5), ("b", 10))
    assert h.advance_watermark(15) == []
    assert h.finish() == [
        (("a", 30), 30, MIN),
        ("a", "E", 40, [30], MAX),
        ("a", "P", 37, [30], MAX),
        (("b", 5), 5, MIN),
        (("b", 10), 10, MIN),
        (("b", 10), 10, MIN),
        *(("b", "E", at, [5, 10, 10], MAX) for at in (15, 20, 12, 1_000)),
        *(("b", "P", at, [5, 10, 10], MAX) for at in (3, 12, 17, 1)),
        ("b", "E", 5_000, [5, 10, 10], MAX),
    ]


def test_state_and_timers_of_a_key_are_dropped_when_it_is_done() -> None:
    h = harness(KeyedProcessOperator(Chatty()))
    process(h, *((key, 1) for key in range(100)))
    h.finish()
    inner = h.operator.operator  # type: ignore[attr-defined]
    assert inner.timer_count() == 0
    assert list(inner.backend.keys("seen")) == []


class Silent(KeyedProcessFunction):
    """Set timers that nobody reacts to."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count", None))

    def process_element(self, value: Any, ctx: Any) -> list[Any]:
        self.count.update((self.count.value() or 0) + 1)
        ctx.timer_service().register_event_time_timer(1)
        return [(value[0], self.count.value())]


@pytest.mark.parametrize("records_per_key", [1, 3, 25_000])
def test_functions_without_timers_get_several_keys_at_once_and_see_no_difference(records_per_key: int) -> None:
    h = harness(KeyedProcessOperator(Silent()), memory=1_000_000)
    keys = max(2, 30_000 // records_per_key)
    for _ in range(records_per_key):
        process(h, *((key, 0) for key in range(keys)))
    assert sorted(h.finish()) == sorted((key, n + 1) for key in range(keys) for n in range(records_per_key))
    inner = h.operator.operator  # type: ignore[attr-defined]
    assert inner.timer_count() == 0
    assert list(inner.backend.keys("count")) == []


def test_results_leave_in_chunks() -> None:
    h = harness(KeyedProcessOperator(Silent()), memory=1_000_000)
    process(h, *((key, 0) for key in range(35_000)))
    chunks = list(h.operator.held_back())
    assert len(chunks) == 4
    assert max(len(chunk.values) for chunk in chunks) <= 10_000


class ToTheSide(KeyedProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        yield value
        yield OutputTag("odd"), value[1]

    def on_timer(self, timestamp: int, ctx: Any) -> None:
        return None


def test_side_outputs_keep_their_order() -> None:
    h = harness(KeyedProcessOperator(ToTheSide()))
    process(h, ("b", 2), ("a", 3), ("b", 1))
    assert h.finish() == [("a", 3), ("b", 1), ("b", 2)]
    assert h.side_outputs == {"odd": [3, 1, 2]}


class Expiring(MapFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        descriptor = ValueStateDescriptor("count", Types.INT())
        descriptor.enable_time_to_live(StateTtlConfig.new_builder(Time.hours(1)).build())
        self.count = runtime_context.get_state(descriptor)

    def map(self, value: Any) -> Any:
        self.count.update((self.count.value() or 0) + 1)
        return value[0], self.count.value()


def test_state_with_time_to_live_works_key_by_key() -> None:
    h = harness(KeyedMapOperator(Expiring()))
    process(h, ("b", 2), ("a", 3), ("b", 1))
    assert h.finish() == [("a", 1), ("b", 1), ("b", 2)]


class Windowed(ProcessWindowFunction):
    def process(self, key: Any, context: Any, elements: Any) -> Iterator[Any]:
        yield key, context.window().start, list(elements), context.current_watermark()


@pytest.mark.parametrize("memory", [1_000, 2])
def test_windows_fire_at_the_end_of_their_key_and_nothing_is_late(memory: int) -> None:
    windowing = Windowing(
        TumblingEventTimeWindows.of(Time.milliseconds(10)), EventTimeTrigger.create(), WindowContents(None)
    )
    h = harness(WindowOperator(windowing, Windowed()), memory)
    process(h, ("b", 15), ("a", 30))
    process(h, ("b", 5), ("b", 12))
    assert h.finish() == [
        ("a", 30, [("a", 30)], MAX),
        ("b", 0, [("b", 5)], MAX),
        ("b", 10, [("b", 12), ("b", 15)], MAX),
    ]


def test_sessions_merge_as_if_records_had_come_in_order() -> None:
    windowing = Windowing(
        EventTimeSessionWindows.with_gap(Time.milliseconds(7)), EventTimeTrigger.create(), WindowContents(None)
    )
    h = harness(WindowOperator(windowing, Windowed()))
    process(h, ("b", 10), ("a", 30), ("b", 5), ("a", 20), ("b", 16))
    assert h.finish() == [
        ("a", 20, [("a", 20)], MAX),
        ("a", 30, [("a", 30)], MAX),
        ("b", 5, [("b", 5), ("b", 10), ("b", 16)], MAX),
    ]


class Sides(KeyedCoProcessFunction):
    def process_element1(self, value: Any, ctx: Any) -> Iterator[Any]:
        ctx.timer_service().register_event_time_timer(value[1])
        yield 1, value

    def process_element2(self, value: Any, ctx: Any) -> Iterator[Any]:
        yield 2, value

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[Any]:
        yield "timer", ctx.get_current_key(), timestamp


class PlainSides(CoFlatMapFunction):
    def flat_map1(self, value: Any) -> Iterator[Any]:
        yield 1, value

    def flat_map2(self, value: Any) -> Iterator[Any]:
        yield 2, value


@pytest.mark.parametrize("memory", [1_000, 3])
def test_two_inputs_are_merged_by_timestamp_the_first_one_first(memory: int) -> None:
    h = harness(KeyedCoOperator(Sides()), memory)
    second = [("b", 5), ("a", 1), ("b", 10)]
    assert h.process_second(*second, timestamps=[5, 1, 10]) == []
    process(h, ("b", 10), ("c", 3), ("b", 7))
    assert h.finish() == [
        (2, ("a", 1)),
        (2, ("b", 5)),
        (1, ("b", 7)),
        (1, ("b", 10)),
        (2, ("b", 10)),
        ("timer", "b", 7),
        ("timer", "b", 10),
        (1, ("c", 3)),
        ("timer", "c", 3),
    ]


def test_two_inputs_without_timestamps_come_one_after_the_other() -> None:
    h = harness(KeyedCoOperator(PlainSides()))
    h.process_second(("b", 1), ("a", 2))
    h.process(("b", 3))
    h.process_second(("b", 4))
    assert h.finish() == [(2, ("a", 2)), (1, ("b", 3)), (2, ("b", 1)), (2, ("b", 4))]


class Joined(ReduceFunction):
    def reduce(self, value1: Any, value2: Any) -> Any:
        return value1[0], f"{value1[1]}{value2[1]}"


@pytest.mark.parametrize("memory", [1_000, 2])
def test_a_reduction_takes_records_without_timestamps_first_then_those_with_in_order(memory: int) -> None:
    h = harness(ReduceOperator(Joined()), memory)
    assert h.process(("b", "1"), ("a", "2"), timestamps=[9, 9]) == []
    assert h.process(("b", "3"), ("b", "4")) == []
    assert h.process(("b", "5"), ("c", "6"), timestamps=[8, 8]) == []
    (chunk,) = h.operator.held_back()
    assert chunk.values == [("a", "2"), ("b", "3451"), ("c", "6")]
    assert chunk.timestamps == [MAX] * 3


def test_a_reduction_without_timestamps_keeps_one_value_per_key_in_the_backend_that_is_set() -> None:
    backend = BackendUnderTest("rocksdb", BackendSettings(rocksdb=RocksDBSettings()))
    h = harness(ReduceOperator(Joined()), 2, state_backend=backend)
    for n in range(500):
        h.process((n % 100, "x"))
    assert isinstance(h.operator, FinalReduceOperator)
    assert h.finish() == [(key, "x" * 5) for key in range(100)]
    h.close()
    backend.close()


def test_the_state_of_one_key_is_on_the_heap_whatever_backend_is_set() -> None:
    backend = BackendUnderTest("rocksdb", BackendSettings(rocksdb=RocksDBSettings()))
    inner = KeyedProcessOperator(Chatty())
    h = harness(inner, state_backend=backend)
    assert isinstance(inner.backend, HeapKeyedStateBackend)
    h.close()
    backend.close()
