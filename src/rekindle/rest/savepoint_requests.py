"""Requests for savepoints: taking one, stopping or cancelling a job with one, disposing of one."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, Literal

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from rekindle.checkpoint.settings.checkpoint_storage import checked_directory
from rekindle.checkpoint.storage import checkpoint_files
from rekindle.rest.job_requests import find_job
from rekindle.rest.messages import Handler, RequestError, answer, read_body
from rekindle.rest.operations import Operations
from rekindle.rest.threads import in_daemon_thread
from rekindle.runtime.master.running_jobs import RunningJobs

FormatType = Literal["CANONICAL", "NATIVE"]
"""Either is accepted; savepoints are written in one format, which every backend reads."""

_DISPOSAL = "savepoint disposal"


class SavepointTrigger(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """The body of a request for a savepoint."""

    target_directory: str | None = msgspec.field(name="target-directory", default=None)
    cancel_job: bool | None = msgspec.field(name="cancel-job", default=False)
    format_type: FormatType | None = msgspec.field(name="formatType", default=None)
    trigger_id: str | None = msgspec.field(name="triggerId", default=None)


class StopTrigger(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """The body of a request to stop a job."""

    target_directory: str | None = msgspec.field(name="targetDirectory", default=None)
    drain: bool | None = False
    format_type: FormatType | None = msgspec.field(name="formatType", default=None)
    trigger_id: str | None = msgspec.field(name="triggerId", default=None)


class DisposalTrigger(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """The body of a request to dispose of a savepoint."""

    path: str | None = msgspec.field(name="savepoint-path", default=None)
    trigger_id: str | None = msgspec.field(name="triggerId", default=None)


class SavepointRequests:
    """Answer what is asked about savepoints.

    Args:
        jobs: The jobs.
        operations: What was begun.
        dispose: Deletes the savepoint at a location.
    """

    def __init__(self, jobs: RunningJobs, operations: Operations, dispose: Callable[[str], Any]) -> None:
        self._jobs = jobs
        self._operations = operations
        self._dispose = dispose

    def handlers(self) -> list[tuple[str, str, Handler]]:
        """Return which requests are answered here."""
        return [
            ("POST", "/jobs/{job}/savepoints", self.trigger),
            ("POST", "/jobs/{job}/stop", self.stop),
            ("GET", "/jobs/{job}/savepoints/{trigger}", self.status),
            ("POST", "/savepoint-disposal", self.dispose),
            ("GET", "/savepoint-disposal/{trigger}", self.disposal_status),
        ]

    def trigger(self, request: Request) -> Response:
        """Take a savepoint, and cancel the job with it if that is wanted."""
        job, body = find_job(self._jobs, request), read_body(request, SavepointTrigger)
        directory = body.target_directory
        take = job.cancel_with_savepoint if body.cancel_job else job.trigger_savepoint
        return self._begun(job.job_id, body.trigger_id, lambda: take(directory), 202)

    def stop(self, request: Request) -> Response:
        """Stop a job with a savepoint."""
        job, body = find_job(self._jobs, request), read_body(request, StopTrigger)
        directory, drain = body.target_directory, bool(body.drain)
        return self._begun(job.job_id, body.trigger_id, lambda: job.stop_with_savepoint(directory, drain), 202)

    def status(self, request: Request) -> Response:
        """Return how a savepoint stands. Also the job of one that is complete may be forgotten by now."""
        job_id = request.path_params["job"].lower()
        told = self._operations.describe(job_id, request.path_params["trigger"], lambda where: {"location": where})
        return answer(told)

    def dispose(self, request: Request) -> Response:
        """Delete a savepoint."""
        body = read_body(request, DisposalTrigger)
        path = body.path
        if path is None:
            raise RequestError(400, "Field savepoint-path must not be omitted or be null.")
        checkpoint_files(checked_directory(path, "savepoint-path"))

        def dispose() -> Future[Any]:
            return in_daemon_thread(lambda: self._dispose(path), "rest-disposal")

        return self._begun(_DISPOSAL, body.trigger_id, dispose, 200)

    def disposal_status(self, request: Request) -> Response:
        """Return how the deletion of a savepoint stands."""
        return answer(self._operations.describe(_DISPOSAL, request.path_params["trigger"], lambda _: {}))

    def _begun(self, what: str, trigger_id: str | None, start: Callable[[], Future[Any]], status: int) -> Response:
        return answer({"request-id": self._operations.begin(what, trigger_id, start)}, status)
