"""Files of rows as Spark is told of them, and Spark's schemas as Arrow's: without a session."""

from __future__ import annotations

import pyarrow as pa
import pytest
from pyspark.sql import types as T  # noqa: N812 - the customary name

from rekindle.checkpoint import paths
from rekindle.runtime.spark.rows_frame import arrow_schema, spark_path


@pytest.mark.parametrize(
    ("root", "expected"),
    [
        ("/data/checkpoints", "file:///data/checkpoints/job/rows-0"),
        ("hdfs://names:8020/checkpoints", "hdfs://names:8020/checkpoints/job/rows-0"),
        ("s3://bucket/checkpoints", "s3a://bucket/checkpoints/job/rows-0"),
        ("s3://bucket/checkpoints?region=eu&scheme=http", "s3a://bucket/checkpoints/job/rows-0"),
        ("gs://bucket/", "gs://bucket/job/rows-0"),
    ],
)
def test_spark_is_told_of_a_file_in_its_own_words(root: str, expected: str) -> None:
    assert spark_path(paths.join(root, "job/rows-0")) == expected


def test_columns_are_the_same_to_arrow() -> None:
    point = T.StructType([T.StructField("x", T.DoubleType(), nullable=False)])
    schema = T.StructType(
        [
            T.StructField("name", T.StringType(), nullable=False),
            T.StructField("amount", T.DecimalType(10, 2)),
            T.StructField("at", T.TimestampType()),
            T.StructField("local", T.TimestampNTZType()),
            T.StructField("points", T.ArrayType(point)),
            T.StructField("by_name", T.MapType(T.StringType(), T.ByteType())),
        ]
    )
    converted = arrow_schema(schema)
    assert converted.field("name") == pa.field("name", pa.string(), nullable=False)
    assert converted.field("amount").type == pa.decimal128(10, 2)
    assert converted.field("at").type == pa.timestamp("us", "UTC")
    assert converted.field("local").type == pa.timestamp("us")
    assert converted.field("points").type.value_type.field("x").type == pa.float64()
    assert converted.field("by_name").type == pa.map_(pa.string(), pa.int8())


def test_a_column_that_cannot_be_staged_is_named() -> None:
    inner = T.StructType([T.StructField("age", T.DayTimeIntervalType())])
    with pytest.raises(TypeError, match="column 'outer': column 'age': values of type interval day to second cannot"):
        arrow_schema(T.StructType([T.StructField("outer", inner)]))
