"""One attempt at running the job: its slots, its query, its epochs, until it ends one way or another.

Three kinds of threads meet here. Spark calls :meth:`Attempt._run_epoch` from the query's thread, slots speak from the
threads of their connections, and the job master's own thread sits in :meth:`Attempt.run`, takes events one by one and
decides. What they share is under one lock; what slots are told under it arrives in that order.
"""

from __future__ import annotations

import os
import queue
import shutil
import signal
import socket
import sys
import threading
import time
from collections import defaultdict
from contextlib import suppress
from dataclasses import dataclass, replace
from enum import Enum, auto
from typing import Any

import cloudpickle
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from rekindle.checkpoint.completed_checkpoint import CompletedCheckpoint
from rekindle.checkpoint.coordinator import CheckpointCoordinator
from rekindle.checkpoint.events import CheckpointFailureReason
from rekindle.checkpoint.metadata import SparkPosition
from rekindle.exceptions import (
    CheckpointError,
    JobCancelledError,
    JobExecutionError,
    RekindleError,
    SlotLostError,
    UserCodeError,
)
from rekindle.graph.job_graph import JobGraph
from rekindle.graph.pickling import main_classes
from rekindle.runtime.clock import Clock
from rekindle.runtime.master.checkpointing import CheckpointExecutor, StoredCheckpoint
from rekindle.runtime.master.collected import CollectedRecords
from rekindle.runtime.master.control_server import ControlServer
from rekindle.runtime.master.epoch_reports import Gathering
from rekindle.runtime.master.job_settings import JobSettings
from rekindle.runtime.master.pacing import EpochPacer
from rekindle.runtime.master.progress import EpochSummary, ProgressView
from rekindle.runtime.operators.sinks import COLLECTED
from rekindle.runtime.slot.__main__ import STDERR
from rekindle.runtime.slot.deployment import RestoredCheckpoint, SlotDeployment, SlotJob, SnapshotSettings
from rekindle.runtime.spark.epochs import EpochPlan
from rekindle.runtime.spark.forwarder import SlotAddress, SlotDirectory
from rekindle.runtime.spark.positions import SparkScratch
from rekindle.runtime.spark.session import is_local
from rekindle.runtime.spark.slot_launcher import launch_slots
from rekindle.runtime.spark.tick_source import write_tick
from rekindle.runtime.wire import messages as m

_START_TIMEOUT = 120.0
_CAUSE_WAIT = 2.0
_GRACE = 5.0
_LONGEST_WAIT_MS = 1000
_ERROR_LINES = 12


class Outcome(Enum):
    """Say how an attempt ended, when it did not fail."""

    FINISHED = auto()
    CANCELLED = auto()


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


class _Cancel:
    pass


@dataclass(slots=True)
class JobShared:
    """Hold what outlives an attempt."""

    session: SparkSession
    graph: JobGraph
    plan: EpochPlan
    settings: JobSettings
    clock: Clock
    server: ControlServer
    host: str
    secret: bytes
    scratch: str
    view: ProgressView
    collected: CollectedRecords | None


class Attempt:
    """Run the job once, from a checkpoint or from the beginning."""

    def __init__(self, shared: JobShared, number: int, coordinator: CheckpointCoordinator) -> None:
        self._shared = shared
        self._number = number
        self.coordinator = coordinator
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
            lambda message: self._fail(CheckpointError(message)),
        )
        self._registered: Gathering[m.Register] = Gathering(self._slots)
        self._ready: Gathering[bool] = Gathering(self._slots)
        self._reports: Gathering[m.EpochReport] = Gathering(self._slots)
        self._gatherings: list[Gathering[Any]] = [self._registered, self._ready, self._reports]
        self._committed: defaultdict[int, set[int]] = defaultdict(set)
        self._directory: SlotDirectory | None = None
        self._tick = 0
        self._tick_path = os.path.join(shared.scratch, f"tick-{number}")
        self._spark = SparkScratch(os.path.join(shared.scratch, f"spark-{number}"), shared.plan.layout())
        self._pacer = EpochPacer(shared.settings.epoch_target_ms, shared.settings.epoch_max_records)
        self._epoch_running = False
        self._last_epoch = 0
        self._next_timer: int | None = None
        self._stopping = False
        self._ended_for_spark = threading.Event()
        # In the middle of an epoch, what an operator has sent but the next has not seen is in no snapshot. Replaying
        # the sources brings it again only if the sender has no state; what was collected is already on its way.
        self._aligned = (
            shared.settings.checkpoints.mode_exactly_once or shared.graph.levels != 2 or shared.collected is not None
        )
        self._all_finished = False
        self._input_ended = False
        self._final_id: int | None = None
        self._commit_awaited: int | None = None
        self._bounded = {s.uid for s in shared.graph.spark_sources if s.bounded} - shared.plan.static_uids()
        self._source_nodes = {s.uid: s.node for s in shared.graph.spark_sources}
        self._ended: set[str] = set()
        self._unread: set[str] = set()  # bounded DataFrames that the next epoch reads

    # --- the job master's thread ---

    def run(self) -> Outcome:
        """Run until the job is finished or cancelled; raise what made it fail."""
        restore = self._restore_point()
        self._shared.server.begin_attempt(self._number, self)
        query: StreamingQuery | None = None
        outcome: Outcome | None = None
        try:
            self._prepare_positions(restore)
            self._deploy(restore)
            assert self._directory is not None
            query = self._shared.plan.start(self._directory, self._tick_path, self._spark.directory, self._run_epoch)
            self._raise_tick()
            outcome = self._supervise(query)
            return outcome
        finally:
            self._stop(query, orderly=outcome is not None)

    def slot_pids(self) -> dict[int, int]:
        """Give the processes of the slots."""
        connections = self._shared.server.connections()
        return {slot: connection.registration.pid for slot, connection in connections.items()}

    def cancel(self) -> None:
        """Ask the attempt to end, also while it waits for its slots."""
        self._events.put(_Cancel())
        for gathering in (self._registered, self._ready):
            gathering.fail(JobCancelledError("the job was cancelled"))

    def _supervise(self, query: StreamingQuery) -> Outcome:
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
            elif not query.isActive:
                raise self._root_cause(_Failed(_query_error(query), primary=False))
            if self._commit_awaited is not None and len(self._committed[self._commit_awaited]) == self._slots:
                return Outcome.FINISHED
            with self._lock:
                self._act_on_time()

    def _next_event(self) -> Any:
        """Wait for an event, but not past the time at which something is due."""
        with self._lock:
            now = self._shared.clock.now()
            dues = (self.coordinator.next_event_at(now), self._next_timer)
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
        if not (self._aligned and self._epoch_running):
            self._trigger_if_due(now)
        if self._next_timer is not None and self._next_timer <= now and not self._epoch_running:
            self._next_timer = None
            self._raise_tick()

    def _finish_output(self, now: int) -> None:
        """Make all output visible: with a last checkpoint, or at once in a job without checkpoints."""
        if self._commit_awaited is not None:
            return
        if not self._settings.checkpointing:
            self._commit_awaited = 0
            self._shared.server.broadcast(m.CommitFinal())
        elif self._final_id is None or self._final_id not in self.coordinator.pending_ids():
            self._final_id = self.coordinator.next_checkpoint_id
            self._trigger(now, final=True)

    def _handle(self, slot: int, message: m.ToMaster) -> None:
        now = self._shared.clock.now()
        with self._lock:
            if isinstance(message, m.SnapshotDone):
                instructions = self.coordinator.acknowledge(now, message.attempt, message.checkpoint_id, slot, message)
                self._executor.run(self.coordinator, instructions)
            elif isinstance(message, m.SnapshotFailed):
                reason = CheckpointFailureReason.DECLINED
                instructions = self.coordinator.decline(
                    now, message.attempt, message.checkpoint_id, slot, reason, message.reason
                )
                self._executor.run(self.coordinator, instructions)
            elif isinstance(message, m.CommitDone):
                self._committed[message.checkpoint_id].add(slot)

    def _checkpoint_completed(self, checkpoint: CompletedCheckpoint) -> None:
        if checkpoint.checkpoint_id == self._final_id:
            self._commit_awaited = checkpoint.checkpoint_id
        if self._shared.collected is not None:
            self._shared.collected.completed(checkpoint.checkpoint_id)
        self._shared.view.checkpoint_completed(checkpoint)

    def _trigger_if_due(self, now: int) -> None:
        if self.coordinator.trigger_due(now):
            self._trigger(now, final=False)

    def _trigger(self, now: int, final: bool) -> None:
        if self._shared.collected is not None:
            self._shared.collected.barrier(self.coordinator.next_checkpoint_id)
        instructions = self.coordinator.trigger(now, self._last_epoch, self._positions(), final=final)
        self._executor.run(self.coordinator, instructions)

    def _positions(self) -> list[SparkPosition]:
        consumed = [
            SparkPosition(uid, [], [], consumed=True) for uid in sorted(self._shared.plan.static_uids() - self._unread)
        ]
        return [*self._spark.positions(self._last_epoch), *consumed]

    def _root_cause(self, failed: _Failed) -> BaseException:
        """Prefer what a slot said, or its death, over what Spark makes of it."""
        until = time.monotonic() + _CAUSE_WAIT
        while not failed.primary and (left := until - time.monotonic()) > 0:
            with suppress(queue.Empty):
                event = self._events.get(timeout=left)
                if isinstance(event, _Failed) and event.primary:
                    return event.error
        return failed.error

    # --- start and end ---

    def _restore_point(self) -> StoredCheckpoint | None:
        latest = self.coordinator.latest_completed()
        if latest is None:
            return None
        assert isinstance(latest.location, StoredCheckpoint)
        return latest.location

    def _prepare_positions(self, restore: StoredCheckpoint | None) -> None:
        positions = {p.uid: p for p in restore.metadata.positions} if restore is not None else {}
        statics = self._shared.plan.static_uids()
        self._unread = {uid for uid in statics if not (uid in positions and positions[uid].consumed)}
        self._ended = statics - self._unread
        self._spark.prepare(positions, self._shared.clock.now())
        write_tick(self._tick_path, 0)

    def _deploy(self, restore: StoredCheckpoint | None) -> None:
        shared, settings = self._shared, self._settings
        job = SlotJob(
            job_id=settings.job_id,
            graph=replace(
                shared.graph,
                spark_sources=tuple(replace(s, data_frame=None) for s in shared.graph.spark_sources),
            ),
            snapshots=SnapshotSettings(
                settings.checkpoint_files,
                settings.inline_below,
                settings.memory_limit,
                settings.asynchronous_snapshots,
            ),
            checkpointing=settings.checkpointing,
            restore=None if restore is None else RestoredCheckpoint(restore.metadata, restore.files, restore.directory),
            epoch_max_ms=settings.epoch_max_ms,
            main_classes=main_classes(),
            job_parameters=settings.job_parameters,
        )
        local = is_local(shared.session)
        deployment = SlotDeployment(
            attempt=self._number,
            slot=-1,
            secret=shared.secret,
            master_host=shared.host,
            master_port=shared.server.port,
            listen_tcp=not local,
            sys_path=user_sys_path(),
            heartbeat_ms=settings.heartbeat_ms,
            orphan_timeout_ms=settings.orphan_timeout_ms,
            job=cloudpickle.dumps(job, protocol=5),
        )
        launch_slots(shared.session, deployment, self._slots)
        registrations = self._registered.wait(_START_TIMEOUT)
        self._ready.wait()
        self._directory = SlotDirectory(
            self._number,
            shared.secret,
            tuple(SlotAddress(r.host, r.unix_name, r.address, r.port) for r in registrations),
        )
        shared.view.attempt_started(self._number, restore.metadata.checkpoint_id if restore else None)

    def _stop(self, query: StreamingQuery | None, orderly: bool) -> None:
        with self._lock:
            self._stopping = True
        self._ended_for_spark.set()
        for gathering in self._gatherings:
            gathering.fail(JobExecutionError("the attempt has ended"))
        if query is not None:
            with suppress(Exception):
                query.stop()
        self._release_slots(orderly)
        reason = CheckpointFailureReason.JOB_FINISHED if orderly else CheckpointFailureReason.JOB_FAILED
        with self._lock:
            self._executor.run(self.coordinator, self.coordinator.abort_all(self._shared.clock.now(), reason))
        shutil.rmtree(self._spark.directory, ignore_errors=True)

    def _release_slots(self, orderly: bool) -> None:
        """Let the slots close their functions and end; the ones that do not in time are cut off."""
        server = self._shared.server
        server.broadcast(m.Shutdown())
        until = time.monotonic() + (_GRACE if orderly else _GRACE / 5)
        while server.connections() and time.monotonic() < until:
            time.sleep(0.01)
        here = socket.gethostname()
        for connection in server.hang_up():
            if connection.registration.host == here:
                with suppress(ProcessLookupError, PermissionError):
                    os.kill(connection.registration.pid, signal.SIGKILL)

    # --- the slots' threads ---

    def slot_said(self, slot: int, message: m.ToMaster) -> None:
        """Take a message of a slot."""
        if isinstance(message, m.EpochReport):
            self._reports.put(slot, message)
        elif isinstance(message, m.Output):
            self._show(message)
        elif isinstance(message, m.SlotFailed):
            self._fail(_slot_error(message))
        elif isinstance(message, m.Register):
            self._registered.put(slot, message)
        elif isinstance(message, m.Ready):
            self._ready.put(slot, True)
        else:
            self._events.put(_SlotSaid(slot, message))

    def slot_lost(self, slot: int, why: str) -> None:
        """Learn that a slot is gone."""
        if not self._stopping:
            self._fail(SlotLostError(f"slot {slot} was lost: {why}"))

    def _show(self, output: m.Output) -> None:
        if output.channel == COLLECTED:
            if self._shared.collected is not None:
                with self._lock:
                    self._shared.collected.add(output.data)
        else:
            stream = sys.stderr if output.channel == STDERR else sys.stdout
            self._shared.view.show(output.data.decode("utf-8", "surrogateescape"), stream)

    def _fail(self, error: BaseException, primary: bool = True) -> None:
        self._events.put(_Failed(error, primary))
        for gathering in self._gatherings:
            gathering.fail(error)

    # --- Spark's thread ---

    def _run_epoch(self, envelopes: DataFrame, epoch: int) -> None:
        """Run an epoch. A failure is told to the job master's thread, which stops the query; Spark need not hear it."""
        try:
            self._epoch(envelopes, epoch)
        except BaseException as error:
            self._fail(_spark_error(error), primary=False)
            self._ended_for_spark.wait()

    def _epoch(self, envelopes: DataFrame, epoch: int) -> None:
        assert self._directory is not None
        started = time.monotonic()
        with self._lock:
            if self._stopping or self._all_finished:
                return  # nothing counts any more, such as what a bounded stream gets after its end
            unread = set(self._unread)
            ending = self._ended | self._shared.plan.static_uids()
            self._epoch_running = True
            self._reports = Gathering(self._slots)
            self._gatherings[-1] = self._reports
            ended = sorted(self._source_nodes[uid] for uid in ending)
            budget = -(-self._pacer.budget // self._shared.plan.polled_slots)  # up, so that all together use it up
            self._shared.server.broadcast(m.BeginEpoch(epoch, self._shared.clock.now(), ended, budget))
        self._shared.plan.run(envelopes, self._directory, unread)
        self._shared.server.broadcast(m.EndEpoch(epoch))
        reports = self._reports.wait()
        summary = EpochSummary(
            epoch=epoch,
            polled=sum(report.records_polled for report in reports),
            records=sum(report.records_in for report in reports),
            seconds=time.monotonic() - started,
            watermark=min(report.watermark for report in reports),
        )
        self._pacer.epoch_finished(summary.polled, summary.seconds)
        with self._lock:
            self._end_epoch(epoch, reports)
        self._shared.view.epoch_finished(summary)

    def _end_epoch(self, epoch: int, reports: list[m.EpochReport]) -> None:
        """Take stock, checkpoint if one is due, and see to it that the next epoch starts if there is work."""
        self._epoch_running = False
        self._last_epoch = epoch
        self._unread = set()
        # A bounded stream has ended when Spark found nothing new in it.
        quiet = self._bounded - self._ended - self._spark.moved(epoch)
        self._ended |= quiet | self._shared.plan.static_uids()
        timers = [report.next_timer for report in reports if report.next_timer is not None]
        self._next_timer = min(timers, default=None)
        if all(report.finished for report in reports):
            self._all_finished = True
            self._events.put(_InputEnded())
            return
        self._trigger_if_due(self._shared.clock.now())
        if quiet or self._bounded - self._ended or any(report.more for report in reports):
            self._raise_tick()
        self._events.put(None)  # timers and triggers may be due earlier than the waiting thread believes

    def _raise_tick(self) -> None:
        with self._lock:
            self._tick += 1
            write_tick(self._tick_path, self._tick)


def user_sys_path() -> list[str]:
    """Give the directories from which the driver imports user code; a slot has its own Python and its packages."""
    own = tuple({os.path.realpath(prefix) + os.sep for prefix in (sys.prefix, sys.base_prefix)})
    paths = [os.path.abspath(entry or os.getcwd()) for entry in sys.path]
    return [path for path in paths if not (os.path.realpath(path) + os.sep).startswith(own) and os.path.exists(path)]


def _slot_error(message: m.SlotFailed) -> BaseException:
    if message.operator:
        return UserCodeError(message.operator, message.subtask, message.summary, message.traceback)
    return JobExecutionError(f"slot {message.subtask} failed: {message.summary}\n\n{message.traceback}")


def _query_error(query: StreamingQuery) -> BaseException:
    error = query.exception()
    return _spark_error(error) if error is not None else JobExecutionError("Spark ended the query of this job")


def _spark_error(error: BaseException) -> BaseException:
    """Make an error of Spark's readable: without the frames of the JVM; the whole of it stays behind as the cause."""
    if isinstance(error, RekindleError):
        return error
    text = str(error).partition("Driver stacktrace:")[0]
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("\tat ")]
    readable = JobExecutionError("an epoch failed in Spark: " + "\n".join(lines[:_ERROR_LINES]))
    readable.__cause__ = error
    return readable
