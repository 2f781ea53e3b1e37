"""Evictors: they drop elements of a window when it fires, before or after the function sees them.

Flink has them in Java only. An evictor changes the list of elements that it is given.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, Generic, NamedTuple

from rekindle.base.time import Duration, Time, duration_to_millis
from rekindle.base.type_variables import IN, W
from rekindle.contracts.windowing.windows import MIN_TIMESTAMP
from rekindle.exceptions import ConfigurationError

__all__ = ["CountEvictor", "DeltaEvictor", "Evictor", "TimeEvictor", "TimestampedValue"]


class TimestampedValue(NamedTuple):
    """Hold an element of a window and its timestamp; -2^63 if it has none."""

    value: Any
    timestamp: int


class Evictor(ABC, Generic[IN, W]):
    """Drop elements of a window that fires."""

    class EvictorContext(ABC):
        """Provides the time."""

        @abstractmethod
        def get_current_processing_time(self) -> int:
            """Return the wall-clock time, in milliseconds since the epoch."""

        @abstractmethod
        def get_current_watermark(self) -> int:
            """Return the event-time watermark."""

    @abstractmethod
    def evict_before(self, elements: list[TimestampedValue], size: int, window: W, ctx: Evictor.EvictorContext) -> None:
        """Remove elements from the list before the function sees it.

        Args:
            elements: The elements of the window, in the order in which they came.
            size: How many there are.
            window: The window.
            ctx: Gives the time.
        """

    @abstractmethod
    def evict_after(self, elements: list[TimestampedValue], size: int, window: W, ctx: Evictor.EvictorContext) -> None:
        """Remove elements from the list after the function has seen it."""


class _BeforeOrAfter(Evictor[IN, W]):
    _do_evict_after: bool

    def evict_before(self, elements: list[TimestampedValue], size: int, window: W, ctx: Evictor.EvictorContext) -> None:
        """Remove elements, unless it is to be done afterwards."""
        if not self._do_evict_after:
            self._evict(elements)

    def evict_after(self, elements: list[TimestampedValue], size: int, window: W, ctx: Evictor.EvictorContext) -> None:
        """Remove elements, if it is to be done afterwards."""
        if self._do_evict_after:
            self._evict(elements)

    @abstractmethod
    def _evict(self, elements: list[TimestampedValue]) -> None:
        """Remove elements from the list."""


class CountEvictor(_BeforeOrAfter[IN, W]):
    """Keep the last elements, up to a maximum."""

    def __init__(self, max_count: int, do_evict_after: bool = False) -> None:
        """Make the evictor; see :meth:`of`."""
        if max_count < 0:
            raise ConfigurationError(f"a CountEvictor keeps 0 elements or more, got {max_count}")
        self._max_count = max_count
        self._do_evict_after = do_evict_after

    @staticmethod
    def of(max_count: int, do_evict_after: bool = False) -> CountEvictor[Any, Any]:
        """Return an evictor that keeps the last ``max_count`` elements.

        Args:
            max_count: How many to keep.
            do_evict_after: Whether the function sees all of them before.
        """
        return CountEvictor(max_count, do_evict_after)

    def _evict(self, elements: list[TimestampedValue]) -> None:
        del elements[: max(0, len(elements) - self._max_count)]


class TimeEvictor(_BeforeOrAfter[IN, W]):
    """Keep the elements whose timestamps are less than so far below the highest; all, where they have none."""

    def __init__(self, window_size: int, do_evict_after: bool = False) -> None:
        """Make the evictor; see :meth:`of`."""
        self._window_size = window_size
        self._do_evict_after = do_evict_after

    @staticmethod
    def of(window_size: Time | Duration | int, do_evict_after: bool = False) -> TimeEvictor[Any, Any]:
        """Return an evictor that keeps the elements of the last ``window_size``.

        Args:
            window_size: The time up to the highest timestamp.
            do_evict_after: Whether the function sees all elements before.
        """
        return TimeEvictor(duration_to_millis(window_size, "window_size"), do_evict_after)

    def _evict(self, elements: list[TimestampedValue]) -> None:
        if not elements or elements[0].timestamp == MIN_TIMESTAMP:
            return
        cutoff = max(element.timestamp for element in elements) - self._window_size
        elements[:] = [element for element in elements if element.timestamp > cutoff]


class DeltaEvictor(_BeforeOrAfter[IN, W]):
    """Keep the elements that are less than a threshold away from the last one."""

    def __init__(
        self, threshold: float, delta_function: Callable[[Any, Any], float], do_evict_after: bool = False
    ) -> None:
        """Make the evictor; see :meth:`of`."""
        self._threshold = threshold
        self._delta = delta_function
        self._do_evict_after = do_evict_after

    @staticmethod
    def of(
        threshold: float, delta_function: Callable[[Any, Any], float], do_evict_after: bool = False
    ) -> DeltaEvictor[Any, Any]:
        """Return an evictor that drops what is ``threshold`` or more away from the last element.

        Args:
            threshold: The distance.
            delta_function: Gives the distance of an element, its first argument, and the last one.
            do_evict_after: Whether the function sees all elements before.
        """
        return DeltaEvictor(threshold, delta_function, do_evict_after)

    def _evict(self, elements: list[TimestampedValue]) -> None:
        if elements:
            last = elements[-1].value
            elements[:] = [element for element in elements if self._delta(element.value, last) < self._threshold]
