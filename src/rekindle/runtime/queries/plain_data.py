"""Plain data as bytes, without types on either side and without pickle: what untyped state is queried with.

It is msgpack, with an extension for each type that msgpack lacks. What comes back is what went in, of the same types;
what is no plain data is refused.
"""

from __future__ import annotations

import datetime
import decimal
import uuid
from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from rekindle.exceptions import SerializationError
from rekindle.types.row import Row
from rekindle.types.type_serializer import BytesSerializer

_TUPLE, _DICT, _SET, _FROZENSET, _ROW, _INTEGER, _DECIMAL, _DATE, _TIME, _DATETIME, _SECONDS, _UUID = range(1, 13)
_LONG = 1 << 63

_encode = msgspec.msgpack.Encoder().encode
_Ext = msgspec.msgpack.Ext


class PlainDataSerializer(BytesSerializer[Any]):
    """Serialize None, bool, int, float, str, bytes, collections of Python's, Row, Decimal, UUID, and times."""

    takes_none = True

    def to_bytes(self, element: Any) -> bytes:
        """Return plain data as bytes.

        Raises:
            SerializationError: There is something in it that only pickle could write.
        """
        try:
            return _encode(_packed(element))
        except (UnicodeError, RecursionError, OverflowError) as error:
            raise SerializationError(f"a {type(element).__name__} cannot be written as plain data: {error}") from error

    def from_bytes(self, data: bytes | memoryview) -> Any:
        """Return the data that these bytes were made of."""
        try:
            return _decode(data)
        except (msgspec.MsgspecError, ValueError, TypeError, ArithmeticError, RecursionError) as error:
            raise SerializationError(f"{len(data)} bytes are not plain data: {error}") from error

    def all_to_bytes(self, elements: Sequence[Any]) -> bytes:
        """Return many elements as bytes."""
        return self.to_bytes(list(elements))

    def all_from_bytes(self, data: bytes | memoryview) -> list[Any]:
        """Return the elements that these bytes were made of."""
        elements = self.from_bytes(data)
        if not isinstance(elements, list):
            raise SerializationError(f"{len(data)} bytes are not a list of plain data")
        return elements


PLAIN = PlainDataSerializer()


def _packed(value: Any) -> Any:
    kind = type(value)
    if value is None or kind is bool or kind is float or kind is str or kind is bytes:
        return value
    if kind is int:
        if -_LONG <= value < _LONG:
            return value
        return _Ext(_INTEGER, value.to_bytes(value.bit_length() // 8 + 1, "big", signed=True))
    if kind is list:
        return list(map(_packed, value))
    packer = _PACKERS.get(kind)
    if packer is None:
        raise SerializationError(
            f"a {kind.__module__}.{kind.__qualname__} is not plain data: only pickle could carry it, and queries never "
            "do. Give the state a type in its descriptor, and key_by a key_type"
        )
    code, pack = packer
    return _Ext(code, pack(value))


def _nested(values: Any) -> bytes:
    return _encode(list(map(_packed, values)))


def _pack_dict(value: dict[Any, Any]) -> bytes:
    return _encode([[_packed(key), _packed(item)] for key, item in value.items()])


def _pack_row(row: Row) -> bytes:
    return _encode([row._fields, list(map(_packed, row))])


_PACKERS: dict[type, tuple[int, Callable[[Any], bytes]]] = {
    tuple: (_TUPLE, _nested),
    dict: (_DICT, _pack_dict),
    set: (_SET, _nested),
    frozenset: (_FROZENSET, _nested),
    Row: (_ROW, _pack_row),
    decimal.Decimal: (_DECIMAL, lambda value: str(value).encode()),
    datetime.date: (_DATE, lambda value: value.isoformat().encode()),
    datetime.time: (_TIME, lambda value: value.isoformat().encode()),
    datetime.datetime: (_DATETIME, lambda value: value.isoformat().encode()),
    datetime.timedelta: (_SECONDS, lambda value: _encode([value.days, value.seconds, value.microseconds])),
    uuid.UUID: (_UUID, lambda value: value.bytes),
}


def _unpack_row(data: memoryview) -> Row:
    names, values = _decode(data)
    row = Row(*values)
    if names is not None:
        row.set_field_names(names)
    return row


def _text(data: memoryview) -> str:
    return str(data, "utf-8")


_UNPACKERS: dict[int, Callable[[memoryview], Any]] = {
    _TUPLE: lambda data: tuple(_decode_list(data)),
    _DICT: lambda data: dict(_decode_list(data)),
    _SET: lambda data: set(_decode_list(data)),
    _FROZENSET: lambda data: frozenset(_decode_list(data)),
    _ROW: _unpack_row,
    _INTEGER: lambda data: int.from_bytes(data, "big", signed=True),
    _DECIMAL: lambda data: decimal.Decimal(_text(data)),
    _DATE: lambda data: datetime.date.fromisoformat(_text(data)),
    _TIME: lambda data: datetime.time.fromisoformat(_text(data)),
    _DATETIME: lambda data: datetime.datetime.fromisoformat(_text(data)),
    _SECONDS: lambda data: datetime.timedelta(*_decode_list(data)),
    _UUID: lambda data: uuid.UUID(bytes=bytes(data)),
}


def _unpacked(code: int, data: memoryview) -> Any:
    unpack = _UNPACKERS.get(code)
    if unpack is None:
        raise ValueError(f"there is no plain data of type {code}")
    return unpack(data)


_decode = msgspec.msgpack.Decoder(ext_hook=_unpacked).decode


def _decode_list(data: memoryview) -> list[Any]:
    values = _decode(data)
    if not isinstance(values, list):
        raise ValueError("a list was expected")
    return values
