"""One attempt at running the job: its slots, its epochs, its checkpoints, until it ends one way or another.

Three kinds of threads meet here. Epochs run in a thread of their own, see ``epoch_runner``; slots speak from the
threads of their connections; and the job master's own thread sits in :meth:`Attempt.run`, takes events one by one and
decides. What they share is under one lock; what slots are told under it arrives in that order.
"""

from __future__ import annotations

import logging
import queue
import sys
import threading
import time
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any

from rekindle.checkpoint.completed_checkpoint import CompletedCheckpoint
from rekindle.checkpoint.coordinator import CheckpointCoordinator
from rekindle.checkpoint.events import CheckpointFailureReason, FailJob
from rekindle.checkpoint.statistics import RestoredStatistics
from rekindle.checkpoint.statistics_overview import CheckpointsOverview
from rekindle.checkpoint.stored_checkpoint import StoredCheckpoint
from rekindle.exceptions import (
    CheckpointCorruptError,
    CheckpointError,
    ConfigurationError,
    JobCancelledError,
    JobExecutionError,
    JobFencedError,
    SlotLostError,
    UserCodeError,
)
from rekindle.runtime.master.attempt_slots import AttemptSlots
from rekindle.runtime.master.attempt_stop import AttemptStop
from rekindle.runtime.master.barriers import only_between_epochs
from rekindle.runtime.master.checkpointing import CheckpointExecutor
from rekindle.runtime.master.epoch_runner import EpochRunner
from rekindle.runtime.master.failures import ended_error, slot_error
from rekindle.runtime.master.job_history import SlotPlace
from rekindle.runtime.master.job_shared import JobShared
from rekindle.runtime.master.slot_launch import SlotLaunch
from rekindle.runtime.master.slot_metrics import SlotMetrics, SlotReadings
from rekindle.runtime.master.start_times import Phase, StartTimes
from rekindle.runtime.operators.sinks import COLLECTED
from rekindle.runtime.slot.__main__ import STDERR
from rekindle.runtime.spark.epoch_driver import EpochDriver
from rekindle.runtime.wire import messages as m

log = logging.getLogger(__name__)

_CAUSE_WAIT = 2.0
_GRACE = 5.0
_LONGEST_WAIT_MS = 1000
_LOOKS = 3  # heartbeats between two looks at who owns the job


class Outcome(Enum):
    """Say how an attempt ended, when it did not fail."""

    FINISHED = auto()
    CANCELLED = auto()


_ABORTS = {
    Outcome.FINISHED: CheckpointFailureReason.JOB_FINISHED,
    Outcome.CANCELLED: CheckpointFailureReason.JOB_CANCELLED,
    None: CheckpointFailureReason.JOB_FAILED,
}


@dataclass(frozen=True, slots=True)
class _SlotSaid:
    slot: int
    message: m.ToMaster


@dataclass(frozen=True, slots=True)
class _Failed:
    error: BaseException
    primary: bool  # the cause itself, not something that follows from it


class _InputEnded:
    pass


class _FirstEpochEnded:
    pass


class _Cancel:
    pass


class Attempt:
    """Run the job once, from a checkpoint or from the beginning.

    Whatever becomes of :meth:`run`, :meth:`stop` must follow: only the job master knows whether the slots are to keep
    something for a next attempt.

    Attributes:
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
        self.coordinator = coordinator
        self.damage: CheckpointCorruptError | None = None
        self._shared = shared
        self._number = number
        self._settings = shared.settings
        self._events: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._lock = threading.RLock()
        self._slots = shared.graph.slots
        self._executor = CheckpointExecutor(
            shared.settings,
            shared.graph,
            shared.clock,
            shared.server.broadcast,
            self._checkpoint_completed,
            self._too_many_failed,
            shared.checkpoints,
            shared.savepoints,
            shared.ownership,
            shared.view.checkpoint_failed,
            lambda: self._epochs.positions(),
        )
        self._epochs = EpochRunner(
            shared, number, self._lock, self._epoch_ended, lambda error: self._fail(error, primary=False)
        )
        self._stop = AttemptStop(
            shared.stopping,
            self._epochs,
            self._take_last_savepoint,
            shared.view.savepoint_completed,
            lambda: self._events.put(_Cancel()),
            self._fail,
        )
        self._times = times
        self._running_slots = AttemptSlots(shared, number, times, launch)
        self._metrics = SlotMetrics(lambda: len(shared.server.connections()), shared.server.broadcast)
        self._driver: EpochDriver | None = None
        self._outcome: Outcome | None = None
        self._stopping = False
        # What was collected is already on its way.
        self._aligned = (
            shared.settings.checkpoints.mode_exactly_once
            or shared.collected is not None
            or only_between_epochs(shared.graph)
        )
        self._input_ended = False
        self._final_id: int | None = None
        self._commit_awaited: int | None = None
        self._committed: set[int] = set()  # the slots that have made visible what is awaited
        self._out_of_ids = False
        self._look_at = 0.0  # when to look whether another driver has taken over

    # --- the job master's thread ---

    def run(self) -> Outcome:
        """Run until the job is finished or cancelled; raise what made it fail."""
        restore = self._restore_point()
        self._shared.server.begin_attempt(self._number, self)
        self._epochs.prepare(restore.metadata.positions if restore is not None else ())
        slots = self._running_slots.start(restore)
        self._note_restored()
        self._shared.view.attempt_started(self._number, restore.metadata.checkpoint_id if restore else None)
        if self._shared.stopping.ends_with(None if restore is None else restore.metadata.checkpoint_id):
            self._outcome = Outcome.FINISHED
            return self._outcome
        self._driver = self._epochs.start(slots)
        self._outcome = self._supervise(self._driver)
        return self._outcome

    def stop(self, job_over: bool, failure: BaseException | None = None) -> None:
        """Stop the epochs and end the slots.

        Args:
            job_over: Whether no other attempt follows.
            failure: What the attempt has failed by.
        """
        with self._lock:
            self._stopping = True
        self._epochs.stop()
        self._running_slots.fail(JobExecutionError("the attempt has ended"))
        if self._driver is not None:
            with suppress(Exception):
                self._driver.stop()
        self._running_slots.release(job_over, _GRACE if self._outcome is not None else _GRACE / 5)
        with self._lock:
            self._stop.attempt_ended(failure)
            aborts = self.coordinator.abort_all(self._shared.clock.now(), _ABORTS[self._outcome])
            self._executor.run(self.coordinator, aborts)
            self._executor.attempt_ended(self._outcome is Outcome.FINISHED)
        self._epochs.close()

    def slot_pids(self) -> dict[int, int]:
        """Give the processes of the slots."""
        return self._running_slots.pids()

    def slot_places(self) -> dict[int, SlotPlace]:
        """Tell where the slots run."""
        return self._running_slots.places()

    def read_metrics(self) -> SlotReadings:
        """Ask the slots what they count and measure."""
        return self._metrics.read()

    def checkpoint_statistics(self) -> CheckpointsOverview:
        """Describe the checkpoints of the job so far."""
        with self._lock:
            return self.coordinator.statistics()

    def cancel(self) -> None:
        """Ask the attempt to end, also while it waits for its slots."""
        self._events.put(_Cancel())
        self._running_slots.fail(JobCancelledError("the job was cancelled"))

    def wake(self) -> None:
        """Let the attempt see that there is something new to do, such as a savepoint."""
        self._events.put(None)

    def _supervise(self, driver: EpochDriver) -> Outcome:
        while True:
            event = self._next_event()
            if isinstance(event, _SlotSaid):
                self._handle(event.slot, event.message)
            elif isinstance(event, _Failed):
                raise self._root_cause(event)
            elif isinstance(event, _Cancel):
                return Outcome.CANCELLED
            elif isinstance(event, _InputEnded):
                self._input_ended = True
            elif isinstance(event, _FirstEpochEnded):
                self._shared.view.recovered(self._number, self._times.milliseconds())
            elif not driver.active:
                raise self._root_cause(_Failed(ended_error(driver), primary=False))
            if self._commit_awaited is not None and len(self._committed) == self._slots:
                return Outcome.FINISHED
            self._check_owner()
            with self._lock:
                self._act_on_time()

    def _check_owner(self) -> None:
        """Look now and then whether another driver has taken over, not only at the next commit."""
        now = time.monotonic()
        if now >= self._look_at:
            self._look_at = now + _LOOKS * self._settings.heartbeat_ms / 1000
            self._shared.ownership.check()

    def _next_event(self) -> Any:
        """Wait for an event, but not past the time at which something is due."""
        with self._lock:
            now = self._shared.clock.now()
            dues = (self.coordinator.next_event_at(now), self._epochs.next_timer)
            wait = min([_LONGEST_WAIT_MS, *(max(0, due - now) for due in dues if due is not None)])
        try:
            return self._events.get(timeout=wait / 1000 + 0.001)
        except queue.Empty:
            return None

    def _act_on_time(self) -> None:
        """Do what is due: end the output, expire and trigger checkpoints, start an epoch for timers."""
        now = self._shared.clock.now()
        self._executor.run(self.coordinator, self.coordinator.expire(now))
        if self._input_ended:
            self._finish_output(now)
            return
        self._trigger_due(now)
        self._epochs.start_if_timer_due(now)

    def _finish_output(self, now: int) -> None:
        """Make all output visible: with a last checkpoint, or at once in a job without checkpoints."""
        if self._commit_awaited is not None or self._final_id in self.coordinator.pending_ids():
            return
        self._stop.input_ended()
        if self._stop.under_way:
            return
        if not self._settings.ends_with_checkpoint:
            self._shared.ownership.commit_output()
            self._commit_awaited = 0
            self._shared.server.broadcast(m.CommitFinal())
        else:
            self._final_id = self.coordinator.next_checkpoint_id
            self._trigger(now, final=True)

    def _handle(self, slot: int, message: m.ToMaster) -> None:
        now = self._shared.clock.now()
        with self._lock:
            if isinstance(message, m.SnapshotDone):
                instructions = self.coordinator.acknowledge(
                    now, message.attempt, message.checkpoint_id, slot, message.snapshot()
                )
                self._executor.run(self.coordinator, instructions)
            elif isinstance(message, m.SnapshotFailed):
                reason = _declined(message)
                instructions = self.coordinator.decline(
                    now, message.attempt, message.checkpoint_id, slot, reason, message.reason
                )
                self._executor.run(self.coordinator, instructions)
            elif isinstance(message, m.CommitDone):
                self._executor.notified(slot, message.checkpoint_id)
                if message.checkpoint_id == self._commit_awaited:
                    self._committed.add(slot)

    def _root_cause(self, failed: _Failed) -> BaseException:
        """Prefer what a slot said, or its death, over what Spark makes of it."""
        until = time.monotonic() + _CAUSE_WAIT
        while not failed.primary and (left := until - time.monotonic()) > 0:
            with suppress(queue.Empty):
                event = self._events.get(timeout=left)
                if isinstance(event, _Failed) and event.primary:
                    return event.error
        return failed.error

    # --- checkpoints, under the lock ---

    def _epoch_ended(self) -> None:
        if self._number and self._epochs.last_epoch == 1:
            self._times.mark(Phase.FIRST_EPOCH)
            self._events.put(_FirstEpochEnded())
        if self._epochs.finished:
            self._events.put(_InputEnded())
        else:
            self._trigger_due(self._shared.clock.now())
            self._events.put(None)  # timers and triggers may be due earlier than the waiting thread believes

    def _trigger_due(self, now: int) -> None:
        """Trigger the periodic checkpoint if one is due, and the savepoints that wait, where a barrier can stand."""
        if self._stopping or self._out_of_ids:
            return
        if not self._epochs.running:
            self._stop.begin()
        if self._stop.under_way:
            return
        if not (self._aligned and self._epochs.running) and self.coordinator.trigger_due(now):
            self._trigger(now)
        while not self._epochs.running and self._shared.savepoints.waiting and not self._out_of_ids:
            self._trigger(now, savepoint=True)

    def _trigger(self, now: int, savepoint: bool = False, final: bool = False) -> None:
        checkpoint_id = self.coordinator.next_checkpoint_id
        if not self._may_use(checkpoint_id):
            return
        if not savepoint:
            self._begin_checkpoint(now, savepoint, final)
        elif self._shared.savepoints.begin(checkpoint_id):
            self._begin_savepoint(now, checkpoint_id, final)

    def _begin_savepoint(self, now: int, checkpoint_id: int, final: bool) -> None:
        """Begin a savepoint that somebody waits for; that it cannot begin they are told, and the job goes on."""
        try:
            self._begin_checkpoint(now, savepoint=True, final=final)
        except Exception as error:
            log.exception("savepoint %d could not begin", checkpoint_id)
            reason = f"it could not begin: {error}"
            then = self.coordinator.decline(
                now, self._number, checkpoint_id, 0, CheckpointFailureReason.DECLINED, reason
            )
            self._executor.run(self.coordinator, then)
            self._shared.savepoints.failed(checkpoint_id, reason)  # if the coordinator had not heard of it yet

    def _begin_checkpoint(self, now: int, savepoint: bool, final: bool) -> None:
        if self._shared.collected is not None:
            self._shared.collected.barrier(self.coordinator.next_checkpoint_id)
        instructions = self.coordinator.trigger(now, self._epochs.last_epoch, savepoint, final)
        self._executor.run(self.coordinator, instructions)

    def _take_last_savepoint(self, directory: str, final: bool) -> tuple[int, Future[str]]:
        """Take the savepoint that the job stops with."""
        checkpoint_id = self.coordinator.next_checkpoint_id
        if not self._may_use(checkpoint_id):
            return checkpoint_id, _refused("no checkpoint id could be reserved for the savepoint")
        try:
            future = self._shared.savepoints.begin_now(checkpoint_id, directory)
        except ConfigurationError as error:
            return checkpoint_id, _refused(str(error))
        if final:
            self._final_id = checkpoint_id
        self._begin_savepoint(self._shared.clock.now(), checkpoint_id, final)
        return checkpoint_id, future

    def _may_use(self, checkpoint_id: int) -> bool:
        """Make sure that no other driver uses a checkpoint id; without that there are no more checkpoints."""
        try:
            self._shared.ownership.reserve(checkpoint_id)
        except (JobFencedError, CheckpointError) as error:
            self._out_of_ids = True
            self._fail(error)
        return not self._out_of_ids

    def _too_many_failed(self, failed: FailJob) -> None:
        if self._commit_awaited is None:  # else the last checkpoint is complete, and no other matters
            error = CheckpointError(failed.message)
            error.curable = failed.reason is not CheckpointFailureReason.UNWRITABLE
            self._fail(error)

    def _checkpoint_completed(self, checkpoint: CompletedCheckpoint) -> None:
        if checkpoint.checkpoint_id == self._final_id:
            self._commit_awaited = checkpoint.checkpoint_id
        if self._shared.collected is not None:
            self._shared.collected.completed(checkpoint.checkpoint_id)
        # The only one of a batch is but a note of what is to be committed; a savepoint is shown as such.
        if not self._settings.batch and not checkpoint.savepoint:
            self._shared.view.checkpoint_completed(checkpoint)

    # --- what is restored ---

    def _restore_point(self) -> StoredCheckpoint | None:
        latest = self.coordinator.latest_completed()
        return None if latest is None else latest.location

    def _note_restored(self) -> None:
        latest, now = self.coordinator.latest_completed(), self._shared.clock.now()
        if latest is not None:
            path = latest.location.external_path
            with self._lock:
                savepoint = latest.savepoint or latest.location.metadata.savepoint
                self.coordinator.restored(RestoredStatistics(latest.checkpoint_id, now, savepoint, path))

    # --- the slots' threads ---

    def slot_said(self, slot: int, message: m.ToMaster) -> None:
        """Take a message of a slot."""
        if isinstance(message, m.EpochReport):
            self._epochs.report(slot, message)
        elif isinstance(message, m.RequestEpoch):
            self._epochs.raise_tick()
        elif isinstance(message, m.Output):
            self._show(message)
        elif isinstance(message, m.SlotFailed):
            error = slot_error(message)
            if isinstance(error, CheckpointCorruptError):
                self.damage = error
            if self._stopping and isinstance(error, UserCodeError):
                log.warning("user code raised while the job was being ended: %s", error)  # nobody waits for it
            self._fail(error)
        elif isinstance(message, m.MetricsReport):
            self._metrics.answer(slot, message)
        elif isinstance(message, m.Register):
            self._running_slots.registered(slot, message)
        elif isinstance(message, m.Ready):
            self._running_slots.ready(slot, message)
        else:
            self._events.put(_SlotSaid(slot, message))

    def slot_lost(self, slot: int, why: str) -> None:
        """Learn that a slot is gone."""
        if not self._stopping:
            self._fail(SlotLostError(f"slot {slot} was lost: {why}", slot))

    def _show(self, output: m.Output) -> None:
        if output.channel == COLLECTED:
            if self._shared.collected is not None:
                with self._lock:
                    self._shared.collected.add(output.data)
        elif output.channel == m.NOTICE:
            self._shared.view.notice(output.data.decode("utf-8", "surrogateescape"))
        else:
            stream = sys.stderr if output.channel == STDERR else sys.stdout
            self._shared.view.show(output.data.decode("utf-8", "surrogateescape"), stream)

    def _fail(self, error: BaseException, primary: bool = True) -> None:
        self._events.put(_Failed(error, primary))
        self._epochs.fail(error)
        self._running_slots.fail(error)


def _refused(why: str) -> Future[str]:
    future: Future[str] = Future()
    future.set_exception(CheckpointError(why))
    return future


def _declined(message: m.SnapshotFailed) -> CheckpointFailureReason:
    return CheckpointFailureReason.DECLINED if message.curable else CheckpointFailureReason.UNWRITABLE
