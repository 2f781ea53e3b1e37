"""One job behind a REST interface: Flink's paths, called and read. Nothing here waits."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from rekindle.client.rest_client import RestClient
from rekindle.contracts.job.job_status import JobStatus
from rekindle.exceptions import CheckpointError

IN_PROGRESS = "IN_PROGRESS"
_NO_REASON = "no reason was given"


class RemoteJob:
    """Ask and steer one job."""

    def __init__(self, rest: RestClient, job_id: str) -> None:
        self.rest = rest
        self.job_id = job_id
        self._path = f"/jobs/{quote(job_id, safe='')}"

    def details(self) -> dict[str, Any]:
        """Read what the job is: name, state, vertices, times."""
        return self.rest.get(self._path)

    def status(self) -> JobStatus:
        """Read the job's state."""
        return JobStatus[str(self.rest.get(f"{self._path}/status")["status"])]

    def checkpoints(self) -> dict[str, Any]:
        """Read counts, summary, latest ones and history of the checkpoints."""
        return self.rest.get(f"{self._path}/checkpoints")

    def checkpoint(self, checkpoint_id: int) -> dict[str, Any]:
        """Read about one checkpoint, summed up for each operator."""
        return self.rest.get(f"{self._path}/checkpoints/details/{checkpoint_id}")

    def checkpoint_subtasks(self, checkpoint_id: int, vertex_id: str) -> dict[str, Any]:
        """Read about the subtasks of one operator in a checkpoint."""
        vertex = quote(vertex_id, safe="")
        return self.rest.get(f"{self._path}/checkpoints/details/{checkpoint_id}/subtasks/{vertex}")

    def checkpoint_config(self) -> dict[str, Any]:
        """Read how the job takes checkpoints."""
        return self.rest.get(f"{self._path}/checkpoints/config")

    def queryable_states(self) -> dict[str, Any]:
        """Read which states of the job can be queried, and where."""
        return self.rest.get(f"{self._path}/state")

    def query_state(self, name: str, key: str, consistency: str) -> dict[str, Any]:
        """Read what a queryable state holds for a key, which is given as people type it."""
        place = f"{quote(name, safe='')}/{quote(key, safe='')}"
        return self.rest.get(f"{self._path}/state/{place}?consistency={quote(consistency, safe='')}")

    def last_failure(self) -> str | None:
        """Read why the job failed last; None if it did not."""
        entries = self.rest.get(f"{self._path}/exceptions?maxExceptions=1")["exceptionHistory"]["entries"]
        return str(entries[0]["stacktrace"]) if entries else None

    def restarts(self) -> int | None:
        """Read how often the job was restarted; None if it does not tell."""
        values = self.rest.get_list(f"{self._path}/metrics?get=numRestarts")
        return next((int(value["value"]) for value in values if value["id"] == "numRestarts"), None)

    def cancel(self) -> None:
        """Cancel the job; that is under way then."""
        self.rest.patch(f"{self._path}?mode=cancel")

    def trigger_savepoint(self, directory: str | None, *, cancel_job: bool = False) -> str:
        """Have a savepoint taken; give the number of the request, for ``savepoint_location``.

        Args:
            directory: Where it goes; None: where the job is configured to write it.
            cancel_job: Cancel the job once the savepoint is there.
        """
        body = {"target-directory": directory, "cancel-job": cancel_job}
        return str(self.rest.post(f"{self._path}/savepoints", body)["request-id"])

    def trigger_checkpoint(self, kind: str) -> str:
        """Have a checkpoint taken; give the number of the request, for ``requested_checkpoint``.

        Args:
            kind: CONFIGURED, FULL or INCREMENTAL.
        """
        return str(self.rest.post(f"{self._path}/checkpoints", {"checkpointType": kind})["request-id"])

    def requested_checkpoint(self, request_id: str) -> int | None:
        """Return the id of a checkpoint that was asked for; None while it is being written.

        Raises:
            CheckpointError: There will be no checkpoint.
        """
        answer = self.rest.get(f"{self._path}/checkpoints/{quote(request_id, safe='')}")
        if answer["status"]["id"] == IN_PROGRESS:
            return None
        operation = answer.get("operation") or {}
        if operation.get("checkpointId") is None:
            raise CheckpointError(failure_text(operation.get("failureCause")))
        return int(operation["checkpointId"])

    def stop_with_savepoint(self, directory: str | None, drain: bool) -> str:
        """Have the job stopped with a savepoint; give the number of the request, for ``savepoint_location``."""
        body = {"targetDirectory": directory, "drain": drain}
        return str(self.rest.post(f"{self._path}/stop", body)["request-id"])

    def savepoint_location(self, request_id: str) -> str | None:
        """Return the path of a savepoint that was asked for; None while it is being written.

        Raises:
            CheckpointError: There will be no savepoint.
        """
        answer = self.rest.get(f"{self._path}/savepoints/{quote(request_id, safe='')}")
        if answer["status"]["id"] == IN_PROGRESS:
            return None
        operation = answer.get("operation") or {}
        if operation.get("location") is None:
            raise CheckpointError(failure_text(operation.get("failure-cause")))
        return str(operation["location"])


def failure_text(cause: object) -> str:
    """Return the reason in Flink's ``failure-cause``: the first message, without class, causes and trace."""
    if not isinstance(cause, dict):
        return _NO_REASON
    name = str(cause.get("class") or "")
    text = str(cause.get("stack-trace") or "")
    for end in ("\nCaused by: ", "\n\tat "):
        text = text.partition(end)[0]
    return text.strip().removeprefix(f"{name}: ") or name or _NO_REASON
