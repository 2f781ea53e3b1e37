"""Serializers of strings, characters, booleans, numbers with a fraction, and bytes."""

from __future__ import annotations

import struct
from array import array
from collections.abc import Sequence
from ctypes import c_double, c_float
from decimal import Decimal, InvalidOperation
from typing import Annotated, Any

import msgspec

from rekindle.exceptions import SerializationError
from rekindle.serialization.scalars.integer_serializers import whole_number
from rekindle.serialization.scalars.scalar_serializer import ScalarSerializer, ScalarSerializerSnapshot

__all__ = [
    "BigDecSerializer",
    "BooleanSerializer",
    "BytesArraySerializer",
    "CharSerializer",
    "DoubleSerializer",
    "FloatSerializer",
    "StringSerializer",
]


_FLOAT = struct.Struct("f")


class StringSerializer(ScalarSerializer[str | None]):
    """Serialize strings, and None."""

    type_name = "STRING"
    zero = ""
    takes_none = True
    packed_type = plain_type = str | None

    def pack(self, element: Any) -> str | None:
        """Check that it is a string."""
        return element if type(element) is str or element is None else _text(element, self.type_name)


class CharSerializer(ScalarSerializer[str]):
    """Serialize single characters, of all of Unicode."""

    type_name = "CHAR"
    zero = "\0"
    packed_type = plain_type = Annotated[str, msgspec.Meta(min_length=1, max_length=1)]

    def pack(self, element: Any) -> str:
        """Check that it is one character."""
        text = element if type(element) is str else _text(element, self.type_name)
        if len(text) != 1:
            raise SerializationError(f"{element!r} is not of type {self.type_name}: it has {len(text)} characters")
        return text


class BooleanSerializer(ScalarSerializer[bool]):
    """Serialize booleans; numbers from 0 to 255 are taken as such."""

    type_name = "BOOLEAN"
    zero = False
    packed_type = plain_type = bool

    def pack(self, element: Any) -> bool:
        """Turn a number into a boolean."""
        if element is True or element is False:
            return element
        number = whole_number(element, self.type_name, 0, 255)
        if not 0 <= number <= 255:
            raise SerializationError(f"{element!r} is not of type {self.type_name}: it is not between 0 and 255")
        return number != 0


class FloatSerializer(ScalarSerializer[float]):
    """Serialize floating point numbers, rounded to 32 bits."""

    type_name = "FLOAT"
    zero = 0.0
    packed_type = float

    def pack(self, element: Any) -> float:
        """Round a number to 32 bits; what is too large becomes infinite."""
        try:
            return _FLOAT.unpack(_FLOAT.pack(element))[0]  # type: ignore[no-any-return]
        except (OverflowError, struct.error):
            pass  # It is too large, or no number: this one knows which.
        try:
            return c_float(element).value
        except (TypeError, ValueError, OverflowError) as error:
            raise _no_number(element, self.type_name, error) from error

    def pack_all(self, elements: Sequence[Any]) -> list[Any]:
        """Round many at once."""
        try:
            return array("f", elements).tolist()
        except (TypeError, ValueError, OverflowError):
            return list(map(self.pack, elements))


class DoubleSerializer(ScalarSerializer[float]):
    """Serialize floating point numbers of 64 bits; other numbers are made such."""

    type_name = "DOUBLE"
    zero = 0.0
    packed_type = plain_type = float

    def pack(self, element: Any) -> float:
        """Turn a number into a float."""
        if type(element) is float:
            return element
        try:
            return c_double(element).value  # float() would read strings and bytes, too.
        except (TypeError, ValueError, OverflowError) as error:
            raise _no_number(element, self.type_name, error) from error


class BigDecSerializer(ScalarSerializer[Decimal | None]):
    """Serialize decimal numbers with all their digits, and None; what reads as a number is made one."""

    type_name = "BIG_DEC"
    zero = Decimal(0)
    takes_none = True
    packed_type = str | None
    unpacks = True

    def pack(self, element: Any) -> str | None:
        """Write the number."""
        if type(element) is Decimal:
            return str(element)
        if element is None:
            return None
        try:
            return str(Decimal(element) if type(element) is int else Decimal(str(element)))
        except (InvalidOperation, ValueError) as error:
            raise _no_number(element, self.type_name, "it does not read as a number") from error

    def unpack(self, packed: str | None) -> Decimal | None:
        """Read the number."""
        return None if packed is None else Decimal(packed)


class BytesArraySerializer(ScalarSerializer[bytes]):
    """Serialize ``bytes``: arrays of BYTE without None; a bytearray becomes bytes."""

    type_name = "PRIMITIVE_ARRAY(BYTE)"
    zero = b""
    packed_type = bytes

    def pack(self, element: Any) -> bytes:
        """Check that it is bytes."""
        if type(element) is bytes:
            return element
        if isinstance(element, bytes | bytearray | memoryview):
            return bytes(element)
        raise SerializationError(
            f"{element!r} ({type(element).__name__}) is not of type {self.type_name}: bytes are needed"
        )


def _text(element: Any, type_name: str) -> str:
    if isinstance(element, str):
        return str.__str__(element)
    raise SerializationError(f"{element!r} ({type(element).__name__}) is not of type {type_name}: a string is needed")


def _no_number(element: Any, type_name: str, reason: object) -> SerializationError:
    return SerializationError(f"{element!r} ({type(element).__name__}) is not of type {type_name}: {reason}")


class StringSerializerSnapshot(ScalarSerializerSnapshot[str | None], of=StringSerializer):
    """Remember that elements were strings."""


class CharSerializerSnapshot(ScalarSerializerSnapshot[str], of=CharSerializer):
    """Remember that elements were single characters."""


class BooleanSerializerSnapshot(ScalarSerializerSnapshot[bool], of=BooleanSerializer):
    """Remember that elements were booleans."""


class FloatSerializerSnapshot(ScalarSerializerSnapshot[float], of=FloatSerializer):
    """Remember that elements were floating point numbers of 32 bits."""


class DoubleSerializerSnapshot(ScalarSerializerSnapshot[float], of=DoubleSerializer):
    """Remember that elements were floating point numbers of 64 bits."""


class BigDecSerializerSnapshot(ScalarSerializerSnapshot[Decimal | None], of=BigDecSerializer):
    """Remember that elements were decimal numbers."""


class BytesArraySerializerSnapshot(ScalarSerializerSnapshot[bytes], of=BytesArraySerializer):
    """Remember that elements were bytes."""
