"""Keys as people type them: what a text may mean as a key of some type."""

from __future__ import annotations

import datetime
import json
import uuid
from collections.abc import Callable
from decimal import Decimal
from typing import Any

from rekindle.serialization.classes.named_fields_serializer import NamedFieldsSerializer
from rekindle.serialization.composites.native_collection_serializers import NamedTupleSerializer
from rekindle.serialization.composites.nullable_serializer import NullableSerializer
from rekindle.serialization.composites.row_serializer import RowSerializer
from rekindle.serialization.composites.tuple_serializer import TupleSerializer
from rekindle.serialization.encodings.pickle_serializer import PickleSerializer
from rekindle.serialization.scalars import basic_serializers, integer_serializers, native_serializers, time_serializers
from rekindle.serialization.untyped.hinted_serializer import HintedSerializer
from rekindle.serialization.untyped.inferred_key_serializer import InferredKeySerializer
from rekindle.types.row import Row
from rekindle.types.type_serializer import TypeSerializer

_SIMPLE: dict[type[TypeSerializer[Any]], Callable[[str], Any]] = {
    basic_serializers.StringSerializer: str,
    basic_serializers.CharSerializer: str,
    basic_serializers.FloatSerializer: float,
    basic_serializers.DoubleSerializer: float,
    basic_serializers.BigDecSerializer: Decimal,
    basic_serializers.BytesArraySerializer: bytes.fromhex,
    integer_serializers.ByteSerializer: int,
    integer_serializers.ShortSerializer: int,
    integer_serializers.IntSerializer: int,
    integer_serializers.LongSerializer: int,
    integer_serializers.BigIntSerializer: int,
    time_serializers.SqlDateSerializer: datetime.date.fromisoformat,
    time_serializers.LocalDateSerializer: datetime.date.fromisoformat,
    time_serializers.SqlTimestampSerializer: datetime.datetime.fromisoformat,
    time_serializers.LocalDateTimeSerializer: datetime.datetime.fromisoformat,
    native_serializers.DateTimeSerializer: datetime.datetime.fromisoformat,
    native_serializers.UuidSerializer: uuid.UUID,
}


def keys_meant(text: str, serializer: TypeSerializer[Any]) -> list[Any]:
    """Return the keys that a text may mean: one for a type that says it, several for pickled keys, none if unknown.

    Integers, floats and strings are typed as they are; tuples, rows and classes with fields as JSON.
    """
    while isinstance(serializer, NullableSerializer | HintedSerializer | InferredKeySerializer):
        serializer = serializer.inner
    try:
        if type(serializer) is PickleSerializer:
            return _any_meaning(text)
        simple = _SIMPLE.get(type(serializer))
        if simple is not None:
            return [simple(text)]
        return [_of(json.loads(text), serializer)]
    except (ValueError, TypeError, ArithmeticError, LookupError, RecursionError):
        return []


def _any_meaning(text: str) -> list[Any]:
    meant: list[Any] = [text]
    try:
        meant.append(_tuples(json.loads(text)))
    except RecursionError:
        pass  # it is text, then
    except ValueError:
        for number in (int, float):
            try:
                meant.append(number(text))
                break
            except ValueError:
                continue
    return meant


def _tuples(value: Any) -> Any:
    return tuple(map(_tuples, value)) if isinstance(value, list) else value


def _of(value: Any, serializer: TypeSerializer[Any]) -> Any:
    """Make a value of a type of what JSON gave."""
    if isinstance(serializer, NullableSerializer | HintedSerializer):
        return None if value is None else _of(value, serializer.inner)
    simple = _SIMPLE.get(type(serializer))
    if simple is not None:
        return simple(value if isinstance(value, str) else str(value))
    given: Any
    if isinstance(serializer, NamedFieldsSerializer):
        nested = dict(serializer.layout)
        given = value if isinstance(value, dict) else dict(zip(nested, value, strict=True))
        return serializer.cls(**{name: _of(given[name], nested[name]) for name in given})
    if isinstance(serializer, NamedTupleSerializer):
        given = list(value.values()) if isinstance(value, dict) else value
        return serializer.cls._make(_parts(given, serializer.fields))
    if isinstance(serializer, TupleSerializer):
        return tuple(_parts(value, serializer.fields))
    if isinstance(serializer, RowSerializer):
        given = [value[name] for name in serializer.names] if isinstance(value, dict) else value
        row = Row(*_parts(given, serializer.fields))
        row.set_field_names(list(serializer.names))
        return row
    return _tuples(value)


def _parts(values: Any, serializers: Any) -> list[Any]:
    return [_of(value, serializer) for value, serializer in zip(values, serializers, strict=True)]
