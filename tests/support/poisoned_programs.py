"""Programs of every kind that user code raises in, at one record of theirs."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from typing import Any

from rekindle.common import Time, Types, WatermarkStrategy
from rekindle.common.watermark_strategy import TimestampAssigner
from rekindle.datastream import (
    AsyncDataStream,
    AsyncFunction,
    DataStream,
    KeyedProcessFunction,
    MapFunction,
    ProcessFunction,
    ProcessWindowFunction,
)
from rekindle.datastream.functions import (
    BroadcastProcessFunction,
    CheckpointedFunction,
    CoProcessFunction,
    KeyedCoProcessFunction,
    Partitioner,
    SinkFunction,
    SourceFunction,
)
from rekindle.datastream.operators import AbstractStreamOperator, OneInputStreamOperator, StreamRecord
from rekindle.datastream.state import MapStateDescriptor
from rekindle.datastream.window import TumblingEventTimeWindows

POISON = 7
NUMBERS = list(range(1, 11))


class Trouble:
    """Raise at one number."""

    def __init__(self, error: BaseException) -> None:
        self._error = error

    def __call__(self, value: Any) -> Any:
        if value == POISON:
            raise self._error
        return value


class EventTimes(TimestampAssigner):
    def __init__(self, trouble: Callable[[Any], Any] = lambda value: value) -> None:
        self._trouble = trouble

    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        self._trouble(value)
        return value * 10


class Mapping(MapFunction):
    def __init__(self, trouble: Trouble) -> None:
        self._trouble = trouble

    def map(self, value: Any) -> Any:
        return self._trouble(value)


class Processing(ProcessFunction):
    def __init__(self, trouble: Trouble) -> None:
        self._trouble = trouble

    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        yield value
        yield self._trouble(value)


class KeyedProcessing(KeyedProcessFunction):
    def __init__(self, trouble: Trouble) -> None:
        self._trouble = trouble

    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        yield self._trouble(value)


class Timing(KeyedProcessFunction):
    """Raise in a timer."""

    def __init__(self, trouble: Trouble) -> None:
        self._trouble = trouble

    def process_element(self, value: Any, ctx: Any) -> None:
        ctx.timer_service().register_event_time_timer(value * 10)

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[Any]:
        yield self._trouble(timestamp // 10)


class Windowing(ProcessWindowFunction):
    def __init__(self, trouble: Trouble) -> None:
        self._trouble = trouble

    def process(self, key: Any, context: Any, elements: Any) -> Iterator[Any]:
        for element in elements:
            yield self._trouble(element)


class CoProcessing(CoProcessFunction):
    def __init__(self, trouble: Trouble) -> None:
        self._trouble = trouble

    def process_element1(self, value: Any, ctx: Any) -> Iterator[Any]:
        yield value

    def process_element2(self, value: Any, ctx: Any) -> Iterator[Any]:
        yield self._trouble(value)


class KeyedCoProcessing(KeyedCoProcessFunction):
    def __init__(self, trouble: Trouble) -> None:
        self._trouble = trouble

    def process_element1(self, value: Any, ctx: Any) -> Iterator[Any]:
        yield value

    def process_element2(self, value: Any, ctx: Any) -> Iterator[Any]:
        yield self._trouble(value)


class Broadcasting(BroadcastProcessFunction):
    def __init__(self, trouble: Trouble) -> None:
        self._trouble = trouble

    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        yield value

    def process_broadcast_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        yield self._trouble(value)


class Sinking(SinkFunction):
    def __init__(self, trouble: Trouble) -> None:
        self._trouble = trouble

    def invoke(self, value: Any, context: Any) -> None:
        self._trouble(value)


class Emitting(SourceFunction):
    def __init__(self, trouble: Trouble) -> None:
        self._trouble = trouble

    def run(self, ctx: Any) -> None:
        for value in NUMBERS:
            ctx.collect(self._trouble(value))

    def cancel(self) -> None:
        pass


class Asking(AsyncFunction):
    def __init__(self, trouble: Trouble) -> None:
        self._trouble = trouble

    async def async_invoke(self, value: Any) -> list[Any]:
        await asyncio.sleep(0)
        return [self._trouble(value)]


class Operating(AbstractStreamOperator, OneInputStreamOperator):
    def __init__(self, trouble: Trouble) -> None:
        super().__init__()
        self._trouble = trouble

    def process_element(self, record: StreamRecord[Any]) -> None:
        self.output.collect(StreamRecord(self._trouble(record.value), record.timestamp))


class Dealing(Partitioner):
    def __init__(self, trouble: Trouble) -> None:
        self._trouble = trouble

    def partition(self, key: Any, num_partitions: int) -> int:
        return self._trouble(key) % num_partitions


class Opening(MapFunction):
    def __init__(self, trouble: Trouble) -> None:
        self._trouble = trouble

    def open(self, runtime_context: Any) -> None:
        self._trouble(POISON)

    def map(self, value: Any) -> Any:
        return value


class Closing(MapFunction):
    def __init__(self, trouble: Trouble) -> None:
        self._trouble = trouble

    def map(self, value: Any) -> Any:
        return value

    def close(self) -> None:
        self._trouble(POISON)


class Checkpointing(MapFunction, CheckpointedFunction):
    def __init__(self, trouble: Trouble) -> None:
        self._trouble = trouble

    def initialize_state(self, context: Any) -> None:
        pass

    def snapshot_state(self, context: Any) -> None:
        self._trouble(POISON)

    def map(self, value: Any) -> Any:
        return value


RULES: MapStateDescriptor = MapStateDescriptor("rules", Types.STRING(), Types.STRING())
Program = Callable[[DataStream, Trouble], Any]


def by_three(value: int) -> int:
    return value % 3


def with_times(stream: DataStream) -> DataStream:
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(EventTimes())
    return stream.assign_timestamps_and_watermarks(strategy)


def badly_timed(stream: DataStream, trouble: Trouble) -> DataStream:
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(EventTimes(trouble))
    return stream.assign_timestamps_and_watermarks(strategy)


def windowed(stream: DataStream, trouble: Trouble) -> DataStream:
    windows = TumblingEventTimeWindows.of(Time.milliseconds(30))
    return with_times(stream).key_by(by_three).window(windows).process(Windowing(trouble))


def reduced_windows(stream: DataStream, trouble: Trouble) -> DataStream:
    windows = TumblingEventTimeWindows.of(Time.milliseconds(10_000))
    return with_times(stream).key_by(by_three).window(windows).reduce(lambda a, b: trouble(b))


def asked(stream: DataStream, trouble: Trouble) -> DataStream:
    return AsyncDataStream.unordered_wait(stream, Asking(trouble), Time.seconds(600), 1)


AT_RECORD = "record 7"
AT_KEYED_RECORD = "record 7 of key 1"
PROGRAMS: dict[str, tuple[Program, str]] = {
    "map": (lambda stream, trouble: stream.map(trouble), AT_RECORD),
    "map after others": (lambda stream, trouble: stream.map(lambda n: n).filter(bool).map(trouble), AT_RECORD),
    "filter": (lambda stream, trouble: stream.filter(trouble), AT_RECORD),
    "filter with times": (lambda stream, trouble: with_times(stream).filter(trouble), AT_RECORD),
    "flat_map": (lambda stream, trouble: stream.flat_map(lambda n: [trouble(n)]), AT_RECORD),
    "flat_map with times": (lambda stream, trouble: with_times(stream).flat_map(lambda n: [trouble(n)]), AT_RECORD),
    "process": (lambda stream, trouble: stream.process(Processing(trouble)), AT_RECORD),
    "keyed map": (lambda stream, trouble: stream.key_by(by_three).map(Mapping(trouble)), AT_KEYED_RECORD),
    "keyed filter": (lambda stream, trouble: stream.key_by(by_three).filter(trouble), AT_KEYED_RECORD),
    "keyed flat_map": (
        lambda stream, trouble: stream.key_by(by_three).flat_map(lambda n: [trouble(n)]),
        AT_KEYED_RECORD,
    ),
    "reduce": (lambda stream, trouble: stream.key_by(by_three).reduce(lambda a, b: trouble(b)), AT_KEYED_RECORD),
    "keyed process": (
        lambda stream, trouble: stream.key_by(by_three).process(KeyedProcessing(trouble)),
        AT_KEYED_RECORD,
    ),
    "keyed process with times": (
        lambda stream, trouble: with_times(stream).key_by(by_three).process(KeyedProcessing(trouble)),
        AT_KEYED_RECORD,
    ),
    "timer": (
        lambda stream, trouble: with_times(stream).key_by(by_three).process(Timing(trouble)),
        "the timer at 70 of key 1",
    ),
    "window": (windowed, "the timer at 89 of window TimeWindow(start=60, end=90) of key 1"),
    "reduced window": (reduced_windows, AT_KEYED_RECORD),
    "key selector": (lambda stream, trouble: stream.key_by(trouble).map(lambda n: n), AT_RECORD),
    "partitioner": (
        lambda stream, trouble: stream.partition_custom(Dealing(trouble), lambda n: n).map(lambda n: n),
        AT_RECORD,
    ),
    "timestamps": (badly_timed, AT_RECORD),
    "timestamps again": (lambda stream, trouble: badly_timed(with_times(stream), trouble), AT_RECORD),
    "two inputs": (lambda stream, trouble: stream.connect(stream).process(CoProcessing(trouble)), AT_RECORD),
    "two keyed inputs": (
        lambda stream, trouble: (
            stream.key_by(by_three).connect(stream.key_by(by_three)).process(KeyedCoProcessing(trouble))
        ),
        AT_KEYED_RECORD,
    ),
    "broadcast": (
        lambda stream, trouble: stream.connect(stream.broadcast(RULES)).process(Broadcasting(trouble)),
        AT_RECORD,
    ),
    "sink": (lambda stream, trouble: stream.add_sink(Sinking(trouble)), AT_RECORD),
    "async": (asked, AT_RECORD),
    "operator": (
        lambda stream, trouble: stream.transform("own", Types.PICKLED_BYTE_ARRAY(), Operating(trouble)),
        AT_RECORD,
    ),
    "keyed operator": (
        lambda stream, trouble: stream.key_by(by_three).transform("own", Types.INT(), Operating(trouble)),
        AT_KEYED_RECORD,
    ),
    "source": (
        lambda stream, trouble: stream.get_execution_environment().add_source(Emitting(trouble)).map(lambda n: n),
        "",
    ),
    "open": (lambda stream, trouble: stream.map(Opening(trouble)), ""),
    "snapshot": (lambda stream, trouble: stream.map(Checkpointing(trouble)), ""),
    "close": (lambda stream, trouble: stream.map(Closing(trouble)), ""),
}
"""What each program is made of, and what must be said of the record."""
