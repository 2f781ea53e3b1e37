"""The rules of an attempt, one test each: the test is the slots, the thread of epochs, the storage and the clock."""

from __future__ import annotations

from typing import Any

import pytest

from rekindle.checkpoint.events import CheckpointFailureReason, WriteMetadata
from rekindle.checkpoint.metadata import CheckpointMetadata, OperatorMetadata, StagedRows, StoredFile
from rekindle.checkpoint.options import CheckpointOptions
from rekindle.checkpoint.storage import LocalCheckpointFiles
from rekindle.checkpoint.stored_checkpoint import StoredCheckpoint
from rekindle.exceptions import (
    CheckpointError,
    CheckpointStorageError,
    JobFencedError,
    SlotLostError,
    StopFailedError,
    UserCodeError,
)
from rekindle.runtime.master.attempts import attempt_events as a
from rekindle.runtime.master.attempts.attempt_machine import AttemptMachine
from rekindle.runtime.master.checkpoints import storage_orders as s
from rekindle.runtime.master.checkpoints.requested_checkpoints import RequestedCheckpoints
from rekindle.runtime.master.checkpoints.savepoints import Savepoints
from rekindle.runtime.master.checkpoints.stopping import StopMode, Stopping
from rekindle.runtime.master.epochs.epoch_events import EpochEnded, EpochWaits
from rekindle.runtime.wire import messages as m
from support.attempts import JOB, machine
from support.slot_snapshots import snapshot

PERIODIC = CheckpointOptions(interval_ms=100, timeout_ms=1_000, tolerable_failures=3, max_concurrent=3)
LOST = SlotLostError("slot 0 was lost", 0)
FULL = CheckpointStorageError("disk full")


def location(checkpoint_id: int, savepoint: bool = False) -> StoredCheckpoint:
    metadata = CheckpointMetadata(checkpoint_id, JOB, "name", 0, 0, [], [], [], savepoint)
    return StoredCheckpoint(metadata, LocalCheckpointFiles("/checkpoints"), f"chk-{checkpoint_id}")


def of(kind: type, instructions: list[a.Instruction]) -> list[Any]:
    return [instruction for instruction in instructions if isinstance(instruction, kind)]


def told(instructions: list[a.Instruction]) -> list[m.ToSlot]:
    return [instruction.message for instruction in of(a.TellSlots, instructions)]


def acknowledged(subject: AttemptMachine, checkpoint_id: int, now: int) -> list[a.Instruction]:
    return subject.handle(now, a.SnapshotTaken(0, checkpoint_id, 0, snapshot()))


def stored(subject: AttemptMachine, now: int, checkpoint_id: int, savepoint: bool = False) -> list[a.Instruction]:
    """Let the slot acknowledge, and the metadata be durable."""
    acknowledged(subject, checkpoint_id, now)
    return subject.handle(now, s.MetadataStored(checkpoint_id, location(checkpoint_id, savepoint)))


class TestEpochs:
    def test_one_begins_when_it_waits_and_none_runs(self) -> None:
        subject = machine()
        assert subject.handle(1, EpochWaits(1)) == [a.BeginEpoch(1)]
        assert subject.handle(2, EpochEnded(1, more=True)) == [a.Tick()]
        assert subject.handle(3, EpochWaits(2)) == [a.BeginEpoch(2)]

    def test_a_timer_that_is_left_when_the_input_has_ended_lets_nobody_wake_up(self) -> None:
        subject = machine()
        subject.handle(1, EpochWaits(1))
        subject.handle(2, EpochEnded(1, finished=True, next_timer=100))
        due = subject.next_due(200)
        assert due is None or due > 200

    def test_a_barrier_that_is_due_comes_first(self) -> None:
        subject = machine(PERIODIC)
        barrier, begin = subject.handle(100, EpochWaits(1))
        assert isinstance(barrier, a.PlaceBarrier)
        assert begin == a.BeginEpoch(1)

    def test_a_timer_asks_for_one_when_it_is_due_and_none_runs(self) -> None:
        subject = machine()
        subject.handle(1, EpochWaits(1))
        assert subject.handle(2, EpochEnded(1, next_timer=50)) == []
        assert subject.next_due(2) == 50
        assert subject.handle(49, a.Woken()) == []
        assert subject.handle(50, a.Woken()) == [a.Tick()]
        assert subject.handle(51, a.Woken()) == []

    def test_after_the_end_of_the_input_what_waits_is_skipped(self) -> None:
        subject = machine(PERIODIC)
        subject.handle(1, EpochWaits(1))
        subject.handle(2, EpochEnded(1, finished=True, more=True))
        assert subject.handle(3, EpochWaits(2)) == [a.SkipEpoch(2)]


class TestCheckpoints:
    def test_one_is_complete_when_its_metadata_is_durable(self) -> None:
        subject = machine(PERIODIC)
        subject.handle(100, a.Woken())
        [write] = acknowledged(subject, 1, 110)
        assert isinstance(write, WriteMetadata)
        instructions = subject.handle(120, s.MetadataStored(1, location(1)))
        assert told(instructions) == [m.NotifyComplete(1)]

    def test_with_a_log_it_is_complete_when_that_has_it(self) -> None:
        subject = machine(PERIODIC, logged=True)
        subject.handle(100, a.Woken())
        [note] = stored(subject, 110, 1)
        assert isinstance(note, s.NoteCheckpoint)
        assert [reference.checkpoint_id for reference in note.retained] == [1]
        assert told(subject.handle(120, s.CheckpointNoted(1, location(1), None))) == [m.NotifyComplete(1)]

    def test_the_log_gets_the_next_one_when_the_outcome_of_the_one_before_is_known(self) -> None:
        subject = machine(PERIODIC, logged=True)
        for now in (100, 200):
            subject.handle(now, a.Woken())
        assert of(s.NoteCheckpoint, stored(subject, 210, 2))
        assert stored(subject, 220, 1) == [], "if 2 is complete, nobody wants 1"
        instructions = subject.handle(230, s.CheckpointNoted(2, location(2), None))
        assert told(instructions) == [m.NotifyAborted(1), m.NotifyComplete(2)]
        assert s.DiscardFiles(1) in instructions
        assert of(s.NoteCheckpoint, instructions) == []

    def test_and_the_older_one_if_the_newer_could_not_be_noted(self) -> None:
        subject = machine(PERIODIC, logged=True)
        for now in (100, 200):
            subject.handle(now, a.Woken())
        stored(subject, 210, 2)
        stored(subject, 220, 1)
        instructions = subject.handle(230, s.CheckpointNotStored(2, FULL))
        assert told(instructions) == [m.NotifyAborted(2)]
        [note] = of(s.NoteCheckpoint, instructions)
        assert note.checkpoint_id == 1

    def test_one_that_is_being_noted_does_not_expire(self) -> None:
        subject = machine(CheckpointOptions(interval_ms=100, timeout_ms=50), logged=True)
        subject.handle(100, a.Woken())
        stored(subject, 110, 1)
        assert subject.handle(1_000, a.Woken()) == []

    def test_metadata_that_cannot_be_written_declines_it(self) -> None:
        subject = machine(PERIODIC)
        subject.handle(100, a.Woken())
        acknowledged(subject, 1, 110)
        instructions = subject.handle(120, s.CheckpointNotStored(1, FULL))
        [shown] = of(a.ShowCheckpointFailure, instructions)
        assert shown.reason == CheckpointFailureReason.METADATA_WRITE_FAILED.name
        assert told(instructions) == [m.NotifyAborted(1)]
        assert subject.outcome is None

    @pytest.mark.parametrize("durable", [False, True], ids=["metadata", "log"])
    def test_a_driver_that_has_lost_the_job_fails_by_that(self, durable: bool) -> None:
        subject, fence = machine(PERIODIC, logged=True), JobFencedError("taken over")
        subject.handle(100, a.Woken())
        stored(subject, 110, 1) if durable else acknowledged(subject, 1, 110)
        instructions = subject.handle(120, s.CheckpointNotStored(1, fence))
        assert of(a.End, instructions) == [a.End(fence)]
        assert m.NotifyComplete(1) not in told(instructions)

    def test_an_id_is_reserved_before_it_is_used(self) -> None:
        subject = machine(PERIODIC, logged=True, ids_to=0)
        assert subject.handle(100, a.Woken()) == [s.ReserveIds(1)]
        assert subject.handle(110, a.Woken()) == [], "once"
        assert of(a.PlaceBarrier, subject.handle(120, s.IdsReserved(10)))

    def test_a_savepoint_that_cannot_begin_fails_alone_and_another_checkpoint_fails_the_attempt(self) -> None:
        savepoints, error = Savepoints(JOB), OSError("offsets are gone")
        subject = machine(PERIODIC, savepoints=savepoints)
        savepoints.request("/savepoints")
        subject.handle(1, a.Woken())
        [failed] = of(a.FailSavepoint, subject.handle(2, a.BarrierFailed(1, error)))
        assert "it could not begin: offsets are gone" in failed.message
        subject.handle(100, a.Woken())
        assert subject.handle(101, a.BarrierFailed(2, error)) == [a.End(error)]


class TestFailures:
    def test_what_a_slot_said_ends_the_attempt_at_once(self) -> None:
        assert machine().handle(1, a.Failed(LOST)) == [a.End(LOST)]

    @pytest.mark.parametrize("named", [True, False])
    def test_of_what_spark_said_a_better_cause_is_waited_for(self, named: bool) -> None:
        subject, spark = machine(PERIODIC), RuntimeError("a stage failed")
        assert subject.handle(1, a.Failed(spark, primary=False)) == [a.AwaitCause()]
        assert subject.handle(500, a.Woken()) == [], "nothing is begun meanwhile"
        assert subject.handle(501, EpochWaits(2)) == []
        assert subject.handle(502, a.Failed(LOST) if named else a.CauseOverdue()) == [a.End(LOST if named else spark)]

    def test_there_is_one_outcome(self) -> None:
        subject = machine()
        subject.handle(1, a.CancelRequested())
        assert subject.handle(2, a.Failed(LOST)) == []
        assert subject.outcome is a.Outcome.CANCELLED

    def test_a_checkpoint_that_is_noted_after_the_failure_is_complete_for_the_next_attempt(self) -> None:
        subject = machine(PERIODIC, logged=True)
        subject.handle(100, a.Woken())
        stored(subject, 110, 1)
        subject.handle(120, a.Failed(LOST))
        assert subject.handle(130, s.CheckpointNoted(1, location(1), None)) == []
        assert told(subject.close(140, LOST)) == [m.NotifyComplete(1)]
        latest = subject.coordinator.successor(1, frozenset({0}), 150).latest_completed()
        assert latest is not None
        assert latest.checkpoint_id == 1

    @pytest.mark.parametrize("durable", [True, False])
    def test_one_that_was_only_written_is_given_up(self, durable: bool) -> None:
        subject = machine(PERIODIC, logged=True)
        subject.handle(100, a.Woken())
        acknowledged(subject, 1, 110)
        subject.handle(120, a.Failed(LOST))
        subject.handle(130, s.MetadataStored(1, location(1)) if durable else s.CheckpointNotStored(1, FULL))
        instructions = subject.close(140, LOST)
        assert told(instructions) == [m.NotifyAborted(1)]
        assert s.DiscardFiles(1) in instructions

    @pytest.mark.parametrize("noting", [True, False])
    def test_files_of_one_whose_outcome_is_not_known_stay_if_the_log_may_name_it(self, noting: bool) -> None:
        subject, bug = machine(PERIODIC, logged=True), KeyError("a bug")
        subject.handle(100, a.Woken())
        stored(subject, 110, 1) if noting else acknowledged(subject, 1, 110)
        subject.handle(120, a.Failed(bug))
        instructions = subject.close(130, bug)
        assert told(instructions) == [m.NotifyAborted(1)]
        assert (s.DiscardFiles(1) in instructions) is not noting


class TestTheEnd:
    def test_a_last_checkpoint_commits_all_output_and_all_slots_say_so(self) -> None:
        subject = machine(PERIODIC, slots=2)
        subject.handle(1, EpochWaits(1))
        [barrier] = subject.handle(2, EpochEnded(1, finished=True))
        assert barrier == a.PlaceBarrier(m.TriggerSnapshot(1, 1, timestamp=2))
        for slot in (0, 1):
            subject.handle(3, a.SnapshotTaken(0, 1, slot, snapshot(slot)))
        assert told(subject.handle(4, s.MetadataStored(1, location(1)))) == [m.NotifyComplete(1)]
        assert subject.handle(5, a.OutputCommitted(0, 1)) == []
        assert subject.handle(6, a.OutputCommitted(1, 1)) == [a.End(a.Outcome.FINISHED)]

    def test_a_last_checkpoint_that_fails_is_taken_again_after_a_pause(self) -> None:
        subject = machine(PERIODIC)
        for number, now in enumerate((2, 1_002, 2_002), 1):
            begun = subject.handle(now, EpochEnded(1, finished=True) if number == 1 else a.Woken())
            assert [barrier.order.checkpoint_id for barrier in of(a.PlaceBarrier, begun)] == [number]
            declined = subject.handle(now + 1, a.SnapshotDeclined(0, number, 0, "no room"))
            assert not of(a.PlaceBarrier, declined), "with nothing else to do, it would fail many times in a second"
            assert subject.next_due(now + 999) == now + 1_000

    def test_without_checkpoints_the_log_knows_before_output_is_committed(self) -> None:
        subject = machine(ends_with_checkpoint=False)
        assert subject.handle(2, EpochEnded(1, finished=True)) == [s.NoteOutput()]
        assert subject.handle(3, a.Woken()) == []
        assert subject.handle(4, s.OutputNoted()) == [a.TellSlots(m.CommitFinal(1))]
        assert subject.handle(5, a.OutputCommitted(0, 0)) == [a.End(a.Outcome.FINISHED)]


class TestRowsForTheDriver:
    def with_rows(self, checkpoint_id: int, savepoint: bool = False) -> StoredCheckpoint:
        rows = StagedRows(checkpoint_id, 1, StoredFile(1, 0, f"../shared/rows-{checkpoint_id}.parquet", shared=True))
        sink = OperatorMetadata("sink", "sink", 1, 128, [], {}, [rows])
        metadata = CheckpointMetadata(checkpoint_id, JOB, "name", 0, 0, [sink], [], [], savepoint)
        return StoredCheckpoint(metadata, LocalCheckpointFiles("/checkpoints"), f"chk-{checkpoint_id}")

    def completed(self, subject: AttemptMachine, now: int, checkpoint_id: int) -> list[a.Instruction]:
        acknowledged(subject, checkpoint_id, now)
        return subject.handle(now, s.MetadataStored(checkpoint_id, self.with_rows(checkpoint_id)))

    def test_are_committed_when_the_checkpoint_is_complete(self) -> None:
        subject = machine(PERIODIC)
        subject.handle(100, EpochWaits(1))
        [order] = of(a.CommitRows, self.completed(subject, 101, 1))
        assert order.checkpoint.location.metadata == self.with_rows(1).metadata

    def test_are_not_committed_before_the_log_has_the_checkpoint(self) -> None:
        subject = machine(PERIODIC, logged=True)
        subject.handle(100, EpochWaits(1))
        instructions = self.completed(subject, 101, 1)
        assert of(s.NoteCheckpoint, instructions)
        assert not of(a.CommitRows, instructions)
        assert of(a.CommitRows, subject.handle(102, s.CheckpointNoted(1, self.with_rows(1), None)))

    def test_hold_the_next_barrier_and_no_epoch(self) -> None:
        subject = machine(PERIODIC)
        subject.handle(100, EpochWaits(1))
        self.completed(subject, 101, 1)
        assert subject.handle(250, EpochEnded(1, more=True)) == [a.Tick()]
        assert subject.handle(251, EpochWaits(2)) == [a.BeginEpoch(2)]
        due = subject.next_due(260)
        assert due is None or due > 260, "nobody looks at the clock meanwhile"
        subject.handle(270, EpochEnded(2))
        assert of(a.PlaceBarrier, subject.handle(280, a.RowsCommitted(1)))

    def test_of_checkpoints_that_overlap_are_committed_one_after_the_other(self) -> None:
        subject = machine(PERIODIC)
        assert of(a.PlaceBarrier, subject.handle(100, EpochWaits(1)))
        assert of(a.PlaceBarrier, subject.handle(210, EpochEnded(1)))
        assert of(a.CommitRows, self.completed(subject, 211, 1))
        assert not of(a.CommitRows, self.completed(subject, 212, 2))
        [order] = of(a.CommitRows, subject.handle(213, a.RowsCommitted(1)))
        assert order.checkpoint.checkpoint_id == 2

    def test_of_a_savepoint_in_passing_are_left_to_the_next_checkpoint(self) -> None:
        savepoints = Savepoints(JOB)
        subject = machine(PERIODIC, savepoints=savepoints)
        savepoints.request("/savepoints")
        subject.handle(2, EpochWaits(1))
        acknowledged(subject, 1, 3)
        assert not of(a.CommitRows, subject.handle(4, s.MetadataStored(1, self.with_rows(1, savepoint=True))))

    def test_let_the_job_wait_for_its_end(self) -> None:
        subject = machine(PERIODIC)
        subject.handle(2, EpochEnded(1, finished=True))
        assert of(a.CommitRows, self.completed(subject, 3, 1))
        assert subject.handle(4, a.OutputCommitted(0, 1)) == []
        assert subject.handle(5, a.RowsCommitted(1)) == [a.End(a.Outcome.FINISHED)]

    def test_let_the_job_wait_for_the_slots_as_well(self) -> None:
        subject = machine(PERIODIC)
        subject.handle(2, EpochEnded(1, finished=True))
        self.completed(subject, 3, 1)
        assert subject.handle(4, a.RowsCommitted(1)) == []
        assert subject.handle(5, a.OutputCommitted(0, 1)) == [a.End(a.Outcome.FINISHED)]

    def test_of_a_job_without_checkpoints_are_committed_when_all_slots_have_named_theirs(self) -> None:
        subject = machine(ends_with_checkpoint=False, slots=2)
        subject.handle(2, EpochEnded(1, finished=True))
        assert told(subject.handle(3, s.OutputNoted())) == [m.CommitFinal(1)]
        rows = StagedRows(1, 3, StoredFile(1, 0, "../shared/rows-0.parquet"))
        assert subject.handle(4, a.OutputCommitted(0, 0, {"sink": [rows]})) == []
        assert subject.handle(5, a.OutputCommitted(1, 0, {"sink": []})) == [a.CommitLastRows({"sink": [rows]})]
        assert subject.handle(6, a.RowsCommitted(0)) == [a.End(a.Outcome.FINISHED)]

    def test_whose_writer_fails_fail_the_attempt(self) -> None:
        subject = machine(PERIODIC)
        subject.handle(100, EpochWaits(1))
        self.completed(subject, 101, 1)
        error = UserCodeError("sink", 0, "ValueError: no", "")
        assert subject.handle(102, a.Failed(error)) == [a.End(error)]
        assert subject.handle(103, a.RowsCommitted(1)) == [], "one that comes late changes nothing"

    def test_of_a_checkpoint_that_is_complete_after_a_failure_are_left_to_the_next_attempt(self) -> None:
        subject = machine(PERIODIC, logged=True)
        subject.handle(100, EpochWaits(1))
        assert of(s.NoteCheckpoint, self.completed(subject, 101, 1))
        error = UserCodeError("map", 0, "ValueError: no", "")
        subject.handle(102, a.Failed(error))
        subject.handle(103, s.CheckpointNoted(1, self.with_rows(1), None))
        instructions = subject.close(104, error)
        latest = subject.coordinator.latest_completed()
        assert latest is not None
        assert latest.checkpoint_id == 1, "the next attempt goes on from it, and commits its rows"
        assert not of(a.CommitRows, instructions), "a second thread would write the same rows at the same time"


class TestStop:
    def stopped(self, mode: StopMode) -> tuple[AttemptMachine, Stopping]:
        stopping = Stopping()
        subject = machine(PERIODIC, stopping=stopping)
        subject.handle(1, EpochWaits(1))
        stopping.request(mode, "/savepoints")
        assert subject.handle(2, a.Woken()) == [], "not in the middle of an epoch"
        return subject, stopping

    def test_no_epoch_begins_after_the_barrier_and_the_job_is_finished_when_all_is_committed(self) -> None:
        subject, stopping = self.stopped(StopMode.SUSPEND)
        _, barrier = subject.handle(3, EpochEnded(1, more=True))
        assert isinstance(barrier, a.PlaceBarrier)
        assert subject.handle(4, EpochWaits(2)) == []
        assert subject.handle(500, a.Woken()) == [], "nor another checkpoint"
        instructions = stored(subject, 501, 1, savepoint=True)
        assert told(instructions) == [m.NotifyComplete(1)]
        assert stopping.savepoint == barrier.order.savepoint
        assert subject.handle(502, a.OutputCommitted(0, 1)) == [a.End(a.Outcome.FINISHED)]

    @pytest.mark.parametrize("stored_at_last", [True, False])
    def test_a_cancel_with_savepoint_waits_for_a_checkpoint_under_way_which_would_commit_the_same(
        self, stored_at_last: bool
    ) -> None:
        stopping = Stopping()
        subject = machine(PERIODIC, stopping=stopping)
        [barrier, _] = subject.handle(100, EpochWaits(1))
        assert isinstance(barrier, a.PlaceBarrier)
        stopping.request(StopMode.CANCEL, "/savepoints")
        assert not of(a.PlaceBarrier, subject.handle(101, EpochEnded(1, more=True)))
        assert subject.handle(102, EpochWaits(2)) == [], "no epoch begins meanwhile"
        assert not of(a.PlaceBarrier, acknowledged(subject, 1, 103))
        if stored_at_last:
            instructions = subject.handle(104, s.MetadataStored(1, location(1)))
        else:
            instructions = subject.handle(104, s.CheckpointNotStored(1, FULL))
        [begun] = of(a.PlaceBarrier, instructions)
        assert begun.order.checkpoint_id == 2
        assert begun.order.savepoint is not None
        assert not of(a.End, stored(subject, 105, 2, savepoint=True)), "the slots have yet to make it safe"
        assert of(a.End, subject.handle(106, a.OutputCommitted(0, 2))) == [a.End(a.Outcome.CANCELLED)]

    def test_a_savepoint_that_fails_lets_epochs_go_on(self) -> None:
        subject, stopping = self.stopped(StopMode.SUSPEND)
        subject.handle(3, EpochEnded(1, more=True))
        subject.handle(4, EpochWaits(2))
        instructions = subject.handle(5, a.SnapshotDeclined(0, 1, 0, "disk full"))
        assert of(a.GiveUpStop, instructions)
        assert a.BeginEpoch(2) in instructions
        assert not stopping.waiting

    def test_with_drain_epochs_go_on_without_sources_until_all_is_processed(self) -> None:
        subject, _ = self.stopped(StopMode.DRAIN)
        assert subject.handle(3, EpochEnded(1)) == [a.DrainSources(1), a.Tick()]
        assert subject.handle(4, EpochWaits(2)) == [a.BeginEpoch(2)]
        assert of(a.PlaceBarrier, subject.handle(5, EpochEnded(2, finished=True)))

    def test_a_drain_that_fails_goes_back_to_the_checkpoint(self) -> None:
        subject, _ = self.stopped(StopMode.DRAIN)
        subject.handle(3, EpochEnded(1))
        subject.handle(4, EpochWaits(2))
        subject.handle(5, EpochEnded(2, finished=True))
        [end] = of(a.End, subject.handle(6, a.SnapshotDeclined(0, 1, 0, "disk full")))
        assert isinstance(end.outcome, StopFailedError)

    def test_an_attempt_that_fails_leaves_the_request_to_the_next(self) -> None:
        subject, stopping = self.stopped(StopMode.SUSPEND)
        subject.handle(3, EpochEnded(1))
        subject.handle(4, a.Failed(LOST))
        instructions = subject.close(5, LOST)
        assert of(a.GiveUpStop, instructions) == []
        assert a.InterruptStop(str(LOST)) in instructions
        assert stopping.waiting


class TestRequestedCheckpoints:
    def test_one_begins_between_two_epochs_and_is_told_when_it_is_complete(self) -> None:
        requested = RequestedCheckpoints()
        subject = machine(PERIODIC, requested=requested)
        subject.handle(1, EpochWaits(1))
        future = requested.request()
        assert of(a.PlaceBarrier, subject.handle(2, a.Woken())) == []
        assert len(of(a.PlaceBarrier, subject.handle(3, EpochEnded(1)))) == 1
        assert future.running()
        assert a.CompleteRequested(1) in stored(subject, 4, 1)
        requested.completed(1)
        assert future.result(0) == 1

    def test_the_periodic_one_that_begins_first_serves_all_that_wait(self) -> None:
        requested = RequestedCheckpoints()
        subject = machine(PERIODIC, requested=requested)
        futures = [requested.request(), requested.request(full=True)]
        (barrier,) = of(a.PlaceBarrier, subject.handle(100, a.Woken()))
        assert barrier.order.base_id is None
        assert not requested.waiting
        assert all(future.running() for future in futures)

    def test_one_that_fails_is_told_why_and_one_that_waits_survives_a_restart(self) -> None:
        requested = RequestedCheckpoints()
        subject = machine(PERIODIC, requested=requested)
        begun = requested.request()
        subject.handle(1, a.Woken())
        waits = requested.request()
        subject.handle(2, a.Failed(LOST))
        (failure,) = of(a.FailRequested, subject.close(3, LOST))
        requested.failed(failure.checkpoint_id, failure.message)
        assert "the job failed" in str(begun.exception(0))
        assert not waits.done()
        again = subject.coordinator.successor(1, frozenset({0}), 4)
        after = machine(PERIODIC, coordinator=again, requested=requested)
        assert len(of(a.PlaceBarrier, after.handle(5, a.Woken()))) == 1
        assert waits.running()

    def test_the_last_one_of_a_job_serves_who_waits(self) -> None:
        requested = RequestedCheckpoints()
        subject = machine(PERIODIC, requested=requested)
        subject.handle(1, EpochWaits(1))
        future = requested.request()
        subject.handle(2, EpochEnded(1, finished=True))
        assert future.running()

    def test_who_waits_is_turned_away_when_the_job_ends(self) -> None:
        requested = RequestedCheckpoints()
        future = requested.request()
        requested.job_ended("CANCELED")
        for late in (future, requested.request()):
            with pytest.raises(CheckpointError, match="no checkpoint was taken: the job had ended"):
                late.result(0)

    def test_who_thinks_better_of_it_gets_none(self) -> None:
        requested = RequestedCheckpoints()
        requested.request(full=True).cancel()
        assert not requested.begin(1)
        assert not requested.serves(1)
