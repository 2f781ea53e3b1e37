"""Which serializer each type has."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from rekindle.serialization.classes.dataclass_serializer import DataclassSerializer
from rekindle.serialization.classes.enum_serializer import EnumSerializer
from rekindle.serialization.classes.struct_serializer import StructSerializer
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
from rekindle.serialization.encodings.pickle_serializer import PickleSerializer
from rekindle.serialization.scalars import basic_serializers, integer_serializers, native_serializers, time_serializers
from rekindle.serialization.serializer_of import register_serializers, serializer_of
from rekindle.types.basic_typeinfo import BasicType, BasicTypeInfo, PickledBytesTypeInfo
from rekindle.types.class_typeinfo import AvroTypeInfo, EnumTypeInfo, PojoTypeInfo, SerializerTypeInfo
from rekindle.types.composite_typeinfo import (
    BasicArrayTypeInfo,
    ExternalTypeInfo,
    ListTypeInfo,
    MapTypeInfo,
    ObjectArrayTypeInfo,
    PrimitiveArrayTypeInfo,
    RowTypeInfo,
    TupleTypeInfo,
)
from rekindle.types.native_typeinfo import (
    ContainerTypeInfo,
    NamedTupleTypeInfo,
    NativeTypeInfo,
    NullableTypeInfo,
)
from rekindle.types.spark_typeinfo import SparkRowTypeInfo
from rekindle.types.time_typeinfo import DateTypeInfo, LocalTimeTypeInfo, TimestampTypeInfo, TimeTypeInfo
from rekindle.types.type_information import TypeInformation
from rekindle.types.type_serializer import TypeSerializer

_LocalTime = LocalTimeTypeInfo.TimeType

_BASIC: dict[BasicType, type[TypeSerializer[Any]]] = {
    BasicType.STRING: basic_serializers.StringSerializer,
    BasicType.BYTE: integer_serializers.ByteSerializer,
    BasicType.BOOLEAN: basic_serializers.BooleanSerializer,
    BasicType.SHORT: integer_serializers.ShortSerializer,
    BasicType.INT: integer_serializers.IntSerializer,
    BasicType.LONG: integer_serializers.LongSerializer,
    BasicType.FLOAT: basic_serializers.FloatSerializer,
    BasicType.DOUBLE: basic_serializers.DoubleSerializer,
    BasicType.CHAR: basic_serializers.CharSerializer,
    BasicType.BIG_INT: integer_serializers.BigIntSerializer,
    BasicType.BIG_DEC: basic_serializers.BigDecSerializer,
    BasicType.INSTANT: time_serializers.InstantSerializer,
}
_LOCAL_TIME: dict[LocalTimeTypeInfo.TimeType, type[TypeSerializer[Any]]] = {
    _LocalTime.LOCAL_DATE: time_serializers.LocalDateSerializer,
    _LocalTime.LOCAL_TIME: time_serializers.LocalTimeSerializer,
    _LocalTime.LOCAL_DATE_TIME: time_serializers.LocalDateTimeSerializer,
}
_CONTAINERS: dict[type, Callable[[TypeSerializer[Any]], TypeSerializer[Any]]] = {
    set: SetSerializer,
    frozenset: FrozensetSerializer,
    tuple: VariadicTupleSerializer,
}


def _basic(type_info: BasicTypeInfo) -> TypeSerializer[Any]:
    return _BASIC[type_info.basic_type]()


def _row(type_info: RowTypeInfo) -> TypeSerializer[Any]:
    return RowSerializer(map(serializer_of, type_info.get_field_types()), type_info.get_field_names())


def _tuple(type_info: TupleTypeInfo) -> TypeSerializer[Any]:
    return TupleSerializer(*map(serializer_of, type_info.get_field_types()))


def _primitive_array(type_info: PrimitiveArrayTypeInfo) -> TypeSerializer[Any]:
    if type_info.element_type == BasicTypeInfo.BYTE_TYPE_INFO():
        return basic_serializers.BytesArraySerializer()
    return PrimitiveArraySerializer(serializer_of(type_info.element_type))


def _array(type_info: BasicArrayTypeInfo | ObjectArrayTypeInfo) -> TypeSerializer[Any]:
    return GenericArraySerializer(_component_name(type_info.element_type), serializer_of(type_info.element_type))


def _component_name(type_info: TypeInformation) -> str:
    """Name the kind of a type, not what it is made of: that is for the serializer of the elements to compare."""
    if isinstance(type_info, BasicTypeInfo):
        return type_info.basic_type.name
    return type(type_info).__name__.removesuffix("TypeInfo")


def _pojo(type_info: PojoTypeInfo) -> TypeSerializer[Any]:
    if issubclass(type_info.cls, msgspec.Struct):
        return StructSerializer(type_info.cls)
    return DataclassSerializer(type_info.cls)


def _spark_row(type_info: SparkRowTypeInfo) -> TypeSerializer[Any]:
    return SparkRowSerializer(type_info.names, map(serializer_of, type_info.field_types))


def _avro(type_info: AvroTypeInfo) -> TypeSerializer[Any]:
    from rekindle.serialization.avro.avro_serializer import AvroSerializer  # fastavro: most programs do without

    return AvroSerializer(type_info.schema, type_info.cls)


register_serializers(
    {
        PickledBytesTypeInfo: lambda _: PickleSerializer(),
        SerializerTypeInfo: lambda type_info: type_info.serializer,
        BasicTypeInfo: _basic,
        DateTypeInfo: lambda _: time_serializers.SqlDateSerializer(),
        TimeTypeInfo: lambda _: time_serializers.SqlTimeSerializer(),
        TimestampTypeInfo: lambda _: time_serializers.SqlTimestampSerializer(),
        LocalTimeTypeInfo: lambda type_info: _LOCAL_TIME[type_info.time_type](),
        RowTypeInfo: _row,
        TupleTypeInfo: _tuple,
        PrimitiveArrayTypeInfo: _primitive_array,
        BasicArrayTypeInfo: _array,
        ObjectArrayTypeInfo: _array,
        ListTypeInfo: lambda type_info: ListSerializer(serializer_of(type_info.element_type)),
        MapTypeInfo: lambda type_info: MapSerializer(
            serializer_of(type_info.key_type), serializer_of(type_info.value_type)
        ),
        ExternalTypeInfo: lambda type_info: serializer_of(type_info.type_info),
        PojoTypeInfo: _pojo,
        EnumTypeInfo: lambda type_info: EnumSerializer(type_info.cls),
        AvroTypeInfo: _avro,
        SparkRowTypeInfo: _spark_row,
        NativeTypeInfo: lambda type_info: native_serializers.OF_CLASS[type_info.cls](),
        NullableTypeInfo: lambda type_info: NullableSerializer.wrap(serializer_of(type_info.inner)),
        ContainerTypeInfo: lambda type_info: _CONTAINERS[type_info.container](serializer_of(type_info.element_type)),
        NamedTupleTypeInfo: lambda type_info: NamedTupleSerializer(
            type_info.cls, map(serializer_of, type_info.field_types)
        ),
    }
)
