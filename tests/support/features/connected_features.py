"""Two streams in one operator: connected streams, the broadcast state pattern."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rekindle.common import Types
from rekindle.datastream import (
    BroadcastProcessFunction,
    CoFlatMapFunction,
    CoMapFunction,
    CoProcessFunction,
    DataStream,
    KeyedBroadcastProcessFunction,
    KeyedCoProcessFunction,
    RuntimeContext,
)
from rekindle.datastream.state import ListStateDescriptor, MapStateDescriptor, ValueStateDescriptor
from support.features.feature import END_OF_TIME, KEYS, Feature, key_of, of_key, time_of

RULES = MapStateDescriptor("rules", Types.LONG(), Types.STRING())
ALSO = MapStateDescriptor("rules seen", Types.STRING(), Types.LONG())
NUMBERS = ListStateDescriptor("numbers", Types.LONG())
RULE_COUNT = 40


class Balance(KeyedCoProcessFunction):
    """Count events of two streams in one state, and tell of it when all is over."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.balance = runtime_context.get_state(ValueStateDescriptor("balance", Types.LONG()))

    def process_element1(self, value: int, ctx: Any) -> None:
        self.balance.update((self.balance.value() or 0) + value)
        ctx.timer_service().register_event_time_timer(END_OF_TIME)

    def process_element2(self, value: int, ctx: Any) -> None:
        self.balance.update((self.balance.value() or 0) - 2 * value)
        ctx.timer_service().register_event_time_timer(END_OF_TIME)

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[Any]:
        yield ctx.get_current_key(), self.balance.value()


class Sides(CoMapFunction):
    def map1(self, value: int) -> Any:
        return "first", value

    def map2(self, value: int) -> Any:
        return "second", value


class SidesAndTimes(CoProcessFunction):
    def process_element1(self, value: int, ctx: Any) -> Iterator[Any]:
        yield "first", value, ctx.timestamp()

    def process_element2(self, value: int, ctx: Any) -> Iterator[Any]:
        yield "second", value, ctx.timestamp()


class CountSides(CoFlatMapFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        self.counts = runtime_context.get_map_state(MapStateDescriptor("counts", Types.STRING(), Types.LONG()))

    def flat_map1(self, value: int) -> Iterator[Any]:
        yield self.count(value, "even")

    def flat_map2(self, value: int) -> Iterator[Any]:
        yield self.count(value, "odd")

    def count(self, value: int, side: str) -> Any:
        self.counts[side] = (self.counts[side] or 0) + 1
        return key_of(value), side, self.counts[side]


class RulesAndNumbers(KeyedBroadcastProcessFunction):
    """Know all rules and all numbers of a key at the end; each rule visits the numbers that are there."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.numbers = runtime_context.get_list_state(NUMBERS)

    def process_element(self, value: int, ctx: Any) -> None:
        self.numbers.add(value)
        ctx.timer_service().register_event_time_timer(END_OF_TIME)

    def process_broadcast_element(self, rule: Any, ctx: Any) -> None:
        ctx.get_broadcast_state(RULES).put(*rule)
        seen = ctx.get_broadcast_state(ALSO)
        seen.put("rules", (seen.get("rules") or 0) + 1)
        ctx.apply_to_keyed_state(NUMBERS, lambda key, numbers: numbers.update(list(numbers.get())))

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[Any]:
        rules = sorted(ctx.get_broadcast_state(RULES).items())
        yield (
            ctx.get_current_key(),
            sum(self.numbers.get()),
            "".join(name for _, name in rules),
            ctx.get_broadcast_state(ALSO).get("rules"),
        )


class PassBy(BroadcastProcessFunction):
    def process_element(self, value: int, ctx: Any) -> Iterator[Any]:
        yield value

    def process_broadcast_element(self, rule: Any, ctx: Any) -> None:
        ctx.get_broadcast_state(RULES).put(*rule)


def rules(events: DataStream) -> DataStream:
    env = events.get_execution_environment()
    return env.from_collection([(n, chr(97 + n % 26)) for n in range(RULE_COUNT)])


def keyed_broadcast(events: DataStream) -> DataStream:
    return events.key_by(key_of).connect(rules(events).broadcast(RULES, ALSO)).process(RulesAndNumbers())


def co_process(events: DataStream) -> DataStream:
    thirds = events.filter(lambda n: n % 3 == 0)
    return events.key_by(key_of).connect(thirds.key_by(key_of)).process(Balance())


def halves(events: DataStream) -> tuple[DataStream, DataStream]:
    return events.filter(lambda n: n % 2 == 0), events.filter(lambda n: n % 2 == 1)


def co_map(events: DataStream) -> DataStream:
    even, odd = halves(events)
    return even.connect(odd).map(Sides())


def co_process_without_keys(events: DataStream) -> DataStream:
    even, odd = halves(events)
    return even.connect(odd).process(SidesAndTimes())


def co_flat_map(events: DataStream) -> DataStream:
    even, odd = halves(events)
    return even.key_by(key_of).connect(odd.key_by(key_of)).flat_map(CountSides())


def counted_sides(count: int) -> Iterator[Any]:
    for key in range(KEYS):
        for name, rest in (("even", 0), ("odd", 1)):
            number = sum(1 for n in of_key(key, count) if n % 2 == rest)
            yield from ((key, name, n) for n in range(1, number + 1))


CONNECTED = [
    Feature(
        "keyed co-process with timers",
        co_process,
        lambda count: [
            (key, sum(of_key(key, count)) - 2 * sum(n for n in of_key(key, count) if n % 3 == 0)) for key in range(KEYS)
        ],
    ),
    Feature("co-map", co_map, lambda count: [("second" if n % 2 else "first", n) for n in range(count)]),
    Feature(
        "co-process",
        co_process_without_keys,
        lambda count: [("second" if n % 2 else "first", n, time_of(n)) for n in range(count)],
    ),
    Feature("keyed co-flat-map", co_flat_map, counted_sides),
    Feature(
        "keyed broadcast state",
        keyed_broadcast,
        lambda count: [
            (key, sum(of_key(key, count)), "".join(chr(97 + n % 26) for n in range(RULE_COUNT)), RULE_COUNT)
            for key in range(KEYS)
        ],
    ),
    Feature(
        "broadcast state without keys",
        lambda events: events.connect(rules(events).broadcast(RULES)).process(PassBy()),
        range,
    ),
]
