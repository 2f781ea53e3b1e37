"""Checks of the settings of an operator that a program gives."""

from __future__ import annotations

import re

from rekindle.datastream.slot_sharing_group import SlotSharingGroup
from rekindle.exceptions import ConfigurationError

_UID_HASH = re.compile(r"[0-9a-f]{32}", re.IGNORECASE)


def checked_uid_hash(uid_hash: str) -> str:
    """Return a derived uid as it is written in checkpoints; raise if it is none."""
    if not isinstance(uid_hash, str) or _UID_HASH.fullmatch(uid_hash) is None:
        raise ConfigurationError(
            f"Node hash must be a 32 character String that describes a hex code. Found: {uid_hash}. It is the uid that "
            "get_execution_plan() or the error about state without an operator shows; use uid() for a text of your own"
        )
    return uid_hash.lower()


def checked_buffer_timeout(timeout_millis: int) -> int:
    """Return a buffer timeout; raise if it is below -1."""
    if timeout_millis < -1:
        raise ConfigurationError(f"Timeout of buffer must be non-negative or -1, got {timeout_millis}.")
    return timeout_millis


def check_slot_sharing_group(slot_sharing_group: str | SlotSharingGroup) -> None:
    """Raise unless it is the name of a group, or a group."""
    if not isinstance(slot_sharing_group, str | SlotSharingGroup):
        raise TypeError(f"slot_sharing_group takes a str or a SlotSharingGroup, and was given {slot_sharing_group!r}")
