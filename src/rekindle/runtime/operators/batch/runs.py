"""Sorted runs of records on local disk, and how they become one.

A run is a file of pickled blocks. A block is a list of segments, each with a key and some of its records; a key whose
records are many goes on in the next block.
"""

from __future__ import annotations

import heapq
import os
import pickle
from collections.abc import Iterable, Iterator
from typing import Any, TypeAlias

from rekindle.exceptions import SerializationError
from rekindle.runtime.operators.batch.key_order import order_of_key
from rekindle.runtime.operators.batch.sorted_batch import BATCH_RECORDS, SortedBatch
from rekindle.runtime.operators.operator import MIN_WATERMARK

_BLOCK_RECORDS = 2_000  # of each run, one block is in memory while runs are merged

Part: TypeAlias = tuple[list[Any], list[int | None] | None, list[int] | None]
"""Some records of a key: values, timestamps if there are any, and by which input each came, if there are two."""

_Segment: TypeAlias = tuple[Any, Part]


class Run:
    """Read a file of sorted records."""

    def __init__(self, path: str) -> None:
        self._path = path

    def segments(self) -> Iterator[_Segment]:
        """Return keys with some of their records, in order."""
        with open(self._path, "rb") as file:
            while True:
                try:
                    block: list[_Segment] = pickle.load(file)
                except EOFError:
                    return
                yield from block

    def remove(self) -> None:
        """Delete the file."""
        os.remove(self._path)


def write_run(path: str, batches: Iterable[SortedBatch]) -> Run:
    """Write sorted records to a file."""
    block: list[_Segment] = []
    count = 0
    with open(path, "wb") as file:
        for batch in batches:
            for start, end in batch.groups():
                for cut in range(start, end, _BLOCK_RECORDS):
                    part = _part(batch, cut, min(end, cut + _BLOCK_RECORDS))
                    block.append((batch.keys[cut], part))
                    count += len(part[0])
                    if count >= _BLOCK_RECORDS:
                        _write(file, block)
                        block, count = [], 0
        _write(file, block)
    return Run(path)


def _part(batch: SortedBatch, start: int, end: int) -> Part:
    return (
        batch.values[start:end],
        None if batch.timestamps is None else batch.timestamps[start:end],
        None if batch.sides is None else batch.sides[start:end],
    )


def _write(file: Any, block: list[_Segment]) -> None:
    try:
        pickle.dump(block, file, 5)
    except Exception as error:
        raise SerializationError(
            f"records do not fit in memory and cannot be written to local disk: {error}. Emit records that pickle can "
            "write, or raise rekindle.batch.memory-records"
        ) from error


def merged(runs: list[Run]) -> Iterator[SortedBatch]:
    """Return the records of all runs, those of a key together.

    Args:
        runs: The runs, in the order in which their records came.
    """
    batch = SortedBatch([], [], [], [], [])
    for key, parts in _by_key(runs):
        for values, timestamps, sides in parts:
            count = len(values)
            batch.keys += [key] * count
            batch.values += values
            assert batch.timestamps is not None
            assert batch.sides is not None
            batch.timestamps += timestamps or [None] * count
            batch.sides += sides or [0] * count
            if len(batch.values) >= BATCH_RECORDS:
                yield batch
                batch = SortedBatch([], [], [], [], [])
        batch.ends.append(len(batch.values))
    yield batch


def _by_key(runs: list[Run]) -> Iterator[tuple[Any, Iterable[Part]]]:
    """Return each key with its records; all of them are to be taken before the next key."""
    cursors = [_Cursor(run) for run in runs]
    heap = [(cursor.order, number) for number, cursor in enumerate(cursors) if cursor.segment is not None]
    heapq.heapify(heap)
    while heap:
        order = heap[0][0]
        sharing: list[int] = []
        while heap and heap[0][0] == order:
            sharing.append(heapq.heappop(heap)[1])
        own = [cursors[number] for number in sharing]
        assert own[0].segment is not None
        yield own[0].segment[0], own[0].parts() if len(own) == 1 else _merged_parts(own)
        for number in sharing:
            if cursors[number].segment is not None:
                heapq.heappush(heap, (cursors[number].order, number))


class _Cursor:
    """Stand at a segment of a run."""

    def __init__(self, run: Run) -> None:
        self._segments = run.segments()
        self.order = b""
        self.segment: _Segment | None = None
        self._advance()

    def parts(self) -> Iterator[Part]:
        """Return the records of the key that the cursor stands at, and go on to the next key."""
        order = self.order
        while self.segment is not None and self.order == order:
            part = self.segment[1]
            self._advance()
            yield part

    def records(self) -> Iterator[tuple[int, int, Any, int | None]]:
        """Return the records of the key, each with what it is sorted by: timestamp and input."""
        for values, timestamps, sides in self.parts():
            for value, timestamp, side in zip(
                values, timestamps or [None] * len(values), sides or [0] * len(values), strict=True
            ):
                yield MIN_WATERMARK if timestamp is None else timestamp, side, value, timestamp

    def _advance(self) -> None:
        before = self.segment
        self.segment = next(self._segments, None)
        if self.segment is not None and (before is None or before[0] is not self.segment[0]):
            self.order = order_of_key(self.segment[0])


def _merged_parts(cursors: list[_Cursor]) -> Iterator[Part]:
    values: list[Any] = []
    timestamps: list[int | None] = []
    sides: list[int] = []
    for _, side, value, timestamp in heapq.merge(*(cursor.records() for cursor in cursors), key=_sort_key):
        values.append(value)
        timestamps.append(timestamp)
        sides.append(side)
        if len(values) == BATCH_RECORDS:
            yield values, timestamps, sides
            values, timestamps, sides = [], [], []
    if values:
        yield values, timestamps, sides


def _sort_key(record: tuple[int, int, Any, int | None]) -> tuple[int, int]:
    return record[0], record[1]
