"""How large records are, and how many of them travel, or are processed, at once: bytes limited without a look at each.

Sizes are learned: of chunks that leave, from their bytes; of those that stay in the slot, from a few of their records.
"""

from __future__ import annotations

from rekindle.base.object_size import object_size
from rekindle.runtime.chunk import Chunk

PAYLOAD_BYTES = 8 << 20
"""What a payload should have."""

SPLIT_BYTES = 64 << 20
"""From here on a payload of several records is taken apart again: some are much larger than those before."""

RECORD_BYTES = 2_000_000_000
"""What a record may have to cross an exchange: a row of Spark's, with all that is in it, has less than 2 GiB."""

PORTION_BYTES = 32 << 20
"""What records should lead to that are processed at once."""

_MOST = 1 << 15
_FIRST_PAYLOAD = 1 << 8
_FIRST_PORTION = 1 << 4
_GROWTH = 16


class RecordLimit:
    """Learn how many records to take at once, so that what they come to has about so many bytes.

    Attributes:
        records: How many.
    """

    __slots__ = ("_bytes", "records")

    def __init__(self, first: int, wanted_bytes: int) -> None:
        """Begin with few: nothing is known of the records yet."""
        self.records = first
        self._bytes = wanted_bytes

    def learn(self, records: int, size: int) -> None:
        """Take in that so many records came to so many bytes."""
        fitting = records * self._bytes // max(size, 1)
        if fitting >= self.records:
            if records < self.records:
                return  # too few to tell what more of them come to
            fitting = min(fitting, self.records * _GROWTH)
        self.records = max(1, min(fitting, _MOST))


def payload_limit() -> RecordLimit:
    """Return the limit of the records in a payload."""
    return RecordLimit(_FIRST_PAYLOAD, PAYLOAD_BYTES)


def portion_limit() -> RecordLimit:
    """Return the limit of the records that are processed at once."""
    return RecordLimit(_FIRST_PORTION, PORTION_BYTES)


def chunk_size(chunk: Chunk) -> int:
    """Estimate the bytes of a chunk, by the first record, the last and one in between."""
    samples = chunk.samples()
    sizes = list(map(object_size, samples))
    size = chunk.size() * max(sizes) if len(sizes) > 2 else sum(sizes)
    if chunk.side is not None:
        size += sum(map(chunk_size, chunk.side.values()))
    return size
