"""The commands of ``rekindle``."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.console import Console

import rekindle
from rekindle.exceptions import RekindleError

app = typer.Typer(
    name="rekindle",
    help="Flink's state and fault tolerance for Spark, in Python.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"rekindle {rekindle.__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    pass


@app.command()
def demo(
    events: Annotated[int, typer.Option(help="How many events go through the job.", min=1_000)] = 400_000,
    keep: Annotated[str | None, typer.Option(help="Keep output and checkpoints in this directory.")] = None,
) -> None:
    """Run a stateful job on Spark, kill one of its processes with SIGKILL, and count what came out."""
    from rekindle.demo.run import run_demo

    if not run_demo(events, keep, Console()):
        raise typer.Exit(1)


def main() -> None:
    """Run the command line; errors that Rekindle explains are shown without a traceback."""
    try:
        app()
    except RekindleError as error:
        Console(stderr=True).print(f"[red]error:[/red] {error}", highlight=False)
        raise SystemExit(1) from None
