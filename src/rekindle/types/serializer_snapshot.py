"""What a snapshot of a serializer is."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Generic, TypeVar

from rekindle.types.compatibility import TypeSerializerSchemaCompatibility
from rekindle.types.data_views import DataInputView, DataOutputView
from rekindle.types.type_serializer import TypeSerializer

__all__ = ["TypeSerializerSnapshot"]

T = TypeVar("T")


class TypeSerializerSnapshot(ABC, Generic[T]):
    """Remember, with the state, how it was written, so that a later program can read it or be told why not.

    A snapshot is stored as the name of its class, a version and what :meth:`write_snapshot` wrote. It is read back by
    that name: the class stands at the top level of a module and has a constructor without arguments.
    """

    @abstractmethod
    def get_current_version(self) -> int:
        """Return the version of what :meth:`write_snapshot` writes."""

    @abstractmethod
    def write_snapshot(self, output: DataOutputView) -> None:
        """Write what has to be known of the serializer."""

    @abstractmethod
    def read_snapshot(self, read_version: int, input_view: DataInputView) -> None:
        """Read what a snapshot of this class wrote; ``read_version`` is at most the current one."""

    @abstractmethod
    def restore_serializer(self) -> TypeSerializer[T]:
        """Return a serializer that reads what was written then."""

    def restore_serializer_for(self, new_serializer_snapshot: TypeSerializerSnapshot[Any]) -> TypeSerializer[T]:
        """Return a serializer that reads what was written then, for a newer serializer to write it again.

        State is migrated by this: what it reads is given to the newer serializer. Override it where reading depends on
        what the value is to become, as it does with Avro, where the newer schema says what became of a field.

        Args:
            new_serializer_snapshot: The snapshot of the newer serializer, which is compatible after migration.
        """
        return self.restore_serializer()

    @abstractmethod
    def resolve_schema_compatibility(
        self, old_serializer_snapshot: TypeSerializerSnapshot[Any]
    ) -> TypeSerializerSchemaCompatibility:
        """Return whether the serializer this is the snapshot of goes on with what the older one wrote."""

    def describe(self) -> str:
        """Name the type for people."""
        return type(self).__name__.removesuffix("Snapshot")
