"""The serializer of keys whose type nobody gave, but which a DataFrame's schema tells: it takes any key, and keeps it.

Which keys are one is decided as for all keys without a type: when they are equal in Python. Only how they are written
is another matter, so that whoever reads a snapshot finds strings and numbers in it rather than pickles.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import Any

from rekindle.exceptions import SerializationError
from rekindle.serialization.composites.spark_row_serializer import without_none
from rekindle.serialization.encodings.pickle_serializer import PickleSerializer, PickleSerializerSnapshot
from rekindle.serialization.snapshots.composite_snapshot import CompositeTypeSerializerSnapshot
from rekindle.serialization.snapshots.type_change import UndeclaredTypeSnapshot
from rekindle.serialization.untyped.exact_fit import Fits, all_fit, exact_fit
from rekindle.types.compatibility import TypeSerializerSchemaCompatibility
from rekindle.types.serializer_snapshot import TypeSerializerSnapshot
from rekindle.types.type_serializer import BytesSerializer, TypeSerializer

__all__ = ["InferredKeySerializer", "InferredKeySerializerSnapshot"]

_TYPED = b"\1"  # no pickle begins with it: those are written as they are, and so pickled keys of old can be read


class InferredKeySerializer(BytesSerializer[Any]):
    """Serialize keys that fit a type exactly by its serializer, and all others by pickle.

    Attributes:
        inner: The serializer of the type.
    """

    takes_none = True

    def __init__(self, inner: TypeSerializer[Any]) -> None:
        fits = exact_fit(inner)
        if fits is None:
            raise TypeError(f"it is not known which keys come back from {inner!r} as they were")
        self.inner = inner
        self._fits: Fits = fits
        self._all_fit = all_fit(inner, fits)
        self._pickle = PickleSerializer()

    def to_bytes(self, element: Any) -> bytes:
        """Return a key as bytes."""
        if self._fits(element):
            with contextlib.suppress(SerializationError):  # text that is none, such as half of a surrogate pair
                return _TYPED + self.inner.to_bytes(element)
        return self._pickle.to_bytes(element)

    def from_bytes(self, data: bytes | memoryview) -> Any:
        """Return the key that these bytes were made of."""
        if data[:1] == _TYPED:
            return self.inner.from_bytes(memoryview(data)[1:])
        return self._pickle.from_bytes(data)

    def all_to_bytes(self, elements: Sequence[Any]) -> bytes:
        """Return many keys as bytes."""
        if self._all_fit(elements):
            with contextlib.suppress(SerializationError):
                return _TYPED + self.inner.all_to_bytes(elements)
        return self._pickle.all_to_bytes(elements)

    def all_from_bytes(self, data: bytes | memoryview) -> list[Any]:
        """Return the keys that these bytes were made of."""
        if data[:1] == _TYPED:
            return self.inner.all_from_bytes(memoryview(data)[1:])
        return self._pickle.all_from_bytes(data)

    def converted(self, elements: list[Any]) -> list[Any]:
        """Return the keys: they are not changed."""
        return elements

    def snapshot_configuration(self) -> InferredKeySerializerSnapshot:
        """Return a snapshot with that of the type."""
        return InferredKeySerializerSnapshot(self)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, InferredKeySerializer) and self.inner == other.inner

    def __hash__(self) -> int:
        return hash((InferredKeySerializer, self.inner))

    def __reduce__(self) -> tuple[Any, ...]:
        return InferredKeySerializer, (self.inner,)

    def __repr__(self) -> str:
        return f"InferredKeySerializer({self.inner!r})"


class InferredKeySerializerSnapshot(CompositeTypeSerializerSnapshot[Any], UndeclaredTypeSnapshot):
    """Remember which type keys were expected to be of.

    Since any key is taken, keys never have to be refused: those that were pickled are read, and where the schema has
    changed, the program goes on with the serializer that it had.
    """

    def get_current_outer_snapshot_version(self) -> int:
        """Return 1."""
        return 1

    def get_nested_serializers(self, outer_serializer: InferredKeySerializer) -> Sequence[TypeSerializer[Any]]:
        """Return the serializer of the type."""
        return (outer_serializer.inner,)

    def create_outer_serializer_with_nested_serializers(
        self, nested_serializers: Sequence[TypeSerializer[Any]]
    ) -> InferredKeySerializer:
        """Return a serializer of that type."""
        (inner,) = nested_serializers
        return InferredKeySerializer(inner)

    def resolve_schema_compatibility(
        self, old_serializer_snapshot: TypeSerializerSnapshot[Any]
    ) -> TypeSerializerSchemaCompatibility:
        """Say that pickled keys are read as they are, and that keys of another schema stay with that."""
        old = old_serializer_snapshot
        if isinstance(old, PickleSerializerSnapshot):
            return TypeSerializerSchemaCompatibility.compatible_as_is()
        result = super().resolve_schema_compatibility(old)
        if not isinstance(old, InferredKeySerializerSnapshot) or result.is_compatible_as_is():
            return result
        return old._kept()

    def becoming(self, new: TypeSerializerSnapshot[Any]) -> TypeSerializerSchemaCompatibility:
        """Return what becomes of keys when no schema tells of them any more, or the program gives their type."""
        known = without_none(self._nested[0])
        if isinstance(new, PickleSerializerSnapshot) or new.resolve_schema_compatibility(known).is_compatible_as_is():
            return self._kept()
        return TypeSerializerSchemaCompatibility.incompatible(
            f"the type was {self.describe()}, by the schema of a DataFrame, and is {new.describe()} now"
        )

    def nested_name(self, position: int) -> str:
        """Name the type of the schema."""
        return "type in the schema"

    def describe(self) -> str:
        """Name the type for people."""
        return without_none(self._nested[0]).describe()

    def _kept(self) -> TypeSerializerSchemaCompatibility:
        return TypeSerializerSchemaCompatibility.compatible_with_reconfigured_serializer(self.restore_serializer())
