"""Timestamps and watermarks as a WatermarkStrategy wants them: within a source, or as an operator of its own.

Watermarks advance between chunks of work: the generator is asked once an epoch, after all records of its level.
"""

from __future__ import annotations

from operator import index
from typing import Any

from rekindle.common.milliseconds import milliseconds
from rekindle.common.watermark_generator import WatermarkGenerator, WatermarkOutput
from rekindle.common.watermark_strategy import TimestampAssigner, WatermarkKind, WatermarkStrategy
from rekindle.runtime.operators.chunk import Chunk
from rekindle.runtime.operators.operator import MAX_WATERMARK, MIN_WATERMARK, Operator

_ONLY_INTEGERS = frozenset({int})


class EventTime:
    """Give timestamps to the records of one subtask, and follow them with a watermark.

    Nothing of it is part of a snapshot: after a restore the watermark begins anew, as in Flink.

    Attributes:
        strategy: What the program asked for.
        watermark: The highest watermark so far.
        idle: Whether the subtask has had no records for so long that nobody waits for it.
    """

    def __init__(self, strategy: WatermarkStrategy) -> None:
        self.strategy = strategy
        self.watermark = MIN_WATERMARK
        self.idle = False
        self._output = _Output(self)
        self._generator: WatermarkGenerator | None = None
        self._records_came = False
        self._quiet_since: int | None = None  # the time of the last look that found records

    def assign(self, chunk: Chunk) -> Chunk:
        """Give records their timestamps."""
        if not chunk.values:
            return chunk
        self._records_came = True
        self.idle = False
        timestamps = chunk.timestamps
        assigner = self.strategy.timestamp_assigner
        if assigner is not None:
            timestamps = _extracted(assigner, chunk)
        self._observe(chunk.values, timestamps)
        return Chunk(chunk.values, timestamps, chunk.keys)

    def advance(self, now: int) -> None:
        """Let the watermark follow the records so far; called between chunks of work."""
        timeout = self.strategy.idle_timeout_ms
        if timeout is not None:
            if self._records_came or self._quiet_since is None:
                self._quiet_since = now
            elif now - self._quiet_since > timeout:
                self.idle = True
            self._records_came = False
            if self.idle:
                return
        if self.strategy.kind is WatermarkKind.GENERATOR:
            self._own_generator().on_periodic_emit(self._output)

    def next_check(self) -> int | None:
        """Tell when the subtask becomes idle, if nothing happens until then."""
        timeout = self.strategy.idle_timeout_ms
        if timeout is None or self._quiet_since is None or self.idle:
            return None
        return self._quiet_since + timeout + 1

    def _observe(self, values: list[Any], timestamps: list[int | None] | None) -> None:
        kind = self.strategy.kind
        if kind is WatermarkKind.GENERATOR:
            on_event, output = self._own_generator().on_event, self._output
            for value, timestamp in zip(values, timestamps or [None] * len(values), strict=True):
                on_event(value, MIN_WATERMARK if timestamp is None else timestamp, output)
        elif kind is not WatermarkKind.NONE and timestamps is not None:
            highest = max((stamp for stamp in timestamps if stamp is not None), default=MIN_WATERMARK)
            if highest > MAX_WATERMARK:
                milliseconds(highest, "the timestamp of a record")  # raises
            watermark = highest - self.strategy.max_out_of_orderness_ms - 1
            self.watermark = max(self.watermark, watermark)

    def _own_generator(self) -> WatermarkGenerator:
        if self._generator is None:
            assert self.strategy.generator_supplier is not None
            self._generator = self.strategy.generator_supplier()
        return self._generator


class _Output(WatermarkOutput):
    """Take what a generator of the program's own emits."""

    def __init__(self, event_time: EventTime) -> None:
        self._event_time = event_time

    def emit_watermark(self, timestamp: int) -> None:
        self._event_time.idle = False
        self._event_time.watermark = max(self._event_time.watermark, milliseconds(timestamp, "a watermark"))

    def mark_idle(self) -> None:
        self._event_time.idle = True

    def mark_active(self) -> None:
        self._event_time.idle = False


class TimestampsAndWatermarksOperator(Operator):
    """Replace the timestamps and watermarks of a stream; of those that come in, only the last watermark counts."""

    generates_watermarks = True

    def __init__(self, strategy: WatermarkStrategy) -> None:
        self.event_time = EventTime(strategy)

    def process(self, chunk: Chunk) -> Chunk:
        assigned = self.event_time.assign(chunk)
        return Chunk(assigned.values, assigned.timestamps)

    def advance_processing_time(self, now: int) -> None:
        self.event_time.advance(now)

    def next_processing_timer(self) -> int | None:
        return self.event_time.next_check()

    def output_watermark(self, watermark: int) -> int:
        return MAX_WATERMARK if watermark == MAX_WATERMARK else self.event_time.watermark

    def output_idle(self, idle: bool) -> bool:
        return self.event_time.idle


def _extracted(assigner: TimestampAssigner, chunk: Chunk) -> list[int | None]:
    extract = assigner.extract_timestamp
    timestamps: list[Any]
    if chunk.timestamps is None:
        timestamps = [extract(value, MIN_WATERMARK) for value in chunk.values]
    else:
        timestamps = [
            extract(value, MIN_WATERMARK if stamp is None else stamp)
            for value, stamp in zip(chunk.values, chunk.timestamps, strict=True)
        ]
    if _ONLY_INTEGERS.issuperset(map(type, timestamps)):
        return timestamps
    return [_checked(value, stamp, assigner) for value, stamp in zip(chunk.values, timestamps, strict=True)]


def _checked(value: Any, timestamp: Any, assigner: TimestampAssigner) -> int:
    try:
        return index(timestamp)
    except TypeError as error:
        raise TypeError(
            f"{type(assigner).__name__}.extract_timestamp returned {timestamp!r} for {value!r}: a timestamp is a whole "
            "number of milliseconds since the epoch; return an int"
        ) from error
