"""``rekindle list``."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rekindle.cli import formats
from rekindle.cli.connection import HINT, JobManager, Token, search_jobs, silence
from rekindle.cli.exit_codes import CommandError, ExitCode
from rekindle.cli.output import Json, console, print_json
from rekindle.cli.tables import print_table, status_text

if TYPE_CHECKING:
    from rekindle.client.found_job import FoundJob
    from rekindle.client.remote_job import RemoteJob

_RUNNING = {"RUNNING", "RESTARTING"}
_SCHEDULED = {"CREATED"}


def list_jobs(
    running: Annotated[bool, typer.Option("-r", "--running", help="Only jobs that run or restart.")] = False,
    scheduled: Annotated[bool, typer.Option("-s", "--scheduled", help="Only jobs that have yet to start.")] = False,
    everything: Annotated[bool, typer.Option("-a", "--all", help="Also jobs that have ended.")] = False,
    jobmanager: JobManager = None,
    token: Token = None,
    json: Json = False,
) -> None:
    """List the jobs that have not ended, on this machine or elsewhere.

    A job that has ended is listed (by -a) as long as the process that ran it.

    \b
    Examples:
      rekindle list
      rekindle list -r --json
      rekindle list -a -m cluster.example.com:8081
    """
    wanted = (_RUNNING if running else set()) | (_SCHEDULED if scheduled else set())
    result = search_jobs(jobmanager, token)
    found = [job for job in result.jobs if (job.status.name in wanted if wanted else everything or not job.has_ended)]
    with ThreadPoolExecutor(8) as pool:
        listed = list(pool.map(_described, found))
    if json:
        print_json({"jobs": listed, "unreachable": [asdict(driver) for driver in result.silent]})
    elif listed:
        _print(listed)
    if not listed and result.silent:
        if json:  # the document says it
            raise typer.Exit(ExitCode.UNREACHABLE)
        raise CommandError(f"no job answers; {silence(result.silent)}", ExitCode.UNREACHABLE)
    if not listed and not json:
        kind = "running " if running else ""
        where = f"at {jobmanager}" if jobmanager else "on this machine"
        console().print(f"There are no {kind}jobs {where}.", markup=False)
        if not result.drivers:
            console().print(HINT, style="dim", markup=False)


def _described(job: FoundJob) -> dict[str, Any]:
    """Describe a job; what its driver can no longer tell, because it just ended, is None."""
    from rekindle.exceptions import RestError

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


def _print(listed: list[dict[str, Any]]) -> None:
    columns = ["Job id", "Name", "Status", "Started", "Duration", "Parallel", "Restarts", "Checkpoint", "At"]
    rows = []
    for job in listed:
        latest = job["last_checkpoint"]
        rows.append(
            [
                job["job_id"],
                job["job_name"],
                status_text(job["status"]),
                formats.moment(job["start_time"]),
                formats.duration(job["duration_ms"]),
                formats.number(job["parallelism"]),
                formats.number(job["restarts"]),
                formats.NOTHING if latest is None else f"{latest['id']} at {formats.moment(latest['time'])[-8:]}",
                job["url"],
            ]
        )
    print_table(columns, rows, right=["Duration", "Parallel", "Restarts"])
