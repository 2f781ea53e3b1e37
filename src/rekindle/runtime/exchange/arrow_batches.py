"""Columns as payloads: rows as Spark read them, records that went through a chain, and what is left of folded ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa

from rekindle.columns.combining import FoldedRows
from rekindle.columns.pipeline import KeyedRows
from rekindle.columns.shapes import Shape, ShapeKind
from rekindle.runtime.chunk import Chunk
from rekindle.runtime.column_chunk import ColumnChunk, FoldedChunk, as_stamps
from rekindle.runtime.exchange.key_routes import KeyRoutes
from rekindle.runtime.exchange.payload import ARROW_TAG

_HEADER = b"rekindle"
_KEY_COLUMNS = {int: pa.int64(), str: pa.string()}


class _Header(msgspec.Struct, frozen=True, array_like=True):
    """Say what the columns of a batch are, in their order: fields, key, timestamps or starts of windows.

    Attributes:
        kind: What the fields make, a kind of record; "" where records were folded.
        fields: The places of the fields; -1 where there is none.
        keys: The places of the columns of the key.
        single_key: Whether the key is one value.
        times: The place of the timestamps, or of the starts of windows; -1: there are none.
        records: How many records were folded.
        names: The names of the fields of rows.
        firsts: The places of the fields of the first record of each entry, and of its timestamp, where records were
            folded; empty: they are not sent.
    """

    kind: str
    fields: list[int]
    keys: list[int] = []
    single_key: bool = True
    times: int = -1
    records: int = 0
    names: list[str] = []
    firsts: list[int] = []


def encode_batch(batch: pa.RecordBatch) -> pa.Buffer:
    """Encode rows as Spark read them."""
    header = _Header(ShapeKind.ROW.value, list(range(batch.num_columns)), names=batch.schema.names)
    return _encoded(batch.columns, header)


def encode_rows(rows: KeyedRows, single_key: bool, places: pa.Array | None) -> pa.Buffer:
    """Encode records with their keys, all or those in some places."""
    columns = _Columns(places)
    fields = [columns.add(field) for field in rows.fields]
    keys = [columns.add(key) for key in rows.keys]
    times = -1 if rows.timestamps is None else columns.add(pa.array(rows.timestamps))
    header = _Header(rows.shape.kind.value, fields, keys, single_key, times, names=list(rows.shape.names))
    return _encoded(columns.columns, header)


def encode_folded(rows: FoldedRows, single_key: bool, places: pa.Array | None) -> pa.Buffer:
    """Encode what is left of folded records, all or those in some places."""
    columns = _Columns(places)
    fields = [-1 if value is None else columns.add(value) for value in rows.values]
    keys = [columns.add(key) for key in rows.keys]
    times = columns.add(pa.array(rows.starts))
    firsts = [columns.add(first) for first in (*rows.firsts, pa.array(rows.stamps))] if rows.firsts else []
    records = rows.records if places is None else rows.records[places.to_numpy()]
    header = _Header("", fields, keys, single_key, times, int(records.sum()), firsts=firsts)
    return _encoded(columns.columns, header)


def encode_parts(chunk: Chunk, keys: list[Any], routes: KeyRoutes, parallelism: int) -> list[tuple[int, bytes]] | None:
    """Encode records that are columns for each target that gets some; None if the keys make no column.

    Args:
        chunk: The records, of columns.
        keys: Their keys.
        routes: Tells the target of each.
        parallelism: How many targets there are.
    """
    assert isinstance(chunk, ColumnChunk)
    column = _key_column(keys)
    if column is None:
        return None
    rows = KeyedRows(list(chunk.fields), chunk.shape, [column], chunk.stamps, chunk.rows)
    numbers = pa.types.is_integer(column.type)
    targets = routes.targets_of_longs(column.to_numpy()) if numbers else np.array(routes.targets(keys))
    parts = []
    for target in range(parallelism):
        places = np.flatnonzero(targets == target)
        if len(places):
            some = None if len(places) == chunk.rows else pa.array(places)
            parts.append((target, encode_rows(rows, True, some).to_pybytes()))
    return parts


def _key_column(keys: Sequence[Any]) -> pa.Array | None:
    """Return keys as a column that gives them back as they were; None where they might change."""
    form = _KEY_COLUMNS.get(type(keys[0]))
    if form is None or set(map(type, keys)) != {type(keys[0])}:
        return None
    try:
        return pa.array(keys, form)
    except (pa.ArrowException, OverflowError, UnicodeError):  # more than 64 bits, half a character
        return None


class _Columns:
    """Gather columns, each once."""

    def __init__(self, places: pa.Array | None) -> None:
        self.columns: list[pa.Array] = []
        self._places = places
        self._known: dict[int, int] = {}
        self._kept: list[pa.Array] = []  # an id is that of an object as long as it lives

    def add(self, column: pa.Array) -> int:
        place = self._known.get(id(column))
        if place is None:
            place = self._known[id(column)] = len(self.columns)
            self._kept.append(column)
            self.columns.append(column if self._places is None else column.take(self._places))
        return place


def _encoded(columns: Sequence[pa.Array], header: _Header) -> pa.Buffer:
    sink = pa.BufferOutputStream()
    sink.write(ARROW_TAG)
    batch = pa.RecordBatch.from_arrays(list(columns), names=[str(place) for place in range(len(columns))])
    schema = batch.schema.with_metadata({_HEADER: msgspec.msgpack.encode(header)})
    with pa.ipc.new_stream(sink, schema) as writer:
        writer.write_batch(batch)
    return sink.getvalue()


def decode_batch(body: memoryview) -> Chunk:
    """Decode a batch; its payload without the tag."""
    with pa.ipc.open_stream(body) as reader:
        batch = reader.read_next_batch()
    header = msgspec.msgpack.decode(batch.schema.metadata[_HEADER], type=_Header)
    columns = batch.columns
    keys = [columns[place] for place in header.keys]
    times = None if header.times < 0 else as_stamps(columns[header.times])
    if not header.kind:
        assert times is not None
        folded = [None if place < 0 else columns[place] for place in header.fields]
        firsts = [columns[place] for place in header.firsts]
        stamps = as_stamps(firsts.pop()) if firsts else None
        return FoldedChunk(keys, header.single_key, times, folded, header.records, firsts, stamps)
    shape = Shape(ShapeKind(header.kind), tuple(header.names))
    return ColumnChunk([columns[place] for place in header.fields], shape, keys, header.single_key, times)
