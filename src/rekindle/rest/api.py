"""All requests that are answered."""

from __future__ import annotations

from typing import Any

from rekindle.rest.checkpoint_requests import CheckpointRequests
from rekindle.rest.dashboard_requests import DashboardRequests
from rekindle.rest.driver_requests import DriverRequests
from rekindle.rest.event_streams import EventStreams
from rekindle.rest.job_requests import JobRequests
from rekindle.rest.messages import Handler
from rekindle.rest.metric_requests import MetricRequests
from rekindle.rest.operations import Operations
from rekindle.rest.pages import page_routes
from rekindle.rest.savepoint_requests import SavepointRequests
from rekindle.rest.state_requests import StateRequests
from rekindle.runtime.master.running_jobs import RunningJobs


class RestApi:
    """Answer requests about the jobs of a process.

    Attributes:
        handlers: Method, path and handler of each kind of request.
        routes: What needs no thread: pages, and streams of events.
    """

    def __init__(self, jobs: RunningJobs) -> None:
        self._operations = Operations()
        self.handlers: list[tuple[str, str, Handler]] = [
            *DriverRequests(jobs).handlers(),
            *JobRequests(jobs).handlers(),
            *CheckpointRequests(jobs, self._operations).handlers(),
            *SavepointRequests(jobs, self._operations, _dispose).handlers(),
            *MetricRequests(jobs).handlers(),
            *StateRequests(jobs).handlers(),
            *DashboardRequests(jobs).handlers(),
        ]
        self.routes = [*page_routes(), *EventStreams(jobs).routes()]

    def linger(self, seconds: float) -> None:
        """Wait until everybody has asked how what they began came out, but no longer than this."""
        self._operations.linger(seconds)


def _dispose(location: str) -> Any:
    from rekindle.checkpoint.disposal import dispose  # loads storages; hardly anybody asks for it

    return dispose(location)
