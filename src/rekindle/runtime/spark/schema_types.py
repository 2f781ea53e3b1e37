"""What the schema of a DataFrame says of its rows, in Rekindle's types.

Types are chosen so that values stay exactly as they are: integers of all widths are LONG, so that a column may become
wider, and floats are DOUBLE, which they are in Python. A timestamp has the session's time zone, which no type keeps: it
is pickled, inside a row that is not.
"""

from __future__ import annotations

from datetime import datetime

from pyspark.sql import types as T  # noqa: N812 - the customary name

from rekindle.types.native_typeinfo import NativeTypeInfo, NullableTypeInfo
from rekindle.types.spark_typeinfo import SparkRowTypeInfo
from rekindle.types.type_information import TypeInformation
from rekindle.types.typeinfo import Types

_SCALARS: tuple[tuple[type[T.DataType] | tuple[type[T.DataType], ...], TypeInformation], ...] = (
    (T.StringType, Types.STRING()),
    (T.BooleanType, Types.BOOLEAN()),
    ((T.ByteType, T.ShortType, T.IntegerType, T.LongType), Types.LONG()),
    ((T.FloatType, T.DoubleType), Types.DOUBLE()),
    (T.BinaryType, Types.PRIMITIVE_ARRAY(Types.BYTE())),
    (T.DecimalType, Types.BIG_DEC()),
    (T.DateType, Types.SQL_DATE()),
    (T.TimestampNTZType, NativeTypeInfo(datetime)),
)


def row_type(schema: T.StructType) -> SparkRowTypeInfo:
    """Return the type of the rows of a DataFrame."""
    return SparkRowTypeInfo(schema.names, [_type_of(field.dataType) for field in schema.fields])


def _type_of(data_type: T.DataType) -> TypeInformation:
    for kinds, known in _SCALARS:
        if isinstance(data_type, kinds):
            return NullableTypeInfo(known)
    if isinstance(data_type, T.ArrayType):
        return NullableTypeInfo(Types.LIST(_type_of(data_type.elementType)))
    if isinstance(data_type, T.MapType):
        return NullableTypeInfo(Types.MAP(_type_of(data_type.keyType), _type_of(data_type.valueType)))
    if isinstance(data_type, T.StructType):
        return NullableTypeInfo(row_type(data_type))
    return Types.PICKLED_BYTE_ARRAY()
