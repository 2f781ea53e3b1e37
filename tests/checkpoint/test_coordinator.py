"""The rules of the checkpoint coordinator, one test each."""

from __future__ import annotations

from typing import Any, TypeVar

import pytest

from rekindle.checkpoint.aborted_ids import AbortedCheckpointIds
from rekindle.checkpoint.completed_checkpoint import CompletedCheckpoint
from rekindle.checkpoint.completed_checkpoint_store import CompletedCheckpointStore
from rekindle.checkpoint.coordinator import CheckpointCoordinator
from rekindle.checkpoint.events import (
    CheckpointAcknowledged,
    CheckpointFailureReason,
    CheckpointTriggered,
    DiscardCheckpoint,
    DiscardState,
    DropCompleted,
    FailJob,
    Instruction,
    NotifyAborted,
    NotifyComplete,
    ReportSavepointFailure,
    TriggerCheckpoint,
    WriteMetadata,
)
from rekindle.checkpoint.options import CheckpointOptions
from rekindle.checkpoint.slot_snapshot import SlotSnapshot
from rekindle.checkpoint.statistics import CheckpointStatistics, CheckpointStatus
from rekindle.exceptions import CheckpointError, ConfigurationError, InvalidCheckpointTransitionError
from support.slot_snapshots import completed as completed_checkpoint
from support.slot_snapshots import snapshot, stored

Kind = TypeVar("Kind")

REASON = CheckpointFailureReason
INTERVAL = 100
TIMEOUT = 1_000
SLOTS = frozenset({0, 1})


def coordinator(
    attempt: int = 1,
    next_checkpoint_id: int = 1,
    now: int = 0,
    completed: tuple[CompletedCheckpoint, ...] = (),
    aborted_ids: tuple[int, ...] | None = None,
    **options: Any,
) -> CheckpointCoordinator:
    settings: dict[str, Any] = {"interval_ms": INTERVAL, "timeout_ms": TIMEOUT, "mode_exactly_once": True}
    return CheckpointCoordinator(
        CheckpointOptions(**(settings | options)),
        SLOTS,
        attempt,
        next_checkpoint_id,
        now,
        completed,
        aborted_ids=aborted_ids,
    )


def trigger(subject: CheckpointCoordinator, now: int, **kinds: bool) -> int:
    """Trigger and return the id."""
    [instruction] = subject.trigger(now, epoch=now, **kinds)
    assert isinstance(instruction, TriggerCheckpoint)
    return instruction.checkpoint_id


def acknowledge_all(subject: CheckpointCoordinator, now: int, checkpoint_id: int) -> list[Instruction]:
    """Acknowledge from all slots and return what the last one led to."""
    instructions: list[Instruction] = []
    for slot in sorted(SLOTS):
        assert instructions == []
        instructions = subject.acknowledge(now, subject.attempt, checkpoint_id, slot, snap(checkpoint_id, slot))
    return instructions


def complete(subject: CheckpointCoordinator, now: int, checkpoint_id: int) -> list[Instruction]:
    acknowledge_all(subject, now, checkpoint_id)
    return subject.metadata_written(now, checkpoint_id, stored(checkpoint_id))


def run(subject: CheckpointCoordinator, now: int, **kinds: bool) -> list[Instruction]:
    """Take one checkpoint from trigger to completion."""
    return complete(subject, now, trigger(subject, now, **kinds))


def fail(subject: CheckpointCoordinator, now: int, checkpoint_id: int) -> list[Instruction]:
    return subject.decline(now, subject.attempt, checkpoint_id, 0, REASON.DECLINED, "disk full")


def of(kind: type[Kind], instructions: list[Instruction]) -> list[Kind]:
    return [instruction for instruction in instructions if isinstance(instruction, kind)]


def snap(checkpoint_id: int, slot: int) -> SlotSnapshot:
    return snapshot(slot, f"{checkpoint_id}.{slot}")


def snaps(checkpoint_id: int, *slots: int) -> tuple[SlotSnapshot, ...]:
    return tuple(snap(checkpoint_id, slot) for slot in slots)


def done(checkpoint_id: int, savepoint: bool = False) -> CompletedCheckpoint:
    return completed_checkpoint(checkpoint_id, savepoint)


class TestOptions:
    def test_a_minimum_pause_allows_only_one_checkpoint_at_a_time(self) -> None:
        assert CheckpointOptions(100, min_pause_ms=1, max_concurrent=5).max_concurrent == 1
        assert CheckpointOptions(100, min_pause_ms=0, max_concurrent=5).max_concurrent == 5

    @pytest.mark.parametrize(
        ("setting", "value", "key"),
        [
            ("interval_ms", 0, "execution.checkpointing.interval"),
            ("timeout_ms", 0, "execution.checkpointing.timeout"),
            ("min_pause_ms", -1, "execution.checkpointing.min-pause"),
            ("max_concurrent", 0, "execution.checkpointing.max-concurrent-checkpoints"),
            ("tolerable_failures", -1, "execution.checkpointing.tolerable-failed-checkpoints"),
            ("num_retained", 0, "state.checkpoints.num-retained"),
        ],
    )
    def test_a_setting_that_cannot_work_is_named_with_its_value(self, setting: str, value: int, key: str) -> None:
        with pytest.raises(ConfigurationError, match=rf"^{key} is {value},"):
            CheckpointOptions(**{"interval_ms": 100, setting: value})

    def test_defaults_are_flinks(self) -> None:
        options = CheckpointOptions(None)
        assert (options.timeout_ms, options.min_pause_ms, options.max_concurrent) == (600_000, 0, 1)
        assert (options.tolerable_failures, options.num_retained) == (0, 1)


class TestWhenACheckpointIsDue:
    def test_one_interval_after_the_start(self) -> None:
        subject = coordinator(now=1_000)
        assert not subject.trigger_due(1_099)
        assert subject.trigger_due(1_100)
        assert subject.next_event_at(1_000) == 1_100

    def test_one_interval_after_the_last_trigger(self) -> None:
        subject = coordinator()
        run(subject, 130)
        assert not subject.trigger_due(229)
        assert subject.trigger_due(230)

    def test_never_without_an_interval(self) -> None:
        subject = coordinator(interval_ms=None)
        assert not subject.trigger_due(10**9)
        assert subject.next_event_at(0) is None

    def test_not_while_the_maximum_is_pending(self) -> None:
        subject = coordinator(max_concurrent=2)
        first = trigger(subject, 100)
        assert subject.trigger_due(200)
        trigger(subject, 200)
        assert not subject.trigger_due(300)
        complete(subject, 310, first)
        assert subject.trigger_due(310)

    def test_not_before_the_minimum_pause_after_a_completion(self) -> None:
        subject = coordinator(min_pause_ms=70)
        complete(subject, 190, trigger(subject, 100))
        assert not subject.trigger_due(259)
        assert subject.trigger_due(260)
        assert subject.next_event_at(200) == 260

    def test_not_before_the_minimum_pause_after_a_failure(self) -> None:
        subject = coordinator(min_pause_ms=70, tolerable_failures=9)
        fail(subject, 190, trigger(subject, 100))
        assert not subject.trigger_due(259)
        assert subject.trigger_due(260)

    def test_a_savepoint_neither_waits_nor_makes_wait(self) -> None:
        subject = coordinator(min_pause_ms=70)
        periodic = trigger(subject, 100)
        savepoint = trigger(subject, 101, savepoint=True)
        assert subject.pending_ids() == (periodic, savepoint)
        complete(subject, 110, periodic)
        assert subject.trigger_due(200)
        complete(subject, 199, savepoint)
        assert subject.trigger_due(200)

    @pytest.mark.parametrize("savepoint", [False, True])
    def test_not_while_a_final_one_is_pending_nor_after_it(self, savepoint: bool) -> None:
        subject = coordinator(tolerable_failures=1, max_concurrent=9)
        final = trigger(subject, 50, final=True, savepoint=savepoint)
        assert not subject.trigger_due(500)
        fail(subject, 500, final)
        assert subject.trigger_due(500)
        complete(subject, 510, trigger(subject, 500, final=True, savepoint=savepoint))
        assert not subject.trigger_due(10_000)

    def test_not_once_the_job_is_to_fail(self) -> None:
        subject = coordinator()
        fail(subject, 100, trigger(subject, 100))
        assert not subject.trigger_due(10_000)


class TestNextEvent:
    def test_is_the_expiry_when_that_comes_first(self) -> None:
        subject = coordinator(max_concurrent=2, timeout_ms=30)
        trigger(subject, 100)
        assert subject.next_event_at(100) == 130
        assert subject.next_event_at(130) == 200

    def test_is_none_when_only_a_message_can_change_anything(self) -> None:
        subject = coordinator()
        trigger(subject, 100)
        assert subject.next_event_at(100) == 100 + TIMEOUT
        assert subject.next_event_at(100 + TIMEOUT) is None

    def test_lies_in_the_future_when_a_trigger_is_due_already(self) -> None:
        subject = coordinator()
        assert subject.trigger_due(150)
        assert subject.next_event_at(150) is None


class TestTrigger:
    def test_tells_all_slots_id_epoch_and_time(self) -> None:
        subject = coordinator(attempt=3, next_checkpoint_id=7)
        instructions = subject.trigger(100, epoch=42)
        assert instructions == [TriggerCheckpoint(7, 42, 100, savepoint=False)]
        assert subject.pending_ids() == (7,)
        assert subject.next_checkpoint_id == 8

    def test_savepoints_and_final_ones_take_the_next_id_too(self) -> None:
        subject = coordinator()
        assert subject.trigger(1, 5, savepoint=True) == [TriggerCheckpoint(1, 5, 1, True)]
        assert subject.trigger(2, 6, final=True) == [TriggerCheckpoint(2, 6, 2, False)]

    def test_names_the_newest_completed_checkpoint_as_the_one_to_build_on(self) -> None:
        subject = coordinator(max_concurrent=3)
        run(subject, 100)
        orders = [subject.trigger(now, now)[0] for now in (200, 300)]
        assert [order.base_id for order in of(TriggerCheckpoint, orders)] == [1, 1]
        complete(subject, 310, 2)
        [order] = of(TriggerCheckpoint, subject.trigger(400, 400))
        assert order.base_id == 2

    def test_a_savepoint_builds_on_nothing_and_nothing_builds_on_a_savepoint(self) -> None:
        subject = coordinator()
        run(subject, 100)
        [order] = of(TriggerCheckpoint, subject.trigger(110, 110, savepoint=True))
        assert order.base_id is None
        complete(subject, 120, 2)
        [order] = of(TriggerCheckpoint, subject.trigger(200, 200))
        assert order.base_id == 1

    def test_what_the_job_was_started_from_is_not_built_on(self) -> None:
        subject = coordinator(next_checkpoint_id=5, completed=(done(4, savepoint=True),))
        [order] = of(TriggerCheckpoint, subject.trigger(100, 100))
        assert order.base_id is None

    def test_a_periodic_one_that_is_not_due_is_a_bug(self) -> None:
        subject = coordinator()
        with pytest.raises(InvalidCheckpointTransitionError, match="none is due"):
            trigger(subject, 99)

    def test_after_the_end_of_the_attempt_is_a_bug(self) -> None:
        subject = coordinator()
        subject.abort_all(10, REASON.JOB_CANCELLED)
        with pytest.raises(InvalidCheckpointTransitionError, match="had ended"):
            trigger(subject, 100, savepoint=True)


class TestAcknowledge:
    def test_the_last_one_leads_to_the_metadata_with_acks_by_slot(self) -> None:
        subject = coordinator()
        checkpoint_id = trigger(subject, 100)
        assert subject.acknowledge(110, 1, checkpoint_id, 1, snap(1, 1)) == []
        assert subject.acknowledge(120, 1, checkpoint_id, 0, snap(1, 0)) == [
            WriteMetadata(1, 100, 100, snaps(1, 0, 1), savepoint=False, final=False)
        ]
        assert subject.outstanding_write_ids() == (1,)
        assert subject.pending_ids() == (1,)

    def test_a_duplicate_while_pending_changes_nothing(self) -> None:
        subject = coordinator()
        checkpoint_id = trigger(subject, 100)
        subject.acknowledge(110, 1, checkpoint_id, 0, snap(1, 0))
        assert subject.acknowledge(111, 1, checkpoint_id, 0, snap(9, 9)) == []
        [write] = of(WriteMetadata, subject.acknowledge(112, 1, checkpoint_id, 1, snap(1, 1)))
        assert write.snapshots == snaps(1, 0, 1)

    def test_a_duplicate_while_writing_changes_nothing(self) -> None:
        subject = coordinator()
        checkpoint_id = trigger(subject, 100)
        acknowledge_all(subject, 110, checkpoint_id)
        assert subject.acknowledge(111, 1, checkpoint_id, 0, snap(1, 0)) == []

    def test_a_duplicate_after_completion_leaves_the_files_in_use_alone(self) -> None:
        subject = coordinator()
        run(subject, 100)
        assert subject.acknowledge(120, 1, 1, 0, snap(1, 0)) == []

    def test_a_duplicate_of_a_dropped_checkpoint_leaves_files_alone_that_others_may_share(self) -> None:
        subject = coordinator()
        run(subject, 100)
        assert of(DropCompleted, run(subject, 200))
        assert subject.acknowledge(220, 1, 1, 0, snap(1, 0)) == []

    def test_a_duplicate_of_a_completed_savepoint_leaves_it_alone(self) -> None:
        subject = coordinator()
        run(subject, 10, savepoint=True)
        assert subject.acknowledge(20, 1, 1, 0, snap(1, 0)) == []

    def test_a_late_one_has_its_state_discarded(self) -> None:
        subject = coordinator(tolerable_failures=1)
        fail(subject, 110, trigger(subject, 100))
        assert subject.acknowledge(120, 1, 1, 1, snap(1, 1)) == [DiscardState(1, snap(1, 1))]

    def test_one_of_an_old_attempt_has_its_state_discarded(self) -> None:
        subject = coordinator(attempt=2, next_checkpoint_id=6, completed=(done(4),))
        assert subject.acknowledge(10, 1, 5, 0, snap(5, 0)) == [DiscardState(5, snap(5, 0))]

    def test_one_of_an_old_attempt_never_touches_a_retained_checkpoint(self) -> None:
        subject = coordinator(attempt=2, next_checkpoint_id=6, completed=(done(3), done(4)), num_retained=2)
        assert subject.acknowledge(10, 1, 3, 0, snap(3, 0)) == []
        assert subject.acknowledge(10, 1, 4, 0, snap(4, 0)) == []

    def test_one_of_an_old_attempt_does_not_count_for_a_pending_checkpoint(self) -> None:
        subject = coordinator(attempt=2)
        checkpoint_id = trigger(subject, 100)
        subject.acknowledge(110, 2, checkpoint_id, 0, snap(1, 0))
        assert subject.acknowledge(110, 1, checkpoint_id, 1, snap(9, 9)) == []
        assert of(WriteMetadata, subject.acknowledge(110, 2, checkpoint_id, 1, snap(1, 1)))[0].snapshots == snaps(
            1, 0, 1
        )

    def test_one_for_an_id_never_triggered_changes_nothing(self) -> None:
        assert coordinator().acknowledge(10, 1, 1, 0, snap(1, 0)) == []

    def test_one_from_a_slot_that_takes_no_part_changes_nothing(self) -> None:
        subject = coordinator()
        checkpoint_id = trigger(subject, 100)
        assert subject.acknowledge(110, 1, checkpoint_id, 9, snap(1, 9)) == []
        assert of(WriteMetadata, acknowledge_all(subject, 120, checkpoint_id))[0].snapshots == snaps(1, 0, 1)


class TestCompletion:
    def test_notifies_the_slots_and_becomes_the_latest(self) -> None:
        subject = coordinator()
        acknowledge_all(subject, 110, trigger(subject, 100))
        assert subject.metadata_written(130, 1, stored(1, 77)) == [NotifyComplete(1, savepoint=False, final=False)]
        latest = completed_checkpoint(1, duration_ms=30, size=77)
        assert subject.latest_completed() == latest
        assert subject.completed() == (latest,)
        assert subject.pending_ids() == ()
        assert subject.outstanding_write_ids() == ()

    def test_is_not_reached_before_the_metadata_is_written(self) -> None:
        subject = coordinator()
        acknowledge_all(subject, 110, trigger(subject, 100))
        assert subject.latest_completed() is None

    def test_drops_what_exceeds_the_number_retained(self) -> None:
        subject = coordinator(num_retained=2)
        run(subject, 100)
        assert of(DropCompleted, run(subject, 200)) == []
        [dropped] = of(DropCompleted, run(subject, 300))
        assert dropped.checkpoint.checkpoint_id == 1
        assert [checkpoint.checkpoint_id for checkpoint in subject.completed()] == [2, 3]

    def test_drops_all_that_a_lowered_number_retained_exceeds(self) -> None:
        completed = (done(1), done(2), done(3))
        subject = coordinator(attempt=2, next_checkpoint_id=4, completed=completed)
        instructions = run(subject, 100)
        assert of(DropCompleted, instructions) == [DropCompleted(checkpoint) for checkpoint in completed]

    def test_subsumes_older_pending_ones(self) -> None:
        subject = coordinator(max_concurrent=3)
        for now in (100, 200, 300):
            trigger(subject, now)
        subject.acknowledge(310, 1, 1, 0, snap(1, 0))
        assert complete(subject, 320, 2) == [
            NotifyAborted(1, REASON.SUBSUMED),
            DiscardCheckpoint(1),
            NotifyComplete(2, savepoint=False, final=False),
        ]
        assert subject.pending_ids() == (3,)
        assert subject.acknowledge(330, 1, 1, 1, snap(1, 1)) == [DiscardState(1, snap(1, 1))]

    def test_subsumes_an_older_one_whose_metadata_is_being_written(self) -> None:
        subject = coordinator(max_concurrent=2)
        for now in (100, 200):
            acknowledge_all(subject, now, trigger(subject, now))
        assert subject.metadata_written(210, 2, stored(2)) == [
            NotifyAborted(1, REASON.SUBSUMED),
            NotifyComplete(2, savepoint=False, final=False),
        ]
        assert subject.outstanding_write_ids() == (1,)
        assert subject.acknowledge(211, 1, 1, 0, snap(1, 0)) == []
        assert subject.metadata_written(220, 1, stored(1)) == [DiscardCheckpoint(1)]
        latest = subject.latest_completed()
        assert latest is not None
        assert latest.checkpoint_id == 2
        assert subject.outstanding_write_ids() == ()

    def test_keeps_a_superseded_one_while_a_pending_one_may_share_its_files(self) -> None:
        subject = coordinator(max_concurrent=2)
        run(subject, 100)
        for now in (200, 300):
            trigger(subject, now)
        assert of(DropCompleted, complete(subject, 310, 2)) == []
        assert [checkpoint.checkpoint_id for checkpoint in subject.completed()] == [2]
        dropped = of(DropCompleted, complete(subject, 320, 3))
        assert [instruction.checkpoint.checkpoint_id for instruction in dropped] == [1, 2]

    @pytest.mark.parametrize("ending", ["declined", "expired", "write failed", "job failed"])
    def test_drops_a_superseded_one_when_the_pending_one_is_aborted(self, ending: str) -> None:
        subject = coordinator(max_concurrent=2, tolerable_failures=5)
        run(subject, 100)
        for now in (200, 300):
            trigger(subject, now)
        complete(subject, 310, 2)
        if ending == "declined":
            instructions = fail(subject, 320, 3)
        elif ending == "expired":
            instructions = subject.expire(300 + TIMEOUT)
        elif ending == "write failed":
            acknowledge_all(subject, 320, 3)
            instructions = subject.metadata_failed(330, 3, "no space")
        else:
            instructions = subject.abort_all(320, REASON.JOB_FAILED)
        [dropped] = of(DropCompleted, instructions)
        assert dropped.checkpoint.checkpoint_id == 1

    def test_drops_a_superseded_one_only_after_an_aborted_write_that_may_share_its_files(self) -> None:
        subject = coordinator(max_concurrent=2)
        run(subject, 100)
        for now in (200, 300):
            trigger(subject, now)
        complete(subject, 310, 2)
        acknowledge_all(subject, 320, 3)
        assert of(DropCompleted, subject.abort_all(330, REASON.JOB_FAILED)) == []
        successor = subject.successor(2, SLOTS, 340)
        discarded, dropped = successor.metadata_written(350, 3, stored(3))
        assert discarded == DiscardCheckpoint(3)
        assert isinstance(dropped, DropCompleted)
        assert dropped.checkpoint.checkpoint_id == 1

    def test_does_not_keep_a_superseded_one_for_a_savepoint_which_shares_nothing(self) -> None:
        subject = coordinator()
        run(subject, 100)
        trigger(subject, 150, savepoint=True)
        assert of(DropCompleted, run(subject, 200))

    def test_reported_for_one_that_is_not_being_written_is_a_bug(self) -> None:
        subject = coordinator()
        trigger(subject, 100)
        with pytest.raises(InvalidCheckpointTransitionError, match="checkpoint 1 was not being written"):
            subject.metadata_written(110, 1, stored(1))

    def test_reported_twice_is_a_bug(self) -> None:
        subject = coordinator()
        run(subject, 100)
        with pytest.raises(InvalidCheckpointTransitionError):
            subject.metadata_written(110, 1, stored(1))


class TestCommit:
    """Where a completed checkpoint is noted elsewhere, too, nothing aborts it from then on but the outcome."""

    def committing(self, **options: Any) -> CheckpointCoordinator:
        """Return a coordinator whose checkpoint 1 is being committed."""
        subject = coordinator(max_concurrent=3, tolerable_failures=9, **options)
        acknowledge_all(subject, 110, trigger(subject, 100))
        assert subject.begin_commit(1)
        return subject

    def test_it_neither_expires_nor_is_that_due(self) -> None:
        subject = self.committing()
        assert subject.expire(10**6) == []
        assert subject.next_event_at(10**6) is None

    def test_the_end_of_the_attempt_leaves_it_to_its_outcome(self) -> None:
        subject = self.committing()
        assert subject.abort_all(120, REASON.JOB_FAILED) == []
        with pytest.raises(InvalidCheckpointTransitionError):
            subject.successor(2, SLOTS, 130)
        assert of(NotifyComplete, subject.metadata_written(130, 1, stored(1)))
        latest = subject.successor(2, SLOTS, 140).latest_completed()
        assert latest is not None
        assert latest.checkpoint_id == 1

    def test_one_that_fails_is_aborted(self) -> None:
        subject = self.committing()
        assert subject.metadata_failed(120, 1, "no space") == [
            NotifyAborted(1, REASON.METADATA_WRITE_FAILED),
            DiscardCheckpoint(1),
        ]

    def test_one_that_was_aborted_before_is_not_begun(self) -> None:
        subject = coordinator(tolerable_failures=9)
        acknowledge_all(subject, 110, trigger(subject, 100))
        subject.expire(100 + TIMEOUT)
        assert not subject.begin_commit(1)
        assert subject.metadata_written(2_000, 1, stored(1)) == [DiscardCheckpoint(1)]

    def test_of_one_that_is_not_being_written_is_a_bug(self) -> None:
        subject = coordinator()
        trigger(subject, 100)
        with pytest.raises(InvalidCheckpointTransitionError, match="checkpoint 1 was not being written"):
            subject.begin_commit(1)


class TestSavepoints:
    def test_carry_their_kind_through_and_are_no_restore_point(self) -> None:
        subject = coordinator()
        [write] = of(WriteMetadata, acknowledge_all(subject, 20, trigger(subject, 10, savepoint=True)))
        assert write.savepoint
        [notification] = subject.metadata_written(30, 1, stored(1))
        assert notification == NotifyComplete(1, savepoint=True, final=False)
        assert not notification.is_restore_point
        assert subject.latest_completed() is None

    def test_subsume_nothing(self) -> None:
        subject = coordinator()
        periodic = trigger(subject, 100)
        assert of(NotifyAborted, run(subject, 110, savepoint=True)) == []
        assert subject.pending_ids() == (periodic,)

    def test_are_subsumed_by_nothing(self) -> None:
        subject = coordinator()
        savepoint = trigger(subject, 50, savepoint=True)
        assert of(NotifyAborted, run(subject, 100)) == []
        assert subject.pending_ids() == (savepoint,)
        assert of(NotifyComplete, complete(subject, 110, savepoint))

    def test_do_not_count_as_retained(self) -> None:
        subject = coordinator()
        run(subject, 100)
        assert of(DropCompleted, run(subject, 110, savepoint=True)) == []
        assert [checkpoint.checkpoint_id for checkpoint in subject.completed()] == [1]

    def test_one_the_job_was_started_from_is_restored_until_a_checkpoint_completes(self) -> None:
        start = done(7, savepoint=True)
        subject = coordinator(next_checkpoint_id=8, completed=(start,))
        assert subject.latest_completed() == start
        assert of(DropCompleted, run(subject, 100)) == []
        assert [checkpoint.checkpoint_id for checkpoint in subject.completed()] == [8]

    def test_one_the_job_ends_with_is_restored_since_sinks_commit_on_it(self) -> None:
        subject = coordinator()
        run(subject, 100)
        older = trigger(subject, 200)
        [notification] = run(subject, 210, savepoint=True, final=True)
        assert notification == NotifyComplete(3, savepoint=True, final=True)
        assert notification.is_restore_point
        complete(subject, 220, older)
        latest = subject.latest_completed()
        assert latest is not None
        assert latest.checkpoint_id == 3
        assert [checkpoint.checkpoint_id for checkpoint in subject.completed()] == [2, 3]

    def test_a_failed_one_is_reported_and_not_counted(self) -> None:
        subject = coordinator(tolerable_failures=0)
        assert fail(subject, 20, trigger(subject, 10, savepoint=True)) == [
            NotifyAborted(1, REASON.DECLINED),
            DiscardCheckpoint(1),
            ReportSavepointFailure(1, "Savepoint 1 failed: DECLINED, a subtask declined it (slot 0: disk full)."),
        ]
        assert subject.trigger_due(100)

    def test_a_successful_one_does_not_reset_the_failures_in_a_row(self) -> None:
        subject = coordinator(tolerable_failures=1)
        fail(subject, 100, trigger(subject, 100))
        run(subject, 150, savepoint=True)
        assert of(FailJob, fail(subject, 200, trigger(subject, 200)))

    def test_a_pending_one_times_out_like_a_checkpoint(self) -> None:
        subject = coordinator()
        trigger(subject, 10, savepoint=True)
        assert subject.expire(10 + TIMEOUT - 1) == []
        assert of(ReportSavepointFailure, subject.expire(10 + TIMEOUT))


class TestAbort:
    def test_a_decline_notifies_and_discards_what_was_acknowledged(self) -> None:
        subject = coordinator(tolerable_failures=1)
        checkpoint_id = trigger(subject, 100)
        subject.acknowledge(110, 1, checkpoint_id, 1, snap(1, 1))
        assert fail(subject, 120, checkpoint_id) == [
            NotifyAborted(1, REASON.DECLINED),
            DiscardCheckpoint(1),
        ]
        assert subject.pending_ids() == ()

    def test_a_late_or_foreign_decline_changes_nothing(self) -> None:
        subject = coordinator(attempt=2)
        checkpoint_id = trigger(subject, 100)
        assert subject.decline(110, 1, checkpoint_id, 0, REASON.DECLINED, "old attempt") == []
        assert subject.decline(110, 2, checkpoint_id, 9, REASON.DECLINED, "no participant") == []
        complete(subject, 120, checkpoint_id)
        assert subject.decline(130, 2, checkpoint_id, 0, REASON.DECLINED, "too late") == []
        assert [entry.status for entry in subject.history()] == [CheckpointStatus.COMPLETED]

    def test_expiry_takes_all_that_are_overdue_and_no_others(self) -> None:
        subject = coordinator(max_concurrent=3, tolerable_failures=9)
        for now in (100, 200, 300):
            trigger(subject, now)
        aborted = of(NotifyAborted, subject.expire(200 + TIMEOUT))
        assert [(each.checkpoint_id, each.reason) for each in aborted] == [
            (1, REASON.EXPIRED),
            (2, REASON.EXPIRED),
        ]
        assert subject.pending_ids() == (3,)

    def test_a_failed_metadata_write_discards_the_checkpoint(self) -> None:
        subject = coordinator(tolerable_failures=1)
        acknowledge_all(subject, 110, trigger(subject, 100))
        assert subject.metadata_failed(120, 1, "no space") == [
            NotifyAborted(1, REASON.METADATA_WRITE_FAILED),
            DiscardCheckpoint(1),
        ]
        assert subject.acknowledge(130, 1, 1, 0, snap(1, 0)) == [DiscardState(1, snap(1, 0))]

    @pytest.mark.parametrize("written", [False, True])
    def test_one_aborted_while_being_written_is_discarded_when_the_outcome_is_known(self, written: bool) -> None:
        subject = coordinator(tolerable_failures=1)
        acknowledge_all(subject, 110, trigger(subject, 100))
        assert subject.expire(100 + TIMEOUT) == [NotifyAborted(1, REASON.EXPIRED)]
        assert subject.outstanding_write_ids() == (1,)
        if written:
            instructions = subject.metadata_written(2_000, 1, stored(1))
        else:
            instructions = subject.metadata_failed(2_000, 1, "no space")
        assert instructions == [DiscardCheckpoint(1)]
        assert subject.latest_completed() is None

    def test_the_end_of_the_attempt_aborts_everything_and_closes(self) -> None:
        subject = coordinator(max_concurrent=2)
        for now in (100, 200):
            trigger(subject, now)
        acknowledge_all(subject, 210, 2)
        savepoint = trigger(subject, 220, savepoint=True)
        instructions = subject.abort_all(230, REASON.JOB_CANCELLED)
        assert instructions[:3] == [
            NotifyAborted(1, REASON.JOB_CANCELLED),
            DiscardCheckpoint(1),
            NotifyAborted(2, REASON.JOB_CANCELLED),
        ]
        assert [each.checkpoint_id for each in of(ReportSavepointFailure, instructions)] == [savepoint]
        assert subject.pending_ids() == ()
        assert not subject.trigger_due(10_000)
        assert subject.next_event_at(230) is None
        assert subject.expire(10_000) == []
        assert subject.acknowledge(240, 1, 1, 0, snap(1, 0)) == [DiscardState(1, snap(1, 0))]
        assert subject.decline(240, 1, 1, 0, REASON.DECLINED, "late") == [DiscardState(1, None)]
        assert subject.metadata_written(250, 2, stored(2)) == [DiscardCheckpoint(2)]
        assert subject.abort_all(260, REASON.JOB_FAILED) == []
        assert subject.latest_completed() is None


class TestTolerance:
    def test_zero_tolerated_the_first_failure_fails_the_job(self) -> None:
        subject = coordinator(tolerable_failures=0)
        assert of(FailJob, fail(subject, 110, trigger(subject, 100)))

    def test_n_tolerated_n_plus_1_in_a_row_fail_the_job(self) -> None:
        subject = coordinator(tolerable_failures=2)
        assert [len(of(FailJob, fail(subject, now, trigger(subject, now)))) for now in (100, 200, 300)] == [
            0,
            0,
            1,
        ]

    def test_every_way_to_fail_counts(self) -> None:
        subject = coordinator(tolerable_failures=3)
        assert not of(FailJob, fail(subject, 100, trigger(subject, 100)))
        trigger(subject, 200)
        assert not of(FailJob, subject.expire(200 + TIMEOUT))
        acknowledge_all(subject, 2_000, trigger(subject, 2_000))
        assert not of(FailJob, subject.metadata_failed(2_010, 3, "no space"))
        trigger(subject, 2_100)
        assert of(FailJob, subject.decline(2_100, 1, 4, 0, REASON.STORAGE, "gone"))

    def test_a_success_starts_the_count_afresh(self) -> None:
        subject = coordinator(tolerable_failures=1)
        fail(subject, 100, trigger(subject, 100))
        run(subject, 200)
        assert of(FailJob, fail(subject, 300, trigger(subject, 300))) == []
        assert of(FailJob, fail(subject, 400, trigger(subject, 400)))

    def test_subsumed_ones_do_not_count(self) -> None:
        subject = coordinator(max_concurrent=3)
        for now in (100, 200, 300):
            trigger(subject, now)
        assert of(FailJob, complete(subject, 310, 3)) == []
        assert [entry.reason for entry in subject.history()] == [None, REASON.SUBSUMED, REASON.SUBSUMED]

    @pytest.mark.parametrize("reason", list(REASON))
    def test_the_end_of_the_attempt_does_not_count(self, reason: CheckpointFailureReason) -> None:
        subject = coordinator()
        trigger(subject, 100)
        assert of(FailJob, subject.abort_all(110, reason)) == []

    def test_a_lost_slot_does_not_count(self) -> None:
        subject = coordinator()
        trigger(subject, 100)
        assert of(FailJob, subject.decline(110, 1, 1, 0, REASON.SLOT_LOST, "killed")) == []

    def test_the_job_is_failed_once(self) -> None:
        subject = coordinator(max_concurrent=3)
        for now in (100, 200, 300):
            trigger(subject, now)
        assert len(of(FailJob, subject.expire(10_000))) == 1

    def test_the_message_names_checkpoint_reason_detail_and_option(self) -> None:
        subject = coordinator()
        trigger(subject, 100)
        subject.acknowledge(110, 1, 1, 0, snap(1, 0))
        [failure] = of(FailJob, subject.expire(100 + TIMEOUT))
        assert (failure.checkpoint_id, failure.reason) == (1, REASON.EXPIRED)
        for part in (
            "Checkpoint 1 failed",
            "EXPIRED",
            "after 1000 ms no acknowledgement had come from slot 1",
            "in a row: 1, tolerated: 0",
            "execution.checkpointing.timeout",
            "execution.checkpointing.tolerable-failed-checkpoints",
        ):
            assert part in failure.message

    def test_the_message_of_a_slow_metadata_write_says_so(self) -> None:
        subject = coordinator()
        acknowledge_all(subject, 110, trigger(subject, 100))
        [failure] = of(FailJob, subject.expire(100 + TIMEOUT))
        assert "its metadata was still being written" in failure.message

    def test_the_message_names_only_some_of_many_missing_slots(self) -> None:
        subject = CheckpointCoordinator(CheckpointOptions(100), frozenset(range(14)), 1, 1, 0)
        trigger(subject, 100)
        [failure] = of(FailJob, subject.expire(10**9))
        assert "slot 0, 1, 2, 3, 4, 5, 6, 7, 8, 9 and 4 more" in failure.message


class TestSuccessor:
    def ended(self, **options: Any) -> CheckpointCoordinator:
        """Return an ended attempt: 1 complete, 2 a complete savepoint, 3 aborted, 4 being written."""
        subject = coordinator(max_concurrent=2, **options)
        run(subject, 100)
        run(subject, 110, savepoint=True)
        trigger(subject, 200)
        acknowledge_all(subject, 300, trigger(subject, 300))
        subject.abort_all(310, REASON.JOB_FAILED)
        return subject

    def test_goes_on_with_ids_checkpoints_and_history(self) -> None:
        ended = self.ended()
        subject = ended.successor(2, SLOTS, 1_000)
        assert subject.attempt == 2
        assert subject.next_checkpoint_id == 5
        assert subject.completed() == ended.completed()
        assert subject.history() == ended.history()
        assert not subject.trigger_due(1_099)
        assert trigger(subject, 1_100) == 5

    def test_discards_late_state_of_what_was_aborted_and_nothing_else(self) -> None:
        subject = self.ended().successor(2, SLOTS, 1_000)
        assert subject.acknowledge(1_010, 1, 1, 0, snap(1, 0)) == []
        assert subject.acknowledge(1_010, 1, 2, 0, snap(2, 0)) == []
        assert subject.acknowledge(1_010, 1, 3, 0, snap(3, 0)) == [DiscardState(3, snap(3, 0))]

    def test_takes_the_outcome_of_writes_that_were_under_way(self) -> None:
        subject = self.ended().successor(2, SLOTS, 1_000)
        assert subject.outstanding_write_ids() == (4,)
        assert subject.metadata_written(1_010, 4, stored(4)) == [DiscardCheckpoint(4)]
        assert subject.acknowledge(1_020, 1, 4, 0, snap(4, 0)) == [DiscardState(4, snap(4, 0))]

    def test_may_have_other_participants(self) -> None:
        subject = self.ended().successor(2, frozenset({0}), 1_000)
        checkpoint_id = trigger(subject, 1_100)
        assert of(WriteMetadata, subject.acknowledge(1_110, 2, checkpoint_id, 0, snap(5, 0)))

    def test_builds_on_what_an_earlier_attempt_completed_and_keeps_it_as_long_as_that_takes(self) -> None:
        subject = self.ended().successor(2, SLOTS, 1_000)
        subject.metadata_failed(1_010, 4, "no space")
        orders = [subject.trigger(now, now)[0] for now in (1_100, 1_200)]
        assert [order.base_id for order in of(TriggerCheckpoint, orders)] == [1, 1]
        assert of(DropCompleted, complete(subject, 1_210, 5)) == []
        assert [order.checkpoint.checkpoint_id for order in of(DropCompleted, complete(subject, 1_220, 6))] == [1, 5]

    def test_keeps_the_base_of_a_write_that_was_under_way(self) -> None:
        subject = self.ended().successor(2, SLOTS, 1_000)
        assert of(DropCompleted, run(subject, 1_100)) == []
        [drop] = of(DropCompleted, subject.metadata_written(1_200, 4, stored(4)))
        assert drop.checkpoint.checkpoint_id == 1

    def test_before_the_end_of_the_attempt_is_a_bug(self) -> None:
        with pytest.raises(InvalidCheckpointTransitionError):
            coordinator().successor(2, SLOTS, 10)

    def test_of_the_same_attempt_is_a_bug(self) -> None:
        with pytest.raises(InvalidCheckpointTransitionError):
            self.ended().successor(1, SLOTS, 10)


class TestDamage:
    def ended(self, **options: Any) -> CheckpointCoordinator:
        """Return an ended attempt with the completed checkpoints 1 and 2, of which 2 is damaged."""
        subject = coordinator(num_retained=2, **options)
        run(subject, 100)
        run(subject, 200)
        subject.abort_all(210, REASON.JOB_FAILED)
        subject.mark_damaged(2)
        return subject

    def test_the_one_before_is_restored_from_and_built_on(self) -> None:
        subject = self.ended()
        assert [each.checkpoint_id for each in subject.completed()] == [1]
        assert [each.checkpoint_id for each in subject.damaged()] == [2]
        latest = subject.latest_completed()
        assert latest is not None
        assert latest.checkpoint_id == 1
        successor = subject.successor(2, SLOTS, 1_000)
        [order] = of(TriggerCheckpoint, successor.trigger(1_100, 1_100))
        assert (order.checkpoint_id, order.base_id) == (3, 1)

    def test_it_is_dropped_when_a_newer_one_is_complete_and_not_before(self) -> None:
        subject = self.ended().successor(2, SLOTS, 1_000)
        assert of(DropCompleted, run(subject, 1_050, savepoint=True)) == []
        assert of(DropCompleted, fail(subject, 1_110, trigger(subject, 1_100))) == []
        assert [each.checkpoint_id for each in subject.damaged()] == [2]
        [drop] = of(DropCompleted, run(coordinator_again(subject), 3_100))
        assert drop.checkpoint.checkpoint_id == 2

    def test_the_last_one_leaves_nothing_to_restore_from(self) -> None:
        subject = self.ended()
        subject.mark_damaged(1)
        assert subject.latest_completed() is None
        assert [each.checkpoint_id for each in subject.damaged()] == [1, 2]
        subject.restore_from(done(0, savepoint=True))
        latest = subject.successor(2, SLOTS, 1_000).latest_completed()
        assert latest is not None
        assert latest.checkpoint_id == 0

    def test_what_the_job_was_started_from_is_forgotten_not_dropped(self) -> None:
        subject = coordinator(next_checkpoint_id=5, completed=(done(4, savepoint=True),))
        subject.abort_all(10, REASON.JOB_FAILED)
        subject.mark_damaged(4)
        assert subject.damaged() == ()
        subject.restore_from(done(3, savepoint=True))
        successor = subject.successor(2, SLOTS, 1_000)
        assert of(DropCompleted, run(successor, 1_100)) == []

    def test_of_what_is_not_there_is_a_bug(self) -> None:
        with pytest.raises(InvalidCheckpointTransitionError, match="Checkpoint 2 is damaged, but was not there"):
            self.ended().mark_damaged(2)

    def test_restoring_from_elsewhere_while_there_is_one_of_its_own_is_a_bug(self) -> None:
        with pytest.raises(InvalidCheckpointTransitionError):
            self.ended().restore_from(done(0, savepoint=True))


def coordinator_again(ended: CheckpointCoordinator) -> CheckpointCoordinator:
    """End an attempt and start the next one."""
    ended.abort_all(2_000, REASON.JOB_FAILED)
    return ended.successor(ended.attempt + 1, SLOTS, 3_000)


class TestConstruction:
    def test_an_id_that_exists_already_is_a_bug(self) -> None:
        with pytest.raises(InvalidCheckpointTransitionError, match="checkpoint 4 exists already"):
            coordinator(next_checkpoint_id=4, completed=(done(4),))

    def test_nobody_to_take_part_is_a_bug(self) -> None:
        with pytest.raises(InvalidCheckpointTransitionError, match="participant"):
            CheckpointCoordinator(CheckpointOptions(100), frozenset(), 1, 1, 0)

    def test_known_aborted_ids_replace_the_guess(self) -> None:
        subject = coordinator(attempt=2, next_checkpoint_id=8, completed=(done(4),), aborted_ids=(6,))
        assert subject.acknowledge(10, 1, 5, 0, snap(5, 0)) == []
        assert subject.acknowledge(10, 1, 6, 0, snap(6, 0)) == [DiscardState(6, snap(6, 0))]


class TestHistory:
    def test_tells_how_every_checkpoint_ended(self) -> None:
        subject = coordinator(tolerable_failures=5)
        acknowledge_all(subject, 110, trigger(subject, 100))
        subject.metadata_written(150, 1, stored(1, 9))
        fail(subject, 260, trigger(subject, 200))
        assert subject.history() == (
            CheckpointStatistics(1, 1, CheckpointStatus.COMPLETED, False, 100, 50, size=9, state_size=0),
            CheckpointStatistics(2, 1, CheckpointStatus.FAILED, False, 200, 60, REASON.DECLINED, "slot 0: disk full"),
        )

    def test_is_bounded(self) -> None:
        subject = coordinator(history_size=2)
        for now in (100, 200, 300):
            run(subject, now)
        assert [entry.checkpoint_id for entry in subject.history()] == [2, 3]

    def test_an_invalid_transition_carries_the_events_that_led_to_it(self) -> None:
        subject = coordinator()
        trigger(subject, 100)
        subject.acknowledge(110, 1, 1, 0, snap(1, 0))
        with pytest.raises(InvalidCheckpointTransitionError) as caught:
            subject.metadata_failed(120, 1, "no space")
        assert isinstance(caught.value, CheckpointError)
        assert caught.value.history[:2] == (
            CheckpointTriggered(100, 1, 100, savepoint=False, final=False),
            CheckpointAcknowledged(110, 1, 1, 0),
        )
        assert "CheckpointAcknowledged(now=110, attempt=1, checkpoint_id=1, slot=0)" in str(caught.value)


class TestStores:
    def test_completed_checkpoints_must_come_oldest_first(self) -> None:
        with pytest.raises(ValueError, match="oldest first"):
            CompletedCheckpointStore(1, (done(2), done(1)))

    def test_a_completed_checkpoint_must_be_newer_than_the_others(self) -> None:
        store = CompletedCheckpointStore(1, (done(2),))
        with pytest.raises(ValueError, match="checkpoint 2 is not newer than checkpoint 2"):
            store.add(done(2))

    def test_aborted_ids_beyond_the_limit_are_forgotten_oldest_first(self) -> None:
        aborted = AbortedCheckpointIds((1, 2, 3), limit=2)
        assert list(aborted) == [2, 3]
        assert 1 not in aborted


class TestRequested:
    """Checkpoints that a user asks for."""

    def test_one_need_not_be_due(self) -> None:
        subject = coordinator(min_pause_ms=5_000)
        assert not subject.trigger_due(1)
        assert subject.may_trigger()
        assert trigger(subject, 1, requested=True) == 1

    def test_the_next_periodic_one_is_due_an_interval_later(self) -> None:
        subject = coordinator()
        trigger(subject, 60, requested=True)
        acknowledge_all(subject, 61, 1)
        subject.metadata_written(62, 1, stored(1))
        assert not subject.trigger_due(INTERVAL)
        assert subject.trigger_due(60 + INTERVAL)

    def test_one_waits_for_those_under_way(self) -> None:
        subject = coordinator(max_concurrent=1)
        trigger(subject, INTERVAL)
        assert not subject.may_trigger()
        with pytest.raises(InvalidCheckpointTransitionError, match="none is due"):
            subject.trigger(INTERVAL + 1, 1, requested=True)

    def test_none_begins_beside_or_after_the_last_one(self) -> None:
        subject = coordinator(max_concurrent=3)
        trigger(subject, 1, final=True)
        assert not subject.may_trigger()
        acknowledge_all(subject, 2, 1)
        subject.metadata_written(3, 1, stored(1))
        assert not subject.may_trigger()

    def test_none_begins_after_the_end_of_the_attempt(self) -> None:
        subject = coordinator()
        subject.abort_all(1, REASON.JOB_FAILED)
        assert not subject.may_trigger()

    def test_a_full_one_builds_on_nothing(self) -> None:
        subject = coordinator(next_checkpoint_id=8, completed=(completed_checkpoint(7),))
        [full] = subject.trigger(1, 1, requested=True, full=True)
        assert isinstance(full, TriggerCheckpoint)
        assert full.base_id is None
