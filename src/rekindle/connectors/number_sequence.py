"""A source that counts."""

from __future__ import annotations

from operator import index
from typing import Any

import msgspec

from rekindle.runtime.chunk import Chunk
from rekindle.runtime.operators.operator_context import OperatorContext
from rekindle.runtime.operators.slot_source import SlotSource
from rekindle.runtime.operators.source_operator import SourceOperator
from rekindle.runtime.operators.sources import positions
from rekindle.state.operator_state.stored import DistributionMode, StoredList

__all__ = ["NumberSequenceSource"]


class NumberSequenceSource(SlotSource[int]):
    """Produce the numbers from ``start`` to ``end``, both included; in parallel, every subtask takes a part."""

    def __init__(self, start: int, end: int) -> None:
        start, end = sequence_number(start), sequence_number(end)
        if start > end:
            raise ValueError(f"a number sequence must ascend: start {start} is above end {end}")
        self._start = start
        self._end = end

    @property
    def kind(self) -> str:
        return "NumberSequenceOperator"

    def create_operator(self) -> SourceOperator:
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


class NumberSequenceOperator(SourceOperator):
    """Count from ``start`` to ``end``, both included; every subtask takes a part."""

    _SPLITS = "splits"

    def __init__(self, start: int, end: int) -> None:
        self.start = start
        self.end = end
        self._splits: list[tuple[int, int]] = []

    def open(self, context: OperatorContext) -> None:
        if context.restored.known:
            self._splits = positions(context.restored.lists.get(self._SPLITS), tuple[int, int])
        else:
            split = split_range(self.start, self.end, context.task.parallelism)[context.task.subtask]
            self._splits = [split] if split[0] <= split[1] else []

    def poll(self, max_records: int) -> Chunk | None:
        if not self._splits:
            return None
        current, end = self._splits[0]
        stop = min(current + max_records, end + 1)
        if stop > end:
            self._splits.pop(0)
        else:
            self._splits[0] = (stop, end)
        return Chunk(list(range(current, stop)))

    def finished(self) -> bool:
        return not self._splits

    def snapshot_lists(self) -> dict[str, StoredList]:
        return {self._SPLITS: StoredList.of(DistributionMode.SPLIT, map(msgspec.msgpack.encode, self._splits))}

    def read_lists_back(self, lists: dict[str, StoredList]) -> None:
        positions(lists.get(self._SPLITS), tuple[int, int])


def split_range(start: int, end: int, parts: int) -> list[tuple[int, int]]:
    """Cut ``start`` … ``end`` into contiguous parts of nearly the same size; a part may be empty (its end first)."""
    size, extra = divmod(end - start + 1, parts)
    result: list[tuple[int, int]] = []
    for part in range(parts):
        length = size + (part < extra)
        result.append((start, start + length - 1))
        start += length
    return result
