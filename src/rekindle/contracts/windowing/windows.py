"""Windows: the pieces that a stream is cut into.

They are tuples at heart: every record looks up state by its key and its window, and tuples are hashed in C.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from operator import itemgetter
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rekindle.contracts.windowing.assigner import MergingWindowAssigner

__all__ = ["MAX_TIMESTAMP", "MIN_TIMESTAMP", "CountWindow", "GlobalWindow", "TimeWindow", "Window"]

MIN_TIMESTAMP = -(1 << 63)
"""The timestamp of a record that has none."""
MAX_TIMESTAMP = (1 << 63) - 1


class Window(ABC):
    """Group elements into a finite set."""

    __slots__ = ()

    @abstractmethod
    def max_timestamp(self) -> int:
        """Return the largest timestamp that still belongs to the window."""


class TimeWindow(tuple[int, int], Window):
    """Hold a stretch of time: from ``start``, inclusive, to ``end``, exclusive, in milliseconds."""

    __slots__ = ()

    def __new__(cls, start: int, end: int) -> TimeWindow:
        """Make a window.

        Args:
            start: The first timestamp in it.
            end: The first timestamp after it.
        """
        return tuple.__new__(cls, (start, end))

    start: int = property(itemgetter(0))  # type: ignore[assignment]
    end: int = property(itemgetter(1))  # type: ignore[assignment]

    def max_timestamp(self) -> int:
        """Return ``end - 1``."""
        return self[1] - 1

    def intersects(self, other: TimeWindow) -> bool:
        """Return whether the windows overlap, or one begins where the other ends."""
        return self.start <= other.end and self.end >= other.start

    def cover(self, other: TimeWindow) -> TimeWindow:
        """Return the smallest window that covers both."""
        return TimeWindow(min(self.start, other.start), max(self.end, other.end))

    @staticmethod
    def get_window_start_with_offset(timestamp: int, offset: int, window_size: int) -> int:
        """Return the start of the window that a timestamp belongs to.

        Args:
            timestamp: The timestamp, in milliseconds.
            offset: By how much windows are shifted from whole multiples of their size.
            window_size: The size of the windows.
        """
        return timestamp - (timestamp - offset) % window_size

    @staticmethod
    def merge_windows(windows: Iterable[TimeWindow], callback: MergingWindowAssigner.MergeCallback[TimeWindow]) -> None:
        """Merge windows that intersect; tell the callback of each merge."""
        merged: list[tuple[TimeWindow, list[TimeWindow]]] = []
        for window in sorted(windows):
            if merged and merged[-1][0].intersects(window):
                cover, parts = merged[-1]
                merged[-1] = (cover.cover(window), [*parts, window])
            else:
                merged.append((window, [window]))
        for cover, parts in merged:
            if len(parts) > 1:
                callback.merge(parts, cover)

    def __getnewargs__(self) -> tuple[int, int]:
        return self[0], self[1]

    def __repr__(self) -> str:
        return f"TimeWindow(start={self[0]}, end={self[1]})"


class CountWindow(tuple[int], Window):
    """Number a window that is made of a number of elements; ``id`` counts them from 0."""

    __slots__ = ()

    def __new__(cls, id: int) -> CountWindow:
        """Make a window."""
        return tuple.__new__(cls, (id,))

    id: int = property(itemgetter(0))  # type: ignore[assignment]

    def max_timestamp(self) -> int:
        """Return the largest timestamp there is."""
        return MAX_TIMESTAMP

    def __getnewargs__(self) -> tuple[int]:
        return (self[0],)

    def __repr__(self) -> str:
        return f"CountWindow(id={self[0]})"


class GlobalWindow(tuple[()], Window):
    """Stand for the one window that all elements belong to."""

    __slots__ = ()

    def __new__(cls) -> GlobalWindow:
        """Make the window; all are equal."""
        return tuple.__new__(cls)

    @staticmethod
    def get() -> GlobalWindow:
        """Return the window."""
        return _GLOBAL

    def max_timestamp(self) -> int:
        """Return the largest timestamp there is."""
        return MAX_TIMESTAMP

    def __getnewargs__(self) -> tuple[Any, ...]:
        return ()

    def __repr__(self) -> str:
        return "GlobalWindow"


_GLOBAL = GlobalWindow()
