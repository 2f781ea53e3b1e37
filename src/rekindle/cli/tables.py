"""The tables that commands print."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich import box
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from rekindle.base.printable import printable
from rekindle.cli.output import console

_WIDE = 100_000  # the width of what is no terminal
_LEAST = 12  # of a column whose cells are folded

_COLOURS = {
    "RUNNING": "green",
    "COMPLETED": "green",
    "FINISHED": "green",
    "RESTARTING": "yellow",
    "CANCELLING": "yellow",
    "IN_PROGRESS": "yellow",
    "FAILED": "red",
    "FAILING": "red",
    "LOST": "red",
}


def status_text(status: str) -> Text:
    """Colour a state."""
    return Text(status, style=_COLOURS.get(status, ""))


def print_table(columns: Sequence[str], rows: Iterable[Sequence[str | Text]], right: Iterable[str] = ()) -> None:
    """Print rows under headings.

    In a terminal, long cells of the last column are folded; no cell is ever shortened. Anywhere else a row is one line,
    whatever its length.

    Args:
        columns: The headings.
        rows: The cells. Nothing in them is taken for markup.
        right: The columns with numbers.
    """
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False, show_edge=False)
    numbers = set(right)
    for name in columns:
        if name in numbers:
            table.add_column(name, justify="right", no_wrap=True)
        elif name == columns[-1]:
            table.add_column(name, overflow="fold", min_width=_LEAST)
        else:
            table.add_column(name, no_wrap=True)
    for row in rows:
        table.add_row(*(cell if isinstance(cell, Text) else Text(printable(cell)) for cell in row))
    output = console()
    least = Measurement.get(output, output.options, table).minimum if output.is_terminal else _WIDE
    output.width = max(output.width, least)
    output.print(table, soft_wrap=False, crop=False)
