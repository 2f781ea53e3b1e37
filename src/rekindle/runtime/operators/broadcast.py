"""Operators of the broadcast state pattern: a stream, keyed or not, and one of which every subtask sees all records."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from rekindle.base.clock import Clock
from rekindle.contracts.functions import (
    BroadcastProcessFunction,
    Function,
    KeyedBroadcastProcessFunction,
    KeyedStateFunction,
)
from rekindle.contracts.state import BroadcastState, MapStateDescriptor, ReadOnlyBroadcastState, StateDescriptor
from rekindle.exceptions import InvalidCallError, InvalidProgramError
from rekindle.runtime.at_work import at_record
from rekindle.runtime.chunk import Chunk
from rekindle.runtime.operators.keyed import KeyedContext
from rekindle.runtime.operators.no_timers import NoTimers
from rekindle.runtime.operators.operator_context import OperatorContext
from rekindle.runtime.operators.side_outputs import emitted, sorted_out
from rekindle.runtime.operators.stateless import StatelessContext, append_results
from rekindle.runtime.operators.two_input import CoOperator, KeyedCoOperator
from rekindle.state.keyed_backend import NO_KEY, KeyedStateBackend
from rekindle.state.operator_state.backend import OperatorStateBackend
from rekindle.state.operator_state.read_only import ReadOnlyView


class BroadcastOperator(CoOperator):
    """Run a BroadcastProcessFunction; the second input is the broadcast one."""

    function: BroadcastProcessFunction[Any, Any, Any]
    _context: _ReadOnlyContext
    _full: _FullContext

    def __init__(self, function: Function, descriptors: Sequence[MapStateDescriptor]) -> None:
        super().__init__(function)
        self.descriptors = tuple(descriptors)

    def open(self, context: OperatorContext) -> None:
        super().open(context)
        self._full = _FullContext(self._context)
        self._context.states.register(self.operator_state)

    def _new_context(self, context: OperatorContext) -> StatelessContext:
        return _ReadOnlyContext(context, BroadcastStates(context.task.name, self.descriptors))

    def process(self, chunk: Chunk) -> Chunk:
        return self._each(self.function.process_element, chunk)

    def process_second(self, chunk: Chunk) -> Chunk:
        return self._each(self.function.process_broadcast_element, chunk, self._full)


class KeyedBroadcastOperator(KeyedCoOperator):
    """Run a KeyedBroadcastProcessFunction; the second input is the broadcast one, and has no key."""

    function: KeyedBroadcastProcessFunction[Any, Any, Any, Any]
    second_input_is_broadcast = True
    _context: _KeyedReadOnlyContext
    _full: _KeyedFullContext

    def __init__(self, function: Function, descriptors: Sequence[MapStateDescriptor]) -> None:
        super().__init__(function)
        self.descriptors = tuple(descriptors)

    def open(self, context: OperatorContext) -> None:
        super().open(context)
        self._full = _KeyedFullContext(self._context, self.backend)
        self._context.states.register(self.operator_state)

    def _new_context(self, context: OperatorContext) -> KeyedContext:
        states = BroadcastStates(context.task.name, self.descriptors)
        return _KeyedReadOnlyContext(context.slot.clock, self.backend, states)

    def _process(self, chunk: Chunk) -> Chunk:
        return self._each(self.function.process_element, chunk)

    @at_record("value", key="self.backend.key", timestamp="timestamp")
    def process_second(self, chunk: Chunk) -> Chunk:
        call, own, full = self.function.process_broadcast_element, self._context, self._full
        values: list[Any] = []
        timestamps: list[int | None] | None = None if chunk.timestamps is None else []
        self.backend.key = NO_KEY
        for value, timestamp in zip(chunk.values, chunk.timestamps or [None] * len(chunk.values), strict=True):
            own.current_timestamp = timestamp
            append_results(call(value, full), values, timestamp, timestamps, emitted)
        self.backend.after_chunk(len(chunk.values))
        return sorted_out(values, timestamps)


class BroadcastStates:
    """Find the broadcast states of an operator by the descriptors that were given to ``broadcast``."""

    def __init__(self, operator: str, descriptors: Sequence[MapStateDescriptor]) -> None:
        self._operator = operator
        self._descriptors = {descriptor.get_name(): descriptor for descriptor in descriptors}
        self._states: dict[str, tuple[BroadcastState[Any, Any], ReadOnlyView]] = {}

    def register(self, store: OperatorStateBackend) -> None:
        """Get all states, with what was restored of them."""
        for name, descriptor in self._descriptors.items():
            state = store.get_broadcast_state(descriptor)
            self._states[name] = (state, ReadOnlyView(state, name))

    def find(self, descriptor: MapStateDescriptor) -> tuple[BroadcastState[Any, Any], ReadOnlyView]:
        """Return a state and its read-only view."""
        name = descriptor.get_name()
        known = self._descriptors.get(name)
        if known is not descriptor:
            if known is None or known != descriptor:
                raise InvalidProgramError(
                    f"operator {self._operator!r} has no broadcast state {descriptor!r}; pass this descriptor to "
                    f"broadcast(...), which was given {list(self._descriptors.values())}"
                )
            self._descriptors[name] = descriptor  # found at once the next time
        return self._states[name]


class _ReadOnlyContext(StatelessContext, BroadcastProcessFunction.ReadOnlyContext):
    """Serve the data side of a stream without a key."""

    def __init__(self, context: OperatorContext, states: BroadcastStates) -> None:
        super().__init__(context)
        self.states = states

    def get_broadcast_state(self, state_descriptor: MapStateDescriptor) -> ReadOnlyBroadcastState[Any, Any]:
        return self.states.find(state_descriptor)[1]


class _FullContext(NoTimers, BroadcastProcessFunction.Context):
    """Serve the broadcast side: time, which is that of the data side, but no timers, as there is no key."""

    def __init__(self, data_side: _ReadOnlyContext | _KeyedReadOnlyContext) -> None:
        self._data_side = data_side

    def get_broadcast_state(self, state_descriptor: MapStateDescriptor) -> BroadcastState[Any, Any]:
        return self._data_side.states.find(state_descriptor)[0]

    def timestamp(self) -> int | None:
        return self._data_side.current_timestamp

    def current_processing_time(self) -> int:
        return self._data_side.current_processing_time()

    def current_watermark(self) -> int:
        return self._data_side.watermark

    def _no_key(self) -> Exception:
        return InvalidCallError(
            "timers belong to a key, and there is none on the broadcast side: set them in process_element or on_timer "
            "of a KeyedBroadcastProcessFunction"
        )


class _KeyedReadOnlyContext(KeyedContext, KeyedBroadcastProcessFunction.OnTimerContext):
    """Serve the keyed data side and its timers."""

    def __init__(self, clock: Clock, backend: KeyedStateBackend, states: BroadcastStates) -> None:
        super().__init__(clock, backend)
        self.states = states

    def get_broadcast_state(self, state_descriptor: MapStateDescriptor) -> ReadOnlyBroadcastState[Any, Any]:
        return self.states.find(state_descriptor)[1]


class _KeyedFullContext(_FullContext, KeyedBroadcastProcessFunction.Context):
    """Serve the broadcast side of a keyed stream: no key, but the state of all of them."""

    def __init__(self, data_side: _KeyedReadOnlyContext, backend: KeyedStateBackend) -> None:
        super().__init__(data_side)
        self._backend = backend

    def apply_to_keyed_state(
        self, state_descriptor: StateDescriptor, function: KeyedStateFunction | Callable[[Any, Any], None]
    ) -> None:
        visit = function.process if isinstance(function, KeyedStateFunction) else function
        backend = self._backend
        state = backend.get_or_create(state_descriptor)
        try:
            for key in backend.keys(state_descriptor.get_name()):
                backend.key = key
                visit(key, state)
        finally:
            backend.key = NO_KEY
