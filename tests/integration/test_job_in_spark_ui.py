"""A job is recognised in Spark: its query, its Spark jobs, its stages and its SQL executions have names."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from py4j.protocol import Py4JJavaError

from rekindle.common import Types
from rekindle.datastream import DataStream, MapFunction, StreamExecutionEnvironment
from support.balances import environment
from support.driver import driver
from support.processes import wait_until

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("no_slots_left")]


class Held(MapFunction):
    """Hold up the epoch until there is a file."""

    def __init__(self, path: Path) -> None:
        self._path = str(path)

    def map(self, value: Any) -> Any:
        wait_until(lambda: os.path.exists(self._path), "the test has looked", timeout=300)
        return value


RECENT = 100  # Spark keeps a thousand, of all tests in its session


def items(sequence: Any) -> Iterator[Any]:
    return (sequence.apply(index) for index in range(min(sequence.size(), RECENT)))


def jobs(spark: Any, name: str) -> dict[str, Any]:
    """Return what Spark knows of the jobs that are described by a name, the UI's own data, by description."""
    found = items(spark.sparkContext._jsc.sc().statusStore().jobsList(None))  # the newest first
    described = {job.description().get(): job for job in found if job.description().isDefined()}
    return {text: job for text, job in described.items() if text.startswith(name)}


def stages(spark: Any, job: Any) -> set[str]:
    """Return the names of the stages of a job; those that it found done already Spark may have forgotten."""
    store = spark.sparkContext._jsc.sc().statusStore()
    found = set()
    for stage in items(job.stageIds()):
        try:
            found.add(store.lastStageAttempt(stage).name())
        except Py4JJavaError as error:
            if "NoSuchElementException" not in str(error.java_exception):
                raise
    return found


def executions(spark: Any) -> list[str]:
    store = spark._jsparkSession.sharedState().statusStore()
    found = store.executionsList(max(0, store.executionsCount() - RECENT), RECENT)
    return [execution.description() for execution in items(found)]


def polled(env: StreamExecutionEnvironment, spark: Any, directory: Path) -> DataStream:
    """Return a stream that slots read."""
    return env.from_collection(list(range(10)))


def read_by_spark(env: StreamExecutionEnvironment, spark: Any, directory: Path) -> DataStream:
    """Return a stream that Spark reads, in rows of a fixed width: the first level is a Spark job of its own."""
    path = str(directory / "rows")
    spark.range(10).write.parquet(path)
    return env.from_data_frame(spark.readStream.schema("id long").parquet(path), uid="rows", bounded=True)


@pytest.mark.parametrize(
    ("source", "parts", "last"),
    [
        (polled, ["epoch 1, levels 0 to 1"], "epoch 1, levels 0 to 1"),
        (read_by_spark, ["epoch 1, level 0", "epoch 1, level 1"], "epoch 1, level 1"),
    ],
)
def test_a_running_epoch_says_whose_it_is_and_what_it_does(
    spark: Any, tmp_path: Path, source: Any, parts: list[str], last: str
) -> None:
    name, go_on = f"orders {source.__name__}", tmp_path / "go on"
    env = environment(spark, None)
    stream = source(env, spark, tmp_path)
    stream.key_by(lambda value: str(value)).map(Held(go_on)).name("held").print().name("out")
    client = env.execute_async(name)
    label = f"{name}: {last}"
    try:
        wait_until(lambda: label in jobs(spark, name), "the epoch runs")
        running = jobs(spark, name)[label]
        group = running.jobGroup().get()
        assert running.status().toString() == "RUNNING"
        assert running.jobId() in spark.sparkContext.statusTracker().getJobIdsForGroup(group)
        queries = [query.name for query in spark.streams.active if str(query.runId) == group]
        assert queries == ([name] if source is read_by_spark else [])
    finally:
        go_on.touch()
        client.get_job_execution_result().result()
    known = jobs(spark, name)
    assert {f"{name}: start of 2 slots, attempt 1", *(f"{name}: {part}" for part in parts)} <= set(known)
    names = set().union(*(stages(spark, known[f"{name}: {part}"]) for part in parts))
    assert any(re.fullmatch(r"level 1: held, out", stage) for stage in names), names
    assert any(re.match(r"level 0: ", stage) for stage in names), names
    assert any(text.split("\n")[0] == f"{name}: start of 2 slots, attempt 1" for text in executions(spark))
    if source is read_by_spark:
        assert any(re.match(rf"{name}\n(.*\n)*batch = 1", text) for text in executions(spark))


def test_two_jobs_of_one_name_run_in_one_session(spark: Any, tmp_path: Path) -> None:
    """Spark refuses a second query of a name."""
    go_on, clients = tmp_path / "go on", []
    for number in (1, 2):
        directory = tmp_path / str(number)
        env = environment(spark, None)
        rows = read_by_spark(env, spark, directory)
        rows.key_by(lambda row: row.id).map(Held(go_on)).print()
        clients.append(env.execute_async("twins"))
    try:
        twins = {"twins", "twins (2)"}
        wait_until(lambda: {query.name for query in spark.streams.active} == twins, "both run")
    finally:
        go_on.touch()
        for client in clients:
            client.get_job_execution_result().result()


def test_what_writes_rows_into_a_table_says_whose_they_are(spark: Any) -> None:
    env = environment(spark, None)
    env.from_collection([1, 2], Types.LONG()).sink_to_data_frame(lambda frame: frame.collect(), "number bigint")
    env.execute("numbers")
    assert "numbers: rows for a table" in jobs(spark, "numbers")


def test_a_session_with_a_ui_keeps_it_and_the_ui_shows_the_job() -> None:
    with driver("with_ui.py") as running:
        assert running.wait() == 0, running.output()
        (line,) = re.findall(r"^SHOWN (.*)$", running.output(), re.MULTILINE)
        running.assert_nothing_is_left()
    shown = json.loads(line)
    assert "shown in Spark's UI: epoch 1, levels 0 to 1" in shown["jobs"]
    assert "level 1: upper, Print to Std. Out" in shown["stages"]
