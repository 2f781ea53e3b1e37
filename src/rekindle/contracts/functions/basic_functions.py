"""Functions that see one element, or combine elements: map, flat map, filter, reduce, aggregate, key.

Functions with a context (time, timers, side outputs) live in ``process_functions``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Generic

from rekindle.base.type_variables import ACC, IN, KEY, OUT, T

if TYPE_CHECKING:
    from rekindle.contracts.functions.runtime_context import RuntimeContext

__all__ = [
    "AggregateFunction",
    "FilterFunction",
    "FlatMapFunction",
    "FoldFunction",
    "Function",
    "KeySelector",
    "MapFunction",
    "NullByteKeySelector",
    "Partitioner",
    "ReduceFunction",
]


class Function(ABC):  # noqa: B024 - open and close are optional, subclasses add the abstract method
    """Give all user functions their life cycle.

    One instance runs per subtask: ``open`` once before the first element, ``close`` once after the last.
    What ``__init__`` sets is pickled and sent to the subtasks, what ``open`` sets stays there.
    """

    def open(self, runtime_context: RuntimeContext) -> None:  # noqa: B027
        """Prepare for work: get state handles, open connections. Does nothing by default."""

    def close(self) -> None:  # noqa: B027
        """Release what ``open`` acquired. Does nothing by default."""


class MapFunction(Function, Generic[IN, OUT]):
    """Turn every element into exactly one other."""

    @abstractmethod
    def map(self, value: IN) -> OUT:
        """Return what ``value`` becomes."""


class FlatMapFunction(Function, Generic[IN, OUT]):
    """Turn every element into zero, one or more others."""

    @abstractmethod
    def flat_map(self, value: IN) -> Iterable[OUT] | None:
        """Yield, or return as an iterable, what ``value`` becomes; return None for nothing."""


class FilterFunction(Function, Generic[IN]):
    """Keep the elements for which a condition holds."""

    @abstractmethod
    def filter(self, value: IN) -> bool:
        """Return True to keep ``value``, False to drop it; ``value`` must not be changed."""


class ReduceFunction(Function, Generic[T]):
    """Combine two values into one of the same type, again and again, until one is left."""

    @abstractmethod
    def reduce(self, value1: T, value2: T) -> T:
        """Return ``value1``, the result so far, combined with ``value2``, the next element."""


class FoldFunction(Function, Generic[IN, ACC]):
    """Fold values into an accumulator of another type. Deprecated: use ``AggregateFunction``."""

    @abstractmethod
    def fold(self, accumulator: ACC, value: IN) -> ACC:
        """Return the accumulator with ``value`` folded in."""


class AggregateFunction(Function, Generic[IN, ACC, OUT]):
    """Aggregate values; input, accumulator and result may be of three types.

    The function itself holds nothing: each key (and window) has its own accumulator, which is what
    snapshots store. An average, for example, accumulates ``(count, sum)``.
    """

    @abstractmethod
    def create_accumulator(self) -> ACC:
        """Return the accumulator of an empty aggregate."""

    @abstractmethod
    def add(self, value: IN, accumulator: ACC) -> ACC:
        """Return the accumulator with ``value`` added; it may be changed in place and returned."""

    @abstractmethod
    def get_result(self, accumulator: ACC) -> OUT:
        """Return the aggregate's result so far."""

    @abstractmethod
    def merge(self, acc_a: ACC, acc_b: ACC) -> ACC:
        """Return one accumulator that holds both; either may be reused, neither is used again."""


class KeySelector(Function, Generic[IN, OUT]):
    """Extract the key by which a stream is partitioned."""

    @abstractmethod
    def get_key(self, value: IN) -> OUT:
        """Return the key of ``value``: hashable, and the same whenever asked again."""


class NullByteKeySelector(KeySelector[Any, int]):
    """Give every element the same key, so that keyed operators can serve streams without one."""

    def get_key(self, value: Any) -> int:
        """Return 0."""
        return 0


class Partitioner(Function, Generic[KEY]):
    """Choose the subtask that receives a key, for ``partition_custom``."""

    @abstractmethod
    def partition(self, key: KEY, num_partitions: int) -> int:
        """Return the index of the subtask for ``key``: at least 0, less than ``num_partitions``."""
