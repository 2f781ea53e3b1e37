"""``rekindle checkpoint``."""

from __future__ import annotations

from typing import Annotated

import typer

from rekindle.cli.connection import Job, JobManager, Token, running_job
from rekindle.cli.exit_codes import CommandError, ExitCode
from rekindle.cli.output import Json, console, print_json
from rekindle.cli.progress import progress
from rekindle.cli.waiting import left_alone

_KINDS = ("configured", "full", "incremental")


def checkpoint(
    job: Job,
    kind: Annotated[str, typer.Option("--type", metavar="TYPE", help="configured, full or incremental.")] = _KINDS[0],
    jobmanager: JobManager = None,
    token: Token = None,
    json: Json = False,
) -> None:
    """Take a checkpoint of a job now, beside the periodic ones, and print its id.

    \b
    Examples:
      rekindle checkpoint 5f1c
      rekindle checkpoint orders --type full
    """
    from rekindle.client.polling import poll

    if kind.lower() not in _KINDS:
        raise CommandError(f"--type is {kind!r}, and must be one of {', '.join(_KINDS)}", ExitCode.USAGE)
    found = running_job(job, jobmanager, token)
    remote = found.remote()
    request = remote.trigger_checkpoint(kind.upper())
    with (
        left_alone(f"job {found.name!r} continues, and so does the checkpoint (request {request})"),
        progress(f"Checkpoint of {found.name}"),
    ):
        number = poll(lambda: remote.requested_checkpoint(request))
    if json:
        print_json({"job_id": found.job_id, "job_name": found.name, "request_id": request, "checkpoint": number})
    else:
        console().print(str(number), markup=False)
