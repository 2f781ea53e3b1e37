"""Assigners of tumbling and sliding windows, in event time and in processing time."""

from __future__ import annotations

from typing import Any, ClassVar

from rekindle.base.time import Duration, Time, duration_to_millis
from rekindle.base.type_variables import T
from rekindle.contracts.windowing.assigner import WindowAssigner
from rekindle.contracts.windowing.serializers import TimeWindowSerializer
from rekindle.contracts.windowing.time_triggers import EventTimeTrigger, ProcessingTimeTrigger
from rekindle.contracts.windowing.trigger import Trigger
from rekindle.contracts.windowing.windows import MIN_TIMESTAMP, TimeWindow
from rekindle.exceptions import ConfigurationError, InvalidProgramError
from rekindle.types.type_serializer import TypeSerializer

__all__ = [
    "SlidingEventTimeWindows",
    "SlidingProcessingTimeWindows",
    "TimeWindowAssigner",
    "TumblingEventTimeWindows",
    "TumblingProcessingTimeWindows",
]


def without_timestamp() -> InvalidProgramError:
    """Describe a record without a timestamp that came to a window in event time."""
    return InvalidProgramError(
        "a record without a timestamp arrived at an event-time window: give the stream timestamps with "
        "assign_timestamps_and_watermarks(...) before the window, or use a processing-time window"
    )


class TimeWindowAssigner(WindowAssigner[T, TimeWindow]):
    """Assign time windows; what those in one time domain have in common.

    The lists of windows that these give belong to them: they give the same one again.
    """

    event_time: ClassVar[bool]

    def get_default_trigger(self, env: Any) -> Trigger[T, TimeWindow]:
        """Return the trigger that fires when time has reached the end of the window."""
        return EventTimeTrigger() if self.event_time else ProcessingTimeTrigger()

    def get_window_serializer(self) -> TypeSerializer[TimeWindow]:
        """Return the serializer of time windows."""
        return TimeWindowSerializer()

    def is_event_time(self) -> bool:
        """Return whether these are windows in event time."""
        return self.event_time


class _TumblingWindows(TimeWindowAssigner[T]):
    def __init__(self, size: int, offset: int) -> None:
        """Make the assigner.

        Args:
            size: The size of the windows, in milliseconds.
            offset: By how much they are shifted.
        """
        if size <= 0 or abs(offset) >= size:
            raise ConfigurationError(
                f"{type(self).__name__} need a size above 0 and an offset smaller than it, got size {size} ms and "
                f"offset {offset} ms"
            )
        self.size = size
        self.offset = offset
        self._last = [TimeWindow(0, 0)]  # given again while elements stay in it: making one takes half of all the time

    def _window(self, timestamp: int) -> list[TimeWindow]:
        start, end = self._last[0]
        if not start <= timestamp < end:
            start = timestamp - (timestamp - self.offset) % self.size
            self._last = [TimeWindow(start, start + self.size)]
        return self._last

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.size}, {self.offset})"


class TumblingEventTimeWindows(_TumblingWindows[T]):
    """Cut event time into windows of one size, one after the other."""

    event_time = True

    @staticmethod
    def of(size: Time | Duration | int, offset: Time | Duration | int | None = None) -> TumblingEventTimeWindows[Any]:
        """Return windows of a size, shifted by an offset."""
        return TumblingEventTimeWindows(duration_to_millis(size, "size"), _offset(offset))

    def assign_windows(
        self, element: T, timestamp: int, context: WindowAssigner.WindowAssignerContext
    ) -> list[TimeWindow]:
        """Return the window that the timestamp is in."""
        if timestamp == MIN_TIMESTAMP:
            raise without_timestamp()
        return self._window(timestamp)


class TumblingProcessingTimeWindows(_TumblingWindows[T]):
    """Cut processing time into windows of one size, one after the other."""

    event_time = False

    @staticmethod
    def of(
        size: Time | Duration | int, offset: Time | Duration | int | None = None
    ) -> TumblingProcessingTimeWindows[Any]:
        """Return windows of a size, shifted by an offset."""
        return TumblingProcessingTimeWindows(duration_to_millis(size, "size"), _offset(offset))

    def assign_windows(
        self, element: T, timestamp: int, context: WindowAssigner.WindowAssignerContext
    ) -> list[TimeWindow]:
        """Return the window that the clock is in."""
        return self._window(context.get_current_processing_time())


class _SlidingWindows(TimeWindowAssigner[T]):
    def __init__(self, size: int, slide: int, offset: int) -> None:
        """Make the assigner.

        Args:
            size: The size of the windows, in milliseconds.
            slide: How long after a window the next one begins.
            offset: By how much they are shifted.
        """
        if size <= 0 or slide <= 0 or abs(offset) >= slide:
            raise ConfigurationError(
                f"{type(self).__name__} need a size and a slide above 0 and an offset smaller than the slide, got size "
                f"{size} ms, slide {slide} ms and offset {offset} ms"
            )
        self.size = size
        self.slide = slide
        self.offset = offset
        self._same_from = self._same_until = 0
        self._last: list[TimeWindow] = []  # given again while elements stay in the same windows

    def _windows(self, timestamp: int) -> list[TimeWindow]:
        if not self._same_from <= timestamp < self._same_until:
            size, slide = self.size, self.slide
            last = timestamp - (timestamp - self.offset) % slide
            self._last = [TimeWindow(start, start + size) for start in range(last, timestamp - size, -slide)]
            first_end = self._last[-1].end if self._last else last + slide
            self._same_from = last if size % slide == 0 else timestamp
            self._same_until = min(last + slide, first_end)
        return self._last

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.size}, {self.slide}, {self.offset})"


class SlidingEventTimeWindows(_SlidingWindows[T]):
    """Cut event time into windows that may overlap."""

    event_time = True

    @staticmethod
    def of(
        size: Time | Duration | int, slide: Time | Duration | int, offset: Time | Duration | int | None = None
    ) -> SlidingEventTimeWindows[Any]:
        """Return windows of a size, one every ``slide``, shifted by an offset."""
        return SlidingEventTimeWindows(
            duration_to_millis(size, "size"), duration_to_millis(slide, "slide"), _offset(offset)
        )

    def assign_windows(
        self, element: T, timestamp: int, context: WindowAssigner.WindowAssignerContext
    ) -> list[TimeWindow]:
        """Return the windows that the timestamp is in, the latest first."""
        if timestamp == MIN_TIMESTAMP:
            raise without_timestamp()
        return self._windows(timestamp)


class SlidingProcessingTimeWindows(_SlidingWindows[T]):
    """Cut processing time into windows that may overlap."""

    event_time = False

    @staticmethod
    def of(
        size: Time | Duration | int, slide: Time | Duration | int, offset: Time | Duration | int | None = None
    ) -> SlidingProcessingTimeWindows[Any]:
        """Return windows of a size, one every ``slide``, shifted by an offset."""
        return SlidingProcessingTimeWindows(
            duration_to_millis(size, "size"), duration_to_millis(slide, "slide"), _offset(offset)
        )

    def assign_windows(
        self, element: T, timestamp: int, context: WindowAssigner.WindowAssignerContext
    ) -> list[TimeWindow]:
        """Return the windows that the clock is in, the latest first."""
        return self._windows(context.get_current_processing_time())


def _offset(offset: Time | Duration | int | None) -> int:
    return 0 if offset is None else duration_to_millis(offset, "offset")
