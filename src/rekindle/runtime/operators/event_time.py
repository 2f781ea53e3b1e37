"""Timestamps and watermarks as a WatermarkStrategy wants them: within a source, or as an operator of its own.

A watermark takes its place among the records. One that a generator emits from ``on_event`` stands right behind that
record: the chunk is cut there. Periodic ones stand between two chunks, when the auto-watermark interval has passed, and
at the end of an epoch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from rekindle.base.milliseconds import milliseconds
from rekindle.contracts.time.watermark_generator import WatermarkGenerator, WatermarkOutput
from rekindle.contracts.time.watermark_strategy import TimestampAssigner, WatermarkKind, WatermarkStrategy
from rekindle.runtime.at_work import at_record
from rekindle.runtime.chunk import Chunk
from rekindle.runtime.operators.operator import MAX_WATERMARK, MIN_WATERMARK
from rekindle.runtime.operators.operator_context import OperatorContext
from rekindle.runtime.operators.roles import ProcessingTimeOperator, WatermarkEmitter

_ONLY_INTEGERS = frozenset({int})


class EventTime:
    """Give timestamps to the records of one subtask, and follow them with a watermark.

    Nothing of it is part of a snapshot: after a restore the watermark begins anew, as in Flink.

    Attributes:
        strategy: What the program asked for.
        watermark: The watermark behind the records that were given out last.
        idle: Whether the subtask has had no records for so long that nobody waits for it.
    """

    def __init__(self, strategy: WatermarkStrategy) -> None:
        self.strategy = strategy
        self.watermark = MIN_WATERMARK
        self.idle = False
        self._highest = MIN_WATERMARK  # of all timestamps so far, where a bound makes the watermark
        self._output = _Output(self)
        self._generator: WatermarkGenerator | None = None
        self._records_came = False
        self._quiet_since: int | None = None  # the time of the last look that found records
        self._now: Callable[[], int] | None = None  # None: asked for periodic watermarks at the end of an epoch only
        self._interval = 0
        self._next_ask = 0

    def open(self, now: Callable[[], int], interval_ms: int) -> None:
        """Begin in a slot.

        Args:
            now: Tells the time, in milliseconds.
            interval_ms: How often periodic watermarks are asked for; 0: never.
        """
        self._interval = interval_ms
        if interval_ms and self.strategy.kind is not WatermarkKind.NONE:
            self._now = now
            self._next_ask = now() + interval_ms

    def expect_records(self, now: int) -> None:
        """Let the time without records count from now on, rather than from the end of the first epoch."""
        self._quiet_since = now

    def clock_set(self, by: int) -> None:
        """Count the time without records, and that between two watermarks, by a clock that was set meanwhile."""
        self._next_ask += by
        if self._quiet_since is not None:
            self._quiet_since += by

    @property
    def quiet_since(self) -> int:
        """Return since when there have been no records, as far as anybody has looked."""
        return MIN_WATERMARK if self._quiet_since is None else self._quiet_since

    def pieces(self, chunk: Chunk) -> Iterator[Chunk]:
        """Return records with their timestamps, cut where the watermark moves: it holds behind the piece given last."""
        if not chunk.values:
            return iter(())
        timestamps = self._stamped(chunk)
        if self.strategy.kind is WatermarkKind.GENERATOR:
            marks = self._show(chunk.values, timestamps)
        else:
            self._observe(timestamps)
            marks = []
        self._ask_if_due()
        marks.append((len(chunk.values), self.watermark, self.idle))
        return self._given_out(chunk.values, timestamps, marks)

    def assign(self, chunk: Chunk) -> Chunk:
        """Return records their timestamps, in one piece: the watermark holds behind all of them."""
        timestamps = self._stamped(chunk)
        if self.strategy.kind is WatermarkKind.GENERATOR:
            self._show(chunk.values, timestamps)
        else:
            self._observe(timestamps)
        return Chunk(chunk.values, timestamps)

    def advance(self, now: int) -> None:
        """Let the watermark follow the records so far: the epoch is over."""
        timeout = self.strategy.idle_timeout_ms
        if timeout is not None:
            if self._records_came or self._quiet_since is None:
                self._quiet_since = now
            elif now - self._quiet_since > timeout:
                self.idle = True
            self._records_came = False
            if self.idle:
                return
        if self._interval:
            self._ask()

    def next_check(self) -> int | None:
        """Return when the subtask becomes idle, if nothing happens until then."""
        timeout = self.strategy.idle_timeout_ms
        if timeout is None or self._quiet_since is None or self.idle:
            return None
        return self._quiet_since + timeout + 1

    def _stamped(self, chunk: Chunk) -> list[int | None] | None:
        self._records_came = True
        self.idle = False
        assigner = self.strategy.timestamp_assigner
        return chunk.timestamps if assigner is None else extracted(assigner, chunk)

    def _observe(self, timestamps: list[int | None] | None) -> None:
        if self.strategy.kind is not WatermarkKind.NONE and timestamps is not None:
            self._highest = max(self._highest, highest_of(timestamps))

    @at_record("value", timestamp="stamp")
    def _show(self, values: list[Any], timestamps: list[int | None] | None) -> list[tuple[int, int, bool]]:
        """Show the records to the generator; give the places behind those that it moved time with, and that time."""
        on_event, output = self._own_generator().on_event, self._output
        output.moved = False
        marks = []
        for place, (value, stamp) in enumerate(zip(values, timestamps or [None] * len(values), strict=True), 1):
            on_event(value, MIN_WATERMARK if stamp is None else stamp, output)
            if output.moved:
                output.moved = False
                marks.append((place, self.watermark, self.idle))
        return marks

    def _given_out(
        self, values: list[Any], timestamps: list[int | None] | None, marks: list[tuple[int, int, bool]]
    ) -> Iterator[Chunk]:
        start = 0
        for stop, self.watermark, self.idle in marks:
            yield Chunk(values[start:stop], None if timestamps is None else timestamps[start:stop])
            start = stop

    def _ask_if_due(self) -> None:
        if self._now is not None:
            now = self._now()
            if now >= self._next_ask:
                self._next_ask = now + self._interval
                self._ask()

    def _ask(self) -> None:
        """Let periodic watermarks follow the records so far."""
        kind = self.strategy.kind
        if kind is WatermarkKind.GENERATOR:
            self._own_generator().on_periodic_emit(self._output)
        elif kind is not WatermarkKind.NONE:
            watermark = self._highest - self.strategy.max_out_of_orderness_ms - 1
            self.watermark = max(self.watermark, watermark)

    def _own_generator(self) -> WatermarkGenerator:
        if self._generator is None:
            assert self.strategy.generator_supplier is not None
            self._generator = self.strategy.generator_supplier()
        return self._generator


def highest_of(timestamps: list[int | None]) -> int:
    """Return the highest timestamp that there is.

    Raises:
        InvalidArgumentError: It does not fit into 64 bits.
    """
    try:  # mostly all are there, and max alone takes a third of the time
        highest: int | None = max(timestamps, default=None)  # type: ignore[type-var]
    except TypeError:
        highest = max((stamp for stamp in timestamps if stamp is not None), default=None)
    if highest is None:
        return MIN_WATERMARK
    return highest if highest <= MAX_WATERMARK else milliseconds(highest, "the timestamp of a record")  # raises


class _Output(WatermarkOutput):
    """Take what a generator of the program's own emits.

    Attributes:
        moved: Whether that was more than the generator had said before.
    """

    def __init__(self, event_time: EventTime) -> None:
        self._event_time = event_time
        self.moved = False

    def emit_watermark(self, timestamp: int) -> None:
        event_time = self._event_time
        if type(timestamp) is not int or not MIN_WATERMARK <= timestamp <= MAX_WATERMARK:
            timestamp = milliseconds(timestamp, "a watermark")
        if timestamp > event_time.watermark or event_time.idle:
            event_time.watermark = max(event_time.watermark, timestamp)
            event_time.idle = False
            self.moved = True

    def mark_idle(self) -> None:
        self.moved = self.moved or not self._event_time.idle
        self._event_time.idle = True

    def mark_active(self) -> None:
        self.moved = self.moved or self._event_time.idle
        self._event_time.idle = False


class TimestampsAndWatermarksOperator(ProcessingTimeOperator, WatermarkEmitter):
    """Replace the timestamps and watermarks of a stream; of those that come in, only the last watermark counts."""

    def __init__(self, strategy: WatermarkStrategy) -> None:
        self.event_time = EventTime(strategy)

    def open(self, context: OperatorContext) -> None:
        self.event_time.open(context.slot.clock.now, context.job.watermark_interval_ms)

    def process(self, chunk: Chunk) -> Chunk:
        return self.event_time.assign(chunk)

    def pieces(self, chunk: Chunk, side: int = 0) -> Iterator[Chunk]:
        return self.event_time.pieces(chunk)

    def advance_processing_time(self, now: int) -> None:
        self.event_time.advance(now)

    def clock_set(self, by: int) -> None:
        self.event_time.clock_set(by)

    def next_processing_timer(self) -> int | None:
        return self.event_time.next_check()

    def output_watermark(self, watermark: int) -> int:
        return MAX_WATERMARK if watermark == MAX_WATERMARK else self.event_time.watermark

    def output_idle(self, idle: bool) -> bool:
        return self.event_time.idle


@at_record("value", remaining="remaining")
def extracted(assigner: TimestampAssigner, chunk: Chunk) -> list[int | None]:
    """Return the timestamps that an assigner gives to records."""
    extract = assigner.extract_timestamp
    timestamps: list[Any]
    remaining = iter(chunk.values)
    if chunk.timestamps is None:
        timestamps = [extract(value, MIN_WATERMARK) for value in remaining]
    else:
        timestamps = [
            extract(value, MIN_WATERMARK if stamp is None else stamp)
            for value, stamp in zip(remaining, chunk.timestamps, strict=True)
        ]
    if _ONLY_INTEGERS.issuperset(map(type, timestamps)):
        return timestamps
    what = f"the timestamp from {type(assigner).__name__}.extract_timestamp"
    del remaining
    checked: list[int | None] = []
    for value, stamp in zip(chunk.values, timestamps, strict=True):  # noqa: B007 (the decorator names it)
        checked.append(milliseconds(stamp, what))
    return checked
