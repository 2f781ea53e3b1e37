"""What the pages for those who come from Structured Streaming show works: in this process, and on Spark."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rekindle import datastream, state_processor
from rekindle.common import JobClient, Row, WatermarkStrategy
from rekindle.datastream import DataStream, KeyedStream, StreamExecutionEnvironment, window
from rekindle.datastream.connectors import file_system, jdbc, kafka, tables
from support.in_process_job import InProcessJob, collect

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGE = (DOCS / "coming-from-structured-streaming.md").read_text()
BLOCKS = re.findall(r"^```python\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
MINUTE = 60_000
OWNERS = (
    datastream,
    window,
    tables,
    file_system,
    kafka,
    jdbc,
    state_processor,
    DataStream,
    KeyedStream,
    JobClient,
    StreamExecutionEnvironment,
    WatermarkStrategy,
    state_processor.SavepointWriter,
)
SPARKS = {"Row", "option"}  # names of Spark's


def block(part: str) -> str:
    (found,) = [block for block in BLOCKS if part in block]
    return found


def run(part: str, names: dict[str, Any]) -> dict[str, Any]:
    exec(compile(block(part), "coming-from-structured-streaming.md", "exec"), names)
    return names


def results(part: str, name: str, visits: list[Row]) -> list[Any]:
    """Return what a block makes of a stream of visits."""
    env = StreamExecutionEnvironment.get_execution_environment()
    names = run(part, {"visits": env.from_collection(visits)})
    collect(names[name])
    with InProcessJob(env) as job:
        return job.run_to_end()


def test_each_visit_is_let_through_once() -> None:
    ann, bob = Row(user="ann", page="/"), Row(user="bob", page="/")
    assert results("class FirstOnly", "distinct", [ann, bob, ann, bob, ann]) == [ann, bob]


def test_visits_are_counted_in_windows() -> None:
    visits = [Row(page=page, time=time * MINUTE) for page, time in [("/", 1), ("/a", 2), ("/", 4), ("/", 6), ("/", 3)]]
    assert sorted(results("class VisitTime", "per_page", visits)) == [("/", 1), ("/", 3), ("/a", 1)]


@pytest.fixture
def few_partitions(spark: Any) -> Iterator[None]:
    """Spare the query 200 state stores."""
    key = "spark.sql.shuffle.partitions"
    before = spark.conf.get(key)
    spark.conf.set(key, "2")
    yield
    spark.conf.set(key, before)


@pytest.mark.usefixtures("no_slots_left", "few_partitions")
def test_a_query_is_taken_over_with_its_state_and_its_position(spark: Any, tmp_path: Path) -> None:
    directories = ("visits", "old_checkpoint", "table", "new_table", "savepoint")
    names: dict[str, Any] = {"spark": spark, **{name: str(tmp_path / name) for name in directories}}

    def visit(*users: str) -> None:
        rows = spark.createDataFrame([(user, "/") for user in users], "user string, page string")
        rows.coalesce(1).write.mode("append").json(names["visits"])

    visit("ann", "bob", "ann")
    run('queryName("visits")', names)
    old = spark.read.parquet(names["table"]).select("user", "count").collect()
    assert {tuple(row) for row in old} == {("ann", 2), ("bob", 1)}
    visit("ann", "cid")
    for part in ("class Count", "SavepointWriter.new_savepoint", "execution.savepoint.path"):
        run(part, names)
    new = spark.read.parquet(names["new_table"]).select("user", "count").collect()
    assert sorted(map(tuple, new)) == [("ann", 3), ("cid", 1)]


def test_what_the_tables_name_is_there() -> None:
    cells = [line.split(" | ", 1)[1] for line in PAGE.splitlines() if line.startswith("| ") and " | " in line]
    spans = [span for cell in cells for span in re.findall(r"`([^`]+)`", cell)]
    calls = (re.fullmatch(r"(?:\w+ = )?(?:\w+\.)*(\w+)\(.*\)(?:\.\w+\(\))?", span) for span in spans)
    called = {match[1] for match in calls if match}
    classes = {span for span in spans if re.fullmatch(r"[A-Z]\w+[a-z]\w*", span)}
    assert len(called | classes) > 20
    known = {name for owner in OWNERS for name in dir(owner)}
    assert (called | classes) - known - SPARKS == set()
