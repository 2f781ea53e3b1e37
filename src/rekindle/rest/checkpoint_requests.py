"""Requests about the checkpoints of jobs."""

from __future__ import annotations

from typing import Literal

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from rekindle.rest import checkpoints_json
from rekindle.rest.job_requests import find_job
from rekindle.rest.messages import Handler, RequestError, answer, read_body
from rekindle.rest.operations import Operations
from rekindle.runtime.master.checkpoints.requested_checkpoints import CheckpointKind
from rekindle.runtime.master.running_jobs import RunningJobs

_MAX_ID_DIGITS = 19


class CheckpointTrigger(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """The body of a request for a checkpoint."""

    kind: Literal["CONFIGURED", "FULL", "INCREMENTAL"] | None = msgspec.field(name="checkpointType", default=None)
    trigger_id: str | None = msgspec.field(name="triggerId", default=None)


class CheckpointRequests:
    """Answer what is asked about checkpoints.

    Args:
        jobs: The jobs.
        operations: What was begun.
    """

    def __init__(self, jobs: RunningJobs, operations: Operations) -> None:
        self._jobs = jobs
        self._operations = operations

    def handlers(self) -> list[tuple[str, str, Handler]]:
        """Return which requests are answered here."""
        return [
            ("GET", "/jobs/{job}/checkpoints", self.checkpoints),
            ("POST", "/jobs/{job}/checkpoints", self.trigger),
            ("GET", "/jobs/{job}/checkpoints/config", self.config),
            ("GET", "/jobs/{job}/checkpoints/details/{checkpoint}", self.details),
            ("GET", "/jobs/{job}/checkpoints/details/{checkpoint}/subtasks/{vertex}", self.subtasks),
            ("GET", "/jobs/{job}/checkpoints/{trigger}", self.status),
        ]

    def checkpoints(self, request: Request) -> Response:
        """Sum up the checkpoints of a job."""
        return answer(checkpoints_json.checkpoints(find_job(self._jobs, request).checkpoint_statistics()))

    def trigger(self, request: Request) -> Response:
        """Take a checkpoint."""
        job, body = find_job(self._jobs, request), read_body(request, CheckpointTrigger)
        kind = CheckpointKind[body.kind or "CONFIGURED"]
        started = self._operations.begin(_of(job.job_id), body.trigger_id, lambda: job.trigger_checkpoint(kind))
        return answer({"request-id": started}, 202)

    def status(self, request: Request) -> Response:
        """Return how a checkpoint stands that was asked for. Its job may be forgotten by now."""
        what = _of(request.path_params["job"].lower())
        told = self._operations.describe(what, request.path_params["trigger"], lambda number: {"checkpointId": number})
        if told["operation"] is not None and "failure-cause" in told["operation"]:
            told["operation"] = {"failureCause": told["operation"]["failure-cause"]}  # as Flink spells it here
        return answer(told)

    def config(self, request: Request) -> Response:
        """Return how a job takes checkpoints."""
        return answer(checkpoints_json.checkpoint_config(find_job(self._jobs, request).settings))

    def details(self, request: Request) -> Response:
        """Describe one checkpoint."""
        job, checkpoint_id = find_job(self._jobs, request), checkpoint_id_of(request)
        found = checkpoints_json.checkpoint_details(job.checkpoint_statistics(), checkpoint_id)
        if found is None:
            raise RequestError(404, f"Could not find checkpointing statistics for checkpoint {checkpoint_id}.")
        return answer(found)

    def subtasks(self, request: Request) -> Response:
        """Describe one checkpoint of one operator."""
        job, checkpoint_id = find_job(self._jobs, request), checkpoint_id_of(request)
        vertex = request.path_params["vertex"]
        found = checkpoints_json.checkpoint_subtasks(job.checkpoint_statistics(), checkpoint_id, vertex)
        if found is None:
            raise RequestError(404, f"There are no statistics of checkpoint {checkpoint_id} for task {vertex}.")
        return answer(found)


def _of(job_id: str) -> str:
    """Name the operations that take checkpoints of a job, beside those that take its savepoints."""
    return f"checkpoints of {job_id}"


def checkpoint_id_of(request: Request) -> int:
    """Return the checkpoint that a request is about."""
    text = request.path_params["checkpoint"]
    if not (text.isascii() and text.isdigit() and len(text) <= _MAX_ID_DIGITS):
        raise RequestError(400, f"{text!r} is not a checkpoint id: it must be a number.")
    return int(text)
