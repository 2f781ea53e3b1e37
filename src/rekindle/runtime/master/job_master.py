"""Runs a job: attempt after attempt, each from the last completed checkpoint, until it ends or gives up."""

from __future__ import annotations

import logging
import shutil
import tempfile
import threading
import time
from concurrent.futures import Future
from typing import Any

from pyspark.sql import SparkSession

from rekindle.checkpoint.completed_checkpoint import CompletedCheckpoint
from rekindle.checkpoint.coordinator import CheckpointCoordinator
from rekindle.checkpoint.job_directory import JobCheckpointDirectory
from rekindle.checkpoint.restoring import WRITTEN_AGAIN, RestorePath, fit_to_checkpoint
from rekindle.checkpoint.statistics_overview import CheckpointsOverview
from rekindle.checkpoint.stored_checkpoint import StoredCheckpoint
from rekindle.common.job_execution_result import JobExecutionResult
from rekindle.common.job_id import JobID
from rekindle.common.job_status import JobStatus
from rekindle.datastream.checkpoint_storage import checked_directory
from rekindle.datastream.externalized_checkpoint_retention import ExternalizedCheckpointRetention
from rekindle.exceptions import (
    CheckpointCorruptError,
    ConfigurationError,
    JobCancelledError,
    JobExecutionError,
    StateRestoreError,
    StopFailedError,
)
from rekindle.graph.job_graph import JobGraph
from rekindle.graph.plan import Plan
from rekindle.graph.vertex_plan import vertex_plan
from rekindle.runtime.clock import Clock
from rekindle.runtime.master.attempt import Attempt, Outcome
from rekindle.runtime.master.collected import CollectedRecords
from rekindle.runtime.master.control_server import ControlServer
from rekindle.runtime.master.job_history import Failure, JobHistory, SlotPlace, recorded
from rekindle.runtime.master.job_settings import JobSettings
from rekindle.runtime.master.job_shared import JobShared
from rekindle.runtime.master.progress import ProgressView
from rekindle.runtime.master.recovery import FallBack, Recovery, as_restored
from rekindle.runtime.master.savepoints import Savepoints
from rekindle.runtime.master.slot_metrics import NO_READINGS, SlotReadings
from rekindle.runtime.master.stopping import StopMode, Stopping
from rekindle.runtime.restart import GiveUp, Restart
from rekindle.runtime.scratch import ScratchDirectory
from rekindle.runtime.slot.local_directory import job_directory
from rekindle.runtime.slot.metrics import MetricValue
from rekindle.runtime.spark.epochs import EpochPlan
from rekindle.runtime.spark.session import is_local
from rekindle.runtime.wire.handshake import new_secret

log = logging.getLogger(__name__)

_KEPT = {
    ExternalizedCheckpointRetention.RETAIN_ON_CANCELLATION: {JobStatus.CANCELED, JobStatus.FAILED},
    ExternalizedCheckpointRetention.DELETE_ON_CANCELLATION: {JobStatus.FAILED},
    ExternalizedCheckpointRetention.NO_EXTERNALIZED_CHECKPOINTS: set(),
}


class JobMaster:
    """Own one execution of a job. ``start`` returns at once; ``result`` holds the end."""

    def __init__(
        self,
        session: SparkSession,
        graph: JobGraph,
        settings: JobSettings,
        clock: Clock,
        view: ProgressView,
        collected: CollectedRecords | None = None,
        plan: Plan | None = None,
    ) -> None:
        self.settings = settings
        self.plan = plan
        self.history = JobHistory(clock, self._slot_places, settings.exception_history_size)
        self.result: Future[JobExecutionResult] = Future()
        self._session = session
        self._clock = clock
        self._view = recorded(view, self.history)
        self._collected = collected
        self._cancelled = threading.Event()
        self._attempt: Attempt | None = None
        self._lock = threading.Lock()
        self._checkpoints = JobCheckpointDirectory(settings.checkpoint_files, settings.job_id)
        self._savepoints = Savepoints(settings.job_id)
        self._stopping = Stopping()
        path, fallback = settings.restore_path, settings.fallback_to_earlier
        origin = None if path is None else RestorePath(path, fallback)
        self._recovery = Recovery(settings.restart_strategy, fallback, origin)
        self._program = graph
        restored = None if origin is None else as_restored(origin.current)
        self._graph = graph if restored is None else self._fitted(restored)
        self._plan = EpochPlan(session, self._graph)
        self._coordinator = CheckpointCoordinator(
            settings.checkpoints,
            frozenset(range(self._graph.slots)),
            attempt=0,
            next_checkpoint_id=1 if restored is None else restored.checkpoint_id + 1,
            now=clock.now(),
            completed=() if restored is None else (restored,),
            operators={node.uid: node.parallelism for node in self._graph.nodes if not self._graph.batch},
        )

    def start(self) -> None:
        """Run the job in a thread of its own."""
        self._open_storage()
        self._view.start()
        threading.Thread(target=self._run, name=f"job-{self.settings.job_name}", daemon=True).start()

    @property
    def status(self) -> JobStatus:
        """Tell what the job does."""
        return self._status

    @property
    def _status(self) -> JobStatus:
        return self.history.status

    @_status.setter
    def _status(self, status: JobStatus) -> None:
        self.history.enter(status)

    @property
    def start_time(self) -> int:
        """Tell when the job was made, in milliseconds."""
        return self.history.start_time

    @property
    def end_time(self) -> int | None:
        """Tell when the job ended; None: it has not."""
        return self.history.end_time

    @property
    def status_times(self) -> dict[str, int]:
        """Tell when the job came into each state last; 0: never."""
        return self.history.status_times()

    def exceptions(self) -> list[Failure]:
        """Give the failures of the job that are remembered, newest first."""
        return self.history.exceptions()

    def plan_json(self) -> dict[str, Any]:
        """Describe the operators as Flink's REST interface does."""
        plan = self.plan or Plan(())
        return vertex_plan(plan, self.settings.job_id, self.settings.job_name, self.settings.batch)

    def read_metrics(self) -> SlotReadings:
        """Ask the slots what they count and measure; those that do not answer at once are left out."""
        with self._lock:
            attempt = self._attempt
        return NO_READINGS if attempt is None else attempt.read_metrics()

    def metrics(self) -> list[MetricValue]:
        """Ask the slots for the metrics of all operators and functions."""
        return self.read_metrics().metrics()

    def _slot_places(self) -> dict[int, SlotPlace]:
        with self._lock:
            return {} if self._attempt is None else self._attempt.slot_places()

    def slot_pids(self) -> dict[int, int]:
        """Give the process of every slot that runs now."""
        with self._lock:
            return {} if self._attempt is None else self._attempt.slot_pids()

    def checkpoint_statistics(self) -> CheckpointsOverview:
        """Describe the checkpoints of the job, over all its attempts; also after its end."""
        with self._lock:
            attempt = self._attempt
        return self._coordinator.statistics() if attempt is None else attempt.checkpoint_statistics()

    def cancel(self) -> None:
        """Ask the job to end; ``result`` tells when it has."""
        with self._lock:
            self._cancelled.set()
            if not self._status.is_globally_terminal_state():
                self._status = JobStatus.CANCELLING
            if self._attempt is not None:
                self._attempt.cancel()

    def trigger_savepoint(self, directory: str | None) -> Future[str]:
        """Take a savepoint at the end of the current epoch; the future has its location.

        Args:
            directory: Where it goes; None: where the settings say.

        Raises:
            ConfigurationError: If neither says where, or if that cannot be used.
        """
        future = self._savepoints.request(self._savepoint_directory(directory))
        future.add_done_callback(self._show_savepoint)
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
        future = self._stopping.request(mode, self._savepoint_directory(directory))
        self._wake()
        return future

    def _savepoint_directory(self, directory: str | None) -> str:
        if self.settings.batch:
            raise ConfigurationError(
                f"job {self.settings.job_name!r} runs as a batch, of which there are no savepoints: set "
                "execution.runtime-mode to STREAMING"
            )
        directory = directory or self.settings.savepoint_directory
        if directory is None:
            raise ConfigurationError(
                "a savepoint needs a directory, and none is configured: name one, or set state.savepoints.dir"
            )
        return checked_directory(directory, "savepoint directory")

    def _wake(self) -> None:
        with self._lock:
            if self._attempt is not None:
                self._attempt.wake()

    def _show_savepoint(self, done: Future[str]) -> None:
        if not done.cancelled() and done.exception() is None:
            self._view.savepoint_completed(done.result())

    def _open_storage(self) -> None:
        """Find out now, not at the first checkpoint, whether checkpoints can be written."""
        files = self.settings.checkpoint_files
        if files is not None and self.settings.checkpointing:
            probe = f"{self.settings.job_id}/_probe"
            files.create(probe, b"")
            files.delete(probe)

    def _run(self) -> None:
        started = time.monotonic()
        scratch = ScratchDirectory()
        secret = new_secret()
        error: BaseException | None = None
        status = JobStatus.FAILED
        server: ControlServer | None = None
        try:
            host = "127.0.0.1" if is_local(self._session) else self._driver_host()
            server = ControlServer(
                host,
                self.settings.control_port,
                secret,
                self.settings.heartbeat_ms,
                self.settings.heartbeat_timeout_ms,
            )
            outcome = self._attempts(
                JobShared(
                    session=self._session,
                    graph=self._graph,
                    plan=self._plan,
                    settings=self.settings,
                    clock=self._clock,
                    server=server,
                    host=host,
                    secret=secret,
                    scratch=scratch.path,
                    view=self._view,
                    collected=self._collected,
                    checkpoints=self._checkpoints,
                    savepoints=self._savepoints,
                    stopping=self._stopping,
                )
            )
            status = JobStatus.FINISHED if outcome is Outcome.FINISHED else JobStatus.CANCELED
        except BaseException as failure:
            error = failure
        finally:
            if server is not None:
                server.close()
            scratch.close()
        self._clean_up(status)
        runtime = round((time.monotonic() - started) * 1000)
        self._end(status, error, runtime)

    def _attempts(self, shared: JobShared) -> Outcome:
        number = 0
        while True:
            attempt = Attempt(shared, number, self._coordinator)
            with self._lock:
                if self._cancelled.is_set():
                    return Outcome.CANCELLED
                self._attempt = attempt
                self._status = JobStatus.RUNNING
            job_over, failed_by = True, None
            try:
                return attempt.run()
            except Exception as error:
                failed_by = error
                if self._cancelled.is_set() or self._stopping.cancels:
                    return Outcome.CANCELLED
                failure, decision = self._decide(error, attempt.damage)
                job_over = isinstance(decision, GiveUp)
            finally:
                attempt.stop(job_over, failed_by)
            self._follow(failure, decision, shared)
            if self._collected is not None:
                self._collected.rewind()
            number += 1
            self._coordinator = self._coordinator.successor(
                number, frozenset(range(shared.graph.slots)), self._clock.now()
            )

    def _decide(
        self, failure: Exception, damage: CheckpointCorruptError | None
    ) -> tuple[Exception, Restart | GiveUp | FallBack]:
        """Decide what follows a failure; give the failure, too, as it is to be told."""
        now = self._clock.now()
        completed = self._coordinator.completed()
        if isinstance(failure, StopFailedError) and self.settings.checkpointing:
            return failure, Restart(0)  # nothing is wrong with the job: it is not to run out of restarts by this
        if isinstance(failure, StateRestoreError):
            return failure, GiveUp("the state does not fit the program, and would not after a restart")
        if damage is None or not completed:
            return failure, self._recovery.on_failure(now)
        return self._recovery.explain(damage, completed), self._recovery.on_damage(now, completed)

    def _follow(self, failure: Exception, decision: Restart | GiveUp | FallBack, shared: JobShared) -> None:
        """Wait for the restart, go back further, or let the job fail."""
        if isinstance(decision, GiveUp):
            self._view.failed(failure, None)
            raise JobExecutionError(
                f"job {self.settings.job_name!r} failed ({decision.reason}): {failure}"
            ) from failure
        delay_ms = decision.delay_ms if isinstance(decision, Restart) else 0
        self._view.failed(failure, delay_ms)
        if isinstance(decision, FallBack):
            self._fall_back(failure, decision, shared)
        with self._lock:
            if not self._cancelled.is_set():
                self._status = JobStatus.RESTARTING
        self._cancelled.wait(delay_ms / 1000)

    def _fall_back(self, failure: Exception, decision: FallBack, shared: JobShared) -> None:
        stored = decision.instead.location
        assert isinstance(stored, StoredCheckpoint)
        log.warning(
            "checkpoint %d is damaged: %s; %s is used instead. %s",
            decision.damaged.checkpoint_id,
            failure,
            stored.describe(),
            WRITTEN_AGAIN,
        )
        self._coordinator.mark_damaged(decision.damaged.checkpoint_id)
        if decision.instead not in self._coordinator.completed():
            self._coordinator.restore_from(decision.instead)
            shared.graph = self._graph = self._fitted(decision.instead)
            shared.plan = EpochPlan(self._session, self._graph)

    def _fitted(self, restored: CompletedCheckpoint) -> JobGraph:
        """Fit the program to the checkpoint that it is started from."""
        stored = restored.location
        assert isinstance(stored, StoredCheckpoint)
        return fit_to_checkpoint(self._program, stored.metadata, self.settings.allow_non_restored_state)

    def _clean_up(self, status: JobStatus) -> None:
        """Delete this job's checkpoints unless they are to be kept in this case, and whatever else is left of them."""
        completed = [*self._coordinator.completed(), *self._coordinator.damaged()]
        kept = [] if status not in _KEPT[self.settings.retention] else completed
        try:
            self._checkpoints.sweep({checkpoint.checkpoint_id for checkpoint in kept if not checkpoint.savepoint})
        except Exception:
            log.exception("the checkpoints of job %s could not be cleaned up", self.settings.job_id)
        # What slots on this machine left behind because they were killed, or because a restart did not come about.
        for base in self.settings.backend.all_local_directories or (tempfile.gettempdir(),):
            shutil.rmtree(job_directory(base, self.settings.job_id), ignore_errors=True)

    def _end(self, status: JobStatus, error: BaseException | None, runtime: int) -> None:
        if status is JobStatus.FAILED and error is not None:
            self.history.given_up(error)
        with self._lock:
            self._status = status
            self._attempt = None
        if status is JobStatus.CANCELED:
            error = JobCancelledError(f"job {self.settings.job_name!r} was cancelled")
        self._view.ended(status.name)
        self._savepoints.job_ended(status.name)
        self._stopping.job_ended(status.name)
        if self._collected is not None:
            if status is JobStatus.FINISHED:
                self._collected.completed(1 << 62)
            self._collected.end(error)
        if error is None:
            self.result.set_result(JobExecutionResult(JobID(self.settings.job_id), runtime))
        else:
            self.result.set_exception(error)

    def _driver_host(self) -> str:
        host = self._session.conf.get("spark.driver.host")
        assert host is not None
        return host
