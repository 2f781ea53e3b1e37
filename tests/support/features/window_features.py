"""Windows of every kind, with what may be done with them."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from typing import Any

from rekindle.common import Time, Types, WatermarkStrategy
from rekindle.common.watermark_strategy import TimestampAssigner
from rekindle.datastream import DataStream, OutputTag, ProcessWindowFunction, WindowFunction
from rekindle.datastream.functions import ProcessAllWindowFunction
from rekindle.datastream.state import ValueStateDescriptor
from rekindle.datastream.window import (
    CountEvictor,
    CountTrigger,
    EventTimeSessionWindows,
    GlobalWindows,
    PurgingTrigger,
    SessionWindowTimeGapExtractor,
    SlidingEventTimeWindows,
    TimeWindow,
    TumblingEventTimeWindows,
    TumblingProcessingTimeWindows,
)
from support.features.feature import KEYS, SESSION, Feature, key_of, of_key, summed, time_of
from support.features.keyed_features import Mean

SIZE, SLIDE = 900, 300
LATE = OutputTag("late")
WINDOWS_SO_FAR: ValueStateDescriptor = ValueStateDescriptor("windows so far", Types.LONG())
FIRED: ValueStateDescriptor = ValueStateDescriptor("fired", Types.LONG())


class KeyAndWindow(ProcessWindowFunction):
    """Tell of a window, and which one of its key it is; windows of a key come in the order of their ends."""

    def process(self, key: int, context: Any, elements: Iterable[Any]) -> Iterator[Any]:
        number = context.global_state().get_state(WINDOWS_SO_FAR)
        number.update((number.value() or 0) + 1)
        fired = context.window_state().get_state(FIRED)
        fired.update((fired.value() or 0) + 1)
        yield key, context.window().start, number.value(), fired.value(), tuple(elements)

    def clear(self, context: Any) -> None:
        context.window_state().get_state(FIRED).clear()


class AllSum(ProcessAllWindowFunction):
    def process(self, context: Any, elements: Iterable[int]) -> Iterator[Any]:
        yield context.window().start, sum(elements)


class Listed(WindowFunction):
    def apply(self, key: int, window: TimeWindow, inputs: Iterable[int]) -> Iterator[Any]:
        yield key, tuple(inputs)


def tumbled(events: Iterable[int]) -> dict[tuple[int, int], list[int]]:
    windows: dict[tuple[int, int], list[int]] = defaultdict(list)
    for n in events:
        windows[key_of(n), time_of(n) // SIZE * SIZE].append(n)
    return windows


def slid(events: Iterable[int]) -> dict[tuple[int, int], list[int]]:
    windows: dict[tuple[int, int], list[int]] = defaultdict(list)
    for n in events:
        for start in range(time_of(n) // SLIDE * SLIDE, time_of(n) - SIZE, -SLIDE):
            windows[key_of(n), start].append(n)
    return windows


def sessions(count: int) -> Iterator[Any]:
    for first in range(0, count, SESSION):
        for key in range(KEYS):
            inside = tuple(n for n in range(first, min(first + SESSION, count)) if key_of(n) == key)
            if inside:
                yield key, inside


def processed(count: int) -> Iterator[Any]:
    per_key: Counter[int] = Counter()
    for (key, start), elements in sorted(tumbled(range(count)).items(), key=lambda item: item[0][1]):
        per_key[key] += 1
        yield key, start, per_key[key], 1, (sum(elements),)


def late_or_not(events: DataStream) -> DataStream:
    """Make some events late by giving all of them watermarks that are ahead, and count them wherever they come out."""
    hasty = events.assign_timestamps_and_watermarks(
        WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(Jumbled())
    )
    counted = (
        hasty.key_by(key_of)
        .window(TumblingEventTimeWindows.of(Time.milliseconds(SIZE)))
        .allowed_lateness(100)
        .trigger(PurgingTrigger.of(CountTrigger.of(1)))
        .side_output_late_data(LATE)
        .apply(Listed())
    )
    late = counted.get_side_output(LATE).map(lambda n: (key_of(n), 1))
    return counted.map(lambda listed: (listed[0], len(listed[1]))).union(late)


class GapOfItsKey(SessionWindowTimeGapExtractor):
    """Give each key a gap of its own: the events of key 0 are too far apart to be in one session."""

    def extract(self, element: int) -> int:
        return 50 + 80 * key_of(element)


class Jumbled(TimestampAssigner):
    """Give every third event a time long past."""

    def extract_timestamp(self, value: int, record_timestamp: int) -> int:
        return time_of(value) - (5_000 if value % 3 == 0 else 0)


def in_processing_time(events: DataStream) -> DataStream:
    """Count in windows of processing time; a trigger empties them at once, so that none is open at the end."""
    windows = events.key_by(key_of).window(TumblingProcessingTimeWindows.of(Time.milliseconds(100)))
    return (
        windows.trigger(PurgingTrigger.of(CountTrigger.of(1)))
        .apply(Listed())
        .map(lambda listed: (listed[0], len(listed[1])))
    )


def counts(count: int) -> list[Any]:
    return [(key, len(of_key(key, count))) for key in range(KEYS)]


def grouped(count: int, size: int) -> Iterator[Any]:
    """Yield the events of each key in groups; what fills none is left out."""
    for key in range(KEYS):
        own = of_key(key, count)
        for start in range(0, len(own) - size + 1, size):
            yield own[start : start + size]


def tumbling(events: DataStream) -> Any:
    return events.key_by(key_of).window(TumblingEventTimeWindows.of(Time.milliseconds(SIZE)))


WINDOWS = [
    Feature(
        "tumbling windows, reduce and process with state",
        lambda events: tumbling(events).reduce(lambda a, b: a + b, KeyAndWindow()),
        processed,
    ),
    Feature(
        "sliding windows, aggregate",
        lambda events: (
            events.key_by(key_of)
            .window(SlidingEventTimeWindows.of(Time.milliseconds(SIZE), Time.milliseconds(SLIDE)))
            .aggregate(Mean())
        ),
        lambda count: [sum(elements) / len(elements) for elements in slid(range(count)).values()],
    ),
    Feature(
        "session windows, apply",
        lambda events: (
            events.key_by(key_of).window(EventTimeSessionWindows.with_gap(Time.milliseconds(500))).apply(Listed())
        ),
        sessions,
    ),
    Feature(
        "session windows with a dynamic gap, aggregate",
        lambda events: (
            events.key_by(key_of)
            .window(EventTimeSessionWindows.with_dynamic_gap(GapOfItsKey()))
            .aggregate(Mean(), Listed())
        ),
        lambda count: (
            [(key, (n,)) for key, inside in sessions(count) if key == 0 for n in inside]
            + [(key, (sum(inside) / len(inside),)) for key, inside in sessions(count) if key > 0]
        ),
    ),
    Feature(
        "count windows",
        lambda events: events.key_by(key_of).count_window(9).reduce(lambda a, b: a + b),
        lambda count: [sum(group) for group in grouped(count, 9)],
    ),
    Feature(
        "global windows with trigger and evictor",
        lambda events: (
            events.key_by(key_of)
            .window(GlobalWindows.create())
            .trigger(PurgingTrigger.of(CountTrigger.of(8)))
            .evictor(CountEvictor.of(3))
            .apply(Listed())
        ),
        lambda count: [(key_of(group[0]), tuple(group[-3:])) for group in grouped(count, 8)],
    ),
    Feature(
        "windows without a key",
        lambda events: events.window_all(TumblingEventTimeWindows.of(Time.milliseconds(SIZE))).process(AllSum()),
        lambda count: [
            (start, sum(n for n in range(count) if time_of(n) // SIZE * SIZE == start))
            for start in {time_of(n) // SIZE * SIZE for n in range(count)}
        ],
    ),
    Feature("late events in a side output", late_or_not, counts, summed),
    Feature("windows in processing time", in_processing_time, counts, summed),
]
