"""How commands find the job they are about: on this machine by itself, elsewhere by ``--jobmanager``."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Annotated

import typer

from rekindle.cli.exit_codes import CommandError, ExitCode
from rekindle.cli.output import messages

if TYPE_CHECKING:
    from rekindle.client.found_job import FoundJob
    from rekindle.exceptions import UnreachableError

JobManager = Annotated[
    str | None,
    typer.Option(
        "--jobmanager", "-m", metavar="HOST:PORT", help="Where the job listens. Not given: this machine is searched."
    ),
]
"""The option for jobs elsewhere."""

Token = Annotated[
    str | None,
    typer.Option(
        "--token",
        envvar="REKINDLE_TOKEN",
        metavar="TOKEN",
        help="What the job wants to see (rest.token). On this machine it is found.",
    ),
]
"""The option for jobs that listen beyond their own machine."""

Job = Annotated[
    str,
    typer.Argument(metavar="JOB", help="Id of the job, its first digits (4 or more), or its name.", show_default=False),
]
"""The job that a command is about."""

HINT = (
    "Jobs of yours on this machine are found by themselves, if rest.enabled is not false and REKINDLE_STATE_DIR and "
    "TMPDIR are the same here and there. For a job elsewhere give --jobmanager HOST:PORT."
)


def jobs(jobmanager: str | None, token: str | None) -> list[FoundJob]:
    """Find all jobs that a command may be about."""
    from rekindle.client.found_job import find_jobs
    from rekindle.exceptions import UnreachableError

    try:
        return find_jobs(jobmanager, token, _warn)
    except UnreachableError as error:
        hint = " Give it by --token or $REKINDLE_TOKEN." if error.status in (401, 403) else ""
        raise CommandError(f"{error}.{hint}", ExitCode.UNREACHABLE) from error


def _warn(error: UnreachableError) -> None:
    messages().print(f"warning: passed over a process that seems to run jobs: {error}", markup=False)


def the_job(wanted: str, jobmanager: str | None, token: str | None) -> FoundJob:
    """Find the job that somebody means."""
    from rekindle.client.found_job import resolve
    from rekindle.exceptions import NotFoundError

    found = jobs(jobmanager, token)
    try:
        return resolve(found, wanted)
    except NotFoundError as error:
        hint = "" if jobmanager else f"\n{HINT}"
        raise CommandError(f"{error}{hint}", ExitCode.NOT_FOUND) from error


def running_job(wanted: str, jobmanager: str | None, token: str | None) -> FoundJob:
    """Find the job that somebody means; it must not have ended."""
    job = the_job(wanted, jobmanager, token)
    if job.has_ended:
        raise CommandError(f"job {job.name!r} ({job.job_id}) has ended: it is {job.status.name}")
    return job


def directory_for(job: FoundJob, directory: str | None) -> str | None:
    """Give a directory as the job is to be told it: on this machine, a relative one is relative to here."""
    if directory is None or not job.on_this_machine or "://" in directory:
        return directory
    return os.path.abspath(os.path.expanduser(directory))
