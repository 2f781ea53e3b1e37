"""The serializer of rows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Annotated, Any

from msgspec import Meta, ValidationError, convert

from rekindle.exceptions import SerializationError
from rekindle.serialization.composites.columns import Columns
from rekindle.serialization.composites.nullable_serializer import nullable_part
from rekindle.serialization.encodings.msgpack_serializer import MsgpackSerializer
from rekindle.serialization.encodings.plain_check import holder_of
from rekindle.serialization.snapshots.named_fields_snapshot import NamedFieldsSnapshot
from rekindle.types.row import Row, RowKind, row_from
from rekindle.types.type_serializer import TypeSerializer

__all__ = ["RowSerializer", "RowSerializerSnapshot"]

_KINDS = tuple(RowKind)
_INSERT = RowKind.INSERT
_LIST_OR_TUPLE = (list, tuple)
_new_row = Row.__new__


class _KindNumber(MsgpackSerializer[int]):
    """Carry the number of a row's kind, behind its fields."""

    packed_type = plain_type = Annotated[int, Meta(ge=0, le=len(_KINDS) - 1)]


class RowSerializer(MsgpackSerializer[Row]):
    """Serialize rows and their kind. Fields may be None. A tuple, a list or a dict is made a row.

    Attributes:
        fields: The serializers of the fields.
        names: The names of the fields, which rows get that are read.
    """

    packs = unpacks = True

    def __init__(self, fields: Iterable[TypeSerializer[Any]], names: Iterable[str] | None = None) -> None:
        """Serialize rows.

        Args:
            fields: The serializers of the fields.
            names: The names of the fields; f0, f1, … if there are none.
        """
        self.fields = tuple(fields)
        self.always_readable = all(field.always_readable for field in self.fields)
        self.names = tuple(f"f{i}" for i in range(len(self.fields))) if names is None else tuple(names)
        if len(self.names) != len(self.fields):
            raise ValueError(f"a row of {len(self.fields)} fields cannot have the names {list(self.names)}")
        self._name_list = list(self.names)
        self._parts = Columns([*map(nullable_part, self.fields), _KindNumber()])
        self.packed_type = self._parts.packed_type
        plain = self._parts.plain_type
        self._plain_record = None if plain is None else holder_of(plain)
        self._plain_records = None if plain is None else holder_of(list[plain])  # type: ignore[valid-type]
        super().__init__()

    def pack(self, element: Any) -> tuple[Any, ...]:
        """Pack the fields, and the number of the kind after them."""
        record = self._record(element)
        if self._plain_record is not None:
            try:
                return convert((record,), self._plain_record).value  # type: ignore[no-any-return]
            except ValidationError:
                pass  # Something has to be packed, or is refused.
        return self._parts.pack(record)

    def unpack(self, packed: Any) -> Row:
        """Make a row of the fields, with names and kind."""
        *values, kind = self._parts.unpack(packed) if self._parts.unpacks else packed
        row = row_from(values, self._name_list)
        if kind:
            row._row_kind = _KINDS[kind]
        return row

    def pack_all(self, elements: Sequence[Any]) -> list[Any]:
        """Pack many rows, column by column."""
        names, size = self._name_list, len(self.fields)
        # Most rows are such that nothing is to be looked up: they take half the time of the others.
        records = [
            (*row._values, 0)
            if type(row) is Row
            and (row._fields is None or row._fields is names)
            and row._row_kind is _INSERT
            and len(row._values) == size
            else self._record(row)
            for row in elements
        ]
        if self._plain_records is not None:
            try:
                return convert((records,), self._plain_records).value  # type: ignore[no-any-return]
            except ValidationError:
                pass  # Something has to be packed, or is refused.
        return self._parts.pack_all(records) or []

    def unpack_all(self, packed: list[Any]) -> list[Any]:
        """Unpack many rows, column by column."""
        names, rows = self._name_list, []
        for *values, kind in self._parts.unpack_all(packed) if self._parts.unpacks else packed:
            row = _new_row(Row)
            row._values, row._fields, row._row_kind = values, names, _KINDS[kind]
            rows.append(row)
        return rows

    def create_instance(self) -> Row:
        """Return a row without values."""
        return row_from([None] * len(self.fields), self._name_list)

    def snapshot_configuration(self) -> RowSerializerSnapshot:
        """Return a snapshot with the names, and the snapshots of the fields."""
        return RowSerializerSnapshot(self)

    def _record(self, element: Any) -> tuple[Any, ...]:
        kind = 0
        if isinstance(element, Row):
            names = element._fields
            values = element._values if names is None or names == self._name_list else self._reordered(element)
            if element._row_kind is not _INSERT:
                kind = element._row_kind.value
        elif isinstance(element, dict):
            values = [element.get(name) for name in self.names]
        elif isinstance(element, _LIST_OR_TUPLE):
            values = list(element)
        else:
            raise SerializationError(
                f"{element!r} ({type(element).__name__}) is not of type {self._name()}: a Row is needed"
            )
        if len(values) != len(self.fields):
            raise SerializationError(f"{element!r} is not of type {self._name()}: it has {len(values)} fields")
        return (*values, kind)

    def _reordered(self, element: Row) -> list[Any]:
        try:
            return element.get_fields_by_names(self._name_list)
        except (ValueError, IndexError) as error:
            raise SerializationError(f"{element!r} is not of type {self._name()}: {error}") from error

    def _identity(self) -> tuple[Any, ...]:
        return (self.fields, self.names)

    def __repr__(self) -> str:
        return f"RowSerializer({list(self.fields)!r}, {self._name_list!r})"


class RowSerializerSnapshot(NamedFieldsSnapshot[Row]):
    """Remember the names and types of fields. The names may change: fields are found by their position."""

    def create_outer_serializer_with_nested_serializers(
        self, nested_serializers: Sequence[TypeSerializer[Any]]
    ) -> RowSerializer:
        """Return a serializer of rows of such fields, with the names there were."""
        return RowSerializer(nested_serializers, self._names)
