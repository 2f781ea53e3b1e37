"""The input of an operator, gathered until it has ended, then given back key by key and in the order of timestamps.

Up to a number of records it stays in memory. What is more goes to local disk in runs, each sorted by key, timestamp and
input; in the end they are merged.
"""

from __future__ import annotations

import shutil
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from rekindle.runtime.operators.batch.key_order import order_of_key
from rekindle.runtime.operators.batch.runs import PART_RECORDS, Part, Run, merged, write_run
from rekindle.runtime.operators.chunk import Chunk
from rekindle.runtime.operators.operator import MIN_WATERMARK

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

    def by_key(self) -> Iterator[tuple[Any, Iterable[Part]]]:
        """Give each key with its records, and forget them.

        Within a key they are sorted by timestamp; those without one come first; of equal ones those of the first input
        come first, and otherwise the order of arrival is kept. All parts of a key are to be taken before the next key.
        """
        if not self._runs:
            chunks, self._chunks, self._count = self._chunks, [], 0
            return iter(_grouped(chunks))
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
            self._runs.append((0, self._written(_grouped(chunks))))
        while (level := self._runs[-1][0]) == self._runs[-_FAN_IN:][0][0] and len(self._runs) >= _FAN_IN:
            runs = [run for _, run in self._runs[-_FAN_IN:]]
            longer = self._written(merged(runs))
            self._runs[-_FAN_IN:] = [(level + 1, longer)]
            for run in runs:
                run.remove()

    def _written(self, groups: Iterable[tuple[Any, Iterable[Part]]]) -> Run:
        if self._directory is None:
            self._directory = self._fresh_directory()
        self._numbers += 1
        return write_run(f"{self._directory}/run-{self._numbers}", groups)


def _grouped(chunks: list[tuple[Chunk, int]]) -> Iterator[tuple[Any, Iterable[Part]]]:
    """Group records by key, in the order of keys."""
    keys: list[Any] = []
    values: list[Any] = []
    for chunk, _ in chunks:
        assert chunk.keys is not None, "a keyed operator was fed from an edge without keys"
        keys += chunk.keys
        values += chunk.values
    timestamps = _timestamps(chunks)
    sides = [side for chunk, side in chunks for _ in chunk.values] if any(side for _, side in chunks) else None
    chunks.clear()
    groups: defaultdict[Any, list[int]] = defaultdict(list)
    order = _sorted_positions(timestamps, sides)
    if order is None:
        for position, key in enumerate(keys):
            groups[key].append(position)
    else:
        for position in order:
            groups[keys[position]].append(position)
    for key in sorted(groups, key=order_of_key):
        yield key, _parts(groups.pop(key), values, timestamps, sides)


def _parts(
    positions: list[int], values: list[Any], timestamps: list[int | None] | None, sides: list[int] | None
) -> Iterable[Part]:
    if len(positions) <= PART_RECORDS:
        return (_part(positions, values, timestamps, sides),)
    starts = range(0, len(positions), PART_RECORDS)
    return (_part(positions[start : start + PART_RECORDS], values, timestamps, sides) for start in starts)


def _part(
    positions: list[int], values: list[Any], timestamps: list[int | None] | None, sides: list[int] | None
) -> Part:
    return (
        [values[position] for position in positions],
        None if timestamps is None else [timestamps[position] for position in positions],
        None if sides is None else [sides[position] for position in positions],
    )


def _timestamps(chunks: list[tuple[Chunk, int]]) -> list[int | None] | None:
    if all(chunk.timestamps is None for chunk, _ in chunks):
        return None
    timestamps: list[int | None] = []
    for chunk, _ in chunks:
        timestamps += chunk.timestamps or [None] * len(chunk.values)
    return timestamps


def _sorted_positions(timestamps: list[int | None] | None, sides: list[int] | None) -> list[int] | None:
    """Give the positions of the records in the order of timestamp and input; None: as they came."""
    by: list[Any] = []
    if sides is not None:
        by.append(np.array(sides, dtype=np.int8))
    if timestamps is not None:
        stamps = np.array([MIN_WATERMARK if stamp is None else stamp for stamp in timestamps], dtype=np.int64)
        if sides is not None or not bool(np.all(stamps[:-1] <= stamps[1:])):
            by.append(stamps)
    return np.lexsort(by).tolist() if by else None
