"""Paths on the command line, and what they mean elsewhere."""

from __future__ import annotations

import os

from rekindle.base.local_path import is_local, local_path
from rekindle.cli.exit_codes import CommandError, ExitCode


def not_empty(path: str, given_as: str) -> str:
    """Return the path back: an empty one would mean the current directory, which nobody meant.

    Args:
        path: What was given.
        given_as: Where it was given, for the message.

    Raises:
        CommandError: It is empty, as the output of a command that failed is.
    """
    if not path.strip():
        raise CommandError(f"the path {given_as} is empty; did the command that should print it fail?", ExitCode.USAGE)
    return path


def absolute(path: str) -> str:
    """Let a path mean the same wherever it is read; what has a scheme does so already."""
    return path if not is_local(path) or local_path(path) != path else os.path.abspath(path)
