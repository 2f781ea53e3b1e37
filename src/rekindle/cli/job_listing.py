"""What ``rekindle list`` says about a job: by what its driver answers, and by what is kept of it on disk."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

from rekindle.config.secrets import arguments_shown
from rekindle.exceptions import RestError
from rekindle.rest.discovery import header_file

if TYPE_CHECKING:
    from rekindle.archive.job_entry import KeptJob
    from rekindle.client.found_job import FoundJob
    from rekindle.client.remote_job import RemoteJob
    from rekindle.rest.discovery import Endpoint


def running(job: FoundJob, kept: KeptJob | None) -> dict[str, Any]:
    """Describe a job that answers; what its driver can no longer tell, because it just ended, is None."""
    overview = job.overview
    described: dict[str, Any] = {
        "job_id": job.job_id,
        "job_name": job.name,
        "status": job.status.name,
        "start_time": overview.get("start-time"),
        "end_time": overview["end-time"] if overview.get("end-time", -1) >= 0 else None,
        "duration_ms": overview.get("duration"),
        "parallelism": None,
        "restarts": None,
        "last_checkpoint": None,
        "url": job.rest.url,
        **_from_endpoint(job.endpoint),
        **_from_disk(kept),
    }
    remote = job.remote()
    with suppress(RestError):
        vertices = remote.details()["vertices"]
        described["parallelism"] = max((vertex["parallelism"] for vertex in vertices), default=None)
        described["last_checkpoint"] = _last_checkpoint(remote)
        described["restarts"] = remote.restarts()
    return described


def _last_checkpoint(remote: RemoteJob) -> dict[str, Any] | None:
    latest = remote.checkpoints()["latest"]["completed"]
    if latest is None or latest.get("discarded"):  # nothing of a job that has ended, and kept none
        return None
    return {"id": latest["id"], "time": latest["latest_ack_timestamp"], "path": latest.get("external_path")}


def on_disk(job: KeptJob) -> dict[str, Any]:
    """Describe a job that does not answer: it has ended, or has no REST interface."""
    entry, ended = job.entry, job.ended
    checkpoint = entry.checkpoint
    return {
        "job_id": entry.job_id,
        "job_name": entry.job_name,
        "status": job.status,
        "start_time": entry.started,
        "end_time": ended,
        "duration_ms": None if ended is None else ended - entry.started,
        "parallelism": entry.parallelism,
        "restarts": entry.restarts,
        "last_checkpoint": None
        if checkpoint is None
        else {"id": checkpoint.id, "time": checkpoint.time, "path": checkpoint.path},
        "url": None,
        **_from_endpoint(None),
        **_from_disk(job),
    }


def _from_endpoint(endpoint: Endpoint | None) -> dict[str, Any]:
    """Return how to prove to a driver of this machine who asks."""
    header = None if endpoint is None else header_file(endpoint)
    return {
        "dashboard": None if endpoint is None else endpoint.dashboard,
        "header_file": None if header is None else str(header),
    }


def _from_disk(job: KeptJob | None) -> dict[str, Any]:
    """Return what only the archive knows."""
    return {
        "why": None if job is None else job.why,
        "savepoint": None if job is None else job.entry.savepoint,
        "program": None if job is None else job.entry.program,
        "arguments": None if job is None else list(arguments_shown(job.entry.arguments)),
        "pid": None if job is None else job.entry.pid,
        "log": None if job is None else job.entry.log,
    }
