"""Serializers of arrays, which are lists in Python: of basic types without None, and of any type with it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rekindle.serialization.composites.elements_serializer import ElementsSerializer, ElementsSerializerSnapshot
from rekindle.serialization.composites.nullable_serializer import nullable_part
from rekindle.serialization.encodings.msgpack_serializer import as_msgpack
from rekindle.serialization.snapshots.composite_snapshot import CompositeTypeSerializerSnapshot
from rekindle.types.data_views import DataInputView, DataOutputView
from rekindle.types.type_serializer import TypeSerializer

__all__ = [
    "GenericArraySerializer",
    "GenericArraySerializerSnapshot",
    "PrimitiveArraySerializer",
    "PrimitiveArraySerializerSnapshot",
]


class PrimitiveArraySerializer(ElementsSerializer):
    """Serialize arrays of numbers, booleans or characters, in which no element is None. For bytes there is another.

    Attributes:
        element: The serializer of the elements.
    """

    def __init__(self, element: TypeSerializer[Any]) -> None:
        super().__init__(element, as_msgpack(element))

    def snapshot_configuration(self) -> PrimitiveArraySerializerSnapshot:
        """Return a snapshot with that of the elements."""
        return PrimitiveArraySerializerSnapshot(self)


class PrimitiveArraySerializerSnapshot(
    ElementsSerializerSnapshot, of=PrimitiveArraySerializer, called="PRIMITIVE_ARRAY"
):
    """Remember of what primitive arrays were."""


class GenericArraySerializer(ElementsSerializer):
    """Serialize arrays of any type, in which elements may be None.

    Attributes:
        component_type: What the type of the elements is called.
        component_serializer: The serializer of the elements.
    """

    def __init__(self, component_type: str, component_serializer: TypeSerializer[Any]) -> None:
        self.component_type = component_type
        self.component_serializer = component_serializer
        super().__init__(component_serializer, nullable_part(component_serializer))

    def snapshot_configuration(self) -> GenericArraySerializerSnapshot:
        """Return a snapshot with the name of the component type, and the snapshot of the elements."""
        return GenericArraySerializerSnapshot(self)

    def _identity(self) -> tuple[Any, ...]:
        return (self.component_type, self.component_serializer)

    def __repr__(self) -> str:
        return f"GenericArraySerializer({self.component_type!r}, {self.component_serializer!r})"


class GenericArraySerializerSnapshot(CompositeTypeSerializerSnapshot[list[Any]]):
    """Remember of what arrays were: the name of the component type, and how elements were written."""

    def __init__(self, serializer: GenericArraySerializer | None = None) -> None:
        """Remember a serializer; without one, :meth:`read_snapshot` says what to remember."""
        super().__init__(serializer)
        self._component_type = "" if serializer is None else serializer.component_type

    def get_current_outer_snapshot_version(self) -> int:
        """Return 1."""
        return 1

    def write_outer_snapshot(self, output: DataOutputView) -> None:
        """Write the name of the component type."""
        output.write_utf(self._component_type)

    def read_outer_snapshot(self, read_outer_snapshot_version: int, input_view: DataInputView) -> None:
        """Read the name of the component type."""
        self._component_type = input_view.read_utf()

    def is_outer_snapshot_compatible(self, new_serializer: GenericArraySerializer) -> bool:
        """Return whether the component type is still called the same."""
        return self._component_type == new_serializer.component_type

    def outer_reasons(self, old_serializer_snapshot: GenericArraySerializerSnapshot) -> tuple[str, ...]:
        """Return which component type became which."""
        return (f"the elements were {old_serializer_snapshot._component_type} and are {self._component_type} now",)

    def get_nested_serializers(self, outer_serializer: GenericArraySerializer) -> Sequence[TypeSerializer[Any]]:
        """Return the serializer of the elements."""
        return (outer_serializer.component_serializer,)

    def create_outer_serializer_with_nested_serializers(
        self, nested_serializers: Sequence[TypeSerializer[Any]]
    ) -> GenericArraySerializer:
        """Return a serializer of arrays of such elements."""
        (element,) = nested_serializers
        return GenericArraySerializer(self._component_type, element)

    def nested_name(self, position: int) -> str:
        """Name the type of the elements."""
        return "element"

    def describe(self) -> str:
        """Name the type for people."""
        return f"OBJECT_ARRAY({self._nested[0].describe()})"
