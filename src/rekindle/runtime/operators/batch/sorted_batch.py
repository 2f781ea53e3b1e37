"""Records in the order of their keys, cut into batches of a good size. Pure."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from rekindle.runtime.chunk import Chunk
from rekindle.runtime.operators.batch.key_order import order_of_key, order_of_longs
from rekindle.runtime.operators.operator import MIN_WATERMARK

BATCH_RECORDS = 10_000
"""How many records are given at once."""


@dataclass(slots=True)
class SortedBatch:
    """Hold records of keys that follow each other; the last key may go on in the next batch.

    Attributes:
        keys: The key of each record.
        values: The records.
        timestamps: Their timestamps, if there are any.
        sides: By which input each came, 0 or 1, if there are two.
        ends: Where the records of each key end, for the keys that do not go on. A key may have ended with the batch
            before: then the first end is 0.
    """

    keys: list[Any]
    values: list[Any]
    timestamps: list[int | None] | None
    sides: list[int] | None
    ends: list[int]

    def groups(self) -> Iterator[tuple[int, int]]:
        """Return where the records of each key start and end, also of one that goes on."""
        start = 0
        for end in self.ends:
            yield start, end
            start = end
        if start < len(self.values):
            yield start, len(self.values)

    @property
    def complete(self) -> bool:
        """Return whether the last key does not go on."""
        return bool(self.ends) and self.ends[-1] == len(self.values)


def sorted_batches(chunks: list[tuple[Chunk, int]]) -> Iterator[SortedBatch]:
    """Sort records by key, timestamp and input, and otherwise as they came.

    Args:
        chunks: The records with the input that they came by; the list is emptied.
    """
    keys: list[Any] = []
    values: list[Any] = []
    for chunk, _ in chunks:
        assert chunk.keys is not None, "a keyed operator was fed from an edge without keys"
        keys += chunk.keys
        values += chunk.values
    timestamps = _timestamps(chunks)
    sides = [side for chunk, side in chunks for _ in chunk.values] if any(side for _, side in chunks) else None
    chunks.clear()
    codes = _codes(keys)
    by: list[Any] = [codes]
    if timestamps is not None:
        by.insert(0, np.array([MIN_WATERMARK if stamp is None else stamp for stamp in timestamps], dtype=np.int64))
    if sides is not None:
        by.insert(0, np.array(sides, dtype=np.int8))
    order = np.lexsort(by)
    ordered = codes[order]
    ends = [*(np.flatnonzero(ordered[1:] != ordered[:-1]) + 1).tolist(), len(values)]
    positions = order.tolist()
    start = first = 0
    while start < len(values):
        following = bisect_right(ends, start + BATCH_RECORDS)
        own = ends[first:following]
        stop = own[-1] if own else start + BATCH_RECORDS  # in the middle of a key that has more records
        some = positions[start:stop]
        yield SortedBatch(
            [keys[position] for position in some],
            [values[position] for position in some],
            None if timestamps is None else [timestamps[position] for position in some],
            None if sides is None else [sides[position] for position in some],
            [end - start for end in own],
        )
        start, first = stop, following


def _codes(keys: list[Any]) -> npt.NDArray[Any]:
    """Return a number to each record that is the same for equal keys, and in the order of keys."""
    if set(map(type, keys)) == {int}:
        try:
            return order_of_longs(np.array(keys, dtype=np.int64))
        except OverflowError:
            pass  # larger integers
    numbers = {key: number for number, key in enumerate(sorted(set(keys), key=order_of_key))}
    return np.array([numbers[key] for key in keys], dtype=np.int64)


def _timestamps(chunks: Iterable[tuple[Chunk, int]]) -> list[int | None] | None:
    timestamps: list[int | None] = []
    found = False
    for chunk, _ in chunks:
        found = found or chunk.timestamps is not None
        timestamps += chunk.timestamps or [None] * len(chunk.values)
    return timestamps if found else None
