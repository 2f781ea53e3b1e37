"""The ids that operators have in Flink's REST interface: 32 hex digits, the same for the same uid."""

from __future__ import annotations

import xxhash


def vertex_id(uid: str) -> str:
    """Give the id of the operator with a uid."""
    return xxhash.xxh128_hexdigest(uid.encode())
