"""What a payload holds: a chunk of records, a batch of Spark's, or word of the progress of an upstream subtask.

Records cross as pickles of whole chunks. Tuples of one length and rows of one schema are turned into columns first: the
pickle of a few lists is two to three times faster than that of many tuples.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import msgspec
import pyarrow as pa

from rekindle.runtime.operators.chunk import Chunk
from rekindle.runtime.rows import is_schema_row, row_maker

_OBJECTS = 0
_TUPLES = 1
_ROWS = 2
_ARROW = 3
_PROGRESS = 4

_KEY = b"rekindle.key"  # columns of the key, separated by commas; a comma at the end: the key is a tuple
_OBJECTS_TAG, _TUPLES_TAG, _ROWS_TAG = bytes([_OBJECTS]), bytes([_TUPLES]), bytes([_ROWS])
_ARROW_TAG, _PROGRESS_TAG = bytes([_ARROW]), bytes([_PROGRESS])


class Progress(msgspec.Struct, frozen=True, array_like=True):
    """Tell how far an upstream subtask is."""

    producer: int
    watermark: int
    ended: bool


def encode_chunk(chunk: Chunk) -> bytes:
    """Encode a chunk of at least one record."""
    values = chunk.values
    kinds = set(map(type, values))
    if len(kinds) == 1:
        (kind,) = kinds
        if issubclass(kind, tuple) and (kind is tuple or is_schema_row(kind)):
            widths = set(map(len, values))
            if len(widths) == 1 and widths != {0}:
                columns = [list(column) for column in zip(*values, strict=True)]
                if kind is tuple:
                    return _TUPLES_TAG + pickle.dumps((chunk.keys, chunk.timestamps, columns), 5)
                fields = tuple(values[0].__fields__)
                return _ROWS_TAG + pickle.dumps((chunk.keys, chunk.timestamps, columns, fields), 5)
    return _OBJECTS_TAG + pickle.dumps((chunk.keys, chunk.timestamps, values), 5)


def encode_batch(batch: pa.RecordBatch, key: tuple[int, ...] = (), single_key: bool = True) -> pa.Buffer:
    """Encode a batch of a DataFrame's rows; ``key`` names the columns of the key, if Spark has routed them by one."""
    sink = pa.BufferOutputStream()
    sink.write(_ARROW_TAG)
    columns = ",".join(map(str, key)) + ("" if single_key else ",")
    schema = batch.schema.with_metadata({_KEY: columns} if key else None)
    with pa.ipc.new_stream(sink, schema) as writer:
        writer.write_batch(batch)
    return sink.getvalue()


def is_batch(payload: bytearray) -> bool:
    """Tell whether a payload holds rows as Spark read them."""
    return payload[0] == _ARROW


def encode_progress(progress: Progress) -> bytes:
    """Encode word of progress."""
    return _PROGRESS_TAG + msgspec.msgpack.encode(progress)


def decode(payload: bytearray) -> Chunk | Progress:
    """Decode any payload."""
    kind = payload[0]
    body = memoryview(payload)[1:]
    if kind == _TUPLES:
        keys, timestamps, columns = pickle.loads(body)
        return Chunk(list(zip(*columns, strict=True)), timestamps, keys)
    if kind == _OBJECTS:
        keys, timestamps, values = pickle.loads(body)
        return Chunk(values, timestamps, keys)
    if kind == _ROWS:
        keys, timestamps, columns, fields = pickle.loads(body)
        return Chunk(list(map(row_maker(fields), zip(*columns, strict=True))), timestamps, keys)
    if kind == _ARROW:
        return _chunk_of(pa.ipc.open_stream(body).read_all())
    return msgspec.msgpack.decode(body, type=Progress)


def _chunk_of(table: pa.Table) -> Chunk:
    columns = [_column_values(column) for column in table.columns]
    rows: list[Any] = list(map(row_maker(tuple(table.column_names)), zip(*columns, strict=True)))
    key = (table.schema.metadata or {}).get(_KEY)
    if key is None:
        return Chunk(rows)
    parts = [columns[int(index)] for index in key.split(b",") if index]
    keys = list(zip(*parts, strict=True)) if key.endswith(b",") else parts[0]
    return Chunk(rows, None, keys)


def _column_values(column: pa.ChunkedArray) -> list[Any]:
    if column.null_count == 0 and (pa.types.is_integer(column.type) or pa.types.is_floating(column.type)):
        values: list[Any] = column.to_numpy().tolist()  # a fifth of the time that to_pylist takes
        return values
    objects: list[Any] = column.to_pylist()
    convert = _converter(column.type)
    return objects if convert is None else [None if value is None else convert(value) for value in objects]


def _converter(kind: pa.DataType) -> Callable[[Any], Any] | None:
    """Give what turns Arrow's idea of a nested value into Spark's: maps are dicts, structs are rows."""
    if pa.types.is_map(kind):
        key, item = _converter(kind.key_type) or _same, _converter(kind.item_type) or _same
        return lambda pairs: {key(k): None if v is None else item(v) for k, v in pairs}
    if pa.types.is_struct(kind):
        fields = [kind.field(i) for i in range(kind.num_fields)]
        make = row_maker(tuple(field.name for field in fields))
        parts = [(field.name, _converter(field.type) or _same) for field in fields]
        return lambda value: make(tuple(None if value[n] is None else convert(value[n]) for n, convert in parts))
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        element = _converter(kind.value_type)
        if element is not None:
            return lambda values: [None if value is None else element(value) for value in values]
    return None


def _same(value: Any) -> Any:
    return value
