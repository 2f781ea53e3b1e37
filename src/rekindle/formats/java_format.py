"""Show values the way Flink shows them.

PyFlink's ``print()`` has three ways, and ``format_value`` follows it in each:

* a stream without a type (pickled): Python's ``str()``;
* a stream of rows: ``+I[a,0]``, the fields by Python's ``str()``;
* any other type: Java's ``toString()``, as ``java_string`` gives it: ``(hi,4)``, ``1.0E10``, ``true``.

Sinks that write text get Java's form for rows as well: ``+I[a, 0]``.
"""

from __future__ import annotations

import datetime
import math
import struct
from collections.abc import Iterable
from decimal import Decimal
from typing import Any

from rekindle.base.time import Instant
from rekindle.types.native_typeinfo import NullableTypeInfo
from rekindle.types.row import Row, RowKind, row_from
from rekindle.types.typeinfo import (
    BasicArrayTypeInfo,
    BasicType,
    BasicTypeInfo,
    ExternalTypeInfo,
    ListTypeInfo,
    LocalTimeTypeInfo,
    MapTypeInfo,
    ObjectArrayTypeInfo,
    PickledBytesTypeInfo,
    PrimitiveArrayTypeInfo,
    RowTypeInfo,
    TimestampTypeInfo,
    TimeTypeInfo,
    TupleTypeInfo,
    TypeInformation,
)

__all__ = ["as_user_code_sees_it", "format_value", "java_double", "java_float", "java_string", "unwrapped"]

_ELEMENTS_TYPES = (ListTypeInfo, ObjectArrayTypeInfo, PrimitiveArrayTypeInfo, BasicArrayTypeInfo)


def format_value(type_info: TypeInformation | None, value: Any) -> str:
    """Return the line that PyFlink's ``print()`` writes for a record.

    Args:
        type_info: The stream's type; ``None`` for a stream that was given none.
        value: The record.
    """
    type_info = unwrapped(type_info)
    if type_info is None or isinstance(type_info, PickledBytesTypeInfo):
        return str(value)
    if isinstance(type_info, RowTypeInfo) and value is not None:
        row = as_user_code_sees_it(type_info, value)
        return f"{row.get_row_kind()}[{','.join(map(str, row))}]"
    return java_string(type_info, value)


def java_string(type_info: TypeInformation | None, value: Any) -> str:
    """Return what Java's ``toString()`` gives for a value of a type.

    A simple value that does not fit its type is shown by what it is.

    Raises:
        ValueError: The type is a row's, and the value cannot be taken as one.
    """
    type_info = unwrapped(type_info)
    if type_info is None or isinstance(type_info, PickledBytesTypeInfo):
        return str(value)
    if value is None:
        return "null"
    if isinstance(type_info, BasicTypeInfo):
        return _java_basic(type_info.basic_type, value)
    if isinstance(type_info, RowTypeInfo):
        values = _java_fields(type_info.get_field_types(), type_info.values_of(value))
        return f"{_row_kind(value)}[{', '.join(values)}]"
    if isinstance(type_info, TupleTypeInfo) and isinstance(value, Iterable):
        return f"({','.join(_java_fields(type_info.get_field_types(), value))})"
    if isinstance(type_info, _ELEMENTS_TYPES) and isinstance(value, Iterable):
        return f"[{', '.join(java_string(type_info.element_type, element) for element in value)}]"
    if isinstance(type_info, MapTypeInfo) and isinstance(value, dict):
        entries = (
            f"{java_string(type_info.key_type, key)}={java_string(type_info.value_type, element)}"
            for key, element in value.items()
        )
        return f"{{{', '.join(entries)}}}"
    return _java_time(type_info, value)


def java_double(value: float) -> str:
    """Return a number the way ``Double.toString`` writes it: ``1.0``, ``1.0E10``, ``NaN``."""
    return _java_number(value, repr(float(value)))


def java_float(value: float) -> str:
    """Return a number the way ``Float.toString`` writes it, with the digits that 32 bits hold."""
    try:
        single = struct.unpack("f", struct.pack("f", value))[0]
    except OverflowError:
        single = math.copysign(math.inf, value)
    if not math.isfinite(single):
        return _java_number(single, "")
    for digits in range(1, 9):
        shortest = f"{single:.{digits}g}"
        if struct.pack("f", float(shortest)) == struct.pack("f", single):
            return _java_number(single, shortest)
    return _java_number(single, f"{single:.9g}")


def _java_number(value: float, shortest: str) -> str:
    if math.isnan(value):
        return "NaN"
    sign = "-" if math.copysign(1.0, value) < 0 else ""
    if math.isinf(value):
        return f"{sign}Infinity"
    if value == 0:
        return f"{sign}0.0"
    digits = "".join(map(str, Decimal(shortest).normalize().as_tuple().digits))
    exponent = Decimal(shortest).adjusted()
    if len(digits) == 1:
        # Java writes two digits at least, and takes the closest two: 4.9E-324, not 5.0E-324.
        mantissa, _, power = f"{abs(value):.1e}".partition("e")
        digits, exponent = mantissa.replace(".", ""), int(power)
    if not -3 <= exponent < 7:
        return f"{sign}{digits[0]}.{digits[1:]}E{exponent}"
    if exponent < 0:
        fraction = ("0" * (-exponent - 1) + digits).rstrip("0")
        return f"{sign}0.{fraction}"
    digits = digits.ljust(exponent + 2, "0")
    whole, fraction = digits[: exponent + 1], digits[exponent + 1 :].rstrip("0") or "0"
    return f"{sign}{whole}.{fraction}"


def _java_basic(basic_type: BasicType, value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float) and not isinstance(value, bool):
        if basic_type is BasicType.FLOAT:
            return java_float(value)
        if basic_type is BasicType.DOUBLE or isinstance(value, float):
            return java_double(value)
    if isinstance(value, Instant):
        return _java_instant(value)
    return str(value)


def _java_time(type_info: TypeInformation, value: Any) -> str:
    if isinstance(type_info, TimestampTypeInfo) and isinstance(value, datetime.datetime):
        fraction = f"{value.microsecond:06d}".rstrip("0") or "0"
        return f"{value.replace(tzinfo=None, microsecond=0)}.{fraction}"
    if isinstance(type_info, TimeTypeInfo) and isinstance(value, datetime.time):
        return f"{value:%H:%M:%S}"
    if isinstance(type_info, LocalTimeTypeInfo):
        if isinstance(value, datetime.datetime):
            return f"{value.date()}T{_java_local_time(value.time())}"
        if isinstance(value, datetime.time):
            return _java_local_time(value)
    return str(value)


def _java_local_time(value: datetime.time) -> str:
    text = f"{value:%H:%M}"
    if value.second or value.microsecond:
        text += f":{value.second:02d}{_java_fraction(value.microsecond * 1000)}"
    return text


def _java_instant(value: Instant) -> str:
    seconds, nanos = value.seconds + value.nanos // 1_000_000_000, value.nanos % 1_000_000_000
    try:
        moment = datetime.datetime(1970, 1, 1) + datetime.timedelta(seconds=seconds)
    except OverflowError:  # beyond the years that Python has
        return repr(value)
    return f"{moment.isoformat()}{_java_fraction(nanos)}Z"


def _java_fraction(nanos: int) -> str:
    """Return a fraction of a second in three, six or nine digits, and nothing for zero."""
    if nanos == 0:
        return ""
    digits = f"{nanos:09d}"
    while digits.endswith("000"):
        digits = digits[:-3]
    return f".{digits}"


def _java_fields(field_types: list[TypeInformation], values: Iterable[Any]) -> list[str]:
    return [java_string(field_type, value) for field_type, value in zip(field_types, values, strict=False)]


def _row_kind(value: Any) -> RowKind:
    return value.get_row_kind() if isinstance(value, Row) else RowKind.INSERT


def unwrapped(type_info: TypeInformation | None) -> TypeInformation | None:
    """Return the type inside of wrappers that do not change how a value is shown."""
    while isinstance(type_info, ExternalTypeInfo | NullableTypeInfo):
        type_info = type_info.inner if isinstance(type_info, NullableTypeInfo) else type_info.type_info
    return type_info


def as_user_code_sees_it(type_info: TypeInformation, value: Any) -> Any:
    """Return a field as it arrives in a function downstream: a row there has its type's field names."""
    kind = unwrapped(type_info)
    if value is None or kind is None:
        return value
    if isinstance(kind, RowTypeInfo):
        types = kind.get_field_types()
        fields = zip(types, kind.values_of(value), strict=False)
        row = row_from(
            [as_user_code_sees_it(field_type, field) for field_type, field in fields],
            kind.get_field_names(),
        )
        row.set_row_kind(_row_kind(value))
        return row
    if isinstance(kind, TupleTypeInfo) and isinstance(value, Iterable):
        fields = zip(kind.get_field_types(), value, strict=False)
        return tuple(as_user_code_sees_it(field_type, field) for field_type, field in fields)
    if isinstance(kind, _ELEMENTS_TYPES) and isinstance(value, list | tuple):
        return [as_user_code_sees_it(kind.element_type, element) for element in value]
    if isinstance(kind, MapTypeInfo) and isinstance(value, dict):
        keys = [as_user_code_sees_it(kind.key_type, key) for key in value]
        elements = [as_user_code_sees_it(kind.value_type, element) for element in value.values()]
        return dict(zip(keys, elements, strict=True))
    return value
