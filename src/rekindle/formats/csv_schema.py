"""What the columns of CSV files are, and how they are written: ``CsvSchema``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from rekindle.formats.row_schemas import arrow_schema
from rekindle.types.composite_typeinfo import ListTypeInfo
from rekindle.types.type_information import TypeInformation
from rekindle.types.typeinfo import Types

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["CsvColumn", "CsvSchema", "CsvSchemaBuilder"]


@dataclass(frozen=True, slots=True)
class CsvColumn:
    """A column.

    Attributes:
        name: Its name.
        kind: Its type.
        separator: What is between the elements of an array; None: it is not one, or has what all arrays have.
    """

    name: str
    kind: TypeInformation
    separator: str | None = None

    @property
    def is_array(self) -> bool:
        """Return whether a value is a list."""
        return isinstance(self.kind, ListTypeInfo)


@dataclass(frozen=True, slots=True)
class CsvSchema:
    """The columns of CSV files, and how they are written; made by :meth:`builder`, or by :meth:`of`.

    Attributes:
        columns: The columns.
        column_separator: What is between two columns.
        line_separator: What is behind each line that is written.
        quote_char: What is around a value with a separator in it; None: nothing.
        escape_char: What is before a quote inside a value; None: a quote.
        null_value: What stands for a value that is missing.
        array_separator: What is between the elements of an array.
        header: Whether the first line has the names of the columns.
        comments: Whether lines that begin with ``#`` are skipped.
    """

    columns: tuple[CsvColumn, ...]
    column_separator: str = ","
    line_separator: str = "\n"
    quote_char: str | None = '"'
    escape_char: str | None = None
    null_value: str = ""
    array_separator: str = ";"
    header: bool = False
    comments: bool = False

    @staticmethod
    def builder() -> CsvSchemaBuilder:
        """Start without columns."""
        return CsvSchemaBuilder()

    @property
    def names(self) -> list[str]:
        """Return the names of the columns."""
        return [column.name for column in self.columns]

    def to_arrow_schema(self) -> pa.Schema:
        """Return the schema as Arrow has it."""
        return arrow_schema(Types.ROW_NAMED(self.names, [column.kind for column in self.columns]))

    def separator_of(self, column: CsvColumn) -> str:
        """Return what is between the elements of an array."""
        return self.array_separator if column.separator is None else column.separator

    def size(self) -> int:
        """Count the columns."""
        return len(self.columns)

    def __len__(self) -> int:
        return len(self.columns)


class CsvSchemaBuilder:
    """Build a :class:`CsvSchema`."""

    def __init__(self) -> None:
        self._schema = CsvSchema(())

    def build(self) -> CsvSchema:
        """Build the schema."""
        return self._schema

    def add_array_column(
        self, name: str, separator: str = ";", element_type: TypeInformation | None = None
    ) -> CsvSchemaBuilder:
        """Add a column of lists.

        Args:
            name: Its name.
            separator: What is between two elements.
            element_type: The type of elements; strings by default.
        """
        return self._add(CsvColumn(name, Types.LIST(element_type or Types.STRING()), separator))

    def add_boolean_column(self, name: str) -> CsvSchemaBuilder:
        """Add a column of ``true`` and ``false``."""
        return self._add(CsvColumn(name, Types.BOOLEAN()))

    def add_number_column(self, name: str, number_type: TypeInformation | None = None) -> CsvSchemaBuilder:
        """Add a column of numbers.

        Args:
            name: Its name.
            number_type: The type of numbers, such as ``Types.DOUBLE()``; ``Types.LONG()`` by default.
        """
        return self._add(CsvColumn(name, Types.LONG() if number_type is None else number_type))

    def add_string_column(self, name: str) -> CsvSchemaBuilder:
        """Add a column of strings."""
        return self._add(CsvColumn(name, Types.STRING()))

    def add_columns_from(self, schema: CsvSchema) -> CsvSchemaBuilder:
        """Add all columns of another schema."""
        return self._with(columns=(*self._schema.columns, *schema.columns))

    def clear_columns(self) -> CsvSchemaBuilder:
        """Remove all columns."""
        return self._with(columns=())

    def set_allow_comments(self, allow: bool = True) -> CsvSchemaBuilder:
        """Set whether lines that begin with ``#`` are skipped."""
        return self._with(comments=allow)

    def set_array_element_separator(self, separator: str) -> CsvSchemaBuilder:
        """Set what is between the elements of arrays that have no separator of their own."""
        return self._with(array_separator=separator)

    def set_column_separator(self, char: str) -> CsvSchemaBuilder:
        """Set what is between two columns: one character."""
        return self._with(column_separator=_character(char, "Column separator"))

    def disable_escape_char(self) -> CsvSchemaBuilder:
        """Write a quote inside a value as two."""
        return self._with(escape_char=None)

    def set_escape_char(self, char: str) -> CsvSchemaBuilder:
        """Set what is before a quote inside a value: one character."""
        return self._with(escape_char=_character(char, "Escape char"))

    def set_line_separator(self, separator: str) -> CsvSchemaBuilder:
        """Set what is behind each line that is written. Lines that are read end with any line end."""
        return self._with(line_separator=separator)

    def set_null_value(self, null_value: str) -> CsvSchemaBuilder:
        """Set what stands for a value that is missing; nothing by default."""
        return self._with(null_value=null_value)

    def disable_quote_char(self) -> CsvSchemaBuilder:
        """Put nothing around values."""
        return self._with(quote_char=None)

    def set_quote_char(self, char: str) -> CsvSchemaBuilder:
        """Set what is around a value with a separator in it: one character."""
        return self._with(quote_char=_character(char, "Quote char"))

    def set_skip_first_data_row(self, skip: bool = True) -> CsvSchemaBuilder:
        """Skip the first line of each file; the same as a header."""
        return self._with(header=skip)

    def set_use_header(self, use: bool = True) -> CsvSchemaBuilder:
        """Set whether the first line of each file has the names of the columns."""
        return self._with(header=use)

    def size(self) -> int:
        """Count the columns."""
        return len(self._schema)

    def __len__(self) -> int:
        return len(self._schema)

    def _add(self, column: CsvColumn) -> CsvSchemaBuilder:
        return self._with(columns=(*self._schema.columns, column))

    def _with(self, **changes: Any) -> CsvSchemaBuilder:
        self._schema = replace(self._schema, **changes)
        return self


def csv_schema(given: Any) -> CsvSchema:
    """Return a schema as one of CSV files."""
    if isinstance(given, CsvSchema):
        return given
    schema = arrow_schema(given)
    return CsvSchema(tuple(CsvColumn(field.name, _type_of(field)) for field in schema), header=True)


def _type_of(field: pa.Field) -> TypeInformation:
    import pyarrow as pa

    known: Sequence[tuple[Any, TypeInformation]] = (
        (pa.types.is_string, Types.STRING()),
        (pa.types.is_boolean, Types.BOOLEAN()),
        (pa.types.is_int8, Types.BYTE()),
        (pa.types.is_int16, Types.SHORT()),
        (pa.types.is_int32, Types.INT()),
        (pa.types.is_int64, Types.LONG()),
        (pa.types.is_float32, Types.FLOAT()),
        (pa.types.is_float64, Types.DOUBLE()),
        (pa.types.is_decimal, Types.BIG_DEC()),
        (pa.types.is_date, Types.SQL_DATE()),
        (lambda kind: pa.types.is_timestamp(kind) and kind.tz is not None, Types.INSTANT()),
        (pa.types.is_timestamp, Types.SQL_TIMESTAMP()),
    )
    for test, kind in known:
        if test(field.type):
            return kind
    if pa.types.is_list(field.type):
        return Types.LIST(_type_of(field.type.value_field))
    raise TypeError(f"column {field.name!r} is of type {field.type}, which CSV files do not have")


def _character(char: str, what: str) -> str:
    if len(char) != 1:
        raise ValueError(f"{what} must be a single char, got {char}")
    return char
