"""The snapshot of a serializer that has nothing to remember but its class."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rekindle.base.type_variables import T
from rekindle.serialization.snapshots.type_change import type_changed
from rekindle.types.compatibility import TypeSerializerSchemaCompatibility
from rekindle.types.data_views import DataInputView, DataOutputView
from rekindle.types.serializer_snapshot import TypeSerializerSnapshot
from rekindle.types.type_serializer import TypeSerializer

__all__ = ["SimpleTypeSerializerSnapshot"]


class SimpleTypeSerializerSnapshot(TypeSerializerSnapshot[T]):
    """Remember a serializer that is the same wherever it is made. Each such serializer has a subclass of its own::

    class WordSerializerSnapshot(SimpleTypeSerializerSnapshot):
        def __init__(self):
            super().__init__(WordSerializer)
    """

    def __init__(self, serializer_supplier: Callable[[], TypeSerializer[T]]) -> None:
        """Remember how to make the serializer.

        Args:
            serializer_supplier: Makes it; its class will do.
        """
        self._supplier = serializer_supplier

    def get_current_version(self) -> int:
        """Return 1."""
        return 1

    def write_snapshot(self, output: DataOutputView) -> None:
        """Write nothing: the class of the snapshot says it all."""

    def read_snapshot(self, read_version: int, input_view: DataInputView) -> None:
        """Read nothing."""

    def restore_serializer(self) -> TypeSerializer[T]:
        """Return a new serializer."""
        return self._supplier()

    def resolve_schema_compatibility(
        self, old_serializer_snapshot: TypeSerializerSnapshot[Any]
    ) -> TypeSerializerSchemaCompatibility:
        """Say that snapshots of one class are compatible as they are, and others not at all."""
        if type(old_serializer_snapshot) is type(self):
            return TypeSerializerSchemaCompatibility.compatible_as_is()
        return type_changed(old_serializer_snapshot, self)
