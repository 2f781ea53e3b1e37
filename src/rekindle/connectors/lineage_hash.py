"""A short name for the history of a job's sink, for the names of what it writes outside."""

from __future__ import annotations

import hashlib


def lineage_hash(lineage: str) -> str:
    """Shorten a lineage, or another text that is only compared, to what fits in a name."""
    return hashlib.blake2b(lineage.encode(), digest_size=8).hexdigest()
