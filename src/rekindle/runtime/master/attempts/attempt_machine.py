"""One attempt at running the job, as a state machine: events in, instructions out.

It has no thread, no clock and no I/O: whoever drives it tells it what happened, each time with the current time, and
carries out the instructions it returns, in their order. The requests of users, for checkpoints, savepoints and the end
of the job, outlive an attempt and are kept in memory beside it (``RequestedCheckpoints``, ``Savepoints``,
``Stopping``): the machine takes them from there when it begins with them, and whoever waits for the outcome is told by
an instruction.

A checkpoint is complete, and slots are told so, only when its metadata is durable and, with high availability, its
entry in the job's log is. The entries of a job follow each other: the next one is ordered when the outcome of the one
before is known. After a failure nothing is ordered any more, and what was ordered before is settled by :meth:`close`.

Rows that the driver commits are committed one checkpoint after the other, and until that is done no other barrier is
placed. So whatever the next checkpoint does not hold is committed, and the files of rows can go with the last
checkpoint that refers to them. A slow writer delays checkpoints, but no epochs.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from rekindle.checkpoint import events as c
from rekindle.checkpoint.completed_checkpoint import CompletedCheckpoint
from rekindle.checkpoint.coordinator import CheckpointCoordinator
from rekindle.checkpoint.failure_messages import checkpoint_failed
from rekindle.checkpoint.metadata import StagedRows
from rekindle.checkpoint.stored_checkpoint import StoredCheckpoint
from rekindle.exceptions import CheckpointError, JobExecutionError, JobFencedError, RekindleError, StopFailedError
from rekindle.runtime.master.attempts import attempt_events as a
from rekindle.runtime.master.checkpoints import storage_orders as s
from rekindle.runtime.master.checkpoints.requested_checkpoints import RequestedCheckpoints
from rekindle.runtime.master.checkpoints.savepoints import Savepoints
from rekindle.runtime.master.checkpoints.stopping import StopMode, Stopping, StopRequest
from rekindle.runtime.master.epochs.epoch_events import EpochEnded, EpochWaits
from rekindle.runtime.master.high_availability.takeover import references
from rekindle.runtime.wire import messages as m

_FINAL_PAUSE_MS = 1_000
"""How long a last checkpoint that has failed is not tried again: the job has nothing else to do."""

_ABORTS = {
    a.Outcome.FINISHED: c.CheckpointFailureReason.JOB_FINISHED,
    a.Outcome.CANCELLED: c.CheckpointFailureReason.JOB_CANCELLED,
}


@dataclass(frozen=True, slots=True)
class AttemptSettings:
    """Say what kind of job it is.

    Attributes:
        number: Which attempt this is, counted from 0.
        slots: How many slots the job has.
        aligned: Whether barriers may stand between two epochs only.
        ends_with_checkpoint: Whether output becomes visible with a last checkpoint, not without any.
        num_retained: How many completed checkpoints are kept.
        logged: Whether completed checkpoints are entered into a log, for other drivers of the job.
        ids_to: The highest checkpoint id that may be used without reserving it; None: any.
    """

    number: int
    slots: int
    aligned: bool = True
    ends_with_checkpoint: bool = True
    num_retained: int = 1
    logged: bool = False
    ids_to: int | None = None


class AttemptMachine:
    """Decide what an attempt does.

    Attributes:
        coordinator: Decides about its checkpoints.

    Args:
        settings: What kind of job it is.
        coordinator: The coordinator of this attempt.
        savepoints: The savepoints that users have asked for.
        stopping: The request to end the job.
        requested: The checkpoints that users have asked for.
    """

    def __init__(
        self,
        settings: AttemptSettings,
        coordinator: CheckpointCoordinator,
        savepoints: Savepoints,
        stopping: Stopping,
        requested: RequestedCheckpoints,
    ) -> None:
        self.coordinator = coordinator
        self._settings = settings
        self._savepoints = savepoints
        self._stopping = stopping
        self._requested = requested
        self._now = 0
        self._out: list[a.Instruction] = []
        self._outcome: a.Outcome | BaseException | None = None
        self._suspected: BaseException | None = None  # what failed; its cause may still be named
        self._closed = False
        self._late: list[s.StorageOutcome] = []  # outcomes that came after the end, or a failure
        # Epochs.
        self._waiting: int | None = None  # the epoch that waits for leave
        self._running = False
        self._last_epoch = 0
        self._next_timer: int | None = None
        self._input_ended = False
        # Checkpoints.
        self._ids_to = settings.ids_to
        self._reserving = False
        self._to_note: dict[int, StoredCheckpoint] = {}  # durable, and not in the job's log
        self._noting: int | None = None
        self._unsafe: dict[int, set[int]] = {}  # savepoints in passing: the slots that have yet to make them safe
        self._to_commit: deque[CompletedCheckpoint] = deque()  # with rows for the driver to commit; the first is
        self._last_rows: dict[str, list[StagedRows]] = {}  # what a job without checkpoints has for it
        # The end of the job.
        self._final_id: int | None = None
        self._final_not_before = 0  # the last checkpoint, if it has failed
        self._noting_output = False
        self._commit_awaited: int | None = None
        self._committed: set[int] = set()  # the slots that have made visible what is awaited
        self._stop: StopRequest | None = None
        self._stop_id: int | None = None  # the savepoint that the job is to end with
        self._draining = False

    # --------------------------------------------------------------------------------------- questions

    @property
    def outcome(self) -> a.Outcome | BaseException | None:
        """Return how the attempt has ended, or what it has failed by; None: it has not."""
        return self._outcome

    def next_due(self, now: int) -> int | None:
        """Return the earliest time at which something becomes due by time alone."""
        if self._over:
            return None
        checkpoint = self.coordinator.next_event_at(now)
        if self._to_commit and checkpoint is not None and checkpoint <= now:
            checkpoint = None  # it waits for a commit, not for the time
        final = self._final_not_before if self._final_not_before > now else None
        dues = (checkpoint, final, None if self._running else self._next_timer)
        return min((due for due in dues if due is not None), default=None)

    # ------------------------------------------------------------------------------------------ events

    def handle(self, now: int, event: a.Event) -> list[a.Instruction]:
        """Take an event; return what is to be done."""
        self._now = now
        if self._over:
            self._take_after_failure(event)
        else:
            self._take(event)
            if not self._over:
                self._act()
        return self._ordered()

    def end_restored(self) -> a.Outcome:
        """Finish at once: the job was stopped with the checkpoint that the slots have restored, and so committed."""
        self._outcome = a.Outcome.FINISHED
        return self._outcome

    def stop(self) -> bool:
        """Order nothing more; what comes now is settled by :meth:`close`. Return whether the attempt ended well."""
        if self._outcome is None:
            self._outcome = self._suspected or JobExecutionError("the attempt was stopped")
        return isinstance(self._outcome, a.Outcome)

    def close(self, now: int, failure: BaseException | None) -> list[a.Instruction]:
        """Settle what is under way, once the slots are gone and no outcome is to come.

        Args:
            now: The current time.
            failure: What the attempt has failed by.
        """
        self._now = now
        self._closed = True
        finished = self._outcome is a.Outcome.FINISHED
        reason = c.CheckpointFailureReason.JOB_FAILED
        if isinstance(self._outcome, a.Outcome):
            reason = _ABORTS[self._outcome]
        self._follow(self.coordinator.abort_all(now, reason))
        for outcome in self._late:
            self._take_outcome(outcome)
        for checkpoint_id in self.coordinator.outstanding_write_ids():  # writing it has failed in an unforeseen way
            then = self.coordinator.metadata_failed(now, checkpoint_id, "its outcome is not known", reason)
            named = checkpoint_id == self._noting  # perhaps, by the log: then its files must stay
            self._follow(order for order in then if not (named and isinstance(order, c.DiscardCheckpoint)))
        for checkpoint_id in self._unsafe:
            if finished:  # all output was committed: nothing can be removed any more
                self._complete_savepoint(checkpoint_id)
            else:
                self._out.append(s.DiscardFiles(checkpoint_id))
                message = "the job was interrupted before the output that the savepoint refers to was safe"
                self._out.append(a.FailSavepoint(checkpoint_id, message))
        self._unsafe = {}
        if failure is not None and self._stop is not None and self._stopping.waiting:
            self._out.append(a.InterruptStop(str(failure)))
        return self._ordered()

    def _ordered(self) -> list[a.Instruction]:
        out, self._out = self._out, []
        return out

    @property
    def _over(self) -> bool:
        return self._outcome is not None or self._suspected is not None

    def _take_after_failure(self, event: a.Event) -> None:
        match event:
            case s.MetadataStored() | s.CheckpointNoted() | s.CheckpointNotStored() | s.IdsReserved() | s.OutputNoted():
                self._late.append(event)
            case a.Failed(error, primary=True) if self._outcome is None:
                self._end(error)
            case a.CauseOverdue() if self._outcome is None and self._suspected is not None:
                self._end(self._suspected)

    def _take(self, event: a.Event) -> None:
        now = self._now
        match event:
            case EpochWaits(epoch):
                self._waiting = epoch
            case EpochEnded():
                self._epoch_ended(event)
            case a.EpochRequested():
                self._out.append(a.Tick())
            case a.SnapshotTaken(attempt, checkpoint_id, slot, snapshot):
                self._follow(self.coordinator.acknowledge(now, attempt, checkpoint_id, slot, snapshot))
            case a.SnapshotDeclined(attempt, checkpoint_id, slot, message, curable):
                reason = c.CheckpointFailureReason.DECLINED if curable else c.CheckpointFailureReason.UNWRITABLE
                self._follow(self.coordinator.decline(now, attempt, checkpoint_id, slot, reason, message))
            case a.OutputCommitted(slot, checkpoint_id, staged):
                self._output_committed(slot, checkpoint_id, staged)
            case a.RowsCommitted(checkpoint_id):
                self._rows_committed(checkpoint_id)
            case a.BarrierFailed(checkpoint_id, error):
                self._barrier_failed(checkpoint_id, error)
            case a.Failed(error, primary):
                self._fail(error, primary)
            case a.CancelRequested():
                self._end(a.Outcome.CANCELLED)
            case a.Woken() | a.CauseOverdue():
                pass
            case _:
                self._take_outcome(event)

    def _act(self) -> None:
        """Do what is due: end the output, expire and trigger checkpoints, begin an epoch that waits."""
        self._follow(self.coordinator.expire(self._now))
        if self._input_ended:
            self._finish_output()
        elif not self._over:
            self._trigger_due()
            if self._next_timer is not None and self._next_timer <= self._now and not self._running:
                self._next_timer = None
                self._out.append(a.Tick())
        if not self._over:
            self._begin_epoch()

    # ------------------------------------------------------------------------------------------ epochs

    def _begin_epoch(self) -> None:
        held = self._stop is not None and not self._draining
        if self._waiting is None or self._running or (held and not self._input_ended):
            return
        epoch, self._waiting = self._waiting, None
        self._running = not self._input_ended
        self._out.append(a.BeginEpoch(epoch) if self._running else a.SkipEpoch(epoch))

    def _epoch_ended(self, ended: EpochEnded) -> None:
        self._running = False
        self._last_epoch = ended.epoch
        self._next_timer = None if ended.finished else ended.next_timer
        self._input_ended = ended.finished
        if self._settings.number and ended.epoch == 1:
            self._out.append(a.ShowRecovery())
        if ended.more and not ended.finished:
            self._out.append(a.Tick())

    # ------------------------------------------------------------------------------------- checkpoints

    def _trigger_due(self) -> None:
        """Trigger the periodic checkpoint if one is due, and the savepoints that wait, where a barrier can stand."""
        if not self._running:
            self._begin_stop()
        if self._stop is not None:
            return
        between = not self._running
        if (between or not self._settings.aligned) and self.coordinator.trigger_due(self._now) and self._has_id():
            self._trigger()
        elif (between or not self._settings.aligned) and self._requested.waiting and self._may_trigger():
            self._trigger(requested=True)
        while between and self._savepoints.waiting and self._has_id():
            if self._savepoints.begin(self.coordinator.next_checkpoint_id):
                self._trigger(savepoint=True)

    def _has_id(self) -> bool:
        """Return whether the next checkpoint may begin, as far as ids and commits go; see to it that it soon may."""
        if self._to_commit:
            return False
        checkpoint_id = self.coordinator.next_checkpoint_id
        if self._ids_to is None or checkpoint_id <= self._ids_to:
            return True
        if not self._reserving:
            self._reserving = True
            self._out.append(s.ReserveIds(checkpoint_id))
        return False

    def _may_trigger(self) -> bool:
        return self.coordinator.may_trigger() and self._has_id()

    def _trigger(self, savepoint: bool = False, final: bool = False, requested: bool = False) -> None:
        """Begin a checkpoint; one that is not a savepoint serves all that have asked for one."""
        checkpoint_id = self.coordinator.next_checkpoint_id
        full = not savepoint and self._requested.begin(checkpoint_id)
        self._follow(self.coordinator.trigger(self._now, self._last_epoch, savepoint, final, requested, full))

    def _barrier_failed(self, checkpoint_id: int, error: Exception) -> None:
        """Give up a savepoint that could not begin; the job cannot do without other checkpoints."""
        if self._savepoints.find(checkpoint_id) is None:
            self._fail(error)
            return
        reason, message = c.CheckpointFailureReason.DECLINED, f"it could not begin: {error}"
        attempt = self._settings.number
        self._follow(self.coordinator.decline(self._now, attempt, checkpoint_id, 0, reason, message))

    def _take_outcome(self, outcome: s.StorageOutcome) -> None:
        match outcome:
            case s.MetadataStored(checkpoint_id, location):
                self._stored(checkpoint_id, location)
            case s.CheckpointNoted(checkpoint_id, location, ids_to):
                self._noting, self._ids_to = None, ids_to
                self._follow(self.coordinator.metadata_written(self._now, checkpoint_id, location))
                self._note_next()
            case s.CheckpointNotStored(checkpoint_id, error):
                self._not_stored(checkpoint_id, error)
                self._note_next()
            case s.IdsReserved(ids_to):
                self._reserving, self._ids_to = False, ids_to
            case s.OutputNoted() if not self._closed:
                self._commit_awaited = 0
                self._out.append(a.TellSlots(m.CommitFinal(self.coordinator.next_checkpoint_id)))

    def _stored(self, checkpoint_id: int, location: StoredCheckpoint) -> None:
        in_passing = location.metadata.savepoint and checkpoint_id != self._final_id
        if self._settings.logged and not in_passing:
            self._to_note[checkpoint_id] = location
            self._note_next()
        else:
            self._follow(self.coordinator.metadata_written(self._now, checkpoint_id, location))

    def _not_stored(self, checkpoint_id: int, error: RekindleError) -> None:
        if checkpoint_id == self._noting:
            self._noting = None
        if isinstance(error, JobFencedError):
            reason = c.CheckpointFailureReason.JOB_FAILED
            self._fail(error)
        else:
            reason = c.CheckpointFailureReason.METADATA_WRITE_FAILED
            if not error.curable:
                reason = c.CheckpointFailureReason.UNWRITABLE
        self._follow(self.coordinator.metadata_failed(self._now, checkpoint_id, str(error), reason))

    def _note_next(self) -> None:
        """Enter the oldest durable checkpoint into the job's log, unless it was given up meanwhile."""
        while self._noting is None and self._to_note:
            checkpoint_id = min(self._to_note)
            location = self._to_note.pop(checkpoint_id)
            if self.coordinator.begin_commit(checkpoint_id):
                self._noting = checkpoint_id
                retained = references(self.coordinator.completed(), location, self._settings.num_retained)
                self._out.append(s.NoteCheckpoint(checkpoint_id, location, tuple(retained)))
            else:
                self._follow(self.coordinator.metadata_written(self._now, checkpoint_id, location))

    def _follow(self, instructions: Iterable[c.Instruction]) -> None:
        """Do what the coordinator has decided."""
        instructions = list(instructions)
        fatal = {order.checkpoint_id for order in instructions if isinstance(order, c.FailJob)}
        for order in instructions:
            match order:
                case c.TriggerCheckpoint(checkpoint_id, epoch, timestamp, savepoint, base_id):
                    request = self._savepoints.find(checkpoint_id) if savepoint else None
                    directory = None if request is None else request.location
                    barrier = m.TriggerSnapshot(checkpoint_id, epoch, base_id, directory, timestamp)
                    self._out.append(a.PlaceBarrier(barrier))
                case c.WriteMetadata() | c.DropCompleted():
                    self._out.append(order)
                case c.NotifyComplete():
                    self._completed(order)
                case c.NotifyAborted():
                    self._aborted(order, order.checkpoint_id in fatal)
                case c.DiscardState(checkpoint_id, snapshot):
                    if snapshot is None or snapshot.has_files():
                        self._out.append(s.DiscardFiles(checkpoint_id))
                case c.DiscardCheckpoint(checkpoint_id):
                    self._out.append(s.DiscardFiles(checkpoint_id))
                case c.FailJob(_, reason, message):
                    if self._commit_awaited is None:  # else the last checkpoint is complete, and no other matters
                        error = CheckpointError(message)
                        error.curable = reason is not c.CheckpointFailureReason.UNWRITABLE
                        self._fail(error)
                case c.ReportSavepointFailure(checkpoint_id, message):
                    self._out.append(a.FailSavepoint(checkpoint_id, message))
                    if checkpoint_id == self._stop_id:
                        self._stop_failed(message)

    def _completed(self, order: c.NotifyComplete) -> None:
        checkpoint_id = order.checkpoint_id
        latest = self.coordinator.latest_completed()
        if latest is not None and latest.checkpoint_id == checkpoint_id:
            if checkpoint_id == self._final_id:
                self._commit_awaited = checkpoint_id
            self._out.append(a.ShowCheckpoint(latest))
            if latest.location.metadata.has_staged_rows:
                self._to_commit.append(latest)
                if len(self._to_commit) == 1 and not self._closed:  # else the next attempt does, before it begins
                    self._out.append(a.CommitRows(latest))
        if not order.is_restore_point:
            self._unsafe[checkpoint_id] = set(range(self._settings.slots))
        self._out.append(a.TellSlots(m.NotifyComplete(checkpoint_id, order.is_restore_point)))
        if order.savepoint and order.is_restore_point:
            self._complete_savepoint(checkpoint_id)
        if self._requested.serves(checkpoint_id):
            self._out.append(a.CompleteRequested(checkpoint_id))

    def _aborted(self, order: c.NotifyAborted, fatal: bool) -> None:
        """Tell of a checkpoint that failed; one that fails the job is told of by the job's failure."""
        number, reason = order.checkpoint_id, order.reason
        if reason.counts_as_failure and not fatal and self._savepoints.find(number) is None:
            text = checkpoint_failed(number, reason, order.detail)
            self._out.append(a.ShowCheckpointFailure(number, reason.name, text))
        if self._requested.serves(number):
            self._out.append(a.FailRequested(number, checkpoint_failed(number, reason, order.detail)))
        self._out.append(a.TellSlots(m.NotifyAborted(number)))

    def _rows_committed(self, checkpoint_id: int) -> None:
        """Let the next checkpoint with rows be committed, or end the job if that is all it waits for."""
        if self._to_commit and self._to_commit[0].checkpoint_id == checkpoint_id:
            self._to_commit.popleft()
            if self._to_commit:
                self._out.append(a.CommitRows(self._to_commit[0]))
        if checkpoint_id == self._commit_awaited == 0:
            self._last_rows = {}
        self._finish_if_committed()

    def _finish_if_committed(self) -> None:
        if len(self._committed) == self._settings.slots and not self._to_commit and not self._last_rows:
            self._end(a.Outcome.FINISHED)

    def _output_committed(self, slot: int, checkpoint_id: int, staged: Mapping[str, Sequence[StagedRows]]) -> None:
        unsafe = self._unsafe.get(checkpoint_id)
        if unsafe is not None:
            unsafe.discard(slot)
            if not unsafe:
                del self._unsafe[checkpoint_id]
                self._complete_savepoint(checkpoint_id)
        if checkpoint_id == self._commit_awaited:
            self._committed.add(slot)
            for uid, rows in staged.items():
                if rows:
                    self._last_rows.setdefault(uid, []).extend(rows)
            if len(self._committed) == self._settings.slots and self._last_rows:
                self._out.append(a.CommitLastRows(self._last_rows))
            self._finish_if_committed()

    def _complete_savepoint(self, checkpoint_id: int) -> None:
        self._out.append(a.CompleteSavepoint(checkpoint_id))
        request = self._savepoints.find(checkpoint_id)
        if request is None or checkpoint_id != self._stop_id:
            return
        self._stopping.completed(checkpoint_id, request.location)
        if self._stopping.cancels:
            self._end(a.Outcome.CANCELLED)
        self._out.append(a.ShowStopSavepoint(request.location))

    # -------------------------------------------------------------------------------- the end of the job

    def _finish_output(self) -> None:
        """Make all output visible: with a last checkpoint, or at once in a job without checkpoints."""
        under_way = self._final_id in self.coordinator.pending_ids() or self._noting_output
        if self._over or self._commit_awaited is not None or under_way:
            return
        self._begin_stop()
        if self._stop is not None:
            return
        if not self._settings.ends_with_checkpoint:
            self._noting_output = True
            self._out.append(s.NoteOutput())
        elif self._now >= self._final_not_before and self._has_id():
            self._final_not_before = self._now + _FINAL_PAUSE_MS
            self._final_id = self.coordinator.next_checkpoint_id
            self._trigger(final=True)

    def _begin_stop(self) -> None:
        """Stop the job, between two epochs, if somebody has asked for it; go on with it if it has begun.

        From the barrier of the savepoint on no epoch begins, so no record comes after it. A job that is cancelled with
        a savepoint leaves its output to the job that starts from it: a checkpoint that is still under way would commit
        what the savepoint holds as well, so its end is awaited.
        """
        if self._stop is None:
            self._stop = self._stopping.begin() if self._stopping.waiting else None
            if self._stop is not None and self._stop.mode is StopMode.DRAIN and not self._input_ended:
                self._draining = True
                self._out += [a.DrainSources(self._last_epoch), a.Tick()]
        drained = self._input_ended or not self._draining
        if self._stop is not None and self._stop_id is None and drained and self._has_id():
            final = self._stop.mode is not StopMode.CANCEL
            if not final and self.coordinator.pending_ids():
                return
            self._stop_id = self.coordinator.next_checkpoint_id
            if final:
                self._final_id = self._stop_id
            self._savepoints.begin_now(self._stop_id, self._stop.directory)
            self._trigger(savepoint=True, final=final)

    def _stop_failed(self, message: str) -> None:
        """Leave the job as it was: epochs go on, or, if the sources had been ended, it goes back to its checkpoint."""
        if self._over:
            return  # the next attempt tries again
        request = self._stopping.withdraw()
        if self._draining:  # and it stays under way: nothing of this attempt is to be committed
            if request is not None:
                then = "goes back to its last checkpoint, if it may be restarted"
                self._out.append(a.GiveUpStop(request, message, then))
            ended = f"{message}. All sources had been ended for it: the job goes back to its checkpoint"
            self._fail(StopFailedError(ended))
        else:
            if request is not None:
                self._out.append(a.GiveUpStop(request, message))
            self._stop = self._stop_id = None

    def _fail(self, error: BaseException, primary: bool = True) -> None:
        """Prefer what a slot said, or its death, over what the cluster makes of it."""
        if self._over:
            return
        if primary:
            self._end(error)
        else:
            self._suspected = error
            self._out.append(a.AwaitCause())

    def _end(self, outcome: a.Outcome | BaseException) -> None:
        if self._outcome is None and not self._closed:
            self._outcome = outcome
            self._out.append(a.End(outcome))
