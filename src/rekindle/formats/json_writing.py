"""How values of a type become JSON, as in Flink's JsonRowSerializationSchema."""

from __future__ import annotations

import base64
import math
from collections.abc import Callable, Sequence
from datetime import date, datetime, time
from decimal import Decimal
from types import NoneType
from typing import Any

from rekindle.base.time import Instant
from rekindle.exceptions import ConfigurationError
from rekindle.formats.java_format import java_float, java_string, unwrapped
from rekindle.types.typeinfo import (
    BasicArrayTypeInfo,
    BasicType,
    BasicTypeInfo,
    DateTypeInfo,
    ListTypeInfo,
    MapTypeInfo,
    ObjectArrayTypeInfo,
    PrimitiveArrayTypeInfo,
    RowTypeInfo,
    TimestampTypeInfo,
    TimeTypeInfo,
    TupleTypeInfo,
    TypeInformation,
    Types,
)

Write = Callable[[Any], Any]


def write_nullable(type_info: TypeInformation) -> Write:
    """Return what turns a value of a type into one that msgspec writes as JSON, with null for None.

    Raises:
        ConfigurationError: JSON has no form for the type.
    """
    write = _write(type_info)
    return lambda value: None if value is None else write(value)


def write_row(type_info: RowTypeInfo) -> Callable[[Any], dict[str, Any]]:
    """Return what turns a row into an object."""
    names = type_info.get_field_names()
    fields = [write_nullable(field_type) for field_type in type_info.get_field_types()]
    values_of = type_info.values_of

    def write(row: Any) -> dict[str, Any]:
        return {name: field(value) for name, field, value in zip(names, fields, values_of(row), strict=True)}

    return write


def write_rows(type_info: RowTypeInfo) -> Callable[[Sequence[Any]], list[dict[str, Any]]]:
    """Return what turns rows into objects, by columns: one that holds only what JSON takes is taken as it is."""
    names = type_info.get_field_names()
    columns = [_column(field_type) for field_type in type_info.get_field_types()]
    values_of = type_info.values_of

    def write(rows: Sequence[Any]) -> list[dict[str, Any]]:
        by_column = zip(*map(values_of, rows), strict=True)
        written = [column(values) for column, values in zip(columns, by_column, strict=True)]
        return [dict(zip(names, values, strict=True)) for values in zip(*written, strict=True)]

    return write


def _column(type_info: TypeInformation) -> Callable[[Sequence[Any]], Sequence[Any]]:
    write = write_nullable(type_info)
    inner = unwrapped(type_info)
    as_is = _AS_IS.get(inner.basic_type) if isinstance(inner, BasicTypeInfo) else None
    if as_is is None:
        return lambda values: list(map(write, values))
    return lambda values: values if as_is.issuperset(map(type, values)) else list(map(write, values))


def _write(type_info: TypeInformation) -> Write:
    inner = unwrapped(type_info)
    if isinstance(inner, BasicTypeInfo):
        return _BASIC[inner.basic_type]
    if isinstance(inner, RowTypeInfo):
        return write_row(inner)
    if isinstance(inner, TupleTypeInfo):
        return write_row(RowTypeInfo(inner.get_field_types()))
    if isinstance(inner, PrimitiveArrayTypeInfo) and inner.element_type == Types.BYTE():
        return lambda value: base64.b64encode(_required(value, bytes | bytearray)).decode()
    if isinstance(inner, PrimitiveArrayTypeInfo | BasicArrayTypeInfo | ObjectArrayTypeInfo | ListTypeInfo):
        element = write_nullable(inner.element_type)
        return lambda value: list(map(element, value))
    if isinstance(inner, MapTypeInfo):
        return _write_map(inner)
    if isinstance(inner, DateTypeInfo):
        return lambda value: _required(value, date).isoformat()
    if isinstance(inner, TimeTypeInfo):
        return lambda value: f"{_required(value, time).replace(tzinfo=None).isoformat()}Z"
    if isinstance(inner, TimestampTypeInfo):
        return _timestamp
    raise ConfigurationError(f"JSON has no form for {type_info}: a field is a basic type, a row, an array or a map")


def _write_map(type_info: MapTypeInfo) -> Write:
    value_of = write_nullable(type_info.value_type)
    key_type = type_info.key_type
    return lambda entries: {java_string(key_type, key): value_of(value) for key, value in entries.items()}


def _required(value: Any, kind: Any) -> Any:
    if not isinstance(value, kind):
        raise TypeError(f"{value!r} is a {type(value).__name__}")
    return value


def _integer(value: Any) -> int:
    if isinstance(value, bool):
        raise TypeError(f"{value!r} is a bool")
    return int(_required(value, int))


def _double(value: Any) -> Any:
    number = float(_required(value, float | int))
    return number if math.isfinite(number) else java_string(Types.DOUBLE(), number)


def _decimal(value: Any) -> Decimal:
    number: Decimal = _required(value, Decimal)
    if not number.is_finite():
        raise ValueError(f"{value!r} is not a number in JSON, nor in Java's BigDecimal")
    return number


def _float(value: Any) -> Any:
    """Return a number with as many digits as 32 bits need: 0.1, not 0.10000000149011612."""
    number = float(_required(value, float | int))
    return float(java_float(number)) if math.isfinite(number) else java_string(Types.DOUBLE(), number)


def _timestamp(value: Any) -> str:
    """Return a time as if it were in UTC, as in Flink; one with a zone as this machine's clock shows it."""
    moment = _required(value, datetime)
    if moment.tzinfo is not None:
        moment = moment.astimezone().replace(tzinfo=None)
    text = moment.isoformat()
    return f"{text.rstrip('0') if moment.microsecond else text}Z"


_AS_IS: dict[BasicType, frozenset[type]] = {
    BasicType.STRING: frozenset({str, NoneType}),
    BasicType.BOOLEAN: frozenset({bool, NoneType}),
    BasicType.BYTE: frozenset({int, NoneType}),
    BasicType.SHORT: frozenset({int, NoneType}),
    BasicType.INT: frozenset({int, NoneType}),
    BasicType.LONG: frozenset({int, NoneType}),
    BasicType.BIG_INT: frozenset({int, NoneType}),
}

_BASIC: dict[BasicType, Write] = {
    BasicType.STRING: lambda value: _required(value, str),
    BasicType.CHAR: lambda value: _required(value, str),
    BasicType.BOOLEAN: lambda value: _required(value, bool),
    BasicType.BYTE: _integer,
    BasicType.SHORT: _integer,
    BasicType.INT: _integer,
    BasicType.LONG: _integer,
    BasicType.BIG_INT: _integer,
    BasicType.FLOAT: _float,
    BasicType.DOUBLE: _double,
    BasicType.BIG_DEC: _decimal,
    BasicType.INSTANT: lambda value: java_string(Types.INSTANT(), _required(value, Instant)),
}
