"""All requests that are answered."""

from __future__ import annotations

from collections.abc import Callable

from rekindle.rest.job_requests import JobRequests
from rekindle.rest.messages import Request, Response
from rekindle.rest.router import Router
from rekindle.runtime.master.running_jobs import RunningJobs


def rest_api(jobs: RunningJobs) -> Callable[[Request], Response]:
    """Make the function that answers requests about jobs."""
    router = Router(JobRequests(jobs).routes())
    return router.handle
