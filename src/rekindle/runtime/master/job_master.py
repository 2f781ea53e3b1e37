"""Runs a job: attempt after attempt, each from the last completed checkpoint, until it ends or gives up."""

from __future__ import annotations

import threading
import time
from concurrent.futures import Future

from pyspark.sql import SparkSession

from rekindle.checkpoint.completed_checkpoint import CompletedCheckpoint
from rekindle.checkpoint.coordinator import CheckpointCoordinator
from rekindle.checkpoint.events import CheckpointFailureReason
from rekindle.checkpoint.restoring import fit_to_checkpoint, open_checkpoint
from rekindle.common.job_execution_result import JobExecutionResult
from rekindle.common.job_id import JobID
from rekindle.common.job_status import JobStatus
from rekindle.datastream.externalized_checkpoint_retention import ExternalizedCheckpointRetention
from rekindle.exceptions import JobCancelledError, JobExecutionError
from rekindle.graph.job_graph import JobGraph
from rekindle.runtime.clock import Clock
from rekindle.runtime.master.attempt import Attempt, JobShared, Outcome
from rekindle.runtime.master.checkpointing import CheckpointExecutor, StoredCheckpoint
from rekindle.runtime.master.collected import CollectedRecords
from rekindle.runtime.master.control_server import ControlServer
from rekindle.runtime.master.job_settings import JobSettings
from rekindle.runtime.master.progress import ProgressView
from rekindle.runtime.restart import GiveUp
from rekindle.runtime.scratch import ScratchDirectory
from rekindle.runtime.spark.epochs import EpochPlan
from rekindle.runtime.spark.session import is_local
from rekindle.runtime.wire.handshake import new_secret

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
    ) -> None:
        self.settings = settings
        self.result: Future[JobExecutionResult] = Future()
        self._session = session
        self._clock = clock
        self._view = view
        self._collected = collected
        self._status = JobStatus.CREATED
        self._cancelled = threading.Event()
        self._attempt: Attempt | None = None
        self._lock = threading.Lock()
        self._restored: CompletedCheckpoint | None = None
        if settings.restore_path is not None:
            metadata, files = open_checkpoint(settings.restore_path)
            graph = fit_to_checkpoint(graph, metadata, settings.allow_non_restored_state)
            self._restored = CompletedCheckpoint(
                metadata.checkpoint_id,
                metadata.epoch,
                metadata.timestamp,
                StoredCheckpoint(metadata, files, ""),
                savepoint=True,  # not this job's to delete
                size=metadata.state_size,
            )
        self._graph = graph
        self._plan = EpochPlan(session, graph)

    def start(self) -> None:
        """Run the job in a thread of its own."""
        self._open_storage()
        self._view.start()
        threading.Thread(target=self._run, name=f"job-{self.settings.job_name}", daemon=True).start()

    @property
    def status(self) -> JobStatus:
        """Tell what the job does."""
        return self._status

    def slot_pids(self) -> dict[int, int]:
        """Give the process of every slot that runs now."""
        with self._lock:
            return {} if self._attempt is None else self._attempt.slot_pids()

    def cancel(self) -> None:
        """Ask the job to end; ``result`` tells when it has."""
        with self._lock:
            self._cancelled.set()
            if not self._status.is_globally_terminal_state():
                self._status = JobStatus.CANCELLING
            if self._attempt is not None:
                self._attempt.cancel()

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
            shared = JobShared(
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
            )
            outcome, coordinator = self._attempts(shared)
            status = JobStatus.FINISHED if outcome is Outcome.FINISHED else JobStatus.CANCELED
            self._clean_up(coordinator, status)
        except BaseException as failure:
            error = failure
        finally:
            if server is not None:
                server.close()
            scratch.close()
        runtime = round((time.monotonic() - started) * 1000)
        self._end(status, error, runtime)

    def _attempts(self, shared: JobShared) -> tuple[Outcome, CheckpointCoordinator]:
        participants = frozenset(range(self._graph.slots))
        completed = () if self._restored is None else (self._restored,)
        first_id = 1 if self._restored is None else self._restored.checkpoint_id + 1
        coordinator = CheckpointCoordinator(
            self.settings.checkpoints, participants, 0, first_id, self._clock.now(), completed
        )
        number = 0
        while True:
            attempt = Attempt(shared, number, coordinator)
            with self._lock:
                if self._cancelled.is_set():
                    coordinator.abort_all(self._clock.now(), CheckpointFailureReason.JOB_CANCELLED)
                    return Outcome.CANCELLED, coordinator
                self._attempt = attempt
                self._status = JobStatus.RUNNING
            try:
                return attempt.run(), coordinator
            except Exception as failure:
                if self._cancelled.is_set():
                    return Outcome.CANCELLED, coordinator
                self._decide(failure, coordinator)
            if self._collected is not None:
                self._collected.rewind()
            number += 1
            coordinator = coordinator.successor(number, participants, self._clock.now())

    def _decide(self, failure: Exception, coordinator: CheckpointCoordinator) -> None:
        """Wait for the restart, or let the job fail."""
        decision = self.settings.restart_strategy.on_failure(self._clock.now())
        if isinstance(decision, GiveUp):
            self._view.failed(failure, None)
            self._clean_up(coordinator, JobStatus.FAILED)
            raise JobExecutionError(
                f"job {self.settings.job_name!r} failed ({decision.reason}): {failure}"
            ) from failure
        self._view.failed(failure, decision.delay_ms)
        with self._lock:
            if not self._cancelled.is_set():
                self._status = JobStatus.RESTARTING
        self._cancelled.wait(decision.delay_ms / 1000)

    def _clean_up(self, coordinator: CheckpointCoordinator, status: JobStatus) -> None:
        """Delete this job's checkpoints unless they are to be kept in this case."""
        if status in _KEPT[self.settings.retention]:
            return
        executor = CheckpointExecutor(
            self.settings, self._graph, self._clock, lambda _: None, lambda _: None, lambda _: None
        )
        own = [checkpoint for checkpoint in coordinator.completed() if not checkpoint.savepoint]
        for checkpoint in own:
            executor.drop(checkpoint)
        executor.remove_job_directory()

    def _end(self, status: JobStatus, error: BaseException | None, runtime: int) -> None:
        with self._lock:
            self._status = status
            self._attempt = None
        if status is JobStatus.CANCELED:
            error = JobCancelledError(f"job {self.settings.job_name!r} was cancelled")
        self._view.ended(status.name)
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
