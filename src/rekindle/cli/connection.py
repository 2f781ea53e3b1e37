"""How commands find the job they are about: on this machine by itself, elsewhere by ``--jobmanager``."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from rekindle.archive.directory import kept_jobs
from rekindle.checkpoint.paths import checked_location
from rekindle.cli.completion import complete_running_job
from rekindle.cli.exit_codes import CommandError, ExitCode
from rekindle.cli.formats import moment
from rekindle.cli.output import messages
from rekindle.cli.paths import absolute
from rekindle.exceptions import NotFoundError, RekindleError, UnreachableError

if TYPE_CHECKING:
    from rekindle.client.found_job import FoundJob
    from rekindle.client.search import Search, SilentDriver

JobManager = Annotated[
    str | None,
    typer.Option(
        "--jobmanager", "-m", metavar="HOST:PORT", help="Where the job listens. By default this machine is searched."
    ),
]
"""The option for jobs elsewhere."""

Token = Annotated[
    str | None,
    typer.Option(
        "--token",
        envvar="REKINDLE_TOKEN",
        metavar="TOKEN",
        help="The token of the job (rest.token). On this machine it is found automatically.",
    ),
]
"""The option for jobs that listen beyond their own machine."""

JOB_HELP = "Id of the job, its first digits (4 or more), or its name."

Job = Annotated[
    str, typer.Argument(metavar="JOB", help=JOB_HELP, show_default=False, autocompletion=complete_running_job)
]
"""The job that a command is about."""

HINT = (
    "Your jobs on this machine are found automatically, if rest.enabled is not false and REKINDLE_STATE_DIR and "
    "TMPDIR are the same here and there. For a job elsewhere give --jobmanager HOST:PORT."
)


def search_jobs(jobmanager: str | None, token: str | None) -> Search:
    """Find all jobs that a command may be about, and warn of drivers that do not answer."""
    from rekindle.client.search import search

    try:
        result = search(jobmanager, token)
    except UnreachableError as error:
        hint = " Pass it with --token or $REKINDLE_TOKEN." if error.status in (401, 403) else ""
        raise CommandError(f"{error}.{hint}", ExitCode.UNREACHABLE) from error
    for driver in result.silent:
        messages().print(f"warning: skipped a process that seems to run jobs: {driver}", markup=False)
    return result


def silence(drivers: Sequence[SilentDriver]) -> str:
    """Say that processes do not answer, and which."""
    pids = ", ".join(str(driver.pid) for driver in drivers)
    what = "1 process does not answer" if len(drivers) == 1 else f"{len(drivers)} processes do not answer"
    return f"{what} (pid {pids})"


def the_job(wanted: str, jobmanager: str | None, token: str | None) -> FoundJob:
    """Find the job that somebody means."""
    from rekindle.client.found_job import resolve

    found = search_jobs(jobmanager, token)
    try:
        return resolve(found.jobs, wanted)
    except NotFoundError as error:
        if found.silent:  # it may be one of theirs
            message = f"no job {wanted!r} answers; {silence(found.silent)}"
            raise CommandError(message, ExitCode.UNREACHABLE) from error
        hint = "" if found.drivers else f"\n{HINT}"
        gone = None if jobmanager else _ended_before(wanted)
        raise CommandError(gone or f"{error}{hint}", ExitCode.NOT_FOUND) from error


def _ended_before(wanted: str) -> str | None:
    """Return how a job ended that is meant, if it is known on disk."""
    from rekindle.client.found_job import resolve

    try:
        job = resolve(kept_jobs(), wanted)
    except (OSError, RekindleError):
        return None
    if not job.has_ended:
        return None
    why = "" if job.why is None else f", {job.why}"
    return f"job {job.name!r} ({job.job_id}) has ended: it is {job.status} since {moment(job.ended)}{why}"


def running_job(wanted: str, jobmanager: str | None, token: str | None) -> FoundJob:
    """Find the job that somebody means; it must not have ended."""
    job = the_job(wanted, jobmanager, token)
    if job.has_ended:
        raise CommandError(f"job {job.name!r} ({job.job_id}) has ended: it is {job.status.name}")
    return job


def directory_for(job: FoundJob, directory: str | None) -> str | None:
    """Return a directory as the job is to be told it: on this machine, a relative one is relative to here.

    Raises:
        ConfigurationError: There can be no such directory anywhere.
    """
    if directory is not None:
        checked_location(directory, "savepoint directory")
    if directory is None or not job.on_this_machine:
        return directory
    return absolute(os.path.expanduser(directory))
