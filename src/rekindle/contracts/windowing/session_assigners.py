"""Assigners of sessions: windows that last as long as elements follow each other within a gap."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from typing import Any

from rekindle.base.time import Duration, Time, duration_to_millis
from rekindle.base.type_variables import T
from rekindle.contracts.windowing.assigner import (
    MergingWindowAssigner,
    SessionWindowTimeGapExtractor,
    WindowAssigner,
)
from rekindle.contracts.windowing.time_assigners import TimeWindowAssigner, without_timestamp
from rekindle.contracts.windowing.windows import MIN_TIMESTAMP, TimeWindow
from rekindle.exceptions import ConfigurationError

__all__ = [
    "DynamicEventTimeSessionWindows",
    "DynamicProcessingTimeSessionWindows",
    "EventTimeSessionWindows",
    "ProcessingTimeSessionWindows",
    "SessionWindows",
]


class SessionWindows(TimeWindowAssigner[T], MergingWindowAssigner[T, TimeWindow]):
    """Assign sessions; what all kinds of them have in common."""

    def merge_windows(
        self, windows: Iterable[TimeWindow], callback: MergingWindowAssigner.MergeCallback[TimeWindow]
    ) -> None:
        """Merge the windows that overlap or touch."""
        TimeWindow.merge_windows(windows, callback)

    def assign_windows(
        self, element: T, timestamp: int, context: WindowAssigner.WindowAssignerContext
    ) -> list[TimeWindow]:
        """Return a session that begins with the element and lasts for the gap."""
        if not self.event_time:
            timestamp = context.get_current_processing_time()
        elif timestamp == MIN_TIMESTAMP:
            raise without_timestamp()
        return [TimeWindow(timestamp, timestamp + self.gap_of(element))]

    @abstractmethod
    def gap_of(self, element: T) -> int:
        """Return after how many milliseconds the session of an element ends, unless another follows."""


class _FixedGap(SessionWindows[T]):
    def __init__(self, session_gap: int) -> None:
        """Make the assigner.

        Args:
            session_gap: After how many milliseconds without an element a session ends.
        """
        if session_gap <= 0:
            raise ConfigurationError(f"{type(self).__name__} need a gap above 0, got {session_gap} ms")
        self._session_gap = session_gap

    def gap_of(self, element: T) -> int:
        """Return the gap."""
        return self._session_gap

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._session_gap})"


class _DynamicGap(SessionWindows[T]):
    def __init__(self, session_window_time_gap_extractor: SessionWindowTimeGapExtractor) -> None:
        """Make the assigner.

        Args:
            session_window_time_gap_extractor: Takes the gap out of an element.
        """
        if not isinstance(session_window_time_gap_extractor, SessionWindowTimeGapExtractor):
            raise TypeError(
                "with_dynamic_gap takes a SessionWindowTimeGapExtractor, and was given a "
                f"{type(session_window_time_gap_extractor).__name__}"
            )
        self._extractor = session_window_time_gap_extractor

    def gap_of(self, element: T) -> int:
        """Return the gap that is taken out of the element."""
        gap = self._extractor.extract(element)
        if gap <= 0:
            raise ConfigurationError(
                f"{type(self._extractor).__name__}.extract returned a gap of {gap} ms for {element!r}: it must be "
                "above 0"
            )
        return gap

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._extractor!r})"


class EventTimeSessionWindows(_FixedGap[T]):
    """Put elements into one session while their timestamps follow each other within a gap."""

    event_time = True

    @staticmethod
    def with_gap(size: Time | Duration | int) -> EventTimeSessionWindows[Any]:
        """Return sessions that end after a gap of this size."""
        return EventTimeSessionWindows(duration_to_millis(size, "size"))

    @staticmethod
    def with_dynamic_gap(extractor: SessionWindowTimeGapExtractor) -> DynamicEventTimeSessionWindows[Any]:
        """Return sessions whose gap depends on the element."""
        return DynamicEventTimeSessionWindows(extractor)


class ProcessingTimeSessionWindows(_FixedGap[T]):
    """Put elements into one session while they arrive within a gap."""

    event_time = False

    @staticmethod
    def with_gap(size: Time | Duration | int) -> ProcessingTimeSessionWindows[Any]:
        """Return sessions that end after a gap of this size."""
        return ProcessingTimeSessionWindows(duration_to_millis(size, "size"))

    @staticmethod
    def with_dynamic_gap(extractor: SessionWindowTimeGapExtractor) -> DynamicProcessingTimeSessionWindows[Any]:
        """Return sessions whose gap depends on the element."""
        return DynamicProcessingTimeSessionWindows(extractor)


class DynamicEventTimeSessionWindows(_DynamicGap[T]):
    """Put elements into one session while their timestamps follow each other within a gap that each one names."""

    event_time = True

    @staticmethod
    def with_dynamic_gap(extractor: SessionWindowTimeGapExtractor) -> DynamicEventTimeSessionWindows[Any]:
        """Return sessions whose gap depends on the element."""
        return DynamicEventTimeSessionWindows(extractor)


class DynamicProcessingTimeSessionWindows(_DynamicGap[T]):
    """Put elements into one session while they arrive within a gap that each one names."""

    event_time = False

    @staticmethod
    def with_dynamic_gap(extractor: SessionWindowTimeGapExtractor) -> DynamicProcessingTimeSessionWindows[Any]:
        """Return sessions whose gap depends on the element."""
        return DynamicProcessingTimeSessionWindows(extractor)
