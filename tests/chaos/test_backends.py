"""Backends: killed slots, failing storage, rescaling, savepoints in another backend; the output is golden."""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rekindle.common import JobStatus
from rekindle.datastream.externalized_checkpoint_retention import ExternalizedCheckpointRetention
from rekindle.exceptions import JobExecutionError, StateRestoreError
from rekindle.runtime.master.job_master import JobMaster
from rekindle.testing import FaultInjectingCheckpointStorage, FaultKind
from support.balances import assert_exactly_once, environment, numbering_job, read_output
from support.left_behind import left_in
from support.paced_cluster import PacedCluster
from support.processes import wait_until
from support.seeds import seeded

ROCKSDB = {"state_backend": "rocksdb"}
INCREMENTAL = {"state_backend_incremental": "true"}
LOCAL = {"state_backend_local__recovery": "true"}


def committed(directory: Path) -> int:
    return len(read_output(str(directory))) if directory.exists() else 0


def wait_for_output(master: Any, directory: Path, more_than: int) -> None:
    wait_until(lambda: master.result.done() or committed(directory) > more_than, "more output is committed")
    assert not master.result.done(), "the job was over too early: the test proves nothing"


def killed_twice(cluster: Any, tmp_path: Path, settings: dict[str, str], kill: Callable[[JobMaster], None]) -> None:
    """Kill a slot of a job whose state is recovered locally, and another one later."""
    count, out, local = 24_000, tmp_path / "out", tmp_path / "local"
    local.mkdir()
    roots = {"taskmanager_state_local_root__dirs": str(local)}
    env = environment(cluster, str(tmp_path / "checkpoints"), **settings, **INCREMENTAL, **LOCAL, **roots)
    numbering_job(env, count, str(out))
    master = env._submit("killed", None)
    for _ in range(2):
        wait_for_output(master, out, committed(out))
        kill(master)
    master.result.result(300)
    assert_exactly_once(count, str(out))
    assert list(local.iterdir()) == []
    assert left_in(tmp_path / "checkpoints") == []


@pytest.mark.parametrize("settings", [{}, ROCKSDB], ids=["heap", "RocksDB"])
def test_killed_slots_that_recover_locally_lose_nothing(
    local_cluster: PacedCluster, tmp_path: Path, settings: dict[str, str]
) -> None:
    rng = seeded()
    killed_twice(local_cluster, tmp_path, settings, lambda master: local_cluster.kill_one(rng))


@pytest.mark.usefixtures("no_slots_left")
def test_slots_killed_with_sigkill_that_recover_locally_lose_nothing(spark: Any, tmp_path: Path) -> None:
    rng = seeded()

    def kill(master: JobMaster) -> None:
        wait_until(lambda: len(master.slot_pids()) == 2, "both slots run")
        victim = rng.choice(sorted(master.slot_pids().values()))
        os.kill(victim, signal.SIGKILL)
        wait_until(lambda: victim not in master.slot_pids().values(), "the loss is noticed")

    killed_twice(spark, tmp_path, ROCKSDB, kill)


@pytest.mark.parametrize("settings", [INCREMENTAL, ROCKSDB | INCREMENTAL], ids=["heap", "RocksDB"])
def test_a_fault_of_the_storage_of_incremental_checkpoints_changes_nothing(
    local_cluster: Any, tmp_path: Path, settings: dict[str, str]
) -> None:
    events = 3_000

    def run(name: str, fail_at: int, kind: FaultKind) -> list[str]:
        directory = tmp_path / name
        directory.mkdir()
        storage = FaultInjectingCheckpointStorage(
            f"file://{directory}/checkpoints", str(directory / "operations"), fail_at, kind
        )
        env = environment(local_cluster, storage, interval=20, **settings)
        numbering_job(env, events, str(directory / "out"))
        env.execute()
        assert_exactly_once(events, str(directory / "out"))
        return storage.operations()

    dry = run("dry", 0, FaultKind.ERROR_BEFORE)
    assert any("shared" in line for line in dry), dry
    rng = seeded()
    for k in rng.sample(range(4, len(dry)), 3):  # after the probe
        kind = rng.choice([FaultKind.ERROR_BEFORE, FaultKind.ERROR_AFTER])
        try:
            run(f"k{k}", k, kind)
        except JobExecutionError as error:
            raise AssertionError(f"fault {kind} at operation {k} of {dry}") from error


@pytest.mark.parametrize("settings", [{}, ROCKSDB | INCREMENTAL], ids=["heap", "RocksDB, incremental"])
def test_rescaling_up_and_down_loses_nothing(local_cluster: Any, tmp_path: Path, settings: dict[str, str]) -> None:
    count, out = 60_000, tmp_path / "out"
    checkpoints = tmp_path / "checkpoints"
    steps = (1, 2, 4, 3, 1)
    for number, parallelism in enumerate(steps):
        restore = {} if number == 0 else {"execution_state__recovery_path": str(checkpoints)}
        last = number == len(steps) - 1
        restore["rekindle_epoch_max__records"] = str(count if last else 1_500)
        env = environment(local_cluster, str(checkpoints), **settings, **restore)
        env.set_parallelism(parallelism)
        config = env.get_checkpoint_config()
        config.set_externalized_checkpoint_retention(ExternalizedCheckpointRetention.RETAIN_ON_CANCELLATION)
        numbering_job(env, count, str(out))
        if last:
            env.execute()
            break
        master = env._submit(f"step {number}", None)
        wait_for_output(master, out, committed(out))
        wait_for_output(master, out, committed(out))
        master.cancel()
        wait_until(master.result.done, "the job is cancelled")
        assert master.status is JobStatus.CANCELED
    assert_exactly_once(count, str(out))


def test_more_subtasks_than_key_groups_are_refused_with_both_numbers(local_cluster: Any, tmp_path: Path) -> None:
    env = environment(local_cluster, str(tmp_path / "checkpoints"))
    config = env.get_checkpoint_config()
    config.set_externalized_checkpoint_retention(ExternalizedCheckpointRetention.RETAIN_ON_CANCELLATION)
    env.set_max_parallelism(2)
    numbering_job(env, 60_000, str(tmp_path / "out"))
    master = env._submit("narrow", None)
    wait_for_output(master, tmp_path / "out", 0)
    master.cancel()
    wait_until(master.result.done, "the job is cancelled")
    env = environment(local_cluster, None, execution_state__recovery_path=str(tmp_path / "checkpoints"))
    env.set_parallelism(3)
    numbering_job(env, 60_000, str(tmp_path / "out"))
    with pytest.raises(StateRestoreError, match=r"parallelism 3.*max parallelism 2"):
        env.execute()


@pytest.mark.parametrize(
    ("before", "after"),
    [({}, ROCKSDB | {"rekindle_rocksdb_cache_entries": "0"}), (ROCKSDB | INCREMENTAL, {})],
    ids=["heap to RocksDB", "RocksDB to heap"],
)
def test_a_savepoint_moves_to_another_backend_and_another_directory(
    local_cluster: Any, tmp_path: Path, before: dict[str, str], after: dict[str, str]
) -> None:
    count, out, reached = 12_000, str(tmp_path / "out"), tmp_path / "reached"

    def note(event: int, context: Any) -> None:
        if event == 3_000:
            reached.touch()

    # No checkpoint completes by itself: what is committed is what the savepoint holds.
    env = environment(local_cluster, str(tmp_path / "checkpoints"), interval=600_000, **before)
    numbering_job(env, count, out, note)
    client = env.execute_async("before")
    wait_until(reached.exists, "there is some state")
    written = Path(client.trigger_savepoint(str(tmp_path / "savepoints")).result().removeprefix("file://"))
    client.cancel().result()
    assert not any(name.startswith("part") for name in os.listdir(out)), "a savepoint in passing commits nothing"
    moved = tmp_path / "elsewhere" / "moved"
    moved.parent.mkdir()
    shutil.move(written, moved)

    resume = {"execution_state__recovery_path": str(moved), "rekindle_epoch_max__records": str(count)}
    env = environment(local_cluster, str(tmp_path / "more"), **after, **resume)
    env.set_parallelism(3)
    numbering_job(env, count, out)
    env.execute()
    assert_exactly_once(count, out)
    assert (moved / "_metadata").exists(), "a savepoint is the user's to delete"
