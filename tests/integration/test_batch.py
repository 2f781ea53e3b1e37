"""Batch jobs: bounded DataFrames, failures and full replays, the choice of the mode."""

from __future__ import annotations

import os
import signal
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from rekindle.common import RestartStrategies
from rekindle.datastream import DataStream, RuntimeExecutionMode
from rekindle.datastream.connectors.base import Sink, SinkWriter, SinkWriterContext
from rekindle.exceptions import ConfigurationError, InvalidProgramError, JobExecutionError
from support.balances import assert_exactly_once, numbering_job
from support.balances import environment as numbering_environment
from support.processes import wait_until

pytestmark = pytest.mark.usefixtures("no_slots_left")

BATCH = RuntimeExecutionMode.BATCH
EVENTS = 8_000


def environment(cluster: Any, restarts: int = 3, mode: RuntimeExecutionMode = BATCH, **settings: str) -> Any:
    return numbering_environment(cluster, None, restarts=restarts, **settings).set_runtime_mode(mode)


class Once:
    """Do something once over all processes and attempts."""

    def __init__(self, marker: Path) -> None:
        self.marker = marker

    def __call__(self) -> bool:
        try:
            os.close(os.open(self.marker, os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            return False
        return True


def sums(env: Any, trouble: Any = None) -> DataStream:
    """Sum up numbers by key, after one function that may make trouble."""

    def passed(pair: Any) -> Any:
        if trouble is not None:
            trouble(pair)
        return pair

    numbers = env.from_collection([(n % 7, n) for n in range(1_000)])
    by_key = numbers.rebalance().map(lambda pair: pair).key_by(lambda pair: pair[0])
    return by_key.sum(1).key_by(lambda pair: pair[0]).map(passed)


SUMS = [(key, sum(range(key, 1_000, 7))) for key in range(7)]


def test_a_bounded_data_frame_runs_as_a_batch(spark: Any) -> None:
    env = environment(spark, rekindle_batch_memory__records="100")
    env.enable_checkpointing(10)  # without effect
    frame = spark.range(1_000).selectExpr("id", "id % 7 AS key")
    stream = env.from_data_frame(frame, "numbers").key_by(lambda row: row.key)
    largest = stream.reduce(lambda a, b: a if a.id > b.id else b).map(lambda row: (row.key, row.id))
    with largest.execute_and_collect() as found:
        assert sorted(found) == [(key, max(range(key, 1_000, 7))) for key in range(7)]


def test_user_code_that_raises_once_leads_to_one_full_replay(local_cluster: Any, tmp_path: Path) -> None:
    once = Once(tmp_path / "raised")

    def trouble(pair: Any) -> None:
        if pair[0] == 3 and once():
            raise RuntimeError("this once")

    with sums(environment(local_cluster), trouble).execute_and_collect() as found:
        assert sorted(found) == SUMS
    assert once.marker.exists()


def test_without_a_restart_strategy_a_batch_that_fails_has_failed(local_cluster: Any) -> None:
    env = environment(local_cluster)
    env.set_restart_strategy(RestartStrategies.no_restart())

    def trouble(pair: Any) -> None:
        raise RuntimeError("always")

    with pytest.raises(JobExecutionError, match="always"), sums(env, trouble).execute_and_collect() as found:
        list(found)


def test_files_of_a_batch_that_was_replayed_hold_each_record_once(local_cluster: Any, tmp_path: Path) -> None:
    once = Once(tmp_path / "raised")

    def trouble(event: int, context: Any) -> None:
        if event == EVENTS and once():
            raise RuntimeError("this once")

    env = environment(local_cluster, rekindle_batch_memory__records="500")
    numbering_job(env, EVENTS, str(tmp_path / "out"), trouble)
    env.execute()
    assert once.marker.exists()
    assert_exactly_once(EVENTS, str(tmp_path / "out"))


def test_a_batch_whose_slot_is_killed_is_replayed(spark: Any, tmp_path: Path) -> None:
    once = Once(tmp_path / "killed")

    def trouble(event: int, context: Any) -> None:
        if event == EVENTS // 2 and once():
            os.kill(os.getpid(), signal.SIGKILL)

    env = environment(spark)
    numbering_job(env, EVENTS, str(tmp_path / "out"), trouble)
    env.execute()
    assert once.marker.exists()
    assert_exactly_once(EVENTS, str(tmp_path / "out"))


class Files(Sink):
    """Write files, and kill the slot that is the first to commit, when it has."""

    def __init__(self, directory: Path, once: Once) -> None:
        self.directory = directory
        self.once = once

    def create_writer(self, context: SinkWriterContext) -> SinkWriter:
        return FilesWriter(self, context)


class FilesWriter(SinkWriter):
    def __init__(self, sink: Files, context: SinkWriterContext) -> None:
        self.sink = sink
        self.name = f"{context.subtask}-{context.attempt}"
        self.records: list[Any] = []

    def write(self, values: list[Any], timestamps: list[int | None] | None) -> None:
        self.records += values

    def prepare_commit(self, checkpoint_id: int) -> list[bytes]:
        text = "".join(f"{record}\n" for record in self.records)
        return [f"{self.name}\n{text}".encode()]

    def commit(self, committables: list[bytes]) -> None:
        for committable in committables:
            name, _, text = committable.decode().partition("\n")
            (self.sink.directory / name).write_text(text)
        if self.sink.once():
            os.kill(os.getpid(), signal.SIGKILL)

    def abort_leftovers(self) -> None:
        pass

    def close(self) -> None:
        pass


def test_a_batch_that_is_killed_while_it_commits_writes_each_record_once(spark: Any, tmp_path: Path) -> None:
    env = environment(spark)
    out = tmp_path / "out"
    out.mkdir()
    once = Once(tmp_path / "killed")
    env.from_collection(range(100)).rebalance().map(lambda n: n).sink_to(Files(out, once))
    env.execute()
    assert once.marker.exists()
    written = Counter(int(line) for path in out.iterdir() for line in path.read_text().splitlines())
    assert written == Counter(range(100))


def test_the_automatic_mode_is_batch_if_all_sources_are_bounded(local_cluster: Any) -> None:
    with sums(environment(local_cluster, mode=RuntimeExecutionMode.AUTOMATIC)).execute_and_collect() as found:
        assert sorted(found) == SUMS


def test_the_automatic_mode_is_streaming_if_a_source_may_never_end(spark: Any) -> None:
    env = environment(spark, mode=RuntimeExecutionMode.AUTOMATIC)
    ticks = spark.readStream.format("rate").option("rowsPerSecond", 1_000).load()
    stream = env.from_data_frame(ticks, "ticks").map(lambda row: (row.value % 2, 1)).key_by(lambda pair: pair[0])
    with stream.sum(1).execute_and_collect() as found:
        first = next(found)
        assert first[1] == 1  # a running sum, long before any end


def test_an_unbounded_source_is_refused_in_batch_mode(spark: Any) -> None:
    env = environment(spark)
    ticks = spark.readStream.format("rate").load()
    env.from_data_frame(ticks, "ticks").print()
    with pytest.raises(InvalidProgramError, match=r"'DataFrame ticks' may never end.*STREAMING or AUTOMATIC"):
        env.execute()


def test_a_batch_takes_no_savepoint(local_cluster: Any, tmp_path: Path) -> None:
    env = environment(local_cluster)
    gate = tmp_path / "gate"

    def waits(pair: Any) -> None:
        wait_until(gate.exists, "the test has seen what it wanted")

    sums(env, waits).print()
    client = env.execute_async()
    with pytest.raises(ConfigurationError, match="runs as a batch"):
        client.trigger_savepoint(str(tmp_path))
    gate.touch()
    client.get_job_execution_result().result()
