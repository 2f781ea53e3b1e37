"""Programs whose results in batch mode were recorded from PyFlink 2.3, parallelism 1."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from rekindle.common import Time, Types, WatermarkStrategy
from rekindle.common.watermark_strategy import TimestampAssigner
from rekindle.datastream import DataStream, KeyedStream, RuntimeContext, StreamExecutionEnvironment
from rekindle.datastream.functions import (
    BroadcastProcessFunction,
    CoMapFunction,
    KeyedBroadcastProcessFunction,
    KeyedProcessFunction,
    MapFunction,
    ProcessAllWindowFunction,
    ProcessFunction,
    ProcessWindowFunction,
)
from rekindle.datastream.state import MapStateDescriptor, ValueStateDescriptor
from rekindle.datastream.window import SlidingEventTimeWindows, TumblingEventTimeWindows, TumblingProcessingTimeWindows

MIN = -(1 << 63)
MAX = (1 << 63) - 1
PAIR = Types.TUPLE([Types.STRING(), Types.INT()])
LEFT = [("b", 10), ("a", 30), ("b", 5), ("a", 20), ("c", 1), ("b", 10)]
RIGHT = [("a", 20), ("b", 10), ("b", 1), ("d", 4), ("a", 50), ("b", 5)]
RULES = MapStateDescriptor("rules", Types.STRING(), Types.INT())

Program = Callable[[StreamExecutionEnvironment], DataStream]


class Second(TimestampAssigner):
    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        return value[1]


class Numbered(MapFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.INT()))

    def map(self, value: Any) -> Any:
        count = (self.count.value() or 0) + 1
        self.count.update(count)
        return value[0], count


class Told(ProcessFunction):
    """Tell the timestamp and the watermark of each record."""

    def process_element(self, value: Any, ctx: ProcessFunction.Context) -> Iterator[Any]:
        yield value, ctx.timestamp(), ctx.timer_service().current_watermark()


class Timed(KeyedProcessFunction):
    """Tell each record, and set a timer in both domains."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.INT()))

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        count = (self.count.value() or 0) + 1
        self.count.update(count)
        ctx.timer_service().register_event_time_timer(100 - value[1])
        ctx.timer_service().register_processing_time_timer(value[1])
        yield value, count, ctx.timestamp(), ctx.timer_service().current_watermark()

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterator[Any]:
        domain = ctx.time_domain().name
        yield ctx.get_current_key(), domain, timestamp, self.count.value(), ctx.timer_service().current_watermark()


class Elements(ProcessWindowFunction):
    def process(self, key: Any, ctx: Any, elements: Any) -> Iterator[Any]:
        yield key, list(elements), ctx.current_watermark()


class AllElements(ProcessAllWindowFunction):
    def process(self, ctx: Any, elements: Any) -> Iterator[Any]:
        yield ctx.window().start, list(elements)


class Sides(CoMapFunction):
    def map1(self, value: Any) -> Any:
        return 1, value

    def map2(self, value: Any) -> Any:
        return 2, value


class Ruled(BroadcastProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        yield value, sorted(ctx.get_broadcast_state(RULES).items()), ctx.current_watermark()

    def process_broadcast_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        ctx.get_broadcast_state(RULES).put(*value)
        yield "rule", value, ctx.current_watermark()


class KeyedRuled(KeyedBroadcastProcessFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.INT()))

    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        count = (self.count.value() or 0) + 1
        self.count.update(count)
        yield value, count, sorted(ctx.get_broadcast_state(RULES).items()), ctx.current_watermark()

    def process_broadcast_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        ctx.get_broadcast_state(RULES).put(*value)
        yield "rule", value, ctx.current_watermark()


def timed(stream: DataStream) -> DataStream:
    """Take timestamps from the second field."""
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(Second())
    return stream.assign_timestamps_and_watermarks(strategy)


def keyed(env: StreamExecutionEnvironment, with_timestamps: bool = True) -> KeyedStream:
    """Return the pairs by key."""
    stream = env.from_collection(LEFT, PAIR)
    return (timed(stream) if with_timestamps else stream).key_by(lambda value: value[0], Types.STRING())


def sides(env: StreamExecutionEnvironment) -> tuple[DataStream, DataStream]:
    """Return two streams of pairs with timestamps."""
    return timed(env.from_collection(LEFT, PAIR)), timed(env.from_collection(RIGHT, PAIR))


def hundredfold(first: Any, second: Any) -> Any:
    """Reduce two pairs, so that their order shows."""
    return first[0], first[1] * 100 + second[1]


def _keyed_co_map(env: StreamExecutionEnvironment) -> DataStream:
    left, right = sides(env)
    return left.connect(right).key_by(lambda v: v[0], lambda v: v[0], Types.STRING()).map(Sides())


def _broadcast(env: StreamExecutionEnvironment) -> DataStream:
    left, right = sides(env)
    return left.connect(right.broadcast(RULES)).process(Ruled())


def _keyed_broadcast(env: StreamExecutionEnvironment) -> DataStream:
    left, right = sides(env)
    by_name = left.key_by(lambda value: value[0], Types.STRING())
    return by_name.connect(right.broadcast(RULES)).process(KeyedRuled())


_TEN = Time.milliseconds(10)
_TOLD_RULES = [("rule", value, MIN) for value in RIGHT]
_FINAL_RULES = [("a", 50), ("b", 5), ("d", 4)]

RECORDED: dict[str, tuple[Program, list[Any]]] = {
    "reduce": (lambda env: keyed(env).reduce(hundredfold), [("a", 2030), ("b", 51010), ("c", 1)]),
    "reduce without timestamps": (
        lambda env: keyed(env, False).reduce(hundredfold),
        [("a", 3020), ("b", 100510), ("c", 1)],
    ),
    "sum": (lambda env: keyed(env).sum(1), [("a", 50), ("b", 25), ("c", 1)]),
    "min": (lambda env: keyed(env).min(1), [("a", 20), ("b", 5), ("c", 1)]),
    "max_by": (lambda env: keyed(env).max_by(1), [("a", 30), ("b", 10), ("c", 1)]),
    "keyed map": (
        lambda env: keyed(env).map(lambda value: value, PAIR),
        [("a", 20), ("a", 30), ("b", 5), ("b", 10), ("b", 10), ("c", 1)],
    ),
    "keyed filter": (
        lambda env: keyed(env).filter(lambda value: value[1] > 5),
        [("a", 20), ("a", 30), ("b", 10), ("b", 10)],
    ),
    "keyed flat_map": (
        lambda env: keyed(env).flat_map(lambda value: [value, value], PAIR),
        [("a", 20), ("a", 20), ("a", 30), ("a", 30), ("b", 5), ("b", 5), *[("b", 10)] * 4, ("c", 1), ("c", 1)],
    ),
    "keyed map with state": (
        lambda env: keyed(env).map(Numbered(), PAIR),
        [("a", 1), ("a", 2), ("b", 1), ("b", 2), ("b", 3), ("c", 1)],
    ),
    "timers": (
        lambda env: (
            timed(env.from_collection([("a", 30), ("a", 20), ("a", 25)], PAIR))
            .key_by(lambda value: value[0], Types.STRING())
            .process(Timed())
        ),
        [
            *(((("a", at), n + 1, at, MIN)) for n, at in enumerate((20, 25, 30))),
            *(("a", "EVENT_TIME", at, 3, MAX) for at in (70, 75, 80)),
            *(("a", "PROCESSING_TIME", at, 3, MAX) for at in (20, 25, 30)),
        ],
    ),
    "keyed co map": (
        _keyed_co_map,
        [
            *((1, ("a", 20)), (2, ("a", 20)), (1, ("a", 30)), (2, ("a", 50)), (2, ("b", 1)), (1, ("b", 5))),
            *((2, ("b", 5)), (1, ("b", 10)), (1, ("b", 10)), (2, ("b", 10)), (1, ("c", 1)), (2, ("d", 4))),
        ],  # of the records at the same time PyFlink takes one of each input in turn
    ),
    "sliding windows": (
        lambda env: (
            timed(env.from_collection([("a", 30), ("a", 20), ("a", 25)], PAIR))
            .key_by(lambda value: value[0], Types.STRING())
            .window(SlidingEventTimeWindows.of(_TEN, Time.milliseconds(5)))
            .reduce(lambda a, b: (a[0], a[1] + b[1]))
        ),
        [("a", 20), ("a", 45), ("a", 55), ("a", 30)],
    ),
    "windows with reduce": (
        lambda env: keyed(env).window(TumblingEventTimeWindows.of(_TEN)).reduce(lambda a, b: (a[0], a[1] + b[1])),
        [("a", 20), ("a", 30), ("b", 5), ("b", 20), ("c", 1)],
    ),
    "windows in processing time": (
        lambda env: keyed(env).window(TumblingProcessingTimeWindows.of(Time.days(10_000))).reduce(hundredfold),
        [("a", 2030), ("b", 51010), ("c", 1)],
    ),
    "count windows": (
        lambda env: keyed(env).count_window(2).process(Elements()),
        [("a", [("a", 20), ("a", 30)], MIN), ("b", [("b", 5), ("b", 10)], MIN)],
    ),
    "windows of all": (
        lambda env: (
            timed(env.from_collection(LEFT, PAIR)).window_all(TumblingEventTimeWindows.of(_TEN)).process(AllElements())
        ),
        [(0, [("c", 1), ("b", 5)]), (10, [("b", 10), ("b", 10)]), (20, [("a", 20)]), (30, [("a", 30)])],
    ),
    "process without a key": (
        lambda env: timed(env.from_collection(LEFT, PAIR)).process(Told()),
        [(value, value[1], MIN) for value in LEFT],
    ),
    "broadcast": (_broadcast, [*_TOLD_RULES, *[(value, _FINAL_RULES, MIN) for value in LEFT]]),
    "keyed broadcast": (
        _keyed_broadcast,
        [
            *_TOLD_RULES,
            *[
                (value, count, _FINAL_RULES, MIN)
                for value, count in [
                    (("a", 20), 1),
                    (("a", 30), 2),
                    (("b", 5), 1),
                    (("b", 10), 2),
                    (("b", 10), 3),
                    (("c", 1), 1),
                ]
            ],
        ],
    ),
}
"""Programs by name, each with what PyFlink gave."""
