"""Results of many small calls, put together to chunks of a good size."""

from __future__ import annotations

from rekindle.runtime.chunk import Chunk
from rekindle.runtime.operators.batch.sorted_batch import BATCH_RECORDS


class Results:
    """Gather results until there are enough for a chunk."""

    def __init__(self) -> None:
        self._chunk = Chunk([])
        self._count = 0

    def add(self, chunk: Chunk | None) -> None:
        """Add what an operator returned."""
        if chunk is None:
            return
        _append(self._chunk, chunk)
        self._count += len(chunk.values)
        if chunk.side is not None:
            if self._chunk.side is None:
                self._chunk.side = {}
            for tag, part in chunk.side.items():
                _append(self._chunk.side.setdefault(tag, Chunk([])), part)
                self._count += len(part.values)

    def enough(self) -> bool:
        """Return whether a chunk should go on."""
        return self._count >= BATCH_RECORDS

    def take(self) -> Chunk:
        """Take what there is."""
        chunk, self._chunk, self._count = self._chunk, Chunk([]), 0
        return chunk


def _append(chunk: Chunk, more: Chunk) -> None:
    if more.timestamps is not None or chunk.timestamps is not None:
        if chunk.timestamps is None:
            chunk.timestamps = [None] * len(chunk.values)
        chunk.timestamps += more.timestamps or [None] * len(more.values)
    chunk.values += more.values
