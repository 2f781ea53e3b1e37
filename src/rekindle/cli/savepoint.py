"""``rekindle savepoint``."""

from __future__ import annotations

from typing import Annotated

import typer

from rekindle.cli.connection import Job, JobManager, Token, directory_for, running_job
from rekindle.cli.output import Json, console, print_json
from rekindle.cli.paths import not_empty
from rekindle.cli.progress import progress
from rekindle.cli.waiting import left_alone, wait_for_savepoint


def savepoint(
    job: Job,
    directory: Annotated[
        str | None,
        typer.Argument(metavar="DIR", help="Where it goes. Default: state.savepoints.dir of the job."),
    ] = None,
    detached: Annotated[
        bool, typer.Option("--detached", help="Do not wait: print the id of the request instead.")
    ] = False,
    jobmanager: JobManager = None,
    token: Token = None,
    json: Json = False,
) -> None:
    """Take a savepoint of a job that continues to run, and print its path.

    \b
    Examples:
      rekindle savepoint 5f1c /data/savepoints
      rekindle savepoint orders --json
    """
    if directory is not None:
        not_empty(directory, "given as DIR")
    found = running_job(job, jobmanager, token)
    remote = found.remote()
    request = remote.trigger_savepoint(directory_for(found, directory))
    if detached:
        if json:
            print_json({"job_id": found.job_id, "job_name": found.name, "request_id": request})
        else:
            console().print(request, markup=False)
        return
    with (
        left_alone(f"job {found.name!r} continues, and so does the savepoint (request {request})"),
        progress(f"Savepoint of {found.name}") as advance,
    ):
        location = wait_for_savepoint(remote, request, advance)
    if json:
        print_json({"job_id": found.job_id, "job_name": found.name, "request_id": request, "savepoint": location})
    else:
        console().print(location, markup=False)
