"""Windows, and the functions that compute them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, assert_type

from order_records import ORDERS, Bill, Order

from rekindle.common import Time, Types
from rekindle.datastream import AllWindowedStream, DataStream, OutputTag, StreamExecutionEnvironment, WindowedStream
from rekindle.datastream.functions import (
    AggregateFunction,
    AllWindowFunction,
    ProcessAllWindowFunction,
    ProcessWindowFunction,
    WindowFunction,
)
from rekindle.datastream.state import ValueStateDescriptor
from rekindle.datastream.window import (
    CountTrigger,
    CountWindow,
    GlobalWindow,
    GlobalWindows,
    PurgingTrigger,
    TimeWindow,
    Trigger,
    TriggerResult,
    TumblingEventTimeWindows,
)

LATE = OutputTag[Order]("late")


class Total(AggregateFunction[Order, list[float], float]):
    def create_accumulator(self) -> list[float]:
        return []

    def add(self, value: Order, accumulator: list[float]) -> list[float]:
        return [*accumulator, value.price]

    def get_result(self, accumulator: list[float]) -> float:
        return sum(accumulator)

    def merge(self, acc_a: list[float], acc_b: list[float]) -> list[float]:
        return acc_a + acc_b


class Bills(ProcessWindowFunction[float, Bill, str, TimeWindow]):
    def process(
        self, key: str, context: ProcessWindowFunction.Context[TimeWindow], elements: Iterable[float]
    ) -> Iterable[Bill]:
        yield Bill(f"{key} until {context.window().end}", sum(elements))


class Last(WindowFunction[Order, int, str, CountWindow]):
    def apply(self, key: str, window: CountWindow, inputs: Iterable[Order]) -> Iterable[int]:
        return [order.item for order in inputs][-1:]


class All(AllWindowFunction[Order, int, TimeWindow]):
    def apply(self, window: TimeWindow, inputs: Iterable[Order]) -> Iterable[int]:
        return [len(list(inputs))]


class ProcessAll(ProcessAllWindowFunction[Order, str, TimeWindow]):
    def process(
        self, context: ProcessAllWindowFunction.Context[TimeWindow], elements: Iterable[Order]
    ) -> Iterable[str]:
        yield str(context.window().start)


class AtItem(Trigger[Order, GlobalWindow]):
    def on_element(
        self, element: Order, timestamp: int, window: GlobalWindow, ctx: Trigger.TriggerContext
    ) -> TriggerResult:
        seen = ctx.get_partitioned_state(ValueStateDescriptor("seen", Types.LONG()))
        seen.update((seen.value() or 0) + element.item)
        return TriggerResult.FIRE

    def on_processing_time(self, time: int, window: GlobalWindow, ctx: Trigger.TriggerContext) -> TriggerResult:
        return TriggerResult.CONTINUE

    def on_event_time(self, time: int, window: GlobalWindow, ctx: Trigger.TriggerContext) -> TriggerResult:
        return TriggerResult.CONTINUE

    def on_merge(self, window: GlobalWindow, ctx: Trigger.OnMergeContext) -> None:
        pass

    def clear(self, window: GlobalWindow, ctx: Trigger.TriggerContext) -> None:
        pass


def program(env: StreamExecutionEnvironment) -> DataStream[Any]:
    orders = env.from_collection(ORDERS)
    by_customer = orders.key_by(lambda order: order.customer)
    second = TumblingEventTimeWindows.of(Time.seconds(1))

    windows = by_customer.window(second)
    assert_type(windows, WindowedStream[Order, str, TimeWindow])
    assert_type(windows.reduce(lambda one, other: max(one, other, key=lambda order: order.price)), DataStream[Order])
    assert_type(windows.aggregate(Total()), DataStream[float])
    assert_type(windows.aggregate(Total(), window_function=Bills()), DataStream[Bill])
    assert_type(windows.sum("price"), DataStream[Order])
    assert_type(windows.allowed_lateness(5).side_output_late_data(LATE).aggregate(Total()), DataStream[float])

    pairs = orders.map(lambda order: (order.customer, order.price)).key_by(lambda pair: pair[0])
    late_pairs = OutputTag("late pairs", Types.TUPLE([Types.STRING(), Types.DOUBLE()]))
    assert_type(pairs.window(second).side_output_late_data(late_pairs).sum(1), DataStream[tuple[str, float]])
    assert_type(pairs.window(second).side_output_late_data(OutputTag("late")).sum(1), DataStream[tuple[str, float]])

    counted = by_customer.count_window(2)
    assert_type(counted, WindowedStream[Order, str, CountWindow])
    assert_type(counted.apply(Last()), DataStream[int])
    assert_type(counted.trigger(PurgingTrigger.of(CountTrigger.of(2))).apply(Last()), DataStream[int])

    everything = orders.window_all(second)
    assert_type(everything, AllWindowedStream[Order, TimeWindow])
    assert_type(everything.apply(All()), DataStream[int])
    assert_type(everything.process(ProcessAll()), DataStream[str])

    items = by_customer.window(GlobalWindows.create()).trigger(AtItem())
    assert_type(items, WindowedStream[Order, str, GlobalWindow])
    return counted.apply(Last())
