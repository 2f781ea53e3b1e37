"""What serializers of lists and arrays have in common: both are lists in Python, of elements of one type."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from msgspec import ValidationError, convert

from rekindle.exceptions import SerializationError
from rekindle.serialization.encodings.msgpack_serializer import MsgpackSerializer
from rekindle.serialization.encodings.plain_check import holder_of
from rekindle.serialization.snapshots.composite_snapshot import CompositeTypeSerializerSnapshot
from rekindle.types.type_serializer import TypeSerializer


class ElementsSerializer(MsgpackSerializer[list[Any]]):
    """Serialize lists of one type.

    Attributes:
        element: The serializer of the elements.
    """

    packs = True

    def __init__(self, element: TypeSerializer[Any], part: MsgpackSerializer[Any]) -> None:
        """Make a serializer.

        Args:
            element: The serializer of the elements.
            part: The same as a part of this one, with None or without.
        """
        self.element = element
        self.always_readable = element.always_readable
        self.packed_type = list[part.packed_type]  # type: ignore[name-defined]
        self.unpacks = part.unpacks
        self._pack_elements = part.pack_all
        self._unpack_elements = part.unpack_all
        plain = part.plain_type
        self._all_lists = None if plain is None else holder_of(list[list[plain]])  # type: ignore[valid-type]
        super().__init__()

    def pack_all(self, elements: Sequence[Any]) -> list[Any]:
        """Pack many lists; in C, if all are lists indeed: ``convert`` would take tuples, too."""
        if self._all_lists is not None and set(map(type, elements)) == {list}:
            try:
                packed: list[Any] = convert((elements,), self._all_lists).value
                return packed
            except ValidationError:
                pass
        return super().pack_all(elements)

    def pack(self, element: Any) -> list[Any]:
        """Pack the elements of a list."""
        if not isinstance(element, list):
            raise SerializationError(
                f"{element!r} ({type(element).__name__}) is not of type {self._name()}: a list is needed"
            )
        return self._pack_elements(element)

    def unpack(self, packed: list[Any]) -> list[Any]:
        """Unpack the elements of a list."""
        return self._unpack_elements(packed)

    def create_instance(self) -> list[Any]:
        """Return an empty list."""
        return []

    def _identity(self) -> tuple[Any, ...]:
        return (self.element,)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.element!r})"


class ElementsSerializerSnapshot(CompositeTypeSerializerSnapshot[list[Any]]):
    """Remember of what lists were."""

    _serializer: ClassVar[Any]
    _type_name: ClassVar[str]

    def __init_subclass__(cls, of: Any = None, called: str = "") -> None:
        super().__init_subclass__()
        if of is not None:
            cls._serializer, cls._type_name = of, called

    def get_current_outer_snapshot_version(self) -> int:
        """Return 1."""
        return 1

    def get_nested_serializers(self, outer_serializer: ElementsSerializer) -> Sequence[TypeSerializer[Any]]:
        """Return the serializer of the elements."""
        return (outer_serializer.element,)

    def create_outer_serializer_with_nested_serializers(
        self, nested_serializers: Sequence[TypeSerializer[Any]]
    ) -> ElementsSerializer:
        """Return a serializer of lists of such elements."""
        (element,) = nested_serializers
        serializer: ElementsSerializer = self._serializer(element)
        return serializer

    def nested_name(self, position: int) -> str:
        """Name the type of the elements."""
        return "element"

    def describe(self) -> str:
        """Name the type for people."""
        return f"{self._type_name}({self._nested[0].describe()})"
