"""Operators of a program's own, and functions that wait for something outside."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

from rekindle.common import Time, Types
from rekindle.datastream import AsyncDataStream, AsyncFunction, AsyncRetryStrategy, DataStream
from rekindle.datastream.async_retry_predicates import empty_result_predicate
from rekindle.datastream.operators import (
    AbstractStreamOperator,
    KeyGroupRangeAssignment,
    OneInputStreamOperator,
    StreamRecord,
    Triggerable,
)
from rekindle.datastream.state import ValueStateDescriptor
from support.features.feature import END_OF_TIME, KEYS, Feature, key_of, of_key


class SumsAtTheEnd(AbstractStreamOperator, OneInputStreamOperator, Triggerable):
    """Sum up in managed state and count in raw state, per key; tell of both when a timer of the last moment fires."""

    def initialize_state(self, context: Any) -> None:
        self.counts: dict[int, dict[int, int]] = {}
        for key_group, stream in context.get_raw_keyed_state_inputs():
            pairs = (entry.split(b"=") for entry in stream.read().split(b",") if entry)
            self.counts[key_group] = {int(key): int(count) for key, count in pairs}

    def open(self) -> None:
        self.sum = self.get_partitioned_state(ValueStateDescriptor("sum", Types.LONG()))
        self.timers = self.get_internal_timer_service("end", None, self)
        self.key_groups = self.get_runtime_context().get_max_number_of_parallel_subtasks()

    def process_element(self, record: StreamRecord) -> None:
        key = self.get_current_key()
        self.sum.update((self.sum.value() or 0) + record.value)
        counts = self.own_counts(key)
        counts[key] = counts.get(key, 0) + 1
        self.timers.register_event_time_timer(None, END_OF_TIME)

    def own_counts(self, key: int) -> dict[int, int]:
        return self.counts.setdefault(KeyGroupRangeAssignment.assign_to_key_group(key, self.key_groups), {})

    def on_event_time(self, timer: Any) -> None:
        self.output.collect(StreamRecord((timer.key, self.sum.value(), self.own_counts(timer.key)[timer.key]), 0))

    def on_processing_time(self, timer: Any) -> None:
        raise AssertionError("no such timer was set")

    def snapshot_state(self, context: Any) -> None:
        output = context.get_raw_keyed_operator_state_output()
        for key_group, counts in self.counts.items():
            output.start_new_key_group(key_group)
            output.write(b",".join(b"%d=%d" % pair for pair in counts.items()))


class Square(AsyncFunction):
    """Answer some requests at once, others after a while."""

    async def async_invoke(self, value: int) -> list[Any]:
        await asyncio.sleep(value % 5 * 0.002)
        return [(value, value * value)]


class Reluctant(AsyncFunction):
    """Give no answer to the first request for a number."""

    def open(self, runtime_context: Any) -> None:
        self.asked: set[int] = set()

    async def async_invoke(self, value: int) -> list[Any]:
        if value in self.asked:
            return [(value, value * value)]
        self.asked.add(value)
        return []


def squares(count: int) -> Iterator[Any]:
    return ((n, n * n) for n in range(count))


def waited(events: DataStream) -> DataStream:
    spread = events.rebalance().map(lambda n: n)
    ordered = AsyncDataStream.ordered_wait(spread, Square(), Time.seconds(600), 20)
    unordered = AsyncDataStream.unordered_wait(spread, Square(), Time.seconds(600), 20)
    return ordered.map(lambda pair: ("in order", *pair)).union(unordered.map(lambda pair: ("as they come", *pair)))


def tried_again(events: DataStream) -> DataStream:
    strategy = AsyncRetryStrategy.fixed_delay(3, 5, empty_result_predicate, None)
    spread = events.rebalance().map(lambda n: n)
    return AsyncDataStream.unordered_wait_with_retry(spread, Reluctant(), Time.seconds(600), strategy, 20)


OPERATORS = [
    Feature(
        "custom operators with raw state",
        lambda events: events.key_by(key_of).transform("Sums", Types.PICKLED_BYTE_ARRAY(), SumsAtTheEnd()),
        lambda count: [(key, sum(of_key(key, count)), len(of_key(key, count))) for key in range(KEYS)],
    ),
    Feature(
        "asynchronous requests",
        waited,
        lambda count: [(way, *pair) for way in ("in order", "as they come") for pair in squares(count)],
    ),
    Feature("asynchronous requests that are tried again", tried_again, squares),
]
