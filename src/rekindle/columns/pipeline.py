"""What stands between a source and the exchange behind it, run on whole batches: filters, maps, timestamps, a key."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from rekindle.columns.chains import ColumnChain, FilterStep, MapStep, TimestampStep
from rekindle.columns.evaluation import NotColumnar, column, numbers, truth
from rekindle.columns.grouping import Codes
from rekindle.columns.shapes import Shape
from rekindle.columns.typed_records import leaves_unchanged

_SCATTER = 0x9E3779B1  # spreads epochs, also if every second one brings nothing


@dataclass(slots=True)
class KeyedRows:
    """Hold rows as they leave for an exchange.

    Attributes:
        fields: The records, field by field.
        shape: What they are.
        keys: The columns of the key.
        timestamps: The timestamps of the rows; None: they have none.
        rows: How many there are.
    """

    fields: list[pa.Array]
    shape: Shape
    keys: list[pa.Array]
    timestamps: Codes | None
    rows: int


@dataclass(slots=True)
class Observed:
    """Learn what passes by in a task.

    Attributes:
        records: How many records came to each step, and in the end to the exchange.
        highest: The highest timestamp in each of the shares into which records are dealt out to those who make
            watermarks; None: no record yet.
        cursor: The share of the next record.
    """

    records: list[int] = field(default_factory=list)
    highest: list[int | None] = field(default_factory=list)
    cursor: int = 0

    @staticmethod
    def of(chain: ColumnChain, epoch: int, task: int) -> Observed:
        """Begin for a task of an epoch.

        The share of its first record is another one in every epoch. If a stream brings few records at a time, each
        share must get some: the watermark waits for all of them.
        """
        first = (epoch * _SCATTER + task) % (1 << 32) >> 8
        return Observed([0] * (len(chain.steps) + 1), [None] * chain.shares, first % max(1, chain.shares))

    def count(self, place: int, rows: int) -> None:
        """Count records that have come to a step."""
        self.records[place] += rows

    def see(self, timestamps: Codes) -> None:
        """See the timestamps of records, in their order."""
        shares = len(self.highest)
        for share in range(shares):
            own = timestamps[(share - self.cursor) % shares :: shares]
            if len(own):
                greatest, known = int(own.max()), self.highest[share]
                self.highest[share] = greatest if known is None else max(greatest, known)
        self.cursor = (self.cursor + len(timestamps)) % max(1, shares)


def keyed_rows(chain: ColumnChain, batch: pa.RecordBatch, observed: Observed) -> KeyedRows:
    """Take the rows of a source through a chain, up to the exchange.

    Raises:
        NotColumnar: The functions of the chain must run.
    """
    fields: list[pa.Array] = list(batch.columns)
    shape, rows = chain.source, batch.num_rows
    timestamps: Codes | None = None
    counts: list[int] = []
    seen: Codes | None = None
    for step in chain.steps:
        counts.append(rows)
        match step:
            case FilterStep(condition):
                kept = truth(condition, fields, rows)
                if not kept.all():
                    mask = pa.array(kept)
                    fields = [each.filter(mask) for each in fields]
                    timestamps = None if timestamps is None else timestamps[kept]
                    rows = int(np.count_nonzero(kept))
            case MapStep(expressions, shape):
                fields = [column(expression, fields, rows) for expression in expressions]
            case TimestampStep(expression):
                timestamps = numbers(expression, fields, rows)
                if timestamps.dtype != np.int64:
                    raise NotColumnar("timestamps that are no integers")
                seen = timestamps
    counts.append(rows)
    if chain.type_info is not None and not leaves_unchanged(chain.type_info, shape, fields):
        raise NotColumnar("values that their type changes or refuses")
    keys = [column(expression, fields, rows) for expression in chain.key]
    for place, count in enumerate(counts):
        observed.count(place, count)
    if seen is not None:
        observed.see(seen)
    return KeyedRows(fields, shape, keys, timestamps, rows)


def joined(parts: Sequence[KeyedRows]) -> KeyedRows:
    """Put rows of one chain together, in their order."""
    if len(parts) == 1:
        return parts[0]
    first = parts[0]
    stamps = [part.timestamps for part in parts if part.timestamps is not None]
    known: dict[tuple[int, ...], pa.Array] = {}  # a key is often a field, and then stays the same column

    def whole(pieces: tuple[pa.Array, ...]) -> pa.Array:
        same = tuple(map(id, pieces))
        if same not in known:
            known[same] = pa.concat_arrays(pieces)
        return known[same]

    return KeyedRows(
        [whole(each) for each in zip(*(part.fields for part in parts), strict=True)],
        first.shape,
        [whole(each) for each in zip(*(part.keys for part in parts), strict=True)],
        np.concatenate(stamps) if stamps else None,
        sum(part.rows for part in parts),
    )
