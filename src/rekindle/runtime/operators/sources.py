"""Sources that live in the slots: their positions are operator state."""

from __future__ import annotations

from typing import Any

import msgspec

from rekindle.runtime.chunk import Chunk
from rekindle.runtime.operators.operator import Operator, OperatorContext, SourceOperator
from rekindle.state.operator_state.stored import DistributionMode, StoredList


class CollectionSourceOperator(SourceOperator):
    """Read a list, in one subtask."""

    _POSITION = "position"

    def __init__(self, values: list[Any]) -> None:
        self.values = values
        self._next = 0

    def open(self, context: OperatorContext) -> None:
        for position in _positions(context.restored.lists.get(self._POSITION), int):
            self._next = position

    def poll(self, max_records: int) -> Chunk | None:
        if self.finished():
            return None
        values = self.values[self._next : self._next + max_records]
        self._next += len(values)
        return Chunk(values)

    def finished(self) -> bool:
        return self._next >= len(self.values)

    def position(self) -> dict[str, StoredList]:
        return {self._POSITION: StoredList.of(DistributionMode.SPLIT, [msgspec.msgpack.encode(self._next)])}

    def read_lists_back(self, lists: dict[str, StoredList]) -> None:
        _positions(lists.get(self._POSITION), int)


class NumberSequenceOperator(SourceOperator):
    """Count from ``start`` to ``end``, both included; every subtask takes a part."""

    _SPLITS = "splits"

    def __init__(self, start: int, end: int) -> None:
        self.start = start
        self.end = end
        self._splits: list[tuple[int, int]] = []

    def open(self, context: OperatorContext) -> None:
        if context.restored.known:
            self._splits = _positions(context.restored.lists.get(self._SPLITS), tuple[int, int])
        else:
            split = split_range(self.start, self.end, context.parallelism)[context.subtask]
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

    def position(self) -> dict[str, StoredList]:
        return {self._SPLITS: StoredList.of(DistributionMode.SPLIT, map(msgspec.msgpack.encode, self._splits))}

    def read_lists_back(self, lists: dict[str, StoredList]) -> None:
        _positions(lists.get(self._SPLITS), tuple[int, int])


class SparkSourceOperator(Operator):
    """Stand at the head of a DataFrame's records; Spark reads them and keeps the position."""

    passes_rows = True
    """Whether the records are Spark's rows as they are, so that they need not pass through here."""

    def process(self, chunk: Chunk) -> Chunk:
        return chunk


class TextLinesOperator(SparkSourceOperator):
    """Turn the rows of text that Spark reads into strings."""

    passes_rows = False

    def __init__(self, charset: str | None = None) -> None:
        """Describe the operator.

        Args:
            charset: The encoding of rows that hold bytes; None: they hold strings.
        """
        self.charset = charset

    def process(self, chunk: Chunk) -> Chunk:
        charset = self.charset
        if charset is None:
            return Chunk([row[0] for row in chunk.values])
        return Chunk([row[0].decode(charset, "replace") for row in chunk.values])


def _positions(stored: StoredList | None, kind: Any) -> list[Any]:
    return [] if stored is None else [msgspec.msgpack.decode(item, type=kind) for item in stored.items]


def split_range(start: int, end: int, parts: int) -> list[tuple[int, int]]:
    """Cut ``start`` … ``end`` into contiguous parts of nearly the same size; a part may be empty (its end first)."""
    size, extra = divmod(end - start + 1, parts)
    result: list[tuple[int, int]] = []
    for part in range(parts):
        length = size + (part < extra)
        result.append((start, start + length - 1))
        start += length
    return result
