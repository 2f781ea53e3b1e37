"""What differs between Sparks, on the one that is installed: ``make test-spark`` runs this on each of them."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql import functions as F  # noqa: N812 - the customary name

from rekindle.runtime.spark import versions


@pytest.mark.parametrize("repartition", [versions.repartition_by_id, versions.repartition_by_hash])
@pytest.mark.parametrize("partitions", [1, 2, 7])
def test_each_row_goes_to_the_partition_it_names(spark: Any, repartition: Any, partitions: int) -> None:
    rows = spark.range(40).select((F.col("id") % partitions).cast("int").alias("target"))
    dealt = repartition(rows, partitions, "target").select("target", F.spark_partition_id().alias("partition"))
    assert dealt.rdd.getNumPartitions() == partitions
    found = dealt.collect()
    assert len(found) == 40
    assert all(row.target == row.partition for row in found)


def test_numbers_are_hashed_as_this_spark_hashes_them(spark: Any) -> None:
    rows = spark.range(2_000).select(F.col("id").cast("int").alias("number"), F.hash(F.col("id").cast("int"))).collect()
    assert [versions._hash(number) for number, _ in rows] == [hashed for _, hashed in rows]


def test_the_class_that_writes_sparks_logs_is_there(spark: Any) -> None:
    assert spark._jvm.java.lang.Class.forName(versions.checkpoint_file_manager(spark)) is not None
