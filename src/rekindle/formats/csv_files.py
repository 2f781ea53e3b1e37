"""CSV files of records with a schema."""

from __future__ import annotations

import math
import re
from base64 import b64encode
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from rekindle.formats.bulk_writer import BulkWriter, Opener, RowDataBulkWriterFactory
from rekindle.formats.csv_schema import CsvColumn, CsvSchema, csv_schema
from rekindle.types.type_information import TypeInformation

__all__ = ["CsvLines", "CsvWriterFactory", "csv_writer"]

_COPIED_BYTES = 1 << 20
_NEVER_PLAIN = frozenset(["", *",;|\t\"'\\\n\r"])


class CsvLines:
    """Turn the columns of records into lines."""

    def __init__(self, schema: CsvSchema, marks_empty: bool = True) -> None:
        """Prepare for a schema.

        Args:
            schema: The columns, and how they are written.
            marks_empty: Whether a text that reads like a missing value is in quotes.
        """
        self._schema = schema
        self._missing = schema.null_value if marks_empty else None
        quote, escape = schema.quote_char, schema.escape_char
        marks = {schema.column_separator, quote or "", escape or "", "\n", "\r", *schema.line_separator}
        # A reader may trim spaces at both ends, and take # for the beginning of a comment.
        self._special = re.compile("|".join(["^[ #]", " $", *(re.escape(mark) for mark in sorted(marks) if mark)]))
        # What is not a text has none of the customary separators in it.
        self._all_are_texts = not marks.issubset(_NEVER_PLAIN) or schema.null_value != ""
        self._cells = [self._cells_of(column) for column in schema.columns]

    def header(self) -> str:
        """Return the line with the names of the columns."""
        return self._schema.column_separator.join(map(self._text, self._schema.names)) + self._schema.line_separator

    def lines(self, columns: Sequence[Sequence[Any]]) -> str:
        """Return the lines of records, given column by column."""
        null, end = self._schema.null_value, self._schema.line_separator
        cells = [
            [null if value is None else cell(value) for value in values]
            for cell, values in zip(self._cells, columns, strict=True)
        ]
        rows = map(self._schema.column_separator.join, zip(*cells, strict=True))
        return "".join([f"{row}{end}" for row in rows])

    def _cells_of(self, column: CsvColumn) -> Callable[[Any], str]:
        if not column.is_array:
            return self._cell
        separator = self._schema.separator_of(column)
        null = self._schema.null_value
        return lambda values: self._text(separator.join([null if each is None else _plain(each) for each in values]))

    def _cell(self, value: Any) -> str:
        if isinstance(value, str):
            return self._text(value)
        return self._text(_plain(value)) if self._all_are_texts else _plain(value)

    def _text(self, text: str) -> str:
        """Return a text, in quotes where it would be taken for something else: an empty one is not a missing one."""
        quote = self._schema.quote_char
        if quote is None or (text != self._missing and self._special.search(text) is None):
            return text
        escape = self._schema.escape_char or quote
        if escape != quote:
            text = text.replace(escape, escape + escape)
        return f"{quote}{text.replace(quote, escape + quote)}{quote}"


def _plain(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"  # as Java reads them
    if isinstance(value, bytes | bytearray):
        return b64encode(value).decode()
    if hasattr(value, "isoformat"):
        return value.isoformat(" ") if hasattr(value, "hour") and hasattr(value, "year") else str(value.isoformat())
    return str(value)


class CsvWriterFactory(RowDataBulkWriterFactory):
    """Make writers of CSV files.

    Attributes:
        schema: The columns, and how they are written.
    """

    def __init__(self, row_type: Any) -> None:
        super().__init__(row_type)
        self.schema = csv_schema(row_type)
        self.may_be_concatenated = not self.schema.header

    def fingerprint(self) -> str:
        """Return the format and the schema."""
        return f"{super().fingerprint()} {self.schema!r}"

    def create(self, type_info: TypeInformation | None = None) -> BulkWriter:
        """Return the writer of a new file."""
        return _CsvWriter(self.schema)

    def merged(self, files: Iterable[Opener]) -> Iterator[bytes]:
        """Return the lines of all files, with one header."""
        header = CsvLines(self.schema).header().encode() if self.schema.header else b""
        yield header
        for opened in files:
            with opened() as stream:
                stream.seek(len(header))
                while data := stream.read(_COPIED_BYTES):
                    yield data


class _CsvWriter(BulkWriter):
    def __init__(self, schema: CsvSchema) -> None:
        self._arrow = schema.to_arrow_schema()
        self._lines = CsvLines(schema)
        self._header = self._lines.header() if schema.header else ""

    def add(self, values: list[Any]) -> bytes:
        from rekindle.formats.arrow_columns import arrow_table  # that values fit their columns is checked by Arrow

        columns = arrow_table(values, self._arrow).columns
        header, self._header = self._header, ""
        return (header + self._lines.lines([column.to_pylist() for column in columns])).encode()

    def finish(self) -> bytes:
        header, self._header = self._header, ""
        return header.encode()


def csv_writer(schema: Any) -> CsvWriterFactory:
    """Write CSV files.

    Args:
        schema: A ``CsvSchema``; or a dataclass, ``Types.ROW_NAMED(…)``, a schema of Spark such as
            ``"user string, amount long"``, or of Arrow: then the first line has the names of the columns.
    """
    return CsvWriterFactory(schema)
