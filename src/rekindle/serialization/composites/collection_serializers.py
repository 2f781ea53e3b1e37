"""Serializers of lists and dicts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec import ValidationError, convert

from rekindle.exceptions import SerializationError
from rekindle.serialization.classes.enum_serializer import EnumSerializer
from rekindle.serialization.composites.elements_serializer import ElementsSerializer, ElementsSerializerSnapshot
from rekindle.serialization.composites.nullable_serializer import nullable_part
from rekindle.serialization.encodings.msgpack_serializer import MsgpackSerializer, as_msgpack
from rekindle.serialization.scalars.scalar_serializer import ScalarSerializer
from rekindle.serialization.snapshots.composite_snapshot import CompositeTypeSerializerSnapshot
from rekindle.types.type_serializer import TypeSerializer

__all__ = ["ListSerializer", "ListSerializerSnapshot", "MapSerializer", "MapSerializerSnapshot"]


class ListSerializer(ElementsSerializer):
    """Serialize lists; elements may be None.

    Attributes:
        element: The serializer of the elements.
    """

    def __init__(self, element: TypeSerializer[Any]) -> None:
        super().__init__(element, nullable_part(element))

    def snapshot_configuration(self) -> ListSerializerSnapshot:
        """Return a snapshot with that of the elements."""
        return ListSerializerSnapshot(self)


class ListSerializerSnapshot(ElementsSerializerSnapshot, of=ListSerializer, called="LIST"):
    """Remember of what lists were."""


class MapSerializer(MsgpackSerializer[dict[Any, Any]]):
    """Serialize dicts; values may be None.

    Attributes:
        key: The serializer of the keys.
        value: The serializer of the values.
    """

    packs = True

    def __init__(self, key: TypeSerializer[Any], value: TypeSerializer[Any]) -> None:
        self.key = key
        self.value = value
        self._key, self._value = as_msgpack(key), nullable_part(value)
        self.unpacks = self._key.unpacks or self._value.unpacks
        # What other keys are packed to might not be hashable: their maps are packed as pairs.
        self._as_pairs = not isinstance(key, ScalarSerializer | EnumSerializer)
        if self._as_pairs:
            self.packed_type = list[tuple[self._key.packed_type, self._value.packed_type]]  # type: ignore[name-defined]
            self.unpacks = True
        else:
            self.packed_type = dict[self._key.packed_type, self._value.packed_type]  # type: ignore[name-defined]
            if self._key.plain_type is not None and self._value.plain_type is not None:
                self.plain_type = dict[self._key.plain_type, self._value.plain_type]  # type: ignore[name-defined]
        super().__init__()

    def pack(self, element: Any) -> Any:
        """Pack the keys and the values."""
        if self._plain is not None:
            try:
                return convert((element,), self._plain).value
            except ValidationError:
                pass  # Something has to be packed, or is refused.
        if not isinstance(element, dict):
            raise SerializationError(
                f"{element!r} ({type(element).__name__}) is not of type {self._name()}: a dict is needed"
            )
        entries = zip(self._key.pack_all(list(element)), self._value.pack_all(list(element.values())), strict=True)
        packed = list(entries) if self._as_pairs else dict(entries)
        if len(packed) < len(element):
            raise SerializationError(f"two keys of {element!r} are one as keys of a {self._name()}")
        return packed

    def unpack(self, packed: Any) -> dict[Any, Any]:
        """Unpack the keys and the values."""
        if self._as_pairs:
            keys, values = [pair[0] for pair in packed], [pair[1] for pair in packed]
        else:
            keys, values = list(packed), list(packed.values())
        element = dict(zip(self._key.unpack_all(keys), self._value.unpack_all(values), strict=True))
        if len(element) < len(keys):
            raise SerializationError(
                f"two keys of a {self._name()} have become one: {len(keys)} are {len(element)} now. Keys that lose "
                "what tells them apart cannot be read"
            )
        return element

    def create_instance(self) -> dict[Any, Any]:
        """Return an empty dict."""
        return {}

    def snapshot_configuration(self) -> MapSerializerSnapshot:
        """Return a snapshot with those of keys and values."""
        return MapSerializerSnapshot(self)

    def _identity(self) -> tuple[Any, ...]:
        return (self.key, self.value)

    def __repr__(self) -> str:
        return f"MapSerializer({self.key!r}, {self.value!r})"


class MapSerializerSnapshot(CompositeTypeSerializerSnapshot[dict[Any, Any]]):
    """Remember of what keys and values were."""

    def get_current_outer_snapshot_version(self) -> int:
        """Return 1."""
        return 1

    def get_nested_serializers(self, outer_serializer: MapSerializer) -> Sequence[TypeSerializer[Any]]:
        """Return the serializers of keys and of values."""
        return (outer_serializer.key, outer_serializer.value)

    def create_outer_serializer_with_nested_serializers(
        self, nested_serializers: Sequence[TypeSerializer[Any]]
    ) -> MapSerializer:
        """Return a serializer of dicts of such keys and values."""
        key, value = nested_serializers
        return MapSerializer(key, value)

    def nested_name(self, position: int) -> str:
        """Name the type of keys or of values."""
        return ("key", "value")[position]

    def describe(self) -> str:
        """Name the type for people."""
        key, value = self._nested
        return f"MAP({key.describe()}, {value.describe()})"
