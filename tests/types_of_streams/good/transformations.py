"""Lambdas, functions, classes and function objects as operators."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any, assert_type

from order_records import ORDERS, Bill, Order

from rekindle.datastream import DataStream, KeyedStream, StreamExecutionEnvironment
from rekindle.datastream.functions import (
    FilterFunction,
    FlatMapFunction,
    KeySelector,
    MapFunction,
    Partitioner,
    ReduceFunction,
)


class ToBill(MapFunction[Order, Bill]):
    def map(self, value: Order) -> Bill:
        return Bill(value.customer, value.price)


class Letters(FlatMapFunction[Bill, str]):
    def flat_map(self, value: Bill) -> Iterator[str]:
        yield from value.customer


class Expensive(FilterFunction[Order]):
    def filter(self, value: Order) -> bool:
        return value.price > 1


class Customer(KeySelector[Order, str]):
    def get_key(self, value: Order) -> str:
        return value.customer


class Sum(ReduceFunction[Bill]):
    def reduce(self, value1: Bill, value2: Bill) -> Bill:
        return Bill(value1.customer, value1.total + value2.total)


class ByLength(Partitioner[str]):
    def partition(self, key: str, num_partitions: int) -> int:
        return len(key) % num_partitions


class Described(MapFunction[object, str]):
    """Takes what every stream holds."""

    def map(self, value: object) -> str:
        return repr(value)


class Price:
    def __call__(self, order: Order) -> float:
        return order.price


def times(factor: float, order: Order) -> float:
    return factor * order.price


def items(order: Order) -> Iterable[int] | None:
    return range(order.item) if order.price > 1 else None


def program(env: StreamExecutionEnvironment) -> DataStream[Any]:
    orders = env.from_collection(ORDERS)
    assert_type(orders, DataStream[Order])

    assert_type(orders.map(lambda order: order.price), DataStream[float])
    assert_type(orders.map(ToBill()), DataStream[Bill])
    assert_type(orders.map(Price()), DataStream[float])
    assert_type(orders.map(partial(times, 2.0)), DataStream[float])
    assert_type(orders.map(str), DataStream[str])
    assert_type(orders.map(Described()).filter(lambda text: text.startswith("O")), DataStream[str])
    assert_type(orders.map(lambda order: order.item).map(Described()), DataStream[str])

    assert_type(orders.flat_map(lambda order: order.customer.split("n")), DataStream[str])
    assert_type(orders.flat_map(items), DataStream[int])
    assert_type(orders.map(ToBill()).flat_map(Letters()), DataStream[str])

    assert_type(orders.filter(lambda order: order.price > 1), DataStream[Order])
    assert_type(orders.filter(Expensive()), DataStream[Order])

    by_customer = orders.key_by(lambda order: order.customer)
    assert_type(by_customer, KeyedStream[Order, str])
    assert_type(orders.key_by(Customer()), KeyedStream[Order, str])
    assert_type(orders.key_by(lambda order: (order.customer, order.item)), KeyedStream[Order, tuple[str, int]])
    assert_type(by_customer.key_by(lambda order: order.item), KeyedStream[Order, int])
    assert_type(by_customer.map(ToBill()), DataStream[Bill])
    assert_type(by_customer.flat_map(items), DataStream[int])
    assert_type(by_customer.filter(Expensive()), DataStream[Order])

    bills = orders.map(ToBill()).key_by(lambda bill: bill.customer)
    assert_type(bills.reduce(Sum()), DataStream[Bill])
    assert_type(bills.reduce(lambda one, other: one if one.total > other.total else other), DataStream[Bill])
    assert_type(bills.max_by("total"), DataStream[Bill])

    def count(order: Order, seen: int | None) -> tuple[str, int]:
        return f"{order.customer} {seen}", (seen or 0) + 1

    assert_type(by_customer.map_with_state(count), DataStream[str])

    assert_type(orders.rebalance().union(orders.shuffle(), orders.rescale()), DataStream[Order])
    assert_type(orders.partition_custom(ByLength(), Customer()), DataStream[Order])
    assert_type(orders.partition_custom(lambda key, n: key % n, lambda order: order.item), DataStream[Order])
    named = orders.map(ToBill()).name("bills").uid("bills").set_parallelism(1)
    assert_type(named, DataStream[Bill])
    return bills.reduce(Sum()).map(lambda bill: bill.total)


def collected(stream: DataStream[Order]) -> list[str]:
    with stream.execute_and_collect("orders") as records:
        customers = [order.customer for order in records]
    assert_type(stream.execute_and_collect(limit=3), list[Order])
    assert_type(stream.execute_and_collect("some", 3), list[Order])
    return customers
