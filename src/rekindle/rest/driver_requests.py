"""Requests of those who look after drivers: whether this one is alive."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from rekindle.rest.messages import Handler, answer
from rekindle.runtime.master.running_jobs import RunningJobs


class DriverRequests:
    """Answer what is asked about the driver as a whole."""

    def __init__(self, jobs: RunningJobs) -> None:
        self._jobs = jobs

    def handlers(self) -> list[tuple[str, str, Handler]]:
        """Return which requests are answered here."""
        return [("GET", "/healthz", self.health)]

    def health(self, request: Request) -> Response:
        """Return whether all jobs that have not ended are looked after; anybody may ask, so no job is named."""
        running = [job for job in self._jobs.all() if not job.ended]
        dead = sum(not job.alive for job in running)
        document = {"status": "dead" if dead else "ok", "jobs": len(running), "jobs-dead": dead}
        return answer(document, 503 if dead else 200)
