"""Programs that raise because of their state, which they change before they do."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

from rekindle.common import Time, Types, WatermarkStrategy
from rekindle.common.watermark_strategy import TimestampAssigner
from rekindle.datastream import DataStream, KeyedProcessFunction, ProcessWindowFunction
from rekindle.datastream.functions import AggregateFunction, KeyedBroadcastProcessFunction
from rekindle.datastream.state import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    ValueStateDescriptor,
)
from rekindle.datastream.window import (
    CountTrigger,
    EventTimeSessionWindows,
    GlobalWindows,
    TumblingEventTimeWindows,
)

RECORDS = [("a", 1), ("b", 10), ("a", 2), ("b", 20), ("a", 3), ("b", 30), ("a", 4), ("b", 40)]
RULES: MapStateDescriptor = MapStateDescriptor("rules", Types.STRING(), Types.INT())


class Values(KeyedProcessFunction):
    """Count, and raise at three."""

    def open(self, runtime_context: Any) -> None:
        self.seen = runtime_context.get_state(ValueStateDescriptor("seen", Types.INT()))

    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        seen = (self.seen.value() or 0) + 1
        self.seen.update(seen)
        if seen == 3:
            raise ValueError(f"{seen} of {ctx.get_current_key()}: {value}")
        yield value


class InPlace(KeyedProcessFunction):
    """Change the object that is in state."""

    def open(self, runtime_context: Any) -> None:
        self.seen = runtime_context.get_state(ValueStateDescriptor("seen", Types.PICKLED_BYTE_ARRAY()))

    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        seen = self.seen.value() or []
        seen.append(value)
        self.seen.update(seen)
        if len(seen) == 3:
            raise LookupError(f"too many: {seen}")
        yield value


class Lists(KeyedProcessFunction):
    def open(self, runtime_context: Any) -> None:
        self.seen = runtime_context.get_list_state(ListStateDescriptor("seen", Types.INT()))

    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        self.seen.add(value[1])
        seen = list(self.seen.get())
        if len(seen) == 3:
            raise ArithmeticError(f"{seen}")
        yield value


class Maps(KeyedProcessFunction):
    def open(self, runtime_context: Any) -> None:
        self.seen = runtime_context.get_map_state(MapStateDescriptor("seen", Types.STRING(), Types.INT()))

    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        before = dict(self.seen.items())
        self.seen.put(f"n{value[1]}", value[1])
        self.seen.remove("n1")
        if len(before) == 1 and value[1] in (3, 30):
            raise KeyError(f"{before}")
        yield value


class Average(AggregateFunction):
    def create_accumulator(self) -> tuple[int, int]:
        return 0, 0

    def add(self, value: Any, accumulator: tuple[int, int]) -> tuple[int, int]:
        if accumulator[1] == 2:
            raise ZeroDivisionError(f"{value} to {accumulator}")
        return accumulator[0] + value, accumulator[1] + 1

    def get_result(self, accumulator: tuple[int, int]) -> float:
        return accumulator[0] / accumulator[1]

    def merge(self, a: tuple[int, int], b: tuple[int, int]) -> tuple[int, int]:
        return a[0] + b[0], a[1] + b[1]


class Accumulators(KeyedProcessFunction):
    def open(self, runtime_context: Any) -> None:
        self.sum = runtime_context.get_reducing_state(ReducingStateDescriptor("sum", lambda a, b: a + b, Types.INT()))
        self.mean = runtime_context.get_aggregating_state(
            AggregatingStateDescriptor("mean", Average(), Types.PICKLED_BYTE_ARRAY())
        )

    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        self.sum.add(value[1])
        self.mean.add(value[1])
        yield value


class Timers(KeyedProcessFunction):
    """Raise in the second timer of a key, which changes state and timers first."""

    def open(self, runtime_context: Any) -> None:
        self.fired = runtime_context.get_list_state(ListStateDescriptor("fired", Types.LONG()))

    def process_element(self, value: Any, ctx: Any) -> None:
        ctx.timer_service().register_event_time_timer(value[1] * 10)

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[Any]:
        self.fired.add(timestamp)
        fired = list(self.fired.get())
        ctx.timer_service().register_event_time_timer(timestamp + 1_000_000)
        if len(fired) == 2:
            watermark = ctx.timer_service().current_watermark()
            raise OverflowError(f"{fired} {ctx.get_current_key()} {watermark} {ctx.time_domain()}")
        yield timestamp


class ProcessingTimers(KeyedProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> None:
        ctx.timer_service().register_processing_time_timer(value[1])

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[Any]:
        if timestamp == 3:
            raise OverflowError(f"{timestamp} {ctx.get_current_key()} {ctx.time_domain()}")
        yield timestamp


class Contents(ProcessWindowFunction):
    """Raise over the contents of a window, after having changed state of the window and of the key."""

    def process(self, key: Any, context: Any, elements: Any) -> Iterator[Any]:
        count = context.global_state().get_state(ValueStateDescriptor("windows", Types.INT()))
        count.update((count.value() or 0) + 1)
        self.note(context)
        values = [value for _, value in elements]
        if 3 in values or 30 in values:
            raise RuntimeError(f"{key} {context.window()} {values} {count.value()} {self.note(context)}")
        yield values

    def note(self, context: Any) -> Any:
        own = context.window_state().get_state(ValueStateDescriptor("own", Types.INT()))
        own.update((own.value() or 0) + 1)
        return own.value()


class MergedContents(Contents):
    """Windows that merge have no state of their own."""

    def note(self, context: Any) -> Any:
        return None


class Rules(KeyedBroadcastProcessFunction):
    def open(self, runtime_context: Any) -> None:
        self.seen = runtime_context.get_state(ValueStateDescriptor("seen", Types.INT()))

    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        self.seen.update((self.seen.value() or 0) + 1)
        if ctx.get_broadcast_state(RULES).get("limit") == self.seen.value():
            raise PermissionError(f"{value} {self.seen.value()}")
        yield value

    def process_broadcast_element(self, value: Any, ctx: Any) -> None:
        ctx.get_broadcast_state(RULES).put("limit", value)


class Times(TimestampAssigner):
    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        return value[1] * 10


def timed(stream: DataStream) -> DataStream:
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(Times())
    return stream.assign_timestamps_and_watermarks(strategy)


def _key(value: Any) -> Any:
    return value[0]


def _ruled(stream: DataStream) -> DataStream:
    rules = stream.get_execution_environment().from_collection([3], Types.INT())
    return stream.key_by(_key).connect(rules.broadcast(RULES)).process(Rules())


def _ends_at_three(a: Any, b: Any) -> Any:
    if a[1] == 3:
        raise RecursionError(f"{a} {b}")
    return a[0], a[1] + b[1]


def _parsed(value: Any) -> Any:
    return json.loads("[" * value[1] + "]")


Program = Callable[[DataStream], DataStream]
PROGRAMS: dict[str, Program] = {
    "in a library": lambda stream: stream.key_by(_key).map(_parsed),
    "value": lambda stream: stream.key_by(_key).process(Values()),
    "changed in place": lambda stream: stream.key_by(_key).process(InPlace()),
    "list": lambda stream: stream.key_by(_key).process(Lists()),
    "map": lambda stream: stream.key_by(_key).process(Maps()),
    "reducing and aggregating": lambda stream: stream.key_by(_key).process(Accumulators()),
    "reduce": lambda stream: stream.key_by(_key).reduce(_ends_at_three),
    "timer": lambda stream: timed(stream).key_by(_key).process(Timers()),
    "processing timer": lambda stream: stream.key_by(_key).process(ProcessingTimers()),
    "window": lambda stream: (
        timed(stream).key_by(_key).window(TumblingEventTimeWindows.of(Time.milliseconds(20))).process(Contents())
    ),
    "counted window": lambda stream: (
        stream.key_by(_key).window(GlobalWindows.create()).trigger(CountTrigger.of(2)).process(Contents())
    ),
    "session": lambda stream: (
        timed(stream)
        .key_by(_key)
        .window(EventTimeSessionWindows.with_gap(Time.milliseconds(15)))
        .process(MergedContents())
    ),
    "aggregate in a window": lambda stream: (
        timed(stream)
        .map(lambda value: value[1])
        .key_by(lambda value: value >= 10)
        .window(TumblingEventTimeWindows.of(Time.seconds(100)))
        .aggregate(Average())
    ),
    "broadcast": _ruled,
}
