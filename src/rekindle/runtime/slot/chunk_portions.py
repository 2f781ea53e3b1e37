"""Chunks are processed in portions, so that what they lead to fits into memory: one record may become many, or large.

All that operators emit for a portion is in memory until it is sent. How much that is, the portions before tell.
"""

from __future__ import annotations

from collections.abc import Iterator

from rekindle.runtime.chunk import Chunk
from rekindle.runtime.exchange.sizes import RecordLimit, portion_limit
from rekindle.runtime.slot.task_output import TaskOutput


class Portions:
    """Learn for each place at which records enter a slot how many of them to process at once."""

    def __init__(self) -> None:
        self._limits: dict[int, RecordLimit] = {}

    def of(self, place: int, chunk: Chunk, output: TaskOutput) -> Iterator[Chunk]:
        """Cut up a chunk; between two portions, what the first one has led to is learned from ``output``.

        Args:
            place: Where the chunk enters: an edge by its number, a source by the inverse of its.
            chunk: The records.
            output: What gathers all that is emitted.
        """
        limit = self._limits.get(place)
        if limit is None:
            limit = self._limits[place] = portion_limit()
        start = 0
        while start < chunk.size():
            portion = chunk.cut(start, start + limit.records)
            start += portion.size()
            output.produced = 0
            yield portion
            limit.learn(portion.size(), output.produced)
