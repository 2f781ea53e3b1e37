"""The serializer of elements of two streams that are kept together, each with the number of its stream."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal, Optional

from rekindle.exceptions import SerializationError
from rekindle.serialization.composites.nullable_serializer import nullable_part
from rekindle.serialization.encodings.msgpack_serializer import MsgpackSerializer
from rekindle.serialization.snapshots.composite_snapshot import CompositeTypeSerializerSnapshot
from rekindle.types.type_serializer import TypeSerializer

__all__ = ["TaggedUnionSerializer", "TaggedUnionSerializerSnapshot"]

Tagged = tuple[int, Any]
"""0 and an element of the first stream, or 1 and one of the second."""


class TaggedUnionSerializer(MsgpackSerializer[Tagged]):
    """Serialize ``(0, element)`` and ``(1, element)``, each element by the serializer of its stream.

    Attributes:
        one: The serializer of the elements of the first stream.
        two: The serializer of the elements of the second.
    """

    packs = unpacks = True

    def __init__(self, one: TypeSerializer[Any], two: TypeSerializer[Any]) -> None:
        self.one = one
        self.two = two
        self._parts = nullable_part(one), nullable_part(two)
        packed = [Optional[part.packed_type] for part in self._parts]  # noqa: UP045 - types with | have none with a string
        self.packed_type = tuple[Literal[0, 1], packed[0], packed[1]]  # type: ignore[valid-type]
        super().__init__()

    def pack(self, element: Any) -> tuple[int, Any, Any]:
        """Pack the element in the place of its stream."""
        if not (isinstance(element, tuple) and len(element) == 2 and element[0] in (0, 1)):
            raise SerializationError(
                f"{element!r} is not of type {self._name()}: a pair of 0 or 1 and an element is needed"
            )
        side, value = element
        return (1, None, self._parts[1].pack(value)) if side else (0, self._parts[0].pack(value), None)

    def unpack(self, packed: tuple[int, Any, Any]) -> Tagged:
        """Unpack the element that stands in the place of its stream."""
        side = packed[0]
        return side, self._parts[side].unpack(packed[side + 1])

    def pack_all(self, elements: Sequence[Any]) -> list[Any]:
        """Pack many elements, those of one stream at once."""
        if set(map(type, elements)) <= {tuple} and {element[:1] for element in elements} <= {(0,), (1,)}:
            try:
                ones, twos = _split(elements, self._parts[0].pack_all, self._parts[1].pack_all)
                return [(1, None, next(twos)) if side else (0, next(ones), None) for side, _ in elements]
            except (ValueError, SerializationError):
                pass
        return list(map(self.pack, elements))  # says which of them is no element

    def unpack_all(self, packed: list[Any]) -> list[Any]:
        """Unpack many elements, those of one stream at once."""
        placed = [(row[0], row[row[0] + 1]) for row in packed]
        ones, twos = _split(placed, self._parts[0].unpack_all, self._parts[1].unpack_all)
        return [(side, next(twos if side else ones)) for side, _ in placed]

    def is_immutable_type(self) -> bool:
        """Return whether the elements of both streams never change."""
        return self.one.is_immutable_type() and self.two.is_immutable_type()

    def snapshot_configuration(self) -> TaggedUnionSerializerSnapshot:
        """Return a snapshot with those of both streams."""
        return TaggedUnionSerializerSnapshot(self)

    def _identity(self) -> tuple[Any, ...]:
        return self.one, self.two

    def __repr__(self) -> str:
        return f"TaggedUnionSerializer({self.one!r}, {self.two!r})"


class TaggedUnionSerializerSnapshot(CompositeTypeSerializerSnapshot[Tagged]):
    """Remember of what types the elements of two streams were."""

    def get_current_outer_snapshot_version(self) -> int:
        """Return 1."""
        return 1

    def get_nested_serializers(self, outer_serializer: TaggedUnionSerializer) -> Sequence[TypeSerializer[Any]]:
        """Return the serializers of both streams."""
        return outer_serializer.one, outer_serializer.two

    def create_outer_serializer_with_nested_serializers(
        self, nested_serializers: Sequence[TypeSerializer[Any]]
    ) -> TaggedUnionSerializer:
        """Return a serializer of elements of two such streams."""
        one, two = nested_serializers
        return TaggedUnionSerializer(one, two)

    def nested_name(self, position: int) -> str:
        """Name a stream."""
        return "elements of the second stream" if position else "elements of the first stream"

    def describe(self) -> str:
        """Name the type for people."""
        return f"TAGGED UNION({', '.join(nested.describe() for nested in self._nested)})"


def _split(elements: Sequence[Tagged], first: Callable[..., list[Any]], second: Callable[..., list[Any]]) -> Any:
    """Return iterators over what two functions make of the elements of the first and of the second stream."""
    ones = [value for side, value in elements if not side]
    twos = [value for side, value in elements if side]
    return iter(first(ones) if ones else ()), iter(second(twos) if twos else ())
