"""Local recovery: a slot that comes back on its machine reads its own copy, if that is good."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any, ClassVar

import pytest

from rekindle.checkpoint.storage import LocalCheckpointFiles
from rekindle.checkpoint.stored_checkpoint import StoredCheckpoint
from rekindle.runtime.slot.local_directory import LocalDirectory
from rekindle.state.backend_settings import BackendSettings
from rekindle.state.rocksdb.settings import RocksDBSettings
from runtime.slot.test_incremental_snapshots import contents, feed, remembering, stored_as_completed
from support.in_process_job import InProcessJob

BACKENDS = pytest.mark.parametrize("rocksdb", [None, RocksDBSettings()], ids=["heap", "rocksdb"])


class CountedFiles(LocalCheckpointFiles):
    """Count what is read from the checkpoint storage."""

    opened: ClassVar[list[str]] = []

    def open(self, path: str) -> Any:
        self.opened.append(path)
        return super().open(path)


@pytest.fixture
def files(tmp_path: Path) -> CountedFiles:
    CountedFiles.opened.clear()
    return CountedFiles(str(tmp_path / "remote"))


def settings(tmp_path: Path, rocksdb: RocksDBSettings | None) -> BackendSettings:
    return BackendSettings(rocksdb, incremental=True, local_recovery=True, local_directories=(str(tmp_path / "local"),))


def run_and_fail(tmp_path: Path, files: CountedFiles, rocksdb: RocksDBSettings | None) -> StoredCheckpoint:
    job = InProcessJob(remembering(), files=files, backend=settings(tmp_path, rocksdb))
    feed(job, *((f"k{i}", "set", "x" * 100) for i in range(300)))
    job.checkpoint()
    feed(job, ("a", "set", 1), ("a", "add", 2), ("a", "put", ("x", 3)))
    stored = job.checkpoint()
    job.close(job_over=False)
    return stored


def copies(tmp_path: Path) -> list[Path]:
    return sorted(path for path in (tmp_path / "local").rglob("copies/**/*") if path.is_file())


@BACKENDS
def test_the_copy_is_read_and_not_the_storage(
    tmp_path: Path, files: CountedFiles, rocksdb: RocksDBSettings | None
) -> None:
    stored = run_and_fail(tmp_path, files, rocksdb)
    files.opened.clear()
    with InProcessJob(
        remembering(), files=files, backend=settings(tmp_path, rocksdb), restore=stored, own=True, attempt=1
    ) as job:
        assert files.opened == []
        assert contents(job)["a"] == (1, [2], {"x": 3})


@BACKENDS
@pytest.mark.parametrize("damage", ["flipped", "truncated", "missing"])
def test_a_damaged_copy_is_not_used_and_that_is_said(
    tmp_path: Path,
    files: CountedFiles,
    rocksdb: RocksDBSettings | None,
    damage: str,
    caplog: pytest.LogCaptureFixture,
) -> None:
    stored = run_and_fail(tmp_path, files, rocksdb)
    assert copies(tmp_path)
    for copy in copies(tmp_path):
        data = bytearray(copy.read_bytes())
        copy.unlink()  # not in place: it may be a link to a file that RocksDB still has
        if damage == "flipped":
            data[len(data) // 2] ^= 1
        elif damage == "truncated":
            del data[-1]
        if damage != "missing":
            copy.write_bytes(data)
    with (
        caplog.at_level(logging.WARNING),
        InProcessJob(
            remembering(), files=files, backend=settings(tmp_path, rocksdb), restore=stored, own=True, attempt=1
        ) as job,
    ):
        assert files.opened != []
        assert contents(job)["a"] == (1, [2], {"x": 3})
    assert ("the checkpoint storage is used instead" in caplog.text) is (damage != "missing")


@BACKENDS
def test_only_what_the_last_checkpoint_needs_is_kept(
    tmp_path: Path, files: CountedFiles, rocksdb: RocksDBSettings | None
) -> None:
    stored = run_and_fail(tmp_path, files, rocksdb)
    needed = {file.size for handle in stored.metadata.handles for file in handle.files() if file.path is not None}
    assert {copy.stat().st_size for copy in copies(tmp_path)} == needed


@BACKENDS
def test_nothing_is_left_when_the_job_is_over(
    tmp_path: Path, files: CountedFiles, rocksdb: RocksDBSettings | None
) -> None:
    stored = run_and_fail(tmp_path, files, rocksdb)
    backend = settings(tmp_path, rocksdb)
    InProcessJob(remembering(), files=files, backend=backend, restore=stored, own=True, attempt=1).close()
    assert list((tmp_path / "local").iterdir()) == []


def test_what_a_killed_attempt_left_is_cleared_by_the_next(tmp_path: Path) -> None:
    killed = LocalDirectory([str(tmp_path)], "job", 0, 0)
    leftover = Path(killed.fresh("rocksdb"))
    Path(killed.copies).mkdir()
    again = LocalDirectory([str(tmp_path)], "job", 0, 1)
    again.clear_earlier()
    assert not leftover.exists()
    assert Path(killed.copies).exists()


def test_slots_are_spread_over_the_directories(tmp_path: Path) -> None:
    bases = [str(tmp_path / name) for name in ("a", "b")]
    made = [LocalDirectory(bases, "job", slot, 0).fresh("rocksdb") for slot in range(3)]
    assert [Path(path).relative_to(tmp_path).parts[0] for path in made] == ["a", "b", "a"]


def test_a_copy_that_cannot_be_made_is_done_without(
    tmp_path: Path, files: CountedFiles, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "local").mkdir()
    job = InProcessJob(remembering(), files=files, backend=settings(tmp_path, None))
    copies_directory = Path(job.slots[0]._local.copies)
    copies_directory.parent.mkdir(parents=True)
    copies_directory.write_text("in the way")
    feed(job, ("a", "set", 1))
    with caplog.at_level(logging.WARNING):
        stored = job.checkpoint()
    job.close()
    assert "no local copy" in caplog.text
    assert stored.metadata.handles[0].file.path is not None


def test_a_slot_that_comes_to_its_end_late_leaves_the_next_attempt_alone(tmp_path: Path) -> None:
    stale = LocalDirectory([str(tmp_path)], "job", 0, 0)
    stale.fresh("rocksdb")
    again = LocalDirectory([str(tmp_path)], "job", 0, 1)
    database = Path(again.fresh("rocksdb"))
    copies = Path(again.copies)
    copies.mkdir()
    stale.close(job_over=True)
    assert database.exists()
    assert copies.exists()
    again.close(job_over=True)
    assert list(tmp_path.iterdir()) == []


def test_local_state_is_for_the_user_of_the_job_only(tmp_path: Path) -> None:
    made = Path(LocalDirectory([str(tmp_path)], "job", 0, 0).fresh("rocksdb"))
    assert (tmp_path / "rekindle-job").stat().st_mode & 0o077 == 0
    assert made.is_relative_to(tmp_path / "rekindle-job")


def test_databases_are_where_they_are_told_to_be_and_gone_with_the_job(tmp_path: Path) -> None:
    where = tmp_path / "fast disk"
    backend = BackendSettings(RocksDBSettings(directories=(str(where),)), local_directories=(str(tmp_path / "local"),))
    with InProcessJob(remembering(), backend=backend):
        assert list(where.rglob("CURRENT"))
    assert list(where.iterdir()) == []


def test_downloads_are_removed_once_the_database_has_them(tmp_path: Path, files: CountedFiles) -> None:
    stored = run_and_fail(tmp_path, files, RocksDBSettings())
    backend = settings(tmp_path, RocksDBSettings())
    with InProcessJob(remembering(), files=files, backend=backend, restore=stored, attempt=1) as job:
        assert list((tmp_path / "local").rglob("restored-*")) == []
        assert contents(job)["a"] == (1, [2], {"x": 3})


def test_the_restored_files_of_rocksdb_are_not_stored_again(tmp_path: Path, files: CountedFiles) -> None:
    stored = run_and_fail(tmp_path, files, RocksDBSettings())
    backend = settings(tmp_path, RocksDBSettings())
    with InProcessJob(remembering(), files=files, backend=backend, restore=stored, own=True, attempt=1) as job:
        job.coordinator._completed.add(stored_as_completed(stored))
        feed(job, ("b", "set", 1))
        again = job.checkpoint().metadata.handles[0]
    (before,), (after,) = stored.metadata.handles[0].native, again.native
    tables = {name: file for name, file in before.files.items() if name.endswith(".sst")}
    assert tables
    assert {name: after.files[name] for name in tables} == tables
