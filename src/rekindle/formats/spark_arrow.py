"""Schemas of Spark as Arrow has them, and the other way round; the same for all versions of Spark.

Timestamps with a zone have UTC in Arrow. Spark is imported when it is needed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql.types import DataType, StructType

__all__ = ["arrow_of_spark", "spark_of_arrow"]


def arrow_of_spark(schema: StructType) -> pa.Schema:
    """Return a schema of Spark as Arrow has it.

    Raises:
        TypeError: A column has a type that Arrow has not; it is named.
    """
    import pyarrow as pa

    return pa.schema([_field(each, each.name) for each in schema.fields])


def spark_of_arrow(schema: pa.Schema) -> StructType:
    """Return a schema of Arrow as Spark has it.

    Raises:
        TypeError: A column has a type that Spark has not; it is named.
    """
    from pyspark.sql import types as T  # noqa: N812 - the customary name

    return T.StructType([T.StructField(each.name, _spark_type(each.type, each.name), each.nullable) for each in schema])


def _simple() -> dict[str, Any]:
    """Return the types of Arrow that have a name of their own in Spark."""
    import pyarrow as pa

    return {
        "NullType": pa.null(),
        "BooleanType": pa.bool_(),
        "ByteType": pa.int8(),
        "ShortType": pa.int16(),
        "IntegerType": pa.int32(),
        "LongType": pa.int64(),
        "FloatType": pa.float32(),
        "DoubleType": pa.float64(),
        "StringType": pa.string(),
        "CharType": pa.string(),
        "VarcharType": pa.string(),
        "BinaryType": pa.binary(),
        "DateType": pa.date32(),
        "TimestampType": pa.timestamp("us", "UTC"),
        "TimestampNTZType": pa.timestamp("us"),
        "DayTimeIntervalType": pa.duration("us"),
        "TimeType": pa.time64("us"),
    }


def _field(spark_field: Any, place: str) -> pa.Field:
    import pyarrow as pa

    return pa.field(spark_field.name, _arrow_type(spark_field.dataType, place), spark_field.nullable)


def _arrow_type(kind: DataType, place: str) -> pa.DataType:
    import pyarrow as pa
    from pyspark.sql import types as T  # noqa: N812 - the customary name

    name = type(kind).__name__
    if name in (known := _simple()):
        return known[name]
    if isinstance(kind, T.DecimalType):
        return pa.decimal128(kind.precision, kind.scale)
    if isinstance(kind, T.ArrayType):
        return pa.list_(_arrow_type(kind.elementType, f"{place}[]"))
    if isinstance(kind, T.MapType):
        return pa.map_(_arrow_type(kind.keyType, place), _arrow_type(kind.valueType, f"{place}{{}}"))
    if isinstance(kind, T.StructType):
        return pa.struct([_field(each, f"{place}.{each.name}") for each in kind.fields])
    raise TypeError(f"column {place!r} of the schema is of type {kind.simpleString()}, which files do not have")


def _spark_type(kind: pa.DataType, place: str) -> DataType:
    import pyarrow as pa
    from pyspark.sql import types as T  # noqa: N812 - the customary name

    if pa.types.is_timestamp(kind):
        return T.TimestampNTZType() if kind.tz is None else T.TimestampType()
    if pa.types.is_time(kind) and not hasattr(T, "TimeType"):
        raise TypeError(f"column {place!r} of the schema is of type {kind}, which Spark has from version 4.1 on")
    for name, known in _simple().items():
        if kind == known:
            return getattr(T, name)()  # type: ignore[no-any-return]
    if pa.types.is_large_string(kind):
        return T.StringType()
    if pa.types.is_large_binary(kind) or pa.types.is_fixed_size_binary(kind):
        return T.BinaryType()
    if pa.types.is_time(kind):
        return T.TimeType()
    if pa.types.is_duration(kind):
        return T.DayTimeIntervalType()
    if pa.types.is_decimal(kind):
        return T.DecimalType(kind.precision, kind.scale)
    if pa.types.is_dictionary(kind):
        return _spark_type(kind.value_type, place)
    if pa.types.is_map(kind):
        return T.MapType(_spark_type(kind.key_type, place), _spark_type(kind.item_type, f"{place}{{}}"))
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return T.ArrayType(_spark_type(kind.value_type, f"{place}[]"))
    if pa.types.is_struct(kind):
        fields = [kind.field(index) for index in range(kind.num_fields)]
        return T.StructType(
            [T.StructField(each.name, _spark_type(each.type, f"{place}.{each.name}"), each.nullable) for each in fields]
        )
    raise TypeError(f"column {place!r} of the schema is of type {kind}, which Spark has not")
