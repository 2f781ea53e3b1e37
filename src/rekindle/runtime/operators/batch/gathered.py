"""The input of an operator, gathered until it has ended, then given back key by key and in the order of timestamps.

Up to a number of records it stays in memory. What is more goes to local disk in runs, each sorted by key, timestamp and
input; in the end they are merged.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable, Iterator

from rekindle.runtime.chunk import Chunk
from rekindle.runtime.operators.batch.runs import Run, merged, write_run
from rekindle.runtime.operators.batch.sorted_batch import SortedBatch, sorted_batches

_FAN_IN = 32  # runs that are merged into a longer one, so that never too many files are read at once


class GatheredRecords:
    """Gather the records of one operator, of one input or two, and give them back key by key."""

    def __init__(self, memory_records: int, fresh_directory: Callable[[], str]) -> None:
        """Begin without any.

        Args:
            memory_records: How many records are held in memory at most.
            fresh_directory: Makes a directory for what is more.
        """
        self._memory_records = memory_records
        self._fresh_directory = fresh_directory
        self._directory: str | None = None
        self._chunks: list[tuple[Chunk, int]] = []
        self._count = 0
        self._runs: list[tuple[int, Run]] = []  # with how often its records were merged, in the order of arrival
        self._numbers = 0

    def add(self, chunk: Chunk, side: int = 0) -> None:
        """Take records with their keys.

        Args:
            chunk: The records.
            side: The input that they came by, 0 or 1.
        """
        if not chunk.values:
            return
        self._chunks.append((chunk, side))
        self._count += len(chunk.values)
        if self._count >= self._memory_records:
            self._spill()

    def by_key(self) -> Iterator[SortedBatch]:
        """Return all records, those of a key together, and forget them.

        Within a key they are sorted by timestamp; those without one come first; of equal ones those of the first input
        come first, and otherwise the order of arrival is kept.
        """
        if not self._runs:
            chunks, self._chunks, self._count = self._chunks, [], 0
            return sorted_batches(chunks)
        self._spill()
        return merged([run for _, run in self._runs])

    def close(self) -> None:
        """Remove what is on disk."""
        self._chunks, self._runs = [], []
        if self._directory is not None:
            shutil.rmtree(self._directory, ignore_errors=True)
            self._directory = None

    def _spill(self) -> None:
        if self._chunks:
            chunks, self._chunks, self._count = self._chunks, [], 0
            self._runs.append((0, self._written(sorted_batches(chunks))))
        while len(self._runs) >= _FAN_IN and (level := self._runs[-1][0]) == self._runs[-_FAN_IN][0]:
            runs = [run for _, run in self._runs[-_FAN_IN:]]
            longer = self._written(merged(runs))
            self._runs[-_FAN_IN:] = [(level + 1, longer)]
            for run in runs:
                run.remove()

    def _written(self, batches: Iterable[SortedBatch]) -> Run:
        if self._directory is None:
            self._directory = self._fresh_directory()
        self._numbers += 1
        return write_run(f"{self._directory}/run-{self._numbers}", batches)
