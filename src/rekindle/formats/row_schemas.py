"""The schema of records, however a program gives it: as Arrow and as Spark have it.

A schema is one of these:

- a dataclass, a ``msgspec.Struct`` or a ``NamedTuple``, whose annotations count;
- ``Types.ROW_NAMED([…], […])``, or any other type of records with fields;
- a schema of Spark: a ``StructType``, or text such as ``"user string, amount long"``;
- a schema of Arrow; a schema of Avro, as ``AvroSchema``.

Arrow and Spark are imported when they are needed.
"""

from __future__ import annotations

import dataclasses
import datetime
import decimal
import types
import typing
import uuid
from collections.abc import Iterable
from enum import Enum
from typing import TYPE_CHECKING, Any

import msgspec

from rekindle.base.time import Instant
from rekindle.formats.spark_arrow import arrow_of_spark, spark_of_arrow
from rekindle.formats.spark_ddl import parsed_ddl
from rekindle.types.basic_typeinfo import BasicType, BasicTypeInfo
from rekindle.types.class_typeinfo import PojoTypeInfo
from rekindle.types.composite_typeinfo import (
    BasicArrayTypeInfo,
    ListTypeInfo,
    MapTypeInfo,
    ObjectArrayTypeInfo,
    PrimitiveArrayTypeInfo,
    RowTypeInfo,
    TupleTypeInfo,
)
from rekindle.types.native_typeinfo import NativeTypeInfo, NullableTypeInfo
from rekindle.types.spark_typeinfo import SparkRowTypeInfo
from rekindle.types.time_typeinfo import DateTypeInfo, TimestampTypeInfo, TimeTypeInfo
from rekindle.types.type_information import TypeInformation

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql.types import StructType

__all__ = ["arrow_schema", "is_record_class", "spark_schema"]

_DIGITS, _AFTER_POINT = 38, 18


def arrow_schema(given: Any) -> pa.Schema:
    """Return a schema as Arrow has it.

    Raises:
        TypeError: It is not a schema, or a field has no form in Arrow; the message names it.
        ValueError: It is a text that is not a schema.
    """
    import pyarrow as pa

    if isinstance(given, pa.Schema):
        return given
    if hasattr(given, "to_arrow_schema"):
        return given.to_arrow_schema()
    if isinstance(given, str):
        given = parsed_ddl(given)
    if _is_of_spark(given):
        return arrow_of_spark(given)
    if is_record_class(given):
        return pa.schema(_class_fields(given))
    if isinstance(given, TypeInformation):
        kind = _arrow_type(given, "the schema")
        if pa.types.is_struct(kind):
            return pa.schema([kind.field(place) for place in range(kind.num_fields)])
    raise TypeError(
        f"{given!r} is not a schema of records. Give a dataclass, Types.ROW_NAMED([names], [types]), a schema of Spark "
        "such as 'user string, amount long', or one of Arrow"
    )


def spark_schema(given: Any) -> StructType:
    """Return a schema as Spark has it; raises as :func:`arrow_schema` does."""
    if isinstance(given, str):
        return parsed_ddl(given)
    if _is_of_spark(given):
        return typing.cast("StructType", given)
    return spark_of_arrow(arrow_schema(given))


def is_record_class(given: Any) -> bool:
    """Return whether a class has fields with annotations."""
    if not isinstance(given, type):
        return False
    named_tuple = issubclass(given, tuple) and hasattr(given, "_fields")
    return dataclasses.is_dataclass(given) or issubclass(given, msgspec.Struct) or named_tuple


def class_annotations(cls: type) -> dict[str, Any]:
    """Return the annotations of the fields of a class, in their order."""
    hints = typing.get_type_hints(cls)
    if dataclasses.is_dataclass(cls):
        names: Iterable[str] = [field.name for field in dataclasses.fields(cls) if field.init]
    else:
        names = getattr(cls, "__struct_fields__", None) or cls._fields  # type: ignore[attr-defined]
    return {name: hints.get(name, Any) for name in names}


def without_none(annotation: Any) -> Any:
    """Return what an optional annotation is of."""
    if typing.get_origin(annotation) in (typing.Union, types.UnionType):
        others = [each for each in typing.get_args(annotation) if each is not types.NoneType]
        if len(others) == 1:
            return others[0]
    return annotation


def _is_of_spark(given: Any) -> bool:
    return type(given).__module__ == "pyspark.sql.types" and type(given).__name__ == "StructType"


def _class_fields(cls: type) -> list[Any]:
    return [
        (name, _annotated_type(annotation, f"field {name!r} of {cls.__qualname__}"))
        for name, annotation in class_annotations(cls).items()
    ]


def _annotated_type(annotation: Any, place: str) -> pa.DataType:
    import pyarrow as pa

    annotation = without_none(annotation)
    if typing.get_origin(annotation) is typing.Annotated:
        annotation = typing.get_args(annotation)[0]
    simple = {
        bool: pa.bool_(),
        int: pa.int64(),
        float: pa.float64(),
        str: pa.string(),
        bytes: pa.binary(),
        datetime.date: pa.date32(),
        datetime.datetime: pa.timestamp("us", "UTC"),
        datetime.time: pa.time64("us"),
        datetime.timedelta: pa.duration("us"),
        decimal.Decimal: pa.decimal128(_DIGITS, _AFTER_POINT),
        Instant: pa.timestamp("us", "UTC"),
        uuid.UUID: pa.string(),
    }
    if isinstance(annotation, type) and annotation in simple:
        return simple[annotation]
    if isinstance(annotation, TypeInformation):
        return _arrow_type(annotation, place)
    if is_record_class(annotation):
        return pa.struct(_class_fields(annotation))
    if isinstance(annotation, type) and issubclass(annotation, Enum):
        kinds = {type(member.value) for member in annotation}
        if len(kinds) == 1 and (only := kinds.pop()) in (str, int):
            return simple[only]
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin in (list, set, frozenset) or (origin is tuple and arguments[1:] == (Ellipsis,)):
        return pa.list_(_annotated_type(arguments[0], place))
    if origin is dict:
        return pa.map_(_annotated_type(arguments[0], place), _annotated_type(arguments[1], place))
    raise TypeError(
        f"{place} is annotated as {annotation!r}, which has no type in files. Annotate it with a number, str, bool, "
        "bytes, Decimal, date, datetime, a list or dict of these, or a dataclass; or give the schema as Spark or "
        "Arrow has it"
    )


def _arrow_type(type_info: TypeInformation, place: str) -> pa.DataType:
    import pyarrow as pa

    basic = {
        BasicType.STRING: pa.string(),
        BasicType.BOOLEAN: pa.bool_(),
        BasicType.BYTE: pa.int8(),
        BasicType.SHORT: pa.int16(),
        BasicType.INT: pa.int32(),
        BasicType.LONG: pa.int64(),
        BasicType.FLOAT: pa.float32(),
        BasicType.DOUBLE: pa.float64(),
        BasicType.CHAR: pa.string(),
        BasicType.BIG_INT: pa.decimal128(_DIGITS, 0),
        BasicType.BIG_DEC: pa.decimal128(_DIGITS, _AFTER_POINT),
        BasicType.INSTANT: pa.timestamp("us", "UTC"),
    }
    match type_info:
        case BasicTypeInfo(basic_type=kind) if kind in basic:
            return basic[kind]
        case NullableTypeInfo():
            return _arrow_type(type_info.inner, place)
        case NativeTypeInfo() | PojoTypeInfo():
            return _annotated_type(type_info.cls, place)
        case DateTypeInfo():
            return pa.date32()
        case TimeTypeInfo():
            return pa.time64("us")
        case TimestampTypeInfo():
            return pa.timestamp("us")
        case RowTypeInfo() | TupleTypeInfo():
            names = getattr(type_info, "get_field_names", lambda: None)() or [
                f"f{place}" for place in range(len(type_info.get_field_types()))
            ]
            pairs = zip(names, type_info.get_field_types(), strict=True)
            return pa.struct([(name, _arrow_type(each, f"field {name!r}")) for name, each in pairs])
        case SparkRowTypeInfo():
            pairs = zip(type_info.names, type_info.field_types, strict=True)
            return pa.struct([(name, _arrow_type(each, f"field {name!r}")) for name, each in pairs])
        case MapTypeInfo():
            return pa.map_(_arrow_type(type_info.key_type, place), _arrow_type(type_info.value_type, place))
        case PrimitiveArrayTypeInfo() | BasicArrayTypeInfo() | ObjectArrayTypeInfo() | ListTypeInfo():
            element = type_info.element_type
            is_bytes = isinstance(element, BasicTypeInfo) and element.basic_type is BasicType.BYTE
            if isinstance(type_info, PrimitiveArrayTypeInfo) and is_bytes:
                return pa.binary()
            return pa.list_(_arrow_type(element, place))
    raise TypeError(f"{place} is of type {type_info}, which has no type in files; give it another")
