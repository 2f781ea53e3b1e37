"""Messages in Avro's binary encoding, one record each, and rows."""

from __future__ import annotations

import io
from typing import Any

from rekindle.exceptions import SerializationError
from rekindle.formats.avro_files import AvroSchema
from rekindle.formats.plain_records import plain_record
from rekindle.formats.schemas import DeserializationSchema, SerializationSchema
from rekindle.types.row import Row, row_from

__all__ = ["AvroRowDeserializationSchema", "AvroRowSerializationSchema"]


class AvroRowSerializationSchema(SerializationSchema[Any]):
    """Turn rows, and other records with fields, into messages."""

    def __init__(self, record_class: str | None = None, avro_schema_string: str | None = None) -> None:
        """Take a schema.

        Args:
            record_class: Not available: the name of a Java class.
            avro_schema_string: The schema, as JSON.
        """
        self._schema = _schema(type(self), record_class, avro_schema_string)
        self._names = [field["name"] for field in self._schema.schema["fields"]]

    def serialize(self, element: Any) -> bytes:
        """Return the message for a record.

        Raises:
            SerializationError: It does not fit the schema.
        """
        from fastavro import schemaless_writer

        message = io.BytesIO()
        try:
            schemaless_writer(
                message, self._schema.parsed, plain_record(element, self._names), strict_allow_default=True
            )
        except (ValueError, TypeError, KeyError, AttributeError, OverflowError) as error:
            raise SerializationError(
                f"{element!r} does not fit the Avro schema {self._schema.schema['name']!r}: {error!r}. Change the "
                "schema, or the records"
            ) from error
        return message.getvalue()


class AvroRowDeserializationSchema(DeserializationSchema[Row]):
    """Turn messages into rows, with rows for the records inside of them."""

    def __init__(self, record_class: str | None = None, avro_schema_string: str | None = None) -> None:
        """Take a schema.

        Args:
            record_class: Not available: the name of a Java class.
            avro_schema_string: The schema that messages were written with, as JSON.
        """
        self._schema = _schema(type(self), record_class, avro_schema_string)

    def deserialize(self, message: bytes) -> Row:
        """Return the row in a message.

        Raises:
            SerializationError: The message is not of this schema.
        """
        from fastavro import schemaless_reader

        try:
            record = schemaless_reader(io.BytesIO(message), self._schema.parsed, None, return_record_name=True)
        except (ValueError, TypeError, KeyError, EOFError, IndexError, StopIteration, UnicodeDecodeError) as error:
            raise SerializationError(
                f"a message of {len(message)} bytes cannot be read with the Avro schema "
                f"{self._schema.schema['name']!r}: {error!r}. Give the schema it was written with"
            ) from error
        row: Row = _as_row(record, self._schema.parsed, self._schema.parsed["__named_schemas"])
        return row


def _as_row(value: Any, schema: Any, named: dict[str, Any]) -> Any:
    """Return a value with rows in the place of records."""
    if isinstance(schema, str):
        schema = named.get(schema, schema)
    if value is None or isinstance(schema, str):
        return value
    if isinstance(schema, list):
        others = [each for each in schema if each != "null"]
        if isinstance(value, tuple):  # the name of a record, and the record
            return _as_row(value[1], value[0], named)
        return _as_row(value, others[0], named) if len(others) == 1 else value
    kind = schema["type"]
    if kind == "record":
        names = [field["name"] for field in schema["fields"]]
        return row_from([_as_row(value[field["name"]], field["type"], named) for field in schema["fields"]], names)
    if kind == "array":
        return [_as_row(item, schema["items"], named) for item in value]
    if kind == "map":
        return {key: _as_row(item, schema["values"], named) for key, item in value.items()}
    return value


def _schema(cls: type, record_class: str | None, text: str | None) -> AvroSchema:
    if record_class is not None:
        raise NotImplementedError(
            f"record_class of {cls.__name__} is not available in Rekindle: it names a Java class. Give "
            "avro_schema_string"
        )
    if text is None:
        raise TypeError("record_class or avro_schema_string should be specified.")
    schema = AvroSchema(text)
    if not (isinstance(schema.schema, dict) and schema.schema.get("type") == "record"):
        raise SerializationError(f"{schema} is not a schema of records")
    return schema
