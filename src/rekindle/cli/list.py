"""``rekindle list``."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.text import Text

from rekindle.archive.directory import kept_jobs
from rekindle.cli import formats, job_listing
from rekindle.cli.connection import HINT, JobManager, Token, search_jobs, silence
from rekindle.cli.exit_codes import CommandError, ExitCode
from rekindle.cli.output import Json, console, print_json
from rekindle.cli.tables import print_table, status_text
from rekindle.exceptions import ConfigurationError

if TYPE_CHECKING:
    from rekindle.archive.job_entry import KeptJob

_RUNNING = {"RUNNING", "RESTARTING"}
_SCHEDULED = {"CREATED"}
_NUMBERS = ("Duration", "Parallel", "Restarts")


def list_jobs(
    running: Annotated[bool, typer.Option("-r", "--running", help="Only jobs that run or restart.")] = False,
    scheduled: Annotated[bool, typer.Option("-s", "--scheduled", help="Only jobs that have yet to start.")] = False,
    everything: Annotated[bool, typer.Option("-a", "--all", help="Also jobs that have ended.")] = False,
    jobmanager: JobManager = None,
    token: Token = None,
    json: Json = False,
) -> None:
    """List the jobs that have not ended, on this machine or elsewhere.

    With -a also those that have ended on this machine, when and why: the last 100
    (rekindle.archive.max-jobs). LOST is one whose process was killed. Of a job
    elsewhere it is known as long as the process lives that ran it.

    \b
    Examples:
      rekindle list
      rekindle list -r --json
      rekindle list -a -m cluster.example.com:8081
    """
    wanted = (_RUNNING if running else set()) | (_SCHEDULED if scheduled else set())
    result = search_jobs(jobmanager, token)
    kept = {} if jobmanager else {job.job_id: job for job in _kept(everything)}
    found = [job for job in result.jobs if (job.status.name in wanted if wanted else everything or not job.has_ended)]
    with ThreadPoolExecutor(8) as pool:
        listed = list(pool.map(lambda job: job_listing.running(job, kept.get(job.job_id)), found))
    if everything:
        answering = {job.job_id for job in result.jobs}
        silent = [job for job in kept.values() if job.job_id not in answering and (not wanted or job.status in wanted)]
        listed = sorted([*map(job_listing.on_disk, silent), *listed], key=lambda job: job["start_time"] or 0)
    if json:
        print_json({"jobs": listed, "unreachable": [asdict(driver) for driver in result.silent]})
    elif listed:
        (_print_all if everything else _print)(listed)
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


def _kept(everything: bool) -> list[KeptJob]:
    """Return the jobs that are known on disk; running ones can be listed without them."""
    try:
        return kept_jobs()
    except (OSError, ConfigurationError):
        if everything:
            raise
        return []


def _print(listed: list[dict[str, Any]]) -> None:
    columns = ["Job id", "Name", "Status", "Started", "Duration", "Parallel", "Restarts", "Checkpoint", "At"]
    rows = [[*_cells(job), _where(job)] for job in listed]
    print_table(columns, rows, right=_NUMBERS)


def _where(job: dict[str, Any]) -> str | Text:
    """Say where a job is; a terminal that knows links opens its dashboard from there."""
    if job["dashboard"] is None:
        return job["url"] or formats.NOTHING
    return Text(job["url"], f"link {job['dashboard']}")


def _print_all(listed: list[dict[str, Any]]) -> None:
    columns = ["Job id", "Name", "Status", "Started", "Duration", "Parallel", "Restarts", "Checkpoint", "Ended", "Why"]
    rows = [[*_cells(job), formats.moment(job["end_time"]), _why(job)] for job in listed]
    print_table(columns, rows, right=_NUMBERS)


def _cells(job: dict[str, Any]) -> list[str | Text]:
    latest = job["last_checkpoint"]
    return [
        job["job_id"],
        job["job_name"],
        status_text(job["status"]),
        formats.moment(job["start_time"]),
        formats.duration(job["duration_ms"]),
        formats.number(job["parallelism"]),
        formats.number(job["restarts"]),
        formats.NOTHING if latest is None else f"{latest['id']} at {formats.moment(latest['time'])[-8:]}",
    ]


def _why(job: dict[str, Any]) -> str:
    """Say in one line why a job ended, or where it is."""
    parts = [(job["why"] or "").partition("\n")[0], "" if job["savepoint"] is None else f"savepoint {job['savepoint']}"]
    if job["end_time"] is None:
        parts.append(f"runs at {job['url']}" if job["url"] else "runs without a REST interface")
    return "; ".join(filter(None, parts)) or formats.NOTHING
