"""A checkpoint storage that fails at its k-th operation, for every k: the output stays golden."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Any

import pytest

from rekindle.checkpoint.storage import LocalCheckpointFiles
from rekindle.datastream import FileSystemCheckpointStorage, JobManagerCheckpointStorage
from rekindle.exceptions import CheckpointCorruptError, CheckpointStorageError, JobExecutionError, StateRestoreError
from rekindle.testing import FaultInjectingCheckpointStorage, FaultKind
from support.balances import assert_exactly_once, environment, numbering_job

EVENTS = 4_000
OPERATIONS = 14  # three checkpoints: two snapshots, metadata, and the deletion of the one before


def run(cluster: Any, directory: Path, fail_at: int, kind: FaultKind) -> list[str]:
    """Run the job once with a fault; return the storage operations that took place."""
    directory.mkdir()
    storage = FaultInjectingCheckpointStorage(
        f"file://{directory}/checkpoints", str(directory / "operations"), fail_at, kind
    )
    env = environment(cluster, storage, interval=20, rekindle_history_max__jobs="0")  # it would be written in between
    numbering_job(env, EVENTS, str(directory / "out"))
    env.execute()
    return storage.operations()


def test_a_fault_at_any_storage_operation_of_a_checkpoint_changes_nothing(local_cluster: Any, tmp_path: Path) -> None:
    """Try the operations one by one: snapshots, metadata, clean-up of the first checkpoints, restores after faults."""
    dry = run(local_cluster, tmp_path / "dry", 0, FaultKind.ERROR_BEFORE)
    assert_exactly_once(EVENTS, str(tmp_path / "dry" / "out"))
    assert sum("_metadata" in line for line in dry) >= 2, dry
    tried = 0
    chosen = range(4, min(len(dry), OPERATIONS) + 1)  # 1 to 3 are the probe, before the job starts
    for k in chosen:
        kind = (FaultKind.ERROR_BEFORE, FaultKind.ERROR_AFTER)[k % 2]
        directory = tmp_path / f"k{k}"
        try:
            operations = run(local_cluster, directory, k, kind)
        except JobExecutionError as error:
            raise AssertionError(f"fault {kind} at operation {k} of {dry}") from error
        assert_exactly_once(EVENTS, str(directory / "out"))
        tried += len(operations) >= k
    assert tried >= len(chosen) - 2, "too few of the faults took place"


@pytest.mark.usefixtures("no_slots_left")
def test_a_slot_killed_while_it_writes_its_snapshot_changes_nothing(spark: Any, tmp_path: Path) -> None:
    first_of_the_second_checkpoint = 7
    operations = run(spark, tmp_path / "killed", first_of_the_second_checkpoint, FaultKind.KILL)
    assert [line.split()[0] for line in operations[:3]] == ["create", "open", "delete"]  # the probe
    assert [line.split()[0] for line in operations[3:7]] == ["write", "write", "create", "write"]
    assert_exactly_once(EVENTS, str(tmp_path / "killed" / "out"))


class BrokenStorage(FileSystemCheckpointStorage):
    """A storage whose files cannot be written, from the beginning or from the first snapshot on."""

    def __init__(self, path: str, code: int, probe_works: bool) -> None:
        super().__init__(path, file_state_size_threshold=0)
        self._code = code
        self._probe_works = probe_works

    def open_files(self) -> Any:
        return _BrokenFiles(self.get_checkpoint_path().removeprefix("file://"), self._code, self._probe_works)


class _BrokenFiles(LocalCheckpointFiles):
    def __init__(self, root: str, code: int, probe_works: bool) -> None:
        super().__init__(root)
        self._code = code
        self._probe_works = probe_works

    def create(self, path: str, data: bytes) -> None:
        if self._probe_works and "/_probe-" in path:
            super().create(path, data)
            return
        with self._explaining("create", path):
            raise OSError(self._code, os.strerror(self._code))

    def write(self, path: str, source: Any) -> int:
        with self._explaining("write", path):
            raise OSError(self._code, os.strerror(self._code))


def test_a_read_only_checkpoint_directory_is_reported_before_the_job_starts(local_cluster: Any, tmp_path: Path) -> None:
    env = environment(local_cluster, BrokenStorage(f"file://{tmp_path}/checkpoints", errno.EROFS, probe_works=False))
    numbering_job(env, EVENTS, str(tmp_path / "out"))
    with pytest.raises(CheckpointStorageError, match=r"Read-only file system\. Make the directory writable"):
        env.execute()


def test_a_checkpoint_directory_that_is_a_file_is_reported_before_the_job_starts(
    local_cluster: Any, tmp_path: Path
) -> None:
    (tmp_path / "checkpoints").write_text("in the way")
    env = environment(local_cluster, str(tmp_path / "checkpoints"))
    numbering_job(env, EVENTS, str(tmp_path / "out"))
    with pytest.raises(CheckpointStorageError, match="checkpoints"):
        env.execute()


def test_a_full_checkpoint_directory_fails_the_job_with_the_reason(local_cluster: Any, tmp_path: Path) -> None:
    storage = BrokenStorage(f"file://{tmp_path}/checkpoints", errno.ENOSPC, probe_works=True)
    env = environment(local_cluster, storage, restarts=1)
    numbering_job(env, EVENTS, str(tmp_path / "out"))
    with pytest.raises(JobExecutionError, match=r"No space left on device\. Free some space"):
        env.execute()


def test_a_tolerated_checkpoint_failure_does_not_restart_the_job(local_cluster: Any, tmp_path: Path) -> None:
    storage = FaultInjectingCheckpointStorage(f"file://{tmp_path}/checkpoints", str(tmp_path / "operations"), 4)
    env = environment(local_cluster, storage, restarts=0)
    env.get_checkpoint_config().set_tolerable_checkpoint_failure_number(1)
    numbering_job(env, EVENTS, str(tmp_path / "out"))
    env.execute()
    assert_exactly_once(EVENTS, str(tmp_path / "out"))
    assert len(storage.operations()) >= 4


def test_state_above_the_memory_limit_of_the_job_master_is_refused_with_advice(
    local_cluster: Any, tmp_path: Path
) -> None:
    env = environment(local_cluster, JobManagerCheckpointStorage(max_state_size=100), restarts=0)
    numbering_job(env, EVENTS, str(tmp_path / "out"))
    with pytest.raises(JobExecutionError, match=r"at most 100 of a slot\. Set a checkpoint directory"):
        env.execute()


def test_checkpoints_in_the_job_masters_memory_survive_a_failure(local_cluster: Any, tmp_path: Path) -> None:
    marker = tmp_path / "raised"

    def trouble(event: int, context: Any) -> None:
        if event == EVENTS - 10 and not marker.exists():
            marker.write_text("x")
            raise RuntimeError("this once")

    env = environment(local_cluster, JobManagerCheckpointStorage())
    numbering_job(env, EVENTS, str(tmp_path / "out"), trouble)
    env.execute()
    assert marker.exists()
    assert_exactly_once(EVENTS, str(tmp_path / "out"))


def test_a_half_written_checkpoint_is_not_restored(local_cluster: Any, tmp_path: Path) -> None:
    directory = tmp_path / "checkpoints" / "job" / "chk-7"
    directory.mkdir(parents=True)
    (directory / "slot-0-0").write_bytes(b"RKSN...")
    resume = {"execution_state__recovery_path": str(tmp_path / "checkpoints")}
    env = environment(local_cluster, None, **resume)
    numbering_job(env, EVENTS, str(tmp_path / "out"))
    with pytest.raises(StateRestoreError, match="there is no checkpoint at"):
        env.execute()
    (directory / "_metadata").write_bytes(b"RKMD\x01\x00")
    env = environment(local_cluster, None, **resume)
    numbering_job(env, EVENTS, str(tmp_path / "out"))
    with pytest.raises(CheckpointCorruptError, match=r"chk-7/_metadata cannot be read: it has only 6 bytes"):
        env.execute()
