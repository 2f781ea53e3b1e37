"""Reducing, aggregating and folding state on top of a value state that keeps the accumulator.

They serve every backend, and time-to-live: what expires and what is stored is the value state's business.
"""

from __future__ import annotations

import copy
from typing import Any

from rekindle.contracts.functions.basic_functions import AggregateFunction, FoldFunction, ReduceFunction
from rekindle.contracts.state import (
    AggregatingState,
    FoldingState,
    ReducingState,
    State,
    ValueState,
)


class _Accumulating(State):
    __slots__ = ("_inner",)

    def __init__(self, inner: ValueState[Any]) -> None:
        self._inner = inner

    def clear(self) -> None:
        self._inner.clear()

    def stored(self) -> Any:
        """Return the accumulator; None if there is none."""
        return self._inner.value()

    def store(self, accumulator: Any) -> None:
        """Replace the accumulator."""
        self._inner.update(accumulator)


class StoredReducingState(_Accumulating, ReducingState[Any]):
    """Keep the reduction of all that was added per key."""

    __slots__ = ("_reduce",)

    def __init__(self, inner: ValueState[Any], function: ReduceFunction) -> None:
        super().__init__(inner)
        self._reduce = function.reduce

    def get(self) -> Any:
        return self._inner.value()

    def add(self, value: Any) -> None:
        if value is None:
            self._inner.clear()
            return
        current = self._inner.value()
        self._inner.update(value if current is None else self._reduce(current, value))

    def merged(self, accumulator: Any, other: Any) -> Any:
        """Make one accumulator of two."""
        return self._reduce(accumulator, other)


class StoredAggregatingState(_Accumulating, AggregatingState[Any, Any]):
    """Keep an accumulator per key."""

    __slots__ = ("_function",)

    def __init__(self, inner: ValueState[Any], function: AggregateFunction) -> None:
        super().__init__(inner)
        self._function = function

    def get(self) -> Any:
        accumulator = self._inner.value()
        return None if accumulator is None else self._function.get_result(accumulator)

    def add(self, value: Any) -> None:
        if value is None:
            self._inner.clear()
            return
        accumulator = self._inner.value()
        if accumulator is None:
            accumulator = self._function.create_accumulator()
        self._inner.update(self._function.add(value, accumulator))

    def merged(self, accumulator: Any, other: Any) -> Any:
        """Make one accumulator of two."""
        return self._function.merge(accumulator, other)


class StoredFoldingState(_Accumulating, FoldingState[Any, Any]):
    """Keep all that was added per key folded into one."""

    __slots__ = ("_fold", "_initial")

    def __init__(self, inner: ValueState[Any], initial: Any, function: FoldFunction) -> None:
        super().__init__(inner)
        self._initial = initial
        self._fold = function.fold

    def get(self) -> Any:
        return self._inner.value()

    def add(self, value: Any) -> None:
        if value is None:
            self._inner.clear()
            return
        current = self._inner.value()
        self._inner.update(self._fold(_fresh(self._initial) if current is None else current, value))


def _fresh(initial: Any) -> Any:
    """Give each key an initial value of its own, which the fold function may change in place."""
    return initial if type(initial) in (int, float, str, bool, type(None)) else copy.deepcopy(initial)
