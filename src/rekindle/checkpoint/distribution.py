"""Sums up a number that is measured again and again: least, most, average, percentiles."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass

_VALUES_KEPT = 10_000


@dataclass(frozen=True, slots=True)
class Distribution:
    """Describe how numbers are spread. All is 0 where there are none.

    Attributes:
        count: How many there are.
        minimum: The least.
        maximum: The most.
        average: Their average, rounded down.
        values: What percentiles are computed from, in rising order.
    """

    count: int = 0
    minimum: int = 0
    maximum: int = 0
    average: int = 0
    values: tuple[int, ...] = ()

    def percentile(self, percent: float) -> float | None:
        """Return the value below which so many percent of all lie, None where there are no values.

        Between two values it lies where a straight line between them has it, as in Flink.
        """
        values = self.values
        if not values:
            return None
        position = percent / 100 * (len(values) + 1)
        below = int(position)
        if below < 1:
            return float(values[0])
        if below >= len(values):
            return float(values[-1])
        left, right = values[below - 1], values[below]
        return left + (position - below) * (right - left)


class DistributionRecorder:
    """Take in one number after the other.

    Least, most and average are of all of them, percentiles of the last ten thousand.
    """

    __slots__ = ("_count", "_maximum", "_minimum", "_sum", "_values")

    def __init__(self) -> None:
        self._count = self._sum = self._minimum = self._maximum = 0
        self._values: deque[int] = deque(maxlen=_VALUES_KEPT)

    def add(self, value: int) -> None:
        """Take in a number."""
        self._minimum = min(self._minimum, value) if self._count else value
        self._maximum = max(self._maximum, value) if self._count else value
        self._count += 1
        self._sum += value
        self._values.append(value)

    def distribution(self) -> Distribution:
        """Describe the numbers so far."""
        if not self._count:
            return Distribution()
        average = self._sum // self._count
        return Distribution(self._count, self._minimum, self._maximum, average, tuple(sorted(self._values)))


def distribution_of(values: Iterable[int]) -> Distribution:
    """Describe some numbers."""
    recorder = DistributionRecorder()
    for value in values:
        recorder.add(value)
    return recorder.distribution()
