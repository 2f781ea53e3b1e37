"""Rows of which it is known before they are read that a batch of them is small."""

from __future__ import annotations

import pytest
from pyspark.sql import types as t

from rekindle.runtime.spark.row_sizes import MOST_BYTES_PER_BATCH, ROWS_PER_BATCH, has_small_rows


def rows(*columns: t.DataType) -> t.StructType:
    return t.StructType([t.StructField(f"c{number}", column) for number, column in enumerate(columns)])


@pytest.mark.parametrize(
    ("column", "small"),
    [
        (t.LongType(), True),
        (t.DoubleType(), True),
        (t.ByteType(), True),
        (t.BooleanType(), True),
        (t.DateType(), True),
        (t.TimestampType(), True),
        (t.TimestampNTZType(), True),
        (t.DecimalType(38, 2), True),
        (t.StringType(), False),
        (t.BinaryType(), False),
        (t.ArrayType(t.LongType()), False),
        (rows(t.DoubleType(), t.DoubleType()), False),
        (t.MapType(t.StringType(), t.StringType()), False),
    ],
)
def test_rows_of_numbers_are_small(column: t.DataType, small: bool) -> None:
    assert has_small_rows(rows(t.LongType(), column)) is small


def test_many_numbers_are_not_small() -> None:
    most = MOST_BYTES_PER_BATCH // ROWS_PER_BATCH // 17
    assert has_small_rows(rows(*[t.LongType()] * most))
    assert not has_small_rows(rows(*[t.LongType()] * (most + 1)))
