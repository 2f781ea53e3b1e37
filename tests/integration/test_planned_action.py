"""Plans that are made once and run in every epoch, on real Spark."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame

from rekindle.exceptions import JobExecutionError
from rekindle.runtime.spark.job_labels import JobLabels
from rekindle.runtime.spark.planned_action import PlannedAction
from rekindle.runtime.spark.row_sizes import BYTES_PER_BATCH
from rekindle.runtime.spark.session import query_settings
from rekindle.runtime.spark.versions import memory_stream

LABELS = JobLabels("job", ("level 0: numbers", "level 1: file"))


def _action(rows: DataFrame, directory: Path, bounded_rows: bool = False) -> PlannedAction:
    """Write the numbers that come over an exchange to a file."""
    path = str(directory / "seen")

    def write_down(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        numbers = [number for batch in batches for number in batch.column(0).to_pylist()]
        with open(path, "a", encoding="utf-8") as file:
            file.write("".join(f"{number}\n" for number in numbers))
        return iter(())

    written = rows.repartition(2, "value").mapInArrow(write_down, "value int")
    return PlannedAction(rows, written, LABELS, bounded_rows)


def _seen(directory: Path) -> list[int]:
    return sorted(map(int, (directory / "seen").read_text().split()))


@pytest.mark.parametrize("bounded_rows", [False, True])
def test_each_run_runs_all_stages_again(spark: Any, tmp_path: Path, bounded_rows: bool) -> None:
    with query_settings(spark):
        rows = spark.range(3).selectExpr("CAST(id AS int) AS value")
        action = _action(rows, tmp_path, bounded_rows)
    for epoch in range(3):
        action.run(rows, epoch)
    assert _seen(tmp_path) == [0, 0, 0, 1, 1, 1, 2, 2, 2]


def test_where_rows_are_small_their_bytes_are_not_counted_before_the_exchange_and_are_behind_it(
    spark: Any, tmp_path: Path
) -> None:
    """Spark puts as many rows into a batch as it may have, whatever the limit of bytes is."""

    def sizes(name: str) -> Any:
        path = str(tmp_path / name)

        def write_down(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            for batch in batches:
                with open(path, "a", encoding="utf-8") as file:
                    file.write(f"{batch.num_rows}\n")
                yield batch

        return write_down

    with query_settings(spark):
        rows = spark.range(0, 1000, 1, 1).selectExpr("CAST(id AS int) AS value")
        before = rows.mapInArrow(sizes("before"), "value int")
        behind = before.repartition(1).mapInArrow(sizes("behind"), "value int")
        action = PlannedAction(before, behind, LABELS, bounded_rows=True)
    context = spark.sparkContext
    context.setLocalProperty(BYTES_PER_BATCH, "64b")
    try:
        action.run(before, 1)
        assert context.getLocalProperty(BYTES_PER_BATCH) == "64b"
    finally:
        context.setLocalProperty(BYTES_PER_BATCH, None)
    assert (tmp_path / "before").read_text().split() == ["1000"]
    assert len((tmp_path / "behind").read_text().split()) > 1


def test_a_failure_before_the_exchange_is_raised_as_it_is(spark: Any, tmp_path: Path) -> None:
    with query_settings(spark):
        rows = spark.range(3).selectExpr("raise_error('no such row') AS value")
        action = PlannedAction(rows, rows.repartition(2), LABELS, bounded_rows=True)
    with pytest.raises(Exception, match="no such row"):
        action.run(rows, 1)


def test_a_plan_in_which_the_rows_cannot_be_replaced_is_not_run(spark: Any, tmp_path: Path) -> None:
    """An adaptive plan hides them, and would run on those of the first micro-batch again."""
    batches = [spark.createDataFrame([(number,)], "value int") for number in (1, 2)]
    action = _action(batches[0], tmp_path)
    with pytest.raises(JobExecutionError, match="AdaptiveSparkPlan"):
        action.run(batches[1], 2)


def test_a_plan_of_one_micro_batch_runs_on_the_rows_of_the_next(spark: Any, tmp_path: Path) -> None:
    actions: list[PlannedAction] = []

    def run(batch: DataFrame, number: int) -> None:
        if not actions:
            actions.append(_action(batch, tmp_path))
        actions[0].run(batch, number)

    numbers = memory_stream(spark, 2)
    frame = DataFrame(numbers.toDF(), spark)
    writer = frame.writeStream.foreachBatch(run).option("checkpointLocation", str(tmp_path / "log"))
    with query_settings(spark):
        query = writer.start()
    try:
        for batch in ([1, 2], [3], [4, 5, 6]):
            numbers.addData(spark._jvm.PythonUtils.toSeq(batch))
            query.processAllAvailable()
    finally:
        query.stop()
    assert _seen(tmp_path) == [1, 2, 3, 4, 5, 6]
