"""A chunk whose records are columns; rows are made of them only for who asks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from rekindle.columns.grouping import Codes
from rekindle.columns.python_values import column_values
from rekindle.columns.shapes import Shape, ShapeKind
from rekindle.runtime.chunk import Chunk
from rekindle.types.spark_rows import rows


class ColumnChunk(Chunk):
    """Hold records field by field.

    Attributes:
        fields: The columns.
        shape: What records they make.
        key_columns: The columns of the key; empty: records have none.
        single_key: Whether the key is one value, not a tuple.
        stamps: The timestamps; None: records have none.
    """

    __slots__ = (
        "_keys",
        "_lists",
        "_timestamps",
        "_values",
        "fields",
        "key_columns",
        "rows",
        "shape",
        "single_key",
        "stamps",
    )

    columnar: ClassVar[bool] = True

    def __init__(
        self,
        fields: Sequence[pa.Array],
        shape: Shape,
        key_columns: Sequence[pa.Array] = (),
        single_key: bool = True,
        stamps: Codes | None = None,
    ) -> None:
        self.fields = fields
        self.shape = shape
        self.key_columns = key_columns
        self.single_key = single_key
        self.stamps = stamps
        self.rows = len(fields[0])
        self.side = None
        self._lists: dict[int, list[Any]] = {}  # the values of columns, by the ids of those: a key is often a field
        self._values: list[Any] | None = None
        self._timestamps: list[int | None] | None = None
        self._keys: list[Any] | None = None

    def is_text(self) -> bool:
        column = self.fields[0]
        return self.shape.kind is ShapeKind.VALUE and pa.types.is_string(column.type) and not column.null_count

    def size(self) -> int:
        return self.rows

    @property
    def values(self) -> list[Any]:  # type: ignore[override]
        """Return the records, one by one."""
        if self._values is None:
            self._values = self.shape.records([self._list(field) for field in self.fields])
        return self._values

    def each(self) -> Iterable[Any]:
        if self._values is not None or self.shape.kind is not ShapeKind.ROW:
            return self.values
        # A row that is made when its turn comes, and gone after it, is never seen by the garbage collector.
        return rows(self.shape.names, zip(*[self._list(field) for field in self.fields], strict=True))

    def samples(self) -> list[Any]:
        if self._values is not None or self.rows <= 2:
            return super().samples()
        places = pa.array([0, self.rows // 2, self.rows - 1])
        return self.shape.records([column_values(field.take(places)) for field in self.fields])

    def _list(self, column: pa.Array) -> list[Any]:
        values = self._lists.get(id(column))
        if values is None:
            values = self._lists[id(column)] = column_values(column)
        return values

    @property
    def timestamps(self) -> list[int | None] | None:  # type: ignore[override]
        """Return the timestamps, one by one."""
        if self._timestamps is None and self.stamps is not None:
            self._timestamps = self.stamps.tolist()
        return self._timestamps

    @property
    def keys(self) -> list[Any] | None:  # type: ignore[override]
        """Return the keys, one by one."""
        if self._keys is None and self.key_columns:
            parts = [self._list(column) for column in self.key_columns]
            self._keys = parts[0] if self.single_key else list(zip(*parts, strict=True))
        return self._keys

    def keys_of(self, rows: Codes) -> list[Any]:
        """Return the keys of some rows."""
        parts = [column_values(column.take(pa.array(rows))) for column in self.key_columns]
        return parts[0] if self.single_key else list(zip(*parts, strict=True))

    def cut(self, start: int, stop: int) -> Chunk:
        if start == 0 and stop >= self.rows:
            return self
        columns = {id(column): column for column in (*self.fields, *self.key_columns)}
        parts = {place: column.slice(start, stop - start) for place, column in columns.items()}
        return ColumnChunk(
            [parts[id(field)] for field in self.fields],
            self.shape,
            [parts[id(column)] for column in self.key_columns],
            self.single_key,
            None if self.stamps is None else self.stamps[start:stop],
        )

    def part(self, tag: str | None) -> Chunk | None:
        return self if tag is None and self.rows else None

    def as_records(self) -> Chunk:
        """Return a chunk of the same records, as rows."""
        return Chunk(self.values, self.timestamps, self.keys)


class FoldedChunk(Chunk):
    """Hold what is left of records that were folded before they were sent.

    Attributes:
        key_columns: The columns of the key.
        single_key: Whether the key is one value, not a tuple.
        starts: Where the window of each entry begins.
        folded: What goes into each field of the accumulator; None where nothing does.
        firsts: The first record of each entry, field by field; empty: those are not known.
        stamps: The timestamps of these.
        records: How many records they were.
    """

    __slots__ = ("firsts", "folded", "key_columns", "records", "single_key", "stamps", "starts")

    def __init__(
        self,
        key_columns: Sequence[pa.Array],
        single_key: bool,
        starts: Codes,
        folded: Sequence[pa.Array | None],
        records: int,
        firsts: Sequence[pa.Array] = (),
        stamps: Codes | None = None,
    ) -> None:
        super().__init__([])
        self.key_columns = key_columns
        self.single_key = single_key
        self.starts = starts
        self.folded = folded
        self.firsts = firsts
        self.stamps = stamps
        self.records = records

    def size(self) -> int:
        return self.records

    def cut(self, start: int, stop: int) -> Chunk:
        return self

    def keys_of(self, rows: Codes) -> list[Any]:
        """Return the keys of some entries."""
        parts = [column_values(column.take(pa.array(rows))) for column in self.key_columns]
        return parts[0] if self.single_key else list(zip(*parts, strict=True))

    def first_record(self, row: int, shape: Shape) -> tuple[Any, int] | None:
        """Return the first record of an entry, of a shape, and its timestamp; None: it is not known."""
        if not self.firsts or self.stamps is None:
            return None
        (record,) = shape.records([column_values(field.slice(row, 1)) for field in self.firsts])
        return record, int(self.stamps[row])


def as_stamps(column: pa.Array) -> Codes:
    """Return a column of timestamps as numbers."""
    stamps: Codes = column.to_numpy(zero_copy_only=False).astype(np.int64, copy=False)
    return stamps
