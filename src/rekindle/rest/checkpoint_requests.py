"""Requests about the checkpoints of jobs."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from rekindle.rest import checkpoints_json
from rekindle.rest.job_requests import find_job
from rekindle.rest.messages import Handler, RequestError, answer
from rekindle.runtime.master.running_jobs import RunningJobs

_MAX_ID_DIGITS = 19


class CheckpointRequests:
    """Answer what is asked about checkpoints."""

    def __init__(self, jobs: RunningJobs) -> None:
        self._jobs = jobs

    def handlers(self) -> list[tuple[str, str, Handler]]:
        """Return which requests are answered here."""
        return [
            ("GET", "/jobs/{job}/checkpoints", self.checkpoints),
            ("GET", "/jobs/{job}/checkpoints/config", self.config),
            ("GET", "/jobs/{job}/checkpoints/details/{checkpoint}", self.details),
            ("GET", "/jobs/{job}/checkpoints/details/{checkpoint}/subtasks/{vertex}", self.subtasks),
        ]

    def checkpoints(self, request: Request) -> Response:
        """Sum up the checkpoints of a job."""
        return answer(checkpoints_json.checkpoints(find_job(self._jobs, request).checkpoint_statistics()))

    def config(self, request: Request) -> Response:
        """Return how a job takes checkpoints."""
        return answer(checkpoints_json.checkpoint_config(find_job(self._jobs, request).settings))

    def details(self, request: Request) -> Response:
        """Describe one checkpoint."""
        job, checkpoint_id = find_job(self._jobs, request), _checkpoint_id(request)
        found = checkpoints_json.checkpoint_details(job.checkpoint_statistics(), checkpoint_id)
        if found is None:
            raise RequestError(404, f"Could not find checkpointing statistics for checkpoint {checkpoint_id}.")
        return answer(found)

    def subtasks(self, request: Request) -> Response:
        """Describe one checkpoint of one operator."""
        job, checkpoint_id = find_job(self._jobs, request), _checkpoint_id(request)
        vertex = request.path_params["vertex"]
        found = checkpoints_json.checkpoint_subtasks(job.checkpoint_statistics(), checkpoint_id, vertex)
        if found is None:
            raise RequestError(404, f"There are no statistics of checkpoint {checkpoint_id} for task {vertex}.")
        return answer(found)


def _checkpoint_id(request: Request) -> int:
    text = request.path_params["checkpoint"]
    if not (text.isascii() and text.isdigit() and len(text) <= _MAX_ID_DIGITS):
        raise RequestError(400, f"{text!r} is not a checkpoint id: it must be a number.")
    return int(text)
