"""The jobs of this process, running or ended not long ago, and the server over which they are reached.

Of an ended job only what is told about it is kept: its settings, its history and the statistics of its checkpoints.
"""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, Protocol

from rekindle.checkpoint.statistics_overview import CheckpointsOverview
from rekindle.exceptions import CheckpointError
from rekindle.graph.plan import Plan
from rekindle.graph.vertex_plan import vertex_plan
from rekindle.runtime.master.checkpoints.requested_checkpoints import CheckpointKind
from rekindle.runtime.master.settings.job_settings import JobSettings
from rekindle.runtime.master.slots.slot_metrics import NO_READINGS, SlotReadings
from rekindle.runtime.master.slots.state_registry import StateRegistry
from rekindle.runtime.master.views.job_history import JobHistory

log = logging.getLogger(__name__)

KEPT_AFTER_END = 20


class OperableJob(Protocol):
    """What a job master lets others do; see there."""

    settings: JobSettings
    history: JobHistory
    plan: Plan | None
    result: Future[Any]

    @property
    def alive(self) -> bool: ...
    def read_metrics(self) -> SlotReadings: ...
    def queryable_states(self) -> StateRegistry | None: ...
    def checkpoint_statistics(self) -> CheckpointsOverview: ...
    def trigger_savepoint(self, directory: str | None) -> Future[str]: ...
    def trigger_checkpoint(self, kind: CheckpointKind) -> Future[int]: ...
    def cancel_with_savepoint(self, directory: str | None) -> Future[str]: ...
    def stop_with_savepoint(self, directory: str | None, drain: bool) -> Future[str]: ...
    def at_end(self, finish: Callable[[], None]) -> None: ...
    def cancel(self, keep_checkpoints: bool = False) -> None: ...
    def suspend(self) -> None: ...


class RegisteredJob:
    """Tell about one job and steer it, as long as it runs.

    Attributes:
        settings: What it runs with.
        history: What happened to it.
        plan: Its operators.
    """

    def __init__(self, master: OperableJob) -> None:
        self.settings = master.settings
        self.history = master.history
        self.plan = master.plan or Plan(())
        self._master: OperableJob | None = master
        self._last_statistics = CheckpointsOverview()
        self._last_readings = NO_READINGS

    @property
    def job_id(self) -> str:
        """Return its id."""
        return self.settings.job_id

    @property
    def ended(self) -> bool:
        """Return whether it is over, at least for this process: another may go on with it."""
        return self.history.status.is_terminal_state()

    @property
    def alive(self) -> bool:
        """Return whether somebody looks after it, or need not any more."""
        master = self._master
        return master is None or self.ended or master.alive

    @property
    def settled(self) -> bool:
        """Return whether it is over and its result is there."""
        return self._master is None

    def plan_json(self) -> dict[str, Any]:
        """Describe its operators as Flink's REST interface does."""
        return vertex_plan(self.plan, self.job_id, self.settings.job_name, self.settings.batch)

    def checkpoint_statistics(self) -> CheckpointsOverview:
        """Return the statistics of its checkpoints; of a job that has ended, the last."""
        master = self._master
        return self._last_statistics if master is None else master.checkpoint_statistics()

    def read_metrics(self) -> SlotReadings:
        """Ask its slots what they count and measure; of a job that has ended, return what they said last."""
        master = self._master
        return self._last_readings if master is None else master.read_metrics()

    def queryable_states(self) -> StateRegistry | None:
        """Return the states that can be queried now, and whom to ask; None: the job does not run."""
        master = self._master
        return None if master is None else master.queryable_states()

    def trigger_savepoint(self, directory: str | None) -> Future[str]:
        """Take a savepoint."""
        return self._running_master().trigger_savepoint(directory)

    def trigger_checkpoint(self, kind: CheckpointKind) -> Future[int]:
        """Take a checkpoint."""
        return self._running_master("checkpoint").trigger_checkpoint(kind)

    def cancel_with_savepoint(self, directory: str | None) -> Future[str]:
        """Take a savepoint, and cancel the job."""
        return self._running_master().cancel_with_savepoint(directory)

    def stop_with_savepoint(self, directory: str | None, drain: bool) -> Future[str]:
        """Take a savepoint, and stop the job with it."""
        return self._running_master().stop_with_savepoint(directory, drain)

    def cancel(self, keep_checkpoints: bool = False) -> None:
        """Cancel the job; nothing happens if it is over.

        Args:
            keep_checkpoints: Whether its completed checkpoints stay, whatever the retention says.
        """
        master = self._master
        if master is not None:
            master.cancel(keep_checkpoints)

    def suspend(self) -> None:
        """Let the job end here, for another driver to go on with; nothing happens if it is over."""
        master = self._master
        if master is not None:
            master.suspend()

    def at_end(self, finish: Callable[[], None]) -> None:
        """Have something done when the job has ended, before its result is there; now if it is there."""
        master = self._master
        if master is None:
            finish()
        else:
            master.at_end(finish)

    def let_go(self) -> None:
        """Keep the last statistics, and nothing else of the job master."""
        master = self._master
        if master is not None:
            try:
                self._last_statistics = master.checkpoint_statistics()
                self._last_readings = master.read_metrics()
            except Exception:
                log.warning("the statistics of job %s are lost", self.job_id, exc_info=True)
            self._master = None

    def _running_master(self, wanted: str = "savepoint") -> OperableJob:
        master = self._master
        if master is None:
            raise CheckpointError(
                f"no {wanted} was taken: job {self.settings.job_name!r} has ended ({self.history.status.name})"
            )
        return master


class JobServer(Protocol):
    """Lets others ask about the jobs of this process, until it is stopped.

    Attributes:
        dashboard: The address to open in a browser; None: it does not listen yet, or not at all.
    """

    dashboard: str | None

    def stop(self) -> None:
        """End."""

    def forget_in_child(self) -> None:
        """Close what a forked child has of it: the server is its parent's."""


class RunningJobs:
    """List the jobs of this process.

    Args:
        kept: How many jobs that have ended are remembered.
    """

    def __init__(self, kept: int = KEPT_AFTER_END) -> None:
        self._kept = kept
        self._lock = threading.Lock()
        self._jobs: dict[str, RegisteredJob] = {}
        self._server: JobServer | None = None

    def register(self, master: OperableJob, serve: Callable[[RunningJobs], JobServer] | None = None) -> RegisteredJob:
        """Remember a job; the first one that is to be reached by others starts the server.

        Args:
            master: The job.
            serve: Starts a server over these jobs; None: the job needs none.
        """
        job = RegisteredJob(master)
        with self._lock:
            self._jobs[job.job_id] = job
            if serve is not None and self._server is None:
                self._server = serve(self)
        master.result.add_done_callback(lambda _: self._ended(job))
        return job

    def all(self) -> list[RegisteredJob]:
        """Return all jobs, in the order in which they were started."""
        with self._lock:
            return list(self._jobs.values())

    def find(self, job_id: str) -> RegisteredJob | None:
        """Return the job with an id."""
        with self._lock:
            return self._jobs.get(job_id)

    @property
    def server(self) -> JobServer | None:
        """Return the server, if there is one."""
        return self._server

    def close(self) -> None:
        """End the server and forget all jobs."""
        with self._lock:
            server, self._server = self._server, None
            self._jobs = {}
        if server is not None:
            server.stop()

    def _ended(self, job: RegisteredJob) -> None:
        job.let_go()
        with self._lock:
            ended = [each.job_id for each in self._jobs.values() if each.ended]
            for job_id in ended[: max(0, len(ended) - self._kept)]:
                del self._jobs[job_id]


_of_this_process = RunningJobs()


def running_jobs() -> RunningJobs:
    """Return the jobs of this process."""
    return _of_this_process


def _forget_after_fork() -> None:
    """Begin anew in a child: jobs and server are its parent's."""
    global _of_this_process
    server = _of_this_process.server
    _of_this_process = RunningJobs()
    if server is not None:
        server.forget_in_child()


os.register_at_fork(after_in_child=_forget_after_fork)
