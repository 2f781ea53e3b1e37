"""All requests that are answered."""

from __future__ import annotations

from typing import Any

from rekindle.rest.checkpoint_requests import CheckpointRequests
from rekindle.rest.front_requests import FrontRequests
from rekindle.rest.job_requests import JobRequests
from rekindle.rest.messages import Request, Response
from rekindle.rest.metric_requests import MetricRequests
from rekindle.rest.operations import Operations
from rekindle.rest.router import Router
from rekindle.rest.savepoint_requests import SavepointRequests
from rekindle.runtime.master.running_jobs import RunningJobs


class RestApi:
    """Answer requests about the jobs of a process."""

    def __init__(self, jobs: RunningJobs) -> None:
        self._operations = Operations()
        self._router = Router(
            [
                *FrontRequests(jobs).routes(),
                *JobRequests(jobs).routes(),
                *CheckpointRequests(jobs).routes(),
                *SavepointRequests(jobs, self._operations, _dispose).routes(),
                *MetricRequests(jobs).routes(),
            ]
        )

    def __call__(self, request: Request) -> Response:
        """Answer a request.

        Raises:
            RequestError: It cannot be answered.
        """
        return self._router.handle(request)

    def linger(self, seconds: float) -> None:
        """Wait until everybody has asked how what they began came out, but no longer than this."""
        self._operations.linger(seconds)


def _dispose(location: str) -> Any:
    from rekindle.checkpoint.disposal import dispose

    return dispose(location)
