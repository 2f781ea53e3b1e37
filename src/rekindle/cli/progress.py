"""Something to look at while work is under way: on standard error, so that results can be piped."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count

from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from rekindle.cli.output import messages

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
def progress_bar(what: str, total: int | None = None) -> Iterator[Callable[[], None]]:
    """Show a bar that advances when what is given is called; nothing, where nobody watches."""
    if not messages().is_terminal:
        yield lambda: None
        return
    done = count(1)
    with progress(what) as advance:
        yield lambda: advance(next(done), total)
