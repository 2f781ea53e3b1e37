"""Sources that Spark reads in splits: rows become records, and a watermark follows each split by itself.

The watermark of a subtask is the lowest of its splits, so a split that is behind in event time makes nothing late, and
it does not matter which split comes first. The job master says which splits there are: one without records holds the
watermark back, as in Flink, until it is idle. A subtask without splits is idle.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from rekindle.contracts.time.watermark_strategy import WatermarkStrategy
from rekindle.graph.splits import SPLIT_COLUMNS, Split, split_owner
from rekindle.graph.transformations.split_sources import RecordDecoder
from rekindle.runtime.chunk import Chunk
from rekindle.runtime.column_chunk import ColumnChunk
from rekindle.runtime.operators.event_time import EventTime
from rekindle.runtime.operators.operator import MAX_WATERMARK, MIN_WATERMARK
from rekindle.runtime.operators.operator_context import OperatorContext
from rekindle.runtime.operators.roles import ProcessingTimeOperator, SplitFollower, WatermarkEmitter
from rekindle.runtime.operators.sources import SparkSourceOperator


class SplitRowsOperator(SparkSourceOperator):
    """Stand at the head of rows that never come here: they go straight to who follows their splits."""

    def __init__(self, source_kind: str) -> None:
        self.source_kind = source_kind


class SplitRecordsOperator(ProcessingTimeOperator, WatermarkEmitter, SplitFollower):
    """Turn the rows of splits into records, and follow each split with a watermark.

    Attributes:
        decoder: Turns rows into records.
        strategy: How records get timestamps and watermarks; None: they keep theirs, and there are no watermarks.
    """

    def __init__(self, decoder: RecordDecoder, strategy: WatermarkStrategy | None = None) -> None:
        self.decoder = decoder
        self.strategy = strategy
        self._times: dict[Split, EventTime] = {}
        self._watermark = MIN_WATERMARK
        self._place = (0, 1)  # the subtask, of so many
        self._now: Callable[[], int] = int
        self._interval = 0

    def open(self, context: OperatorContext) -> None:
        self._place = (context.task.subtask, context.task.parallelism)
        self._now, self._interval = context.slot.clock.now, context.job.watermark_interval_ms
        self.decoder.open()

    def assign_splits(self, splits: Iterable[Split]) -> None:
        """Take all open splits of the source, of which some are this subtask's."""
        subtask, parallelism = self._place
        own = {split for split in splits if split_owner(split, parallelism) == subtask}
        for split in self._times.keys() - own:
            del self._times[split]
        for split in sorted(own - self._times.keys()):
            self._begin(split)

    def process(self, chunk: Chunk) -> Chunk:
        records: Chunk = self.decoder.decode(chunk)
        if self.strategy is None:
            return records
        return self._time_of(chunk).assign(records)

    def pieces(self, chunk: Chunk, side: int = 0) -> Iterator[Chunk | None]:
        records: Chunk = self.decoder.decode(chunk)
        return iter((records,)) if self.strategy is None else self._combined(self._time_of(chunk).pieces(records))

    def advance_processing_time(self, now: int) -> None:
        for time in self._times.values():
            time.advance(now)
        self._combine()

    def clock_set(self, by: int) -> None:
        for time in self._times.values():
            time.clock_set(by)

    def next_processing_timer(self) -> int | None:
        return min((due for time in self._times.values() if (due := time.next_check()) is not None), default=None)

    def output_watermark(self, watermark: int) -> int:
        return MAX_WATERMARK if watermark == MAX_WATERMARK else self._watermark

    def output_idle(self, idle: bool) -> bool:
        return self.strategy is not None and all(time.idle for time in self._times.values())

    def _combined(self, pieces: Iterator[Chunk]) -> Iterator[Chunk]:
        for piece in pieces:
            self._combine()
            yield piece

    def _combine(self) -> None:
        """Let the watermark follow the slowest split that is not idle.

        All may have become idle since the last look. Those that had records last were waited for alone before that.
        """
        times = self._times.values()
        active = [time for time in times if not time.idle]
        if not active and times:
            last = max(time.quiet_since for time in times)
            active = [time for time in times if time.quiet_since == last]
        self._watermark = max(self._watermark, min((time.watermark for time in active), default=MIN_WATERMARK))

    def _time_of(self, rows: Chunk) -> EventTime:
        assert isinstance(rows, ColumnChunk)
        names = rows.shape.names
        name, number = (rows.fields[names.index(column)][0].as_py() for column in SPLIT_COLUMNS)
        return self._times.get((name, number)) or self._begin((name, number))

    def _begin(self, split: Split) -> EventTime:
        assert self.strategy is not None
        time = self._times[split] = EventTime(self.strategy)
        time.open(self._now, self._interval)
        time.expect_records(self._now())
        return time
