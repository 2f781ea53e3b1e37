"""``rekindle demo``."""

from __future__ import annotations

from typing import Annotated

import typer

from rekindle.cli.exit_codes import ExitCode
from rekindle.cli.output import Json, console, messages, print_json


def demo(
    events: Annotated[int, typer.Option(metavar="N", help="How many events go through the job.", min=1_000)] = 400_000,
    keep: Annotated[
        str | None, typer.Option(metavar="DIR", help="Keep output and checkpoints in this directory.")
    ] = None,
    json: Json = False,
) -> None:
    """Run a stateful job on Spark, kill one of its processes with SIGKILL, and count what came out.

    \b
    Examples:
      rekindle demo
      rekindle demo --events 2000000 --keep /tmp/demo
    """
    from rekindle.demo.run import run_demo

    result = run_demo(events, keep, messages() if json else console())
    if json:
        print_json(result.as_dict())
    if not result.passed:
        raise typer.Exit(ExitCode.FAILED)
