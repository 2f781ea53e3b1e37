"""Triggers that fire again and again while a window is open."""

from __future__ import annotations

from typing import Any

from rekindle.base.time import Duration, Time, duration_to_millis
from rekindle.base.type_variables import T
from rekindle.contracts.functions.basic_functions import ReduceFunction
from rekindle.contracts.state.state_descriptors import ReducingStateDescriptor
from rekindle.contracts.windowing.trigger import Trigger, TriggerResult
from rekindle.contracts.windowing.windows import TimeWindow
from rekindle.exceptions import ConfigurationError
from rekindle.types.typeinfo import Types

__all__ = ["ContinuousEventTimeTrigger", "ContinuousProcessingTimeTrigger", "Min"]


class Min(ReduceFunction):
    """Keep the lower of two values: of the times at which merged windows fire next, the earlier."""

    def reduce(self, value1: Any, value2: Any) -> Any:
        """Return the lower value."""
        return min(value1, value2)


class _ContinuousTrigger(Trigger[T, TimeWindow]):
    def __init__(self, interval: int) -> None:
        """Make the trigger.

        Args:
            interval: The time between two firings, in milliseconds.
        """
        if interval <= 0:
            raise ConfigurationError(f"the interval of a {type(self).__name__} must be above 0, got {interval} ms")
        self.interval = interval
        self.state_desc = ReducingStateDescriptor("fire-time", Min(), Types.LONG())

    def can_merge(self) -> bool:
        """Return True."""
        return True

    def register_next_fire_timestamp(
        self, time: int, window: TimeWindow, ctx: Trigger.TriggerContext, fire_timestamp_state: Any
    ) -> None:
        """Fire next an interval after a time, or at the end of the window if that is earlier."""
        next_fire = min(time + self.interval, window.max_timestamp())
        fire_timestamp_state.add(next_fire)
        self._register(ctx, next_fire)

    def on_merge(self, window: TimeWindow, ctx: Trigger.OnMergeContext) -> None:
        """Fire next when the first of the merged windows would have."""
        ctx.merge_partitioned_state(self.state_desc)
        next_fire = self._state(ctx).get()
        if next_fire is not None:
            self._register(ctx, next_fire)

    def clear(self, window: TimeWindow, ctx: Trigger.TriggerContext) -> None:
        """Fire no more."""
        state = self._state(ctx)
        next_fire = state.get()
        if next_fire is not None:
            self._delete(ctx, next_fire)
            state.clear()

    def _start(self, time: int, window: TimeWindow, ctx: Trigger.TriggerContext) -> None:
        """Fire first at the next multiple of the interval, unless that is settled."""
        state = self._state(ctx)
        if state.get() is None:
            self.register_next_fire_timestamp(time - time % self.interval, window, ctx, state)

    def _fire(self, time: int, window: TimeWindow, ctx: Trigger.TriggerContext) -> TriggerResult:
        """Fire if it is time, and settle when it is next."""
        state = self._state(ctx)
        if state.get() != time:
            return TriggerResult.CONTINUE
        state.clear()
        self.register_next_fire_timestamp(time, window, ctx, state)
        return TriggerResult.FIRE

    def _state(self, ctx: Trigger.TriggerContext) -> Any:
        return ctx.get_partitioned_state(self.state_desc)

    def _register(self, ctx: Trigger.TriggerContext, time: int) -> None:
        raise NotImplementedError

    def _delete(self, ctx: Trigger.TriggerContext, time: int) -> None:
        raise NotImplementedError


class ContinuousEventTimeTrigger(_ContinuousTrigger[T]):
    """Fire at intervals as the watermark advances, and at the end of the window."""

    @staticmethod
    def of(interval: Time | Duration | int) -> ContinuousEventTimeTrigger[Any]:
        """Return a trigger that fires at every multiple of an interval."""
        return ContinuousEventTimeTrigger(duration_to_millis(interval, "interval"))

    def on_element(self, element: T, timestamp: int, window: TimeWindow, ctx: Trigger.TriggerContext) -> TriggerResult:
        """Fire if the window is over already; else wait for the next time."""
        if window.max_timestamp() <= ctx.get_current_watermark():
            return TriggerResult.FIRE
        ctx.register_event_time_timer(window.max_timestamp())
        self._start(timestamp, window, ctx)
        return TriggerResult.CONTINUE

    def on_processing_time(self, time: int, window: TimeWindow, ctx: Trigger.TriggerContext) -> TriggerResult:
        """Do nothing."""
        return TriggerResult.CONTINUE

    def on_event_time(self, time: int, window: TimeWindow, ctx: Trigger.TriggerContext) -> TriggerResult:
        """Fire if it is time."""
        return TriggerResult.FIRE if time == window.max_timestamp() else self._fire(time, window, ctx)

    def _register(self, ctx: Trigger.TriggerContext, time: int) -> None:
        ctx.register_event_time_timer(time)

    def _delete(self, ctx: Trigger.TriggerContext, time: int) -> None:
        ctx.delete_event_time_timer(time)


class ContinuousProcessingTimeTrigger(_ContinuousTrigger[T]):
    """Fire every so often by the clock."""

    @staticmethod
    def of(interval: Time | Duration | int) -> ContinuousProcessingTimeTrigger[Any]:
        """Return a trigger that fires at every multiple of an interval."""
        return ContinuousProcessingTimeTrigger(duration_to_millis(interval, "interval"))

    def on_element(self, element: T, timestamp: int, window: TimeWindow, ctx: Trigger.TriggerContext) -> TriggerResult:
        """Wait for the next time."""
        self._start(ctx.get_current_processing_time(), window, ctx)
        return TriggerResult.CONTINUE

    def on_processing_time(self, time: int, window: TimeWindow, ctx: Trigger.TriggerContext) -> TriggerResult:
        """Fire if it is time."""
        return self._fire(time, window, ctx)

    def on_event_time(self, time: int, window: TimeWindow, ctx: Trigger.TriggerContext) -> TriggerResult:
        """Do nothing."""
        return TriggerResult.CONTINUE

    def _register(self, ctx: Trigger.TriggerContext, time: int) -> None:
        ctx.register_processing_time_timer(time)

    def _delete(self, ctx: Trigger.TriggerContext, time: int) -> None:
        ctx.delete_processing_time_timer(time)
