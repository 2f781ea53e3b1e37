"""What notebooks show of an object: a small table, and texts below it. Everything in it is escaped."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from html import escape


def html_table(title: str, rows: Mapping[str, object], texts: Mapping[str, Iterable[str]] | None = None) -> str:
    """Write a table of names and values as HTML; what is None is left out.

    Args:
        title: Its heading.
        rows: Names and values.
        texts: Lines that stand below it, as they were written, each text under its name; empty ones are left out.
    """
    left = "style='text-align: left'"
    cells = "".join(
        f"<tr><th {left}>{escape(name)}</th><td {left}>{escape(str(value))}</td></tr>"
        for name, value in rows.items()
        if value is not None
    )
    written = {name: escape("\n".join(lines)) for name, lines in (texts or {}).items()}
    below = "".join(
        f"<b>{escape(name)}</b><pre style='max-height: 20em; overflow: auto'>{text}</pre>"
        for name, text in written.items()
        if text
    )
    return f"<div><b>{escape(title)}</b><table>{cells}</table>{below}</div>"
