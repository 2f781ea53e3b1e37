"""How fields make a record: rows of a schema, tuples, or one value."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import Enum
from typing import Any

from rekindle.types.spark_rows import is_schema_row, row_class, row_maker


class ShapeKind(Enum):
    """Name the kinds of records."""

    ROW = "row"
    TUPLE = "tuple"
    VALUE = "value"


@dataclass(frozen=True, slots=True)
class Shape:
    """Say how fields make a record.

    Attributes:
        kind: What the record is.
        names: The names of its fields; those of tuples and of single values have none, and are counted.
    """

    kind: ShapeKind
    names: tuple[str, ...]

    @staticmethod
    def row(names: Iterable[str]) -> Shape:
        """Return the shape of a DataFrame's rows."""
        return Shape(ShapeKind.ROW, tuple(names))

    @staticmethod
    def tuple(count: int) -> Shape:
        """Return the shape of tuples."""
        return Shape(ShapeKind.TUPLE, ("",) * count)

    @staticmethod
    def value() -> Shape:
        """Return the shape of records that are one value."""
        return Shape(ShapeKind.VALUE, ("",))

    def __len__(self) -> int:
        return len(self.names)

    def records(self, columns: list[list[Any]]) -> list[Any]:
        """Make records of their fields, column by column."""
        if self.kind is ShapeKind.VALUE:
            return columns[0]
        rows = zip(*columns, strict=True)
        return list(map(row_maker(self.names), rows)) if self.kind is ShapeKind.ROW else list(rows)

    def fields(self, records: list[Any]) -> list[Any]:
        """Take records apart: an iterable for each field."""
        return [records] if self.kind is ShapeKind.VALUE else list(zip(*records, strict=True))

    def fits(self, record: Any) -> bool:
        """Return whether a value is a record of this shape, with these fields in this order.

        Rows in state may have been made of a DataFrame whose columns had other names, or came in another order: what
        is read of those by name is not what stands in the same place here.
        """
        kind = type(record)
        if self.kind is ShapeKind.VALUE:
            return not issubclass(kind, tuple | list)
        if self.kind is ShapeKind.ROW and kind is not row_class(self.names):  # made anew once it is forgotten
            if not is_schema_row(kind) or tuple(kind.__fields__) != self.names:
                return False
        elif self.kind is ShapeKind.TUPLE and kind is not tuple:
            return False
        return len(record) == len(self)


VALUE = Shape.value()

RecordMaker = Callable[[list[list[Any]]], list[Any]]
