"""Connected, broadcast and joined streams."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, assert_type

from order_records import ORDERS, Bill, Order

from rekindle.common import Time, Types
from rekindle.datastream import (
    BroadcastConnectedStream,
    BroadcastStream,
    ConnectedStreams,
    DataStream,
    StreamExecutionEnvironment,
)
from rekindle.datastream.functions import (
    BroadcastProcessFunction,
    CoFlatMapFunction,
    CoGroupFunction,
    CoMapFunction,
    FlatJoinFunction,
    JoinFunction,
    KeyedBroadcastProcessFunction,
    KeyedCoProcessFunction,
    ProcessJoinFunction,
)
from rekindle.datastream.state import BroadcastState, MapStateDescriptor, ReadOnlyBroadcastState
from rekindle.datastream.window import TumblingEventTimeWindows

LIMITS = MapStateDescriptor("limits", Types.STRING(), Types.DOUBLE())


class Names(CoMapFunction[Order, Bill, str]):
    def map1(self, value: Order) -> str:
        return value.customer

    def map2(self, value: Bill) -> str | None:
        return value.customer if value.total else None


class Numbers(CoFlatMapFunction[Order, Bill, float]):
    def flat_map1(self, value: Order) -> list[float]:
        return [value.price]

    def flat_map2(self, value: Bill) -> Iterator[float]:
        yield value.total


class Matches(KeyedCoProcessFunction[str, Order, Bill, str]):
    def process_element1(self, value: Order, ctx: KeyedCoProcessFunction.Context[str]) -> Iterable[str]:
        yield ctx.get_current_key()

    def process_element2(self, value: Bill, ctx: KeyedCoProcessFunction.Context[str]) -> Iterable[str]:
        yield value.customer


class Within(BroadcastProcessFunction[Order, Bill, Order]):
    def process_element(self, value: Order, ctx: BroadcastProcessFunction.ReadOnlyContext) -> Iterable[Order]:
        limits = ctx.get_broadcast_state(LIMITS)
        assert_type(limits, ReadOnlyBroadcastState[str, float])
        if value.price < (limits.get(value.customer) or 0.0):
            yield value

    def process_broadcast_element(self, value: Bill, ctx: BroadcastProcessFunction.Context) -> None:
        limits = ctx.get_broadcast_state(LIMITS)
        assert_type(limits, BroadcastState[str, float])
        limits.put(value.customer, value.total)


class KeyedWithin(KeyedBroadcastProcessFunction[str, Order, Bill, str]):
    def process_element(self, value: Order, ctx: KeyedBroadcastProcessFunction.ReadOnlyContext[str]) -> Iterable[str]:
        yield ctx.get_current_key()

    def process_broadcast_element(self, value: Bill, ctx: KeyedBroadcastProcessFunction.Context[str]) -> None:
        ctx.get_broadcast_state(LIMITS).put(value.customer, value.total)


class Difference(JoinFunction[Order, Bill, float]):
    def join(self, first: Order, second: Bill) -> float:
        return second.total - first.price


class Both(FlatJoinFunction[Order, Bill, str]):
    def join(self, first: Order, second: Bill) -> Iterator[str]:
        yield from (first.customer, second.customer)


class Unpaid(CoGroupFunction[Order, Bill, Order]):
    def co_group(self, first: Iterable[Order], second: Iterable[Bill]) -> Iterable[Order]:
        return () if list(second) else first


class Close(ProcessJoinFunction[Order, Bill, str]):
    def process_element(self, left: Order, right: Bill, ctx: ProcessJoinFunction.Context) -> Iterable[str]:
        yield f"{left.item} {right.total} {ctx.get_timestamp()}"


def program(env: StreamExecutionEnvironment) -> DataStream[Any]:
    orders = env.from_collection(ORDERS)
    bills = orders.map(lambda order: Bill(order.customer, order.price))
    by_customer = orders.key_by(lambda order: order.customer)

    both = orders.connect(bills)
    assert_type(both, ConnectedStreams[Order, Bill])
    assert_type(both.map(Names()), DataStream[str])
    assert_type(both.flat_map(Numbers()), DataStream[float])
    keyed = both.key_by(lambda order: order.customer, lambda bill: bill.customer)
    assert_type(keyed, ConnectedStreams[Order, Bill])
    matches = keyed.process(Matches())
    assert_type(matches, DataStream[str])

    limits = bills.broadcast(LIMITS)
    assert_type(limits, BroadcastStream[Bill])
    assert_type(orders.connect(limits), BroadcastConnectedStream[Order, Bill])
    assert_type(orders.connect(limits).process(Within()), DataStream[Order])
    assert_type(by_customer.connect(limits).process(KeyedWithin()), DataStream[str])

    windows = TumblingEventTimeWindows.of(Time.seconds(1))
    equal = orders.join(bills).where(lambda order: order.customer).equal_to(lambda bill: bill.customer)
    assert_type(equal.window(windows).apply(Difference()), DataStream[float])
    assert_type(equal.window(windows).apply(Both()), DataStream[str])
    assert_type(
        equal.window(windows).apply(lambda order, bill: (order.item, bill.total)), DataStream[tuple[int, float]]
    )
    grouped = orders.co_group(bills).where(lambda order: order.customer).equal_to(lambda bill: bill.customer)
    assert_type(grouped.window(windows).apply(Unpaid()), DataStream[Order])
    assert_type(grouped.window(windows).apply(lambda some, others: [len(some), len(others)]), DataStream[int])

    close = by_customer.interval_join(bills.key_by(lambda bill: bill.customer))
    assert_type(close.between(0, 1).process(Close()), DataStream[str])
    return matches
