"""The serializer of what an annotation, or the schema of a DataFrame, says and nobody promised.

It takes any value, and loses nothing of it.
"""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Sequence
from enum import Enum
from typing import Any

import msgspec

from rekindle.exceptions import RekindleError, SerializationError
from rekindle.serialization.classes.class_names import require_lasting_name
from rekindle.serialization.classes.dataclass_serializer import DataclassSerializer
from rekindle.serialization.encodings.pickle_serializer import PickleSerializer, PickleSerializerSnapshot
from rekindle.serialization.snapshots.composite_snapshot import CompositeTypeSerializerSnapshot
from rekindle.serialization.snapshots.type_change import UndeclaredTypeSnapshot
from rekindle.serialization.untyped.exact_fit import all_fit, exact_fit
from rekindle.types.compatibility import TypeSerializerSchemaCompatibility
from rekindle.types.serializer_snapshot import TypeSerializerSnapshot
from rekindle.types.type_serializer import BytesSerializer, TypeSerializer

__all__ = ["HintedSerializer", "HintedSerializerSnapshot", "hinted_serializer"]

_PICKLED, _TYPED = b"\0", b"\1"


class HintedSerializer(BytesSerializer[Any]):
    """Serialize values that fit a type exactly by its serializer, so that they evolve, and all others by pickle.

    Attributes:
        inner: The serializer of the type.
    """

    def __init__(self, inner: TypeSerializer[Any]) -> None:
        self.inner = inner
        self._fits = exact_fit(inner)
        self._all_fit = None if self._fits is None else all_fit(inner, self._fits)
        self._pickle = PickleSerializer()

    def to_bytes(self, element: Any) -> bytes:
        """Return an element as bytes."""
        if self._fits is not None and self._fits(element):
            with contextlib.suppress(SerializationError):  # text that is none, such as half of a surrogate pair
                return _TYPED + self.inner.to_bytes(element)
        return _PICKLED + self._pickle.to_bytes(element)

    def from_bytes(self, data: bytes | memoryview) -> Any:
        """Return the element that these bytes were made of."""
        if data[:1] == _TYPED:
            return self.inner.from_bytes(memoryview(data)[1:])
        element = self._pickle.from_bytes(memoryview(data)[1:])
        if isinstance(self.inner, DataclassSerializer) and type(element) is self.inner.cls:
            self.inner.add_missing_fields(element)
        return element

    def all_to_bytes(self, elements: Sequence[Any]) -> bytes:
        """Return many elements as bytes: all by the serializer of the type, or each with a byte that says how."""
        if self._all_fit is not None and self._all_fit(elements):
            with contextlib.suppress(SerializationError):
                return _TYPED + self.inner.all_to_bytes(elements)
        return super().all_to_bytes(elements)

    def all_from_bytes(self, data: bytes | memoryview) -> list[Any]:
        """Return the elements that these bytes were made of."""
        if data[:1] == _TYPED:  # the others begin with a list of msgpack's
            return self.inner.all_from_bytes(memoryview(data)[1:])
        return super().all_from_bytes(data)

    def snapshot_configuration(self) -> HintedSerializerSnapshot:
        """Return a snapshot with that of the type."""
        return HintedSerializerSnapshot(self)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, HintedSerializer) and self.inner == other.inner

    def __hash__(self) -> int:
        return hash((HintedSerializer, self.inner))

    def __reduce__(self) -> tuple[Any, ...]:
        return HintedSerializer, (self.inner,)

    def __repr__(self) -> str:
        return f"HintedSerializer({self.inner!r})"


class HintedSerializerSnapshot(CompositeTypeSerializerSnapshot[Any], UndeclaredTypeSnapshot):
    """Remember which type values were expected to be of; what was pickled before there was a hint is read."""

    hinted = True

    def get_current_outer_snapshot_version(self) -> int:
        """Return 1."""
        return 1

    def get_nested_serializers(self, outer_serializer: HintedSerializer) -> Sequence[TypeSerializer[Any]]:
        """Return the serializer of the type."""
        return (outer_serializer.inner,)

    def create_outer_serializer_with_nested_serializers(
        self, nested_serializers: Sequence[TypeSerializer[Any]]
    ) -> HintedSerializer:
        """Return a serializer of that type."""
        (inner,) = nested_serializers
        return HintedSerializer(inner)

    def resolve_schema_compatibility(
        self, old_serializer_snapshot: TypeSerializerSnapshot[Any]
    ) -> TypeSerializerSchemaCompatibility:
        """Compare the types; state of any other type is migrated, since any value is taken."""
        old = old_serializer_snapshot
        if isinstance(old, HintedSerializerSnapshot):
            result = super().resolve_schema_compatibility(old)
            if not result.is_incompatible():
                return result
        before = "pickled" if isinstance(old, PickleSerializerSnapshot) else old.describe()
        return TypeSerializerSchemaCompatibility.compatible_after_migration(
            f"the state was {before}, and is said to be {self._nested[0].describe()} now"
        )

    def becoming(self, new: TypeSerializerSnapshot[Any]) -> TypeSerializerSchemaCompatibility:
        """Return what becomes of the state when the type that was hinted at is given by the program."""
        result = new.resolve_schema_compatibility(self._nested[0])
        if result.is_incompatible():
            return result
        return TypeSerializerSchemaCompatibility.compatible_after_migration(
            *result.reasons, f"the state was {self.describe()}, and is {new.describe()} by its type now"
        )

    def nested_name(self, position: int) -> str:
        """Name the type that was hinted at."""
        return "hinted type"

    def describe(self) -> str:
        """Name the type for people."""
        return f"{self._nested[0].describe()}, by a hint"


def hinted_serializer(serializer: TypeSerializer[Any], cls: type) -> HintedSerializer | None:
    """Return the serializer of state for values that are annotated to be of a class; None where pickle is as good.

    Only classes whose state evolves are worth it, and only those that a later program finds by their names.
    """
    if not (dataclasses.is_dataclass(cls) or issubclass(cls, msgspec.Struct | Enum)):
        return None
    try:
        require_lasting_name(cls)
        serializer.snapshot_configuration()
    except RekindleError:
        return None
    return None if exact_fit(serializer) is None else HintedSerializer(serializer)
