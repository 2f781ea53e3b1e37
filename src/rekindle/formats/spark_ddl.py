"""Schemas as Spark writes them, ``user string, amount decimal(10, 2), tags array<string>``, read without Spark."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

__all__ = ["parsed_ddl"]

_TOKEN = re.compile(r"\s*(?:(?P<quoted>`(?:[^`]|``)+`)|(?P<word>[^\W]+)|(?P<mark>[<>(),:]))")
_SIMPLE = {
    "bigint": "LongType",
    "binary": "BinaryType",
    "boolean": "BooleanType",
    "byte": "ByteType",
    "date": "DateType",
    "double": "DoubleType",
    "float": "FloatType",
    "int": "IntegerType",
    "integer": "IntegerType",
    "long": "LongType",
    "real": "FloatType",
    "short": "ShortType",
    "smallint": "ShortType",
    "string": "StringType",
    "timestamp": "TimestampType",
    "timestamp_ltz": "TimestampType",
    "timestamp_ntz": "TimestampNTZType",
    "tinyint": "ByteType",
    "variant": "VariantType",
}


def parsed_ddl(text: str) -> StructType:
    """Return the schema that a text describes.

    Raises:
        ValueError: It is not a schema; the message says where.
    """
    from pyspark.sql import types as T  # noqa: N812 - the customary name; programs are described without Spark

    parser = _Parser(text, T)
    fields = parser.fields(end=None)
    return T.StructType(fields)


class _Parser:
    """Read a schema from left to right."""

    def __init__(self, text: str, types: Any) -> None:
        self._text = text
        self._types = types
        self._at = 0

    def fields(self, end: str | None) -> list[Any]:
        found = []
        while True:
            name = self._next()
            if self._peek() == ":":
                self._next()
            found.append(self._types.StructField(_unquoted(name), self._type(), self._nullable()))
            mark = self._next(last=end is None)
            if mark == end:
                return found
            self._expect(mark, ",")

    def _type(self) -> Any:
        name = self._next().lower()
        if name in _SIMPLE:
            return getattr(self._types, _SIMPLE[name])()
        others: dict[str, Callable[[], Any]] = {
            "array": self._array,
            "char": self._text_of_length,
            "dec": self._decimal,
            "decimal": self._decimal,
            "map": self._map,
            "numeric": self._decimal,
            "struct": self._struct,
            "varchar": self._text_of_length,
        }
        if name not in others:
            raise self._error(f"there is no type {name!r}")
        return others[name]()

    def _array(self) -> Any:
        self._expect(self._next(), "<")
        element = self._type()
        self._expect(self._next(), ">")
        return self._types.ArrayType(element)

    def _map(self) -> Any:
        self._expect(self._next(), "<")
        key = self._type()
        self._expect(self._next(), ",")
        value = self._type()
        self._expect(self._next(), ">")
        return self._types.MapType(key, value)

    def _struct(self) -> Any:
        self._expect(self._next(), "<")
        return self._types.StructType(self.fields(end=">"))

    def _text_of_length(self) -> Any:
        self._numbers()
        return self._types.StringType()

    def _decimal(self) -> Any:
        return self._types.DecimalType(*(self._numbers() if self._peek() == "(" else (10, 0)))

    def _numbers(self) -> list[int]:
        self._expect(self._next(), "(")
        numbers = []
        while True:
            number = self._next()
            if not number.isdigit():
                raise self._error(f"{number!r} is not a number")
            numbers.append(int(number))
            mark = self._next()
            if mark == ")":
                return numbers
            self._expect(mark, ",")

    def _nullable(self) -> bool:
        if (self._peek() or "").lower() != "not":
            return True
        self._next()
        self._expect(self._next().lower(), "null")
        return False

    def _peek(self) -> str | None:
        match = _TOKEN.match(self._text, self._at)
        return match[0].strip() if match else None

    def _next(self, last: bool = False) -> Any:
        match = _TOKEN.match(self._text, self._at)
        if match is None:
            if last and not self._text[self._at :].strip():
                return None
            raise self._error("something is missing")
        self._at = match.end()
        return match[0].strip()

    def _expect(self, found: str | None, mark: str) -> None:
        if found != mark:
            raise self._error(f"{mark!r} was expected, and {found!r} is there")

    def _error(self, what: str) -> ValueError:
        return ValueError(
            f"{self._text!r} is not a schema: {what} at {self._text[: self._at]!r}. Write it as Spark does: "
            "'user string, amount decimal(10, 2), tags array<string>'"
        )


def _unquoted(name: str) -> str:
    return name[1:-1].replace("``", "`") if name.startswith("`") else name
