"""``rekindle stop``."""

from __future__ import annotations

from typing import Annotated

import typer

from rekindle.cli.connection import Job, JobManager, Token, directory_for, running_job
from rekindle.cli.exit_codes import CommandError
from rekindle.cli.output import Json, console, print_json
from rekindle.cli.paths import not_empty
from rekindle.cli.progress import progress
from rekindle.cli.waiting import left_alone, wait_for_end, wait_for_savepoint


def stop(
    job: Job,
    drain: Annotated[
        bool, typer.Option("--drain", "-d", help="First emit the highest watermark: all windows and timers fire.")
    ] = False,
    directory: Annotated[
        str | None,
        typer.Option(
            "--savepoint-path",
            "-p",
            metavar="DIR",
            help="Where the savepoint goes. Default: state.savepoints.dir of the job.",
        ),
    ] = None,
    jobmanager: JobManager = None,
    token: Token = None,
    json: Json = False,
) -> None:
    """Stop a job with a savepoint: sources end, all output is committed, nothing is lost.

    The path of the savepoint is printed; rekindle run -s PATH continues there.
    Do not drain a job that is to continue: its windows fire before they are full.

    \b
    Examples:
      rekindle stop orders -p /data/savepoints
      rekindle stop --drain 5f1c
    """
    if directory is not None:
        not_empty(directory, "after -p")
    found = running_job(job, jobmanager, token)
    remote = found.remote()
    request = remote.stop_with_savepoint(directory_for(found, directory), drain)
    with (
        left_alone(f"job {found.name!r} is still being stopped (request {request})"),
        progress(f"Stopping {found.name}") as advance,
    ):
        location = wait_for_savepoint(remote, request, advance)
        status = wait_for_end(remote)
    if status not in (None, "FINISHED"):
        raise CommandError(f"job {found.name!r} ended as {status}; its savepoint is {location}")
    if json:
        document = {"job_id": found.job_id, "job_name": found.name, "status": "FINISHED", "savepoint": location}
        print_json({**document, "drained": drain})
    else:
        console().print(f"Job {found.name} ({found.job_id}) has stopped. Savepoint:", markup=False)
        console().print(location, markup=False)
