"""A job whose DataFrame runs by columns, on Spark, and whose slots are killed; its output is golden, and so without."""

from __future__ import annotations

import os
import random
import signal
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from rekindle.datastream import DataStream
from support.balances import environment, read_output
from support.column_jobs import assert_golden, job, tables
from support.processes import wait_until
from support.seeds import SEED


@pytest.mark.parametrize("columns", ["true", "false"], ids=["columns", "records"])
def test_killed_slots_lose_nothing(spark: Any, tmp_path: Path, columns: str) -> None:
    given = tables(random.Random(SEED))[:12]
    (tmp_path / "in").mkdir()
    for number, table in enumerate(given):
        pq.write_table(table, tmp_path / "in" / f"{number:03}.parquet")
        os.utime(tmp_path / "in" / f"{number:03}.parquet", (number, number))
    out = tmp_path / "out"
    env = environment(spark, str(tmp_path / "checkpoints"), rekindle_columns_enabled=columns)

    def rows_of(uid: str) -> DataStream:
        read = spark.readStream.schema("k long, price long, amount int, t long").option("maxFilesPerTrigger", 1)
        return env.from_data_frame(read.parquet(str(tmp_path / "in")), uid, bounded=True)

    job(rows_of, out)
    plan = env.get_execution_plan()
    assert ('"path": "columns, folded before the exchange"' in plan) == (columns == "true")
    master = env._submit("killed by columns", None)
    wait_until(lambda: master.result.done() or len(read_output(str(out / "totals"))) > 0, "output is committed")
    assert not master.result.done(), "the job was over too early: the test proves nothing"
    os.kill(master.slot_pids()[1], signal.SIGKILL)
    master.result.result(120)
    assert_golden(given, out)
