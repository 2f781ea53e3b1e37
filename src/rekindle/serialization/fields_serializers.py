"""Serializers of tuples and rows: records whose fields have types in an order."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Annotated, Any

import msgspec

from rekindle.common.types import Row, RowKind, row_from
from rekindle.exceptions import SerializationError
from rekindle.serialization.composite_snapshot import CompositeTypeSerializerSnapshot
from rekindle.serialization.data_views import DataInputView, DataOutputView
from rekindle.serialization.field_packing import packing_of_fields, unpacking_of_fields
from rekindle.serialization.msgpack_serializer import MsgpackSerializer, as_msgpack
from rekindle.serialization.nullable_serializer import nullable_part
from rekindle.serialization.type_serializer import TypeSerializer

__all__ = ["RowSerializer", "RowSerializerSnapshot", "TupleSerializer", "TupleSerializerSnapshot"]

_KINDS = tuple(RowKind)
_KIND_NUMBER = Annotated[int, msgspec.Meta(ge=0, le=len(_KINDS) - 1)]


class TupleSerializer(MsgpackSerializer[tuple[Any, ...]]):
    """Serialize tuples; a list or a row is made a tuple.

    Attributes:
        fields: The serializers of the fields.
    """

    packs = True

    def __init__(self, *fields: TypeSerializer[Any]) -> None:
        self.fields = fields
        parts = [as_msgpack(field) for field in fields]
        self.packed_type = tuple[tuple(part.packed_type for part in parts) or ((),)]  # type: ignore[misc]
        self.unpacks = any(part.unpacks for part in parts)
        self._pack_fields = packing_of_fields(parts)
        self.unpack = unpacking_of_fields(parts)  # type: ignore[method-assign, assignment]
        super().__init__()

    def pack(self, element: Any) -> tuple[Any, ...]:
        """Pack the fields."""
        if not isinstance(element, tuple | list | Row):
            raise SerializationError(f"{element!r} ({type(element).__name__}) is no {self._name()}: a tuple is needed")
        if len(element) != len(self.fields):
            raise SerializationError(f"{element!r} is no {self._name()}: it has {len(element)} fields")
        return self._pack_fields(element)

    def is_immutable_type(self) -> bool:
        """Return whether all fields are of types that never change."""
        return all(field.is_immutable_type() for field in self.fields)

    def create_instance(self) -> tuple[Any, ...]:
        """Return a tuple of empty fields."""
        return tuple(field.create_instance() for field in self.fields)

    def snapshot_configuration(self) -> TupleSerializerSnapshot:
        """Return a snapshot with those of the fields."""
        return TupleSerializerSnapshot(self)

    def _identity(self) -> tuple[Any, ...]:
        return self.fields

    def __repr__(self) -> str:
        return f"TupleSerializer({', '.join(map(repr, self.fields))})"


class TupleSerializerSnapshot(CompositeTypeSerializerSnapshot[tuple[Any, ...]]):
    """Remember of what types the fields of tuples were."""

    def get_current_outer_snapshot_version(self) -> int:
        """Return 1."""
        return 1

    def get_nested_serializers(self, outer_serializer: TupleSerializer) -> Sequence[TypeSerializer[Any]]:
        """Return the serializers of the fields."""
        return outer_serializer.fields

    def create_outer_serializer_with_nested_serializers(
        self, nested_serializers: Sequence[TypeSerializer[Any]]
    ) -> TupleSerializer:
        """Return a serializer of tuples of such fields."""
        return TupleSerializer(*nested_serializers)

    def nested_name(self, position: int) -> str:
        """Name a field."""
        return f"field {position}"

    def describe(self) -> str:
        """Name the type for people."""
        return f"TUPLE({', '.join(nested.describe() for nested in self._nested)})"


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
        self.names = tuple(names) if names is not None else tuple(f"f{i}" for i in range(len(self.fields)))
        self._name_list = list(self.names)
        parts = [nullable_part(field) for field in self.fields]
        self.packed_type = tuple[(*(part.packed_type for part in parts), _KIND_NUMBER)]  # type: ignore[misc]
        self._pack_fields = packing_of_fields(parts)
        self._unpack_fields = unpacking_of_fields(parts) if any(part.unpacks for part in parts) else None
        super().__init__()

    def pack(self, element: Any) -> tuple[Any, ...]:
        """Pack the fields, and the number of the kind after them."""
        if type(element) is Row:
            names = element._fields
            values = element._values if names is None or names == self._name_list else self._reordered(element)
            kind = element._row_kind.value
        else:
            values, kind = self._values_of(element), 0
        if len(values) != len(self.fields):
            raise SerializationError(f"{element!r} is no {self._name()}: it has {len(values)} fields")
        return (*self._pack_fields(values), kind)

    def unpack(self, packed: Any) -> Row:
        """Make a row of the fields, with names and kind."""
        *values, kind = packed
        row = row_from(values if self._unpack_fields is None else list(self._unpack_fields(values)), self._name_list)
        if kind:
            row._row_kind = _KINDS[kind]
        return row

    def create_instance(self) -> Row:
        """Return a row without values."""
        return row_from([None] * len(self.fields), self._name_list)

    def snapshot_configuration(self) -> RowSerializerSnapshot:
        """Return a snapshot with the names, and the snapshots of the fields."""
        return RowSerializerSnapshot(self)

    def _reordered(self, element: Row) -> list[Any]:
        try:
            return element.get_fields_by_names(self._name_list)
        except (ValueError, IndexError) as error:
            raise SerializationError(f"{element!r} is no {self._name()}: {error}") from error

    def _values_of(self, element: Any) -> list[Any]:
        if isinstance(element, tuple | list):
            return list(element)
        if isinstance(element, dict):
            return [element.get(name) for name in self.names]
        raise SerializationError(f"{element!r} ({type(element).__name__}) is no {self._name()}: a Row is needed")

    def _identity(self) -> tuple[Any, ...]:
        return (self.fields, self.names)

    def __repr__(self) -> str:
        return f"RowSerializer({list(self.fields)!r}, {self._name_list!r})"


class RowSerializerSnapshot(CompositeTypeSerializerSnapshot[Row]):
    """Remember the names and types of fields. The names may change: fields are found by their position."""

    def __init__(self, serializer: RowSerializer | None = None) -> None:
        """Remember a serializer; without one, :meth:`read_snapshot` says what to remember."""
        super().__init__(serializer)
        self._names: tuple[str, ...] = () if serializer is None else serializer.names

    def get_current_outer_snapshot_version(self) -> int:
        """Return 1."""
        return 1

    def write_outer_snapshot(self, output: DataOutputView) -> None:
        """Write the names of the fields."""
        output.write_int(len(self._names))
        for name in self._names:
            output.write_utf(name)

    def read_outer_snapshot(self, read_outer_snapshot_version: int, input_view: DataInputView) -> None:
        """Read the names of the fields."""
        self._names = tuple(input_view.read_utf() for _ in range(input_view.read_int()))

    def get_nested_serializers(self, outer_serializer: RowSerializer) -> Sequence[TypeSerializer[Any]]:
        """Return the serializers of the fields."""
        return outer_serializer.fields

    def create_outer_serializer_with_nested_serializers(
        self, nested_serializers: Sequence[TypeSerializer[Any]]
    ) -> RowSerializer:
        """Return a serializer of rows of such fields, with the names there were."""
        return RowSerializer(nested_serializers, self._names)

    def nested_name(self, position: int) -> str:
        """Name a field."""
        return f"field {self._names[position]!r}"

    def describe(self) -> str:
        """Name the type for people."""
        named = zip(self._names, self._nested, strict=False)
        return f"ROW({', '.join(f'{name} {nested.describe()}' for name, nested in named)})"
