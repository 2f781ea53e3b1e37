"""A source that lives in the slots."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator

from rekindle.runtime.chunk import Chunk
from rekindle.runtime.operators.event_time import EventTime
from rekindle.runtime.operators.roles import OperatorStateOwner, ProcessingTimeOperator, WatermarkEmitter


class SourceOperator(ProcessingTimeOperator, WatermarkEmitter, OperatorStateOwner):
    """Produce records in the slot itself. Its position, as of the last poll, is operator state."""

    event_time: EventTime | None = None
    """Gives timestamps to what is polled, and watermarks, if the program asked for them."""

    drained = False
    """Whether it has to end though there may be more input: its position stays where it is."""

    def process(self, chunk: Chunk) -> Chunk | None:
        """Refuse: a source has no input."""
        raise AssertionError("a source has no input")

    @abstractmethod
    def poll(self, max_records: int) -> Chunk | None:
        """Return the next records; None when there are none at the moment."""

    def pieces(self, chunk: Chunk, side: int = 0) -> Iterator[Chunk | None]:
        """Return what was polled with its timestamps, cut where the watermark moves."""
        return iter((chunk,)) if self.event_time is None else self.event_time.pieces(chunk)

    def stamped(self, chunk: Chunk) -> Chunk:
        """Return what was polled with its timestamps, in one piece."""
        return chunk if self.event_time is None else self.event_time.assign(chunk)

    @abstractmethod
    def finished(self) -> bool:
        """Return whether there is no more input."""

    def drain(self) -> None:
        """End as if there were no more input; may be called again."""
        self.drained = True

    def over(self) -> bool:
        """Return whether nothing more comes from here."""
        return self.drained or self.finished()

    def has_more(self) -> bool:
        """Return whether an epoch is needed at once, because there is more to read."""
        return not self.finished()

    def advance_processing_time(self, now: int) -> Chunk | None:
        if self.event_time is not None:
            self.event_time.advance(now)
        return None

    def clock_set(self, by: int) -> None:
        if self.event_time is not None:
            self.event_time.clock_set(by)

    def next_processing_timer(self) -> int | None:
        return None if self.event_time is None or self.finished() else self.event_time.next_check()

    def output_watermark(self, watermark: int) -> int:
        return watermark if self.event_time is None else self.event_time.watermark

    def output_idle(self, idle: bool) -> bool:
        return idle if self.event_time is None else self.event_time.idle
