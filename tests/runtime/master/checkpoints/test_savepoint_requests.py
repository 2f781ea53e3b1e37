"""Savepoints that users ask for: where they go, who gets to know, and what is left of one that fails."""

from __future__ import annotations

import io
import re
from concurrent.futures import CancelledError, Future
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from rekindle.checkpoint.coordinator import CheckpointCoordinator
from rekindle.checkpoint.events import DropCompleted, WriteMetadata
from rekindle.checkpoint.job_directory import JobCheckpointDirectory
from rekindle.checkpoint.metadata import StateHandle, StoredFile
from rekindle.checkpoint.options import CheckpointOptions
from rekindle.checkpoint.restoring import RestorePath
from rekindle.checkpoint.slot_snapshot import SlotSnapshot
from rekindle.checkpoint.storage import LocalCheckpointFiles, checkpoint_files
from rekindle.exceptions import CheckpointError, SlotLostError
from rekindle.ha.ownership import JobOwnership
from rekindle.runtime.master.attempts import attempt_events as a
from rekindle.runtime.master.checkpoints import storage_orders as s
from rekindle.runtime.master.checkpoints.checkpoint_writer import CheckpointWriter
from rekindle.runtime.master.checkpoints.savepoints import Savepoints
from rekindle.runtime.master.epochs.epoch_events import EpochWaits
from rekindle.runtime.wire import messages as m
from rekindle.testing import ManualClock
from support.attempts import JOB, machine


class Job:
    """A job of one slot, or some, as far as checkpoints are concerned: the test is the slots."""

    def __init__(self, directory: Path, num_retained: int = 1, slots: int = 1) -> None:
        self.clock = ManualClock(1_000)
        self.files = LocalCheckpointFiles(str(directory / "checkpoints"))
        self.savepoints = Savepoints(JOB)
        self.barriers: list[m.TriggerSnapshot] = []
        self.told: list[m.ToSlot] = []
        self.completed: list[int] = []
        self.failures: list[BaseException] = []
        self.slots = slots
        options = CheckpointOptions(interval_ms=10_000, timeout_ms=10**6, num_retained=num_retained)
        self.machine = machine(options, slots, self.savepoints)
        graph: Any = SimpleNamespace(nodes=(), slots=slots)
        ownership = JobOwnership(self.clock)
        self.writer = CheckpointWriter(
            JOB, "name", graph, JobCheckpointDirectory(self.files, JOB), self.savepoints, ownership
        )

    @property
    def coordinator(self) -> CheckpointCoordinator:
        return self.machine.coordinator

    def hear(self, event: a.Event) -> None:
        self.carry_out(self.machine.handle(self.clock.now(), event))

    def carry_out(self, instructions: list[a.Instruction]) -> None:
        for instruction in instructions:
            match instruction:
                case a.PlaceBarrier(order):
                    self.barriers.append(order)
                case a.TellSlots(message):
                    self.told.append(message)
                case WriteMetadata():
                    self.hear(self.writer.write(instruction, []))
                case s.DiscardFiles(checkpoint_id):
                    self.writer.discard(checkpoint_id)
                case DropCompleted(checkpoint):
                    self.writer.drop(checkpoint)
                case a.CompleteSavepoint(checkpoint_id):
                    self.savepoints.completed(checkpoint_id)
                case a.FailSavepoint(checkpoint_id, message):
                    self.savepoints.failed(checkpoint_id, message)
                case a.ShowCheckpoint(checkpoint):
                    self.completed.append(checkpoint.checkpoint_id)
                case a.End(BaseException() as error):
                    self.failures.append(error)

    def trigger(self, savepoint: bool = False) -> m.TriggerSnapshot:
        """Let a checkpoint be due, or the savepoint that waits begin; give what slots are told."""
        self.clock.advance(1 if savepoint else 10_000)
        self.hear(a.Woken())
        order = self.barriers.pop(0)
        assert (order.savepoint is not None) == savepoint
        return order

    def acknowledge(self, order: m.TriggerSnapshot, attempt: int = 0) -> None:
        """Write the slot's state where it belongs, acknowledge, and do what the completion asks for."""
        self.write(order, attempt=attempt)
        self.notified(0, order.checkpoint_id)

    def notified(self, slot: int, checkpoint_id: int) -> None:
        """Do in a slot what the completion of a checkpoint asks for."""
        self.hear(a.OutputCommitted(slot, checkpoint_id))

    def write(self, order: m.TriggerSnapshot, slot: int = 0, attempt: int = 0) -> None:
        """Write a slot's state where it belongs, and acknowledge."""
        target = checkpoint_files(order.savepoint) if order.savepoint else self.files
        directory = "" if order.savepoint else f"{JOB}/chk-{order.checkpoint_id}/"
        target.write(f"{directory}slot-{slot}-{attempt}", io.BytesIO(b"state"))
        handle = StateHandle(slot, StoredFile(5, 0, path=f"slot-{slot}-{attempt}"), written=5)
        self.hear(a.SnapshotTaken(attempt, order.checkpoint_id, slot, SlotSnapshot(handle)))

    def decline(self, order: m.TriggerSnapshot) -> None:
        self.hear(a.SnapshotDeclined(0, order.checkpoint_id, 0, "disk full"))

    def end(self, finished: bool = False) -> None:
        """End the attempt: it fails, or its output is committed."""
        if finished:
            self.machine._end(a.Outcome.FINISHED)
        else:
            self.hear(a.Failed(SlotLostError("slot 0 was lost", 0)))
        self.carry_out(self.machine.close(self.clock.now(), None))

    def restart(self) -> None:
        """Begin the next attempt."""
        now, slots = self.clock.now(), frozenset(range(self.slots))
        coordinator = self.coordinator.successor(self.coordinator.attempt + 1, slots, now)
        self.machine = machine(None, self.slots, self.savepoints, coordinator=coordinator)


@pytest.fixture
def job(tmp_path: Path) -> Job:
    return Job(tmp_path)


def below(directory: Path) -> set[str]:
    return {str(path.relative_to(directory)) for path in directory.rglob("*") if path.is_file()}


def test_a_savepoint_is_whole_in_a_directory_of_its_own(job: Job, tmp_path: Path) -> None:
    job.acknowledge(job.trigger())
    future = job.savepoints.request(str(tmp_path / "savepoints"))
    order = job.trigger(savepoint=True)
    assert order.base_id is None
    assert order.savepoint is not None
    assert re.fullmatch(rf"{tmp_path}/savepoints/savepoint-012345-[0-9a-f]{{12}}", order.savepoint)
    assert not future.done()
    job.acknowledge(order)
    assert future.result(0) == order.savepoint
    assert below(Path(order.savepoint)) == {"_metadata", "slot-0-0"}
    assert RestorePath(order.savepoint).current.metadata.savepoint


def test_a_savepoint_may_be_moved(job: Job, tmp_path: Path) -> None:
    future = job.savepoints.request(f"file://{tmp_path}/savepoints")
    job.acknowledge(job.trigger(savepoint=True))
    moved = Path(future.result(0).removeprefix("file://")).rename(tmp_path / "elsewhere")
    stored = RestorePath(str(moved)).current
    assert stored.files is not None
    assert stored.files.read(f"{stored.directory}/slot-0-0") == b"state"


def test_no_two_savepoints_have_the_same_directory(job: Job, tmp_path: Path) -> None:
    futures = [job.savepoints.request(str(tmp_path)) for _ in range(3)]
    for _ in futures:
        job.acknowledge(job.trigger(savepoint=True))
    assert len({future.result(0) for future in futures}) == 3


def test_slots_are_told_that_a_savepoint_in_passing_is_no_restore_point(job: Job, tmp_path: Path) -> None:
    job.acknowledge(job.trigger())
    assert job.told[-1] == m.NotifyComplete(1, restore_point=True)
    job.savepoints.request(str(tmp_path))
    job.acknowledge(job.trigger(savepoint=True))
    assert job.told[-1] == m.NotifyComplete(2, restore_point=False)
    latest = job.coordinator.latest_completed()
    assert latest is not None
    assert latest.checkpoint_id == 1
    assert job.completed == [1]


def test_slots_are_told_what_to_build_on(job: Job) -> None:
    first = job.trigger()
    assert first.base_id is None
    job.acknowledge(first)
    assert job.trigger().base_id == 1


def test_a_savepoint_is_not_dropped_with_the_checkpoints_around_it(job: Job, tmp_path: Path) -> None:
    future = job.savepoints.request(str(tmp_path / "savepoints"))
    job.acknowledge(job.trigger(savepoint=True))
    for _ in range(3):
        job.acknowledge(job.trigger())
    assert below(tmp_path / "checkpoints" / JOB) == {"chk-4/_metadata", "chk-4/slot-0-0"}
    assert below(Path(future.result(0))) == {"_metadata", "slot-0-0"}


def test_one_that_fails_says_why_leaves_nothing_and_the_job_goes_on(job: Job, tmp_path: Path) -> None:
    future = job.savepoints.request(str(tmp_path / "savepoints"))
    job.decline(job.trigger(savepoint=True))
    with pytest.raises(CheckpointError, match=r"^Savepoint 1 failed: DECLINED, .*disk full"):
        future.result(0)
    assert below(tmp_path / "savepoints") == set()
    assert job.failures == []
    job.acknowledge(job.trigger())
    assert job.completed == [2]


def test_what_a_slot_writes_for_a_savepoint_that_has_failed_is_deleted(job: Job, tmp_path: Path) -> None:
    job.savepoints.request(str(tmp_path / "savepoints"))
    order = job.trigger(savepoint=True)
    job.decline(order)
    job.acknowledge(order)
    assert below(tmp_path) == set()


@pytest.mark.parametrize("existing", [True, False], ids=["exists already", "cannot be created"])
def test_metadata_that_cannot_be_written_fails_the_savepoint(job: Job, tmp_path: Path, existing: bool) -> None:
    future = job.savepoints.request(str(tmp_path / "savepoints"))
    order = job.trigger(savepoint=True)
    assert order.savepoint is not None
    in_the_way = Path(order.savepoint) / "_metadata"
    if existing:
        in_the_way.parent.mkdir(parents=True)
        in_the_way.write_bytes(b"")
    else:
        in_the_way.mkdir(parents=True)
    job.acknowledge(order)
    with pytest.raises(CheckpointError, match="METADATA_WRITE_FAILED"):
        future.result(0)
    assert below(tmp_path / "savepoints") == set()


def test_an_attempt_that_ends_fails_its_savepoint_and_leaves_the_waiting_to_the_next(job: Job, tmp_path: Path) -> None:
    begun = job.savepoints.request(str(tmp_path / "savepoints"))
    order = job.trigger(savepoint=True)
    job.hear(EpochWaits(1))
    waiting = job.savepoints.request(str(tmp_path / "savepoints"))
    job.hear(a.Woken())
    assert job.barriers == [], "an epoch runs"
    job.end()
    with pytest.raises(CheckpointError, match="JOB_FAILED"):
        begun.result(0)
    job.restart()
    job.acknowledge(order, attempt=0)
    assert below(tmp_path) == set()
    job.acknowledge(job.trigger(savepoint=True), attempt=1)
    assert Path(waiting.result(0)).is_dir()


def test_a_request_that_was_cancelled_in_time_is_not_carried_out(job: Job, tmp_path: Path) -> None:
    cancelled, other = (job.savepoints.request(str(tmp_path)) for _ in range(2))
    assert cancelled.cancel()
    job.acknowledge(job.trigger(savepoint=True))
    assert other.done()
    assert not job.savepoints.waiting
    with pytest.raises(CancelledError):
        cancelled.result(0)
    job.savepoints.request(str(tmp_path)).cancel()
    assert not job.savepoints.begin(9)


def test_one_under_way_cannot_be_cancelled(job: Job, tmp_path: Path) -> None:
    future = job.savepoints.request(str(tmp_path))
    order = job.trigger(savepoint=True)
    assert not future.cancel()
    job.acknowledge(order)
    assert future.result(0)


def test_when_the_job_ends_whoever_waits_and_whoever_comes_later_is_told(job: Job, tmp_path: Path) -> None:
    futures: list[Future[str]] = [job.savepoints.request(str(tmp_path))]
    job.trigger(savepoint=True)
    job.hear(EpochWaits(1))
    futures += [job.savepoints.request(str(tmp_path)) for _ in range(2)]
    futures[1].cancel()
    job.savepoints.job_ended("FINISHED")
    futures.append(job.savepoints.request(str(tmp_path)))
    with pytest.raises(CheckpointError, match=r"the job ended \(FINISHED\) before the savepoint was complete"):
        futures[0].result(0)
    for future in futures[2:]:
        with pytest.raises(CheckpointError, match=r"the job had ended \(FINISHED\) before one could begin"):
            future.result(0)


# --- what savepoints in passing refer to is safe before anybody gets them ---


@pytest.fixture
def two_slots(tmp_path: Path) -> Job:
    return Job(tmp_path, slots=2)


def written(job: Job, directory: Path) -> tuple[Future[str], m.TriggerSnapshot]:
    """Let both slots write a savepoint in passing."""
    future = job.savepoints.request(str(directory))
    order = job.trigger(savepoint=True)
    for slot in (0, 1):
        job.write(order, slot)
    assert job.told[-1] == m.NotifyComplete(order.checkpoint_id, restore_point=False)
    return future, order


def test_a_savepoint_in_passing_is_handed_over_when_all_slots_have_answered(two_slots: Job, tmp_path: Path) -> None:
    future, order = written(two_slots, tmp_path / "savepoints")
    for slot, checkpoint_id in ((0, order.checkpoint_id), (0, order.checkpoint_id), (1, order.checkpoint_id + 1)):
        two_slots.notified(slot, checkpoint_id)
        assert not future.done()
    two_slots.notified(1, order.checkpoint_id)
    assert future.result(0) == order.savepoint


def test_savepoints_in_passing_wait_each_for_answers_of_its_own(two_slots: Job, tmp_path: Path) -> None:
    first, second = (written(two_slots, tmp_path / "savepoints") for _ in range(2))
    for slot in (0, 1):
        two_slots.notified(slot, second[1].checkpoint_id)
    assert second[0].done()
    assert not first[0].done()


def test_an_attempt_that_ends_before_all_slots_have_answered_deletes_the_savepoint_and_says_why(
    two_slots: Job, tmp_path: Path
) -> None:
    future, order = written(two_slots, tmp_path / "savepoints")
    two_slots.notified(0, order.checkpoint_id)
    two_slots.end()
    with pytest.raises(CheckpointError, match="interrupted before the output that the savepoint refers to was safe"):
        future.result(0)
    assert below(tmp_path / "savepoints") == set()
    two_slots.notified(1, order.checkpoint_id)  # too late
    two_slots.end()


def test_at_the_end_of_a_job_that_has_committed_all_savepoints_are_handed_over(two_slots: Job, tmp_path: Path) -> None:
    future, order = written(two_slots, tmp_path / "savepoints")
    two_slots.end(finished=True)
    assert future.result(0) == order.savepoint
    assert below(Path(future.result(0))) == {"_metadata", "slot-0-0", "slot-1-0"}


def test_an_attempt_that_ends_leaves_savepoints_alone_that_were_handed_over(two_slots: Job, tmp_path: Path) -> None:
    future, order = written(two_slots, tmp_path / "savepoints")
    for slot in (0, 1):
        two_slots.notified(slot, order.checkpoint_id)
    two_slots.end()
    assert below(Path(future.result(0))) == {"_metadata", "slot-0-0", "slot-1-0"}
