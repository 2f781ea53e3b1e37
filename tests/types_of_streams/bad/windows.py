"""Window functions for other windows, keys or elements."""

from __future__ import annotations

from collections.abc import Iterable

from order_records import ORDERS, Bill, Order

from rekindle.common import Time
from rekindle.datastream import OutputTag, StreamExecutionEnvironment
from rekindle.datastream.functions import AggregateFunction, AllWindowFunction, ProcessWindowFunction, WindowFunction
from rekindle.datastream.window import CountWindow, TimeWindow, TumblingEventTimeWindows


class OfNumbers(ProcessWindowFunction[Order, Bill, int, TimeWindow]):
    def process(
        self, key: int, context: ProcessWindowFunction.Context[TimeWindow], elements: Iterable[Order]
    ) -> Iterable[Bill]:
        print(context.window().nonsense)  # error: attr-defined
        yield Bill("", key)


class OfCounts(WindowFunction[Order, int, str, CountWindow]):
    def apply(self, key: str, window: CountWindow, inputs: Iterable[Order]) -> Iterable[int]:
        return [order.item for order in inputs]


class All(AllWindowFunction[Order, int, TimeWindow]):
    def apply(self, window: TimeWindow, inputs: Iterable[Order]) -> Iterable[int]:
        return [order.item for order in inputs]


class Total(AggregateFunction[Bill, float, float]):
    def create_accumulator(self) -> str:  # error: override
        return ""

    def add(self, value: Bill, accumulator: float) -> float:
        return accumulator + value.total

    def get_result(self, accumulator: float) -> float:
        return accumulator

    def merge(self, acc_a: float, acc_b: float) -> float:
        return acc_a + acc_b


def program(env: StreamExecutionEnvironment) -> None:
    orders = env.from_collection(ORDERS)
    second = TumblingEventTimeWindows.of(Time.seconds(1))
    windows = orders.key_by(lambda order: order.customer).window(second)
    windows.process(OfNumbers())  # error: arg-type
    windows.apply(OfCounts())  # error: arg-type
    windows.apply(All())  # error: arg-type
    windows.aggregate(Total())  # error: arg-type
    windows.reduce(lambda one, other: one.nonsense)  # error: attr-defined
    windows.side_output_late_data(OutputTag[Bill]("late"))  # error: arg-type
    orders.window_all(second).apply(OfCounts())  # error: arg-type
    orders.count_window_all(2).apply(All())  # error: arg-type
