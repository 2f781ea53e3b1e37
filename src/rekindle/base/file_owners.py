"""Whose files this process believes: its user's, root's, and those of the users that somebody named.

State is turned into objects by the serializers that are written beside it, so what others wrote may run any code. And
what metadata names is deleted with it.
"""

from __future__ import annotations

import os
import pwd
from contextlib import suppress

from rekindle.exceptions import ConfigurationError

TRUSTED_VARIABLE = "REKINDLE_TRUSTED_USERS"


def is_trusted(owner: int) -> bool:
    """Return whether the files of a user are believed.

    Raises:
        ConfigurationError: Users are named whom this machine does not know.
    """
    return owner in (os.geteuid(), 0) or owner in _named()


def distrust(path: str, owner: int) -> str:
    """Say that something is not believed, why, and what to do if it should be."""
    return (
        f"{path} belongs to {_called(owner)}, and this process runs as {_called(os.geteuid())}: what others wrote is "
        f"neither read nor deleted, for state can run any code. If you trust them, name them in {TRUSTED_VARIABLE}, as "
        f"in {TRUSTED_VARIABLE}={_short(owner)}"
    )


def _named() -> frozenset[int]:
    names = os.environ.get(TRUSTED_VARIABLE, "").replace(",", " ").split()
    return frozenset(int(name) if name.isascii() and name.isdigit() else _number(name) for name in names)


def _number(name: str) -> int:
    try:
        return pwd.getpwnam(name).pw_uid
    except KeyError:
        raise ConfigurationError(
            f"{TRUSTED_VARIABLE} names {name!r}, whom this machine does not know: write names or numbers of users, "
            "with commas between them"
        ) from None


def _called(owner: int) -> str:
    short = _short(owner)
    return f"user {owner}" if short == str(owner) else f"{short} ({owner})"


def _short(owner: int) -> str:
    with suppress(KeyError):
        return pwd.getpwuid(owner).pw_name
    return str(owner)
