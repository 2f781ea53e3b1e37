"""Functions over two streams that were given other ones."""

from __future__ import annotations

from collections.abc import Iterable

from order_records import ORDERS, Bill, Order

from rekindle.common import Time, Types
from rekindle.datastream import StreamExecutionEnvironment
from rekindle.datastream.functions import (
    BroadcastProcessFunction,
    CoMapFunction,
    JoinFunction,
    ProcessJoinFunction,
)
from rekindle.datastream.state import MapStateDescriptor
from rekindle.datastream.window import TumblingEventTimeWindows

LIMITS = MapStateDescriptor("limits", Types.STRING(), Types.DOUBLE())


class Turned(CoMapFunction[Bill, Order, str]):
    def map1(self, value: Bill) -> str:
        return value.customer

    def map2(self, value: Order) -> str:
        return value.customer


class Limits(BroadcastProcessFunction[Order, Order, Order]):
    def process_element(self, value: Order, ctx: BroadcastProcessFunction.ReadOnlyContext) -> Iterable[Order]:
        ctx.get_broadcast_state(LIMITS).put("a", 1.0)  # error: attr-defined
        yield value

    def process_broadcast_element(self, value: Order, ctx: BroadcastProcessFunction.Context) -> None:
        ctx.get_broadcast_state(LIMITS).put(value.item, 1.0)  # error: arg-type


class TurnedJoin(JoinFunction[Bill, Order, str]):
    def join(self, first: Bill, second: Order) -> str:
        return first.customer


class Close(ProcessJoinFunction[Order, Order, str]):
    def process_element(self, left: Order, right: Order, ctx: ProcessJoinFunction.Context) -> Iterable[str]:
        yield left.customer


def program(env: StreamExecutionEnvironment) -> None:
    orders = env.from_collection(ORDERS)
    bills = orders.map(lambda order: Bill(order.customer, order.price))
    both = orders.connect(bills)
    both.map(Turned())  # error: arg-type
    both.key_by(lambda order: order.customer, lambda bill: bill.item)  # error: attr-defined
    orders.connect(bills.broadcast(LIMITS)).process(Limits())  # error: arg-type

    windows = TumblingEventTimeWindows.of(Time.seconds(1))
    orders.join(bills).where(lambda order: order.total)  # error: attr-defined
    orders.join(bills).where(lambda order: order.item).equal_to(lambda bill: bill.item)  # error: attr-defined
    where = orders.join(bills).where(lambda order: order.customer)
    where.equal_to(lambda bill: bill.total)  # error: arg-type, return-value
    joined = where.equal_to(lambda bill: bill.customer).window(windows)
    joined.apply(TurnedJoin())  # error: arg-type
    joined.apply(lambda order, bill: bill.item)  # error: attr-defined

    by_customer = orders.key_by(lambda order: order.customer)
    by_customer.interval_join(bills.key_by(lambda bill: bill.total))  # error: arg-type, return-value
    close = by_customer.interval_join(bills.key_by(lambda bill: bill.customer)).between(0, 1)
    close.process(Close())  # error: arg-type
