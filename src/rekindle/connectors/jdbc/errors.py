"""Errors of databases, as a sink reports them."""

from __future__ import annotations

from rekindle.exceptions import RekindleError


class JdbcSinkError(RekindleError):
    """A database sink cannot connect, write or commit; the message has the database's own, and what to do."""


def database_message(error: BaseException) -> str:
    """Return what a database says about an error, with its hint if there is one; its class if it says nothing."""
    lines = str(error).strip().splitlines()
    hint = getattr(getattr(error, "diag", None), "message_hint", None)
    return (lines[0] if lines else type(error).__name__) + (f" ({hint})" if hint else "")
