"""The serializer of Spark's rows: those of a DataFrame, and those that a program makes of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from rekindle.exceptions import SerializationError
from rekindle.serialization.composites.columns import Columns
from rekindle.serialization.composites.nullable_serializer import NullableSerializerSnapshot, nullable_part
from rekindle.serialization.encodings.msgpack_serializer import MsgpackSerializer
from rekindle.serialization.scalars.basic_serializers import BooleanSerializer
from rekindle.serialization.snapshots.named_fields_snapshot import NamedFieldsSnapshot
from rekindle.types.serializer_snapshot import TypeSerializerSnapshot
from rekindle.types.spark_rows import row_class, row_maker
from rekindle.types.type_serializer import TypeSerializer

__all__ = ["SparkRowSerializer", "SparkRowSerializerSnapshot"]


class SparkRowSerializer(MsgpackSerializer[Any]):
    """Serialize rows of a schema: records of a DataFrame, and ``pyspark.sql.Row(user=…, amount=…)``.

    Attributes:
        names: The names of the fields.
        fields: The serializers of the fields, each of which takes None.
    """

    packs = unpacks = True

    def __init__(self, names: Iterable[str], fields: Iterable[TypeSerializer[Any]]) -> None:
        from pyspark.sql import Row  # loaded with the first schema, as in spark_rows

        self.names = tuple(names)
        self.fields = tuple(fields)
        # Last comes whether the program has made the row: such rows are of another class.
        self._parts = Columns([*map(nullable_part, self.fields), BooleanSerializer()])
        self.packed_type = self._parts.packed_type
        self._row: Any = Row
        self._of_schema = row_class(self.names)
        self._make = row_maker(self.names)
        super().__init__()

    def is_row(self, value: Any) -> bool:
        """Return whether a value is a row with these fields, whatever is in them."""
        kind = type(value)
        if kind is self._of_schema:
            return len(value) == len(self.names)
        return kind is self._row and getattr(value, "__fields__", None) == list(self.names)

    def are_rows(self, kinds: set[type]) -> bool:
        """Return whether values of these classes are rows of the DataFrame."""
        return kinds == {self._of_schema}

    def pack(self, element: Any) -> tuple[Any, ...]:
        """Pack the fields, and which kind of row it is."""
        return self._parts.pack(self._record(element))

    def unpack(self, packed: tuple[Any, ...]) -> Any:
        """Make a row of the fields."""
        return self._made(self._parts.unpack(packed))

    def pack_all(self, elements: Sequence[Any]) -> list[Any]:
        """Pack many rows, column by column."""
        return self._parts.pack_all(list(map(self._record, elements))) or []

    def unpack_all(self, packed: list[Any]) -> list[Any]:
        """Unpack many rows, column by column."""
        return list(map(self._made, self._parts.unpack_all(packed)))

    def is_immutable_type(self) -> bool:
        """Return whether all fields are of types that never change."""
        return all(field.is_immutable_type() for field in self.fields)

    def snapshot_configuration(self) -> SparkRowSerializerSnapshot:
        """Return a snapshot with the names, and the snapshots of the fields."""
        return SparkRowSerializerSnapshot(self)

    def _record(self, element: Any) -> tuple[Any, ...]:
        if not self.is_row(element):
            raise SerializationError(
                f"{element!r} ({type(element).__name__}) is not of type {self._name()}: a Row is needed"
            )
        return (*element, type(element) is self._row)

    def _made(self, record: tuple[Any, ...]) -> Any:
        *values, by_program = record
        if not by_program:
            return self._make(tuple(values))
        row = self._row(*values)
        row.__fields__ = list(self.names)
        return row

    def _identity(self) -> tuple[Any, ...]:
        return self.names, self.fields

    def __repr__(self) -> str:
        return f"SparkRowSerializer({list(self.names)!r}, {list(self.fields)!r})"


class SparkRowSerializerSnapshot(NamedFieldsSnapshot[Any]):
    """Remember the names and types of the fields of rows."""

    def is_outer_snapshot_compatible(self, new_serializer: SparkRowSerializer) -> bool:
        """Return whether the fields have the same names: rows keep those that they had."""
        return self._names == new_serializer.names

    def create_outer_serializer_with_nested_serializers(
        self, nested_serializers: Sequence[TypeSerializer[Any]]
    ) -> SparkRowSerializer:
        """Return a serializer of rows of such fields, with the names there were."""
        return SparkRowSerializer(self._names, nested_serializers)

    def _shown(self, field: TypeSerializerSnapshot[Any]) -> TypeSerializerSnapshot[Any]:
        return without_none(field)


def without_none(snapshot: TypeSerializerSnapshot[Any]) -> TypeSerializerSnapshot[Any]:
    """Return what a snapshot says besides that None is taken: every column of Spark's may be null."""
    return snapshot.get_nested_snapshots()[0] if isinstance(snapshot, NullableSerializerSnapshot) else snapshot
