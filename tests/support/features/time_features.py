"""Timers in both time domains, and side outputs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from rekindle.common import Types, WatermarkStrategy
from rekindle.common.watermark_generator import WatermarkGenerator, WatermarkOutput
from rekindle.datastream import DataStream, KeyedProcessFunction, OutputTag, ProcessFunction, RuntimeContext
from rekindle.datastream.state import MapStateDescriptor, ValueStateDescriptor
from support.features.feature import END_OF_TIME, KEYS, EventTimes, Feature, key_of, of_key, summed, time_of

BUCKET = 700
ODD = OutputTag("odd", Types.LONG())


class CountPerBucket(KeyedProcessFunction):
    """Count events per stretch of event time, and tell when it is over; a timer for each, and one deleted again."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.counts = runtime_context.get_map_state(MapStateDescriptor("counts", Types.LONG(), Types.LONG()))

    def process_element(self, value: int, ctx: Any) -> None:
        end = (ctx.timestamp() // BUCKET + 1) * BUCKET
        self.counts[end] = (self.counts[end] or 0) + 1
        timers = ctx.timer_service()
        timers.register_event_time_timer(end)
        timers.register_event_time_timer(end + 1)
        timers.delete_event_time_timer(end + 1)

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[Any]:
        yield ctx.get_current_key(), timestamp, self.counts[timestamp]
        self.counts.remove(timestamp)


def buckets(count: int) -> list[Any]:
    found = Counter((key_of(n), (time_of(n) // BUCKET + 1) * BUCKET) for n in range(count))
    return [(key, end, number) for (key, end), number in found.items()]


class CountSinceLastTimer(KeyedProcessFunction):
    """Tell now and then in processing time how many events came, and of the rest at the end."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value: int, ctx: Any) -> None:
        self.count.update((self.count.value() or 0) + 1)
        timers = ctx.timer_service()
        timers.register_processing_time_timer(timers.current_processing_time() + 50)
        timers.register_event_time_timer(END_OF_TIME)

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[Any]:
        if self.count.value():
            yield ctx.get_current_key(), self.count.value()
            self.count.clear()


class EveryTenth(WatermarkGenerator):
    """Emit a watermark behind every tenth event."""

    def on_event(self, value: int, timestamp: int, output: WatermarkOutput) -> None:
        if value % 10 == 0:
            output.emit_watermark(timestamp)

    def on_periodic_emit(self, output: WatermarkOutput) -> None:
        pass


def punctuated(events: DataStream) -> DataStream:
    strategy = WatermarkStrategy.for_generator(EveryTenth).with_timestamp_assigner(EventTimes())
    own_time = events.assign_timestamps_and_watermarks(strategy).set_parallelism(1)
    return own_time.key_by(key_of).process(CountPerBucket())


class SortOut(ProcessFunction):
    def process_element(self, value: int, ctx: Any) -> Iterator[Any]:
        yield (ODD, value) if value % 2 else value


def sides(events: DataStream) -> DataStream:
    sorted_out = events.process(SortOut(), Types.LONG())
    return sorted_out.map(lambda n: ("even", n)).union(sorted_out.get_side_output(ODD).map(lambda n: ("odd", n)))


TIMES = [
    Feature("event-time timers", lambda events: events.key_by(key_of).process(CountPerBucket()), buckets),
    Feature(
        "processing-time timers",
        lambda events: events.key_by(key_of).process(CountSinceLastTimer()),
        lambda count: [(key, len(of_key(key, count))) for key in range(KEYS)],
        summed,
    ),
    Feature("watermarks of a generator of one's own", punctuated, buckets),
    Feature("side outputs", sides, lambda count: [("odd" if n % 2 else "even", n) for n in range(count)]),
]
