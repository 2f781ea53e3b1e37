"""JSON messages as rows, and rows as JSON messages."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NoReturn

import msgspec

from rekindle.exceptions import ConfigurationError, NotSupportedError, SerializationError
from rekindle.formats.java_format import unwrapped
from rekindle.formats.json_nodes import node_parser
from rekindle.formats.json_reading import JsonReading
from rekindle.formats.json_row_reader import JsonRowReader
from rekindle.formats.json_writing import write_row, write_rows
from rekindle.formats.schemas import DeserializationSchema, SerializationSchema
from rekindle.types.row import Row
from rekindle.types.typeinfo import (
    BasicType,
    BasicTypeInfo,
    MapTypeInfo,
    RowTypeInfo,
    TupleTypeInfo,
    TypeInformation,
)

__all__ = ["JsonRowDeserializationSchema", "JsonRowSerializationSchema"]


class JsonRowDeserializationSchema(DeserializationSchema[Row | None]):
    """Read objects as rows: a field of the type is the property of its name.

    Values are converted as Flink does: ``"5"`` and ``5.9`` are 5 as an INT, an object is its text as a STRING. Dates
    and times are texts in ISO 8601, and in UTC: ``2026-01-31``, ``12:30:00Z``, ``2026-01-31T12:30:00.123Z``.
    """

    def __init__(
        self, type_info: RowTypeInfo, fail_on_missing_field: bool = False, ignore_parse_errors: bool = False
    ) -> None:
        """Prepare for a type; programs call :meth:`builder`."""
        self._type_info = type_info
        self._reading = JsonReading(fail_on_missing_field, ignore_parse_errors)
        JsonRowReader(type_info, self._reading)  # refuses at once what JSON has no form for
        self._prepare()

    def deserialize(self, message: bytes) -> Row | None:
        """Return the row in a message; None for ``null``.

        Raises:
            SerializationError: It is not JSON, or does not match the type.
        """
        try:
            node = self._parse(message)
            return None if node is None else self._reader.read(node)
        except Exception as error:
            if self._reading.ignore_parse_errors:
                return None
            raise SerializationError(f"Failed to deserialize JSON '{_shown(message)}'. {error}") from error

    def deserialize_all(self, messages: Sequence[bytes]) -> tuple[list[Row | None], list[int] | None]:
        """Return the rows in messages, by columns where all of them can be read so."""
        try:
            nodes = list(map(self._parse, messages))
            if None not in nodes:
                return [*self._reader.read_all(nodes)], None
        except Exception:  # one by one: who it was, or what is left without it
            pass
        return super().deserialize_all(messages)

    def get_produced_type(self) -> RowTypeInfo:
        """Return the type of the rows."""
        return self._type_info

    def _prepare(self) -> None:
        self._reader = JsonRowReader(self._type_info, self._reading)
        self._parse = node_parser(has_decimals(self._type_info))

    def __getstate__(self) -> tuple[RowTypeInfo, JsonReading]:
        return self._type_info, self._reading

    def __setstate__(self, state: tuple[RowTypeInfo, JsonReading]) -> None:
        self._type_info, self._reading = state
        self._prepare()

    @staticmethod
    def builder() -> JsonRowDeserializationSchema.Builder:
        """Begin a schema."""
        return JsonRowDeserializationSchema.Builder()

    class Builder:
        """Build a :class:`JsonRowDeserializationSchema`."""

        def __init__(self) -> None:
            self._type_info: TypeInformation | None = None
            self._fail_on_missing_field = False
            self._ignore_parse_errors = False

        def type_info(self, type_info: TypeInformation) -> JsonRowDeserializationSchema.Builder:
            """Set the type of the rows, with the names of the properties."""
            self._type_info = type_info
            return self

        def json_schema(self, json_schema: str) -> NoReturn:
            """Raise: types are not made of JSON schemas."""
            raise NotSupportedError("a JSON schema is not taken: describe the rows with type_info(Types.ROW_NAMED(…))")

        def fail_on_missing_field(self) -> JsonRowDeserializationSchema.Builder:
            """Refuse objects without one of the fields, which is None by default."""
            self._fail_on_missing_field = True
            return self

        def ignore_parse_errors(self) -> JsonRowDeserializationSchema.Builder:
            """Skip messages that are not JSON, and take values that do not match their type as None."""
            self._ignore_parse_errors = True
            return self

        def build(self) -> JsonRowDeserializationSchema:
            """Build the schema.

            Raises:
                ConfigurationError: There is no type, it is not that of rows, or the settings contradict each other.
            """
            if self._fail_on_missing_field and self._ignore_parse_errors:
                raise ConfigurationError(
                    "JSON format doesn't support failOnMissingField and ignoreParseErrors are both true."
                )
            return JsonRowDeserializationSchema(
                _row_type(self._type_info), self._fail_on_missing_field, self._ignore_parse_errors
            )


class JsonRowSerializationSchema(SerializationSchema[Row]):
    """Write rows as objects: a property for each field, in the order of the type."""

    def __init__(self, type_info: RowTypeInfo) -> None:
        """Prepare for a type; programs call :meth:`builder`."""
        self._type_info = type_info
        self._prepare()

    def serialize(self, element: Row) -> bytes:
        """Return a row as JSON.

        Raises:
            SerializationError: The row does not match the type.
        """
        try:
            return self._encode(self._write(element))
        except Exception as error:
            raise SerializationError(
                f"Could not serialize row {element!r}: {error}. Make sure that the schema matches the input."
            ) from error

    def serialize_all(self, elements: Sequence[Row]) -> list[bytes]:
        """Return rows as JSON, by columns where all of them match the type."""
        try:
            return list(map(self._encode, self._write_all(elements)))
        except Exception:  # one by one: who it was
            return super().serialize_all(elements)

    def _prepare(self) -> None:
        self._write = write_row(self._type_info)
        self._write_all = write_rows(self._type_info)
        self._encode = msgspec.json.Encoder(decimal_format="number").encode

    def __getstate__(self) -> RowTypeInfo:
        return self._type_info

    def __setstate__(self, state: RowTypeInfo) -> None:
        self._type_info = state
        self._prepare()

    @staticmethod
    def builder() -> JsonRowSerializationSchema.Builder:
        """Begin a schema."""
        return JsonRowSerializationSchema.Builder()

    class Builder:
        """Build a :class:`JsonRowSerializationSchema`."""

        def __init__(self) -> None:
            self._type_info: TypeInformation | None = None

        def with_type_info(self, type_info: TypeInformation) -> JsonRowSerializationSchema.Builder:
            """Set the type of the rows, with the names of the properties."""
            self._type_info = type_info
            return self

        def build(self) -> JsonRowSerializationSchema:
            """Build the schema.

            Raises:
                TypeError: There is no type.
                ConfigurationError: It is not that of rows.
            """
            if self._type_info is None:
                raise TypeError("Typeinfo should be set.")
            return JsonRowSerializationSchema(_row_type(self._type_info))


def has_decimals(type_info: TypeInformation) -> bool:
    """Return whether a type holds decimals, for which floats are not exact enough."""
    inner = unwrapped(type_info)
    if isinstance(inner, BasicTypeInfo):
        return inner.basic_type is BasicType.BIG_DEC
    if isinstance(inner, RowTypeInfo | TupleTypeInfo):
        return any(map(has_decimals, inner.get_field_types()))
    if isinstance(inner, MapTypeInfo):
        return has_decimals(inner.key_type) or has_decimals(inner.value_type)
    element = getattr(inner, "element_type", None)
    return element is not None and has_decimals(element)


def _row_type(type_info: TypeInformation | None) -> RowTypeInfo:
    if not isinstance(type_info, RowTypeInfo):
        raise ConfigurationError(f"Only RowTypeInfo is supported, and {type_info} was given: use Types.ROW_NAMED(…)")
    return type_info


def _shown(message: bytes) -> str:
    text = bytes(message[:200]).decode("utf-8", "replace")
    return f"{text}…" if len(message) > 200 else text
