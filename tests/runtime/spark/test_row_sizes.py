"""Rows of which it is known before they are read that a batch of them is small."""

from __future__ import annotations

import pytest
from pyspark.sql.types import StructType

from rekindle.runtime.spark.row_sizes import MOST_BYTES_PER_BATCH, ROWS_PER_BATCH, has_small_rows


@pytest.mark.parametrize(
    ("columns", "small"),
    [
        ("k bigint, v double", True),
        ("a tinyint, b boolean, c date, d timestamp, e decimal(38, 2), f timestamp_ntz", True),
        ("k bigint, word string", False),
        ("k bigint, payload binary", False),
        ("k bigint, numbers array<bigint>", False),
        ("k bigint, point struct<x: double, y: double>", False),
        ("k bigint, tags map<string, string>", False),
    ],
)
def test_rows_of_numbers_are_small(columns: str, small: bool) -> None:
    assert has_small_rows(StructType.fromDDL(columns)) is small


def test_many_numbers_are_not_small() -> None:
    most = MOST_BYTES_PER_BATCH // ROWS_PER_BATCH // 17
    assert has_small_rows(StructType.fromDDL(", ".join(f"c{number} bigint" for number in range(most))))
    assert not has_small_rows(StructType.fromDDL(", ".join(f"c{number} bigint" for number in range(most + 1))))
