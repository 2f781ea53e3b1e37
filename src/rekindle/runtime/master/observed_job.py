"""What can be asked about a job while it runs, and after its end."""

from __future__ import annotations

import threading
from typing import Any

from rekindle.checkpoint.coordinator import CheckpointCoordinator
from rekindle.checkpoint.statistics_overview import CheckpointsOverview
from rekindle.contracts.job.job_status import JobStatus
from rekindle.graph.plan import Plan
from rekindle.graph.vertex_plan import vertex_plan
from rekindle.metrics.slot_metrics import MetricValue
from rekindle.runtime.master.attempts.attempt import Attempt
from rekindle.runtime.master.settings.job_settings import JobSettings
from rekindle.runtime.master.slots.slot_metrics import NO_READINGS, SlotReadings
from rekindle.runtime.master.slots.state_registry import StateRegistry
from rekindle.runtime.master.views.job_history import Failure, JobHistory, SlotPlace


class ObservedJob:
    """Answer questions about a job. The job master, which runs it, builds on this.

    Attributes:
        settings: What the job runs with.
        plan: Its operators, if they are to be shown.
        history: What is remembered of it.
    """

    settings: JobSettings
    plan: Plan | None
    history: JobHistory
    _coordinator: CheckpointCoordinator
    _attempt: Attempt | None
    _lock: threading.Lock
    _last_readings: SlotReadings = NO_READINGS  # after the end of the job

    @property
    def status(self) -> JobStatus:
        """Return what the job does."""
        return self._status

    @property
    def _status(self) -> JobStatus:
        return self.history.status

    @_status.setter
    def _status(self, status: JobStatus) -> None:
        self.history.enter(status)

    @property
    def start_time(self) -> int:
        """Return when the job was made, in milliseconds."""
        return self.history.start_time

    @property
    def end_time(self) -> int | None:
        """Return when the job ended; None: it has not."""
        return self.history.end_time

    @property
    def status_times(self) -> dict[str, int]:
        """Return when the job came into each state last; 0: never."""
        return self.history.status_times()

    def exceptions(self) -> list[Failure]:
        """Return the failures of the job that are remembered, newest first."""
        return self.history.exceptions()

    def plan_json(self) -> dict[str, Any]:
        """Describe the operators as Flink's REST interface does."""
        plan = self.plan or Plan(())
        return vertex_plan(plan, self.settings.job_id, self.settings.job_name, self.settings.batch)

    def read_metrics(self) -> SlotReadings:
        """Ask the slots what they count and measure; those that do not answer at once are left out."""
        with self._lock:
            attempt = self._attempt
        return self._last_readings if attempt is None else attempt.read_metrics()

    def metrics(self) -> list[MetricValue]:
        """Ask the slots for the metrics of all operators and functions."""
        return self.read_metrics().metrics()

    def queryable_states(self) -> StateRegistry | None:
        """Return the states that can be queried now, and whom to ask; None: the job does not run."""
        with self._lock:
            return None if self._attempt is None else self._attempt.states

    def _slot_places(self) -> dict[int, SlotPlace]:
        with self._lock:
            return {} if self._attempt is None else self._attempt.slot_places()

    def slot_pids(self) -> dict[int, int]:
        """Return the process of every slot that runs now."""
        with self._lock:
            return {} if self._attempt is None else self._attempt.slot_pids()

    def checkpoint_statistics(self) -> CheckpointsOverview:
        """Describe the checkpoints of the job, over all its attempts; also after its end."""
        with self._lock:
            attempt = self._attempt
        return self._coordinator.statistics() if attempt is None else attempt.checkpoint_statistics()
