"""Process functions whose parameters do not fit: the order is Flink's, key, element, result."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from order_records import ORDERS, Bill, Order

from rekindle.common import Types
from rekindle.datastream import OutputTag, RuntimeContext, StreamExecutionEnvironment
from rekindle.datastream.functions import AggregateFunction, KeyedProcessFunction, ProcessFunction
from rekindle.datastream.state import AggregatingStateDescriptor, MapStateDescriptor, ValueState, ValueStateDescriptor

CHEAP = OutputTag("cheap", Types.STRING())


class Billing(KeyedProcessFunction[str, Order, Bill]):
    total: ValueState[float]

    def open(self, runtime_context: RuntimeContext) -> None:
        self.total = runtime_context.get_state(ValueStateDescriptor("total", Types.STRING()))  # error: arg-type
        by_item = runtime_context.get_map_state(MapStateDescriptor("by item", Types.LONG(), Order))
        by_item.put("one", ORDERS[0])  # error: arg-type
        orders = runtime_context.get_state(ValueStateDescriptor("order", Order))
        print(orders.value().nonsense)  # error: union-attr
        orders.update(1)  # error: arg-type
        runtime_context.get_list_state(ValueStateDescriptor("x"))  # error: arg-type
        AggregatingStateDescriptor("sum", Sum()).get_agg_function().add("a", 1)  # error: arg-type

    def process_element(self, value: Order, ctx: KeyedProcessFunction.Context[str]) -> Iterable[Bill]:
        print(ctx.get_current_key().nonsense)  # error: attr-defined
        ctx.output(CHEAP, "a")  # error: attr-defined
        yield value  # error: misc
        yield CHEAP, "a"  # error: misc


class OtherOrder(KeyedProcessFunction[Order, Bill, str]):
    def process_element(self, value: Order, ctx: KeyedProcessFunction.Context[Order]) -> Any:  # error: override
        yield value.customer


class ByNumber(KeyedProcessFunction[int, Order, str]):
    def process_element(self, value: Order, ctx: KeyedProcessFunction.Context[int]) -> Iterable[str]:
        yield str(ctx.get_current_key())


class OfBills(ProcessFunction[Bill, str]):
    def process_element(self, value: Bill, ctx: ProcessFunction.Context) -> Iterable[str]:
        yield value.customer


class Sum(AggregateFunction[int, int, int]):
    def create_accumulator(self) -> int:
        return 0

    def add(self, value: int, accumulator: int) -> int:
        return value + accumulator

    def get_result(self, accumulator: int) -> int:
        return accumulator

    def merge(self, acc_a: int, acc_b: int) -> int:
        return acc_a + acc_b


def program(env: StreamExecutionEnvironment) -> None:
    orders = env.from_collection(ORDERS)
    by_customer = orders.key_by(lambda order: order.customer)
    by_customer.process(ByNumber())  # error: arg-type
    orders.process(OfBills())  # error: arg-type
    orders.process(Billing())  # error: arg-type
    bills = by_customer.process(Billing())
    bills.map(lambda bill: bill.item)  # error: attr-defined
    bills.get_side_output(CHEAP).map(lambda text: text.nonsense)  # error: attr-defined
    by_customer.process(Billing)  # error: arg-type
