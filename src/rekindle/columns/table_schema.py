"""The columns of the table that records of a type make."""

from __future__ import annotations

import datetime
import uuid
from collections.abc import Sequence

import pyarrow as pa

from rekindle.columns.arrow_records import arrow_type as basic_arrow_type
from rekindle.serialization.classes.class_fields import ClassField, fields_of_dataclass, fields_of_struct
from rekindle.types.annotations import type_of_annotation
from rekindle.types.basic_typeinfo import BasicType, BasicTypeInfo
from rekindle.types.class_typeinfo import EnumTypeInfo, PojoTypeInfo
from rekindle.types.composite_typeinfo import (
    BasicArrayTypeInfo,
    ListTypeInfo,
    MapTypeInfo,
    ObjectArrayTypeInfo,
    PrimitiveArrayTypeInfo,
    RowTypeInfo,
    TupleTypeInfo,
)
from rekindle.types.native_typeinfo import ContainerTypeInfo, NamedTupleTypeInfo, NativeTypeInfo, NullableTypeInfo
from rekindle.types.spark_typeinfo import SparkRowTypeInfo
from rekindle.types.time_typeinfo import DateTypeInfo, LocalTimeTypeInfo, TimestampTypeInfo, TimeTypeInfo
from rekindle.types.type_information import TypeInformation

_LOCAL_TIME = pa.timestamp("us")
_BASIC = {
    BasicType.CHAR: pa.string(),
    BasicType.BIG_INT: pa.int64(),  # what Spark takes for an int, too; a larger one is an error that says so
    BasicType.BIG_DEC: pa.decimal128(38, 18),
    BasicType.INSTANT: pa.timestamp("us", "UTC"),
}
_NATIVE = {datetime.datetime: _LOCAL_TIME, datetime.time: pa.string(), uuid.UUID: pa.string()}
_LOCAL = {
    LocalTimeTypeInfo.TimeType.LOCAL_DATE: pa.date32(),
    LocalTimeTypeInfo.TimeType.LOCAL_TIME: pa.string(),
    LocalTimeTypeInfo.TimeType.LOCAL_DATE_TIME: _LOCAL_TIME,
}


class NoColumnError(Exception):
    """A type, or a part of it, has no form in a table. The text names the part."""


def table_schema(type_info: TypeInformation) -> pa.Schema:
    """Return the columns of records of a type; a type without fields makes one column, ``value``.

    Raises:
        NoColumnError: It has none.
    """
    kind = column_type(type_info)
    if pa.types.is_struct(kind):
        return pa.schema([kind.field(place) for place in range(kind.num_fields)])
    return pa.schema([("value", kind)])


def with_nullable_parts(schema: pa.Schema) -> pa.Schema:
    """Return a schema in which only columns may be declared to be never null, and no part of one.

    A part is null where what it is a part of is null, and Parquet refuses that.
    """
    return pa.schema([pa.field(field.name, _nullable_parts(field.type), field.nullable) for field in schema])


def unread_columns(written: pa.Schema, schema: pa.Schema) -> list[str]:
    """Describe the columns that rows were written with and that readers with another schema would not find as they are.

    Args:
        written: The columns of the rows.
        schema: The columns as which they are to be read. One that the rows do not have is null.
    """
    kinds = {field.name: field.type for field in with_nullable_parts(schema)}
    return [f"{f.name} {f.type}" for f in with_nullable_parts(written) if kinds.get(f.name) != f.type]


def _nullable_parts(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_struct(kind):
        fields = [kind.field(place) for place in range(kind.num_fields)]
        return pa.struct([(field.name, _nullable_parts(field.type)) for field in fields])
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return pa.list_(_nullable_parts(kind.value_type))
    if pa.types.is_map(kind):
        return pa.map_(_nullable_parts(kind.key_type), _nullable_parts(kind.item_type))
    return kind


def column_type(type_info: TypeInformation) -> pa.DataType:
    """Return the form that values of a type have in a column.

    Raises:
        NoColumnError: They have none.
    """
    match type_info:
        case BasicTypeInfo():
            known = _BASIC.get(type_info.basic_type) or basic_arrow_type(type_info)
        case NativeTypeInfo():
            known = _NATIVE.get(type_info.cls)
        case LocalTimeTypeInfo():
            known = _LOCAL.get(type_info.time_type)
        case DateTypeInfo():
            known = pa.date32()
        case TimeTypeInfo() | EnumTypeInfo():
            known = pa.string()
        case TimestampTypeInfo():
            known = _LOCAL_TIME
        case NullableTypeInfo():
            known = column_type(type_info.inner)
        case PojoTypeInfo():
            known = _class_type(type_info.cls)
        case _:
            known = _nested_type(type_info)
    if known is None:
        raise NoColumnError(f"{type_info} has no form in a table")
    return known


def _nested_type(type_info: TypeInformation) -> pa.DataType | None:
    match type_info:
        case RowTypeInfo():
            return _struct(type_info.get_field_names(), type_info.get_field_types())
        case TupleTypeInfo():
            types = type_info.get_field_types()
            return _struct([f"f{place}" for place in range(len(types))], types)
        case NamedTupleTypeInfo():
            return _struct(type_info.cls._fields, type_info.field_types)  # type: ignore[attr-defined]
        case SparkRowTypeInfo():
            return _struct(type_info.names, type_info.field_types)
        case PrimitiveArrayTypeInfo() if type_info.element_type == BasicTypeInfo.BYTE_TYPE_INFO():
            return pa.binary()
        case PrimitiveArrayTypeInfo() | BasicArrayTypeInfo() | ObjectArrayTypeInfo() | ListTypeInfo():
            return pa.list_(column_type(type_info.element_type))
        case ContainerTypeInfo():
            return pa.list_(column_type(type_info.element_type))
        case MapTypeInfo():
            return pa.map_(column_type(type_info.key_type), column_type(type_info.value_type))
    return None


def _struct(names: Sequence[str], types: Sequence[TypeInformation]) -> pa.DataType:
    parts = zip(names, types, strict=True)
    return pa.struct([(name, _field_type(name, part)) for name, part in parts])


def _field_type(name: str, type_info: TypeInformation | None) -> pa.DataType:
    try:
        if type_info is None:
            raise NoColumnError("it may be any Python object")
        return column_type(type_info)
    except NoColumnError as error:
        raise NoColumnError(f"field {name!r}: {error}") from None


def _class_type(cls: type) -> pa.DataType:
    fields: list[ClassField] = fields_of_struct(cls) if hasattr(cls, "__struct_fields__") else fields_of_dataclass(cls)
    return pa.struct([(field.name, _field_type(field.name, type_of_annotation(field.annotation))) for field in fields])
