"""Show records as JSON, in the form that ``spark.read.json`` takes back with the records' schema.

What JSON has no type for is a string, as in Spark's own JSON: bytes in base64, times in ISO 8601, intervals in SQL,
``"NaN"`` and ``"Infinity"``, keys of maps.
"""

from __future__ import annotations

import base64
import dataclasses
import math
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from functools import lru_cache, partial
from types import NoneType
from typing import Any

import msgspec

from rekindle.base.time import Instant
from rekindle.formats.java_format import java_string
from rekindle.types.row import Row
from rekindle.types.typeinfo import Types

__all__ = ["has_fields", "json_text"]

Conversion = Callable[[Any], Any]

_encode = msgspec.json.Encoder(decimal_format="number").encode
_AS_IS = frozenset({str, int, bool, NoneType})


@lru_cache(maxsize=1024)  # a class is made for every schema
def has_fields(kind: type) -> bool:
    """Return whether records of a class have fields: rows, tuples, dicts, dataclasses, and structs of msgspec."""
    if issubclass(kind, Row | tuple | Mapping | msgspec.Struct):
        return True
    return dataclasses.is_dataclass(kind) and kind is not Instant


def json_text(value: Any) -> str:
    """Return a record as JSON, on one line.

    Whatever has fields becomes an object. Fields without names are called ``f0``, ``f1`` and so on, as in Flink; inside
    a record, a tuple without names becomes an array. An object that JSON has no form for becomes its ``str()``.
    """
    if isinstance(value, tuple) and _names(value) is None:
        value = Row(*value)
    return _encode(_plain(value)).decode()


def _plain(value: Any) -> Any:
    """Return what msgspec encodes as Spark expects it."""
    kind: type = type(value)
    return value if kind in _AS_IS else _conversion(kind)(value)


@lru_cache(maxsize=1024)
def _conversion(kind: type) -> Conversion:
    for base, convert in _CONVERSIONS.items():
        if issubclass(kind, base):
            return convert
    if dataclasses.is_dataclass(kind):
        return _of_attributes([field.name for field in dataclasses.fields(kind)])
    return _of_attributes(kind.__struct_fields__) if issubclass(kind, msgspec.Struct) else _of_other


def _of_fields(names: Iterable[str], values: Iterable[Any]) -> dict[str, Any]:
    return {n: v if type(v) in _AS_IS else _plain(v) for n, v in zip(names, values, strict=False)}


def _of_attributes(names: Iterable[str]) -> Conversion:
    return lambda value: _of_fields(names, [getattr(value, name) for name in names])


def _of_row(row: Row) -> dict[str, Any]:
    names = [f"f{index}" for index in range(len(row))] if row._fields is None else row._fields
    return _of_fields(names, row._values)


def _of_tuple(values: tuple[Any, ...]) -> Any:
    names = _names(values)
    return _of_elements(values) if names is None else _of_fields(names, values)


def _names(values: tuple[Any, ...]) -> Iterable[str] | None:
    """Return the names of the fields of Spark's rows and of named tuples."""
    names: Iterable[str] | None = getattr(values, "__fields__", None) or getattr(values, "_fields", None)
    return names


def _of_elements(values: Iterable[Any]) -> list[Any]:
    return [_plain(value) for value in values]


def _of_map(entries: Mapping[Any, Any]) -> dict[str, Any]:
    return {_key(key): _plain(value) for key, value in entries.items()}


def _key(key: Any) -> str:
    plain = _plain(key)
    return plain if type(plain) is str else _encode(plain).decode()


def _of_float(value: float) -> float | str:
    if math.isfinite(value):
        return float(value)
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def _of_bytes(value: bytes | bytearray) -> str:
    return base64.b64encode(value).decode()


def _of_decimal(value: Decimal) -> Decimal | str:
    return value if value.is_finite() else str(value)


def _of_moment(value: datetime) -> str:
    offset = value.utcoffset()
    if offset is not None and offset.total_seconds() % 60:  # times before there were zones; Spark wants whole minutes
        value = value.astimezone(UTC)
    return value.isoformat()


def _of_interval(value: timedelta) -> str:
    sign, micros = ("-", -1) if value < timedelta(0) else ("", 1)
    micros *= value // timedelta(microseconds=1)
    seconds, micros = divmod(micros, 1_000_000)
    days, seconds = divmod(seconds, 86_400)
    clock = f"{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}.{micros:06d}"
    return f"INTERVAL '{sign}{days} {clock}' DAY TO SECOND"


def _of_other(value: Any) -> Any:
    if hasattr(value, "tolist"):  # a number or an array of numpy
        return _plain(value.tolist())
    if hasattr(value, "toJson"):  # Spark's variants
        return msgspec.Raw(value.toJson().encode())
    return str(value)


# The first class that fits counts.
_CONVERSIONS: dict[type, Conversion] = {
    Row: _of_row,
    Enum: lambda member: _plain(member.value),
    tuple: _of_tuple,
    Mapping: _of_map,
    list: _of_elements,
    set: _of_elements,
    frozenset: _of_elements,
    bool: bool,
    int: int,
    float: _of_float,
    str: str,
    bytes: _of_bytes,
    bytearray: _of_bytes,
    Decimal: _of_decimal,
    datetime: _of_moment,
    date: date.isoformat,
    time: time.isoformat,
    timedelta: _of_interval,
    Instant: partial(java_string, Types.INSTANT()),
}
