"""Clean-up: classified first, deleted after. Whatever is retained keeps all it refers to, and nothing else stays."""

from __future__ import annotations

import io
import shutil
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from checkpoint.test_job_directory import JOB, CrashedError, MemoryFiles, checkpoint, commit, crash, missing, put
from rekindle.checkpoint import paths
from rekindle.checkpoint.cleanup import CleanupPlan, FoundFiles, classify
from rekindle.checkpoint.disposal import delete_claimed
from rekindle.checkpoint.job_directory import JobCheckpointDirectory
from rekindle.checkpoint.metadata import CheckpointMetadata, StateHandle, StoredFile, encode_metadata
from rekindle.checkpoint.restoring import RestorePath
from rekindle.checkpoint.storage import LocalCheckpointFiles
from rekindle.checkpoint.stored_checkpoint import StoredCheckpoint

IDS = st.frozensets(st.integers(1, 6))
NAMES = st.frozensets(st.sampled_from([f"shared/{name}" for name in "abcdef"]))
REFERENCES = st.dictionaries(st.integers(1, 6), NAMES)


class TestClassification:
    def test_what_a_retained_one_refers_to_stays_and_the_rest_goes(self) -> None:
        found = FoundFiles(frozenset({1, 2, 3}), frozenset({"shared/a", "shared/b", "shared/c", "shared/orphan"}))
        references = {1: {"shared/a", "shared/b"}, 2: {"shared/b", "shared/c"}}
        assert classify(found, references, {2}) == CleanupPlan(
            keep=frozenset({"chk-2", "shared/b", "shared/c"}),
            ended=(1, 3),
            delete=("chk-1", "chk-3", "shared/a", "shared/orphan"),
        )

    @given(IDS, NAMES, REFERENCES, IDS)
    def test_everything_is_in_exactly_one_class(
        self,
        checkpoints: frozenset[int],
        shared: frozenset[str],
        references: dict[int, frozenset[str]],
        kept: frozenset[int],
    ) -> None:
        plan = classify(FoundFiles(checkpoints, shared), references, kept)
        everything = {*(f"chk-{number}" for number in checkpoints), *shared}
        assert plan.keep | set(plan.delete) == everything
        assert not plan.keep & set(plan.delete)
        assert len(plan.delete) == len(set(plan.delete))

    @given(IDS, NAMES, REFERENCES, IDS)
    def test_nothing_that_is_referred_to_goes_and_nothing_that_is_not_stays(
        self,
        checkpoints: frozenset[int],
        shared: frozenset[str],
        references: dict[int, frozenset[str]],
        kept: frozenset[int],
    ) -> None:
        plan = classify(FoundFiles(checkpoints, shared), references, kept)
        needed = {name for number in kept for name in references.get(number, ())}
        assert not needed & set(plan.delete)
        assert {name for name in plan.keep if name.startswith("shared/")} == needed & shared
        assert set(plan.ended) == checkpoints - kept


def chain(directory: JobCheckpointDirectory, files: MemoryFiles, count: int) -> list[StoredCheckpoint]:
    """Complete checkpoints of which each builds on the two before it."""
    return [
        commit(directory, files, number, *(f"{each}-0-0-x" for each in range(max(1, number - 2), number + 1)))
        for number in range(1, count + 1)
    ]


def operations(retained: set[int]) -> int:
    files = MemoryFiles()
    directory = JobCheckpointDirectory(files, JOB)
    chain(directory, files, 8)
    files.steps = 0
    directory.sweep(retained)
    return files.steps


@pytest.mark.parametrize("retained", [set(), {8}, {3, 8}, {1, 2, 3, 4, 5, 6, 7, 8}], ids=str)
def test_a_crash_at_every_operation_of_the_sweep_leaves_all_that_metadata_refers_to(retained: set[int]) -> None:
    for last in range(1, operations(retained) + 1):
        files = MemoryFiles()
        directory = JobCheckpointDirectory(files, JOB)
        chain(directory, files, 8)
        files.steps = 0
        files.fault = lambda step, what, last=last: crash(step == last)  # type: ignore[misc]
        with pytest.raises(CrashedError):
            directory.sweep(retained)
        files.fault = lambda step, what: None
        assert missing(files) == set(), f"after a crash at operation {last}"
        left = {path.split("/")[1] for path in files.content if path.endswith(paths.METADATA)}
        assert left >= {f"chk-{number}" for number in retained}
        # Whoever takes over the directory, and knows of nothing but what is to be kept, ends the work.
        JobCheckpointDirectory(files, JOB).sweep(retained)
        assert missing(files) == set()
        kept = {path.split("/")[1] for path in files.content if path.endswith(paths.METADATA)}
        assert kept == {f"chk-{number}" for number in retained}


def test_one_that_does_not_know_what_a_retained_checkpoint_refers_to_reads_it() -> None:
    files = MemoryFiles()
    chain(JobCheckpointDirectory(files, JOB), files, 4)
    JobCheckpointDirectory(files, JOB).sweep({4})
    assert {path.removeprefix(JOB + "/") for path in files.content} == {
        *("chk-4/_metadata", "chk-4/slot-0-0"),
        *("shared/2-0-0-x", "shared/3-0-0-x", "shared/4-0-0-x"),
    }


def test_if_it_cannot_be_read_nothing_is_deleted(caplog: pytest.LogCaptureFixture) -> None:
    files = MemoryFiles()
    chain(JobCheckpointDirectory(files, JOB), files, 4)
    files.content[f"{JOB}/chk-4/_metadata"] = b"damaged"
    before = dict(files.content)
    JobCheckpointDirectory(files, JOB).sweep({4})
    assert files.content == before
    assert "can be deleted by hand" in caplog.text


class CrashingFiles(LocalCheckpointFiles):
    """A directory whose process ends at one of its operations."""

    def __init__(self, root: str, last: int) -> None:
        super().__init__(root)
        self.left = last

    def list(self, directory: str) -> list[str]:
        self._step()
        return super().list(directory)

    def delete(self, path: str) -> None:
        self._step()
        super().delete(path)

    def _step(self) -> None:
        self.left -= 1
        crash(self.left == 0)


class TestClaimed:
    """A checkpoint of another job that this one has claimed."""

    @pytest.fixture
    def job(self, tmp_path: Path) -> Path:
        files = LocalCheckpointFiles(str(tmp_path))
        directory = JobCheckpointDirectory(files, JOB)
        for number in (1, 2, 3):
            put(files, f"chk-{number}/slot-0-0")
            put(files, f"shared/{number}-0-0-x")
            directory.commit(checkpoint(number, *(f"{each}-0-0-x" for each in range(max(1, number - 1), number + 1))))
        return tmp_path / JOB

    def names(self, job: Path) -> set[str]:
        return {str(path.relative_to(job)) for path in job.rglob("*") if path.is_file()}

    def test_goes_with_what_is_its_own_alone(self, job: Path) -> None:
        delete_claimed(RestorePath(str(job / "chk-2")).current)
        assert self.names(job) == {
            *("chk-1/_metadata", "chk-1/slot-0-0", "chk-3/_metadata", "chk-3/slot-0-0"),
            *("shared/1-0-0-x", "shared/2-0-0-x", "shared/3-0-0-x"),
        }
        delete_claimed(RestorePath(str(job / "chk-3")).current)
        assert self.names(job) == {"chk-1/_metadata", "chk-1/slot-0-0", "shared/1-0-0-x"}
        delete_claimed(RestorePath(str(job / "chk-1")).current)
        assert not job.exists()

    def test_a_crash_at_every_operation_leaves_the_others_whole(self, job: Path, tmp_path: Path) -> None:
        for last in range(1, 100):
            copy = tmp_path / f"copy-{last}"
            shutil.copytree(job, copy)
            stored = RestorePath(str(copy / "chk-3")).current
            crashing = CrashingFiles(str(copy), last)
            over = False
            try:
                delete_claimed(StoredCheckpoint(stored.metadata, crashing, "chk-3"))
                over = True
            except CrashedError:
                pass
            for found in copy.glob(f"chk-*/{paths.METADATA}"):
                for handle in RestorePath(str(found)).current.metadata.handles:
                    for file in handle.files():
                        assert (found.parent / (file.path or "")).exists(), f"after a crash at operation {last}"
            assert len(list(copy.glob(f"chk-[12]/{paths.METADATA}"))) == 2
            if over:
                return
        raise AssertionError("there were more operations than tried")

    def test_one_beside_it_that_cannot_be_read_keeps_all_that_it_may_refer_to(self, job: Path) -> None:
        claimed = RestorePath(str(job / "chk-3")).current
        (job / "chk-2" / "_metadata").write_bytes(b"damaged")
        before = self.names(job)
        delete_claimed(claimed)
        assert self.names(job) == before - {"chk-3/_metadata", "chk-3/slot-0-0"}

    def test_a_savepoint_goes_with_its_directory(self, tmp_path: Path) -> None:
        files = LocalCheckpointFiles(str(tmp_path / "savepoint-1"))
        files.write("slot-0-0", io.BytesIO(b"x"))
        handle = StateHandle(0, StoredFile(1, 0, path="slot-0-0"))
        metadata = CheckpointMetadata(1, JOB, "name", 0, 0, [], [handle], [], savepoint=True)
        files.create(paths.METADATA, encode_metadata(metadata))
        (tmp_path / "beside").write_text("not ours")
        delete_claimed(RestorePath(str(tmp_path / "savepoint-1")).current)
        assert [path.name for path in tmp_path.iterdir()] == ["beside"]

    def test_what_somebody_has_put_into_its_directory_stays(self, job: Path) -> None:
        (job / "chk-3" / "README").write_text("why we kept this one")
        delete_claimed(RestorePath(str(job / "chk-3")).current)
        assert {path.name for path in (job / "chk-3").iterdir()} == {"README"}

    def test_the_directory_of_a_job_leaves_alone_what_is_not_claimed(self, job: Path, tmp_path: Path) -> None:
        own = JobCheckpointDirectory(LocalCheckpointFiles(str(tmp_path)), "another job")
        restored = RestorePath(str(job / "chk-3")).current
        before = self.names(job)
        own.drop(restored)
        own.sweep(())
        assert self.names(job) == before
        own.drop(restored, claimed=True)
        assert "chk-3/_metadata" not in self.names(job)
