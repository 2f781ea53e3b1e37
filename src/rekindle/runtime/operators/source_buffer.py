"""What a source function has emitted and the slot has not yet taken, in its order."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rekindle.runtime.chunk import Chunk
from rekindle.runtime.operators.operator import MIN_WATERMARK


class SourceBuffer:
    """Hold elements, and between them watermarks and marks of idleness. Whoever adds and takes holds the lock.

    Attributes:
        watermark: The last watermark before which all elements were given out.
        idle: Whether the last thing that was given out is a mark of idleness.
    """

    def __init__(self) -> None:
        self.watermark = MIN_WATERMARK
        self.idle = False
        self._values: list[Any] = []
        self._timestamps: list[int | None] | None = None  # None: no element has one
        self._marks: list[tuple[int, int | None]] = []  # after so many elements a watermark; None: idle
        self._taken = 0
        self._passed: list[tuple[int, int | None]] = []  # the same for what was taken last, and not given out
        self._given = 0  # of what was taken last

    def __len__(self) -> int:
        return len(self._values)

    def __bool__(self) -> bool:
        return bool(self._values or self._marks)

    def add(self, value: Any) -> None:
        """Add an element without a timestamp."""
        self._values.append(value)
        if self._timestamps is not None:
            self._timestamps.append(None)

    def add_with_timestamp(self, value: Any, timestamp: int | None) -> None:
        """Add an element with its timestamp."""
        if self._timestamps is None:
            self._timestamps = [None] * len(self._values)
        self._values.append(value)
        self._timestamps.append(timestamp)

    def last(self) -> Any:
        """Return the element that was added last; there must be one."""
        return self._values[-1]

    def mark(self, watermark: int | None) -> None:
        """Add a watermark, or with None that the source is idle until it adds something else."""
        place = self._taken + len(self._values)
        if self._marks and self._marks[-1][0] == place and watermark is not None:
            before = self._marks[-1][1]
            if before is not None:
                self._marks[-1] = (place, max(before, watermark))
                return
        self._marks.append((place, watermark))

    def take(self, most: int) -> Chunk | None:
        """Take elements, and the marks before and right behind them; None if there are no elements.

        The marks count as their elements are given out by :meth:`pieces`.
        """
        values, timestamps = self._values, self._timestamps
        if len(values) <= most:
            self._values, self._timestamps = [], None
        else:
            values, self._values = values[:most], values[most:]
            if timestamps is not None:
                timestamps, self._timestamps = timestamps[:most], timestamps[most:]
        before, self._taken = self._taken, self._taken + len(values)
        self._passed = [(place - before, mark) for place, mark in self._marks if place <= self._taken]
        self._given = 0
        del self._marks[: len(self._passed)]
        if values:
            return Chunk(values, timestamps)
        if self._passed:
            for _ in self.pieces(Chunk([])):
                pass
        return None

    def pieces(self, chunk: Chunk) -> Iterator[Chunk]:
        """Return out the next portion of what was taken last, cut where the watermark moves."""
        values, timestamps, start = chunk.values, chunk.timestamps, 0
        end = self._given + len(values)
        marks = [(place - self._given, mark) for place, mark in self._passed if place <= end]
        del self._passed[: len(marks)]
        self._given = end
        self.idle = False
        for place, mark in marks:
            if mark is not None and mark > self.watermark:
                self.watermark = mark
                yield Chunk(values[start:place], None if timestamps is None else timestamps[start:place])
                start = place
        self.idle = bool(marks) and marks[-1] == (len(values), None)
        if start < len(values):
            yield Chunk(values[start:], None if timestamps is None else timestamps[start:])

    def content(self) -> tuple[list[Any], list[int | None] | None]:
        """Return the elements that nobody has taken, and their timestamps if any has one."""
        return list(self._values), None if self._timestamps is None else list(self._timestamps)
