"""Operators without state of their own: map, flat_map, filter, process on streams without a key."""

from __future__ import annotations

from collections.abc import Callable
from itertools import compress
from typing import Any, ClassVar

from rekindle.contracts.functions import ProcessFunction
from rekindle.exceptions import InvalidCallError
from rekindle.runtime.at_work import at_record
from rekindle.runtime.chunk import Chunk
from rekindle.runtime.operators.no_timers import NoTimers
from rekindle.runtime.operators.operator import MIN_WATERMARK, Operator
from rekindle.runtime.operators.operator_context import OperatorContext
from rekindle.runtime.operators.result_copies import FIXED, unshared
from rekindle.runtime.operators.side_outputs import emitted, sorted_out
from rekindle.runtime.operators.user_function import UserFunctionOperator

NOT_RESULTS = frozenset({type(None), str, bytes, bytearray, dict})
"""What cannot have been meant as several results. One test finds None and these, in 10 ns more than one for None."""


class FunctionOperator(UserFunctionOperator):
    """Call a method of a user function per record."""

    method: ClassVar[str]

    def _call(self) -> Callable[..., Any]:
        call: Callable[..., Any] = getattr(self.function, self.method)
        return call


class MapOperator(FunctionOperator):
    """Turn each record into one."""

    method = "map"

    @at_record("value")
    def process(self, chunk: Chunk) -> Chunk:
        call = self._call()
        values: list[Any] = []
        append = values.append
        for value in chunk.each():
            result = call(value)
            append(result if type(result) in FIXED else unshared(result))
        return Chunk(values, chunk.timestamps)


class FilterOperator(FunctionOperator):
    """Keep the records for which the function says yes."""

    method = "filter"

    @at_record(remaining="remaining")
    def process(self, chunk: Chunk) -> Chunk:
        call, remaining = self._call(), iter(chunk.values)
        if chunk.timestamps is None:
            return Chunk([value for value in remaining if call(value)])
        kept = [bool(call(value)) for value in remaining]
        return Chunk(list(compress(chunk.values, kept)), list(compress(chunk.timestamps, kept)))


class FlatMapOperator(FunctionOperator):
    """Turn each record into any number."""

    method = "flat_map"

    def process(self, chunk: Chunk) -> Chunk:
        return expand(self._call(), chunk)


class PassOperator(Operator):
    """Pass records on as they are."""

    def process(self, chunk: Chunk) -> Chunk:
        return Chunk(chunk.values, chunk.timestamps)


class ProcessOperator(FunctionOperator):
    """Run a ProcessFunction."""

    method = "process_element"

    _context: StatelessContext

    def open(self, context: OperatorContext) -> None:
        super().open(context)
        self._context = StatelessContext(context)

    @at_record("value", timestamp="timestamp")
    def process(self, chunk: Chunk) -> Chunk:
        call, context = self._call(), self._context
        values: list[Any] = []
        timestamps: list[int | None] = []
        append, stamp = values.append, timestamps.append
        for value, timestamp in zip(chunk.each(), chunk.timestamps or [None] * chunk.size(), strict=True):
            context.current_timestamp = timestamp
            results = call(value, context)
            if type(results) not in NOT_RESULTS:
                for result in results:
                    append(result if type(result) in FIXED else emitted(result))
                    stamp(timestamp)
            elif results is not None:
                raise refused_results(results)
        return sorted_out(values, None if chunk.timestamps is None else timestamps)

    def advance_watermark(self, watermark: int) -> None:
        self._context.watermark = watermark


class StatelessContext(NoTimers, ProcessFunction.Context):
    """Give time, and refuse timers: they belong to a key."""

    def __init__(self, context: OperatorContext) -> None:
        self._clock = context.slot.clock
        self._name = context.task.name
        self.current_timestamp: int | None = None
        self.watermark = MIN_WATERMARK

    def timestamp(self) -> int | None:
        return self.current_timestamp

    def current_processing_time(self) -> int:
        return self._clock.now()

    def current_watermark(self) -> int:
        return self.watermark

    def _no_key(self) -> Exception:
        return InvalidCallError(
            f"timers can be set only on a keyed stream, and the input of operator {self._name!r} has no key: "
            "call key_by(...) before it and use a KeyedProcessFunction"
        )


@at_record("value", timestamp="timestamp")
def expand(call: Callable[[Any], Any], chunk: Chunk) -> Chunk:
    """Call a function that returns an iterable, or None, for every record, and string the results together.

    Any iterable will do, a str or a dict as well: a flat map that takes them apart may mean it, as in PyFlink.
    """
    values: list[Any] = []
    append = values.append
    if chunk.timestamps is None:
        for value in chunk.each():
            results = call(value)
            if results is not None:
                for result in results:
                    append(result if type(result) in FIXED else unshared(result))
        return Chunk(values)
    timestamps: list[int | None] = []
    for value, timestamp in zip(chunk.values, chunk.timestamps, strict=True):
        results = call(value)
        if results is not None:
            for result in results:
                append(result if type(result) in FIXED else unshared(result))
                timestamps.append(timestamp)
    return Chunk(values, timestamps)


def refused_results(results: Any) -> Exception:
    """Return the error for a single value where a function has to return its results."""
    names: dict[type, str] = {dict: "its keys", str: "its characters"}
    parts = names.get(type(results), "its bytes as numbers")
    return InvalidCallError(
        f"the function returned a {type(results).__name__}, of which {parts} would be the results: yield the value, or "
        "return a list of results"
    )


def append_results(
    results: Any,
    values: list[Any],
    timestamp: int | None,
    timestamps: list[int | None] | None,
    detach: Callable[[Any], Any] = unshared,
) -> None:
    """Add what a function returned, with the timestamp of the record that caused it."""
    if type(results) in NOT_RESULTS:
        if results is None:
            return
        raise refused_results(results)
    for result in results:
        values.append(result if type(result) in FIXED else detach(result))
    if timestamps is not None:
        timestamps.extend([timestamp] * (len(values) - len(timestamps)))
