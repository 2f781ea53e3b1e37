"""What a source function has emitted and the slot has not yet taken, in its order."""

from __future__ import annotations

from typing import Any

from rekindle.runtime.operators.chunk import Chunk
from rekindle.runtime.operators.operator import MIN_WATERMARK


class SourceBuffer:
    """Hold elements, and between them watermarks and marks of idleness. Whoever uses it holds the lock.

    Attributes:
        watermark: The last watermark before which all elements were taken.
        idle: Whether the last thing that was taken is a mark of idleness.
    """

    def __init__(self) -> None:
        self.watermark = MIN_WATERMARK
        self.idle = False
        self._values: list[Any] = []
        self._timestamps: list[int | None] | None = None  # None: no element has one
        self._marks: list[tuple[int, int | None]] = []  # after so many elements a watermark; None: idle
        self._taken = 0

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
        """Give the element that was added last; there must be one."""
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
        """Take elements, and the marks before and right behind them; None if there are no elements."""
        values, timestamps = self._values, self._timestamps
        if len(values) <= most:
            self._values, self._timestamps = [], None
        else:
            values, self._values = values[:most], values[most:]
            if timestamps is not None:
                timestamps, self._timestamps = timestamps[:most], timestamps[most:]
        self._taken += len(values)
        if values:
            self.idle = False
        passed = 0
        for place, watermark in self._marks:
            if place > self._taken:
                break
            passed += 1
            if watermark is not None:
                self.watermark = max(self.watermark, watermark)
            self.idle = watermark is None and place == self._taken
        del self._marks[:passed]
        return Chunk(values, timestamps) if values else None

    def content(self) -> tuple[list[Any], list[int | None] | None]:
        """Give the elements that nobody has taken, and their timestamps if any has one."""
        return list(self._values), None if self._timestamps is None else list(self._timestamps)
