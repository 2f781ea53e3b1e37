"""The window operator over two streams: joins and co-groups of what has one key and is in one window.

An element is kept as a pair of the number of its stream and itself, so both streams share windows, triggers and state.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import repeat
from typing import Any

from rekindle.contracts.functions import CoGroupFunction, FlatJoinFunction, JoinFunction
from rekindle.runtime.chunk import Chunk
from rekindle.runtime.operators.roles import TwoInputOperator
from rekindle.runtime.operators.stateless import NOT_RESULTS, refused_results
from rekindle.runtime.operators.windows.window_operator import WindowOperator


class CoGroupOperator(WindowOperator, TwoInputOperator):
    """Run a JoinFunction, a FlatJoinFunction or a CoGroupFunction over the windows of each key of two streams."""

    def process(self, chunk: Chunk) -> Chunk:
        return super().process(_tagged(chunk, 0))

    def process_second(self, chunk: Chunk) -> Chunk:
        return super().process(_tagged(chunk, 1))

    def _caller(self) -> Callable[[Any, list[Any]], Any]:
        call = group_call(self.function)

        def called(_: Any, elements: list[Any]) -> Any:
            first = [value for side, value in elements if not side]
            second = [value for side, value in elements if side]
            return call(first, second) if elements else None

        return called


def group_call(function: Any) -> Callable[[list[Any], list[Any]], Any]:
    """Return what is called with the elements of both streams, and returns an iterable of results, or None."""
    match function:
        case JoinFunction():
            return lambda first, second: (function.join(one, two) for one in first for two in second)
        case FlatJoinFunction():
            return lambda first, second: (
                result for one in first for two in second for result in _results(function.join(one, two))
            )
        case CoGroupFunction():
            return function.co_group
    raise TypeError(f"{type(function).__name__} is not a function of two streams")


def _results(results: Any) -> Any:
    if type(results) in NOT_RESULTS and results is not None:
        raise refused_results(results)
    return results or ()


def _tagged(chunk: Chunk, side: int) -> Chunk:
    return Chunk(list(zip(repeat(side), chunk.values)), chunk.timestamps, chunk.keys)
