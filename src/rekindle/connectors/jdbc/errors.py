"""Errors of databases, as a sink reports them."""

from __future__ import annotations

from rekindle.exceptions import RekindleError


class JdbcSinkError(RekindleError):
    """A database sink cannot connect, write or commit; the message has the database's own, and what to do."""


def first_line(error: BaseException) -> str:
    """Return the first line of an error's message, or its class if it has none."""
    lines = str(error).strip().splitlines()
    return lines[0] if lines else type(error).__name__
