"""Plans that are made once and run in every epoch, on real Spark."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame

from rekindle.exceptions import JobExecutionError
from rekindle.runtime.spark.planned_action import PlannedAction
from rekindle.runtime.spark.session import query_settings
from rekindle.runtime.spark.versions import memory_stream


def _action(rows: DataFrame, directory: Path) -> PlannedAction:
    """Write the numbers that come over an exchange to a file."""
    path = str(directory / "seen")

    def write_down(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        numbers = [number for batch in batches for number in batch.column(0).to_pylist()]
        with open(path, "a", encoding="utf-8") as file:
            file.write("".join(f"{number}\n" for number in numbers))
        return iter(())

    return PlannedAction(rows, rows.repartition(2, "value").mapInArrow(write_down, "value int"))


def _seen(directory: Path) -> list[int]:
    return sorted(map(int, (directory / "seen").read_text().split()))


def test_each_run_runs_all_stages_again(spark: Any, tmp_path: Path) -> None:
    rows = spark.range(3).selectExpr("CAST(id AS int) AS value")
    action = _action(rows, tmp_path)
    for _ in range(3):
        action.run(rows)
    assert _seen(tmp_path) == [0, 0, 0, 1, 1, 1, 2, 2, 2]


def test_a_plan_in_which_the_rows_cannot_be_replaced_is_not_run(spark: Any, tmp_path: Path) -> None:
    """An adaptive plan hides them, and would run on those of the first micro-batch again."""
    batches = [spark.createDataFrame([(number,)], "value int") for number in (1, 2)]
    action = _action(batches[0], tmp_path)
    with pytest.raises(JobExecutionError, match="AdaptiveSparkPlan"):
        action.run(batches[1])


def test_a_plan_of_one_micro_batch_runs_on_the_rows_of_the_next(spark: Any, tmp_path: Path) -> None:
    actions: list[PlannedAction] = []

    def run(batch: DataFrame, number: int) -> None:
        if not actions:
            actions.append(_action(batch, tmp_path))
        actions[0].run(batch)

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
