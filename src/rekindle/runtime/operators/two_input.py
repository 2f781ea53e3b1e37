"""Operators with two inputs: one function sees the records of both, and shares its state between them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rekindle.contracts.functions import (
    CoFlatMapFunction,
    CoMapFunction,
    CoProcessFunction,
    Function,
    KeyedCoProcessFunction,
)
from rekindle.exceptions import InvalidCallError
from rekindle.runtime.at_work import at_record
from rekindle.runtime.chunk import Chunk
from rekindle.runtime.operators.keyed import KeyedContext, KeyedProcessOperator
from rekindle.runtime.operators.operator_context import OperatorContext
from rekindle.runtime.operators.roles import TwoInputOperator
from rekindle.runtime.operators.side_outputs import emitted, sorted_out
from rekindle.runtime.operators.stateless import StatelessContext, append_results
from rekindle.runtime.operators.user_function import UserFunctionOperator

Call = Callable[[Any, Any], Any]
"""What is called with a record and a context, and returns an iterable of results, or None."""


class CoOperator(UserFunctionOperator, TwoInputOperator):
    """Run a function over two streams without a key."""

    _context: StatelessContext

    def open(self, context: OperatorContext) -> None:
        self._context = self._new_context(context)
        super().open(context)

    def _new_context(self, context: OperatorContext) -> StatelessContext:
        return CoContext(context)

    def process(self, chunk: Chunk) -> Chunk:
        return self._each(co_calls(self.function)[0], chunk)

    def process_second(self, chunk: Chunk) -> Chunk:
        return self._each(co_calls(self.function)[1], chunk)

    @at_record("value", timestamp="timestamp")
    def _each(self, call: Call, chunk: Chunk, context: Any = None) -> Chunk:
        """Call a function for each record, with a context that is the operator's own or shows its time."""
        own = self._context
        context = context or own
        values: list[Any] = []
        timestamps: list[int | None] | None = None if chunk.timestamps is None else []
        for value, timestamp in zip(chunk.values, chunk.timestamps or [None] * len(chunk.values), strict=True):
            own.current_timestamp = timestamp
            append_results(call(value, context), values, timestamp, timestamps, emitted)
        return sorted_out(values, timestamps)

    def advance_watermark(self, watermark: int) -> None:
        self._context.watermark = watermark


class KeyedCoOperator(KeyedProcessOperator, TwoInputOperator):
    """Run a function over two keyed streams, with state and timers per key that both share."""

    function: Function  # type: ignore[assignment]

    def minds_other_keys(self) -> bool:
        return True  # the order of the two inputs is that of each key

    def _new_context(self, context: OperatorContext) -> KeyedContext:
        kind = KeyedCoContext if hasattr(self.function, "on_timer") else _NoTimersContext
        return kind(context.slot.clock, self.backend)

    def _process(self, chunk: Chunk) -> Chunk:
        return self._each(co_calls(self.function)[0], chunk)

    def process_second(self, chunk: Chunk) -> Chunk:
        self._announce(chunk)
        result = self._each(co_calls(self.function)[1], chunk)
        self.backend.after_chunk(len(chunk.values))
        return result


class CoContext(StatelessContext, CoProcessFunction.Context):
    """Give time to a CoProcessFunction, and refuse timers."""


class KeyedCoContext(KeyedContext, KeyedCoProcessFunction.OnTimerContext):
    """Give key, time and timers to a KeyedCoProcessFunction."""


class _NoTimersContext(KeyedCoContext):
    """Refuse timers on behalf of a function that could not react to them."""

    def register_processing_time_timer(self, timestamp: int) -> None:
        raise self._no_timers()

    def register_event_time_timer(self, timestamp: int) -> None:
        raise self._no_timers()

    def _no_timers(self) -> Exception:
        return InvalidCallError(
            "timers are for functions that have an on_timer: make the CoProcessFunction a KeyedCoProcessFunction"
        )


def co_calls(function: Any) -> tuple[Call, Call]:
    """Return what is called for a record of the first input and for one of the second."""
    match function:
        case CoMapFunction():
            return _mapping(function.map1), _mapping(function.map2)
        case CoFlatMapFunction():
            return _without_context(function.flat_map1), _without_context(function.flat_map2)
    return function.process_element1, function.process_element2


def _mapping(call: Callable[[Any], Any]) -> Call:
    def mapped(value: Any, _: Any) -> Any:
        result = call(value)
        return None if result is None else (result,)  # None is no result, as in PyFlink

    return mapped


def _without_context(call: Callable[[Any], Any]) -> Call:
    return lambda value, _: call(value)
