"""The serializer of values of an Avro schema, which evolve by Avro's rules."""

from __future__ import annotations

import dataclasses
from io import BytesIO
from typing import Any, TypeVar

import fastavro
from fastavro.validation import validate

from rekindle.exceptions import SerializationError
from rekindle.serialization.avro.avro_compatibility import resolution
from rekindle.serialization.avro.avro_parsing import (
    Schema,
    as_text,
    as_written,
    normalized,
    prepared,
    type_of,
    without_logical_types,
)
from rekindle.serialization.avro.avro_records import ConversionMaker, Conversions
from rekindle.serialization.avro.avro_resolution import Resolver
from rekindle.serialization.avro.avro_schema import schema_of
from rekindle.serialization.classes.class_names import ClassName, class_named, note_class_in_use, require_lasting_name
from rekindle.serialization.snapshots.type_change import type_changed
from rekindle.types.compatibility import TypeSerializerSchemaCompatibility
from rekindle.types.data_views import DataInputView, DataOutputView
from rekindle.types.serializer_snapshot import TypeSerializerSnapshot
from rekindle.types.type_serializer import BytesSerializer, TypeSerializer

__all__ = ["AvroSerializer", "AvroSerializerSnapshot"]

T = TypeVar("T")


class AvroSerializer(BytesSerializer[T]):
    """Serialize values of an Avro schema; records are dicts, or instances of a dataclass.

    An instance that is read is made without its ``__init__`` and ``__post_init__``. Where a union has several records,
    those that are dicts are given, and come back, as pairs of the record's full name and the dict.

    Attributes:
        schema: The schema, in normal form.
        cls: The dataclass whose instances records are; None: they are dicts.
    """

    def __init__(self, schema: Any, cls: type[T] | None = None, of_older_schema: bool = False) -> None:
        """Make a serializer of a schema.

        Args:
            schema: The schema as text, or as JSON gives it; None: the one that is made of the class.
            cls: A dataclass whose instances records are; None: they are dicts.
            of_older_schema: Whether the class may have other fields than the schema, which is that of an older version.

        Raises:
            SerializationError: It is not a schema, or does not fit the class.
        """
        if cls is not None and not (isinstance(cls, type) and dataclasses.is_dataclass(cls)):
            raise SerializationError(
                f"records of an Avro schema must be dicts or instances of a dataclass, but {cls!r} is not one"
            )
        self.schema: Schema = schema_of(cls) if schema is None and cls is not None else normalized(schema)
        self.cls = cls
        self._of_older_schema = of_older_schema
        self._prepared = prepared(self.schema)
        self._conversions = Conversions()
        if cls is not None:
            if type_of(self.schema) != "record":
                raise SerializationError(
                    f"instances of {ClassName.of(cls)} are records, and the Avro schema is {type_of(self.schema)}"
                )
            note_class_in_use(cls)
            self._conversions = ConversionMaker(self.schema, of_older_schema).conversions(self.schema, cls)

    @classmethod
    def of(cls, dataclass: type[T]) -> AvroSerializer[T]:
        """Make the serializer of a dataclass, with the schema that is made of it."""
        return cls(None, dataclass)

    def to_bytes(self, element: T) -> bytes:
        """Return an element as bytes."""
        stream = BytesIO()
        try:
            value = self._conversions.to_avro(element)
            # fastavro would write 1.5 as 1 where an int is due.
            validate(value, self._prepared)
            fastavro.schemaless_writer(stream, self._prepared, value, strict_allow_default=True)
        except Exception as error:
            raise SerializationError(
                f"{element!r:.200} is not a value of the Avro schema {self._title()}: {error}"
            ) from error
        return stream.getvalue()

    def from_bytes(self, data: bytes | memoryview) -> T:
        """Return the element that these bytes were made of."""
        element: T = self._converted(_read(data, self._prepared, self._title()))
        return element

    def snapshot_configuration(self) -> TypeSerializerSnapshot[T]:
        """Return the schema.

        Raises:
            SerializerSnapshotError: The class could not be found by its name later.
        """
        if self.cls is not None:
            require_lasting_name(self.cls)
        return AvroSerializerSnapshot(self)

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and isinstance(other, AvroSerializer) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.schema, self.cls, self._of_older_schema)

    def __repr__(self) -> str:
        return f"AvroSerializer({self._title()})"

    def _converted(self, value: Any) -> Any:
        return self._conversions.from_avro(value)

    def _key(self) -> tuple[Any, ...]:
        return as_text(self.schema), self.cls

    def _title(self) -> str:
        return title_of(self.schema)


class _ResolvingAvroSerializer(AvroSerializer[T]):
    """Read what was written by an older schema as values of a newer one. It does not write."""

    def __init__(self, schema: Schema, cls: type[T] | None, written: Schema) -> None:
        super().__init__(schema, cls)
        self._written = written
        # Numbers and bytes are resolved as such, whatever they meant before.
        plain_written, plain = without_logical_types(written), without_logical_types(self.schema)
        self._resolver = Resolver(plain_written, plain)
        self._plain_written, self._plain = prepared(plain_written), prepared(plain)

    def to_bytes(self, element: T) -> bytes:
        """Refuse to write."""
        raise SerializationError("this serializer reads values of an older Avro schema, and writes none")

    def from_bytes(self, data: bytes | memoryview) -> T:
        """Return the element of the newer schema that the bytes of the older one become."""
        value = _read(data, self._plain_written, title_of(self._written), return_named_type=True)
        stream = BytesIO()
        try:
            fastavro.schemaless_writer(stream, self._plain, self._resolver.resolved(value))
        except Exception as error:
            raise SerializationError(
                f"{value!r:.200} was written by an older schema, and is not a value of the Avro schema "
                f"{self._title()}: {error}"
            ) from error
        element: T = self._converted(_read(stream.getvalue(), self._prepared, self._title()))
        return element

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.schema, self.cls, self._written)

    def _key(self) -> tuple[Any, ...]:
        return (*super()._key(), as_text(self._written))


class AvroSerializerSnapshot(TypeSerializerSnapshot[T]):
    """Remember the schema by which values were written."""

    def __init__(self, serializer: AvroSerializer[T] | None = None) -> None:
        """Remember a serializer; without one, :meth:`read_snapshot` says what to remember."""
        self._schema: Schema = serializer.schema if serializer is not None else "null"
        self._cls: type | None = serializer.cls if serializer is not None else None
        self._class_name: ClassName | None = None if self._cls is None else ClassName.of(self._cls)

    def get_current_version(self) -> int:
        """Return 1."""
        return 1

    def write_snapshot(self, output: DataOutputView) -> None:
        """Write the schema, and the name of the class if there is one."""
        output.write_utf(as_text(self._schema))
        output.write_boolean(self._class_name is not None)
        if self._class_name is not None:
            self._class_name.write(output)

    def read_snapshot(self, read_version: int, input_view: DataInputView) -> None:
        """Read the schema and the name of the class."""
        self._schema = normalized(input_view.read_utf())
        self._class_name = ClassName.read(input_view) if input_view.read_boolean() else None

    def restore_serializer(self) -> TypeSerializer[T]:
        """Return a serializer of the schema as it was.

        Raises:
            SerializerSnapshotError: The class is gone.
        """
        return AvroSerializer(self._schema, self._current_class(), of_older_schema=True)

    def restore_serializer_for(self, new_serializer_snapshot: TypeSerializerSnapshot[Any]) -> TypeSerializer[T]:
        """Return a serializer that reads values as Avro resolves them to the newer schema."""
        new = new_serializer_snapshot
        if not isinstance(new, AvroSerializerSnapshot):
            return self.restore_serializer()
        return _ResolvingAvroSerializer(new._schema, new._current_class(), self._schema)

    def resolve_schema_compatibility(
        self, old_serializer_snapshot: TypeSerializerSnapshot[Any]
    ) -> TypeSerializerSchemaCompatibility:
        """Compare the schemas by Avro's rules of resolution."""
        old = old_serializer_snapshot
        if not isinstance(old, AvroSerializerSnapshot):
            return type_changed(old, self)
        if as_written(old._schema) == as_written(self._schema):
            return TypeSerializerSchemaCompatibility.compatible_as_is()
        resolved = resolution(old._schema, self._schema)
        if resolved.problems:
            return TypeSerializerSchemaCompatibility.incompatible(*resolved.problems)
        return TypeSerializerSchemaCompatibility.compatible_after_migration(*resolved.changes)

    def describe(self) -> str:
        """Name the type for people."""
        return f"Avro {title_of(self._schema)}"

    def _current_class(self) -> type | None:
        if self._cls is None and self._class_name is not None:
            self._cls = class_named(self._class_name)
        return self._cls


def title_of(schema: Schema) -> str:
    """Name a schema, for people."""
    return str(schema["name"]) if isinstance(schema, dict) and "name" in schema else type_of(schema)


def _read(data: bytes | memoryview, schema: Schema, title: str, return_named_type: bool = False) -> Any:
    stream = BytesIO(data)
    try:
        value = fastavro.schemaless_reader(
            stream,
            schema,
            None,
            return_record_name=True,
            return_record_name_override=True,
            return_named_type=return_named_type,
        )
    except Exception as error:
        raise SerializationError(
            f"{len(data)} bytes are not a value of the Avro schema {title}: {type(error).__name__}: {error}"
        ) from error
    if stream.tell() != len(data):
        raise SerializationError(
            f"{len(data)} bytes are not a value of the Avro schema {title}: the value ends after "
            f"{stream.tell()} of them"
        )
    return value
