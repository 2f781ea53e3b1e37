"""Secrets by which processes of one user know each other on a machine: files that nobody else can read."""

from __future__ import annotations

import os
import secrets
import tempfile
from contextlib import suppress
from pathlib import Path

from rekindle.base.private_directory import durable_directory


def user_secret(name: str, purpose: str) -> str:
    """Return a secret of this user, and make it up if there is none yet.

    Args:
        name: What it is called.
        purpose: What cannot be done without it, for the message.

    Raises:
        ConfigurationError: The directory for it is not the user's own.
        OSError: It cannot be written or read.
    """
    path = durable_directory("secrets", purpose) / name
    known = _read(path)
    if known:
        return known
    descriptor, temporary = tempfile.mkstemp(prefix=f".{name}-", dir=path.parent)  # with mode 0600
    try:
        with os.fdopen(descriptor, "w", encoding="ascii") as file:
            file.write(secrets.token_urlsafe(32))
            file.flush()
            os.fsync(file.fileno())
        if known is None:
            with suppress(FileExistsError):  # another process was faster: all take its secret
                os.link(temporary, path)
        else:  # it is empty, and would let everybody in
            os.replace(temporary, path)
        return _read(path) or ""
    finally:
        with suppress(FileNotFoundError):
            os.unlink(temporary)


def _read(path: Path) -> str | None:
    try:
        with open(os.open(path, os.O_RDONLY | os.O_NOFOLLOW), encoding="ascii") as file:
            return file.read().strip()
    except FileNotFoundError:
        return None
