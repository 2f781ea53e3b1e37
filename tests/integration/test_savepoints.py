"""Savepoints of running jobs, on real Spark: the job goes on, and another one starts from them."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from rekindle.common import JobStatus
from rekindle.datastream import StreamExecutionEnvironment
from rekindle.datastream.state_backend import EmbeddedRocksDBStateBackend, HashMapStateBackend, StateBackend
from rekindle.exceptions import CheckpointError, ConfigurationError
from rekindle.runtime.master.client import LocalJobClient
from support.balances import assert_exactly_once, environment, judge, numbering_job, read_output
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
def test_a_job_goes_on_and_another_starts_from_its_savepoint(spark: Any, tmp_path: Path, backend: StateBackend) -> None:
    env = environment(spark, str(tmp_path / "checkpoints"), state_savepoints_dir=f"file://{tmp_path}/savepoints")
    env.set_state_backend(backend)
    client = started(env, tmp_path / "out")
    location = client.trigger_savepoint().result()
    assert location.startswith(f"file://{tmp_path}/savepoints/savepoint-{str(client.get_job_id())[:6]}-")
    client.get_job_execution_result().result()
    assert_exactly_once(EVENTS, str(tmp_path / "out"))
    assert not (tmp_path / "checkpoints").exists() or list((tmp_path / "checkpoints").iterdir()) == []

    moved = shutil.move(location.removeprefix("file://"), tmp_path / "moved")
    assert {path.name.split("-")[0] for path in Path(moved).iterdir()} == {"_metadata", "slot"}
    resume = {"execution_state__recovery_path": str(moved), "rekindle_epoch_max__records": str(EVENTS)}
    env = environment(spark, None, **resume)
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


def test_one_that_fails_says_why_leaves_nothing_and_the_job_goes_on(spark: Any, tmp_path: Path) -> None:
    env = environment(spark, str(tmp_path / "checkpoints"), restarts=0)
    client = started(env, tmp_path / "out")
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(CheckpointError, match=r"Savepoint \d+ failed: .*file/savepoint-"):
        client.trigger_savepoint(str(tmp_path / "file")).result()
    client.get_job_execution_result().result()
    assert_exactly_once(EVENTS, str(tmp_path / "out"))
    assert (tmp_path / "file").read_text() == "in the way"


def test_without_a_directory_it_raises_naming_the_setting(spark: Any, tmp_path: Path) -> None:
    env = environment(spark, None)
    env.from_collection([1]).print()
    client = env.execute_async("short")
    with pytest.raises(ConfigurationError, match=r"state\.savepoints\.dir"):
        client.trigger_savepoint()
    with pytest.raises(ConfigurationError, match="savepoint directory 'here' is relative"):
        client.trigger_savepoint("here")
    client.get_job_execution_result().result()
    with pytest.raises(CheckpointError, match="the job had ended"):
        client.trigger_savepoint(str(tmp_path)).result()
