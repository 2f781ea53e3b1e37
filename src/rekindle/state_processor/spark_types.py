"""Which Spark type a type of state has, and how values go from one to the other.

What has none, because it was pickled or its serializer is the user's own, is a column of pickles. Such a column is
marked in its metadata, so that it is read as what it is when it is written to a savepoint again.
"""

from __future__ import annotations

import datetime
import pickle
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from pyspark.sql import types as t

from rekindle.base.time import Instant
from rekindle.contracts.windowing import serializers as windows
from rekindle.contracts.windowing.windows import CountWindow, GlobalWindow, TimeWindow
from rekindle.serialization.classes.enum_serializer import EnumSerializer
from rekindle.serialization.classes.named_fields_serializer import NamedFieldsSerializer
from rekindle.serialization.composites.array_serializers import GenericArraySerializer, PrimitiveArraySerializer
from rekindle.serialization.composites.collection_serializers import ListSerializer, MapSerializer
from rekindle.serialization.composites.native_collection_serializers import (
    FrozensetSerializer,
    NamedTupleSerializer,
    SetSerializer,
    VariadicTupleSerializer,
)
from rekindle.serialization.composites.nullable_serializer import NullableSerializer
from rekindle.serialization.composites.row_serializer import RowSerializer
from rekindle.serialization.composites.spark_row_serializer import SparkRowSerializer
from rekindle.serialization.composites.tuple_serializer import TupleSerializer
from rekindle.serialization.scalars import basic_serializers as basic
from rekindle.serialization.scalars import integer_serializers as integers
from rekindle.serialization.scalars import native_serializers as native
from rekindle.serialization.scalars import time_serializers as times
from rekindle.serialization.untyped.hinted_serializer import HintedSerializer
from rekindle.serialization.untyped.inferred_key_serializer import InferredKeySerializer
from rekindle.types.row import Row
from rekindle.types.spark_rows import row_maker
from rekindle.types.type_serializer import TypeSerializer

PICKLED = "rekindle.pickled"
"""Marks, in the metadata of a column, that its bytes are pickles."""

_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)

Convert = Callable[[Any], Any]


@dataclass(frozen=True, slots=True)
class SparkColumn:
    """Say how a type of state looks to Spark.

    Attributes:
        data_type: Its Spark type.
        to_spark: Turns a value into what Arrow takes for the type. Never called with None.
        from_spark: Turns what programs see of a column into a value. Never called with None.
        pickled: Whether values are pickles, for lack of a better type.
    """

    data_type: t.DataType
    to_spark: Convert
    from_spark: Convert
    pickled: bool = False

    def field(self, name: str) -> t.StructField:
        """Make a column of a schema."""
        return t.StructField(name, self.data_type, True, {PICKLED: True} if self.pickled else None)


def _same(value: Any) -> Any:
    return value


def _to_utc(value: datetime.datetime) -> datetime.datetime:
    """Return the time in UTC without a zone; one without a zone stays as it is."""
    return value if value.tzinfo is None else value.astimezone(datetime.UTC).replace(tzinfo=None)


def _instant_to_spark(value: Instant) -> datetime.datetime:
    return _EPOCH + datetime.timedelta(seconds=value.seconds, microseconds=value.nanos // 1000)


def _instant_from_spark(value: datetime.datetime) -> Instant:
    since = (value if value.tzinfo else value.replace(tzinfo=datetime.UTC)) - _EPOCH
    return Instant(since // datetime.timedelta(seconds=1), since.microseconds * 1000)


def _simple(data_type: t.DataType, to_spark: Convert = _same, from_spark: Convert = _same) -> SparkColumn:
    return SparkColumn(data_type, to_spark, from_spark)


_WINDOW = t.StructType([t.StructField("start", t.LongType()), t.StructField("end", t.LongType())])
_SIMPLE: dict[type[TypeSerializer[Any]], SparkColumn] = {
    basic.StringSerializer: _simple(t.StringType()),
    basic.CharSerializer: _simple(t.StringType()),
    basic.BooleanSerializer: _simple(t.BooleanType()),
    basic.FloatSerializer: _simple(t.FloatType()),
    basic.DoubleSerializer: _simple(t.DoubleType(), float),
    basic.BigDecSerializer: _simple(t.DecimalType(38, 18)),
    basic.BytesArraySerializer: _simple(t.BinaryType(), _same, bytes),
    integers.ByteSerializer: _simple(t.ByteType()),
    integers.ShortSerializer: _simple(t.ShortType()),
    integers.IntSerializer: _simple(t.IntegerType()),
    integers.LongSerializer: _simple(t.LongType()),
    integers.BigIntSerializer: _simple(t.DecimalType(38, 0), _same, int),
    times.InstantSerializer: _simple(t.TimestampType(), _instant_to_spark, _instant_from_spark),
    times.SqlDateSerializer: _simple(t.DateType()),
    times.LocalDateSerializer: _simple(t.DateType()),
    times.SqlTimeSerializer: _simple(t.StringType(), datetime.time.isoformat, datetime.time.fromisoformat),
    times.LocalTimeSerializer: _simple(t.StringType(), datetime.time.isoformat, datetime.time.fromisoformat),
    times.SqlTimestampSerializer: _simple(t.TimestampNTZType(), _to_utc, _to_utc),
    times.LocalDateTimeSerializer: _simple(t.TimestampNTZType(), _to_utc, _to_utc),
    native.DateTimeSerializer: _simple(t.TimestampNTZType(), _to_utc, _to_utc),
    native.TimeSerializer: _simple(t.StringType(), datetime.time.isoformat, datetime.time.fromisoformat),
    native.TimedeltaSerializer: _simple(t.DayTimeIntervalType()),
    native.UuidSerializer: _simple(t.StringType(), str, uuid.UUID),
    windows.TimeWindowSerializer: _simple(
        _WINDOW, lambda window: {"start": window.start, "end": window.end}, lambda row: TimeWindow(row[0], row[1])
    ),
    windows.CountWindowSerializer: _simple(
        t.StructType([t.StructField("id", t.LongType())]),
        lambda window: {"id": window[0]},
        lambda row: CountWindow(row[0]),
    ),
    windows.GlobalWindowSerializer: _simple(
        t.StringType(), lambda window: "GlobalWindow", lambda text: GlobalWindow.get()
    ),
}
_PICKLE = SparkColumn(t.BinaryType(), lambda value: pickle.dumps(value, 5), pickle.loads, pickled=True)
_LISTS: dict[type[TypeSerializer[Any]], Convert] = {
    ListSerializer: list,
    PrimitiveArraySerializer: list,
    GenericArraySerializer: list,
    SetSerializer: set,
    FrozensetSerializer: frozenset,
    VariadicTupleSerializer: tuple,
}


def column_of(serializer: TypeSerializer[Any]) -> SparkColumn:
    """Return how the values of a serializer look to Spark."""
    simple = _SIMPLE.get(type(serializer))
    if simple is not None:
        return simple
    if isinstance(serializer, NullableSerializer | HintedSerializer | InferredKeySerializer):
        return column_of(serializer.inner)
    if type(serializer) in _LISTS:
        elements: Any = serializer
        return _array(column_of(elements.element), _LISTS[type(serializer)])
    if isinstance(serializer, MapSerializer):
        return _map(column_of(serializer.key), column_of(serializer.value))
    if isinstance(serializer, NamedTupleSerializer):
        names = serializer.cls._fields
        return _struct(names, serializer.fields, serializer.cls._make, _same)
    if isinstance(serializer, TupleSerializer):
        return _struct([f"f{i}" for i in range(len(serializer.fields))], serializer.fields, tuple, _same)
    if isinstance(serializer, RowSerializer):
        return _struct(serializer.names, serializer.fields, _row_of(serializer.names), list)
    if isinstance(serializer, SparkRowSerializer):
        make = row_maker(serializer.names)
        return _struct(serializer.names, serializer.fields, lambda values: make(tuple(values)), list)
    if isinstance(serializer, NamedFieldsSerializer):
        return _class(serializer)
    if isinstance(serializer, EnumSerializer):
        return SparkColumn(t.StringType(), lambda member: member.name, serializer.cls.__getitem__)
    return _PICKLE


def _optional(convert: Convert) -> Convert:
    return lambda value: None if value is None else convert(value)


def _array(element: SparkColumn, collect: Convert) -> SparkColumn:
    to_spark, from_spark = _optional(element.to_spark), _optional(element.from_spark)
    return SparkColumn(
        t.ArrayType(element.data_type),
        lambda values: list(map(to_spark, values)),
        lambda values: collect(map(from_spark, values)),
    )


def _map(key: SparkColumn, value: SparkColumn) -> SparkColumn:
    to_key, to_value = _optional(key.to_spark), _optional(value.to_spark)
    from_key, from_value = _optional(key.from_spark), _optional(value.from_spark)
    return SparkColumn(
        t.MapType(key.data_type, value.data_type),
        lambda mapping: [(to_key(k), to_value(v)) for k, v in mapping.items()],
        lambda mapping: {from_key(k): from_value(v) for k, v in mapping.items()},
    )


def _struct(
    names: Sequence[str], fields: Sequence[TypeSerializer[Any]], make: Convert, parts_of: Convert
) -> SparkColumn:
    columns = [column_of(field) for field in fields]
    to_spark = [_optional(column.to_spark) for column in columns]
    from_spark = [_optional(column.from_spark) for column in columns]

    def to(value: Any) -> dict[str, Any]:
        parts = zip(names, to_spark, parts_of(value), strict=True)
        return {name: convert(part) for name, convert, part in parts}

    def back(value: Any) -> Any:
        return make([convert(part) for convert, part in zip(from_spark, value, strict=True)])

    return SparkColumn(t.StructType([column.field(n) for n, column in zip(names, columns, strict=True)]), to, back)


def _class(serializer: NamedFieldsSerializer[Any]) -> SparkColumn:
    columns = {name: column_of(nested) for name, nested in serializer.layout}
    to_spark = {name: _optional(column.to_spark) for name, column in columns.items()}
    from_spark = {name: _optional(column.from_spark) for name, column in columns.items()}
    cls: Any = serializer.cls

    def to(value: Any) -> dict[str, Any]:
        return {name: convert(getattr(value, name, None)) for name, convert in to_spark.items()}

    def back(value: Any) -> Any:
        given = fields_of_row(value)
        return cls(**{name: convert(given[name]) for name, convert in from_spark.items() if name in given})

    return SparkColumn(t.StructType([column.field(name) for name, column in columns.items()]), to, back)


def fields_of_row(value: Any) -> dict[str, Any]:
    """Return the fields of a struct, as programs see one."""
    return value if isinstance(value, dict) else dict(zip(value.__fields__, value, strict=True))


def _row_of(names: Sequence[str]) -> Convert:
    def make(values: list[Any]) -> Row:
        row = Row(*values)
        row.set_field_names(list(names))
        return row

    return make


# --- by a schema that the user gives, for values whose type says nothing ---


def converter_to(data_type: t.DataType) -> Convert:
    """Return what turns any value into what Arrow takes for a Spark type, as far as it makes sense."""
    if isinstance(data_type, t.StructType):
        fields = [(field.name, _optional(converter_to(field.dataType))) for field in data_type.fields]

        def struct(value: Any) -> dict[str, Any]:
            parts = _parts_of(value, [name for name, _ in fields])
            return {name: convert(part) for (name, convert), part in zip(fields, parts, strict=True)}

        return struct
    if isinstance(data_type, t.ArrayType):
        element = _optional(converter_to(data_type.elementType))
        return lambda values: list(map(element, values))
    if isinstance(data_type, t.MapType):
        key, item = _optional(converter_to(data_type.keyType)), _optional(converter_to(data_type.valueType))
        return lambda mapping: [(key(k), item(v)) for k, v in mapping.items()]
    if isinstance(data_type, t.FloatType | t.DoubleType):
        return float
    return str if isinstance(data_type, t.StringType) else _same


def _parts_of(value: Any, names: list[str]) -> list[Any]:
    if isinstance(value, dict):
        return [value.get(name) for name in names]
    if isinstance(value, tuple | list | Row) and not hasattr(value, "_asdict"):
        return list(value)
    return [getattr(value, name, None) for name in names]
