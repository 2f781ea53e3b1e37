"""``rekindle crashes``: the records at which functions of a job raised."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rekindle.base.local_path import is_local, local_path
from rekindle.cli import formats
from rekindle.cli.completion import complete_known_job
from rekindle.cli.exit_codes import CommandError, ExitCode
from rekindle.cli.output import Json, console, print_json
from rekindle.cli.paths import not_empty
from rekindle.cli.tables import print_table

if TYPE_CHECKING:
    from rekindle.checkpoint.crash_records import CrashSummary, StoredCrash


def crashes(
    job: Annotated[
        str,
        typer.Argument(
            metavar="JOB|DIR",
            help="A job of this machine, running or ended, by its id, the first digits of it, or its name; or the "
            "directory of its checkpoints, or one with several jobs in it.",
            show_default=False,
            autocompletion=complete_known_job,
        ),
    ],
    json: Json = False,
) -> None:
    """List the records at which functions of a job raised, newest first.

    `rekindle reproduce` calls the function with one of them again. Listing them
    runs no code of theirs.

    \b
    Examples:
      rekindle crashes orders
      rekindle crashes /data/checkpoints/JOB
      rekindle crashes orders --json | jq -r .crashes[0].path
    """
    from rekindle.checkpoint.crash_records import crash_records

    found = crash_records(_directory(not_empty(job, "given as JOB|DIR")))
    if json:
        print_json({"crashes": [_document(crash) for crash in found]})
        return
    if not found:
        console().print("there are no crash records")
        return
    print_table(("Time", "Operator", "Subtask", "Attempt", "At", "Exception", "Path"), map(_row, found))


def _directory(wanted: str) -> str:
    """Return the directory that somebody means: one that is there, or that of a job."""
    from rekindle.archive.directory import kept_jobs
    from rekindle.client.found_job import resolve
    from rekindle.exceptions import NotFoundError

    if not is_local(wanted) or local_path(wanted) != wanted or os.path.isdir(wanted):
        return wanted
    if os.sep in wanted:
        raise CommandError(f"there is no directory {wanted}", ExitCode.NOT_FOUND)
    try:
        entry = resolve(kept_jobs(), wanted).entry
    except NotFoundError as error:
        message = f"{error}\nFor a job elsewhere give the directory of its checkpoints"
        raise CommandError(message, ExitCode.NOT_FOUND) from None
    if entry.directory is None:
        raise CommandError(
            f"job {entry.job_name!r} ({entry.job_id}) writes no crash records: its checkpoints are in memory. Set "
            "execution.checkpointing.dir"
        )
    return entry.directory


def _row(crash: StoredCrash) -> tuple[str, ...]:
    summary = crash.summary
    if summary is None:
        return (*[formats.NOTHING] * 5, crash.problem or "", crash.path)
    return (
        formats.moment(summary.time),
        summary.operator,
        str(summary.subtask),
        str(summary.attempt + 1),
        at(summary),
        f"{summary.exception.removeprefix('builtins.')}: {_shortened(summary.message)}",
        crash.path,
    )


def at(summary: CrashSummary) -> str:
    """Say in few words what a function was called with."""
    key = "" if summary.key is None else f" of key {_shortened(summary.key)}"
    what = "" if summary.kind == "timer" else "record "
    return f"{what}{_shortened(summary.record)}{key}"


def _shortened(text: str, limit: int = 60) -> str:
    line = " ".join(text.split())
    return line if len(line) <= limit else line[: limit - 1] + "…"


def _document(crash: StoredCrash) -> dict[str, Any]:
    import msgspec

    known = {} if crash.summary is None else msgspec.to_builtins(crash.summary)
    known.pop("sys_path", None)
    return {"path": crash.path, "size": crash.size, "problem": crash.problem, **known}
