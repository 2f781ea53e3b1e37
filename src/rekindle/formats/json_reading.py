"""How values in JSON become values of a type, as in Flink's JsonRowDeserializationSchema."""

from __future__ import annotations

import base64
import re
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

from rekindle.base.time import Instant
from rekindle.exceptions import ConfigurationError
from rekindle.formats.java_format import unwrapped
from rekindle.formats.json_nodes import Node, node_json, node_text, plain_decimal
from rekindle.types.row import Row, row_from
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
)

Read = Callable[[Node], Any]

_INTEGER = re.compile(r"[+-]?\d+", re.ASCII)
_DECIMAL = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_FLOAT = re.compile(rf"({_DECIMAL.pattern})[fFdD]?|[+-]?(NaN|Infinity)", re.ASCII)
_HEX_FLOAT = re.compile(r"[+-]?0[xX][0-9a-fA-F]*\.?[0-9a-fA-F]*[pP][+-]?\d+[fFdD]?", re.ASCII)
_DATE = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)
_TIME = re.compile(r"(\d\d:\d\d:\d\d)(\.\d{1,9})?Z", re.ASCII)
_TIMESTAMP = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?Z", re.ASCII)
_EPOCH = datetime(1970, 1, 1)


@dataclass(frozen=True, slots=True)
class JsonReading:
    """How lenient to be.

    Attributes:
        fail_on_missing_field: Refuse objects without one of the fields, instead of taking it as None.
        ignore_parse_errors: Take values that do not match their type as None.
    """

    fail_on_missing_field: bool = False
    ignore_parse_errors: bool = False

    def read_nullable(self, type_info: TypeInformation) -> Read:
        """Return what reads values of a type, with None for null.

        Raises:
            ConfigurationError: JSON has no form for the type.
        """
        read = self._read(type_info)
        if not self.ignore_parse_errors:
            return lambda node: None if node is None else read(node)

        def leniently(node: Node) -> Any:
            try:
                return None if node is None else read(node)
            except Exception:  # asked for
                return None

        return leniently

    def read_row(self, type_info: RowTypeInfo) -> Callable[[Node], Row]:
        """Return what reads an object as a row."""
        names = type_info.get_field_names()
        types = type_info.get_field_types()
        fields = [(name, self.read_nullable(inner)) for name, inner in zip(names, types, strict=True)]

        def read(node: Node) -> Row:
            require(node, dict, "an object")
            if self.fail_on_missing_field:
                self.require_fields(node, names)
            return row_from([field(node.get(name)) for name, field in fields], names)

        return read

    @staticmethod
    def require_fields(node: dict[str, Node], names: Sequence[str]) -> None:
        """Raise for the first name that an object does not have."""
        for name in names:
            if name not in node:
                raise ValueError(f"Could not find field with name '{name}'.")

    def _read(self, type_info: TypeInformation) -> Read:
        inner = unwrapped(type_info)
        if isinstance(inner, BasicTypeInfo):
            return _BASIC[inner.basic_type]
        if isinstance(inner, RowTypeInfo):
            return self.read_row(inner)
        if isinstance(inner, TupleTypeInfo):
            return self._read_tuple(inner)
        if isinstance(inner, PrimitiveArrayTypeInfo):
            return self._read_primitive_array(inner)
        if isinstance(inner, BasicArrayTypeInfo | ObjectArrayTypeInfo | ListTypeInfo):
            element = self.read_nullable(inner.element_type)
            return lambda node: list(map(element, require(node, list, "an array")))
        if isinstance(inner, MapTypeInfo):
            return self._read_map(inner)
        for kind, read in _TIMES.items():
            if isinstance(inner, kind):
                return read
        raise ConfigurationError(f"JSON has no form for {type_info}: a field is a basic type, a row, an array or a map")

    def _read_tuple(self, type_info: TupleTypeInfo) -> Read:
        row = self.read_row(RowTypeInfo(type_info.get_field_types()))
        return lambda node: tuple(row(node))

    def _read_primitive_array(self, type_info: PrimitiveArrayTypeInfo) -> Read:
        read = self._read(type_info.element_type)
        basic_type = getattr(type_info.element_type, "basic_type", None)
        if basic_type is BasicType.BYTE:
            return _bytes
        zero = _ZEROS.get(basic_type, 0)
        return lambda node: [zero if element is None else read(element) for element in require(node, list, "an array")]

    def _read_map(self, type_info: MapTypeInfo) -> Read:
        key, value = self.read_nullable(type_info.key_type), self.read_nullable(type_info.value_type)

        def read(node: Node) -> dict[Any, Any]:
            entries = node.items() if isinstance(node, dict) else ()  # anything else is empty, as in Flink
            return {key(name): value(entry) for name, entry in entries}

        return read


def require(node: Node, kind: type, what: str) -> Any:
    """Return a value if it is of a kind.

    Raises:
        ValueError: It is not.
    """
    if not isinstance(node, kind):
        raise ValueError(f"expected {what}, found {node_json(node) or repr(node)}")
    return node


def _boolean(node: Node) -> bool:
    return node if isinstance(node, bool) else node_text(node).strip().lower() == "true"


def _parsed_integer(node: Node, bits: int) -> int:
    text = node_text(node).strip()
    if not _INTEGER.fullmatch(text):
        raise ValueError(f"{text!r} is not a whole number")
    return _in_range(int(text), bits)


def _in_range(number: int, bits: int) -> int:
    if not -(1 << bits - 1) <= number < 1 << bits - 1:
        raise ValueError(f"{number} does not fit in {bits} bits")
    return number


def _integer(node: Node, bits: int) -> int:
    """Return a number without its fraction; a text has to have none."""
    if isinstance(node, int | float | Decimal) and not isinstance(node, bool):
        return _in_range(int(node), bits)
    return _parsed_integer(node, bits)


def _double(node: Node) -> float:
    if isinstance(node, int | float | Decimal) and not isinstance(node, bool):
        try:
            return float(node)
        except OverflowError:  # an integer of more than 308 digits
            return float("inf") if node > 0 else float("-inf")
    text = node_text(node).strip()
    if _HEX_FLOAT.fullmatch(text):
        return float.fromhex(text.rstrip("fFdD") if "p" in text.lower() else text)
    if not _FLOAT.fullmatch(text):
        raise ValueError(f"{text!r} is not a number")
    return float(text if text.endswith(("N", "y")) else text.rstrip("fFdD"))


def _float(node: Node) -> float:
    """Return a number in the precision of 32 bits."""
    value = _double(node)
    try:
        return float(struct.unpack("<f", struct.pack("<f", value))[0])
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")


def _big_decimal(node: Node) -> Decimal:
    if isinstance(node, Decimal):
        return Decimal(plain_decimal(node))
    text = node_text(node).strip()
    if not _DECIMAL.fullmatch(text):
        raise ValueError(f"{text!r} is not a decimal number")
    return Decimal(text)


def _big_integer(node: Node) -> int:
    text = node_text(node).strip()
    if not _INTEGER.fullmatch(text):
        raise ValueError(f"{text!r} is not a whole number")
    return int(text)


def _char(node: Node) -> str:
    if isinstance(node, int) and not isinstance(node, bool):
        return chr(node)
    if len(require(node, str, "a character")) != 1:
        raise ValueError(f"expected a character, found {node!r}")
    return str(node)


def _bytes(node: Node) -> bytes | None:
    """Return the bytes of a text in base64; None for anything else, as in Flink."""
    return base64.b64decode(node, validate=True) if isinstance(node, str) else None


def _date(node: Node) -> date:
    text = node_text(node)
    if not _DATE.fullmatch(text):
        raise ValueError(f"{text!r} is not a date such as 2026-01-31")
    return date.fromisoformat(text)


def _time(node: Node) -> time:
    text = node_text(node)
    match = _TIME.fullmatch(text)
    if match is None or (match[2] and match[2].strip(".0")):
        raise ValueError(f"{text!r} is not a time such as 12:30:00Z, which is in UTC and without a fraction")
    return time.fromisoformat(match[1])


def _timestamp(node: Node) -> datetime:
    moment, nanos = _moment(node)
    return moment + timedelta(microseconds=nanos // 1000)


def _instant(node: Node) -> Instant:
    if isinstance(node, int) and not isinstance(node, bool):
        return Instant(node, 0)
    moment, nanos = _moment(node)
    return Instant((moment - _EPOCH) // timedelta(seconds=1), nanos)


def _moment(node: Node) -> tuple[datetime, int]:
    text = node_text(node)
    match = _TIMESTAMP.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} is not a timestamp such as 2026-01-31T12:30:00.123Z")
    return datetime.fromisoformat(match[1]), int((match[2] or "").ljust(9, "0"))


_ZEROS: dict[BasicType | None, Any] = {
    BasicType.BOOLEAN: False,
    BasicType.FLOAT: 0.0,
    BasicType.DOUBLE: 0.0,
    BasicType.CHAR: "\0",
}

_BASIC: dict[BasicType, Read] = {
    BasicType.STRING: node_json,
    BasicType.BOOLEAN: _boolean,
    BasicType.BYTE: lambda node: _parsed_integer(node, 8),
    BasicType.SHORT: lambda node: _parsed_integer(node, 16),
    BasicType.INT: lambda node: _integer(node, 32),
    BasicType.LONG: lambda node: _integer(node, 64),
    BasicType.FLOAT: _float,
    BasicType.DOUBLE: _double,
    BasicType.CHAR: _char,
    BasicType.BIG_INT: _big_integer,
    BasicType.BIG_DEC: _big_decimal,
    BasicType.INSTANT: _instant,
}

_TIMES: dict[type, Read] = {DateTypeInfo: _date, TimeTypeInfo: _time, TimestampTypeInfo: _timestamp}
