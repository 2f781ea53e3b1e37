"""Disposing of savepoints and checkpoints deletes what belongs to them, and nothing else."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from rekindle.checkpoint import paths
from rekindle.checkpoint.disposal import delete_claimed, dispose, plan_disposal
from rekindle.checkpoint.job_directory import JobCheckpointDirectory
from rekindle.checkpoint.metadata import StoredFile
from rekindle.checkpoint.restoring import open_checkpoint
from rekindle.checkpoint.savepoint_listing import list_savepoints
from rekindle.checkpoint.storage import LocalCheckpointFiles
from rekindle.exceptions import CheckpointCorruptError, CheckpointStorageError, ConfigurationError, StateNotFoundError
from rekindle.state_processor.contents import contents_of
from rekindle.state_processor.snapshot import Snapshot
from support.in_process_job import InProcessJob
from support.snapshot_job import BACKENDS, FIRST, program, take_savepoint, take_snapshot


def files_below(directory: Path) -> set[str]:
    return {str(path.relative_to(directory)) for path in directory.rglob("*") if path.is_file()}


def three_checkpoints(directory: Path) -> Path:
    """Take checkpoints that build on each other; return the job's directory."""
    files = LocalCheckpointFiles(str(directory))
    with InProcessJob(program(), 2, files=files, backend=BACKENDS["heap-incremental"]) as job:
        job.run_epoch(FIRST)
        for _ in range(3):
            job.checkpoint()
            job.run_epoch(1)
    (job_directory,) = directory.iterdir()
    return job_directory


def test_a_savepoint_goes_with_all_its_files(tmp_path: Path) -> None:
    stored = take_snapshot(tmp_path, "canonical")
    assert stored.files is not None
    location = Path(stored.files.describe(stored.directory))
    report = dispose(str(location))
    assert not location.exists()
    assert report.deleted[0] == str(location / "_metadata")  # first, so that nobody takes the rest for a savepoint
    assert len(report.deleted) == 3
    assert (report.kept, report.unknown, report.failed) == ((), (), ())
    assert location.parent.exists()


def test_the_metadata_file_names_the_savepoint_too(tmp_path: Path) -> None:
    stored = take_snapshot(tmp_path, "canonical")
    assert stored.files is not None
    location = Path(stored.files.describe(stored.directory))
    assert dispose(str(location / "_metadata")).location == str(location)
    assert not location.exists()


def test_what_does_not_belong_to_it_is_left_alone(tmp_path: Path) -> None:
    stored = take_snapshot(tmp_path, "canonical")
    assert stored.files is not None
    location = Path(stored.files.describe(stored.directory))
    (location / "notes.txt").write_text("mine")
    (location / "sub").mkdir()
    (location / "sub" / "slot-0-0").write_text("mine, too")
    report = dispose(str(location))
    assert report.unknown == ("notes.txt", "sub")
    assert files_below(location) == {"notes.txt", "sub/slot-0-0"}


def test_files_that_other_checkpoints_need_stay(tmp_path: Path) -> None:
    job = three_checkpoints(tmp_path)
    one, two, three = (job / f"chk-{number}" for number in (1, 2, 3))
    needed = Snapshot(open_checkpoint(str(one))).files().keys() | Snapshot(open_checkpoint(str(three))).files().keys()
    plan = plan_disposal(str(two))
    assert plan.kept
    assert set(plan.files).isdisjoint(needed)
    assert any("if its job is still running" in warning for warning in plan.warnings)
    dispose(str(two))
    assert not two.exists()
    for checkpoint in (one, three):
        with contents_of(Snapshot.open(str(checkpoint))) as contents:
            assert len(list(contents.entries("everything", "count"))) >= 30


def test_the_last_checkpoint_takes_the_directory_of_the_job_along(tmp_path: Path) -> None:
    job = three_checkpoints(tmp_path)
    for number in (3, 1, 2):
        dispose(str(job / f"chk-{number}"))
    assert not job.exists()


def test_beside_a_damaged_checkpoint_shared_files_stay(tmp_path: Path) -> None:
    job = three_checkpoints(tmp_path)
    (job / "chk-3" / "_metadata").write_bytes(b"not metadata")
    before = files_below(job / "shared")
    plan = plan_disposal(str(job / "chk-2"))
    assert any("are kept" in warning for warning in plan.warnings)
    dispose(str(job / "chk-2"))
    assert files_below(job / "shared") == before


def test_what_is_no_savepoint_is_refused(tmp_path: Path) -> None:
    (tmp_path / "photos").mkdir()
    (tmp_path / "photos" / "slot-0-0").write_text("mine")
    with pytest.raises(ConfigurationError, match="photos is not a savepoint or checkpoint"):
        dispose(str(tmp_path / "photos"))
    assert files_below(tmp_path) == {"photos/slot-0-0"}
    with pytest.raises(StateNotFoundError, match="there is no such directory"):
        dispose(str(tmp_path / "nowhere"))
    (tmp_path / "photos" / "_metadata").write_bytes(b"something else")
    with pytest.raises(CheckpointCorruptError):
        dispose(str(tmp_path / "photos"))
    assert files_below(tmp_path) == {"photos/slot-0-0", "photos/_metadata"}


def test_the_directory_of_a_job_is_refused(tmp_path: Path) -> None:
    job = three_checkpoints(tmp_path)
    before = files_below(job)
    with pytest.raises(ConfigurationError, match="is not a savepoint or checkpoint"):
        dispose(str(job))
    assert files_below(job) == before


@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("place", ["../precious", "../../precious", "../beside/precious"])
def test_metadata_that_points_out_of_its_directory_deletes_nothing_there(
    tmp_path: Path, place: str, shared: bool
) -> None:
    import msgspec

    from rekindle.checkpoint.metadata import encode_metadata

    stored = take_snapshot(tmp_path, "canonical")
    assert stored.files is not None
    location = Path(stored.files.describe(stored.directory))
    precious = (location / place).resolve()
    precious.parent.mkdir(exist_ok=True)
    precious.write_text("mine")
    first, *rest = stored.metadata.handles
    outside = [StoredFile(4, 0, place, shared=shared)]
    evil = msgspec.structs.replace(first, before=outside)
    changed = msgspec.structs.replace(stored.metadata, handles=[evil, *rest])
    (location / "_metadata").write_bytes(encode_metadata(changed))
    before = files_below(location)
    with pytest.raises(CheckpointCorruptError, match="which is not named as state is"):
        dispose(str(location))
    assert precious.exists()
    assert files_below(location) == before


def behind_a_link(tmp_path: Path, what: str) -> Path:
    """Take a checkpoint of which a part is the user's own, somewhere else, named like state; return its directory."""
    job = three_checkpoints(tmp_path / "checkpoints")
    for other in (1, 2):
        shutil.rmtree(job / f"chk-{other}")
    found = job / what if what == "shared" else sorted((job / "shared").iterdir())[0]
    found.rename(tmp_path / "mine")
    found.symlink_to(tmp_path / "mine")
    return job / "chk-3"


@pytest.mark.parametrize("link", ["shared", "a file"])
def test_no_link_is_followed_to_what_is_deleted(tmp_path: Path, link: str) -> None:
    checkpoint = behind_a_link(tmp_path, link)
    before = files_below(tmp_path)
    with pytest.raises(CheckpointStorageError, match="is a symbolic link"):
        dispose(str(checkpoint))
    assert files_below(tmp_path) == before


def test_a_claimed_checkpoint_deletes_nothing_behind_a_link(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    checkpoint = behind_a_link(tmp_path, "shared")
    before = files_below(tmp_path)
    delete_claimed(open_checkpoint(str(checkpoint)))
    assert files_below(tmp_path) == before
    assert "is a symbolic link" in caplog.text


def test_the_running_jobs_own_clean_up_follows_no_link(tmp_path: Path) -> None:
    mine = tmp_path / "mine"
    mine.mkdir()
    for name in ("1-0-0-state", "letter.txt"):
        (mine / name).write_text("mine")
    job = tmp_path / "checkpoints" / "job"
    job.mkdir(parents=True)
    (job / "shared").symlink_to(mine)
    JobCheckpointDirectory(LocalCheckpointFiles(str(tmp_path / "checkpoints")), "job").sweep((), over=True)
    assert files_below(mine) == {"1-0-0-state", "letter.txt"}


def test_the_running_job_leaves_alone_among_shared_files_what_is_not_named_as_one(tmp_path: Path) -> None:
    shared = tmp_path / "job" / "shared"
    shared.mkdir(parents=True)
    for name in ("1-0-0-state", "rows-0-abc-1.parquet", "letter.txt"):
        (shared / name).write_text("?")
    JobCheckpointDirectory(LocalCheckpointFiles(str(tmp_path)), "job").sweep((), over=True)
    assert files_below(tmp_path) == {"job/shared/letter.txt"}


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
@pytest.mark.parametrize("whose", ["_metadata", "a file", "the directory"])
def test_what_belongs_to_somebody_else_is_neither_read_nor_deleted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, whose: str
) -> None:
    stored = take_snapshot(tmp_path, "canonical")
    assert stored.files is not None
    location = Path(stored.files.describe(stored.directory))
    name = next(name for name in sorted(files_below(location)) if name != paths.METADATA)
    os.chown({"_metadata": location / "_metadata", "a file": location / name}.get(whose, location), 4321, -1)
    before = files_below(location)
    with pytest.raises(CheckpointStorageError, match=r"belongs to user 4321.*REKINDLE_TRUSTED_USERS=4321"):
        dispose(str(location))
    assert files_below(location) == before
    if whose == "a file":
        with pytest.raises(CheckpointStorageError, match="belongs to user 4321"):
            stored.files.open(paths.join(stored.directory, name))
    monkeypatch.setenv("REKINDLE_TRUSTED_USERS", "nobody,4321")
    dispose(str(location))
    assert not location.exists()


def test_a_link_to_a_savepoint_is_a_name_of_it(tmp_path: Path) -> None:
    stored = take_snapshot(tmp_path, "canonical")
    assert stored.files is not None
    location = Path(stored.files.describe(stored.directory))
    (tmp_path / "latest").symlink_to(location)
    assert open_checkpoint(str(tmp_path / "latest")).metadata == stored.metadata
    assert dispose(str(tmp_path / "latest")).location == str(location)
    assert not location.exists()


def test_metadata_that_cannot_be_deleted_leaves_all_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stored = take_snapshot(tmp_path, "canonical")
    assert stored.files is not None
    location = Path(stored.files.describe(stored.directory))
    before = files_below(location)

    def refuse(self: LocalCheckpointFiles, path: str) -> None:
        assert path.endswith(paths.METADATA)
        raise CheckpointStorageError("no")

    monkeypatch.setattr(LocalCheckpointFiles, "delete_own", refuse)
    with pytest.raises(CheckpointStorageError):
        dispose(str(location))
    assert files_below(location) == before


@pytest.mark.parametrize("stuck", ["a file", "the directory"])
def test_what_cannot_be_deleted_is_reported_and_the_rest_goes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stuck: str
) -> None:
    stored = take_snapshot(tmp_path, "canonical")
    assert stored.files is not None
    location = Path(stored.files.describe(stored.directory))
    file = next(name for name in sorted(files_below(location)) if name != paths.METADATA)
    method = "delete_own" if stuck == "a file" else "delete_empty"
    delete = getattr(LocalCheckpointFiles, method)

    def refuse(self: LocalCheckpointFiles, path: str) -> None:
        if Path(self.describe(path)) == (location / file if stuck == "a file" else location):
            raise CheckpointStorageError(f"{stuck} cannot be deleted")
        delete(self, path)

    monkeypatch.setattr(LocalCheckpointFiles, method, refuse)
    report = dispose(str(location))
    assert report.failed == (f"{stuck} cannot be deleted",)
    assert files_below(location) == ({file} if stuck == "a file" else set())
    assert location.exists()
    assert (str(location / file) in report.deleted) is (stuck != "a file")


def test_savepoints_of_a_directory_are_listed_newest_first(tmp_path: Path) -> None:
    with InProcessJob(program(), 1, files=LocalCheckpointFiles(str(tmp_path / "checkpoints"))) as job:
        job.run_epoch(5)
        first = take_savepoint(job, tmp_path / "savepoints")
        second = take_savepoint(job, tmp_path / "savepoints")
    (tmp_path / "savepoints" / "broken").mkdir()
    (tmp_path / "savepoints" / "broken" / "_metadata").write_bytes(b"?")
    (tmp_path / "savepoints" / "else").mkdir()
    listed = list_savepoints(str(tmp_path / "savepoints"))
    assert [summary.checkpoint_id for summary in listed] == [
        second.metadata.checkpoint_id,
        first.metadata.checkpoint_id,
        -1,
    ]
    assert all(summary.savepoint and summary.size for summary in listed[:2])
    assert listed[2].problem is not None
