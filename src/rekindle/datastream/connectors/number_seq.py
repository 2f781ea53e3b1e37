"""A source that counts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rekindle.datastream.connectors.base import Source

if TYPE_CHECKING:
    from rekindle.runtime.operators.operator import SourceOperator

__all__ = ["NumberSequenceSource"]


class NumberSequenceSource(Source):
    """Produce the numbers from ``start`` to ``end``, both included; in parallel, every subtask takes a part."""

    def __init__(self, start: int, end: int) -> None:
        if start > end:
            raise ValueError(f"a number sequence goes upwards: start {start} is above end {end}")
        self._start = start
        self._end = end

    def create_operator(self) -> SourceOperator:
        from rekindle.runtime.operators.sources import NumberSequenceOperator

        return NumberSequenceOperator(self._start, self._end)
