"""How a command ends, as a number that scripts can decide by. docs/cli.md lists them."""

from __future__ import annotations

from enum import IntEnum
from http import HTTPStatus

from rekindle import exceptions
from rekindle.exceptions import RekindleError


class ExitCode(IntEnum):
    """List what the exit code of a command means."""

    OK = 0
    FAILED = 1  # what was asked for did not succeed: the job failed, there is no savepoint
    USAGE = 2  # the command was not understood, or a setting cannot work
    NOT_FOUND = 3  # there is no such job, checkpoint, savepoint, operator, state or key
    UNREACHABLE = 4  # the job cannot be spoken to: nobody answers, or the token is refused
    CANCELLED = 5  # the job that the command waited for was cancelled
    DRIVER_LOST = 6  # the job's driver, or its Spark, died: the job can go on from its last checkpoint
    INTERRUPTED = 130  # Ctrl-C


class CommandError(RekindleError):
    """A command cannot do what it was asked to.

    Attributes:
        exit_code: How the process ends.
    """

    def __init__(self, message: str, exit_code: int = ExitCode.FAILED) -> None:
        super().__init__(message)
        self.exit_code = exit_code


def exit_code_of(error: RekindleError) -> int:
    """Return how the process ends after an error."""
    if isinstance(error, CommandError):
        return error.exit_code
    if isinstance(error, exceptions.RestError) and error.status == HTTPStatus.BAD_REQUEST:
        return ExitCode.USAGE
    return exit_code_of_kind(type(error))


def exit_code_of_kind(kind: type[RekindleError]) -> ExitCode:
    """Return how the process ends after an error of some class."""
    codes = {
        exceptions.ConfigurationError: ExitCode.USAGE,
        exceptions.AmbiguousJobError: ExitCode.USAGE,
        exceptions.NotFoundError: ExitCode.NOT_FOUND,
        exceptions.CheckpointNotFoundError: ExitCode.NOT_FOUND,
        exceptions.UnreachableError: ExitCode.UNREACHABLE,
        exceptions.JobCancelledError: ExitCode.CANCELLED,
        exceptions.SparkLostError: ExitCode.DRIVER_LOST,
    }
    return next((code for known, code in codes.items() if issubclass(kind, known)), ExitCode.FAILED)
