"""Type information for single values: numbers, strings, instants, and anything that pickle takes."""

from __future__ import annotations

from decimal import Decimal
from enum import Enum
from typing import Any

from rekindle.base.time import Instant
from rekindle.base.type_variables import T_co
from rekindle.types.type_information import TypeInformation

__all__ = ["BasicType", "BasicTypeInfo", "InstantTypeInfo", "PickledBytesTypeInfo"]


class BasicType(Enum):
    """Name the basic types; the values are Flink's names of them."""

    STRING = "String"
    BYTE = "Byte"
    BOOLEAN = "Boolean"
    SHORT = "Short"
    INT = "Integer"
    LONG = "Long"
    FLOAT = "Float"
    DOUBLE = "Double"
    CHAR = "Char"
    BIG_INT = "BigInteger"
    BIG_DEC = "BigDecimal"
    INSTANT = "Instant"


class BasicTypeInfo(TypeInformation[T_co]):
    """Describe one of the basic types.

    Attributes:
        basic_type: Which one.
    """

    def __init__(self, basic_type: BasicType) -> None:
        if not isinstance(basic_type, BasicType):
            raise TypeError(f"Invalid BasicType {basic_type!r}.")
        self.basic_type = basic_type

    def __eq__(self, other: object) -> bool:
        return isinstance(other, BasicTypeInfo) and self.basic_type is other.basic_type

    def __hash__(self) -> int:
        return hash(self.basic_type)

    def __repr__(self) -> str:
        return self.basic_type.value

    @staticmethod
    def STRING_TYPE_INFO() -> BasicTypeInfo[str]:
        """Return the type of strings."""
        return BasicTypeInfo(BasicType.STRING)

    @staticmethod
    def BOOLEAN_TYPE_INFO() -> BasicTypeInfo[bool]:
        """Return the type of booleans."""
        return BasicTypeInfo(BasicType.BOOLEAN)

    @staticmethod
    def BYTE_TYPE_INFO() -> BasicTypeInfo[int]:
        """Return the type of integers of 8 bits."""
        return BasicTypeInfo(BasicType.BYTE)

    @staticmethod
    def SHORT_TYPE_INFO() -> BasicTypeInfo[int]:
        """Return the type of integers of 16 bits."""
        return BasicTypeInfo(BasicType.SHORT)

    @staticmethod
    def INT_TYPE_INFO() -> BasicTypeInfo[int]:
        """Return the type of integers of 32 bits."""
        return BasicTypeInfo(BasicType.INT)

    @staticmethod
    def LONG_TYPE_INFO() -> BasicTypeInfo[int]:
        """Return the type of integers of 64 bits."""
        return BasicTypeInfo(BasicType.LONG)

    @staticmethod
    def FLOAT_TYPE_INFO() -> BasicTypeInfo[float]:
        """Return the type of floating point numbers of 32 bits."""
        return BasicTypeInfo(BasicType.FLOAT)

    @staticmethod
    def DOUBLE_TYPE_INFO() -> BasicTypeInfo[float]:
        """Return the type of floating point numbers of 64 bits."""
        return BasicTypeInfo(BasicType.DOUBLE)

    @staticmethod
    def CHAR_TYPE_INFO() -> BasicTypeInfo[str]:
        """Return the type of single characters."""
        return BasicTypeInfo(BasicType.CHAR)

    @staticmethod
    def BIG_INT_TYPE_INFO() -> BasicTypeInfo[int]:
        """Return the type of integers of any size."""
        return BasicTypeInfo(BasicType.BIG_INT)

    @staticmethod
    def BIG_DEC_TYPE_INFO() -> BasicTypeInfo[Decimal]:
        """Return the type of ``decimal.Decimal``."""
        return BasicTypeInfo(BasicType.BIG_DEC)

    @staticmethod
    def INSTANT_TYPE_INFO() -> InstantTypeInfo:
        """Return the type of ``Instant``."""
        return InstantTypeInfo(BasicType.INSTANT)


class InstantTypeInfo(BasicTypeInfo[Instant]):
    """Describe ``Instant``; inside it is an integer of microseconds since the epoch."""

    def __init__(self, basic_type: BasicType = BasicType.INSTANT) -> None:
        super().__init__(basic_type)

    def need_conversion(self) -> bool:
        """Return True."""
        return True

    def to_internal_type(self, obj: Instant | None) -> int | None:
        """Return the microseconds since the epoch, exact to the millisecond."""
        return None if obj is None else obj.to_epoch_milli() * 1000

    def from_internal_type(self, obj: int | None) -> Instant | None:
        """Return the instant this many microseconds after the epoch, exact to the millisecond."""
        return None if obj is None else Instant.of_epoch_milli(obj // 1000)


class PickledBytesTypeInfo(TypeInformation[Any]):
    """Describe values of any kind, carried by pickle. It is the type of a stream that was given none."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PickledBytesTypeInfo)

    def __hash__(self) -> int:
        return hash(PickledBytesTypeInfo)

    def __repr__(self) -> str:
        return "PickledByteArrayTypeInfo"
