"""Spark tables as the end of a stream, on Spark: processes are killed in the middle, and a batch reads the table."""

from __future__ import annotations

import os
import random
import signal
import threading
from pathlib import Path
from typing import Any

import pytest

from rekindle.common import Row, Types
from rekindle.datastream.connectors.tables import TableCommit, directory_writer
from rekindle.exceptions import InvalidProgramError, JobExecutionError
from support.balances import environment
from support.driver import driver
from support.table_jobs import golden, placed

pytestmark = pytest.mark.usefixtures("no_slots_left")

COUNT = 40_000
EVERY_TYPE = {
    "boolean": "id = 1",
    "byte": "cast(-128 as tinyint)",
    "short": "cast(32767 as smallint)",
    "int": "cast(id as int)",
    "long": "9223372036854775807 - id",
    "float": "float(0.1)",
    "double": "if(id = 1, 1e300, -0.1d)",
    "nan": "double('NaN')",
    "decimal": "cast('12345678901234567890123456789.012345678' as decimal(38, 9))",
    "string": r"concat('\"quoted\" é \n\t\\ 漢 🔥 ', id)",
    "binary": "X'00FF0A'",
    "date": "date'0001-01-01'",
    "timestamp": "timestamp'1850-06-01 12:00:00.000001'",
    "timestamp_ntz": "timestamp_ntz'9999-12-31 23:59:59.999999'",
    "array": "array(1, null, cast(id as int))",
    "map": "map('a', named_struct('n', id), 'b', null)",
    "struct": "named_struct('x', date'2020-02-29', 'deep', array(named_struct('y', X'00')))",
    "null_struct": "if(id < 0, named_struct('x', 1), null)",
}


def rows_of(frame: Any) -> list[tuple[int, int]]:
    return sorted((row.number, row.place) for row in frame.select("number", "place").collect())


def test_rows_of_every_type_come_back_as_they_went_in(spark: Any) -> None:
    written = spark.range(5).selectExpr(*(f"{expression} as `{name}`" for name, expression in EVERY_TYPE.items()))
    env = environment(spark, None, restarts=1)
    result = env.from_data_frame(written, uid="rows").map(lambda row: row).to_data_frame(written.schema)
    assert result.schema.simpleString() == written.schema.simpleString()
    assert sorted(map(str, result.collect())) == sorted(map(str, written.collect()))


def test_a_killed_slot_leaves_each_row_in_the_table_once(spark: Any, tmp_path: Path) -> None:
    env = environment(spark, str(tmp_path / "checkpoints"))
    commits: list[TableCommit] = []
    write = directory_writer(str(tmp_path / "table"))
    seed = random.randrange(1 << 30)
    print("seed:", seed)
    rng = random.Random(seed)
    killed = threading.Event()

    def writing(frame: Any, commit: TableCommit) -> None:
        if len(commits) in (1, 2):  # once in the middle of a commit, and once before it
            pids = sorted(client._master._attempt.slot_pids().values())
            if pids:
                os.kill(rng.choice(pids), signal.SIGKILL)
                killed.set()
        commits.append(commit)
        write(frame, commit)

    placed(env, COUNT).sink_to_data_frame(writing, "number bigint, place bigint")
    client: Any = env.execute_async()
    client.get_job_execution_result().result(240)
    assert killed.is_set()
    assert rows_of(spark.read.parquet(str(tmp_path / "table"))) == golden(COUNT)
    assert len(commits) > 3
    assert not (tmp_path / "checkpoints" / str(client.get_job_id())).exists(), "rows and markers are gone"


@pytest.mark.parametrize("step", ["before", "after"])
def test_a_killed_driver_is_resumed_and_each_row_is_in_the_table_once(spark: Any, tmp_path: Path, step: str) -> None:
    with driver("ha_table.py", str(COUNT), str(tmp_path), step) as first:
        assert first.wait() == -signal.SIGKILL, first.output()
    assert (tmp_path / "killed").exists()
    with driver("ha_table.py", str(COUNT), str(tmp_path), step) as second:
        assert second.wait() == 0, second.output()
    assert rows_of(spark.read.parquet(str(tmp_path / "table"))) == golden(COUNT)
    appended = rows_of(spark.read.parquet(str(tmp_path / "appended")))
    assert set(appended) == set(golden(COUNT))
    if step == "after":
        assert len(appended) > COUNT, "an append is repeated: the driver was killed where it matters"
    else:
        assert len(appended) == COUNT
    assert "repeated" in (tmp_path / "commits").read_text()


def test_a_schema_that_cannot_be_is_refused_at_once(spark: Any) -> None:
    stream = environment(spark, None, restarts=1).from_collection([1])
    with pytest.raises(InvalidProgramError, match="does not know the columns of the table: records may be anything"):
        stream.sink_to_data_frame(print)
    with pytest.raises(InvalidProgramError, match=r"(?s)cannot read schema .*PARSE_SYNTAX_ERROR"):
        stream.sink_to_data_frame(print, "number bigint place")
    with pytest.raises(InvalidProgramError, match=r"column 'age': values of type interval .* cannot be staged"):
        stream.sink_to_data_frame(print, "age interval day to second")
    with pytest.raises(TypeError, match="takes a schema as a StructType, or as a string"):
        stream.sink_to_data_frame(print, ["number"])  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"takes a function write\(frame, commit\) or write\(frame\)"):
        stream.sink_to_data_frame(lambda: None, "number bigint")  # type: ignore[arg-type, misc]


def test_what_the_writer_raises_names_the_sink(spark: Any) -> None:
    env = environment(spark, None, restarts=0)
    stream = env.from_collection([Row(number=1)], Types.ROW_NAMED(["number"], [Types.LONG()]))
    stream.sink_to_data_frame(lambda frame: frame.select("nmber").collect(), name="misspelt").uid("table")
    with pytest.raises(JobExecutionError, match=r"UNRESOLVED_COLUMN(.|\n)*in operator 'misspelt' \(uid table\)"):
        env.execute()


def test_to_data_frame_is_for_programs_that_end(spark: Any) -> None:
    env = environment(spark, None, restarts=1)
    ticks = env.from_data_frame(spark.readStream.format("rate").load(), uid="ticks")
    with pytest.raises(InvalidProgramError, match=r"'DataFrame ticks' may never end: use sink_to_data_frame\(write\)"):
        ticks.map(lambda row: row.value, Types.LONG()).to_data_frame()


def test_a_result_can_be_read_again_and_joined(spark: Any) -> None:
    env = environment(spark, None, restarts=1)
    numbers = env.from_data_frame(spark.range(100), uid="numbers")
    result = numbers.map(lambda row: row.id * 2, Types.LONG()).to_data_frame("double bigint")
    assert result.count() == 100
    assert result.join(spark.range(200).withColumnRenamed("id", "double"), "double").count() == 100
    empty = numbers.filter(lambda row: row.id < 0).map(lambda row: row.id, Types.LONG()).to_data_frame()
    assert (empty.count(), empty.columns) == (0, ["value"])
