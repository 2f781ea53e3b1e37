"""Messages that are lines of CSV, and rows: as Flink's CSV format reads and writes them."""

from __future__ import annotations

import csv
from collections.abc import Callable
from dataclasses import replace
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any

from rekindle.exceptions import SerializationError
from rekindle.formats.csv_files import CsvLines
from rekindle.formats.csv_schema import CsvColumn, CsvSchema
from rekindle.formats.record_fields import fields_of
from rekindle.formats.schemas import DeserializationSchema, SerializationSchema
from rekindle.types.basic_typeinfo import BasicType, BasicTypeInfo
from rekindle.types.composite_typeinfo import (
    BasicArrayTypeInfo,
    ListTypeInfo,
    ObjectArrayTypeInfo,
    PrimitiveArrayTypeInfo,
    RowTypeInfo,
)
from rekindle.types.row import Row, row_from
from rekindle.types.time_typeinfo import DateTypeInfo, TimestampTypeInfo, TimeTypeInfo
from rekindle.types.type_information import TypeInformation
from rekindle.types.typeinfo import Types

__all__ = ["CsvRowDeserializationSchema", "CsvRowSerializationSchema"]

_ARRAYS = (BasicArrayTypeInfo, ListTypeInfo, ObjectArrayTypeInfo, PrimitiveArrayTypeInfo)


class CsvRowSerializationSchema(SerializationSchema[Any]):
    """Turn rows into lines; made by its :class:`Builder`."""

    def __init__(self, schema: CsvSchema) -> None:
        """Hold how lines are written; programs use the builder."""
        self._names = schema.names
        self._lines = CsvLines(schema, marks_empty=False)

    def serialize(self, element: Any) -> bytes:
        """Return the line of a row, with its end.

        Raises:
            SerializationError: The row does not have the fields of the type.
        """
        values = fields_of(type(element), self._names)(element)
        return self._lines.lines([(value,) for value in values]).encode()

    class Builder:
        """Build a :class:`CsvRowSerializationSchema`."""

        def __init__(self, type_info: TypeInformation) -> None:
            self._schema = _schema(type_info)

        def set_field_delimiter(self, c: str) -> CsvRowSerializationSchema.Builder:
            """Set what is between two fields; a comma by default."""
            return self._with(column_separator=c)

        def set_line_delimiter(self, delimiter: str) -> CsvRowSerializationSchema.Builder:
            """Set the end of a line."""
            return self._with(line_separator=delimiter)

        def set_array_element_delimiter(self, delimiter: str) -> CsvRowSerializationSchema.Builder:
            """Set what is between the elements of an array; a semicolon by default."""
            return self._with(array_separator=delimiter)

        def disable_quote_character(self) -> CsvRowSerializationSchema.Builder:
            """Put nothing around values."""
            return self._with(quote_char=None)

        def set_quote_character(self, c: str) -> CsvRowSerializationSchema.Builder:
            """Set what is around a value with a delimiter in it; a double quote by default."""
            return self._with(quote_char=c)

        def set_escape_character(self, c: str) -> CsvRowSerializationSchema.Builder:
            """Set what is before a quote inside a value; a quote by default."""
            return self._with(escape_char=c)

        def set_null_literal(self, s: str) -> CsvRowSerializationSchema.Builder:
            """Set what stands for a missing value; nothing by default."""
            return self._with(null_value=s)

        def build(self) -> CsvRowSerializationSchema:
            """Build the schema."""
            return CsvRowSerializationSchema(self._schema)

        def _with(self, **changes: Any) -> CsvRowSerializationSchema.Builder:
            self._schema = replace(self._schema, **changes)
            return self


class CsvRowDeserializationSchema(DeserializationSchema[Row | None]):
    """Turn lines into rows; made by its :class:`Builder`."""

    def __init__(self, schema: CsvSchema, null_literal: str | None, ignore_parse_errors: bool) -> None:
        """Hold how lines are read; programs use the builder."""
        self._schema = schema
        self._names = schema.names
        self._null = null_literal
        self._lenient = ignore_parse_errors
        self._parsers = [_parser(column.kind, schema.array_separator, column.name) for column in schema.columns]

    def deserialize(self, message: bytes) -> Row | None:
        """Return the row in a line; None for a line that cannot be read, if errors are ignored.

        Raises:
            SerializationError: The line does not have these fields; the message shows it.
        """
        try:
            return self._row(bytes(message).decode())
        except (ValueError, ArithmeticError, csv.Error) as error:
            if self._lenient:
                return None
            raise SerializationError(
                f"failed to deserialize CSV row {message[:200]!r}: {error}. Change the type or the line, or call "
                "set_ignore_parse_errors(True)"
            ) from error

    def _row(self, text: str) -> Row | None:
        schema = self._schema
        if schema.comments and text.startswith("#"):
            return None
        lines = csv.reader(
            text.splitlines(keepends=True),
            delimiter=schema.column_separator,
            quotechar=schema.quote_char,
            escapechar=schema.escape_char,
            quoting=csv.QUOTE_NONE if schema.quote_char is None else csv.QUOTE_MINIMAL,
            strict=True,
        )
        cells = next(lines, [])
        if len(cells) > len(self._names) or not cells or (len(cells) < len(self._names) and not self._lenient):
            raise ValueError(f"it has {len(cells)} fields, and the type has {len(self._names)}")
        values = [self._value(cell, parse) for cell, parse in zip(cells, self._parsers, strict=False)]
        return row_from(values + [None] * (len(self._names) - len(values)), self._names)

    def _value(self, cell: str, parse: Callable[[str], Any]) -> Any:
        if cell == self._null:
            return None
        try:
            return parse(cell)
        except (ValueError, ArithmeticError):
            if self._lenient:
                return None
            raise

    class Builder:
        """Build a :class:`CsvRowDeserializationSchema`."""

        def __init__(self, type_info: TypeInformation) -> None:
            self._schema = _schema(type_info)
            self._null: str | None = None
            self._lenient = False

        def set_field_delimiter(self, delimiter: str) -> CsvRowDeserializationSchema.Builder:
            """Set what is between two fields; a comma by default."""
            return self._with(column_separator=delimiter)

        def set_allow_comments(self, allow_comments: bool) -> CsvRowDeserializationSchema.Builder:
            """Set whether lines that begin with ``#`` are skipped."""
            return self._with(comments=allow_comments)

        def set_array_element_delimiter(self, delimiter: str) -> CsvRowDeserializationSchema.Builder:
            """Set what is between the elements of an array; a semicolon by default."""
            return self._with(array_separator=delimiter)

        def set_quote_character(self, c: str) -> CsvRowDeserializationSchema.Builder:
            """Set what is around a value with a delimiter in it; a double quote by default."""
            return self._with(quote_char=c)

        def set_escape_character(self, c: str) -> CsvRowDeserializationSchema.Builder:
            """Set what is before a quote inside a value; a quote by default."""
            return self._with(escape_char=c)

        def set_null_literal(self, null_literal: str) -> CsvRowDeserializationSchema.Builder:
            """Set what stands for a missing value; by default none is missing."""
            self._null = null_literal
            return self

        def set_ignore_parse_errors(self, ignore_parse_errors: bool) -> CsvRowDeserializationSchema.Builder:
            """Set whether what cannot be read is None: a field, or the whole row."""
            self._lenient = ignore_parse_errors
            return self

        def build(self) -> CsvRowDeserializationSchema:
            """Build the schema."""
            return CsvRowDeserializationSchema(self._schema, self._null, self._lenient)

        def _with(self, **changes: Any) -> CsvRowDeserializationSchema.Builder:
            self._schema = replace(self._schema, **changes)
            return self


def _schema(type_info: TypeInformation) -> CsvSchema:
    if type_info is None:
        raise TypeError("Type information must not be None")
    if not isinstance(type_info, RowTypeInfo):
        raise TypeError(
            f"CSV is read and written as rows, of Types.ROW or Types.ROW_NAMED, and the type is {type_info}"
        )
    pairs = zip(type_info.get_field_names(), type_info.get_field_types(), strict=True)
    return CsvSchema(tuple(CsvColumn(name, _column_type(kind)) for name, kind in pairs))


def _column_type(kind: TypeInformation) -> TypeInformation:
    return Types.LIST(kind.element_type) if isinstance(kind, _ARRAYS) else kind


def _parser(kind: TypeInformation, separator: str, name: str) -> Callable[[str], Any]:
    if isinstance(kind, ListTypeInfo):
        element = _parser(kind.element_type, separator, name)
        return lambda cell: [element(part) for part in cell.split(separator)] if cell else []
    if isinstance(kind, DateTypeInfo):
        return date.fromisoformat
    if isinstance(kind, TimeTypeInfo):
        return time.fromisoformat
    if isinstance(kind, TimestampTypeInfo):
        return datetime.fromisoformat
    parsers: dict[BasicType, Callable[[str], Any]] = {
        BasicType.STRING: str,
        BasicType.CHAR: str,
        BasicType.BOOLEAN: _boolean,
        BasicType.BYTE: int,
        BasicType.SHORT: int,
        BasicType.INT: int,
        BasicType.LONG: int,
        BasicType.BIG_INT: int,
        BasicType.FLOAT: float,
        BasicType.DOUBLE: float,
        BasicType.BIG_DEC: Decimal,
    }
    if isinstance(kind, BasicTypeInfo) and kind.basic_type in parsers:
        return parsers[kind.basic_type]
    raise TypeError(f"field {name!r} is of type {kind}, which CSV does not have")


def _boolean(cell: str) -> bool:
    text = cell.strip().lower()
    if text not in ("true", "false"):
        raise ValueError(f"{cell!r} is neither true nor false")
    return text == "true"
