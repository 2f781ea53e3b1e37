"""The checkpoint coordinator: decides about checkpoints, and does nothing itself.

A state machine without I/O, clock, threads or randomness. Whoever drives it tells it what happened, each time
with the current time in milliseconds, and carries out the instructions it returns, in their order.

The life of a checkpoint::

    trigger ──► pending ──► all slots acknowledged: writing ──► metadata written: complete
                   │                    │
                   └──── aborted ◄──────┘   (declined, expired, subsumed, write failed, end of the attempt)

The creation of the metadata file is the commit point. A checkpoint aborted while that file is being written
is therefore discarded only when the outcome of the write is known: deleting its state earlier could leave a
durable metadata file that refers to nothing. Where completed checkpoints are also noted elsewhere, in the log of a
job with high availability, ``begin_commit`` comes between: from then on nothing but the outcome decides.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping

from rekindle.checkpoint.aborted_ids import AbortedCheckpointIds
from rekindle.checkpoint.completed_checkpoint import CompletedCheckpoint
from rekindle.checkpoint.completed_checkpoint_store import CompletedCheckpointStore
from rekindle.checkpoint.events import (
    AllAborted,
    CheckpointAcknowledged,
    CheckpointDamaged,
    CheckpointDeclined,
    CheckpointExpired,
    CheckpointFailureReason,
    CheckpointTriggered,
    DiscardCheckpoint,
    DiscardState,
    DropCompleted,
    Event,
    FailJob,
    Instruction,
    MetadataFailed,
    MetadataWritten,
    NotifyAborted,
    NotifyComplete,
    ReportSavepointFailure,
    TriggerCheckpoint,
    WriteMetadata,
)
from rekindle.checkpoint.failure_counter import CheckpointFailureCounter
from rekindle.checkpoint.failure_messages import missing_acknowledgements, savepoint_failed, too_many_failures
from rekindle.checkpoint.options import CheckpointOptions
from rekindle.checkpoint.pending_checkpoint import AcknowledgeResult, PendingCheckpoint
from rekindle.checkpoint.periodic_schedule import PeriodicSchedule
from rekindle.checkpoint.slot_snapshot import SlotSnapshot
from rekindle.checkpoint.statistics import CheckpointStatistics, RestoredStatistics
from rekindle.checkpoint.statistics_overview import CheckpointsOverview
from rekindle.checkpoint.statistics_tracker import CheckpointStatisticsTracker
from rekindle.checkpoint.stored_checkpoint import StoredCheckpoint
from rekindle.exceptions import InvalidCheckpointTransitionError

_EVENTS_KEPT = 500


class CheckpointCoordinator:
    """Coordinate the checkpoints and savepoints of one attempt of a job.

    Args:
        options: What the user set.
        participants: The slots that take part in every checkpoint.
        attempt: Number of the attempt; what carries another one is not accepted.
        next_checkpoint_id: Id of the next checkpoint; higher than all ids given out before.
        now: The current time; the first periodic checkpoint is due one interval later.
        completed: The completed checkpoints there are, oldest first. A savepoint among them is what the job
            was started from, or stopped with.
        aborted_ids: Checkpoints of earlier attempts known to be aborted; None stands for all ids newer than
            ``completed`` and older than ``next_checkpoint_id``, which is right unless a savepoint completed
            among them. ``successor`` always passes the exact ones.
        operators: The parallelism of every operator that takes part, by uid, for the statistics.
        statistics: Those of earlier attempts; None for none.
    """

    def __init__(
        self,
        options: CheckpointOptions,
        participants: frozenset[int],
        attempt: int,
        next_checkpoint_id: int,
        now: int,
        completed: tuple[CompletedCheckpoint, ...] = (),
        *,
        aborted_ids: Iterable[int] | None = None,
        operators: Mapping[str, int] | None = None,
        statistics: CheckpointStatisticsTracker | None = None,
    ) -> None:
        newest_id = completed[-1].checkpoint_id if completed else 0
        if not participants:
            raise InvalidCheckpointTransitionError("A checkpoint needs at least one participant.")
        if next_checkpoint_id <= newest_id:
            raise InvalidCheckpointTransitionError(
                f"The next checkpoint id is {next_checkpoint_id}, but checkpoint {newest_id} exists already."
            )
        self._options = options
        self._participants = participants
        self._attempt = attempt
        self._next_checkpoint_id = next_checkpoint_id
        self._completed = CompletedCheckpointStore(options.num_retained, completed)
        self._aborted = AbortedCheckpointIds(
            range(newest_id + 1, next_checkpoint_id) if aborted_ids is None else aborted_ids
        )
        self._statistics = statistics or CheckpointStatisticsTracker(options, operators or {})
        self._failures = CheckpointFailureCounter(options.tolerable_failures)
        self._pending: dict[int, PendingCheckpoint] = {}
        # Aborted while their metadata was being written; the outcome of the write is not known yet.
        self._abandoned: dict[int, PendingCheckpoint] = {}
        # No longer retained, but a checkpoint under way may still share files with them.
        self._superseded: list[CompletedCheckpoint] = []
        # Completed, but cannot be read: neither restored from nor built on, and dropped with the next completion.
        self._damaged: list[CompletedCheckpoint] = []
        self._schedule = PeriodicSchedule(options, now)
        self._final_completed = False
        self._closed = False
        self._events: deque[Event] = deque(maxlen=_EVENTS_KEPT)

    # ------------------------------------------------------------------------------------- questions

    @property
    def attempt(self) -> int:
        """Return the number of the attempt."""
        return self._attempt

    @property
    def next_checkpoint_id(self) -> int:
        """Return the id the next checkpoint will get."""
        return self._next_checkpoint_id

    def trigger_due(self, now: int) -> bool:
        """Return whether a periodic checkpoint is due, and allowed, now."""
        due_at = self._periodic_due_at()
        return due_at is not None and due_at <= now

    def may_trigger(self) -> bool:
        """Return whether a checkpoint that a user asks for may begin now.

        It waits for others under way, and for the end of the job, as a periodic one does, but for no time to pass.
        """
        return self._takes_checkpoints() and self._schedule.room_for_another(self._under_way())

    def next_event_at(self, now: int) -> int | None:
        """Return the earliest time after ``now`` at which something becomes due by time alone.

        That is the next periodic trigger, or the expiry of a pending checkpoint. What is due at ``now``
        already is not in it: ``trigger_due(now)`` and ``expire(now)`` tell that.
        """
        times = [pending.expires_at for pending in self._pending.values() if not pending.committing]
        due_at = self._periodic_due_at()
        if due_at is not None:
            times.append(due_at)
        return min((time for time in times if time > now), default=None)

    def latest_completed(self) -> CompletedCheckpoint | None:
        """Return the checkpoint (or savepoint) that a restart goes back to, None for the very beginning."""
        return self._completed.latest()

    def completed(self) -> tuple[CompletedCheckpoint, ...]:
        """Return the retained checkpoints, and a savepoint to restore from if there is one, oldest first."""
        return self._completed.all()

    def damaged(self) -> tuple[CompletedCheckpoint, ...]:
        """Return the completed checkpoints that turned out to be damaged and are not dropped yet, oldest first."""
        return tuple(self._damaged)

    def pending_ids(self) -> tuple[int, ...]:
        """Return the ids of the checkpoints and savepoints under way, oldest first."""
        return tuple(self._pending)

    def outstanding_write_ids(self) -> tuple[int, ...]:
        """Return the ids of the checkpoints whose ``WriteMetadata`` has not been answered, oldest first."""
        writing = [pending.checkpoint_id for pending in self._pending.values() if pending.writing]
        return tuple(sorted([*writing, *self._abandoned]))

    def history(self) -> tuple[CheckpointStatistics, ...]:
        """Return the statistics of the checkpoints that ended last, oldest first."""
        return self._statistics.ended()

    def statistics(self) -> CheckpointsOverview:
        """Return all that is known about the checkpoints of the job, for display."""
        return self._statistics.overview(self._attempt, self._pending.values())

    # ---------------------------------------------------------------------------------------- events

    def trigger(
        self,
        now: int,
        epoch: int,
        savepoint: bool = False,
        final: bool = False,
        requested: bool = False,
        full: bool = False,
    ) -> list[Instruction]:
        """Start a checkpoint.

        Args:
            now: The current time.
            epoch: The epoch at whose end the barrier stands.
            savepoint: Whether it is a savepoint, which the user asked for.
            final: Whether the job ends with it: while it is pending, and once it is complete, no periodic
                checkpoint is due.
            requested: Whether a user asked for this checkpoint: it need not be due.
            full: Whether it builds on no earlier one.

        Raises:
            InvalidCheckpointTransitionError: If the attempt has ended, or if a checkpoint that is neither
                savepoint nor final is not due, nor asked for while it may begin.
        """
        if self._closed:
            raise self._invalid(f"A checkpoint was triggered after attempt {self._attempt} had ended.")
        if not (savepoint or final or self.trigger_due(now) or (requested and self.may_trigger())):
            raise self._invalid(f"A periodic checkpoint was triggered at {now}, but none is due.")
        base = None if savepoint or full else self._completed.latest_checkpoint()
        pending = PendingCheckpoint(
            checkpoint_id=self._next_checkpoint_id,
            epoch=epoch,
            timestamp=now,
            timeout_ms=self._options.timeout_ms,
            participants=self._participants,
            savepoint=savepoint,
            final=final,
            base_id=None if base is None else base.checkpoint_id,
        )
        checkpoint_id = pending.checkpoint_id
        self._events.append(CheckpointTriggered(now, checkpoint_id, epoch, savepoint, final))
        self._next_checkpoint_id += 1
        self._pending[checkpoint_id] = pending
        self._statistics.triggered()
        if not savepoint:
            self._schedule.triggered(now)
        return [TriggerCheckpoint(checkpoint_id, epoch, now, savepoint, pending.base_id)]

    def acknowledge(
        self,
        now: int,
        attempt: int,
        checkpoint_id: int,
        slot: int,
        snapshot: SlotSnapshot,
    ) -> list[Instruction]:
        """Take a slot's acknowledgement; the last one missing leads to the metadata being written.

        One that comes too late has its state discarded, if the checkpoint was aborted. If it completed, it
        did so with this slot's acknowledgement: the files are in use and left alone.
        """
        self._events.append(CheckpointAcknowledged(now, attempt, checkpoint_id, slot))
        pending = self._pending.get(checkpoint_id)
        if pending is None:
            return [DiscardState(checkpoint_id, snapshot)] if checkpoint_id in self._aborted else []
        if attempt != self._attempt:
            return []
        if pending.acknowledge(slot, snapshot, now) is not AcknowledgeResult.COMPLETED:
            return []
        return [
            WriteMetadata(
                checkpoint_id=checkpoint_id,
                epoch=pending.epoch,
                timestamp=pending.timestamp,
                snapshots=pending.snapshots(),
                savepoint=pending.savepoint,
                final=pending.final,
            )
        ]

    def decline(
        self,
        now: int,
        attempt: int,
        checkpoint_id: int,
        slot: int,
        reason: CheckpointFailureReason,
        message: str,
    ) -> list[Instruction]:
        """Abort a checkpoint that a slot cannot take part in.

        A slot that gives up after the checkpoint was aborted may have written some of its state since: that is
        discarded, too.
        """
        self._events.append(CheckpointDeclined(now, attempt, checkpoint_id, slot, reason, message))
        pending = self._pending.get(checkpoint_id)
        if pending is None:
            return [DiscardState(checkpoint_id, None)] if checkpoint_id in self._aborted else []
        if attempt != self._attempt or not pending.is_participant(slot):
            return []
        return [*self._abort(now, pending, reason, f"slot {slot}: {message}"), *self._drop_superseded()]

    def begin_commit(self, checkpoint_id: int) -> bool:
        """Let nothing abort a checkpoint any more whose metadata is durable; return False if it was aborted before.

        Whatever the outcome, ``metadata_written`` or ``metadata_failed`` must follow.
        """
        if checkpoint_id in self._abandoned:
            return False
        self._writing(checkpoint_id).committing = True
        return True

    def metadata_written(self, now: int, checkpoint_id: int, location: StoredCheckpoint) -> list[Instruction]:
        """Complete a checkpoint whose metadata is durable, or discard it if it was aborted meanwhile."""
        self._events.append(MetadataWritten(now, checkpoint_id))
        abandoned = self._abandoned.pop(checkpoint_id, None)
        if abandoned is not None:
            return [self._discard(abandoned), *self._drop_superseded()]
        pending = self._writing(checkpoint_id)
        del self._pending[checkpoint_id]
        completed = CompletedCheckpoint(location, pending.savepoint, max(0, now - pending.timestamp))
        self._statistics.completed(now, self._attempt, pending, location)
        self._final_completed |= pending.final
        instructions: list[Instruction] = []
        if not pending.savepoint:
            self._failures.count_success()
            self._schedule.ended(now)
            instructions += self._subsume(now, checkpoint_id)
        notification = NotifyComplete(checkpoint_id, pending.savepoint, pending.final)
        instructions.append(notification)
        if notification.is_restore_point:
            self._superseded += self._completed.add(completed)
        if not pending.savepoint:
            self._superseded += self._damaged
            self._damaged = []
        return [*instructions, *self._drop_superseded()]

    def metadata_failed(
        self,
        now: int,
        checkpoint_id: int,
        message: str,
        reason: CheckpointFailureReason = CheckpointFailureReason.METADATA_WRITE_FAILED,
    ) -> list[Instruction]:
        """Abort a checkpoint whose metadata could not be written."""
        self._events.append(MetadataFailed(now, checkpoint_id, message))
        abandoned = self._abandoned.pop(checkpoint_id, None)
        if abandoned is not None:
            return [self._discard(abandoned), *self._drop_superseded()]
        pending = self._writing(checkpoint_id)
        pending.writing = pending.committing = False
        return [*self._abort(now, pending, reason, message), *self._drop_superseded()]

    def expire(self, now: int) -> list[Instruction]:
        """Abort every checkpoint and savepoint that is overdue."""
        instructions: list[Instruction] = []
        for pending in [other for other in self._abortable() if other.expires_at <= now]:
            self._events.append(CheckpointExpired(now, pending.checkpoint_id))
            detail = f"after {self._options.timeout_ms} ms {missing_acknowledgements(pending)}"
            instructions += self._abort(now, pending, CheckpointFailureReason.EXPIRED, detail)
        return [*instructions, *self._drop_superseded()]

    def abort_all(self, now: int, reason: CheckpointFailureReason) -> list[Instruction]:
        """End the attempt: abort everything pending, and accept nothing from now on.

        Only the outcomes of metadata writes under way are still to be reported, here or to the successor; those of
        checkpoints that are being committed here.
        """
        self._events.append(AllAborted(now, reason))
        self._closed = True
        instructions: list[Instruction] = []
        for pending in self._abortable():
            instructions += self._abort(now, pending, reason, "", counted=False)
        return [*instructions, *self._drop_superseded()]

    def mark_damaged(self, checkpoint_id: int) -> None:
        """Never again restore from a completed checkpoint, nor build on it: it cannot be read.

        Its files stay until a newer checkpoint is complete: what cannot be read now may be all that there is.

        Raises:
            InvalidCheckpointTransitionError: If it is not among the completed ones.
        """
        self._events.append(CheckpointDamaged(checkpoint_id))
        damaged = self._completed.remove(checkpoint_id)
        if damaged is None:
            raise self._invalid(f"Checkpoint {checkpoint_id} is damaged, but was not there to restore from.")
        if not damaged.savepoint:
            self._damaged = sorted([*self._damaged, damaged], key=lambda other: other.checkpoint_id)

    def restore_from(self, checkpoint: CompletedCheckpoint) -> None:
        """Let a restart go back to a checkpoint that is not this job's own.

        Raises:
            InvalidCheckpointTransitionError: If there are completed checkpoints to go back to.
        """
        if self._completed.latest() is not None or not checkpoint.savepoint:
            raise self._invalid(f"Checkpoint {checkpoint.checkpoint_id} is not what to restore from now.")
        self._completed.add(checkpoint)

    def restored(self, restored: RestoredStatistics) -> None:
        """Remember, for the statistics, what the slots of this attempt were restored from."""
        self._statistics.restored(restored)

    def successor(self, attempt: int, participants: frozenset[int], now: int) -> CheckpointCoordinator:
        """Return the coordinator of the next attempt, which knows what was completed and aborted before.

        Raises:
            InvalidCheckpointTransitionError: If this attempt has not ended, or is not older.
        """
        if not self._closed or self._pending or attempt <= self._attempt:
            raise self._invalid(f"Attempt {attempt} cannot follow attempt {self._attempt} now.")
        successor = type(self)(
            self._options,
            participants,
            attempt,
            self._next_checkpoint_id,
            now,
            self.completed(),
            aborted_ids=self._aborted,
            statistics=self._statistics,
        )
        successor._abandoned.update(self._abandoned)
        successor._superseded += self._superseded
        successor._damaged += self._damaged
        return successor

    # -------------------------------------------------------------------------------------- decisions

    def _periodic_due_at(self) -> int | None:
        """Return when a periodic checkpoint becomes due; None if more than time is in the way."""
        return self._schedule.due_at(self._under_way()) if self._takes_checkpoints() else None

    def _takes_checkpoints(self) -> bool:
        """Return whether another checkpoint is wanted at all: not after the end of the attempt, or the last one."""
        if self._closed or self._failures.exceeded or self._final_completed:
            return False
        return not any(pending.final for pending in self._pending.values())

    def _under_way(self) -> int:
        return sum(not pending.savepoint for pending in self._pending.values())

    def _abortable(self) -> list[PendingCheckpoint]:
        return [pending for pending in self._pending.values() if not pending.committing]

    def _subsume(self, now: int, checkpoint_id: int) -> list[Instruction]:
        instructions: list[Instruction] = []
        older = [other for other in self._abortable() if other.checkpoint_id < checkpoint_id]
        for pending in older:
            if not pending.savepoint:
                detail = f"checkpoint {checkpoint_id} is complete"
                instructions += self._abort(now, pending, CheckpointFailureReason.SUBSUMED, detail)
        return instructions

    def _abort(
        self,
        now: int,
        pending: PendingCheckpoint,
        reason: CheckpointFailureReason,
        detail: str,
        counted: bool = True,
    ) -> list[Instruction]:
        checkpoint_id = pending.checkpoint_id
        del self._pending[checkpoint_id]
        self._statistics.failed(now, self._attempt, pending, reason, detail)
        instructions: list[Instruction] = [NotifyAborted(checkpoint_id, reason, detail)]
        if pending.writing:
            self._abandoned[checkpoint_id] = pending
        else:
            instructions.append(self._discard(pending))
        if pending.savepoint:
            message = savepoint_failed(checkpoint_id, reason, detail)
            instructions.append(ReportSavepointFailure(checkpoint_id, message))
        elif counted and reason.counts_as_failure:
            self._schedule.ended(now)
            if self._failures.count_failure():
                in_a_row, tolerable = self._failures.in_a_row, self._options.tolerable_failures
                message = too_many_failures(checkpoint_id, reason, detail, in_a_row, tolerable)
                instructions.append(FailJob(checkpoint_id, reason, message))
        return instructions

    def _discard(self, pending: PendingCheckpoint) -> DiscardCheckpoint:
        self._aborted.add(pending.checkpoint_id)
        return DiscardCheckpoint(pending.checkpoint_id)

    def _drop_superseded(self) -> list[Instruction]:
        """Drop what is no longer retained, once no checkpoint under way can share files with it.

        With several checkpoints under way, one of them may build on a completed checkpoint that has been
        superseded since, and its acknowledgements, which name the shared files, may not be in yet. A savepoint gets
        copies of the rows that waited at its barrier when it has been acknowledged: checkpoints since then have them.
        """
        under_way = [*self._pending.values(), *self._abandoned.values()]
        bases = {pending.base_id for pending in under_way}
        copies = any(pending.savepoint for pending in under_way)

        def in_use(other: CompletedCheckpoint) -> bool:
            return other.checkpoint_id in bases or (copies and other.location.metadata.has_staged_rows)

        dropped = [other for other in self._superseded if not in_use(other)]
        self._superseded = [other for other in self._superseded if in_use(other)]
        for other in dropped:
            self._statistics.discarded(other.checkpoint_id)
        return [DropCompleted(other) for other in dropped]

    def note_deleted(self, checkpoint_ids: Iterable[int]) -> None:
        """Remember, for the statistics, that completed checkpoints are gone, because the job has ended."""
        for checkpoint_id in checkpoint_ids:
            self._statistics.discarded(checkpoint_id)

    def _writing(self, checkpoint_id: int) -> PendingCheckpoint:
        pending = self._pending.get(checkpoint_id)
        if pending is None or not pending.writing:
            raise self._invalid(f"The metadata of checkpoint {checkpoint_id} was not being written.")
        return pending

    def _invalid(self, problem: str) -> InvalidCheckpointTransitionError:
        return InvalidCheckpointTransitionError(problem, tuple(self._events))
