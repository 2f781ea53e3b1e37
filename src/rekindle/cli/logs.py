"""``rekindle logs``."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated

import typer

from rekindle.archive.directory import kept_jobs
from rekindle.cli.completion import complete_known_job
from rekindle.cli.connection import JOB_HELP
from rekindle.cli.exit_codes import CommandError, ExitCode
from rekindle.cli.log_reader import LogReader, last_lines
from rekindle.cli.output import Json, messages, print_json

if TYPE_CHECKING:
    from rekindle.archive.job_entry import KeptJob

_POLL_SECONDS = 0.2


def logs(
    job: Annotated[
        str, typer.Argument(metavar="JOB", help=JOB_HELP, show_default=False, autocompletion=complete_known_job)
    ],
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Keep printing new lines until the job ends.")] = False,
    lines: Annotated[
        int, typer.Option("--lines", "-n", min=0, metavar="N", help="How many of the last lines to show; 0: all.")
    ] = 100,
    json: Json = False,
) -> None:
    """Print the log of a job that was started with run -d, also after its end.

    \b
    Examples:
      rekindle logs orders
      rekindle logs -f 5f1c
      rekindle logs --lines 0 orders | grep WARNING
    """
    if follow and json:
        raise typer.BadParameter("a log that is followed cannot be one JSON document", param_hint="--json")
    found = _kept_job(job)
    path = _log_of(found)
    reader = LogReader(path)
    try:
        text = last_lines(reader.read(), lines)
        if json:
            shown = text.decode("utf-8", "replace").splitlines()
            print_json({"job_id": found.job_id, "job_name": found.name, "log": path, "lines": shown})
            return
        _print(text)
        if follow:
            _follow(reader, lambda: has_ended(found))
            _say_end(found)
    except KeyboardInterrupt:
        raise typer.Exit(ExitCode.INTERRUPTED) from None  # how following ends
    finally:
        reader.close()


def _follow(reader: LogReader, has_ended: Callable[[], bool]) -> None:
    """Print what comes; the last lines may come after the end was noted."""
    over = False
    while True:
        time.sleep(_POLL_SECONDS)
        for chunk in reader.read():
            _print(chunk)
        if over:
            return
        over = has_ended()


def has_ended(job: KeptJob) -> bool:
    """Look whether a job has ended since it was found; one that nobody knows any more has."""
    return next((found.has_ended for found in kept_jobs() if found.job_id == job.job_id), True)


def _say_end(job: KeptJob) -> None:
    for found in kept_jobs():
        if found.job_id == job.job_id:
            why = "" if found.why is None else f": {found.why}"
            messages().print(f"job {found.name!r} has ended, {found.status}{why}", style="dim", markup=False)


def _kept_job(wanted: str) -> KeptJob:
    from rekindle.client.found_job import resolve

    return resolve(kept_jobs(), wanted)


def _log_of(job: KeptJob) -> str:
    path, name = job.entry.log, f"job {job.name!r} ({job.job_id})"
    if path is None:
        raise CommandError(
            f"{name} has no log: only programs that are started with run -d write one. Its process (pid "
            f"{job.entry.pid}) wrote to where it was started"
        )
    if not os.path.exists(path):
        raise CommandError(f"the log of {name} is gone: {path}", ExitCode.NOT_FOUND)
    return path


def _print(text: bytes) -> None:
    sys.stdout.write(text.decode("utf-8", "replace"))
    sys.stdout.flush()
