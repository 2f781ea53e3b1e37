"""Runs a job: attempt after attempt, each from the last completed checkpoint, until it ends or gives up."""

from __future__ import annotations

import logging
import random
import shutil
import tempfile
import threading
import time
import uuid
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any

from rekindle.base.clock import Clock
from rekindle.checkpoint.completed_checkpoint import CompletedCheckpoint
from rekindle.checkpoint.coordinator import CheckpointCoordinator
from rekindle.checkpoint.job_directory import JobCheckpointDirectory
from rekindle.checkpoint.left_behind import described, left_behind
from rekindle.checkpoint.metadata import CheckpointMetadata
from rekindle.checkpoint.restoring import WRITTEN_AGAIN, RestorePath, fit_to_checkpoint
from rekindle.contracts.job.job_execution_result import JobExecutionResult
from rekindle.contracts.job.job_id import JobID
from rekindle.contracts.job.job_status import JobStatus
from rekindle.exceptions import (
    CheckpointCorruptError,
    CheckpointError,
    JobCancelledError,
    JobExecutionError,
    JobFencedError,
    JobSuspendedError,
    RekindleError,
    SparkLostError,
    StopFailedError,
)
from rekindle.graph.job_graph import JobGraph
from rekindle.graph.plan import Plan
from rekindle.runtime.master.attempts.attempt import Attempt
from rekindle.runtime.master.attempts.attempt_events import Outcome
from rekindle.runtime.master.attempts.slot_launch import SlotLaunch
from rekindle.runtime.master.checkpoints.checkpoint_io import CheckpointIO
from rekindle.runtime.master.checkpoints.kept_checkpoints import KeptCheckpoints
from rekindle.runtime.master.checkpoints.requested_checkpoints import CheckpointKind, RequestedCheckpoints, check_kind
from rekindle.runtime.master.checkpoints.savepoints import Savepoints, savepoint_directory
from rekindle.runtime.master.checkpoints.stopping import StopMode, Stopping
from rekindle.runtime.master.checkpoints.table_commits import TableCommits
from rekindle.runtime.master.cluster import Cluster
from rekindle.runtime.master.collected_records import CollectedRecords
from rekindle.runtime.master.high_availability.takeover import take_over
from rekindle.runtime.master.job_shared import JobShared
from rekindle.runtime.master.observed_job import ObservedJob
from rekindle.runtime.master.restarts.failures import Hopeless, hopeless
from rekindle.runtime.master.restarts.lost_cluster import LostCluster, NewCluster
from rekindle.runtime.master.restarts.recovery import FallBack, Recovery, as_restored
from rekindle.runtime.master.restarts.repeated_failures import RepeatedFailures
from rekindle.runtime.master.restarts.restart_strategies import GiveUp, Restart, driver_restarts
from rekindle.runtime.master.settings.job_settings import JobSettings
from rekindle.runtime.master.settings.row_staging_settings import settle_row_staging
from rekindle.runtime.master.slots.slot_pool import SlotPool, SlotPoolOptions
from rekindle.runtime.master.views.job_archiver import ArchiveObserver, JobArchiver
from rekindle.runtime.master.views.job_history import HistoryObserver, JobHistory
from rekindle.runtime.master.views.job_reporter import job_reporter
from rekindle.runtime.master.views.observer_guard import ObserverGuard
from rekindle.runtime.master.views.observers import JobObservers
from rekindle.runtime.master.views.progress import ProgressView
from rekindle.runtime.master.views.start_times import Phase, StartTimes
from rekindle.runtime.slot.local_directory import job_directory
from rekindle.runtime.wire.handshake import new_secret

log = logging.getLogger(__name__)

_Decision = Restart | GiveUp | FallBack | NewCluster

_LAUNCH_AHEAD_MS = 10_000  # slots that wait for longer would hold memory for nothing


class JobMaster(ObservedJob):
    """Own one execution of a job. ``start`` returns at once; ``result`` holds the end."""

    def __init__(
        self,
        cluster: Cluster,
        graph: JobGraph,
        settings: JobSettings,
        clock: Clock,
        view: ProgressView,
        collected: CollectedRecords | None = None,
        plan: Plan | None = None,
    ) -> None:
        def fitted(metadata: CheckpointMetadata) -> JobGraph:
            return fit_to_checkpoint(graph, metadata, settings.consent)

        self._takeover = take_over(settings, clock, fitted)
        self._ownership = self._takeover.ownership
        self.settings = settings = self._takeover.settings
        self.plan = plan
        self.history = JobHistory(clock, self._slot_places, settings.exception_history_size, settings.job_name)
        self.result: Future[JobExecutionResult] = Future()
        self._cluster = cluster
        self._clock = clock
        recoverable = settings.high_availability is not None
        self._archiver = JobArchiver(settings, self.history, graph.slots)
        reporter = job_reporter(settings.job_id, settings.job_name, recoverable)
        then = (ArchiveObserver(self._archiver), *filter(None, [reporter]))
        self._view = JobObservers(view, first=(HistoryObserver(self.history),), then=then)
        self._view.of_job(settings.job_id)
        self._collected = collected
        self._cancelled = threading.Event()
        self._attempt: Attempt | None = None
        self._lock = threading.Lock()
        self._guard = ObserverGuard(settings.job_name)
        self._at_end: list[Callable[[], None]] | None = []  # None: it has begun
        self._keeps_all = False
        self._suspended = False
        self._interrupted = False
        self._thread: threading.Thread | None = None
        self._unreadable: CompletedCheckpoint | None = None  # the job failed because it could not read this one
        self._checkpoints = JobCheckpointDirectory(
            settings.checkpoint_files,
            settings.job_id,
            parallel=settings.parallel_clean_up,
            may_delete=lambda: not self._ownership.fenced,
        )
        self._savepoints = Savepoints(settings.job_id)
        self._requested = RequestedCheckpoints()
        self._stopping = Stopping()
        completed, first_id = self._takeover.completed, self._takeover.first_id
        path, fallback = None if completed else settings.restore_path, settings.fallback_to_earlier
        origin = None if path is None else RestorePath(path, fallback)
        self._recovery = Recovery(settings.restart_strategy, fallback, origin, settings.claim)
        self._repeated = RepeatedFailures()
        self._lost_cluster = LostCluster(
            settings.job_name, settings.high_availability is not None, driver_restarts(random.random), cluster
        )
        self._program = graph
        if origin is not None:
            completed = (as_restored(origin.current, settings.claim),)
            first_id = max(first_id, completed[-1].checkpoint_id + 1)
        restored = completed[-1] if completed else None
        self._graph = graph if restored is None else self._fitted(restored)
        self._coordinator = CheckpointCoordinator(
            settings.checkpoints,
            frozenset(range(self._graph.slots)),
            attempt=0,
            next_checkpoint_id=first_id,
            now=clock.now(),
            completed=completed,
            operators={node.uid: node.parallelism for node in self._graph.nodes if not self._graph.batch},
        )
        for checkpoint in completed:
            if not checkpoint.savepoint:
                self._checkpoints.adopt(checkpoint.location)

        self._staging = settle_row_staging(self._graph, settings, cluster.one_machine)
        self._tables = None if self._staging is None else TableCommits(cluster, self._staging.rows, self._ownership)

    def start(self) -> None:
        """Run the job in a thread of its own."""
        self._open_storage()
        self._takeover.begin()
        self._view.start()
        self._archiver.begin()
        if self._takeover.before is not None:
            self._view.notice(f"job {self.settings.job_id} is taken over from {self._takeover.before.describe()}")
        self._thread = threading.Thread(target=self._run, name=f"job-{self.settings.job_name}", daemon=True)
        self._thread.start()

    def at_end(self, finish: Callable[[], None]) -> None:
        """Have something done when the job has ended, before its result is there; now if it has done all of that.

        Args:
            finish: Does it, and returns when nothing of it is left to be done.
        """
        with self._lock:
            if self._at_end is not None:
                self._at_end.append(finish)
                return
        finish()

    def _finish(self) -> None:
        """Do what was left for the end of the job."""
        with self._lock:
            finishing, self._at_end = self._at_end or [], None
        for finish in finishing:
            self._guard.call("what was to be done at the end", finish)

    @property
    def alive(self) -> bool:
        """Return whether the thread runs that looks after the job."""
        return self._thread is not None and self._thread.is_alive()

    def cancel(self, keep_checkpoints: bool = False) -> None:
        """Ask the job to end; ``result`` tells when it has.

        Args:
            keep_checkpoints: Whether its completed checkpoints stay, whatever the retention says: it was a signal that
                asked for the end of the process, and nobody who has decided about the job.
        """
        with self._lock:
            self._interrupted = self._interrupted or keep_checkpoints
            self._cancelled.set()
            if not self._status.is_terminal_state():
                self._status = JobStatus.CANCELLING
            if self._attempt is not None:
                self._attempt.cancel()

    def suspend(self) -> None:
        """Ask the job to end here as if this driver had died: nothing is deleted, and another may go on with it."""
        self._suspended = True
        self.cancel()

    def trigger_savepoint(self, directory: str | None) -> Future[str]:
        """Take a savepoint at the end of the current epoch; the future has its location.

        Args:
            directory: Where it goes; None: where the settings say.

        Raises:
            ConfigurationError: If neither says where, or if that cannot be used.
        """
        future = self._savepoints.request(savepoint_directory(self.settings, directory))
        future.add_done_callback(self._show_savepoint)
        self._wake()
        return future

    def trigger_checkpoint(self, kind: CheckpointKind) -> Future[int]:
        """Take a checkpoint as soon as one may begin; the future has its id when it is complete.

        Raises:
            ConfigurationError: If the job takes no checkpoints, or none of that kind.
        """
        check_kind(self.settings, kind)
        future = self._requested.request(kind is CheckpointKind.FULL)
        self._wake()
        return future

    def stop_with_savepoint(self, directory: str | None, drain: bool) -> Future[str]:
        """Stop the job at the end of the current epoch; when it is FINISHED, the future has the savepoint's location.

        All output in the savepoint is committed then. If the savepoint fails, the job goes on, and the future says why.

        Args:
            directory: Where the savepoint goes; None: where the settings say.
            drain: Whether all input ends first, so that all windows and timers fire.

        Raises:
            ConfigurationError: If neither says where, or if that cannot be used.
        """
        return self._request_stop(StopMode.DRAIN if drain else StopMode.SUSPEND, directory)

    def cancel_with_savepoint(self, directory: str | None) -> Future[str]:
        """Take a savepoint and cancel the job; when it is CANCELED, the future has the savepoint's location.

        Output that no checkpoint has committed before stays pending: a job that starts from the savepoint commits it.

        Args:
            directory: Where the savepoint goes; None: where the settings say.

        Raises:
            ConfigurationError: If neither says where, or if that cannot be used.
        """
        return self._request_stop(StopMode.CANCEL, directory)

    def _request_stop(self, mode: StopMode, directory: str | None) -> Future[str]:
        future = self._stopping.request(mode, savepoint_directory(self.settings, directory))
        self._wake()
        return future

    def recent_lines(self) -> dict[str, list[str]]:
        """Return the last lines that nobody was shown as they came, in a notebook for instance, by what they are."""
        return self._view.recent_lines()

    def _wake(self) -> None:
        with self._lock:
            if self._attempt is not None:
                self._attempt.wake()

    def _show_savepoint(self, done: Future[str]) -> None:
        if not done.cancelled() and done.exception() is None:
            self._view.savepoint_completed(done.result())

    def _open_storage(self) -> None:
        """Find out now, not at the first checkpoint, whether checkpoints can be written, nor later, whether read."""
        files = self.settings.checkpoint_files
        if files is not None and self.settings.checkpointing:
            probe = f"{self.settings.job_id}/_probe-{uuid.uuid4().hex}"
            files.create(probe, b"")
            files.read(probe)  # on some file systems, what a process writes is not its own
            files.delete(probe)

    def _run(self) -> None:
        started = time.monotonic()
        secret = new_secret()
        error: BaseException | None = None
        status = JobStatus.FAILED
        slot_pool: SlotPool | None = None
        io = CheckpointIO(f"checkpoint-io-{self.settings.job_name}")
        table_io = None if self._staging is None else CheckpointIO(f"table-commits-{self.settings.job_name}")
        try:
            self._sweep_after_takeover()
            slot_pool = self._cluster.slot_pool(
                SlotPoolOptions(
                    secret,
                    self.settings.control_port,
                    self.settings.heartbeat_ms,
                    self.settings.heartbeat_timeout_ms,
                    self.settings.orphan_timeout_ms,
                )
            )
            outcome = self._attempts(
                JobShared(
                    cluster=self._cluster,
                    graph=self._graph,
                    settings=self.settings,
                    clock=self._clock,
                    slot_pool=slot_pool,
                    secret=secret,
                    view=self._view,
                    collected=self._collected,
                    checkpoints=self._checkpoints,
                    savepoints=self._savepoints,
                    requested=self._requested,
                    stopping=self._stopping,
                    ownership=self._ownership,
                    io=io,
                    staging=None if self._staging is None else self._staging.rows,
                    tables=self._tables,
                    table_io=table_io,
                )
            )
            status = JobStatus.FINISHED if outcome is Outcome.FINISHED else JobStatus.CANCELED
            if status is JobStatus.CANCELED and self._suspended:
                status = JobStatus.SUSPENDED
                error = JobSuspendedError(
                    f"job {self.settings.job_name!r} was suspended: this driver was asked to end"
                    f"{self._kept_checkpoints(status).advice()}"
                )
        except BaseException as failure:
            error = self._as_loss(failure)
            if isinstance(error, JobFencedError | SparkLostError):
                status = JobStatus.SUSPENDED
        finally:
            if slot_pool is not None:
                slot_pool.close()
            io.close()
            if table_io is not None:
                table_io.close()
        status, error = self._note_end(status, error)
        self._clean_up(status)
        runtime = round((time.monotonic() - started) * 1000)
        self._end(status, error, runtime)

    def _attempts(self, shared: JobShared) -> Outcome:
        number = 0
        times, launch = StartTimes(self._clock.now), None
        while True:
            self._ownership.check()
            attempt = Attempt(shared, number, self._coordinator, times, launch)
            with self._lock:
                if self._cancelled.is_set():
                    return Outcome.CANCELLED
                self._attempt = attempt
                self._status = JobStatus.RUNNING
            job_over, failed_by = True, None
            try:
                return attempt.run()
            except Exception as error:
                times = StartTimes(self._clock.now)
                failed_by = error
                if self._cancelled.is_set() or self._stopping.cancels:
                    return Outcome.CANCELLED
                self._stop_if_fenced()
                failure, decision = self._decide(error, attempt.damage)
                job_over = isinstance(decision, GiveUp)
                self._view.failed(failure, _delay_of(decision))
                launch = self._launch_ahead(decision, shared, number + 1)
            finally:
                attempt.stop(job_over, failed_by)
            times.mark(Phase.STOP)
            self._follow(failure, decision, shared, times.so_far())
            times.mark(Phase.DELAY)
            if self._cancelled.is_set():
                if launch is not None:
                    launch.stop()
                return Outcome.CANCELLED
            if self._collected is not None:
                self._collected.rewind()
            number += 1
            self._coordinator = self._coordinator.successor(
                number, frozenset(range(shared.graph.slots)), self._clock.now()
            )

    def _launch_ahead(self, decision: _Decision, shared: JobShared, number: int) -> SlotLaunch | None:
        """Start the slots of the next attempt before it begins, unless it runs something else, or much later."""
        if isinstance(decision, Restart) and decision.delay_ms <= _LAUNCH_AHEAD_MS:
            return SlotLaunch(shared, number)
        return None

    def _stop_if_fenced(self) -> None:
        """End the job here if another driver goes on with it: what has failed most likely follows from that."""
        try:
            self._ownership.check()
        except JobFencedError as fence:
            self._view.failed(fence, None)
            raise fence from None

    def _sweep_after_takeover(self) -> None:
        """Delete what the driver before left of checkpoints that it did not complete; it never will."""
        if self._takeover.before is not None and self._takeover.whole:
            self._checkpoints.sweep({checkpoint.checkpoint_id for checkpoint in self._takeover.completed})

    def _note_end(self, status: JobStatus, error: BaseException | None) -> tuple[JobStatus, BaseException | None]:
        """Say to other drivers that the job is over, before anything is deleted that they would need."""
        if status is JobStatus.SUSPENDED or self._keeps_all:
            return status, error
        try:
            self._ownership.end(status.name)
        except JobFencedError as fence:
            return JobStatus.SUSPENDED, fence
        except CheckpointError:
            self._keeps_all = True
            log.exception(
                "that job %r is over could not be noted: its checkpoints are kept, and it goes on from the last one if "
                "the program is started again",
                self.settings.job_name,
            )
        return status, error

    def _decide(self, failure: Exception, damage: CheckpointCorruptError | None) -> tuple[Exception, _Decision]:
        """Decide what follows a failure; give the failure, too, as it is to be told."""
        now = self._clock.now()
        loss = self._cluster.loss()
        if loss is not None:  # whatever has failed, this is why
            follows = self._lost_cluster.decide(loss, now)
            if isinstance(follows, NewCluster):
                return SparkLostError(loss.what), follows
            return self._kept_checkpoints(JobStatus.SUSPENDED).lost_error(loss), follows
        completed = self._coordinator.completed()
        if isinstance(failure, StopFailedError) and self.settings.checkpointing:
            return failure, Restart(0)  # nothing is wrong with the job: it is not to run out of restarts by this
        end = hopeless(failure, self.history.progress().epochs > 0, self._cluster)
        if end is not None:
            return failure, end
        if damage is None or not completed:
            self._repeated.note(failure, completed[-1].checkpoint_id if completed else None)
            return failure, self._repeated.prolonged(self._recovery.on_failure(now))
        decision = self._recovery.on_damage(now, completed)
        if isinstance(decision, GiveUp):
            self._unreadable = completed[-1]
        return self._recovery.explain(damage, completed), decision

    def _as_loss(self, failure: BaseException) -> BaseException:
        """Return what has ended the job as the loss of the cluster, if it is one that no decision was made about."""
        if isinstance(failure, RekindleError):
            return failure
        loss = self._cluster.loss()
        return failure if loss is None else self._kept_checkpoints(JobStatus.SUSPENDED).lost_error(loss)

    def _follow(self, failure: Exception, decision: _Decision, shared: JobShared, passed: int) -> None:
        """Wait for the restart, go back further, or let the job fail; ``passed`` ms are over since the failure."""
        if isinstance(decision, GiveUp):
            if isinstance(failure, SparkLostError):
                raise failure
            self._keeps_all = isinstance(decision, Hopeless)
            what = f"job {self.settings.job_name!r} failed ({decision.reason}): {failure}"
            advice = self._kept_checkpoints(JobStatus.FAILED).advice(what)
            raise JobExecutionError(f"{what}{advice}") from failure
        if isinstance(decision, FallBack):
            self._fall_back(failure, decision, shared)
        with self._lock:
            if not self._cancelled.is_set():
                self._status = JobStatus.RESTARTING
        self._cancelled.wait(max(0, (_delay_of(decision) or 0) - passed) / 1000)
        if isinstance(decision, NewCluster) and not self._cancelled.is_set():
            self._renew_cluster(shared)

    def _renew_cluster(self, shared: JobShared) -> None:
        self._view.notice(f"Restarting {self._cluster.name}, which takes a few seconds")
        sources = self._lost_cluster.renew(self._clock.now, self._cancelled.wait)
        self._program = replace(self._program, cluster_sources=sources)
        shared.graph = self._graph = replace(self._graph, cluster_sources=sources)

    def _fall_back(self, failure: Exception, decision: FallBack, shared: JobShared) -> None:
        log.warning(
            "checkpoint %d is damaged: %s; %s is used instead. %s",
            decision.damaged.checkpoint_id,
            failure,
            decision.instead.location.describe(),
            WRITTEN_AGAIN,
        )
        self._coordinator.mark_damaged(decision.damaged.checkpoint_id)
        if decision.instead not in self._coordinator.completed():
            self._coordinator.restore_from(decision.instead)
            shared.graph = self._graph = self._fitted(decision.instead)

    def _fitted(self, restored: CompletedCheckpoint) -> JobGraph:
        """Fit the program to the checkpoint that it is started from."""
        stored = restored.location
        graph = fit_to_checkpoint(self._program, stored.metadata, self.settings.consent, stored.external_path)
        if left := left_behind(graph, stored.metadata):
            dropped = described(left, stored)
            log.warning("dropped from %s, as no operator of the program takes it over: %s", stored.describe(), dropped)
        return graph

    def _clean_up(self, status: JobStatus) -> None:
        """Delete this job's checkpoints unless they are to be kept in this case, and whatever else is left of them."""
        remains = self._kept_checkpoints(status)
        if not remains.keeps_all:
            self._coordinator.note_deleted(remains.delete(self._checkpoints))
        if self._staging is not None:
            with suppress(CheckpointError):  # what is left there can be deleted by hand
                self._staging.close(keep=remains.keeps_all)
        # What slots on this machine left behind because they were killed, or because a restart did not come about.
        for base in self.settings.backend.all_local_directories or (tempfile.gettempdir(),):
            shutil.rmtree(job_directory(base, self.settings.local_name), ignore_errors=True)

    def _kept_checkpoints(self, status: JobStatus) -> KeptCheckpoints:
        return KeptCheckpoints(
            self.settings,
            status,
            self._coordinator.completed(),
            self._coordinator.damaged(),
            self._stopping.savepoint if status in (JobStatus.CANCELED, JobStatus.FINISHED) else None,
            self._keeps_all or status is JobStatus.SUSPENDED,
            self._unreadable,
            self._interrupted,
        )

    def _end(self, status: JobStatus, error: BaseException | None, runtime: int) -> None:
        self._takeover.end()
        if status in (JobStatus.FAILED, JobStatus.SUSPENDED) and error is not None:
            self.history.given_up(error)
        with self._lock:
            if self._attempt is not None:
                self._last_readings = replace(self._attempt.last_readings, complete=False)
            attempt = self._attempt
            self._status = status
            self._attempt = None
        if status is JobStatus.CANCELED:
            error = JobCancelledError(
                f"job {self.settings.job_name!r} was cancelled{self._kept_checkpoints(status).advice()}"
            )
        self._guard.call("what shows the end", partial(self._show_end, status))
        self._archiver.end()
        self._finish()
        self._savepoints.job_ended(status.name)
        self._requested.job_ended(status.name)
        self._stopping.job_ended(status.name)
        if self._collected is not None:
            if status is JobStatus.FINISHED:
                self._collected.completed(1 << 62)
            self._collected.end(error)
        if error is None:
            accumulators: dict[str, Any] = {}
            problem = None
            try:
                accumulators = {} if attempt is None else attempt.accumulators()
            except Exception as failure:  # of the program's own classes: whoever asks for them is told
                problem = failure
            self.result.set_result(JobExecutionResult(JobID(self.settings.job_id), runtime, accumulators, problem))
        else:
            self.result.set_exception(error)

    def accumulators(self) -> dict[str, Any]:
        """Return the results of the accumulators, as of the last checkpoint that the running attempt has completed."""
        with self._lock:
            attempt = self._attempt
        return {} if attempt is None else attempt.accumulators()

    def _show_end(self, status: JobStatus) -> None:
        """Show how the job ended."""
        fenced = status is JobStatus.SUSPENDED and not self._suspended
        goes_on = status is not JobStatus.FINISHED or self._stopping.savepoint is not None
        if goes_on and not fenced and not self.settings.batch:
            self._view.notice(self._kept_checkpoints(status).describe())
        self._view.ended(status.name)


def _delay_of(decision: _Decision) -> int | None:
    """Return how long to wait from a failure to the restart; None: there is none."""
    if isinstance(decision, GiveUp):
        return None
    return 0 if isinstance(decision, FallBack) else decision.delay_ms
