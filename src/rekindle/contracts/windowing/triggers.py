"""Triggers that do not look at time: by count, never, and one that lets another drop what has fired."""

from __future__ import annotations

from operator import add
from typing import Any

from rekindle.base.type_variables import T, W
from rekindle.contracts.state.state_descriptors import ReducingStateDescriptor
from rekindle.contracts.windowing.trigger import Trigger, TriggerResult
from rekindle.types.typeinfo import Types

__all__ = ["CountTrigger", "NeverTrigger", "PurgingTrigger"]


class CountTrigger(Trigger[T, W]):
    """Fire whenever a number of elements has arrived in the window."""

    def __init__(self, window_size: int) -> None:
        """Make the trigger.

        Args:
            window_size: The number of elements.
        """
        self._window_size = window_size
        self._count_state_descriptor = ReducingStateDescriptor("count", add, Types.LONG())

    @staticmethod
    def of(window_size: int) -> CountTrigger[Any, Any]:
        """Return a trigger that fires whenever this many elements have arrived."""
        return CountTrigger(window_size)

    def on_element(self, element: T, timestamp: int, window: W, ctx: Trigger.TriggerContext) -> TriggerResult:
        """Fire if the number is reached; the elements stay."""
        count: Any = ctx.get_partitioned_state(self._count_state_descriptor)
        count.add(1)
        if count.get() < self._window_size:
            return TriggerResult.CONTINUE
        count.clear()
        return TriggerResult.FIRE

    def on_processing_time(self, time: int, window: W, ctx: Trigger.TriggerContext) -> TriggerResult:
        """Do nothing."""
        return TriggerResult.CONTINUE

    def on_event_time(self, time: int, window: W, ctx: Trigger.TriggerContext) -> TriggerResult:
        """Do nothing."""
        return TriggerResult.CONTINUE

    def can_merge(self) -> bool:
        """Return True."""
        return True

    def on_merge(self, window: W, ctx: Trigger.OnMergeContext) -> None:
        """Add the counts up."""
        ctx.merge_partitioned_state(self._count_state_descriptor)

    def clear(self, window: W, ctx: Trigger.TriggerContext) -> None:
        """Delete the count."""
        ctx.get_partitioned_state(self._count_state_descriptor).clear()

    def __repr__(self) -> str:
        return f"CountTrigger({self._window_size})"


class PurgingTrigger(Trigger[T, W]):
    """Fire when another trigger does, and drop the elements then."""

    def __init__(self, nested_trigger: Trigger[T, W]) -> None:
        """Make the trigger.

        Args:
            nested_trigger: Says when.
        """
        self._nested = nested_trigger

    @staticmethod
    def of(nested_trigger: Trigger[T, W]) -> PurgingTrigger[T, W]:
        """Return a trigger that fires when another does, and drops the elements."""
        return PurgingTrigger(nested_trigger)

    def on_element(self, element: T, timestamp: int, window: W, ctx: Trigger.TriggerContext) -> TriggerResult:
        """Ask the other trigger."""
        return _purging(self._nested.on_element(element, timestamp, window, ctx))

    def on_event_time(self, time: int, window: W, ctx: Trigger.TriggerContext) -> TriggerResult:
        """Ask the other trigger."""
        return _purging(self._nested.on_event_time(time, window, ctx))

    def on_processing_time(self, time: int, window: W, ctx: Trigger.TriggerContext) -> TriggerResult:
        """Ask the other trigger."""
        return _purging(self._nested.on_processing_time(time, window, ctx))

    def clear(self, window: W, ctx: Trigger.TriggerContext) -> None:
        """Clear the other trigger."""
        self._nested.clear(window, ctx)

    def can_merge(self) -> bool:
        """Return whether the other trigger can."""
        return self._nested.can_merge()

    def on_merge(self, window: W, ctx: Trigger.OnMergeContext) -> None:
        """Tell the other trigger."""
        self._nested.on_merge(window, ctx)

    def __repr__(self) -> str:
        return f"PurgingTrigger({self._nested!r})"


class NeverTrigger(Trigger[T, W]):
    """Never fire."""

    def on_element(self, element: T, timestamp: int, window: W, ctx: Trigger.TriggerContext) -> TriggerResult:
        """Do nothing."""
        return TriggerResult.CONTINUE

    def on_processing_time(self, time: int, window: W, ctx: Trigger.TriggerContext) -> TriggerResult:
        """Do nothing."""
        return TriggerResult.CONTINUE

    def on_event_time(self, time: int, window: W, ctx: Trigger.TriggerContext) -> TriggerResult:
        """Do nothing."""
        return TriggerResult.CONTINUE

    def on_merge(self, window: W, ctx: Trigger.OnMergeContext) -> None:
        """Do nothing."""

    def clear(self, window: W, ctx: Trigger.TriggerContext) -> None:
        """Do nothing."""


def _purging(result: TriggerResult) -> TriggerResult:
    return TriggerResult.FIRE_AND_PURGE if result.is_fire() else result
