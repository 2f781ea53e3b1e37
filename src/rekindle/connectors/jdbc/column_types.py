"""Values of Rekindle's types as Python's database drivers take them."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

from rekindle.base.time import Instant
from rekindle.connectors.jdbc.dialect import Convert
from rekindle.exceptions import ConfigurationError
from rekindle.types.native_typeinfo import NullableTypeInfo
from rekindle.types.type_information import TypeInformation
from rekindle.types.typeinfo import (
    BasicArrayTypeInfo,
    BasicType,
    BasicTypeInfo,
    ExternalTypeInfo,
    ListTypeInfo,
    MapTypeInfo,
    ObjectArrayTypeInfo,
    PrimitiveArrayTypeInfo,
    RowTypeInfo,
    TupleTypeInfo,
)

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def inner_type(type_info: TypeInformation) -> TypeInformation:
    """Return the type inside of wrappers."""
    while isinstance(type_info, ExternalTypeInfo | NullableTypeInfo):
        type_info = type_info.inner if isinstance(type_info, NullableTypeInfo) else type_info.type_info
    return type_info


def refuse_structures(type_info: TypeInformation) -> None:
    """Raise for a type that no column holds.

    Raises:
        ConfigurationError: It is a row, a tuple or a map.
    """
    if isinstance(type_info, RowTypeInfo | TupleTypeInfo | MapTypeInfo):
        raise ConfigurationError(
            f"no column of a database takes a {type_info}: make it text before the sink, such as JSON, or give its "
            "fields placeholders of their own"
        )


def element_type(type_info: TypeInformation) -> TypeInformation | None:
    """Return the type of an array's elements; None for bytes, and for what is not an array."""
    if isinstance(type_info, ObjectArrayTypeInfo | ListTypeInfo | BasicArrayTypeInfo):
        return type_info.element_type
    if isinstance(type_info, PrimitiveArrayTypeInfo) and not is_byte(type_info.element_type):
        return type_info.element_type
    return None


def is_byte(type_info: TypeInformation) -> bool:
    """Return whether a type is that of bytes, whose arrays are ``bytes``."""
    return isinstance(type_info, BasicTypeInfo) and type_info.basic_type is BasicType.BYTE


def is_instant(type_info: TypeInformation) -> bool:
    """Return whether a type is that of instants."""
    return isinstance(type_info, BasicTypeInfo) and type_info.basic_type is BasicType.INSTANT


def instant_to_datetime(value: Any) -> Any:
    """Return an instant as a time in UTC, exact to the microsecond."""
    if not isinstance(value, Instant):
        return value
    return _EPOCH + timedelta(seconds=value.seconds, microseconds=value.nanos // 1000)


def of_elements(convert: Convert | None) -> Convert:
    """Return what converts an array: each of its elements, and to a list."""
    if convert is None:
        return list
    return lambda values: [None if value is None else convert(value) for value in values]


def or_none(convert: Convert) -> Callable[[Any], Any]:
    """Return a conversion that leaves None as it is."""
    return lambda value: None if value is None else convert(value)
