"""What snapshots of serializers of rows have in common: fields with names."""

from __future__ import annotations

from abc import ABC
from collections.abc import Sequence
from typing import Any, Generic, Protocol

from rekindle.base.type_variables import T
from rekindle.serialization.snapshots.composite_snapshot import CompositeTypeSerializerSnapshot
from rekindle.types.data_views import DataInputView, DataOutputView
from rekindle.types.serializer_snapshot import TypeSerializerSnapshot
from rekindle.types.type_serializer import TypeSerializer


class NamedFields(Protocol):
    """A serializer of rows."""

    names: tuple[str, ...]
    fields: tuple[TypeSerializer[Any], ...]


class NamedFieldsSnapshot(CompositeTypeSerializerSnapshot[T], ABC, Generic[T]):
    """Remember the names and types of the fields of rows."""

    def __init__(self, serializer: Any = None) -> None:
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
        self._names = tuple([input_view.read_utf() for _ in range(input_view.read_int())])

    def get_nested_serializers(self, outer_serializer: NamedFields) -> Sequence[TypeSerializer[Any]]:
        """Return the serializers of the fields."""
        return outer_serializer.fields

    def nested_name(self, position: int) -> str:
        """Name a field."""
        return f"field {self._names[position]!r}"

    def describe(self) -> str:
        """Name the type for people."""
        named = zip(self._names, map(self._shown, self._nested), strict=False)
        return f"ROW({', '.join(f'{name} {nested.describe()}' for name, nested in named)})"

    def _shown(self, field: TypeSerializerSnapshot[Any]) -> TypeSerializerSnapshot[Any]:
        """Return what is shown of a field."""
        return field
