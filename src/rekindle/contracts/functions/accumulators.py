"""Accumulators: what functions count while a job runs, merged over all subtasks when it has finished. Flink's names."""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections import Counter
from typing import Any, ClassVar, Generic, Self, TypeVar

__all__ = [
    "Accumulator",
    "AverageAccumulator",
    "DoubleCounter",
    "DoubleMaximum",
    "DoubleMinimum",
    "Histogram",
    "IntCounter",
    "IntMaximum",
    "IntMinimum",
    "ListAccumulator",
    "LongCounter",
    "LongMaximum",
    "LongMinimum",
]

V = TypeVar("V")
R = TypeVar("R")


class Accumulator(ABC, Generic[V, R]):
    """Gather values in one subtask; those of all subtasks are merged. An own one can be pickled."""

    @abstractmethod
    def add(self, value: V) -> None:
        """Take a value."""

    @abstractmethod
    def get_local_value(self) -> R:
        """Return what was gathered."""

    @abstractmethod
    def reset_local(self) -> None:
        """Forget what was gathered."""

    @abstractmethod
    def merge(self, other: Self) -> None:
        """Take what another one of the same class has gathered."""

    def clone(self) -> Self:
        """Return a copy."""
        return copy.deepcopy(self)

    def __repr__(self) -> str:
        return f"{type(self).__name__} {self.get_local_value()}"


class _Folded(Accumulator[Any, Any]):
    """Hold one number, folded with each value by a function."""

    _start: ClassVar[Any] = 0

    @staticmethod
    @abstractmethod
    def _fold(one: Any, other: Any) -> Any: ...

    def __init__(self, value: Any = None) -> None:
        self._value = self._start if value is None else value

    def add(self, value: Any) -> None:
        """Take a value."""
        self._value = self._fold(self._value, value)

    def get_local_value(self) -> Any:
        """Return the number."""
        return self._value

    def reset_local(self) -> None:
        """Begin again."""
        self._value = self._start

    def merge(self, other: Self) -> None:
        """Take the number of another one."""
        self.add(other._value)


class IntCounter(_Folded):
    """Add up whole numbers."""

    @staticmethod
    def _fold(one: Any, other: Any) -> Any:
        return one + other


class LongCounter(IntCounter):
    """Add up whole numbers; Python's have no limit."""


class DoubleCounter(IntCounter):
    """Add up numbers with a fraction."""

    _start: ClassVar[Any] = 0.0


class IntMaximum(_Folded):
    """Keep the greatest whole number."""

    _start: ClassVar[Any] = -(1 << 31)

    @staticmethod
    def _fold(one: Any, other: Any) -> Any:
        return max(one, other)


class IntMinimum(_Folded):
    """Keep the least whole number."""

    _start: ClassVar[Any] = (1 << 31) - 1

    @staticmethod
    def _fold(one: Any, other: Any) -> Any:
        return min(one, other)


class LongMaximum(IntMaximum):
    """Keep the greatest whole number."""

    _start: ClassVar[Any] = -(1 << 63)


class LongMinimum(IntMinimum):
    """Keep the least whole number."""

    _start: ClassVar[Any] = (1 << 63) - 1


class DoubleMaximum(IntMaximum):
    """Keep the greatest number."""

    _start: ClassVar[Any] = float("-inf")


class DoubleMinimum(IntMinimum):
    """Keep the least number."""

    _start: ClassVar[Any] = float("inf")


class AverageAccumulator(Accumulator[float, float]):
    """Average numbers; 0.0 while there are none."""

    def __init__(self) -> None:
        self._sum, self._count = 0.0, 0

    def add(self, value: float) -> None:
        """Take a number."""
        self._sum += value
        self._count += 1

    def get_local_value(self) -> float:
        """Return the average."""
        return self._sum / self._count if self._count else 0.0

    def reset_local(self) -> None:
        """Forget all numbers."""
        self._sum, self._count = 0.0, 0

    def merge(self, other: Self) -> None:
        """Take the numbers of another one."""
        self._sum += other._sum
        self._count += other._count


class Histogram(Accumulator[int, dict[int, int]]):
    """Count how often each whole number was given."""

    def __init__(self) -> None:
        self._counts: Counter[int] = Counter()

    def add(self, value: int) -> None:
        """Count a number."""
        self._counts[value] += 1

    def get_local_value(self) -> dict[int, int]:
        """Return the counts by number, in the order of the numbers."""
        return dict(sorted(self._counts.items()))

    def reset_local(self) -> None:
        """Forget all counts."""
        self._counts.clear()

    def merge(self, other: Self) -> None:
        """Add the counts of another one."""
        self._counts.update(other._counts)


class ListAccumulator(Accumulator[Any, list[Any]]):
    """Keep all values. They are sent to the driver whole: for a few."""

    def __init__(self) -> None:
        self._values: list[Any] = []

    def add(self, value: Any) -> None:
        """Keep a value."""
        self._values.append(value)

    def get_local_value(self) -> list[Any]:
        """Return the values."""
        return self._values

    def reset_local(self) -> None:
        """Forget all values."""
        self._values = []

    def merge(self, other: Self) -> None:
        """Take the values of another one."""
        self._values += other._values
