"""A source that counts."""

from __future__ import annotations

from operator import index
from typing import TYPE_CHECKING, Any

from rekindle.contracts.connectors import Source

if TYPE_CHECKING:
    from rekindle.runtime.operators.operator import SourceOperator

__all__ = ["NumberSequenceSource"]


class NumberSequenceSource(Source):
    """Produce the numbers from ``start`` to ``end``, both included; in parallel, every subtask takes a part."""

    def __init__(self, start: int, end: int) -> None:
        start, end = sequence_number(start), sequence_number(end)
        if start > end:
            raise ValueError(f"a number sequence goes upwards: start {start} is above end {end}")
        self._start = start
        self._end = end

    def create_operator(self) -> SourceOperator:
        from rekindle.runtime.operators.sources import NumberSequenceOperator

        return NumberSequenceOperator(self._start, self._end)


def sequence_number(end: Any) -> int:
    """Return an end of a sequence as an integer that a checkpoint can hold."""
    try:
        number = index(end)
    except TypeError:
        number = None
    if number is None or type(end) is bool:
        raise TypeError(f"a number sequence goes from one int to another, and was given {end!r}")
    if not -(1 << 63) <= number < 1 << 63:
        raise ValueError(f"a number sequence has numbers of 64 bits, and was given {end!r}")
    return number
