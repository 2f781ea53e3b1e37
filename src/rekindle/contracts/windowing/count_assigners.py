"""Assigners that do not look at time: windows of a number of elements, and the one global window."""

from __future__ import annotations

from typing import Any

from rekindle.base.type_variables import T
from rekindle.contracts.state.state_descriptors import ValueStateDescriptor
from rekindle.contracts.windowing.assigner import WindowAssigner
from rekindle.contracts.windowing.serializers import CountWindowSerializer, GlobalWindowSerializer
from rekindle.contracts.windowing.trigger import Trigger
from rekindle.contracts.windowing.triggers import CountTrigger, NeverTrigger, PurgingTrigger
from rekindle.contracts.windowing.windows import CountWindow, GlobalWindow
from rekindle.exceptions import ConfigurationError
from rekindle.types.type_serializer import TypeSerializer
from rekindle.types.typeinfo import Types

__all__ = ["CountSlidingWindowAssigner", "CountTumblingWindowAssigner", "GlobalWindows", "count_windows"]


class _CountWindows(WindowAssigner[T, CountWindow]):
    _window_size: int
    _count_descriptor: ValueStateDescriptor

    def get_default_trigger(self, env: Any) -> Trigger[T, CountWindow]:
        """Return the trigger that fires when a window is full, and then drops its elements: no more will come."""
        return PurgingTrigger(CountTrigger(self._window_size))

    def get_window_serializer(self) -> TypeSerializer[CountWindow]:
        """Return the serializer of count windows."""
        return CountWindowSerializer()

    def is_event_time(self) -> bool:
        """Return False."""
        return False

    def _next_number(self, context: WindowAssigner.WindowAssignerContext) -> int:
        """Count the elements of the current key, from 0."""
        state = context.get_runtime_context().get_state(self._count_descriptor)
        number: int = state.value() or 0
        state.update(number + 1)
        return number


class CountTumblingWindowAssigner(_CountWindows[T]):
    """Cut the elements of a key into windows of a fixed number, one after the other."""

    def __init__(self, window_size: int) -> None:
        """Make the assigner.

        Args:
            window_size: The number of elements of a window.
        """
        _check(window_size, "size")
        self._window_size = window_size
        self._count_descriptor = ValueStateDescriptor("tumble-count-assigner", Types.LONG())

    @staticmethod
    def of(window_size: int) -> CountTumblingWindowAssigner[Any]:
        """Return windows of this many elements."""
        return CountTumblingWindowAssigner(window_size)

    def assign_windows(
        self, element: T, timestamp: int, context: WindowAssigner.WindowAssignerContext
    ) -> list[CountWindow]:
        """Return the window that is being filled."""
        return [CountWindow(self._next_number(context) // self._window_size)]

    def __repr__(self) -> str:
        return f"CountTumblingWindowAssigner({self._window_size})"


class CountSlidingWindowAssigner(_CountWindows[T]):
    """Cut the elements of a key into windows of ``size`` elements, which begin every ``slide`` elements."""

    def __init__(self, window_size: int, window_slide: int) -> None:
        """Make the assigner.

        Args:
            window_size: The number of elements of a window.
            window_slide: How many elements after a window the next one begins.
        """
        _check(window_size, "size")
        _check(window_slide, "slide")
        self._window_size = window_size
        self._window_slide = window_slide
        self._count_descriptor = ValueStateDescriptor("slide-count-assigner", Types.LONG())

    @staticmethod
    def of(window_size: int, window_slide: int) -> CountSlidingWindowAssigner[Any]:
        """Return windows of ``size`` elements, which begin every ``slide`` elements."""
        return CountSlidingWindowAssigner(window_size, window_slide)

    def assign_windows(
        self, element: T, timestamp: int, context: WindowAssigner.WindowAssignerContext
    ) -> list[CountWindow]:
        """Return the windows that are being filled, the latest first."""
        number = self._next_number(context)
        slide = self._window_slide
        first = max(0, (number - self._window_size) // slide + 1)
        return [CountWindow(window) for window in range(number // slide, first - 1, -1)]

    def __repr__(self) -> str:
        return f"CountSlidingWindowAssigner({self._window_size}, {self._window_slide})"


class GlobalWindows(WindowAssigner[T, GlobalWindow]):
    """Put all elements of a key into one window, which fires only when a trigger of the program says so."""

    @staticmethod
    def create() -> GlobalWindows[Any]:
        """Return the assigner."""
        return GlobalWindows()

    def assign_windows(
        self, element: T, timestamp: int, context: WindowAssigner.WindowAssignerContext
    ) -> list[GlobalWindow]:
        """Return the one window."""
        return [GlobalWindow.get()]

    def get_default_trigger(self, env: Any) -> Trigger[T, GlobalWindow]:
        """Return the trigger that never fires."""
        return NeverTrigger()

    def get_window_serializer(self) -> TypeSerializer[GlobalWindow]:
        """Return the serializer of the global window."""
        return GlobalWindowSerializer()

    def is_event_time(self) -> bool:
        """Return False."""
        return False

    def __repr__(self) -> str:
        return "GlobalWindows()"


def count_windows(size: int, slide: int = 0) -> WindowAssigner[Any, CountWindow]:
    """Return the assigner of tumbling count windows, or of sliding ones if there is a slide."""
    return CountSlidingWindowAssigner(size, slide) if slide else CountTumblingWindowAssigner(size)


def _check(amount: int, what: str) -> None:
    if amount < 1:
        raise ConfigurationError(f"the {what} of a count window must be at least 1, got {amount}")
