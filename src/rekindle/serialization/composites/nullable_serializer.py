"""The serializer that adds None to the elements of another."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Optional, TypeVar

from rekindle.serialization.encodings.msgpack_serializer import MsgpackSerializer, as_msgpack
from rekindle.serialization.snapshots.composite_snapshot import CompositeTypeSerializerSnapshot
from rekindle.types.type_serializer import TypeSerializer

__all__ = ["NullableSerializer", "NullableSerializerSnapshot"]

T = TypeVar("T")
_NONE = type(None)


class NullableSerializer(MsgpackSerializer[T | None]):
    """Serialize None, and the elements of a serializer that does not take it.

    Attributes:
        inner: The serializer of all that is not None.
    """

    takes_none = True
    packs = True

    def __init__(self, inner: TypeSerializer[T]) -> None:
        self.inner = inner
        self.always_readable = inner.always_readable
        self._packed = as_msgpack(inner)
        self.packed_type = Optional[self._packed.packed_type]  # noqa: UP045 - types with | have none with a string
        self.unpacks = self._packed.unpacks
        if self._packed.plain_type is not None:
            self.plain_type = Optional[self._packed.plain_type]  # noqa: UP045 - see above
            self.pack_all = super().pack_all  # type: ignore[method-assign]
        super().__init__()

    @staticmethod
    def wrap(serializer: TypeSerializer[T]) -> TypeSerializer[T | None]:
        """Return a serializer that takes None: the same one if it does already."""
        return serializer if serializer.takes_none else NullableSerializer(serializer)  # type: ignore[return-value]

    def pack(self, element: Any) -> Any:
        """Pack what is not None."""
        return None if element is None else self._packed.pack(element)

    def unpack(self, packed: Any) -> Any:
        """Unpack what is not None."""
        return None if packed is None else self._packed.unpack(packed)

    def pack_all(self, elements: Sequence[Any]) -> list[Any]:
        """Pack many elements; all at once if none of them is None."""
        if _NONE in set(map(type, elements)):
            return list(map(self.pack, elements))
        return self._packed.pack_all(elements)

    def unpack_all(self, packed: list[Any]) -> list[Any]:
        """Unpack many elements; all at once if none of them is None."""
        if not self.unpacks:
            return packed
        if _NONE in set(map(type, packed)):
            return list(map(self.unpack, packed))
        return self._packed.unpack_all(packed)

    def is_immutable_type(self) -> bool:
        """Return what the inner serializer says."""
        return self.inner.is_immutable_type()

    def snapshot_configuration(self) -> NullableSerializerSnapshot:
        """Return a snapshot with that of the inner serializer."""
        return NullableSerializerSnapshot(self)

    def _identity(self) -> tuple[Any, ...]:
        return (self.inner,)

    def __repr__(self) -> str:
        return f"NullableSerializer({self.inner!r})"


class NullableSerializerSnapshot(CompositeTypeSerializerSnapshot[Any]):
    """Remember which elements there were besides None."""

    def get_current_outer_snapshot_version(self) -> int:
        """Return 1."""
        return 1

    def get_nested_serializers(self, outer_serializer: NullableSerializer[Any]) -> Sequence[TypeSerializer[Any]]:
        """Return the inner serializer."""
        return (outer_serializer.inner,)

    def create_outer_serializer_with_nested_serializers(
        self, nested_serializers: Sequence[TypeSerializer[Any]]
    ) -> NullableSerializer[Any]:
        """Return a serializer around the inner one."""
        (inner,) = nested_serializers
        return NullableSerializer(inner)

    def nested_name(self, position: int) -> str:
        """Name the inner type."""
        return "what is not None"

    def describe(self) -> str:
        """Name the type for people."""
        return f"{self._nested[0].describe()} or None"


def nullable_part(serializer: TypeSerializer[Any]) -> MsgpackSerializer[Any]:
    """Return a serializer as part of one that goes through msgpack, in a place where None may stand."""
    return as_msgpack(NullableSerializer.wrap(serializer))
