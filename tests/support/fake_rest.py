"""A REST interface without jobs behind it: it speaks Flink's JSON, and does what a test tells it to."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

START = 1_700_000_000_000
SOURCE, SINK = "a" * 32, "b" * 32
PERCENTILES = ("p50", "p90", "p95", "p99", "p999")


@dataclass
class Request:
    """What a client sent."""

    method: str
    path: str
    body: Any
    authorization: str | None


@dataclass
class FakeJob:
    """A job that does as it is told.

    Attributes:
        polls: How often the answer to a question for a savepoint is that it is not there yet.
        failure: Why there is no savepoint; None: there is one.
        refusal: Status and text with which a savepoint is refused at once.
        ending: How often the job is asked for its state before it has ended.
        retains: Whether its last checkpoint stays when it is cancelled.
        on_poll: Is called at each question for a savepoint.
    """

    job_id: str
    name: str = "orders"
    state: str = "RUNNING"
    restarts: int = 2
    polls: int = 0
    failure: str | None = None
    refusal: tuple[int, str] | None = None
    ending: int = 0
    retains: bool = True
    checkpoints: list[dict[str, Any]] = field(default_factory=list)
    on_poll: Callable[[], object] = lambda: None
    _end: str | None = None
    _directory: str = "/default"

    def overview(self) -> dict[str, Any]:
        """Return the entry of ``/jobs/overview``."""
        ended = self.state in ("FINISHED", "CANCELED", "FAILED")
        return {
            "jid": self.job_id,
            "name": self.name,
            "state": self.state,
            "start-time": START,
            "end-time": START + 90_000 if ended else -1,
            "duration": 90_000,
            "last-modification": START + 90_000,
            "tasks": {"running": 4},
        }

    def details(self) -> dict[str, Any]:
        """Return the document of the job."""
        vertices = [
            {"id": SOURCE, "name": "Source: orders", "uid": "orders", "parallelism": 2, "status": "RUNNING"},
            {"id": SINK, "name": "Sink: totals", "uid": "ab" * 16, "parallelism": 1, "status": "RUNNING"},
        ]
        return {**self.overview(), "now": START + 90_000, "vertices": vertices}

    def status(self) -> dict[str, Any]:
        """Return the state; a job that is to end has ended after some questions."""
        if self._end is not None:
            self.ending -= 1
            if self.ending < 0:
                self.state = self._end
        return {"status": self.state}

    def end_as(self, state: str, directory: str | None) -> None:
        """Begin to end."""
        self._end = state
        self._directory = directory or self._directory

    def savepoint(self) -> dict[str, Any]:
        """Answer the question for a savepoint."""
        self.on_poll()
        self.polls -= 1
        if self.polls >= 0:
            return {"status": {"id": "IN_PROGRESS"}}
        if self.failure is not None:
            cause = {"class": "rekindle.exceptions.CheckpointError", "stack-trace": self.failure}
            return {"status": {"id": "COMPLETED"}, "operation": {"failure-cause": cause}}
        return {"status": {"id": "COMPLETED"}, "operation": {"location": f"{self._directory}/savepoint-1"}}


def requested_checkpoint(job: FakeJob) -> dict[str, Any]:
    """Answer the question for a checkpoint that was asked for, as that for a savepoint is answered."""
    told = job.savepoint()
    operation = told.get("operation")
    if operation is None:
        return told
    cause = operation.get("failure-cause")
    return {**told, "operation": {"checkpointId": 9} if cause is None else {"failureCause": cause}}


def checkpoint(number: int, status: str = "COMPLETED", **more: Any) -> dict[str, Any]:
    """Return the document of a checkpoint."""
    return {
        "className": status.lower(),
        "id": number,
        "status": status,
        "is_savepoint": False,
        "checkpoint_type": "CHECKPOINT",
        "trigger_timestamp": START + number * 1000,
        "latest_ack_timestamp": START + number * 1000 + 250,
        "checkpointed_size": 2048,
        "state_size": 3 * 1024 * 1024,
        "end_to_end_duration": 250,
        "alignment_buffered": 0,
        "processed_data": 0,
        "persisted_data": 0,
        "num_subtasks": 3,
        "num_acknowledged_subtasks": 3 if status == "COMPLETED" else 1,
        "tasks": {},
        **({"external_path": f"file:///checkpoints/chk-{number}", "discarded": False} if status == "COMPLETED" else {}),
        **more,
    }


def _latest(history: list[dict[str, Any]], status: str, savepoint: bool | None = None) -> dict[str, Any] | None:
    return next(
        (one for one in history if one["status"] == status and savepoint in (None, one["is_savepoint"])),
        None,
    )


def checkpoints(job: FakeJob) -> dict[str, Any]:
    """Return the document of all checkpoints of a job."""
    history = sorted(job.checkpoints, key=lambda one: -one["id"])
    counts = {
        "restored": 1,
        "total": len(history),
        "in_progress": sum(one["status"] == "IN_PROGRESS" for one in history),
        "completed": sum(one["status"] == "COMPLETED" for one in history),
        "failed": sum(one["status"] == "FAILED" for one in history),
    }
    figures = {"min": 100, "max": 900, "avg": 300, **dict.fromkeys(PERCENTILES, 250.5)}
    keys = ("checkpointed_size", "state_size", "end_to_end_duration", "alignment_buffered")
    return {
        "counts": counts,
        "summary": dict.fromkeys(keys, figures),
        "latest": {
            "completed": _latest(history, "COMPLETED", False),
            "savepoint": _latest(history, "COMPLETED", True),
            "failed": _latest(history, "FAILED"),
            "restored": {
                "id": 1,
                "restore_timestamp": START,
                "is_savepoint": True,
                "external_path": "file:///savepoints/old",
            },
        },
        "history": history,
    }


def _subtask(index: int) -> dict[str, Any]:
    return {
        "index": index,
        "status": "completed",
        "ack_timestamp": START + 7250 + index,
        "end_to_end_duration": 250,
        "checkpointed_size": 1024,
        "state_size": 2048,
        "checkpoint": {"sync": 11, "async": 222},
        "alignment": {"buffered": 0, "processed": 0, "persisted": 0, "duration": 33},
        "start_delay": 4,
        "unaligned_checkpoint": False,
        "aborted": False,
    }


class FakeRest:
    """The server: jobs, the token it wants to see, and what it was asked."""

    def __init__(self, *jobs: FakeJob, token: str | None = None) -> None:
        self.jobs = {job.job_id: job for job in jobs}
        self.token = token
        self.requests: list[Request] = []
        self.url = ""

    @property
    def address(self) -> str:
        """Return host and port."""
        return self.url.removeprefix("http://")

    def posted(self) -> list[tuple[str, Any]]:
        """Return what it was asked to do: path and body."""
        return [(request.path, request.body) for request in self.requests if request.method != "GET"]

    def answer(self, request: Request) -> tuple[int, Any]:
        """Answer a request: status and document."""
        self.requests.append(request)
        if self.token is not None and request.authorization != f"Bearer {self.token}":
            return 401, {"errors": ["no"]}
        path, _, query = request.path.partition("?")
        if path == "/jobs/overview":
            return 200, {"jobs": [job.overview() for job in self.jobs.values()]}
        found = re.fullmatch(r"/jobs/([0-9a-f]+)(/.*)?", path)
        if found is None or found[1] not in self.jobs:
            return 404, {"errors": [f"nothing at {path}"]}
        return self._of_job(self.jobs[found[1]], request, found[2] or "", query)

    def _of_job(self, job: FakeJob, request: Request, path: str, query: str) -> tuple[int, Any]:
        if request.method == "PATCH":
            assert query == "mode=cancel"
            job.end_as("CANCELED", None)
            return 202, {}
        if request.method == "POST":
            return self._triggered(job, path, request.body)
        if path.startswith("/checkpoints/details/"):
            return self._details(job, path.split("/")[3:])
        documents: dict[str, Callable[[], Any]] = {
            "": job.details,
            "/checkpoints": lambda: checkpoints(job),
            "/checkpoints/config": lambda: {
                "externalization": {"enabled": True, "delete_on_cancellation": not job.retains}
            },
            "/metrics": lambda: [{"id": "numRestarts", "value": str(job.restarts)}],
            "/status": job.status,
            "/exceptions": lambda: {"exceptionHistory": {"entries": [{"stacktrace": job.failure}]}},
            "/savepoints/77": job.savepoint,
            "/checkpoints/77": lambda: requested_checkpoint(job),
        }
        return (200, documents[path]()) if path in documents else (404, {"errors": [f"nothing at {path}"]})

    def _triggered(self, job: FakeJob, path: str, body: dict[str, Any]) -> tuple[int, Any]:
        if job.refusal is not None:
            return job.refusal[0], {"errors": [job.refusal[1]]}
        if path == "/stop":
            job.end_as("FINISHED", body.get("targetDirectory"))
        elif body.get("cancel-job"):
            job.end_as("CANCELED", body.get("target-directory"))
        else:
            job._directory = body.get("target-directory") or job._directory
        return 202, {"request-id": "77"}

    def _details(self, job: FakeJob, path: list[str]) -> tuple[int, Any]:
        found = next((one for one in job.checkpoints if str(one["id"]) == path[0]), None)
        if found is None:
            return 404, {"errors": [f"Could not find checkpoint {path[0]}."]}
        if len(path) == 1:
            return 200, {**found, "tasks": {SOURCE: {"num_subtasks": 2}, SINK: {"num_subtasks": 1}}}
        subtasks = [_subtask(0), _subtask(1)] if path[2] == SOURCE else [{"index": 0, "status": "pending_or_failed"}]
        return 200, {"id": found["id"], "status": found["status"], "summary": {}, "subtasks": subtasks}


@contextmanager
def serving(rest: FakeRest) -> Iterator[FakeRest]:
    """Listen on a free port of this machine."""

    class Handler(BaseHTTPRequestHandler):
        def _reply(self) -> None:
            content = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            body = json.loads(content) if content else None
            status, document = rest.answer(Request(self.command, self.path, body, self.headers.get("Authorization")))
            text = document if isinstance(document, bytes) else json.dumps(document).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        do_GET = do_POST = do_PATCH = _reply  # noqa: N815 - the names are those of http.server

        def log_message(self, format: str, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    rest.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield rest
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
