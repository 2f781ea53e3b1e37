"""Arrow tables in the place of DataFrames, where there is no Spark to read these."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

import pyarrow as pa

from rekindle.exceptions import InvalidProgramError
from rekindle.graph.splits import SPLIT_COLUMNS, Split
from rekindle.runtime.exchange.arrow_batches import encode_batch


class ArrowFrame:
    """Rows in Arrow, which are read as Spark reads those of a DataFrame.

    Attributes:
        tables: What each epoch reads. Each Arrow batch in a table is read by a task of its own.
        streaming: Whether there is a table for each epoch, and the position is part of checkpoints.
    """

    def __init__(self, rows: pa.Table | Sequence[pa.Table], uid: str) -> None:
        """Take one table, which is read whole in one epoch, or a table for each epoch."""
        self.streaming = not isinstance(rows, pa.Table)
        self.tables = [rows] if isinstance(rows, pa.Table) else list(rows)
        if not self.tables or any(not isinstance(table, pa.Table) for table in self.tables):
            raise InvalidProgramError(f"source {uid!r} takes an Arrow table, or a list of at least one")
        if any(table.schema != self.tables[0].schema for table in self.tables):
            raise InvalidProgramError(f"the tables of source {uid!r} have different schemas")

    @cached_property
    def schema(self) -> Any:
        """Return the schema that a DataFrame of these rows has in Spark."""
        from pyspark.sql.pandas.types import from_arrow_schema  # needs no Java

        return from_arrow_schema(self.tables[0].schema)

    @cached_property
    def splits(self) -> list[Split]:
        """Return the splits that rows are from, of all tables."""
        columns = pa.concat_tables(self.tables).select(list(SPLIT_COLUMNS)).to_pydict().values()
        return sorted(set(zip(*columns, strict=True)))

    def tasks(self, epoch: int) -> list[pa.RecordBatch]:
        """Return the batches of the tasks of an epoch, counted from 0; past the last table there are none."""
        return self.tables[epoch].to_batches() if epoch < len(self.tables) else []


def frames_of(batch: pa.RecordBatch) -> Iterator[tuple[int, bytearray]]:
    """Return the frames of a task that reads a batch."""
    yield 0, bytearray(encode_batch(batch))
