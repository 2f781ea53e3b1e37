"""Splits: pieces of a source that have an order and a position of their own, such as the partitions of a topic."""

from __future__ import annotations

import zlib

Split = tuple[str, int]
"""A split: the name of what it is a part of, and its number there. A topic and a partition."""

SPLIT_COLUMNS = ("topic", "partition")
"""The columns of the rows that name their split."""

OFFSET_COLUMN = "offset"
"""The column with the place of a row in its split, where the reading has an end; it ascends."""


def split_owner(split: Split, parallelism: int) -> int:
    """Return the subtask that follows a split: always the same, and neighbouring splits have different ones."""
    name, number = split
    return (zlib.crc32(name.encode()) + number) % parallelism
