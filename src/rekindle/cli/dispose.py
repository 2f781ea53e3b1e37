"""``rekindle dispose``: delete a savepoint or a retained checkpoint."""

from __future__ import annotations

import sys
from dataclasses import asdict
from typing import Annotated

import typer

from rekindle.cli import formats
from rekindle.cli.exit_codes import CommandError, ExitCode
from rekindle.cli.output import Json, console, messages, print_json
from rekindle.cli.paths import not_empty
from rekindle.exceptions import StateNotFoundError


def dispose(
    savepoint: Annotated[
        str,
        typer.Argument(metavar="SAVEPOINT", help="The directory of the savepoint or checkpoint.", show_default=False),
    ],
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    json: Json = False,
) -> None:
    """Delete a savepoint or checkpoint, with the files that belong to it and to no other.

    \b
    Examples:
      rekindle dispose /data/savepoints/savepoint-5f1c2b-0a1b2c3d4e5f
      rekindle dispose --yes /data/checkpoints/JOB/chk-42
    """
    from rekindle.checkpoint.disposal import carry_out, plan_disposal

    try:
        plan = plan_disposal(not_empty(savepoint, "given as SAVEPOINT"))
    except StateNotFoundError as error:
        raise CommandError(str(error), ExitCode.NOT_FOUND) from None
    metadata = plan.metadata
    kind = "savepoint" if metadata.savepoint else "checkpoint"
    out = messages()
    for warning in plan.warnings:
        out.print(f"warning: {warning}", markup=False, style="yellow")
    if not yes:
        if not sys.stdin.isatty():
            raise CommandError("there is no terminal to ask for confirmation; add --yes", ExitCode.USAGE)
        out.print(
            f"{kind} {metadata.checkpoint_id} of job {metadata.job_name!r}, "
            f"taken {formats.moment(metadata.timestamp)}, {formats.size(plan.size)}\n  {plan.location}",
            markup=False,
        )
        if not typer.confirm("Delete it permanently?", err=True):
            raise CommandError("nothing was deleted")
    report = carry_out(plan)
    if json:
        print_json(asdict(report))
    else:
        shown = console()
        shown.print(f"deleted {kind} {report.location} ({formats.size(report.size)})", markup=False)
        if report.kept:
            shown.print(f"kept {len(report.kept)} files that other checkpoints of the job need")
        if report.unknown:
            shown.print(f"did not touch what does not belong to it: {', '.join(report.unknown)}", markup=False)
    if report.failed:
        raise CommandError(
            "the savepoint is gone, and some of its files could not be deleted, which are of no use any more: "
            + "; ".join(report.failed)
        )
