"""Avro: schemas as Arrow has them, and container files of records, by fastavro."""

from __future__ import annotations

import io
import json
import os
from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Any, BinaryIO

from rekindle.exceptions import SerializationError
from rekindle.formats.bulk_writer import BulkWriter, BulkWriterFactory, Opener
from rekindle.formats.plain_records import plain_record
from rekindle.formats.record_fields import columns_of
from rekindle.types.type_information import TypeInformation

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["AvroSchema", "AvroWriterFactory", "avro_writer", "read_avro"]

_READ_RECORDS = 10_000
_FLAT = ("null", "boolean", "int", "long", "float", "double", "bytes", "string")


class AvroSchema:
    """A schema of Avro.

    Attributes:
        schema: The schema, as JSON gives it.
    """

    def __init__(self, schema: Any) -> None:
        """Take a schema.

        Args:
            schema: As JSON gives it, or its text.

        Raises:
            SerializationError: It is not a schema.
        """
        self.schema = json.loads(schema) if isinstance(schema, str) else schema
        self.parsed  # noqa: B018 - what is not a schema is refused where the program gives it

    @staticmethod
    def parse_string(json_schema: str) -> AvroSchema:
        """Read a schema out of its text."""
        return AvroSchema(json_schema)

    @staticmethod
    def parse_file(file_path: str | os.PathLike[str]) -> AvroSchema:
        """Read a schema out of a file."""
        with open(file_path, encoding="utf-8") as file:
            return AvroSchema(file.read())

    def __str__(self) -> str:
        return json.dumps(self.schema, separators=(",", ":"))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, AvroSchema) and self.schema == other.schema

    def __hash__(self) -> int:
        return hash(str(self))

    def __getstate__(self) -> dict[str, Any]:
        return {"schema": self.schema}

    @cached_property
    def parsed(self) -> Any:
        """Return the schema as fastavro has it."""
        from fastavro import parse_schema
        from fastavro.schema import SchemaParseException, UnknownType

        try:
            return parse_schema(self.schema)
        except (SchemaParseException, UnknownType, KeyError, TypeError) as error:
            raise SerializationError(
                f"{str(self)[:200]} is not a schema of Avro: {error!r}. Give a record, as JSON"
            ) from error

    def to_arrow_schema(self) -> pa.Schema:
        """Return the schema as Arrow has it.

        Raises:
            TypeError: It is not one of records, or one of its types has no form in Arrow, which is named.
        """
        import pyarrow as pa

        if not (isinstance(self.schema, dict) and self.schema.get("type") == "record"):
            raise TypeError(f"{self} is not a schema of records")
        kind = _ArrowTypes().kind(self.schema, self.schema["name"])
        return pa.schema([kind.field(place) for place in range(kind.num_fields)])


class _ArrowTypes:
    """Find the types of Arrow; records that were met before are known by their names."""

    def __init__(self) -> None:
        self._met: dict[str, Any] = {}

    def kind(self, schema: Any, place: str) -> pa.DataType:
        import pyarrow as pa

        simple = {
            "null": pa.null(),
            "boolean": pa.bool_(),
            "int": pa.int32(),
            "long": pa.int64(),
            "float": pa.float32(),
            "double": pa.float64(),
            "bytes": pa.binary(),
            "string": pa.string(),
        }
        logical = {
            "date": pa.date32(),
            "time-millis": pa.time32("ms"),
            "time-micros": pa.time64("us"),
            "timestamp-millis": pa.timestamp("ms", "UTC"),
            "timestamp-micros": pa.timestamp("us", "UTC"),
            "local-timestamp-millis": pa.timestamp("ms"),
            "local-timestamp-micros": pa.timestamp("us"),
            "uuid": pa.string(),
        }
        if isinstance(schema, list):
            others = [each for each in schema if each != "null"]
            if len(others) != 1:
                raise TypeError(
                    f"{place} is a union of {len(others)} types, which columns do not have: a union may be of null and "
                    "one type"
                )
            return self.kind(others[0], place)
        if isinstance(schema, str):
            if schema not in simple and self._met.get(schema) is None:
                raise TypeError(f"{place} is of type {schema!r}, which is not known, or contains itself")
            return simple.get(schema) or self._met[schema]
        name, made = schema["type"], None
        if schema.get("logicalType") == "decimal":
            made = pa.decimal128(schema["precision"], schema.get("scale", 0))
        elif schema.get("logicalType") in logical:
            made = logical[schema["logicalType"]]
        elif name == "record":
            fields = [(each["name"], self.kind(each["type"], f"{place}.{each['name']}")) for each in schema["fields"]]
            made = pa.struct(fields)
        elif name == "enum":
            made = pa.string()
        elif name == "fixed":
            made = pa.binary()
        elif name == "array":
            return pa.list_(self.kind(schema["items"], f"{place}[]"))
        elif name == "map":
            return pa.map_(pa.string(), self.kind(schema["values"], f"{place}{{}}"))
        else:
            return self.kind(name, place)
        if "name" in schema:
            namespace = schema.get("namespace")
            self._met[schema["name"]] = made
            if namespace:
                self._met[f"{namespace}.{schema['name']}"] = made
        return made


class AvroWriterFactory(BulkWriterFactory):
    """Make writers of Avro's container files.

    Attributes:
        schema: The schema.
        codec: How blocks are compressed: ``null``, ``deflate``, ``snappy``, ``zstandard``.
    """

    may_be_concatenated = False

    def __init__(self, schema: AvroSchema, codec: str = "null") -> None:
        if not (isinstance(schema.schema, dict) and schema.schema.get("type") == "record"):
            raise SerializationError(f"{schema} is not a schema of records, which files of Avro have")
        self.schema = schema
        self.codec = codec

    def fingerprint(self) -> str:
        """Return the format and the schema."""
        return f"{super().fingerprint()} {self.schema}"

    def create(self, type_info: TypeInformation | None = None) -> BulkWriter:
        """Return the writer of a new file."""
        return _AvroWriter(self.schema, self.codec)

    def merged(self, files: Iterable[Opener]) -> Iterator[bytes]:
        """Return the bytes of one file with the records of several."""
        writer = _AvroWriter(self.schema, self.codec)
        for opened in files:
            with opened() as stream:
                for records in read_avro(stream, self.schema):
                    if data := writer.add_plain(records):
                        yield data
        yield writer.finish()


class _AvroWriter(BulkWriter):
    """Write one file: each chunk of records is one block or more."""

    def __init__(self, schema: AvroSchema, codec: str) -> None:
        self._schema = schema
        self._names = [field["name"] for field in schema.schema["fields"]]
        self._is_flat = all(_is_flat(field["type"]) for field in schema.schema["fields"])
        self._codec = codec
        self._marker = os.urandom(16)
        self._head = self._encoded([])
        self._begun = False

    def add(self, values: list[Any]) -> bytes:
        if set(map(type, values)) != {dict}:
            values = self._flat(values) if self._is_flat else self._plain(values)
        return self.add_plain(values)

    def add_plain(self, records: list[Any]) -> bytes:
        """Take records that are dicts."""
        try:
            data = self._encoded(records)
        except (ValueError, TypeError, KeyError, AttributeError, OverflowError):
            try:
                data = self._encoded(self._plain(records))
            except (ValueError, TypeError, KeyError, AttributeError, OverflowError) as error:
                raise SerializationError(
                    f"a record does not fit the Avro schema {self._schema.schema['name']!r}: {error!r}. Change the "
                    "schema, or the records"
                ) from error
        first, self._begun = not self._begun, True
        return data if first else data[len(self._head) :]

    def finish(self) -> bytes:
        return b"" if self._begun else self._head

    def _flat(self, records: list[Any]) -> list[Any]:
        """Return records as dicts; what is in them is plain. In a third of the time that going deeper takes."""
        try:
            columns = columns_of(records, self._names)
        except SerializationError:  # fields with defaults may be missing
            return self._plain(records)
        return [dict(zip(self._names, row, strict=True)) for row in zip(*columns, strict=True)]

    def _plain(self, records: list[Any]) -> list[Any]:
        return [plain_record(record, self._names) for record in records]

    def _encoded(self, records: list[Any]) -> bytes:
        """Return a whole file; all files of one marker have the same head."""
        from fastavro import writer

        sink = io.BytesIO()
        writer(sink, self._schema.parsed, records, self._codec, sync_marker=self._marker, strict_allow_default=True)
        return sink.getvalue()


def _is_flat(schema: Any) -> bool:
    """Return whether a type of a field has no others in it, but for null."""
    if isinstance(schema, list):
        return all(map(_is_flat, schema))
    return schema in _FLAT or (isinstance(schema, dict) and schema["type"] in _FLAT)


def read_avro(stream: BinaryIO, schema: AvroSchema | None = None) -> Iterator[list[Any]]:
    """Read the records of a container file, some at a time.

    Args:
        stream: The file.
        schema: The schema that records are to have, by Avro's rules; None: that of the file.
    """
    from fastavro import reader

    records: list[Any] = []
    for record in reader(stream, None if schema is None else schema.parsed):
        records.append(record)
        if len(records) == _READ_RECORDS:
            yield records
            records = []
    if records:
        yield records


def avro_writer(schema: Any, codec: str = "null") -> AvroWriterFactory:
    """Write Avro's container files.

    Args:
        schema: The schema: an ``AvroSchema``, its text, or as JSON gives it.
        codec: How blocks are compressed: ``null``, ``deflate``, ``snappy``, ``zstandard``; some need a package.
    """
    return AvroWriterFactory(schema if isinstance(schema, AvroSchema) else AvroSchema(schema), codec)
