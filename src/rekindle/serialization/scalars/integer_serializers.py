"""Serializers of whole numbers: BYTE, SHORT, INT and LONG, which wrap to their width, and BIG_INT, which does not."""

from __future__ import annotations

from operator import index
from typing import Annotated, Any, ClassVar

import msgspec

from rekindle.exceptions import SerializationError
from rekindle.serialization.scalars.scalar_serializer import ScalarSerializer, ScalarSerializerSnapshot

__all__ = ["BigIntSerializer", "ByteSerializer", "IntSerializer", "LongSerializer", "ShortSerializer"]


def whole_number(element: Any, type_name: str, low: int, high: int) -> int:
    """Return a number as an int: what is an int in all but class as it is, other numbers cut to whole ones in range.

    Raises:
        SerializationError: It is not a number, or has a fraction and is out of range.
    """
    try:
        return int(index(element))  # index() alone leaves True what it is
    except TypeError:
        pass
    try:
        if not hasattr(element, "__int__"):
            raise TypeError("a whole number is needed")
        number = int(element)
        if not low <= number <= high:
            raise OverflowError(f"it is not between {low} and {high}")
    except (TypeError, ValueError, OverflowError) as error:
        raise SerializationError(
            f"{element!r} ({type(element).__name__}) is not of type {type_name}: {error}"
        ) from error
    return number


def _within(bits: int) -> Any:
    return Annotated[int, msgspec.Meta(ge=-(1 << bits - 1), le=(1 << bits - 1) - 1)]


class _WrappingSerializer(ScalarSerializer[int]):
    """Serialize integers of a number of bits; what does not fit loses its upper bits, as in Java."""

    bits: ClassVar[int]
    zero = 0

    def _wrapped(self, element: Any) -> int:
        half = 1 << (self.bits - 1)
        return (whole_number(element, self.type_name, -half, half - 1) + half & 2 * half - 1) - half


class ByteSerializer(_WrappingSerializer):
    """Serialize integers of 8 bits."""

    type_name, bits = "BYTE", 8
    packed_type = plain_type = _within(8)

    def pack(self, element: Any) -> int:
        """Wrap an integer to 8 bits."""
        return element if type(element) is int and -0x80 <= element <= 0x7F else self._wrapped(element)


class ShortSerializer(_WrappingSerializer):
    """Serialize integers of 16 bits."""

    type_name, bits = "SHORT", 16
    packed_type = plain_type = _within(16)

    def pack(self, element: Any) -> int:
        """Wrap an integer to 16 bits."""
        return element if type(element) is int and -0x8000 <= element <= 0x7FFF else self._wrapped(element)


class IntSerializer(_WrappingSerializer):
    """Serialize integers of 32 bits."""

    type_name, bits = "INT", 32
    packed_type = plain_type = _within(32)

    def pack(self, element: Any) -> int:
        """Wrap an integer to 32 bits."""
        return element if type(element) is int and -0x80000000 <= element <= 0x7FFFFFFF else self._wrapped(element)


class LongSerializer(_WrappingSerializer):
    """Serialize integers of 64 bits."""

    type_name, bits = "LONG", 64
    packed_type = plain_type = _within(64)

    def pack(self, element: Any) -> int:
        """Wrap an integer to 64 bits."""
        if type(element) is int and -0x8000000000000000 <= element <= 0x7FFFFFFFFFFFFFFF:
            return element
        return self._wrapped(element)


class BigIntSerializer(ScalarSerializer[int | None]):
    """Serialize integers of any size, and None."""

    type_name = "BIG_INT"
    zero = 0
    takes_none = True
    packed_type = _within(64) | bytes | None
    plain_type = _within(64) | None
    unpacks = True

    def pack(self, element: Any) -> Any:
        """Turn an integer of more than 64 bits into bytes."""
        if element is None:
            return None
        if type(element) is not int:
            element = whole_number(element, self.type_name, -(1 << 63), (1 << 63) - 1)
        if -0x8000000000000000 <= element <= 0x7FFFFFFFFFFFFFFF:
            return element
        return element.to_bytes(element.bit_length() // 8 + 1, "big", signed=True)

    def unpack(self, packed: Any) -> int | None:
        """Turn bytes back into the integer."""
        return int.from_bytes(packed, "big", signed=True) if type(packed) is bytes else packed

    def unpack_all(self, packed: list[Any]) -> list[Any]:
        """Unpack many; most often none of them is large."""
        return list(map(self.unpack, packed)) if bytes in set(map(type, packed)) else packed


class ByteSerializerSnapshot(ScalarSerializerSnapshot[int], of=ByteSerializer):
    """Remember that elements were integers of 8 bits."""


class ShortSerializerSnapshot(ScalarSerializerSnapshot[int], of=ShortSerializer):
    """Remember that elements were integers of 16 bits."""


class IntSerializerSnapshot(ScalarSerializerSnapshot[int], of=IntSerializer):
    """Remember that elements were integers of 32 bits."""


class LongSerializerSnapshot(ScalarSerializerSnapshot[int], of=LongSerializer):
    """Remember that elements were integers of 64 bits."""


class BigIntSerializerSnapshot(ScalarSerializerSnapshot[int | None], of=BigIntSerializer):
    """Remember that elements were integers of any size."""
