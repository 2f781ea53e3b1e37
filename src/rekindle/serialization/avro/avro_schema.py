"""Avro schemas out of dataclasses."""

from __future__ import annotations

import dataclasses
import datetime
import re
import types
import typing
import uuid
from decimal import Decimal
from enum import Enum
from typing import Any

from rekindle.exceptions import SerializationError
from rekindle.serialization.avro.avro_parsing import Schema, normalized
from rekindle.serialization.classes.class_fields import fields_of_dataclass, is_missing
from rekindle.serialization.classes.class_names import ClassName

__all__ = ["schema_of"]

_SCALE = 18
_SCALARS: dict[Any, Schema] = {
    int: "long",
    float: "double",
    str: "string",
    bool: "boolean",
    bytes: "bytes",
    types.NoneType: "null",
    datetime.date: {"type": "int", "logicalType": "date"},
    datetime.time: {"type": "long", "logicalType": "time-micros"},
    datetime.datetime: {"type": "long", "logicalType": "timestamp-micros"},
    uuid.UUID: {"type": "string", "logicalType": "uuid"},
    # Avro fixes how many digits there are, and how many of them after the point. 38 is what Flink and Spark have.
    Decimal: {"type": "bytes", "logicalType": "decimal", "precision": 38, "scale": _SCALE},
}
_NO_DEFAULT = object()


def schema_of(cls: type) -> Schema:
    """Make the schema of a dataclass.

    ``int`` becomes long, ``float`` double, lists and sets arrays, ``dict[str, X]`` a map, an enum an enum, a dataclass
    a record, dates, times, ``Decimal`` (38 digits, 18 of them after the point) and ``UUID`` their logical types. An
    optional field may be null, and starts as null if it has no other default. Other defaults are carried over, unless
    a factory makes a new one every time. Names that a field had before stand in its metadata:
    ``field(metadata={"aliases": ["old_name"]})``.

    Args:
        cls: The dataclass.

    Raises:
        SerializationError: It is not a dataclass, it is local, or Avro has no type for a field, which is named.
    """
    if not (isinstance(cls, type) and dataclasses.is_dataclass(cls)):
        raise SerializationError(f"an Avro schema can be derived only from a dataclass, and {cls!r} is not one")
    return normalized(_SchemaMaker().record(cls))


class _SchemaMaker:
    """Make schemas; a class that was met before is referred to by its name."""

    def __init__(self) -> None:
        self._met: set[type] = set()

    def record(self, cls: Any) -> Schema:
        name = _full_name(cls)
        if cls in self._met:
            return name
        self._met.add(cls)
        metadata = {field.name: field.metadata for field in dataclasses.fields(cls)}
        fields = []
        for field in fields_of_dataclass(cls):
            place = f"field {field.name!r} of {ClassName.of(cls)}"
            default = _default(cls, field.name)
            described: dict[str, Any] = {"name": field.name, "type": self._type(field.annotation, place, default)}
            may_be_null = isinstance(described["type"], list) and "null" in described["type"]
            as_json = _as_json(default)
            if may_be_null and default is _NO_DEFAULT:
                described["default"] = None
            elif as_json is not _NO_DEFAULT and (may_be_null or default is not None):
                described["default"] = as_json
            if metadata[field.name].get("aliases"):
                described["aliases"] = list(metadata[field.name]["aliases"])
            fields.append(described)
        return {"type": "record", "name": name, "fields": fields}

    def _type(self, annotation: Any, place: str, default: Any = _NO_DEFAULT) -> Schema:
        annotation = plain_annotation(annotation)
        origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
        if origin in (typing.Union, types.UnionType):
            return self._union(arguments, place, default)
        if origin in (list, set, frozenset) or (origin is tuple and arguments[-1] is Ellipsis):
            return {"type": "array", "items": self._type(arguments[0], place)}
        if origin is dict and arguments[0] is str:
            return {"type": "map", "values": self._type(arguments[1], place)}
        if annotation in _SCALARS:
            return _SCALARS[annotation]
        if isinstance(annotation, type) and issubclass(annotation, Enum):
            return self._enum(annotation, place)
        if isinstance(annotation, type) and dataclasses.is_dataclass(annotation):
            return self.record(annotation)
        raise SerializationError(
            f"{place} has no Avro type: {annotation!r}. Write the schema yourself, or use a dataclass without Avro"
        )

    def _union(self, members: tuple[Any, ...], place: str, default: Any) -> Schema:
        others = [member for member in members if member is not types.NoneType]
        if len(others) > 1 and any(isinstance(member, type) and issubclass(member, Enum) for member in others):
            raise SerializationError(f"{place} has no Avro type: an enum cannot be told from the rest of a union")
        if len(others) > 1 and not all(
            plain_annotation(member) in _SCALARS or _is_dataclass(member) for member in others
        ):
            raise SerializationError(f"{place} has no Avro type: unions are made of simple types and dataclasses")
        # fastavro writes what fits as the first member that takes it, and a double takes integers.
        schemas = [self._type(member, place) for member in sorted(others, key=lambda member: member is float)]
        if len(others) == len(members):
            return schemas
        # A default must be one of the first member.
        return [*schemas, "null"] if default is not _NO_DEFAULT and default is not None else ["null", *schemas]

    def _enum(self, cls: type[Enum], place: str) -> Schema:
        name = _full_name(cls)
        if cls in self._met:
            return name
        self._met.add(cls)
        symbols = [member.name for member in cls]
        for symbol in symbols:
            if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", symbol):
                raise SerializationError(f"{place} has no Avro type: {symbol!r} cannot be the name of a symbol there")
        return {"type": "enum", "name": name, "symbols": symbols}


def plain_annotation(annotation: Any) -> Any:
    """Return the type that an annotation stands for, without what is noted besides."""
    while True:
        if isinstance(annotation, typing.NewType):
            annotation = annotation.__supertype__
        elif typing.get_origin(annotation) is typing.Annotated:
            annotation = annotation.__origin__
        else:
            return annotation


def _is_dataclass(annotation: Any) -> bool:
    return isinstance(annotation, type) and dataclasses.is_dataclass(annotation)


def _full_name(cls: type) -> str:
    if "<locals>" in cls.__qualname__:
        raise SerializationError(
            f"{cls.__qualname__} has no name for an Avro schema: it is defined inside a function. Define it at the top "
            "level of a module, or write the schema yourself"
        )
    return re.sub(r"[^A-Za-z0-9_.]", "_", f"{cls.__module__}.{cls.__qualname__}")


def _default(cls: Any, name: str) -> Any:
    field = {field.name: field for field in dataclasses.fields(cls)}[name]
    if not is_missing(field.default):
        return field.default
    factory: Any = field.default_factory
    if is_missing(factory):
        return _NO_DEFAULT
    made, again = factory(), factory()
    # What differs each time is no default that a schema could hold.
    return made if made == again else _NO_DEFAULT


def _as_json(value: Any) -> Any:
    """Return a default as a schema holds it; nothing, if it has no such form."""
    if isinstance(value, Enum):
        return value.name
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, bytes):
        return value.decode("latin-1")
    if isinstance(value, list | tuple | set | frozenset):
        items = [_as_json(item) for item in value]
        return _NO_DEFAULT if _NO_DEFAULT in items else items
    if isinstance(value, dict):
        entries = {key: _as_json(item) for key, item in value.items()}
        return _NO_DEFAULT if _NO_DEFAULT in entries.values() else entries
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return _as_json({field.name: getattr(value, field.name) for field in dataclasses.fields(value)})
    if isinstance(value, datetime.datetime):
        return (value - _EPOCH) // datetime.timedelta(microseconds=1) if value.tzinfo else _NO_DEFAULT
    if isinstance(value, datetime.date):
        return (value - _EPOCH.date()).days
    if isinstance(value, datetime.time):
        return (value.hour * 3600 + value.minute * 60 + value.second) * 1_000_000 + value.microsecond
    if isinstance(value, Decimal):
        return _decimal_as_json(value)
    return str(value) if isinstance(value, uuid.UUID) else _NO_DEFAULT


def _decimal_as_json(value: Decimal) -> Any:
    scaled = value.scaleb(_SCALE) if value.is_finite() else None
    if scaled is None or scaled != scaled.to_integral_value():
        return _NO_DEFAULT
    number = int(scaled)
    return number.to_bytes(number.bit_length() // 8 + 1, "big", signed=True).decode("latin-1")


_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
