"""What is said of a record that is not so."""

from __future__ import annotations

from collections.abc import Iterable

from order_records import ORDERS, Bill, Order

from rekindle.datastream import DataStream, KeyedStream, StreamExecutionEnvironment
from rekindle.datastream.functions import FilterFunction, KeySelector, MapFunction, ReduceFunction


class ToBill(MapFunction[Order, Bill]):
    def map(self, value: Order) -> str:  # error: override
        return value.customer


class Wrong(MapFunction[Order, Bill]):
    def map(self, value: Bill) -> Bill:  # error: override
        return value


class Named(MapFunction[Bill, str]):
    def map(self, value: Bill) -> str:
        return value.customer


class Total(KeySelector[Bill, float]):
    def get_key(self, value: Bill) -> float:
        return value.total


class Cheap(FilterFunction[Bill]):
    def filter(self, value: Bill) -> bool:
        return value.total < 1


class Sum(ReduceFunction[Bill]):
    def reduce(self, value1: Bill, value2: Bill) -> Bill:
        return value1


def of_a_bill(bill: Bill) -> float:
    return bill.total


def letters(order: Order) -> Iterable[str]:
    return order.customer


def program(env: StreamExecutionEnvironment) -> None:
    orders = env.from_collection(ORDERS)
    orders.key_by(lambda order: order.nonsense)  # error: attr-defined
    orders.map(lambda order: order.nonsense)  # error: attr-defined
    orders.filter(lambda order: order.nonsense > 1)  # error: attr-defined
    orders.flat_map(lambda order: order.nonsense)  # error: attr-defined
    orders.map(lambda order: order.price).map(lambda price: price.customer)  # error: attr-defined
    orders.map(of_a_bill)  # error: arg-type
    orders.map(Named())  # error: arg-type
    orders.map(Named)  # error: arg-type
    orders.key_by(of_a_bill)  # error: arg-type
    orders.key_by(Total())  # error: arg-type
    orders.filter(Cheap())  # error: arg-type
    orders.flat_map(len)  # error: arg-type
    orders.flat_map(letters).map(of_a_bill)  # error: arg-type
    orders.union(orders.map(lambda order: order.price))  # error: arg-type, return-value
    orders.partition_custom(lambda key, n: key.nonsense, lambda order: order.item)  # error: attr-defined

    by_customer = orders.key_by(lambda order: order.customer)
    by_customer.map(lambda order: order.nonsense)  # error: attr-defined
    by_customer.reduce(Sum())  # error: arg-type
    by_customer.reduce(lambda one, other: one.price)  # error: arg-type, return-value
    by_customer.map_with_state(lambda order, seen: (order.nonsense, seen))  # error: attr-defined
    orders.reduce(lambda one, other: one)  # error: attr-defined
    wrong: KeyedStream[Order, int] = by_customer  # error: assignment
    other: DataStream[Bill] = orders  # error: assignment
    print(wrong, other)

    with orders.execute_and_collect() as records:
        print(next(records).nonsense)  # error: attr-defined
    print(orders.execute_and_collect(limit=1)[0].nonsense)  # error: attr-defined
