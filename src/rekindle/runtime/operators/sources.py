"""Sources that live in the slots: their positions are operator state."""

from __future__ import annotations

from typing import Any

import msgspec

from rekindle.formats.record_forms import RecordForm
from rekindle.runtime.chunk import Chunk
from rekindle.runtime.operators.operator import Operator
from rekindle.runtime.operators.operator_context import OperatorContext
from rekindle.runtime.operators.source_operator import SourceOperator
from rekindle.state.operator_state.stored import DistributionMode, StoredList


class CollectionSourceOperator(SourceOperator):
    """Read a list, in one subtask."""

    _POSITION = "position"

    def __init__(self, values: list[Any]) -> None:
        self.values = values
        self._next = 0

    def open(self, context: OperatorContext) -> None:
        for position in positions(context.restored.lists.get(self._POSITION), int):
            self._next = position

    def poll(self, max_records: int) -> Chunk | None:
        if self.finished():
            return None
        values = self.values[self._next : self._next + max_records]
        self._next += len(values)
        return Chunk(values)

    def finished(self) -> bool:
        return self._next >= len(self.values)

    def snapshot_lists(self) -> dict[str, StoredList]:
        return {self._POSITION: StoredList.of(DistributionMode.SPLIT, [msgspec.msgpack.encode(self._next)])}

    def read_lists_back(self, lists: dict[str, StoredList]) -> None:
        positions(lists.get(self._POSITION), int)


class SparkSourceOperator(Operator):
    """Stand at the head of a DataFrame's records; Spark reads them and keeps the position."""

    def process(self, chunk: Chunk) -> Chunk:
        return chunk


class TextLinesOperator(SparkSourceOperator):
    """Turn the rows of text that Spark reads into strings."""

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


class FileRecordsOperator(SparkSourceOperator):
    """Turn the rows of files that Spark reads into other records."""

    def __init__(self, form: RecordForm) -> None:
        """Describe the operator.

        Args:
            form: What rows become.
        """
        self.form = form

    def process(self, chunk: Chunk) -> Chunk:
        return Chunk(self.form.records(chunk.each()))


def positions(stored: StoredList | None, kind: Any) -> list[Any]:
    """Read positions that were kept as msgpack."""
    return [] if stored is None else [msgspec.msgpack.decode(item, type=kind) for item in stored.items]
