"""One attempt at running the job: its slots, its epochs, its checkpoints, until it ends one way or another.

What is decided is decided by ``attempt_machine``. Here are the threads around it. Epochs run in a thread of their own,
see ``epoch_runner``; slots speak from the threads of their connections; checkpoints are written and deleted in the
thread of ``checkpoint_io``; rows are handed to the functions that write them to tables in another such thread. All of
them only put events into a queue. The job master's own thread sits in :meth:`Attempt.run`, hands them to the machine
one by one, and carries out what that orders: so what slots are told arrives in that order. A lock lets others look at
the checkpoints meanwhile; nothing is waited for under it.
"""

from __future__ import annotations

import logging
import math
import queue
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

from rekindle.checkpoint.completed_checkpoint import CompletedCheckpoint
from rekindle.checkpoint.coordinator import CheckpointCoordinator
from rekindle.checkpoint.events import DropCompleted, WriteMetadata
from rekindle.checkpoint.metadata import SourcePosition, StagedRows
from rekindle.checkpoint.source_positions import positions_for
from rekindle.checkpoint.statistics import RestoredStatistics
from rekindle.checkpoint.statistics_overview import CheckpointsOverview
from rekindle.checkpoint.stored_checkpoint import StoredCheckpoint
from rekindle.exceptions import (
    CheckpointCorruptError,
    CheckpointError,
    InvalidProgramError,
    JobCancelledError,
    JobExecutionError,
    SlotLostError,
    UserCodeError,
)
from rekindle.graph.transformations.split_sources import SplitFrame
from rekindle.runtime.accumulated import merged_accumulators
from rekindle.runtime.master.attempts import attempt_events as a
from rekindle.runtime.master.attempts.attempt_machine import AttemptMachine, AttemptSettings
from rekindle.runtime.master.attempts.attempt_slots import AttemptSlots
from rekindle.runtime.master.attempts.barriers import only_between_epochs
from rekindle.runtime.master.attempts.slot_launch import SlotLaunch
from rekindle.runtime.master.checkpoints import storage_orders as s
from rekindle.runtime.master.checkpoints.checkpoint_io import Work
from rekindle.runtime.master.checkpoints.checkpoint_writer import CheckpointWriter
from rekindle.runtime.master.checkpoints.table_commits import StagedOutput
from rekindle.runtime.master.cluster import EpochDriver
from rekindle.runtime.master.epochs.epoch_runner import EpochRunner
from rekindle.runtime.master.job_shared import JobShared
from rekindle.runtime.master.restarts.failures import slot_error
from rekindle.runtime.master.slots.slot_metrics import SlotMetrics, SlotReadings
from rekindle.runtime.master.slots.state_registry import StateRegistry
from rekindle.runtime.master.views.job_history import SlotPlace
from rekindle.runtime.master.views.observer_guard import ObserverGuard
from rekindle.runtime.master.views.start_times import Phase, StartTimes
from rekindle.runtime.wire import messages as m

log = logging.getLogger(__name__)

_CAUSE_WAIT = 2.0
_GRACE = 5.0
_LAST_LOOK = 0.5
_LONGEST_WAIT = 1.0
_LOOKS = 3  # heartbeats between two looks at who owns the job


class Attempt:
    """Run the job once, from a checkpoint or from the beginning.

    Whatever becomes of :meth:`run`, :meth:`stop` must follow: only the job master knows whether the slots are to keep
    something for a next attempt.

    Attributes:
        states: The queryable states of the attempt.
        damage: What a slot said about the checkpoint it was to restore, if that is damaged.

    Args:
        shared: The job.
        number: Which attempt this is, counted from 0.
        coordinator: Knows of all checkpoints so far.
        times: What follows how long the start takes.
        launch: The slots, if they were started already.
    """

    def __init__(
        self,
        shared: JobShared,
        number: int,
        coordinator: CheckpointCoordinator,
        times: StartTimes,
        launch: SlotLaunch | None = None,
    ) -> None:
        self.damage: CheckpointCorruptError | None = None
        self._shared = shared
        self._number = number
        self._events: queue.SimpleQueue[a.Event] = queue.SimpleQueue()
        self._lock = threading.Lock()  # what the machine knows
        self._machine = AttemptMachine(
            attempt_settings(shared, number), coordinator, shared.savepoints, shared.stopping, shared.requested
        )
        settings = shared.settings
        self._writer = CheckpointWriter(
            settings.job_id,
            settings.job_name,
            shared.graph,
            shared.checkpoints,
            shared.savepoints,
            shared.ownership,
            shared.staging,
        )
        self._epochs = EpochRunner(shared, self._events.put, lambda error: self._fail(error, primary=False))
        self._times = times
        self.states = StateRegistry(shared.graph, shared.secret, shared.slot_pool.broadcast)
        self._running_slots = AttemptSlots(shared, number, times, self.states, launch)
        self._accumulators: dict[int, bytes] = {}  # what each slot has sent last
        self._metrics = SlotMetrics(self._slots_to_ask, shared.slot_pool.broadcast)
        self._driver: EpochDriver | None = None
        self._stopping = False
        self._positions: dict[int, list[SourcePosition]] = {}  # at the barriers of the checkpoints under way
        self._cause_until: float | None = None  # how long a better cause of a failure is waited for
        self._guard = ObserverGuard(settings.job_name)
        self._look_at = 0.0  # when to look whether another driver has taken over

    # --- the job master's thread ---

    def run(self) -> a.Outcome:
        """Run until the job is finished or cancelled; raise what made it fail."""
        restore = self._restore_point()
        self._shared.slot_pool.begin_attempt(self._number, self)
        self._epochs.prepare(positions_for(self._shared.graph, restore.metadata) if restore is not None else ())
        slots = self._running_slots.start(restore)
        self._note_restored()
        self._shared.view.attempt_started(self._number, restore.metadata.checkpoint_id if restore else None)
        self._commit_restored(restore)
        if self._shared.stopping.ends_with(None if restore is None else restore.metadata.checkpoint_id):
            with self._lock:
                return self._machine.end_restored()
        self._driver = self._epochs.start(slots)
        return self._supervise(self._driver)

    def stop(self, job_over: bool, failure: BaseException | None = None) -> None:
        """Stop the epochs, end the slots, and settle what is under way.

        Args:
            job_over: Whether no other attempt follows.
            failure: What the attempt has failed by.
        """
        self._stopping = True
        self.states.close()
        self._epochs.stop()
        self._running_slots.fail(JobExecutionError("the attempt has ended"))
        if self._driver is not None:
            with suppress(Exception):
                self._driver.stop()
        with self._lock:
            ended_well = self._machine.stop()
        if ended_well:
            self._metrics.read(_LAST_LOOK)
        self._running_slots.release(job_over, _GRACE if ended_well else _GRACE / 5)
        self._shared.io.settle()
        if self._shared.table_io is not None:
            self._shared.table_io.settle()  # nobody else may write meanwhile
        while not self._events.empty():
            self._take(self._events.get())
        with self._lock:
            instructions = self._machine.close(self._shared.clock.now(), failure)
        self._carry_out(instructions)
        self._shared.io.settle()
        self._epochs.close()

    def slot_pids(self) -> dict[int, int]:
        """Return the processes of the slots."""
        return self._running_slots.pids()

    def slot_places(self) -> dict[int, SlotPlace]:
        """Return where the slots run."""
        return self._running_slots.places()

    def read_metrics(self) -> SlotReadings:
        """Ask the slots what they count and measure."""
        return self._metrics.read()

    def _slots_to_ask(self) -> int:
        return min(self._running_slots.open, len(self._shared.slot_pool.registered()))

    def accumulators(self) -> dict[str, Any]:
        """Return the results of the accumulators, as the slots have sent them last.

        Raises:
            InvalidProgramError: They cannot be merged.
        """
        return merged_accumulators([encoded for _, encoded in sorted(self._accumulators.items())])

    @property
    def last_readings(self) -> SlotReadings:
        """Return what the slots counted and measured when they were last asked, at a good end too."""
        return self._metrics.last

    def checkpoint_statistics(self) -> CheckpointsOverview:
        """Describe the checkpoints of the job so far."""
        with self._lock:
            return self._machine.coordinator.statistics()

    def cancel(self) -> None:
        """Ask the attempt to end, also while it waits for its slots."""
        self._events.put(a.CancelRequested())
        self._running_slots.fail(JobCancelledError("the job was cancelled"))

    def wake(self) -> None:
        """Let the attempt see that there is something new to do, such as a savepoint."""
        self._events.put(a.Woken())

    def _supervise(self, driver: EpochDriver) -> a.Outcome:
        while self._machine.outcome is None:
            self._take(self._next_event(driver))
            self._look_at_owner()
        if isinstance(self._machine.outcome, BaseException):
            raise self._machine.outcome
        return self._machine.outcome

    def _take(self, event: a.Event) -> None:
        with self._lock:
            instructions = self._machine.handle(self._shared.clock.now(), event)
        self._carry_out(instructions)

    def _next_event(self, driver: EpochDriver) -> a.Event:
        """Wait for an event, but not past the time at which something is due."""
        now = self._shared.clock.now()
        with self._lock:
            due = self._machine.next_due(now)
        wait = _LONGEST_WAIT if due is None else min(_LONGEST_WAIT, max(0, due - now) / 1000 + 0.001)
        if self._cause_until is not None:
            wait = self._cause_until - time.monotonic()
            if wait <= 0:
                return a.CauseOverdue()
        try:
            return self._events.get(timeout=wait)
        except queue.Empty:
            ended = self._cause_until is None and not driver.active
            return a.Failed(driver.error, primary=False) if ended else a.Woken()

    def _look_at_owner(self) -> None:
        """Look now and then whether another driver has taken over, not only at the next commit."""
        now = time.monotonic()
        if self._shared.ownership.shared and now >= self._look_at:
            self._look_at = math.inf  # until this look is over
            self._do(self._check_owner)

    def _check_owner(self) -> None:
        """Look who owns the job, in the thread of the I/O."""
        self._writer.check_owner()
        self._look_at = time.monotonic() + _LOOKS * self._shared.settings.heartbeat_ms / 1000

    # --- what is decided is done ---

    def _carry_out(self, instructions: list[a.Instruction]) -> None:
        for instruction in instructions:
            match instruction:
                case a.BeginEpoch(epoch):
                    self._epochs.begin(epoch)
                case a.SkipEpoch(epoch):
                    self._epochs.skip(epoch)
                case a.Tick():
                    self._tick()
                case a.DrainSources(last_epoch):
                    self._epochs.drain(last_epoch)
                case a.PlaceBarrier(order):
                    self._place_barrier(order)
                case a.TellSlots(message):
                    self._shared.slot_pool.broadcast(message)
                case a.CommitRows(checkpoint):
                    self._commit_rows(checkpoint.checkpoint_id, checkpoint.location)
                case a.CommitLastRows(staged):
                    self._commit_last_rows(staged)
                case a.AwaitCause():
                    self._cause_until = time.monotonic() + _CAUSE_WAIT
                case a.End():
                    pass  # the loop sees it
                case (
                    WriteMetadata()
                    | s.NoteCheckpoint()
                    | s.ReserveIds()
                    | s.NoteOutput()
                    | s.DiscardFiles()
                    | DropCompleted()
                ):
                    self._order_io(instruction)
                case _:
                    self._tell_people(instruction)

    def _tick(self) -> None:
        try:
            self._epochs.tick()
        except Exception as error:
            self._fail(error, primary=False)

    def _place_barrier(self, order: m.TriggerSnapshot) -> None:
        checkpoint_id = order.checkpoint_id
        try:
            self._positions[checkpoint_id] = self._epochs.positions(order.epoch)
            if self._shared.collected is not None:
                self._shared.collected.barrier(checkpoint_id)
            self._shared.slot_pool.broadcast(order)
        except Exception as error:
            log.warning("checkpoint %d could not begin", checkpoint_id, exc_info=True)
            self._events.put(a.BarrierFailed(checkpoint_id, error))

    def _order_io(self, order: s.StorageInstruction) -> None:
        writer = self._writer
        match order:
            case WriteMetadata(checkpoint_id):
                ended = CheckpointError("the attempt ended before its metadata was written")
                positions = self._positions.pop(checkpoint_id)
                self._do(partial(writer.write, order, positions), s.CheckpointNotStored(checkpoint_id, ended))
            case s.NoteCheckpoint(checkpoint_id):
                ended = CheckpointError("the attempt ended before it was entered into the job's log")
                self._do(partial(writer.note, order), s.CheckpointNotStored(checkpoint_id, ended))
            case s.ReserveIds(checkpoint_id):
                self._do(partial(writer.reserve, checkpoint_id))
            case s.NoteOutput():
                self._do(writer.note_output)
            case s.DiscardFiles(checkpoint_id):
                self._positions.pop(checkpoint_id, None)
                self._do(partial(writer.discard, checkpoint_id))
            case DropCompleted(checkpoint):
                self._do(partial(writer.drop, checkpoint))
                if self._shared.tables is not None:
                    self._do(partial(self._shared.tables.drop, checkpoint.location))

    def _do(self, work: Work, given_up: s.StorageOutcome | None = None) -> None:
        """Have something done in the thread of the I/O; its outcome is an event."""
        tell = self._events.put
        self._shared.io.order(work, tell, lambda error: tell(a.Failed(error)), given_up)

    def _commit_rows(self, checkpoint_id: int, location: StoredCheckpoint) -> None:
        tables, staging = self._shared.tables, self._shared.staging
        assert tables is not None
        assert staging is not None
        output = StagedOutput.of(location, staging)
        self._do_with_tables(partial(tables.commit, self._shared.graph, output), checkpoint_id)

    def _commit_last_rows(self, staged: Mapping[str, Sequence[StagedRows]]) -> None:
        tables, staging = self._shared.tables, self._shared.staging
        assert tables is not None
        assert staging is not None
        # A job without checkpoints that is restarted prepares all its rows again, and calls them the same.
        commit = partial(tables.commit, self._shared.graph, StagedOutput.final(staged, staging), self._number > 0)
        self._do_with_tables(commit, 0)

    def _do_with_tables(self, commit: Callable[[], None], checkpoint_id: int) -> None:
        """Have rows committed in the thread for that; the outcome is an event."""

        def work() -> None:
            commit()
            self._events.put(a.RowsCommitted(checkpoint_id))

        assert self._shared.table_io is not None
        given_up = s.CommitGivenUp(checkpoint_id)
        self._shared.table_io.order(work, self._events.put, lambda error: self._events.put(a.Failed(error)), given_up)

    def _commit_restored(self, restore: StoredCheckpoint | None) -> None:
        """Commit the rows of the checkpoint that the job goes on from, and remove those that came after it."""
        tables, staging = self._shared.tables, self._shared.staging
        if tables is None or staging is None:
            return
        if restore is not None and restore.metadata.has_staged_rows:
            tables.commit(self._shared.graph, StagedOutput.of(restore, staging), repeated=True)
        completed = [checkpoint.location for checkpoint in self._machine.coordinator.completed()]
        tables.remove_leftovers(completed)

    def _tell_people(self, news: a.News) -> None:
        view, savepoints, stopping = self._shared.view, self._shared.savepoints, self._shared.stopping
        match news:
            case a.ShowCheckpoint(checkpoint):
                if self._shared.collected is not None:
                    self._shared.collected.completed(checkpoint.checkpoint_id)
                self._tell_sources(checkpoint)
                # The only one of a batch is but a note of what is to be committed; a savepoint is shown as such.
                if not self._shared.settings.batch and not checkpoint.savepoint:
                    view.checkpoint_completed(checkpoint)
            case a.ShowCheckpointFailure(checkpoint_id, reason, text):
                view.checkpoint_failed(checkpoint_id, reason, text)
            case a.ShowRecovery():
                self._times.mark(Phase.FIRST_EPOCH)
                view.recovered(self._number, self._times.milliseconds())
            case a.ShowStopSavepoint(location):
                view.savepoint_completed(location)
            case a.CompleteSavepoint(checkpoint_id):
                savepoints.completed(checkpoint_id)
            case a.FailSavepoint(checkpoint_id, message):
                log.warning(message)
                savepoints.failed(checkpoint_id, message)
            case a.CompleteRequested(checkpoint_id):
                self._shared.requested.completed(checkpoint_id)
            case a.FailRequested(checkpoint_id, message):
                self._shared.requested.failed(checkpoint_id, message)
            case a.GiveUpStop(request, message, then):
                request.give_up(message, then)
            case a.InterruptStop(message):
                stopping.interrupted(message)

    def _tell_sources(self, checkpoint: CompletedCheckpoint) -> None:
        """Let sources that the cluster reads know where they stood at a completed checkpoint."""
        described = {source.uid: source.described for source in self._shared.graph.cluster_sources}
        for position in checkpoint.location.metadata.positions:
            frame = described.get(position.uid)
            if isinstance(frame, SplitFrame) and position.offsets:
                tell = partial(frame.checkpoint_completed, position.offsets[0])
                self._guard.call(f"source {position.uid}", tell)

    # --- what is restored ---

    def _restore_point(self) -> StoredCheckpoint | None:
        latest = self._machine.coordinator.latest_completed()
        return None if latest is None else latest.location

    def _note_restored(self) -> None:
        latest, now = self._machine.coordinator.latest_completed(), self._shared.clock.now()
        if latest is not None:
            savepoint = latest.savepoint or latest.location.metadata.savepoint
            restored = RestoredStatistics(latest.checkpoint_id, now, savepoint, latest.location.external_path)
            with self._lock:
                self._machine.coordinator.restored(restored)

    # --- the slots' threads ---

    def slot_said(self, slot: int, message: m.ToMaster) -> None:
        """Take a message of a slot."""
        match message:
            case m.EpochReport():
                self._epochs.report(slot, message)
            case m.RequestEpoch():
                self._events.put(a.EpochRequested())
            case m.SnapshotDone():
                taken = a.SnapshotTaken(message.attempt, message.checkpoint_id, slot, message.snapshot())
                self._events.put(taken)
            case m.SnapshotFailed():
                self._events.put(
                    a.SnapshotDeclined(message.attempt, message.checkpoint_id, slot, message.reason, message.curable)
                )
            case m.CommitDone():
                self._accumulators[slot] = message.accumulators
                self._events.put(a.OutputCommitted(slot, message.checkpoint_id, message.staged))
            case m.Output():
                self._show(message)
            case m.SlotFailed():
                self._slot_failed(message)
            case m.MetricsReport():
                self._metrics.answer(slot, message)
            case m.StatePublished(location):
                try:
                    self.states.published(location)
                except InvalidProgramError as error:
                    self._fail(error)
            case m.Register():
                self._running_slots.registered(slot, message)
            case m.Ready():
                self._running_slots.ready(slot, message)

    def slot_lost(self, slot: int, why: str) -> None:
        """Learn that a slot is gone."""
        if not self._stopping:
            self._fail(SlotLostError(f"slot {slot} was lost: {why}", slot))

    def _slot_failed(self, message: m.SlotFailed) -> None:
        error = slot_error(message)
        if isinstance(error, CheckpointCorruptError):
            self.damage = error
        if self._stopping and isinstance(error, UserCodeError):
            log.warning("user code raised while the job was being ended: %s", error)  # nobody waits for it
        self._fail(error)

    def _show(self, output: m.Output) -> None:
        if output.channel == m.COLLECTED:
            if self._shared.collected is not None:
                self._shared.collected.add(output.data)
        elif output.channel == m.NOTICE:
            self._shared.view.notice(output.data.decode("utf-8", "surrogateescape"))
        else:
            stream = sys.stderr if output.channel == m.STDERR else sys.stdout
            self._shared.view.show(output.data.decode("utf-8", "surrogateescape"), stream)

    def _fail(self, error: BaseException, primary: bool = True) -> None:
        self._events.put(a.Failed(error, primary))
        self._epochs.fail(error)
        self._running_slots.fail(error)


def attempt_settings(shared: JobShared, number: int) -> AttemptSettings:
    """Settle what kind of job it is that an attempt runs."""
    settings = shared.settings
    # What was collected is already on its way.
    aligned = settings.checkpoints.mode_exactly_once or shared.collected is not None
    return AttemptSettings(
        number=number,
        slots=shared.graph.slots,
        aligned=aligned or only_between_epochs(shared.graph),
        ends_with_checkpoint=settings.ends_with_checkpoint,
        num_retained=settings.checkpoints.num_retained,
        logged=shared.ownership.shared,
        ids_to=shared.ownership.ids_to,
    )
