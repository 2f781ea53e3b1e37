"""Requests of those who only look in: whether the driver is alive, and a page that says what can be asked here."""

from __future__ import annotations

from html import escape

from starlette.requests import Request
from starlette.responses import Response

import rekindle
from rekindle.rest.messages import Handler, answer
from rekindle.runtime.master.running_jobs import RegisteredJob, RunningJobs

HTML = "text/html; charset=utf-8"
_LINKS = {
    "/jobs/overview": "all jobs",
    "/overview": "numbers of slots and jobs",
    "/metrics": "metrics, as Prometheus reads them",
    "/healthz": "whether the driver is alive",
}


class DriverRequests:
    """Answer what is asked about the driver as a whole."""

    def __init__(self, jobs: RunningJobs) -> None:
        self._jobs = jobs

    def handlers(self) -> list[tuple[str, str, Handler]]:
        """Return which requests are answered here."""
        return [("GET", "/", self.page), ("GET", "/healthz", self.health)]

    def health(self, request: Request) -> Response:
        """Return whether all jobs that have not ended are looked after; anybody may ask, so no job is named."""
        running = [job for job in self._jobs.all() if not job.ended]
        dead = sum(not job.alive for job in running)
        document = {"status": "dead" if dead else "ok", "jobs": len(running), "jobs-dead": dead}
        return answer(document, 503 if dead else 200)

    def page(self, request: Request) -> Response:
        """Return a page for people."""
        return Response(front_page(self._jobs.all()).encode(), media_type=HTML)


def front_page(jobs: list[RegisteredJob]) -> str:
    """Write the page: jobs, and where more is to be found."""
    rows = "".join(map(_row, jobs)) or '<tr><td colspan="3">no jobs</td></tr>'
    links = "".join(f'<li><a href="{path}">{path}</a>: {escape(text)}</li>' for path, text in _LINKS.items())
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Rekindle</title></head><body>'
        f"<h1>Rekindle {escape(rekindle.__version__)}</h1>"
        f"<table><thead><tr><th>Job</th><th>Id</th><th>State</th></tr></thead><tbody>{rows}</tbody></table>"
        f"<ul>{links}</ul><p>All paths: docs/rest.md. On this machine: <code>rekindle list</code>.</p></body></html>"
    )


def _row(job: RegisteredJob) -> str:
    path = f"/jobs/{job.job_id}"
    links = f'<a href="{path}">{job.job_id}</a> <a href="{path}/checkpoints">checkpoints</a>'
    return f"<tr><td>{escape(job.settings.job_name)}</td><td>{links}</td><td>{job.history.status.name}</td></tr>"
