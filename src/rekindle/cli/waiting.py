"""Waiting for a job, with something to look at: on standard error, so that results can be piped."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeVar

from rekindle.cli.exit_codes import CommandError, ExitCode
from rekindle.cli.output import messages

if TYPE_CHECKING:
    from rekindle.client.remote_job import RemoteJob

T = TypeVar("T")

Advance = Callable[[int | None, int | None], None]
"""Hears how many of how many parts are done; None, None: nobody knows."""


@contextmanager
def progress(what: str) -> Iterator[Advance]:
    """Show that something is under way, and for how long; where there is no terminal, say it once."""
    output = messages()
    if not output.is_terminal:
        output.print(f"{what} …", markup=False)
        yield lambda done, total: None
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    parts = MofNCompleteColumn()
    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=24),
        parts,
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=output, transient=True) as bar:
        task = bar.add_task(what, total=None)
        yield lambda done, total: bar.update(task, completed=done or 0, total=total)


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
    from rekindle.exceptions import UnreachableError

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
            "directory of savepoints tell whether there is one",
            ExitCode.UNREACHABLE,
        ) from error


def _acknowledged(job: RemoteJob) -> tuple[int | None, int | None]:
    from rekindle.exceptions import RestError

    try:
        history = job.checkpoints()["history"]
    except RestError:  # of no importance: the next question will tell
        return None, None
    for checkpoint in history:
        if checkpoint["is_savepoint"] and checkpoint["status"] == "IN_PROGRESS":
            return checkpoint["num_acknowledged_subtasks"], checkpoint["num_subtasks"]
    return None, None
