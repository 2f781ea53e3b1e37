"""What a trigger is: it says when a window is evaluated, and when its elements are dropped."""

from __future__ import annotations

from abc import ABC, abstractmethod
from enum import Enum
from typing import TYPE_CHECKING, Generic

from rekindle.base.type_variables import IN, S, W

if TYPE_CHECKING:
    from rekindle.contracts.state.state_descriptors import StateDescriptor
    from rekindle.metrics import MetricGroup

__all__ = ["Trigger", "TriggerResult"]


class TriggerResult(Enum):
    """Say what happens to a window: is it evaluated, are its elements dropped."""

    CONTINUE = (False, False)
    FIRE_AND_PURGE = (True, True)
    FIRE = (True, False)
    PURGE = (False, True)

    def is_fire(self) -> bool:
        """Return whether the window is evaluated."""
        return self.value[0]

    def is_purge(self) -> bool:
        """Return whether the elements are dropped."""
        return self.value[1]


class Trigger(ABC, Generic[IN, W]):
    """Decide when a window fires. A trigger keeps nothing itself: its state is that of key and window."""

    class TriggerContext(ABC):
        """Give time, timers and state of the current key and window."""

        @abstractmethod
        def get_current_processing_time(self) -> int:
            """Return the wall-clock time, in milliseconds since the epoch."""

        @abstractmethod
        def get_metric_group(self) -> MetricGroup:
            """Return the group under which the trigger registers its metrics."""

        @abstractmethod
        def get_current_watermark(self) -> int:
            """Return the event-time watermark."""

        @abstractmethod
        def register_processing_time_timer(self, time: int) -> None:
            """Call ``on_processing_time`` for this key and window when the clock has reached a time."""

        @abstractmethod
        def register_event_time_timer(self, time: int) -> None:
            """Call ``on_event_time`` for this key and window when the watermark has reached a time."""

        @abstractmethod
        def delete_processing_time_timer(self, time: int) -> None:
            """Delete a timer, if it is there."""

        @abstractmethod
        def delete_event_time_timer(self, time: int) -> None:
            """Delete a timer, if it is there."""

        @abstractmethod
        def get_partitioned_state(self, state_descriptor: StateDescriptor[S]) -> S:
            """Return the state of the current key and window."""

    class OnMergeContext(TriggerContext):
        """Give what a trigger needs when windows merge; the current window is the result of the merge."""

        @abstractmethod
        def merge_partitioned_state(self, state_descriptor: StateDescriptor) -> None:
            """Merge the state of the merged windows into that of the current one."""

    @abstractmethod
    def on_element(self, element: IN, timestamp: int, window: W, ctx: Trigger.TriggerContext) -> TriggerResult:
        """Decide what happens when an element was added to a window."""

    @abstractmethod
    def on_processing_time(self, time: int, window: W, ctx: Trigger.TriggerContext) -> TriggerResult:
        """Decide what happens when a processing-time timer of a window is due."""

    @abstractmethod
    def on_event_time(self, time: int, window: W, ctx: Trigger.TriggerContext) -> TriggerResult:
        """Decide what happens when an event-time timer of a window is due."""

    def can_merge(self) -> bool:
        """Return whether the trigger can be used with windows that merge."""
        return False

    @abstractmethod
    def on_merge(self, window: W, ctx: Trigger.OnMergeContext) -> None:
        """Take over what was kept for windows that have merged into this one."""

    @abstractmethod
    def clear(self, window: W, ctx: Trigger.TriggerContext) -> None:
        """Delete state and timers of a window that is gone."""
