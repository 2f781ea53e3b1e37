"""Plans that are made once and run in every epoch, on real Spark."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame

from rekindle.runtime.spark.planned_action import PlannedAction
from rekindle.runtime.spark.versions import memory_stream


class _WriteDown:
    """Write the numbers of a partition to a file, and give none."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        numbers = [str(number) for batch in batches for number in batch.column(0).to_pylist()]
        with (self.directory / "seen").open("a") as file:
            file.write("".join(f"{number}\n" for number in numbers))
        return iter(())


def _action(rows: DataFrame, directory: Path) -> PlannedAction:
    return PlannedAction(rows, rows.repartition(2, "value").mapInArrow(_WriteDown(directory), "value int"))


def _seen(directory: Path) -> list[int]:
    return sorted(map(int, (directory / "seen").read_text().split()))


def test_each_run_runs_all_stages_again(spark: Any, tmp_path: Path) -> None:
    rows = spark.range(3).selectExpr("CAST(id AS int) AS value")
    action = _action(rows, tmp_path)
    for _ in range(3):
        action.run(rows)
    assert _seen(tmp_path) == [0, 0, 0, 1, 1, 1, 2, 2, 2]


def test_a_plan_of_one_micro_batch_runs_on_the_rows_of_the_next(spark: Any, tmp_path: Path) -> None:
    actions: list[PlannedAction] = []

    def run(batch: DataFrame, number: int) -> None:
        if not actions:
            actions.append(_action(batch, tmp_path))
        actions[0].run(batch)

    numbers = memory_stream(spark, 2)
    frame = DataFrame(numbers.toDF(), spark)
    query = frame.writeStream.foreachBatch(run).option("checkpointLocation", str(tmp_path / "log")).start()
    try:
        for batch in ([1, 2], [3], [4, 5, 6]):
            numbers.addData(spark._jvm.PythonUtils.toSeq(batch))
            query.processAllAvailable()
    finally:
        query.stop()
    assert _seen(tmp_path) == [1, 2, 3, 4, 5, 6]
