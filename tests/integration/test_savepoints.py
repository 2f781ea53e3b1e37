"""Savepoints of running jobs: the job goes on, and another one starts from them."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rekindle.common import Encoder, JobStatus, Types
from rekindle.datastream import KeyedProcessFunction, RuntimeContext, StreamExecutionEnvironment
from rekindle.datastream.connectors.file_system import BucketAssigner, FileSink
from rekindle.datastream.state import ValueStateDescriptor
from rekindle.datastream.state_backend import EmbeddedRocksDBStateBackend, HashMapStateBackend, StateBackend
from rekindle.exceptions import CheckpointError, ConfigurationError
from rekindle.runtime.master.client import LocalJobClient
from rekindle.state_processor import SavepointReader
from support.balances import assert_exactly_once, environment, judge, numbering_job, read_output
from support.left_behind import left_in
from support.processes import wait_until

pytestmark = pytest.mark.usefixtures("no_slots_left")

EVENTS = 20_000


def started(env: StreamExecutionEnvironment, output: Path, count: int = EVENTS) -> LocalJobClient:
    """Start the numbering job and wait for its first output."""
    numbering_job(env, count, str(output))
    client = env.execute_async("numbering")
    assert isinstance(client, LocalJobClient)
    wait_until(lambda: output.exists() and bool(read_output(str(output))), "there is output")
    return client


BACKENDS = [HashMapStateBackend(), EmbeddedRocksDBStateBackend(True)]


@pytest.mark.parametrize("backend", BACKENDS, ids=lambda backend: type(backend).__name__)
def test_a_job_goes_on_and_another_starts_from_its_savepoint(
    local_cluster: Any, tmp_path: Path, backend: StateBackend
) -> None:
    goes_on_and_another_starts(local_cluster, tmp_path, backend)


@pytest.mark.smoke
def test_a_job_on_spark_goes_on_and_another_starts_from_its_savepoint(spark: Any, tmp_path: Path) -> None:
    goes_on_and_another_starts(spark, tmp_path, HashMapStateBackend())


def goes_on_and_another_starts(cluster: Any, tmp_path: Path, backend: StateBackend) -> None:
    env = environment(cluster, str(tmp_path / "checkpoints"), state_savepoints_dir=f"file://{tmp_path}/savepoints")
    env.set_state_backend(backend)
    client = started(env, tmp_path / "out")
    location = client.trigger_savepoint().result()
    assert location.startswith(f"file://{tmp_path}/savepoints/savepoint-{str(client.get_job_id())[:6]}-")
    client.get_job_execution_result().result()
    assert_exactly_once(EVENTS, str(tmp_path / "out"))
    assert not (tmp_path / "checkpoints").exists() or left_in(tmp_path / "checkpoints") == []

    moved = shutil.move(location.removeprefix("file://"), tmp_path / "moved")
    assert {path.name.split("-")[0] for path in Path(moved).iterdir()} == {"_metadata", "slot"}
    resume = {"execution_state__recovery_path": str(moved), "rekindle_epoch_max__records": str(EVENTS)}
    env = environment(cluster, None, **resume)
    env.set_parallelism(3).set_state_backend(HashMapStateBackend())
    numbering_job(env, EVENTS, str(tmp_path / "again"))
    env.execute()
    verdict = judge(EVENTS, str(tmp_path / "again"))
    assert verdict.wrong_sums == 0
    assert 0 < verdict.written < EVENTS, "it went on where the savepoint was taken"
    assert verdict.duplicated == 0


def test_an_idle_job_without_checkpoints_takes_one_at_once(spark: Any, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    env = environment(spark, None)
    rows = env.from_data_frame(spark.readStream.text(str(tmp_path / "in")), uid="lines")
    rows.key_by(lambda row: row.value).map(lambda row: row.value).print()
    client = env.execute_async("idle")
    futures = [client.trigger_savepoint(str(tmp_path / "savepoints")) for _ in range(2)]
    locations = [future.result() for future in futures]
    assert len(set(locations)) == 2
    assert all((Path(location) / "_metadata").exists() for location in locations)
    assert client.get_job_status().result() is JobStatus.RUNNING
    client.cancel().result()
    assert all((Path(location) / "_metadata").exists() for location in locations)


def test_one_that_fails_says_why_leaves_nothing_and_the_job_goes_on(local_cluster: Any, tmp_path: Path) -> None:
    env = environment(local_cluster, str(tmp_path / "checkpoints"), restarts=0)
    client = started(env, tmp_path / "out")
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(CheckpointError, match=r"Savepoint \d+ failed: .*file/savepoint-"):
        client.trigger_savepoint(str(tmp_path / "file")).result()
    client.get_job_execution_result().result()
    assert_exactly_once(EVENTS, str(tmp_path / "out"))
    assert (tmp_path / "file").read_text() == "in the way"


def test_without_a_directory_it_raises_naming_the_setting(local_cluster: Any, tmp_path: Path) -> None:
    env = environment(local_cluster, None)
    env.from_collection([1]).print()
    client = env.execute_async("short")
    with pytest.raises(ConfigurationError, match=r"state\.savepoints\.dir"):
        client.trigger_savepoint()
    with pytest.raises(ConfigurationError, match="savepoint directory 'here' is relative"):
        client.trigger_savepoint("here")
    client.get_job_execution_result().result()
    with pytest.raises(CheckpointError, match="the job had ended"):
        client.trigger_savepoint(str(tmp_path)).result()


class Counting(KeyedProcessFunction):
    """Count the lines alike; event time tells how many at its end."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self._count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value: Any, ctx: Any) -> Iterator[str]:
        self._count.update((self._count.value() or 0) + 1)
        ctx.timer_service().register_event_time_timer(1 << 60)
        yield f"line {value.value}"

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[str]:
        yield f"{ctx.get_current_key()} {self._count.value()}"


def counting_job(env: StreamExecutionEnvironment, spark: Any, lines: Path, output: Path, bounded: bool) -> None:
    rows = env.from_data_frame(spark.readStream.text(str(lines)), uid="lines", bounded=bounded)
    sink = FileSink.for_row_format(str(output), Encoder.simple_string_encoder())
    sink = sink.with_bucket_assigner(BucketAssigner.base_path_bucket_assigner())
    counted = rows.key_by(lambda row: row.value).process(Counting(), Types.STRING()).uid("count")
    hosted = env.from_collection(["hosted"]).uid("hosted").map(lambda word: f"line {word}", Types.STRING())
    counted.union(hosted).sink_to(sink.build()).uid("sink")


def test_drained_sources_of_sparks_end_where_they_stand_and_go_on_from_there(spark: Any, tmp_path: Path) -> None:
    lines, output = tmp_path / "in", tmp_path / "out"
    lines.mkdir()
    (lines / "a").write_text("x\ny\nx\n")
    env = environment(spark, str(tmp_path / "checkpoints"))
    counting_job(env, spark, lines, output, bounded=False)
    master = env._submit("lines", None)
    wait_until(lambda: output.exists() and "line y" in read_output(str(output)), "the first file is read", 120)
    (lines / "b").write_text("y\nz\n")  # may come before the drain, or while it is under way
    location = master.stop_with_savepoint(str(tmp_path), True).result(180)
    assert master.status is JobStatus.FINISHED
    drained = read_output(str(output))
    assert {"x 2", "line hosted"} <= set(drained), "event time has ended"
    before = "line z" in drained
    assert ("z 1" in drained) is before
    assert ("y 2" in drained) is before
    counts = SavepointReader.read(spark, location).keyed_state("count", "count")
    assert counts.schema.simpleString() == "struct<key:string,value:bigint>", "as the DataFrame's schema says"
    assert ("x", 2) in counts.collect()
    env = environment(spark, None, execution_state__recovery_path=location)
    counting_job(env, spark, lines, output, bounded=True)
    env._submit("lines", None).result.result(180)
    told = sorted(line for line in read_output(str(output)) if line.startswith("line"))
    assert told == ["line hosted", "line x", "line x", "line y", "line y", "line z"]
    rest = Counter(read_output(str(output))) - Counter(drained) - Counter(told)
    assert rest == ({} if before else {"y 2": 1, "z 1": 1}), "the state of the drained job is there"
