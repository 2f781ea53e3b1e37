"""What commands print: tables and lines for people, or one JSON document for programs."""

from __future__ import annotations

import json
import sys
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.text import Text

from rekindle.base.printable import printable

JSON = "--json"

Json = Annotated[bool, typer.Option(JSON, help="Print one JSON document instead of text.")]
"""The option that every command has."""


def print_json(document: Any) -> None:
    """Print the document: with ``--json`` nothing else goes to standard output."""
    text = json.dumps(document, indent=2, ensure_ascii=False) + "\n"
    sys.stdout.write(text.encode("utf-8", "backslashreplace").decode())  # names of files may be no text
    sys.stdout.flush()


def console() -> Console:
    """Return the console that results are printed on."""
    return Console(soft_wrap=True, highlight=False)


def messages() -> Console:
    """Return the console for progress and errors: standard error, so that results can be piped."""
    return Console(stderr=True, soft_wrap=True, highlight=False)


def warn(text: str) -> None:
    """Say what a command does that its user may not have meant."""
    messages().print(f"warning: {printable(text)}", style="yellow", markup=False)


def print_error(message: str, exit_code: int, as_json: bool) -> None:
    """Say what went wrong; a program that asked for JSON gets that as JSON, too."""
    if as_json:
        print_json({"error": message, "exit_code": int(exit_code)})
    messages().print(Text("error: ", style="red") + Text(printable(message), style="default"))
