"""Incremental checkpoints of whole jobs: what they share is there as long as needed, and no longer."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from rekindle.checkpoint.metadata import decode_metadata
from rekindle.datastream import ExternalizedCheckpointRetention, FileSystemCheckpointStorage
from rekindle.datastream.state_backend import EmbeddedRocksDBStateBackend, HashMapStateBackend, StateBackend
from support.balances import assert_exactly_once, environment, numbering_job, read_output
from support.left_behind import left_in
from support.paced_cluster import PacedCluster
from support.processes import wait_until

EVENTS = 30_000
BACKENDS = [HashMapStateBackend(), EmbeddedRocksDBStateBackend()]


def shared_files(job: Path) -> tuple[set[str], set[str]]:
    """Name the shared files that checkpoints refer to, and those that are there."""
    referred: set[str] = set()
    for metadata in job.glob("chk-*/_metadata"):
        decoded = decode_metadata(metadata.read_bytes(), str(metadata))
        referred |= {os.path.basename(file.path) for file in decoded.shared_files() if file.path is not None}
    return referred, {path.name for path in (job / "shared").glob("*")}


@pytest.mark.parametrize("backend", BACKENDS, ids=lambda backend: type(backend).__name__)
def test_a_killed_slot_changes_nothing_and_a_cancelled_job_keeps_what_its_checkpoints_share(
    local_cluster: PacedCluster, tmp_path: Path, backend: StateBackend
) -> None:
    checkpoints, out = tmp_path / "checkpoints", tmp_path / "out"
    storage = FileSystemCheckpointStorage(f"file://{checkpoints}", file_state_size_threshold=0)
    settings = {"state_backend_incremental": "true", "state_checkpoints_num__retained": "2"}
    env = environment(local_cluster, storage, **settings).set_state_backend(backend)
    retention = ExternalizedCheckpointRetention.RETAIN_ON_CANCELLATION
    env.get_checkpoint_config().set_externalized_checkpoint_retention(retention)
    numbering_job(env, EVENTS, str(out))
    master = env._submit("first", None)
    wait_until(lambda: len(list(checkpoints.glob("*/shared/*"))) > 2, "there are shared files")
    local_cluster.kill_slot(1)
    written = len(read_output(str(out)))
    wait_until(lambda: len(read_output(str(out))) > written, "the job is back")
    master.cancel()
    assert master.result.exception(60) is not None
    [job] = (checkpoints / name for name in left_in(checkpoints))
    referred, there = shared_files(job)
    assert referred == there
    assert referred

    before = {path: path.stat().st_mtime_ns for path in sorted(job.rglob("*")) if path.is_file()}
    settings |= {"execution_state__recovery_path": str(job), "rekindle_epoch_max__records": "5000"}
    env = environment(local_cluster, storage, **settings).set_state_backend(backend)
    numbering_job(env, EVENTS, str(out))
    env.execute("second")
    assert_exactly_once(EVENTS, str(out))
    assert left_in(checkpoints) == [job.name], "of the finished job nothing is left"
    assert {path: path.stat().st_mtime_ns for path in sorted(job.rglob("*")) if path.is_file()} == before
