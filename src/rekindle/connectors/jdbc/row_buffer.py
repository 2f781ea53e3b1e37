"""Rows that wait for their batch to fill up."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rekindle.connectors.jdbc.statements import BoundStatements, Run


class RowBuffer:
    """A batch of rows, in the order in which they came.

    Attributes:
        runs: What to execute for them.
    """

    def __init__(self, statements: BoundStatements, batch_size: int) -> None:
        self._statements = statements
        self._batch_size = batch_size
        self._records = 0
        self.runs: list[Run] = []

    def fill(self, values: list[Any]) -> Iterator[None]:
        """Add records; yield whenever the batch is full, and is to be cleared."""
        position = 0
        while position < len(values):
            part = values[position : position + self._batch_size - self._records]
            position += len(part)
            self._records += len(part)
            for index, rows in self._statements.runs(part):
                if self.runs and self.runs[-1][0] == index:
                    self.runs[-1][1].extend(rows)
                else:
                    self.runs.append((index, rows))
            if self._records >= self._batch_size and self.runs:
                yield
            elif not self.runs:  # nothing is executed for them: they were -U
                self._records = 0

    def clear(self) -> None:
        """Begin the next batch."""
        self.runs = []
        self._records = 0
