"""Process functions with state, timers and side outputs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, assert_type

from order_records import ORDERS, Bill, Order

from rekindle.common import Types
from rekindle.datastream import DataStream, OutputTag, RuntimeContext, StreamExecutionEnvironment
from rekindle.datastream.functions import (
    AggregateFunction,
    KeyedProcessFunction,
    ProcessFunction,
    ReduceFunction,
)
from rekindle.datastream.state import (
    AggregatingState,
    AggregatingStateDescriptor,
    ListState,
    ListStateDescriptor,
    MapState,
    MapStateDescriptor,
    ReducingState,
    ReducingStateDescriptor,
    ValueState,
    ValueStateDescriptor,
)

CHEAP = OutputTag("cheap", Types.STRING())
LATE = OutputTag[Order]("late")


class Mean(AggregateFunction[Order, tuple[int, float], float]):
    def create_accumulator(self) -> tuple[int, float]:
        return 0, 0.0

    def add(self, value: Order, accumulator: tuple[int, float]) -> tuple[int, float]:
        return accumulator[0] + 1, accumulator[1] + value.price

    def get_result(self, accumulator: tuple[int, float]) -> float:
        return accumulator[1] / accumulator[0]

    def merge(self, acc_a: tuple[int, float], acc_b: tuple[int, float]) -> tuple[int, float]:
        return acc_a[0] + acc_b[0], acc_a[1] + acc_b[1]


class Longest(ReduceFunction[str]):
    def reduce(self, value1: str, value2: str) -> str:
        return max(value1, value2, key=len)


class Billing(KeyedProcessFunction[str, Order, Bill]):
    total: ValueState[float]
    prices: ListState[float]
    last: ValueState[tuple[str, float]]

    def open(self, runtime_context: RuntimeContext) -> None:
        self.total = runtime_context.get_state(ValueStateDescriptor("total", Types.DOUBLE()))
        self.prices = runtime_context.get_list_state(ListStateDescriptor("prices", float))
        pair = Types.TUPLE([Types.STRING(), Types.DOUBLE()])
        self.last = runtime_context.get_state(ValueStateDescriptor("last", pair))
        by_item = runtime_context.get_map_state(MapStateDescriptor("by item", Types.LONG(), Order))
        assert_type(by_item, MapState[int, Order])
        mean = runtime_context.get_aggregating_state(AggregatingStateDescriptor("mean", Mean()))
        assert_type(mean, AggregatingState[Order, float])
        longest = runtime_context.get_reducing_state(ReducingStateDescriptor("longest", Longest()))
        assert_type(longest, ReducingState[str])
        most = runtime_context.get_reducing_state(
            ReducingStateDescriptor("most", lambda one, other: max(one, other), Types.LONG())
        )
        assert_type(most, ReducingState[int])
        lists = runtime_context.get_state(ValueStateDescriptor("lists", Types.LIST(Types.STRING())))
        assert_type(lists, ValueState[list[str]])
        anything = runtime_context.get_state(ValueStateDescriptor("anything"))
        assert_type(anything, ValueState[Any])

    def process_element(
        self, value: Order, ctx: KeyedProcessFunction.Context[str]
    ) -> Iterable[Bill | tuple[OutputTag[str], str]]:
        if value.price < 1:
            yield CHEAP, value.customer
        total = (self.total.value() or 0.0) + value.price
        self.total.update(total)
        self.prices.add(value.price)
        self.last.update((value.customer, value.price))
        ctx.timer_service().register_event_time_timer(10)
        yield Bill(ctx.get_current_key(), total)

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext[str]) -> Iterable[Bill]:
        yield Bill(ctx.get_current_key().upper(), sum(self.prices))


class Prices(ProcessFunction[Order, float]):
    def process_element(self, value: Order, ctx: ProcessFunction.Context) -> list[float]:
        return [value.price]


def program(env: StreamExecutionEnvironment) -> DataStream[Any]:
    orders = env.from_collection(ORDERS, Order)
    bills = orders.key_by(lambda order: order.customer).process(Billing())
    assert_type(bills, DataStream[Bill])
    assert_type(bills.get_side_output(CHEAP), DataStream[str])
    assert_type(bills.get_side_output(LATE), DataStream[Order])
    assert_type(orders.process(Prices()), DataStream[float])
    return bills.map(lambda bill: bill.total)
