"""A bar for long work: on standard error, gone when the work is done, and only where somebody watches."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rekindle.cli.output import messages


@contextmanager
def progress_bar(what: str, total: float | None = None) -> Iterator[Callable[[], None]]:
    """Show a bar while the ``with`` statement lasts; it advances when what is given is called."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    console = messages()
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task(what, total=total)
        yield lambda: progress.advance(task)
