"""Directories of the user, for files that nobody else may plant or read."""

from __future__ import annotations

import os
import stat
import tempfile
from contextlib import suppress
from pathlib import Path

from rekindle.exceptions import ConfigurationError

DIRECTORY_VARIABLE = "REKINDLE_STATE_DIR"


def named_directory() -> Path | None:
    """Return the directory that the user named for what is kept of running jobs, if there is one."""
    named = os.environ.get(DIRECTORY_VARIABLE)
    return Path(named) if named else None


def durable_directory(name: str, purpose: str) -> Path:
    """Return a directory for files that outlive a login, and make it if it is not there.

    It is in the directory that the user named, else in ``$XDG_STATE_HOME/rekindle``, ``~/.local/state/rekindle``, or,
    where there is no home to write to, in the directory for temporary files.

    Args:
        name: What it is called there.
        purpose: What cannot be done without it, for the message.

    Raises:
        ConfigurationError: It is not a directory, belongs to another user, or others may write to it.
        OSError: It cannot be made.
    """
    named = named_directory()
    if named is not None:
        make_own(named, purpose)
        return make_own(named / name, purpose)
    try:
        return make_own(_state_home() / "rekindle" / name, purpose)
    except (OSError, RuntimeError):  # a home that is not there, or only to be read
        base = Path(tempfile.gettempdir()) / f"rekindle-{os.getuid()}"
        make_own(base, purpose)
        return make_own(base / name, purpose)


def _state_home() -> Path:
    given = os.environ.get("XDG_STATE_HOME")
    return Path(given) if given and os.path.isabs(given) else Path.home() / ".local" / "state"


def make_own(path: Path, purpose: str) -> Path:
    """Make a directory if it is not there, and refuse one that is not the user's own.

    What the user named is left as it is; what was made up can be read by its owner only.

    Args:
        path: The directory.
        purpose: What cannot be done without it, for the message.

    Raises:
        ConfigurationError: It is not a directory, belongs to another user, or others may write to it.
    """
    with suppress(FileExistsError):
        path.mkdir(mode=0o700, parents=True)
    named = named_directory() is not None
    found = path.stat() if named else path.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid():
        raise ConfigurationError(
            f"{path} is not a directory of yours, so {purpose}: remove it, or set {DIRECTORY_VARIABLE} to a directory "
            "of your own"
        )
    if named and found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise ConfigurationError(
            f"others may write to {path}, so {purpose}: set {DIRECTORY_VARIABLE} to a directory that only you can "
            "write to"
        )
    if not named and stat.S_IMODE(found.st_mode) & 0o077:
        path.chmod(0o700)
    return path
