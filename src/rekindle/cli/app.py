"""The commands of ``rekindle``, each in a file of its own beside this one.

Commands import what only they need when they run, so that none waits for what others need.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Sequence
from typing import Annotated, Any

import typer
from typer.core import TyperGroup
from typer.main import get_command

import rekindle
from rekindle.cli.cancel import CancelCommand, cancel
from rekindle.cli.checkpoint import checkpoint
from rekindle.cli.checkpoints import checkpoints
from rekindle.cli.config import config
from rekindle.cli.crashes import crashes
from rekindle.cli.demo import demo
from rekindle.cli.dispose import dispose
from rekindle.cli.exit_codes import CommandError, ExitCode, exit_code_of
from rekindle.cli.flink_options import advice_for
from rekindle.cli.given_twice import warned_of
from rekindle.cli.help import plain_arguments
from rekindle.cli.history import history
from rekindle.cli.info import info
from rekindle.cli.list import list_jobs
from rekindle.cli.logs import logs
from rekindle.cli.output import JSON, print_error
from rekindle.cli.query import query
from rekindle.cli.reproduce import reproduce
from rekindle.cli.run import run
from rekindle.cli.savepoint import savepoint
from rekindle.cli.state import state
from rekindle.cli.stop import stop
from rekindle.exceptions import RekindleError

_CAPITAL = re.compile(r"(?<=[a-z])[A-Z]")
_OWN_OPTIONS_FIRST = {"allow_interspersed_args": False}  # what follows the program is the program's


class _Commands(TyperGroup):
    """Tell Ctrl-C from a program that ended with the same code, and of which command an error is."""

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        command = super().get_command(ctx, cmd_name)
        return None if command is None else warned_of(plain_arguments(command))

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            raise CommandError("interrupted", ExitCode.INTERRUPTED) from None
        except Exception as error:
            command = self.get_command(ctx, ctx.invoked_subcommand) if ctx.invoked_subcommand else None
            if command is not None and getattr(error, "ctx", ctx) is None:  # so with an option that lacks its value
                error.ctx = command.context_class(command, ctx, ctx.invoked_subcommand)  # type: ignore[attr-defined]
            raise


def _as_here(option: str) -> str:
    """Accept Flink's spelling of options: ``--fromSavepoint`` is ``--from-savepoint``."""
    return _CAPITAL.sub(lambda letter: f"-{letter[0].lower()}", option)


app = typer.Typer(
    name="rekindle",
    cls=_Commands,
    context_settings={"token_normalize_func": _as_here},
    help="Flink's state and fault tolerance for Spark, in Python.",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
app.command(context_settings=_OWN_OPTIONS_FIRST, short_help="Run a program.")(run)
app.command(context_settings=_OWN_OPTIONS_FIRST, short_help="Print the plan of a program, without running it.")(info)
app.command("list", short_help="List jobs, with -a also those that have ended.")(list_jobs)
app.command(short_help="Print the log of a job that was started with run -d.")(logs)
app.command(short_help="Show the checkpoints of a job.")(checkpoints)
app.command(short_help="Take a checkpoint now, beside the periodic ones.")(checkpoint)
app.command(short_help="Take a savepoint of a job that continues to run.")(savepoint)
app.command(short_help="Stop a job with a savepoint.")(stop)
app.command(cls=CancelCommand, short_help="Cancel a job, optionally after a savepoint.")(cancel)
app.command(short_help="Inspect a savepoint or checkpoint.")(state)
app.command(short_help="Look up what a running job keeps for a key.")(query)
app.command(short_help="Delete a savepoint or checkpoint.")(dispose)
app.command(short_help="List the records at which functions of a job raised.")(crashes)
app.command(short_help="Call a function again with the record at which it raised.")(reproduce)
app.command(short_help="Show in a browser what jobs have left behind.")(history)
app.command(short_help="Print the settings in effect, and where they come from.")(config)
app.command(short_help="Watch a job survive the death of a process.")(demo)


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
    """Run the command line. Errors that Rekindle explains are shown without a traceback."""
    _open_closed_streams()
    try:
        code = _end_of(app)
        sys.stdout.flush()
    except BrokenPipeError:  # whoever read the output has gone, as `head` does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = ExitCode.FAILED
    raise SystemExit(int(code))


def _open_closed_streams() -> None:
    """Let streams that the command was started without (``>&-``) lead nowhere: no file is to get their numbers."""
    for descriptor, name, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        if getattr(sys, name) is None:
            opened = os.open(os.devnull, os.O_RDWR)
            if opened != descriptor:
                os.dup2(opened, descriptor)
                os.close(opened)
            os.set_inheritable(descriptor, True)
            setattr(sys, name, os.fdopen(descriptor, mode, closefd=False))


def _end_of(command: typer.Typer) -> int:
    """Run a command to its end; give the exit code."""
    try:
        ended = command(prog_name="rekindle", standalone_mode=False)
        return ended if isinstance(ended, int) else ExitCode.OK
    except RekindleError as error:
        return _failed(str(error), exit_code_of(error))
    except typer.Abort:  # Ctrl-C or Ctrl-D where a question was asked
        return _failed("interrupted", ExitCode.INTERRUPTED)
    except BrokenPipeError:
        raise
    except OSError as error:  # a file that was named cannot be read or written
        return _failed(str(error), ExitCode.FAILED)
    except Exception as error:
        if not hasattr(error, "format_message"):  # what the base of all errors in a command line has; it has moved
            raise
        return _misunderstood(error, error.format_message())


def _misunderstood(error: Exception, problem: str) -> int:
    unknown = getattr(error, "option_name", None)  # of an option that does not exist
    if "-p" in getattr(getattr(error, "param", None), "opts", ()):
        unknown = "-py"  # -pyfs reads as -p yfs
    advice = None if unknown is None else advice_for(sys.argv[1:], unknown)
    if advice is not None:
        return _failed(advice, ExitCode.USAGE)
    if type(error).__name__ == "NoArgsIsHelpError":  # its place has moved; what it says is the help
        typer.echo(problem)
    elif problem:
        context = getattr(error, "ctx", None)
        command = "rekindle" if context is None else context.command_path
        _failed(f"{problem.rstrip('.')} (see {command} --help)", ExitCode.USAGE)
    return ExitCode.USAGE


def _failed(message: str, code: int) -> int:
    print_error(message, code, asks_for_json(sys.argv[1:]))
    return code


def asks_for_json(arguments: Sequence[str]) -> bool:
    """Return whether a command line asks for JSON, also one that was not understood.

    What follows the program of ``run`` and ``info`` is the program's own.
    """
    group: Any = get_command(app)
    name = next((argument for argument in arguments if not argument.startswith("-")), "")
    command = group.commands.get(name)
    if command is None or command.context_settings.get("allow_interspersed_args", True):
        return JSON in arguments
    valued = {
        option for parameter in command.params if not getattr(parameter, "is_flag", True) for option in parameter.opts
    }
    rest = iter(arguments[arguments.index(name) + 1 :])
    for argument in rest:
        if argument == JSON:
            return True
        if argument == "--" or not argument.startswith("-"):
            return False
        flags_and_one = not argument.startswith("--") and argument[:2] not in valued and f"-{argument[-1]}" in valued
        if _as_here(argument) in valued or flags_and_one:
            next(rest, None)  # its value
    return False
