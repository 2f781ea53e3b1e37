"""The directory of a job's checkpoints: what is deleted and what never is, whatever fails on the way."""

from __future__ import annotations

import errno
import io
import random
from collections.abc import Callable, Collection
from pathlib import Path
from typing import BinaryIO

import pytest

from rekindle.checkpoint import paths
from rekindle.checkpoint.coordinator import CheckpointCoordinator
from rekindle.checkpoint.events import (
    CheckpointFailureReason,
    DiscardCheckpoint,
    DiscardState,
    DropCompleted,
    Instruction,
    TriggerCheckpoint,
    WriteMetadata,
)
from rekindle.checkpoint.job_directory import JobCheckpointDirectory
from rekindle.checkpoint.metadata import CheckpointMetadata, StateHandle, StoredFile, decode_metadata
from rekindle.checkpoint.options import CheckpointOptions
from rekindle.checkpoint.slot_snapshot import SlotSnapshot
from rekindle.checkpoint.storage import CheckpointFiles, LocalCheckpointFiles
from rekindle.checkpoint.stored_checkpoint import StoredCheckpoint
from rekindle.exceptions import CheckpointStorageError
from rekindle.testing import FaultInjectingCheckpointStorage, FaultKind
from support.seeds import seeds

JOB = "job"


class CrashedError(BaseException):
    """The process ended here."""


class MemoryFiles(CheckpointFiles):
    """Files in a dict. Deleting a directory takes a step for each file, metadata last, as a file system may have it.

    ``fault`` is asked at every step, with its number and the operation: it may raise.
    """

    root = "memory"

    def __init__(self, fault: Callable[[int, str], None] = lambda step, what: None) -> None:
        self.content: dict[str, bytes] = {}
        self.fault = fault
        self.steps = 0

    def write(self, path: str, source: BinaryIO) -> int:
        self._step("write")
        self.content[path] = source.read()
        return len(self.content[path])

    def create(self, path: str, data: bytes) -> None:
        self._step("create")
        assert path not in self.content
        self.content[path] = data
        self._step("created")

    def open(self, path: str) -> BinaryIO:
        return io.BytesIO(self.content[path])

    def list(self, directory: str) -> list[str]:
        self._step("list")
        below = [path[len(directory) + 1 :] for path in self.content if path.startswith(directory + "/")]
        return sorted({path.split("/")[0] for path in below})

    def delete(self, path: str) -> None:
        doomed = [other for other in self.content if other == path or other.startswith(path + "/")]
        for other in sorted(doomed, key=lambda name: (name.endswith(paths.METADATA), name)):
            self._step("delete")
            del self.content[other]
        self._step("deleted")

    def _step(self, what: str) -> None:
        self.steps += 1
        self.fault(self.steps, what)


def put(files: CheckpointFiles, path: str) -> None:
    files.write(paths.join(JOB, path), io.BytesIO(path.encode()))


def shared(name: str) -> StoredFile:
    return StoredFile(1, 0, path=paths.from_checkpoint(name), shared=True)


def checkpoint(checkpoint_id: int, *names: str) -> CheckpointMetadata:
    """Describe a checkpoint with a file of its own and some shared ones."""
    handle = StateHandle(0, StoredFile(1, 0, path="slot-0-0"), before=[shared(name) for name in names])
    return CheckpointMetadata(checkpoint_id, JOB, "name", 0, 0, [], [handle], [])


def commit(
    directory: JobCheckpointDirectory, files: CheckpointFiles, checkpoint_id: int, *names: str
) -> StoredCheckpoint:
    """Write a checkpoint: its own file, those of the shared ones that are its own, then the metadata."""
    put(files, f"chk-{checkpoint_id}/slot-0-0")
    for name in names:
        if paths.written_for(name) == checkpoint_id:
            put(files, f"shared/{name}")
    return directory.commit(checkpoint(checkpoint_id, *names))


def referred(files: MemoryFiles) -> set[str]:
    """Name all metadata, and all files that it refers to."""
    found = set()
    for path, data in files.content.items():
        if path.endswith("/" + paths.METADATA):
            handles = decode_metadata(data, path).handles
            own = path.rsplit("/", 1)[0]
            found |= {path, *(paths.resolve(own, file.path or "") for handle in handles for file in handle.files())}
    return found


def missing(files: MemoryFiles) -> set[str]:
    """Name the files that metadata refers to and that are not there."""
    return referred(files) - files.content.keys()


def names(files: MemoryFiles) -> set[str]:
    return {path.removeprefix(JOB + "/") for path in files.content}


@pytest.fixture
def files() -> MemoryFiles:
    return MemoryFiles()


@pytest.fixture
def directory(files: MemoryFiles) -> JobCheckpointDirectory:
    return JobCheckpointDirectory(files, JOB)


class TestDropping:
    def test_deletes_the_checkpoint_and_what_it_was_the_last_to_refer_to(
        self, directory: JobCheckpointDirectory, files: MemoryFiles
    ) -> None:
        first = commit(directory, files, 1, "1-0-0-a", "1-0-0-b")
        second = commit(directory, files, 2, "1-0-0-b", "2-0-0-c")
        directory.drop(first)
        assert names(files) == {"chk-2/_metadata", "chk-2/slot-0-0", "shared/1-0-0-b", "shared/2-0-0-c"}
        directory.drop(second)
        assert names(files) == set()

    def test_the_metadata_goes_first(self, directory: JobCheckpointDirectory, files: MemoryFiles) -> None:
        first = commit(directory, files, 1, "1-0-0-a")
        deleted: list[set[str]] = []
        files.fault = lambda step, what: deleted.append(names(files))
        directory.drop(first)
        assert "chk-1/_metadata" in deleted[0]
        assert all("chk-1/_metadata" not in left for left in deleted[1:])
        assert deleted[1] == {"chk-1/slot-0-0", "shared/1-0-0-a"}

    def test_a_checkpoint_of_another_directory_is_not_touched(
        self, directory: JobCheckpointDirectory, files: MemoryFiles
    ) -> None:
        other = MemoryFiles()
        stored = commit(JobCheckpointDirectory(other, JOB), other, 1, "1-0-0-a")
        commit(directory, files, 1, "1-0-0-a")
        kept, own = dict(other.content), dict(files.content)
        directory.drop(stored)
        assert (other.content, files.content) == (kept, own)

    def test_what_cannot_lose_its_metadata_stays_whole(
        self, directory: JobCheckpointDirectory, files: MemoryFiles, caplog: pytest.LogCaptureFixture
    ) -> None:
        first = commit(directory, files, 1, "1-0-0-a", "1-0-0-b")
        commit(directory, files, 2, "1-0-0-b")
        before = dict(files.content)
        files.fault = lambda step, what: fail(what == "delete")
        directory.drop(first)
        assert files.content == before
        assert "can be deleted by hand" in caplog.text
        files.fault = lambda step, what: None
        directory.sweep({2})
        assert names(files) == {"chk-2/_metadata", "chk-2/slot-0-0", "shared/1-0-0-b"}

    def test_in_memory_there_is_nothing_to_delete(self) -> None:
        directory = JobCheckpointDirectory(None, JOB)
        stored = directory.commit(checkpoint(1))
        assert stored.files is None
        directory.drop(stored)
        directory.discard(2)
        directory.sweep(())


class TestMarkers:
    MARKER = "committed/committed-0123456789abcdef-7"

    def test_stay_as_long_as_a_job_may_start_from_a_checkpoint(
        self, directory: JobCheckpointDirectory, files: MemoryFiles
    ) -> None:
        commit(directory, files, 7)
        put(files, self.MARKER)
        directory.sweep({7}, over=True)
        assert self.MARKER in names(files)
        directory.sweep((), over=True)
        assert names(files) == set()

    def test_stay_when_another_driver_begins(self, directory: JobCheckpointDirectory, files: MemoryFiles) -> None:
        put(files, self.MARKER)
        directory.sweep(())
        assert names(files) == {self.MARKER}


class TestDiscarding:
    def test_deletes_what_was_written_for_the_checkpoint_by_whichever_slot(
        self, directory: JobCheckpointDirectory, files: MemoryFiles
    ) -> None:
        commit(directory, files, 1, "1-0-0-a")
        for path in ("chk-2/slot-0-0", "shared/2-0-0-x", "shared/2-1-0-never-acknowledged", "shared/3-0-0-pending"):
            put(files, path)
        directory.discard(2)
        assert names(files) == {"chk-1/_metadata", "chk-1/slot-0-0", "shared/1-0-0-a", "shared/3-0-0-pending"}

    def test_what_a_completed_checkpoint_refers_to_stays_whoever_wrote_it(
        self, directory: JobCheckpointDirectory, files: MemoryFiles
    ) -> None:
        put(files, "shared/2-0-0-x")
        commit(directory, files, 3, "2-0-0-x")
        directory.discard(2)
        assert "shared/2-0-0-x" in names(files)
        assert missing(files) == set()

    def test_rows_that_wait_for_their_commit_stay_for_the_next_checkpoint(
        self, directory: JobCheckpointDirectory, files: MemoryFiles
    ) -> None:
        put(files, "shared/rows-0-abc-0.parquet")
        files.fault = lambda step, what: fail(what == "created")
        with pytest.raises(CheckpointStorageError):
            commit(directory, files, 1, "rows-0-abc-0.parquet", "1-0-0-a")
        files.fault = lambda step, what: None
        directory.discard(1)
        assert names(files) == {"shared/rows-0-abc-0.parquet"}
        second = commit(directory, files, 2, "rows-0-abc-0.parquet")
        directory.drop(second)
        assert names(files) == set()

    def test_metadata_that_was_created_in_spite_of_an_error_goes_too(self, files: MemoryFiles) -> None:
        directory = JobCheckpointDirectory(files, JOB)
        files.fault = lambda step, what: fail(what == "created")
        with pytest.raises(CheckpointStorageError):
            commit(directory, files, 1, "1-0-0-a")
        assert "chk-1/_metadata" in names(files)
        files.fault = lambda step, what: None
        directory.discard(1)
        assert names(files) == set()

    def test_the_base_of_one_that_failed_keeps_its_files(
        self, directory: JobCheckpointDirectory, files: MemoryFiles
    ) -> None:
        commit(directory, files, 1, "1-0-0-a")
        files.fault = lambda step, what: fail(what == "create")
        with pytest.raises(CheckpointStorageError):
            commit(directory, files, 2, "1-0-0-a", "2-0-0-b")
        files.fault = lambda step, what: None
        directory.discard(2)
        assert names(files) == {"chk-1/_metadata", "chk-1/slot-0-0", "shared/1-0-0-a"}

    def test_twice_is_as_good_as_once(self, directory: JobCheckpointDirectory, files: MemoryFiles) -> None:
        put(files, "shared/2-0-0-x")
        directory.discard(2)
        put(files, "shared/2-1-0-late")
        directory.discard(2)
        assert names(files) == set()


class TestSweeping:
    def test_nothing_is_left_of_a_job_that_retains_nothing(self, tmp_path: Path) -> None:
        files = LocalCheckpointFiles(str(tmp_path))
        directory = JobCheckpointDirectory(files, JOB)
        commit(directory, files, 1, "1-0-0-a")
        commit(directory, files, 2, "1-0-0-a", "2-0-0-b")
        put(files, "chk-3/slot-0-0")
        put(files, "shared/3-0-0-of-a-slot-that-was-killed")
        directory.sweep(())
        assert list(tmp_path.iterdir()) == []

    def test_retained_checkpoints_keep_all_they_refer_to_and_nothing_else_stays(
        self, directory: JobCheckpointDirectory, files: MemoryFiles
    ) -> None:
        commit(directory, files, 1, "1-0-0-a", "1-0-0-b")
        commit(directory, files, 2, "1-0-0-b", "2-0-0-c")
        put(files, "chk-3/slot-0-0")
        put(files, "shared/3-0-0-of-a-slot-that-was-killed")
        directory.sweep({2})
        assert names(files) == {"chk-2/_metadata", "chk-2/slot-0-0", "shared/1-0-0-b", "shared/2-0-0-c"}

    def test_other_jobs_are_not_touched(self, directory: JobCheckpointDirectory, files: MemoryFiles) -> None:
        files.write("job-2/chk-1/_metadata", io.BytesIO(b"of another job"))
        files.write("job-2/shared/1-0-0-a", io.BytesIO(b"of another job"))
        commit(directory, files, 1, "1-0-0-a")
        directory.sweep(())
        assert set(files.content) == {"job-2/chk-1/_metadata", "job-2/shared/1-0-0-a"}

    def test_a_listing_that_fails_is_not_taken_for_an_empty_one(
        self, directory: JobCheckpointDirectory, files: MemoryFiles, caplog: pytest.LogCaptureFixture
    ) -> None:
        commit(directory, files, 1, "1-0-0-a")
        before = dict(files.content)
        files.fault = lambda step, what: fail(what == "list")
        directory.sweep(())
        assert files.content == before
        assert "can be deleted by hand" in caplog.text


def fail(when: bool) -> None:
    if when:
        raise CheckpointStorageError("injected") from OSError(errno.EIO, "injected")


def crash(when: bool) -> None:
    if when:
        raise CrashedError


def life(files: MemoryFiles, retained: Collection[int] = ()) -> None:
    """Let a job complete, abort, drop, and end."""
    directory = JobCheckpointDirectory(files, JOB)
    first = _tried(lambda: commit(directory, files, 1, "1-0-0-a", "1-0-0-b"), directory, 1)
    second = _tried(lambda: commit(directory, files, 2, "1-0-0-b", "2-0-0-c"), directory, 2)
    if second is not None and first is not None:
        directory.drop(first)
    _tried(lambda: put(files, "shared/3-0-0-d"), directory, 3)
    directory.discard(3)
    third = _tried(lambda: commit(directory, files, 4, "2-0-0-c" if second else "4-0-0-c", "4-0-0-e"), directory, 4)
    if third is not None and second is not None:
        directory.drop(second)
    directory.sweep(retained)


def _tried(
    action: Callable[[], StoredCheckpoint | None], directory: JobCheckpointDirectory, checkpoint_id: int
) -> StoredCheckpoint | None:
    try:
        return action()
    except CheckpointStorageError:
        directory.discard(checkpoint_id)
        return None


def steps_of_a_life() -> int:
    files = MemoryFiles()
    life(files, {4})
    assert missing(files) == set()
    return files.steps


@pytest.mark.parametrize("retained", [(), (4,)], ids=["nothing kept", "the last kept"])
def test_a_crash_at_any_step_leaves_no_metadata_without_its_files(retained: tuple[int, ...]) -> None:
    for last in range(1, steps_of_a_life() + 10):
        files = MemoryFiles(lambda step, what, last=last: crash(step == last))  # type: ignore[misc]
        try:
            life(files, retained)
        except CrashedError:
            assert missing(files) == set(), f"after a crash at step {last}"


@pytest.mark.parametrize("retained", [(), (4,)], ids=["nothing kept", "the last kept"])
def test_a_failure_of_any_one_step_leaves_no_metadata_without_its_files(retained: tuple[int, ...]) -> None:
    for faulty in range(1, steps_of_a_life() + 10):
        files = MemoryFiles(lambda step, what, faulty=faulty: fail(step == faulty))  # type: ignore[misc]
        life(files, retained)
        assert missing(files) == set(), f"after a failure of step {faulty}"


@pytest.mark.parametrize("kind", [FaultKind.ERROR_BEFORE, FaultKind.ERROR_AFTER])
def test_a_fault_at_any_operation_on_a_real_directory_loses_nothing_that_is_kept(
    tmp_path: Path, kind: FaultKind
) -> None:
    operations = 100
    for fail_at in range(operations):
        storage = FaultInjectingCheckpointStorage(
            f"file://{tmp_path}/{kind.name}-{fail_at}", str(tmp_path / f"count-{kind.name}-{fail_at}"), fail_at, kind
        )
        files = storage.open_files()
        directory = JobCheckpointDirectory(files, JOB)

        def run(files: CheckpointFiles = files, directory: JobCheckpointDirectory = directory) -> None:
            stored = {}
            for number in (1, 2, 3):
                own, base = f"{number}-0-0-x", [f"{n}-0-0-x" for n in stored]
                result = _tried(lambda: commit(directory, files, number, own, *base), directory, number)  # noqa: B023
                if result is not None:
                    stored[number] = result
            for number in list(stored)[:-1]:
                directory.drop(stored[number])
            directory.sweep(list(stored)[-1:])

        run()
        job = tmp_path / f"{kind.name}-{fail_at}" / JOB
        for found in job.glob("chk-*/_metadata"):
            metadata = decode_metadata(found.read_bytes(), str(found))
            for handle in metadata.handles:
                for file in handle.files():
                    assert (found.parent / (file.path or "")).exists(), f"{kind} at operation {fail_at}"
        if fail_at > len(storage.operations()):
            return
    raise AssertionError("there were more operations than tried")


class RandomJob:
    """Concurrent checkpoints of two slots that share files, driven by the coordinator, over several attempts."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.files = MemoryFiles(self.fault)
        self.chance_of_fault = self.random.choice([0.0, 0.0, 0.02, 0.2])
        self.crash_at = self.random.choice([None, None, self.random.randrange(1, 300)])
        self.directory = JobCheckpointDirectory(self.files, JOB)
        options = CheckpointOptions(
            interval_ms=1, max_concurrent=3, tolerable_failures=10**6, num_retained=self.random.choice([1, 2, 3])
        )
        self.now = 0
        self.coordinator = CheckpointCoordinator(options, frozenset({0, 1}), 0, 1, 0)
        self.orders: list[tuple[TriggerCheckpoint, int, int]] = []  # with attempt and slot

    def fault(self, step: int, what: str) -> None:
        crash(step == self.crash_at)
        fail(self.random.random() < self.chance_of_fault)

    def carry_out(self, instructions: list[Instruction]) -> None:
        for order in instructions:
            match order:
                case TriggerCheckpoint():
                    self.orders += [(order, self.coordinator.attempt, slot) for slot in (0, 1)]
                case WriteMetadata():
                    self.write(order)
                case DiscardState(checkpoint_id) | DiscardCheckpoint(checkpoint_id):
                    self.directory.discard(checkpoint_id)
                case DropCompleted(dropped):
                    self.directory.drop(dropped.location)

    def write(self, order: WriteMetadata) -> None:
        handles = [snapshot.handle for snapshot in order.snapshots]
        metadata = CheckpointMetadata(order.checkpoint_id, JOB, "name", 0, 0, [], handles, [])
        try:
            stored = self.directory.commit(metadata)
        except CheckpointStorageError as error:
            self.carry_out(self.coordinator.metadata_failed(self.now, order.checkpoint_id, str(error)))
        else:
            self.carry_out(self.coordinator.metadata_written(self.now, order.checkpoint_id, stored))

    def snapshot(self) -> None:
        """Let a slot take a snapshot: some of the base's files again, and a new one."""
        if not self.orders:
            return
        order, attempt, slot = self.orders.pop(self.random.randrange(len(self.orders)))
        checkpoint_id = order.checkpoint_id
        base = next((c for c in self.coordinator.completed() if c.checkpoint_id == order.base_id), None)
        before: list[StoredFile] = []
        if base is not None:
            handles = base.location.metadata.handles
            before = [file for file in handles[slot].before if self.random.random() < 0.7]
        own = paths.shared_file(checkpoint_id, slot, attempt, "x")
        try:
            put(self.files, f"shared/{own}")
            put(self.files, f"chk-{checkpoint_id}/slot-{slot}-{attempt}")
        except CheckpointStorageError as error:
            reason = CheckpointFailureReason.DECLINED
            current = self.coordinator.attempt
            self.carry_out(self.coordinator.decline(self.now, current, checkpoint_id, slot, reason, str(error)))
            return
        if self.random.random() < 0.05:
            return  # the slot is killed before it can acknowledge
        file = StoredFile(1, 0, path=f"slot-{slot}-{attempt}")
        handle = StateHandle(slot, file, before=[*before, shared(own)])
        self.carry_out(self.coordinator.acknowledge(self.now, attempt, checkpoint_id, slot, SlotSnapshot(handle)))

    def trigger(self) -> None:
        if self.coordinator.trigger_due(self.now):
            self.carry_out(self.coordinator.trigger(self.now, self.now))

    def restart(self) -> None:
        self.carry_out(self.coordinator.abort_all(self.now, CheckpointFailureReason.JOB_FAILED))
        latest = self.coordinator.latest_completed()
        if latest is not None and len(self.coordinator.completed()) > 1 and self.random.random() < 0.5:
            self.coordinator.mark_damaged(latest.checkpoint_id)
        attempt = self.coordinator.attempt + 1
        self.coordinator = self.coordinator.successor(attempt, frozenset({0, 1}), self.now)
        self.orders = [order for order in self.orders if self.random.random() < 0.3]  # slots that are late to die

    def run(self) -> None:
        try:
            for _ in range(150):
                self.now += 1
                self.random.choices([self.trigger, self.snapshot, self.restart], [3, 8, 0.3])[0]()
                assert missing(self.files) == set()
            self.carry_out(self.coordinator.abort_all(self.now, CheckpointFailureReason.JOB_FINISHED))
            retained = [c.checkpoint_id for c in (*self.coordinator.completed(), *self.coordinator.damaged())]
            self.directory.sweep(retained if self.random.random() < 0.5 else ())
        except CrashedError:
            assert missing(self.files) == set()
            return
        assert missing(self.files) == set()
        if self.chance_of_fault == 0.0:
            assert set(self.files.content) == referred(self.files)


@pytest.mark.parametrize("batch", range(5))
def test_in_every_random_schedule_metadata_finds_its_files_and_nothing_else_is_left(batch: int) -> None:
    for seed in seeds(300, named=1_000)[batch::5]:
        try:
            RandomJob(seed).run()
        except Exception as error:
            raise AssertionError(f"seed {seed}: {error!r}") from error
