"""``rekindle cancel``."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from rekindle.cli.completion import complete_running_job
from rekindle.cli.connection import JOB_HELP, JobManager, Token, directory_for, running_job
from rekindle.cli.exit_codes import CommandError, ExitCode
from rekindle.cli.output import Json, console, print_json
from rekindle.cli.paths import not_empty
from rekindle.cli.progress import progress
from rekindle.cli.waiting import (
    deleted_checkpoint,
    left_alone,
    retained_checkpoint,
    wait_for_end,
    wait_for_savepoint,
)
from rekindle.config.options import CheckpointingOptions

_RETENTION = CheckpointingOptions.EXTERNALIZED_CHECKPOINT_RETENTION.key
_WITH_SAVEPOINT = ("-s", "--with-savepoint")
_SPELLINGS = (*_WITH_SAVEPOINT, "--withSavepoint")


class CancelCommand(TyperCommand):
    """Parse ``-s [DIR]``: an option whose value may be missing, which Typer has no notion of."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Return the option an empty value if none follows; what follows may be JOB, which ``cancel`` sorts out."""
        given = []
        for index, argument in enumerate(args):
            last = index + 1 == len(args) or args[index + 1].startswith("-")
            if argument in _SPELLINGS and not last:
                not_empty(args[index + 1], f"after {argument}")
            elif argument.removesuffix("=") in _SPELLINGS and argument.endswith("="):
                not_empty("", f"after {argument}")
            given.append("--with-savepoint=" if argument in _SPELLINGS and last else argument)
        return super().parse_args(ctx, given)


def cancel(
    job: Annotated[
        str | None, typer.Argument(metavar="JOB", help=JOB_HELP, autocompletion=complete_running_job)
    ] = None,
    with_savepoint: Annotated[
        str | None,
        typer.Option(
            *_WITH_SAVEPOINT,
            metavar="[DIR]",
            help="Take a savepoint first, into DIR if given, else into state.savepoints.dir of the job.",
        ),
    ] = None,
    wait: Annotated[bool, typer.Option("--wait/--no-wait", help="Wait until the job has ended.")] = True,
    jobmanager: JobManager = None,
    token: Token = None,
    json: Json = False,
) -> None:
    """Cancel a job: it ends immediately; with -s, after a savepoint.

    A job that continues from its last checkpoint, or from the savepoint, repeats
    what came after it. To end a job with all its output committed: rekindle stop.

    \b
    Examples:
      rekindle cancel 5f1c
      rekindle cancel -s orders
      rekindle cancel -s /data/savepoints orders
      rekindle cancel --with-savepoint=/data/savepoints orders
    """
    if job is None and with_savepoint:  # as in Flink: what follows -s is JOB if nothing else can be it
        job, with_savepoint = with_savepoint, ""
    if not job:
        raise CommandError("which job? (see rekindle cancel --help)", ExitCode.USAGE)
    found = running_job(job, jobmanager, token)
    remote = found.remote()
    request = None
    if with_savepoint is None:
        remote.cancel()
    else:
        request = remote.trigger_savepoint(directory_for(found, with_savepoint or None), cancel_job=True)
    location, status, retained, deleted = None, None, None, None
    if wait:
        with (
            left_alone(f"job {found.name!r} is still being cancelled"),
            progress(f"Cancelling {found.name}") as advance,
        ):
            if request is not None:
                location = wait_for_savepoint(remote, request, advance)
                advance(None, None)
            retained, deleted = retained_checkpoint(remote), deleted_checkpoint(remote)
            status = wait_for_end(remote)
            retained = retained_checkpoint(remote) or retained  # its process may have ended with it
    if status not in (None, "CANCELED"):
        raise CommandError(f"job {found.name!r} was not cancelled: it had ended as {status}")
    if json:
        print_json(
            {
                "job_id": found.job_id,
                "job_name": found.name,
                "status": "CANCELED" if wait else "CANCELLING",
                "request_id": request,
                "savepoint": location,
                "retained_checkpoint": retained,
                "deleted_checkpoint": deleted,
            }
        )
        return
    done = "was cancelled" if wait else "is being cancelled"
    console().print(f"Job {found.name} ({found.job_id}) {done}.", markup=False)
    if location is not None:
        console().print(f"Savepoint: {location}", markup=False)
    elif request is not None:
        console().print(f"Request of the savepoint: {request}", markup=False)
    if retained is not None:
        console().print(f"Its last checkpoint is kept: {retained}", markup=False)
    elif deleted is not None:
        console().print(f"Its checkpoints were deleted, the last one was {deleted}", markup=False)
        console().print(f"To keep the last one: {_RETENTION}: RETAIN_ON_CANCELLATION", markup=False)
