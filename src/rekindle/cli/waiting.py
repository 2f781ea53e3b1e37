"""Waiting for what a job is asked for: a savepoint, or its end."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rekindle.cli.exit_codes import CommandError, ExitCode
from rekindle.cli.progress import Advance
from rekindle.exceptions import RestError, UnreachableError

if TYPE_CHECKING:
    from rekindle.client.remote_job import RemoteJob


@contextmanager
def left_alone(what_goes_on: str) -> Iterator[None]:
    """Let Ctrl-C end the waiting only, and say so."""
    try:
        yield
    except KeyboardInterrupt:
        raise CommandError(f"interrupted; {what_goes_on}", ExitCode.INTERRUPTED) from None


def wait_for_savepoint(job: RemoteJob, request: str, advance: Advance) -> str:
    """Wait for a savepoint that was asked for; give its path. Meanwhile show which subtasks have written their part."""
    from rekindle.client.polling import poll

    def location() -> str | None:
        found = job.savepoint_location(request)
        if found is None:
            advance(*_acknowledged(job))
        return found

    try:
        return poll(location)
    except UnreachableError as error:
        if not isinstance(error.__cause__, ConnectionError):
            raise
        raise CommandError(
            f"the process of the job ended while the savepoint was being waited for ({error}); its log and the "
            "directory of savepoints say whether there is one",
            ExitCode.UNREACHABLE,
        ) from error


def _acknowledged(job: RemoteJob) -> tuple[int | None, int | None]:
    try:
        history = job.checkpoints()["history"]
    except RestError:  # of no importance: the next question will tell
        return None, None
    for checkpoint in history:
        if checkpoint["is_savepoint"] and checkpoint["status"] == "IN_PROGRESS":
            return checkpoint["num_acknowledged_subtasks"], checkpoint["num_subtasks"]
    return None, None


def wait_for_end(job: RemoteJob) -> str | None:
    """Wait until a job has ended; give its state, None if its process ended with it before it could be asked."""
    from rekindle.client.polling import poll

    def end() -> str | None:
        status = job.status()
        return status.name if status.is_terminal_state() else None

    try:
        return poll(end)
    except UnreachableError as error:
        if isinstance(error.__cause__, ConnectionError):
            return None
        raise


def retained_checkpoint(job: RemoteJob) -> str | None:
    """Return the path of the last checkpoint that a cancelled job kept; None if it kept none, or cannot be asked."""
    return _last_checkpoint(job, kept=True)


def deleted_checkpoint(job: RemoteJob) -> str | None:
    """Return the path of the last checkpoint of a job if that is deleted when the job is cancelled; None as above."""
    return _last_checkpoint(job, kept=False)


def _last_checkpoint(job: RemoteJob, kept: bool) -> str | None:
    try:
        retention = job.checkpoint_config()["externalization"]
        latest = job.checkpoints()["latest"]["completed"]
    except RestError:
        return None
    keeps = retention["enabled"] and not retention["delete_on_cancellation"]
    if latest is None or keeps is not kept or (kept and latest["discarded"]):
        return None
    path = str(latest.get("external_path") or "<")
    return None if path.startswith("<") else path  # Flink's "<checkpoint-not-externally-addressable>"
