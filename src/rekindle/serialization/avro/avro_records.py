"""Between instances of dataclasses and the dicts that Avro records are to fastavro."""

from __future__ import annotations

import dataclasses
import datetime
import types
import typing
from collections.abc import Callable
from enum import Enum
from typing import Any

from rekindle.exceptions import SerializationError
from rekindle.serialization.avro.avro_parsing import Schema, named_types, type_of
from rekindle.serialization.avro.avro_schema import plain_annotation
from rekindle.serialization.classes.class_fields import fields_of_dataclass
from rekindle.serialization.classes.class_names import ClassName
from rekindle.serialization.encodings.msgpack_serializer import shown

Conversion = Callable[[Any], Any]


def _same(value: Any) -> Any:
    return value


@dataclasses.dataclass(slots=True)
class Conversions:
    """Hold the two ways between a value of the user and one of fastavro.

    Attributes:
        to_avro: Makes what fastavro writes.
        from_avro: Makes what the user gets of what fastavro read.
    """

    to_avro: Conversion = _same
    from_avro: Conversion = _same


class ConversionMaker:
    """Make conversions for the types of a schema and the annotations of a class."""

    def __init__(self, schema: Schema, of_older_schema: bool = False) -> None:
        """Make conversions for a schema.

        Args:
            schema: The schema, in normal form.
            of_older_schema: Whether classes may have other fields than the schema, which is that of an older version.
        """
        self._types = named_types(schema)
        self._of_older_schema = of_older_schema
        self._made: dict[tuple[str, type], Conversions] = {}

    def conversions(self, schema: Schema, annotation: Any) -> Conversions:
        """Return the conversions between values of a schema and values of an annotation."""
        annotation = plain_annotation(annotation)
        if isinstance(schema, str):
            schema = self._types.get(schema, schema)
        kind = type_of(schema)
        origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
        if origin in (typing.Union, types.UnionType):
            return self._of_union(schema, arguments)
        if kind == "union":
            others = [member for member in schema if member != "null"]
            return self.conversions(others[0], annotation) if len(others) == 1 else Conversions()
        if kind == "record" and _is_dataclass(annotation):
            return self._of_record(schema, annotation)
        if kind == "enum" and isinstance(annotation, type) and issubclass(annotation, Enum):
            return _of_enum(annotation)
        if kind == "array" and arguments and origin in (list, set, frozenset, tuple):
            return _of_array(origin, self.conversions(schema["items"], arguments[0]))
        if kind == "map" and origin is dict:
            return _of_map(self.conversions(schema["values"], arguments[1]))
        if annotation is datetime.datetime and _logical_type(schema).startswith("timestamp"):
            return Conversions(_with_time_zone)
        return Conversions()

    def _of_record(self, schema: Any, cls: Any) -> Conversions:
        if (schema["name"], cls) in self._made:
            return self._made[schema["name"], cls]
        made = self._made[schema["name"], cls] = Conversions()
        fields = {field.name: field for field in fields_of_dataclass(cls)}
        in_schema = {field["name"]: field for field in schema["fields"]}
        self._check_fields(schema, cls, set(fields), in_schema)
        parts = {
            name: self.conversions(field["type"], fields[name].annotation)
            for name, field in in_schema.items()
            if name in fields
        }
        added = {name: field.initial for name, field in fields.items() if name not in in_schema}
        set_field = object.__setattr__

        def to_avro(instance: Any) -> Any:
            if type(instance) is not cls:
                raise SerializationError(f"{shown(instance)} was given where the type is {ClassName.of(cls)}")
            return {name: part.to_avro(getattr(instance, name)) for name, part in parts.items()}

        def from_avro(record: Any) -> Any:
            instance = object.__new__(cls)
            for name, part in parts.items():
                set_field(instance, name, part.from_avro(record[name]))
            for name, initial in added.items():
                set_field(instance, name, initial())
            return instance

        made.to_avro, made.from_avro = _unless_none(to_avro), _unless_none(from_avro)
        return made

    def _check_fields(self, schema: Any, cls: Any, fields: set[str], in_schema: dict[str, Any]) -> None:
        if self._of_older_schema:
            return
        lost = sorted(fields - set(in_schema))
        if lost:
            raise SerializationError(
                f"{ClassName.of(cls)} has the fields {', '.join(lost)}, and the Avro record {schema['name']} has not: "
                "their values would be lost. Add them to the schema"
            )
        missing = [name for name, field in in_schema.items() if name not in fields and "default" not in field]
        if missing:
            raise SerializationError(
                f"the Avro record {schema['name']} has the fields {', '.join(missing)} without a default, and "
                f"{ClassName.of(cls)} has not. Add them to the class, or give them defaults"
            )

    def _of_union(self, schema: Schema, annotations: tuple[Any, ...]) -> Conversions:
        members = schema if isinstance(schema, list) else [schema]
        members = [member for member in members if member != "null"]
        others = [annotation for annotation in annotations if annotation is not types.NoneType]
        if len(members) == 1 and len(others) == 1:
            return self.conversions(members[0], others[0])
        records: dict[str, Any] = {}
        for member in members:
            record = self._types.get(member, member) if isinstance(member, str) else member
            if type_of(record) == "record":
                records[record["name"]] = record
        classes = [annotation for annotation in others if _is_dataclass(annotation)]
        by_name = {
            name: (cls, self._of_record(record, cls))
            for name, record in records.items()
            for cls in classes
            if name.rpartition(".")[2] == cls.__name__
        }
        by_class = {cls: (name, made) for name, (cls, made) in by_name.items()}

        def to_avro(value: Any) -> Any:
            if type(value) in by_class:
                name, made = by_class[type(value)]
                return name, made.to_avro(value)
            return value

        def from_avro(value: Any) -> Any:
            if isinstance(value, tuple):
                return by_name[value[0]][1].from_avro(value[1]) if value[0] in by_name else value
            if isinstance(value, dict) and len(by_name) == 1:
                return next(iter(by_name.values()))[1].from_avro(value)
            return value

        return Conversions(to_avro, from_avro)


def _of_enum(cls: type[Enum]) -> Conversions:
    members = dict(cls.__members__)

    def to_avro(member: Any) -> Any:
        if type(member) is not cls:
            raise SerializationError(f"{member!r} ({type(member).__name__}) is not a {ClassName.of(cls)}")
        return member.name

    def from_avro(symbol: str) -> Any:
        if symbol not in members:
            raise SerializationError(f"the enum {ClassName.of(cls)} has no member {symbol!r}; bring it back")
        return members[symbol]

    return Conversions(_unless_none(to_avro), _unless_none(from_avro))


def _of_array(container: type[Any], part: Conversions) -> Conversions:
    def to_avro(items: Any) -> Any:
        if not isinstance(items, container):
            raise SerializationError(f"{items!r} ({type(items).__name__}) is not a {container.__name__}")
        return [part.to_avro(item) for item in items]

    def from_avro(items: Any) -> Any:
        return container([part.from_avro(item) for item in items])

    return Conversions(_unless_none(to_avro), _unless_none(from_avro))


def _of_map(part: Conversions) -> Conversions:
    def to_avro(entries: Any) -> Any:
        if not isinstance(entries, dict):
            raise SerializationError(f"{entries!r} ({type(entries).__name__}) is not a dict")
        return {key: part.to_avro(value) for key, value in entries.items()}

    def from_avro(entries: Any) -> Any:
        return {key: part.from_avro(value) for key, value in entries.items()}

    return Conversions(_unless_none(to_avro), _unless_none(from_avro))


def _with_time_zone(value: Any) -> Any:
    if isinstance(value, datetime.datetime) and value.tzinfo is None:
        raise SerializationError(
            f"{value!r} has no time zone, and Avro's timestamps are points in time. Give it one, or write the schema "
            "yourself, with the logical type local-timestamp-micros"
        )
    return value


def _unless_none(conversion: Conversion) -> Conversion:
    return lambda value: None if value is None else conversion(value)


def _is_dataclass(annotation: Any) -> bool:
    return isinstance(annotation, type) and dataclasses.is_dataclass(annotation)


def _logical_type(schema: Schema) -> str:
    return str(schema.get("logicalType", "")) if isinstance(schema, dict) else ""
