"""What a snapshot of a serializer is."""

from __future__ import annotations

import functools
import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar, Generic

from rekindle.base.type_variables import T
from rekindle.types.compatibility import TypeSerializerSchemaCompatibility
from rekindle.types.data_views import DataInputView, DataOutputView
from rekindle.types.type_serializer import TypeSerializer

__all__ = ["TypeSerializerSnapshot"]

_NEW_SERIALIZER = "new_serializer"
_Resolve = Callable[[Any, Any], TypeSerializerSchemaCompatibility]


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

    def __init_subclass__(cls, **arguments: Any) -> None:
        """Let ``resolve_schema_compatibility`` be written, and called, as before Flink 1.19, too.

        There it was asked of the old snapshot, and given the new serializer. One that calls its parameter
        ``new_serializer`` is asked so; all others take a serializer in the place of the old snapshot as that question.
        """
        super().__init_subclass__(**arguments)
        own = cls.__dict__.get("resolve_schema_compatibility")
        if own is not None:
            cls._asked_of_the_old = _NEW_SERIALIZER in inspect.signature(own).parameters
            wrapper = _asking_the_old if cls._asked_of_the_old else _asking_the_new
            cls.resolve_schema_compatibility = wrapper(own)  # type: ignore[assignment,method-assign]

    _asked_of_the_old: ClassVar[bool] = False

    def describe(self) -> str:
        """Name the type for people."""
        return type(self).__name__.removesuffix("Snapshot")


def _asking_the_new(own: _Resolve) -> _Resolve:
    """Compare with an old snapshot; with a new serializer, the other way round."""

    @functools.wraps(own)
    def resolve(snapshot: Any, other: Any) -> TypeSerializerSchemaCompatibility:
        if isinstance(other, TypeSerializer):
            return other.snapshot_configuration().resolve_schema_compatibility(snapshot)
        return own(snapshot, other)

    return resolve


def _asking_the_old(own: _Resolve) -> _Resolve:
    """Compare with a new serializer; with an old snapshot of this kind, the other way round."""

    @functools.wraps(own)
    def resolve(snapshot: Any, other: Any) -> TypeSerializerSchemaCompatibility:
        if isinstance(other, TypeSerializer):
            return own(snapshot, other)
        if other._asked_of_the_old:
            result: TypeSerializerSchemaCompatibility = other.resolve_schema_compatibility(
                snapshot.restore_serializer()
            )
            return result
        return TypeSerializerSchemaCompatibility.incompatible(
            f"it was {other.describe()} and is {snapshot.describe()} now"
        )

    return resolve
