"""The commands of ``rekindle``, each in a file of its own beside this one."""

from __future__ import annotations

from typing import Annotated

import typer

import rekindle
from rekindle.cli.demo import demo
from rekindle.cli.dispose import dispose
from rekindle.cli.exit_codes import exit_code_of
from rekindle.cli.output import print_error
from rekindle.cli.state import state
from rekindle.exceptions import RekindleError

app = typer.Typer(
    name="rekindle",
    help="Flink's state and fault tolerance for Spark, in Python.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.command()(demo)
app.command()(state)
app.command()(dispose)


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


def main() -> None:
    """Run the command line; errors that Rekindle explains are shown without a traceback."""
    try:
        app()
    except RekindleError as error:
        code = exit_code_of(error)
        print_error(str(error), code)
        raise SystemExit(int(code)) from None
