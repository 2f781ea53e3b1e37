"""The ids that operators have in Flink's REST interface: 32 hex digits, the same for the same uid."""

from __future__ import annotations

import re

import xxhash

_DERIVED = re.compile("[0-9a-f]{32}")


def vertex_id(uid: str) -> str:
    """Return the id of the operator with a uid."""
    return xxhash.xxh128_hexdigest(uid.encode())


def given_uid(uid: str) -> str:
    """Return a uid back if somebody chose it; one that was derived from the graph says nothing to people: empty."""
    return "" if _DERIVED.fullmatch(uid) else uid
