"""Files of rows as a DataFrame, and Spark's schemas as Arrow's."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as T  # noqa: N812 - the customary name
from pyspark.sql.pandas.types import from_arrow_schema

_SCALARS: dict[type[T.DataType], pa.DataType] = {
    T.BooleanType: pa.bool_(),
    T.ByteType: pa.int8(),
    T.ShortType: pa.int16(),
    T.IntegerType: pa.int32(),
    T.LongType: pa.int64(),
    T.FloatType: pa.float32(),
    T.DoubleType: pa.float64(),
    T.StringType: pa.string(),
    T.BinaryType: pa.binary(),
    T.DateType: pa.date32(),
    T.TimestampType: pa.timestamp("us", "UTC"),
    T.TimestampNTZType: pa.timestamp("us"),
}


def rows_frame(session: SparkSession, files: Sequence[str], schema: pa.Schema) -> DataFrame:
    """Open Parquet files as a DataFrame.

    Args:
        session: The session.
        files: The files, by path or URI; none: the DataFrame has no rows.
        schema: Their columns.
    """
    columns = from_arrow_schema(schema, prefer_timestamp_ntz=True)
    if not files:
        return session.createDataFrame([], columns)
    return session.read.schema(columns).parquet(*map(spark_path, files))


def arrow_schema(schema: T.StructType) -> pa.Schema:
    """Return the columns of a DataFrame as Arrow and Parquet have them.

    Raises:
        TypeError: They have no such type; the column is named.
    """
    return pa.schema(_fields(schema))


def _fields(schema: T.StructType) -> list[pa.Field]:
    fields = []
    for field in schema.fields:
        try:
            fields.append(pa.field(field.name, _arrow_type(field.dataType), field.nullable))
        except TypeError as error:
            raise TypeError(f"column {field.name!r}: {error}") from None
    return fields


def _arrow_type(kind: T.DataType) -> pa.DataType:
    if isinstance(kind, T.StructType):
        return pa.struct(_fields(kind))
    if isinstance(kind, T.ArrayType):
        return pa.list_(_arrow_type(kind.elementType))
    if isinstance(kind, T.MapType):
        return pa.map_(_arrow_type(kind.keyType), _arrow_type(kind.valueType))
    if isinstance(kind, T.DecimalType):
        return pa.decimal128(kind.precision, kind.scale)
    known = _SCALARS.get(type(kind))
    if known is None:
        raise TypeError(f"values of type {kind.simpleString()} cannot be staged")
    return known


def spark_path(path: str) -> str:
    """Return a path as Spark takes it: pyarrow and Hadoop name the same file systems differently."""
    if "://" not in path:
        return f"file://{path}"
    base, options, rest = path.partition("?")
    if options:  # of pyarrow's, behind the root that the path is below
        base = f"{base.rstrip('/')}/{rest.partition('/')[2]}"
    return f"s3a{base[2:]}" if base.startswith("s3://") else base
