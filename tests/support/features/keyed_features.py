"""Keyed state of every kind, in functions of every kind."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rekindle.common import Time, Types
from rekindle.datastream import (
    AggregateFunction,
    DataStream,
    FilterFunction,
    FlatMapFunction,
    KeyedProcessFunction,
    MapFunction,
    RuntimeContext,
)
from rekindle.datastream.state import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    StateTtlConfig,
    ValueStateDescriptor,
)
from support.features.feature import KEYS, Feature, key_of, of_key


class CountingMap(MapFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        descriptor: ValueStateDescriptor = ValueStateDescriptor("count", Types.LONG())
        descriptor.enable_time_to_live(StateTtlConfig.new_builder(Time.days(1)).build())
        self.count = runtime_context.get_state(descriptor)

    def map(self, value: int) -> Any:
        self.count.update((self.count.value() or 0) + 1)
        return key_of(value), self.count.value()


class TenAtATime(FlatMapFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        self.waiting = runtime_context.get_list_state(ListStateDescriptor("waiting", Types.LONG()))

    def flat_map(self, value: int) -> Iterator[Any]:
        self.waiting.add(value)
        waiting = list(self.waiting.get())
        if len(waiting) == 10:
            self.waiting.clear()
            yield tuple(waiting)


class EveryOther(FilterFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        self.last = runtime_context.get_state(ValueStateDescriptor("last", Types.BOOLEAN()))

    def filter(self, value: int) -> bool:
        self.last.update(not self.last.value())
        return bool(self.last.value())


class Mean(AggregateFunction):
    def create_accumulator(self) -> tuple[int, int]:
        return 0, 0

    def add(self, value: int, accumulator: tuple[int, int]) -> tuple[int, int]:
        return accumulator[0] + value, accumulator[1] + 1

    def get_result(self, accumulator: tuple[int, int]) -> float:
        return accumulator[0] / accumulator[1]

    def merge(self, acc_a: tuple[int, int], acc_b: tuple[int, int]) -> tuple[int, int]:
        return acc_a[0] + acc_b[0], acc_a[1] + acc_b[1]


class Profile(KeyedProcessFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        self.seen = runtime_context.get_map_state(MapStateDescriptor("seen", Types.LONG(), Types.LONG()))
        self.total = runtime_context.get_reducing_state(ReducingStateDescriptor("total", lambda a, b: a + b, None))
        self.mean = runtime_context.get_aggregating_state(AggregatingStateDescriptor("mean", Mean(), None))

    def process_element(self, value: int, ctx: Any) -> Iterator[Any]:
        self.seen[value % 3] = (self.seen[value % 3] or 0) + 1
        self.total.add(value)
        self.mean.add(value)
        yield ctx.get_current_key(), tuple(sorted(self.seen.items())), self.total.get(), self.mean.get()


def profiles(count: int) -> Iterator[Any]:
    for key in range(KEYS):
        seen: dict[int, int] = {}
        total = 0
        for number, value in enumerate(of_key(key, count), 1):
            seen[value % 3] = seen.get(value % 3, 0) + 1
            total += value
            yield key, tuple(sorted(seen.items())), total, total / number


def shortcuts(events: DataStream) -> DataStream:
    counted = events.key_by(key_of).map_with_state(lambda value, n: ((key_of(value), (n or 0) + 1), (n or 0) + 1))
    third = counted.key_by(lambda pair: pair[0]).filter_with_state(lambda pair, n: ((n or 0) % 3 == 2, (n or 0) + 1))
    return third.key_by(lambda pair: pair[0]).flat_map_with_state(
        lambda pair, last: ([(*pair, last)], pair[1])  # with what came before it
    )


def running(events: DataStream) -> DataStream:
    pairs = events.map(lambda n: (key_of(n), n, -n), Types.TUPLE([Types.LONG(), Types.LONG(), Types.LONG()]))
    keyed = pairs.set_parallelism(1).key_by(lambda pair: pair[0])
    return keyed.sum(1).union(keyed.min_by(2), keyed.max(1))


def running_golden(count: int) -> Iterator[Any]:
    for key in range(KEYS):
        total = 0
        for value in of_key(key, count):
            total += value
            yield key, total, -key
            yield key, value, -value
            yield key, value, -key


def reduced(events: DataStream) -> DataStream:
    pairs = events.map(lambda n: (key_of(n), n)).set_parallelism(1)  # one subtask keeps the order of the events
    return pairs.key_by(lambda pair: pair[0]).reduce(lambda a, b: (a[0], a[1] + b[1]))


KEYED = [
    Feature(
        "value state with time to live in map",
        lambda events: events.key_by(key_of).map(CountingMap()),
        lambda count: [(key, n + 1) for key in range(KEYS) for n in range(len(of_key(key, count)))],
    ),
    Feature(
        "list state in flat_map",
        lambda events: events.key_by(key_of).flat_map(TenAtATime()),
        lambda count: [
            tuple(group)
            for key in range(KEYS)
            for start in range(0, len(of_key(key, count)), 10)
            if len(group := of_key(key, count)[start : start + 10]) == 10
        ],
    ),
    Feature(
        "value state in filter",
        lambda events: events.key_by(key_of).filter(EveryOther()),
        lambda count: [value for key in range(KEYS) for value in of_key(key, count)[::2]],
    ),
    Feature(
        "map, reducing and aggregating state",
        lambda events: events.key_by(key_of, Types.LONG()).process(Profile()),
        profiles,
    ),
    Feature(
        "map_with_state and its siblings",
        shortcuts,
        lambda count: [
            (key, n, None if n == 3 else n - 3) for key in range(KEYS) for n in range(3, len(of_key(key, count)) + 1, 3)
        ],
    ),
    Feature("running aggregates", running, running_golden),
    Feature(
        "reduce",
        reduced,
        lambda count: [
            (key, sum(of_key(key, count)[: n + 1])) for key in range(KEYS) for n in range(len(of_key(key, count)))
        ],
    ),
]
