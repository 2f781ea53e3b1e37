"""Type information, all of it: ``Types`` to make it, and the classes it is made of."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import Any, TypeVar

from rekindle.types.basic_typeinfo import BasicType, BasicTypeInfo, InstantTypeInfo, PickledBytesTypeInfo
from rekindle.types.composite_typeinfo import (
    BasicArrayTypeInfo,
    ExternalTypeInfo,
    ListTypeInfo,
    MapTypeInfo,
    ObjectArrayTypeInfo,
    PrimitiveArrayTypeInfo,
    RowTypeInfo,
    TupleTypeInfo,
)
from rekindle.types.time_typeinfo import (
    DateTypeInfo,
    LocalTimeTypeInfo,
    SqlTimeTypeInfo,
    TimestampTypeInfo,
    TimeTypeInfo,
)
from rekindle.types.type_information import TypeInformation

__all__ = [
    "BasicArrayTypeInfo",
    "BasicType",
    "BasicTypeInfo",
    "DateTypeInfo",
    "ExternalTypeInfo",
    "InstantTypeInfo",
    "ListTypeInfo",
    "LocalTimeTypeInfo",
    "MapTypeInfo",
    "ObjectArrayTypeInfo",
    "PickledBytesTypeInfo",
    "PrimitiveArrayTypeInfo",
    "RowTypeInfo",
    "SqlTimeTypeInfo",
    "TimeTypeInfo",
    "TimestampTypeInfo",
    "TupleTypeInfo",
    "TypeInformation",
    "Types",
]

_K = TypeVar("_K")
_V = TypeVar("_V")


class Types:
    """Make type information: ``Types.ROW([Types.STRING(), Types.INT()])``."""

    @staticmethod
    def STRING() -> BasicTypeInfo[str]:
        """Return the type of strings; a value may be None."""
        return BasicTypeInfo.STRING_TYPE_INFO()

    @staticmethod
    def BYTE() -> BasicTypeInfo[int]:
        """Return the type of integers of 8 bits; never None."""
        return BasicTypeInfo.BYTE_TYPE_INFO()

    @staticmethod
    def BOOLEAN() -> BasicTypeInfo[bool]:
        """Return the type of booleans; never None."""
        return BasicTypeInfo.BOOLEAN_TYPE_INFO()

    @staticmethod
    def SHORT() -> BasicTypeInfo[int]:
        """Return the type of integers of 16 bits; never None."""
        return BasicTypeInfo.SHORT_TYPE_INFO()

    @staticmethod
    def INT() -> BasicTypeInfo[int]:
        """Return the type of integers of 32 bits; never None."""
        return BasicTypeInfo.INT_TYPE_INFO()

    @staticmethod
    def LONG() -> BasicTypeInfo[int]:
        """Return the type of integers of 64 bits; never None."""
        return BasicTypeInfo.LONG_TYPE_INFO()

    @staticmethod
    def FLOAT() -> BasicTypeInfo[float]:
        """Return the type of floating point numbers of 32 bits; never None."""
        return BasicTypeInfo.FLOAT_TYPE_INFO()

    @staticmethod
    def DOUBLE() -> BasicTypeInfo[float]:
        """Return the type of floating point numbers of 64 bits; never None."""
        return BasicTypeInfo.DOUBLE_TYPE_INFO()

    @staticmethod
    def CHAR() -> BasicTypeInfo[str]:
        """Return the type of single characters; never None."""
        return BasicTypeInfo.CHAR_TYPE_INFO()

    @staticmethod
    def BIG_INT() -> BasicTypeInfo[int]:
        """Return the type of integers of any size; a value may be None."""
        return BasicTypeInfo.BIG_INT_TYPE_INFO()

    @staticmethod
    def BIG_DEC() -> BasicTypeInfo[Decimal]:
        """Return the type of ``decimal.Decimal``; a value may be None."""
        return BasicTypeInfo.BIG_DEC_TYPE_INFO()

    @staticmethod
    def INSTANT() -> InstantTypeInfo:
        """Return the type of ``Instant``; a value may be None."""
        return BasicTypeInfo.INSTANT_TYPE_INFO()

    @staticmethod
    def SQL_DATE() -> DateTypeInfo:
        """Return the type of ``datetime.date``; a value may be None."""
        return SqlTimeTypeInfo.DATE()

    @staticmethod
    def SQL_TIME() -> TimeTypeInfo:
        """Return the type of ``datetime.time``; a value may be None."""
        return SqlTimeTypeInfo.TIME()

    @staticmethod
    def SQL_TIMESTAMP() -> TimestampTypeInfo:
        """Return the type of ``datetime.datetime``; a value may be None."""
        return SqlTimeTypeInfo.TIMESTAMP()

    @staticmethod
    def PICKLED_BYTE_ARRAY() -> PickledBytesTypeInfo:
        """Return the type of anything that can be pickled."""
        return PickledBytesTypeInfo()

    @staticmethod
    def ROW(field_types: Sequence[TypeInformation[Any]]) -> RowTypeInfo:
        """Return the type of rows with fields of these types; a row is never None, a field may be."""
        return RowTypeInfo(field_types)

    @staticmethod
    def ROW_NAMED(field_names: Sequence[str], field_types: Sequence[TypeInformation[Any]]) -> RowTypeInfo:
        """Return the type of rows with fields of these names and types."""
        return RowTypeInfo(field_types, field_names)

    @staticmethod
    def TUPLE(field_types: Sequence[TypeInformation[Any]]) -> TupleTypeInfo:
        """Return the type of tuples with fields of these types; a tuple is never None."""
        return TupleTypeInfo(field_types)

    @staticmethod
    def PRIMITIVE_ARRAY(element_type: TypeInformation[Any]) -> PrimitiveArrayTypeInfo:
        """Return the type of arrays of numbers, booleans or characters without None."""
        return PrimitiveArrayTypeInfo(element_type)

    @staticmethod
    def BASIC_ARRAY(element_type: TypeInformation[Any]) -> BasicArrayTypeInfo:
        """Return the type of arrays of basic values, in which elements may be None."""
        return BasicArrayTypeInfo(element_type)

    @staticmethod
    def OBJECT_ARRAY(element_type: TypeInformation[Any]) -> ObjectArrayTypeInfo:
        """Return the type of arrays of any type, in which elements may be None."""
        return ObjectArrayTypeInfo(element_type)

    @staticmethod
    def MAP(key_type_info: TypeInformation[_K], value_type_info: TypeInformation[_V]) -> MapTypeInfo[_K, _V]:
        """Return the type of dicts with keys and values of these types."""
        return MapTypeInfo(key_type_info, value_type_info)

    @staticmethod
    def LIST(element_type_info: TypeInformation[_V]) -> ListTypeInfo[_V]:
        """Return the type of lists with elements of this type."""
        return ListTypeInfo(element_type_info)
