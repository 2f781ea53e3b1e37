"""How the command line ends, whatever a command does."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import typer

from rekindle import exceptions
from rekindle.cli.app import app
from rekindle.cli.exit_codes import CommandError, ExitCode, exit_code_of
from rekindle.cli.output import Json, print_json
from support.command_line import rekindle_here


@pytest.fixture
def command() -> Iterator[list[Any]]:
    """Register a command that raises what is put into the list."""
    ends: list[Any] = []

    def ending(json: Json = False) -> None:
        if json:
            print_json({})
        if ends:
            raise ends[0]

    app.command("ending")(ending)
    yield ends
    app.registered_commands.pop()


@pytest.mark.parametrize(
    ("end", "code", "says"),
    [
        (None, 0, ""),
        (typer.Exit(7), 7, ""),
        (typer.Exit(130), 130, ""),
        (KeyboardInterrupt(), 130, "error: interrupted\n"),
        (typer.Abort(), 130, "error: interrupted\n"),
        (typer.BadParameter("not so"), 2, "error: Invalid value: not so (see rekindle ending --help)\n"),
        (CommandError("gone", ExitCode.NOT_FOUND), 3, "error: gone\n"),
        (exceptions.ConfigurationError("no [b]key[/b]"), 2, "error: no [b]key[/b]\n"),
    ],
)
def test_every_end_has_its_code(command: list[Any], end: BaseException | None, code: int, says: str) -> None:
    command[:] = [] if end is None else [end]
    ended = rekindle_here("ending")
    assert (ended.code, ended.out, ended.err) == (code, "", says)


def test_a_command_that_ends_with_the_code_of_its_program_prints_one_document(command: list[Any]) -> None:
    command[:] = [typer.Exit(130)]
    ended = rekindle_here("ending", "--json")
    assert (ended.code, ended.json()) == (130, {})


def test_a_bug_is_shown_as_one(command: list[Any]) -> None:
    command[:] = [ZeroDivisionError("a bug")]
    with pytest.raises(ZeroDivisionError):
        rekindle_here("ending")


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (exceptions.JobExecutionError("x"), ExitCode.FAILED),
        (exceptions.JobCancelledError("x"), ExitCode.CANCELLED),
        (exceptions.CheckpointError("x"), ExitCode.FAILED),
        (exceptions.RestError("x", 500), ExitCode.FAILED),
        (exceptions.RestError("x", 400), ExitCode.USAGE),
        (exceptions.NotFoundError("x", 404), ExitCode.NOT_FOUND),
        (exceptions.UnreachableError("x"), ExitCode.UNREACHABLE),
        (exceptions.UnreachableError("x", 401), ExitCode.UNREACHABLE),
        (exceptions.AmbiguousJobError("x"), ExitCode.USAGE),
    ],
)
def test_the_code_is_that_of_the_error(error: exceptions.RekindleError, code: ExitCode) -> None:
    assert exit_code_of(error) is code
