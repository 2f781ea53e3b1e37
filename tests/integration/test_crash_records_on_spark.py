"""Crash records of real slots, processes that Spark starts: of state in RocksDB, and of records by columns."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rekindle.checkpoint.crash_records import CrashSummary, crash_records
from rekindle.datastream import DataStream
from rekindle.exceptions import JobExecutionError
from support import crash_programs
from support.balances import environment
from support.command_line import rekindle

pytestmark = pytest.mark.usefixtures("no_slots_left")


def crashed(env: Any, stream: DataStream, directory: Path) -> tuple[str, CrashSummary]:
    stream.print()
    with pytest.raises(JobExecutionError):
        env.execute("crashing")
    (stored,) = crash_records(str(directory))
    assert stored.summary is not None
    return stored.path, stored.summary


def test_a_process_without_spark_raises_what_a_slot_raised(spark: Any, tmp_path: Path) -> None:
    env = environment(spark, str(tmp_path), restarts=1, state_backend_type="rocksdb")
    stream = crash_programs.PROGRAMS["window"](env.from_collection(crash_programs.RECORDS))
    path, summary = crashed(env, stream, tmp_path)
    assert (summary.attempt, summary.state) == (1, "before")
    ended = rekindle("reproduce", path, "--json", cwd=tmp_path)
    assert (ended.code, ended.err) == (0, "")
    document = ended.json()
    assert document["outcome"] == "same"
    assert document["message"] == summary.message


BY_COLUMNS: dict[str, tuple[Callable[[DataStream], DataStream], str]] = {
    "map": (
        lambda rows: (
            rows.map(lambda row: (row.key, 100 // row.value))
            .key_by(lambda pair: pair[0])
            .reduce(lambda a, b: (a[0], a[1] + b[1]))
        ),
        "Row(id=50, key=2, value=0)",
    ),
    "reduce": (
        lambda rows: (
            rows.map(lambda row: (row.key, row.value))
            .key_by(lambda pair: pair[0])
            .reduce(lambda a, b: (a[0], a[1] // b[1]))
        ),
        "(2, 0)",
    ),
}


@pytest.mark.parametrize("name", BY_COLUMNS)
def test_where_columns_fail_the_function_raises_and_has_a_record(spark: Any, tmp_path: Path, name: str) -> None:
    env = environment(spark, str(tmp_path), restarts=1)
    program, record = BY_COLUMNS[name]
    rows = spark.range(100).selectExpr("id", "id % 3 as key", "id - 50 as value")
    stream = program(env.from_data_frame(rows, uid="rows"))
    paths = {node["type"]: node["path"] for node in json.loads(env.get_execution_plan())["nodes"]}
    assert paths["Map"] == "columns"
    path, summary = crashed(env, stream, tmp_path)
    assert summary.record == record
    assert summary.exception == "builtins.ZeroDivisionError"
    ended = rekindle("reproduce", path, cwd=tmp_path)
    assert (ended.code, ended.out.splitlines()[-1]) == (0, "same exception")
