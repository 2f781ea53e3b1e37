"""What assigners, triggers, evictors and window functions are given: time, timers, state of a key and window."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

from rekindle.base.clock import Clock
from rekindle.contracts.functions import (
    KeyedStateStore,
    ProcessAllWindowFunction,
    ProcessWindowFunction,
    RuntimeContext,
)
from rekindle.contracts.state import (
    AggregatingStateDescriptor,
    FoldingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    State,
    StateDescriptor,
    ValueStateDescriptor,
)
from rekindle.contracts.windowing.assigner import WindowAssigner
from rekindle.contracts.windowing.evictors import Evictor
from rekindle.contracts.windowing.trigger import Trigger
from rekindle.exceptions import InvalidCallError, InvalidProgramError
from rekindle.metrics import MetricGroup
from rekindle.runtime.operators.operator import MIN_WATERMARK
from rekindle.state.blocks import EVENT_TIMERS, PROCESSING_TIMERS
from rekindle.state.keyed_backend import KeyedStateBackend
from rekindle.state.scope import NamespacedState
from rekindle.types.type_serializer import TypeSerializer


class AssignerContext(WindowAssigner.WindowAssignerContext):
    """Serve a window assigner."""

    def __init__(self, clock: Clock, runtime_context: RuntimeContext) -> None:
        self._clock = clock
        self._runtime_context = runtime_context

    def get_current_processing_time(self) -> int:
        return self._clock.now()

    def get_runtime_context(self) -> RuntimeContext:
        return self._runtime_context


class WindowTriggerContext(Trigger.OnMergeContext, Evictor.EvictorContext):
    """Serve a trigger and an evictor.

    Attributes:
        window: The window that is asked about.
        merged: The windows that became ``window``, during ``on_merge``.
        watermark: The watermark.
    """

    def __init__(
        self, clock: Clock, backend: KeyedStateBackend, serializer: TypeSerializer[Any], metrics: MetricGroup
    ) -> None:
        self._clock = clock
        self._metrics = metrics
        self._backend = backend
        self._serializer = serializer
        self._states: dict[str, tuple[StateDescriptor, NamespacedState]] = {}
        self.event_timers = backend.timers(EVENT_TIMERS, serializer)
        self.processing_timers = backend.timers(PROCESSING_TIMERS, serializer)
        self.window: Any = None
        self.merged: Sequence[Any] = ()
        self.watermark = MIN_WATERMARK

    def get_current_processing_time(self) -> int:
        return self._clock.now()

    def get_current_watermark(self) -> int:
        return self.watermark

    def get_metric_group(self) -> MetricGroup:
        return self._metrics

    def register_processing_time_timer(self, time: int) -> None:
        self.processing_timers.register((self._backend.key, self.window), time)

    def register_event_time_timer(self, time: int) -> None:
        self.event_timers.register((self._backend.key, self.window), time)

    def delete_processing_time_timer(self, time: int) -> None:
        self.processing_timers.delete((self._backend.key, self.window), time)

    def delete_event_time_timer(self, time: int) -> None:
        self.event_timers.delete((self._backend.key, self.window), time)

    def get_partitioned_state(self, state_descriptor: StateDescriptor) -> Any:
        return self._namespaced(state_descriptor).use(self.window)

    def merge_partitioned_state(self, state_descriptor: StateDescriptor) -> None:
        self._namespaced(state_descriptor).merge(self.window, self.merged)

    def _namespaced(self, descriptor: StateDescriptor) -> NamespacedState:
        known = self._states.get(descriptor.get_name())
        if known is not None and known[0] is descriptor:
            return known[1]
        own = copy.copy(descriptor)
        own.name = f"_trigger-{descriptor.get_name()}"  # a function may have a state of this name, too
        state = self._backend.get_or_create_namespaced(own, self._serializer)
        self._states[descriptor.get_name()] = (descriptor, state)
        return state


class WindowFunctionContext(ProcessWindowFunction.Context[Any], ProcessAllWindowFunction.Context[Any]):
    """Serve a window function.

    Attributes:
        current: The window that fires.
    """

    def __init__(
        self, trigger: WindowTriggerContext, window_state: KeyedStateStore, global_state: KeyedStateStore
    ) -> None:
        self._trigger = trigger
        self._window_state = window_state
        self._global_state = global_state
        self.current: Any = None

    def window(self) -> Any:
        return self.current

    def current_processing_time(self) -> int:
        return self._trigger.get_current_processing_time()

    def current_watermark(self) -> int:
        return self._trigger.watermark

    def window_state(self) -> KeyedStateStore:
        return self._window_state

    def global_state(self) -> KeyedStateStore:
        return self._global_state


class WindowStateStore(KeyedStateStore):
    """Hand out state per key and window; not where windows merge: there it could not follow."""

    def __init__(self, backend: KeyedStateBackend, serializer: TypeSerializer[Any], merging: bool) -> None:
        self._backend = backend
        self._serializer = serializer
        self._merging = merging
        self.context: WindowFunctionContext | None = None

    def get_state(self, state_descriptor: Any) -> Any:
        return self._of_window(state_descriptor, ValueStateDescriptor)

    def get_list_state(self, state_descriptor: Any) -> Any:
        return self._of_window(state_descriptor, ListStateDescriptor)

    def get_map_state(self, state_descriptor: Any) -> Any:
        return self._of_window(state_descriptor, MapStateDescriptor)

    def get_reducing_state(self, state_descriptor: Any) -> Any:
        return self._of_window(state_descriptor, ReducingStateDescriptor)

    def get_aggregating_state(self, state_descriptor: Any) -> Any:
        return self._of_window(state_descriptor, AggregatingStateDescriptor)

    def get_folding_state(self, state_descriptor: Any) -> Any:
        return self._of_window(state_descriptor, FoldingStateDescriptor)

    def _of_window(self, descriptor: Any, wanted: type[StateDescriptor]) -> State:
        if not isinstance(descriptor, wanted):
            raise InvalidCallError(f"this kind of state is described by a {wanted.__name__}, got {descriptor!r}")
        if self._merging:
            raise InvalidProgramError(
                f"state {descriptor.get_name()!r} was asked for per window, and the windows of operator "
                f"{self._backend.owner.name!r} merge: use global_state() with session windows"
            )
        assert self.context is not None
        return self._backend.get_or_create_namespaced(descriptor, self._serializer).use(self.context.current)
