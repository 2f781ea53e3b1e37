"""Requests about jobs: which there are, how they do, and that one be cancelled."""

from __future__ import annotations

import re
import time
from collections import Counter

from starlette.requests import Request
from starlette.responses import Response

import rekindle
from rekindle.contracts.job.job_status import JobStatus
from rekindle.graph.plan import PlanNode
from rekindle.rest import job_json
from rekindle.rest.messages import Handler, RequestError, answer
from rekindle.runtime.master.running_jobs import RegisteredJob, RunningJobs

_JOB_ID = re.compile(r"[0-9a-f]{32}")
_DEFAULT_EXCEPTIONS = 20


class JobRequests:
    """Answer what is asked about jobs."""

    def __init__(self, jobs: RunningJobs) -> None:
        self._jobs = jobs

    def handlers(self) -> list[tuple[str, str, Handler]]:
        """Return which requests are answered here."""
        return [
            ("GET", "/overview", self.overview),
            ("GET", "/config", self.config),
            ("GET", "/jobs", self.jobs),
            ("GET", "/jobs/overview", self.jobs_overview),
            ("GET", "/jobs/{job}", self.job),
            ("PATCH", "/jobs/{job}", self.cancel),
            ("GET", "/jobs/{job}/status", self.status),
            ("GET", "/jobs/{job}/config", self.job_config),
            ("GET", "/jobs/{job}/exceptions", self.exceptions),
            ("GET", "/jobs/{job}/plan", self.plan),
            ("GET", "/jobs/{job}/accumulators", self.accumulators),
            ("GET", "/jobs/{job}/vertices/{vertex}", self.vertex),
            ("GET", "/jobs/{job}/vertices/{vertex}/backpressure", self.backpressure),
        ]

    def overview(self, request: Request) -> Response:
        """Count slots and jobs."""
        jobs = self._jobs.all()
        states = Counter(job.history.status for job in jobs)
        running = [job for job in jobs if not job.ended]
        slots = sum(map(_slots, running))
        return answer(
            {
                "taskmanagers": slots,
                "slots-total": slots,
                "slots-available": 0,
                "jobs-running": len(running),
                "jobs-finished": states[JobStatus.FINISHED],
                "jobs-cancelled": states[JobStatus.CANCELED],
                "jobs-failed": states[JobStatus.FAILED],
                "flink-version": f"rekindle {rekindle.__version__}",
                "flink-commit": "",
            }
        )

    def config(self, request: Request) -> Response:
        """Return what this interface offers."""
        local = time.localtime()
        return answer(
            {
                "refresh-interval": 3000,
                "timezone-name": local.tm_zone,
                "timezone-offset": local.tm_gmtoff * 1000,
                "flink-version": f"rekindle {rekindle.__version__}",
                "flink-revision": "",
                "features": {"web-submit": False, "web-cancel": True, "web-rescale": False, "web-history": False},
            }
        )

    def jobs(self, request: Request) -> Response:
        """List the ids and states of jobs."""
        return answer({"jobs": [{"id": job.job_id, "status": job.history.status.name} for job in self._jobs.all()]})

    def jobs_overview(self, request: Request) -> Response:
        """List jobs."""
        return answer({"jobs": [job_json.overview_entry(job) for job in self._jobs.all()]})

    def job(self, request: Request) -> Response:
        """Describe a job."""
        job = find_job(self._jobs, request)
        return answer(job_json.job_details(job, job.read_metrics()))

    def status(self, request: Request) -> Response:
        """Tell the state of a job."""
        return answer({"status": find_job(self._jobs, request).history.status.name})

    def job_config(self, request: Request) -> Response:
        """Return what a job runs with."""
        return answer(job_json.job_config(find_job(self._jobs, request)))

    def exceptions(self, request: Request) -> Response:
        """List the failures of a job."""
        job = find_job(self._jobs, request)
        text = request.query_params.get("maxExceptions", str(_DEFAULT_EXCEPTIONS))
        if not (text.isascii() and text.isdigit() and len(text) < 10):
            raise RequestError(400, f"maxExceptions is {text!r}, and must be a number.")
        return answer(job_json.exceptions(job, int(text)))

    def plan(self, request: Request) -> Response:
        """Describe the operators of a job."""
        return answer({"plan": find_job(self._jobs, request).plan_json()})

    def accumulators(self, request: Request) -> Response:
        """List the accumulators of a job: PyFlink's programs have none."""
        find_job(self._jobs, request)
        return answer({"job-accumulators": [], "user-task-accumulators": [], "serialized-user-task-accumulators": {}})

    def vertex(self, request: Request) -> Response:
        """Describe the subtasks of an operator."""
        job, node = self._vertex(request)
        return answer(job_json.vertex_details(job, node, job.read_metrics()))

    def backpressure(self, request: Request) -> Response:
        """Tell how much an operator is held up by what follows."""
        job, node = self._vertex(request)
        return answer(job_json.backpressure(job, node, job.read_metrics()))

    def _vertex(self, request: Request) -> tuple[RegisteredJob, PlanNode]:
        job, named = find_job(self._jobs, request), request.path_params["vertex"]
        node = job_json.find_vertex(job, named)
        if node is None:
            raise RequestError(404, f"Job {job.job_id} has no vertex {named}.")
        return job, node

    def cancel(self, request: Request) -> Response:
        """Cancel a job."""
        job = find_job(self._jobs, request)
        mode = request.query_params.get("mode", "cancel")
        if mode.lower() == "stop":
            raise RequestError(400, "mode=stop no longer exists: POST to /jobs/:jobid/stop.")
        if mode.lower() != "cancel":
            raise RequestError(400, f"mode is {mode!r}, and can only be cancel.")
        status = job.history.status
        if job.ended and status is not JobStatus.CANCELED:
            raise RequestError(
                409, f"Job {job.job_id} cannot be cancelled: it has reached another terminal state ({status.name})."
            )
        job.cancel()
        return answer({}, 202)


def find_job(jobs: RunningJobs, request: Request) -> RegisteredJob:
    """Return the job that a request is about.

    Raises:
        RequestError: There is none, or it is no id of a job at all.
    """
    given = request.path_params["job"]
    job_id = given.lower()
    if not _JOB_ID.fullmatch(job_id):
        raise RequestError(400, f"{given!r} is not a job id: it must have 32 hexadecimal digits.")
    job = jobs.find(job_id)
    if job is None:
        raise RequestError(404, f"Job {job_id} not found")
    return job


def _slots(job: RegisteredJob) -> int:
    return max((node.parallelism for node in job.plan.nodes), default=0)
