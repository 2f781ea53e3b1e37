"""Rows as Spark read them, as payloads of Arrow batches, and what programs see of their values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa

from rekindle.runtime.chunk import Chunk
from rekindle.runtime.exchange.payload import ARROW_TAG
from rekindle.types.spark_rows import row_maker

_KEY = b"rekindle.key"  # columns of the key, separated by commas; a comma at the end: the key is a tuple


def encode_batch(batch: pa.RecordBatch, key: tuple[int, ...] = (), single_key: bool = True) -> pa.Buffer:
    """Encode a batch of a DataFrame's rows; ``key`` names the columns of the key, if Spark has routed them by one."""
    sink = pa.BufferOutputStream()
    sink.write(ARROW_TAG)
    columns = ",".join(map(str, key)) + ("" if single_key else ",")
    schema = batch.schema.with_metadata({_KEY: columns} if key else None)
    with pa.ipc.new_stream(sink, schema) as writer:
        writer.write_batch(batch)
    return sink.getvalue()


def decode_batch(body: memoryview) -> Chunk:
    """Decode a batch; its payload without the tag."""
    table = pa.ipc.open_stream(body).read_all()
    columns = [column_values(column) for column in table.columns]
    rows: list[Any] = list(map(row_maker(tuple(table.column_names)), zip(*columns, strict=True)))
    key = (table.schema.metadata or {}).get(_KEY)
    if key is None:
        return Chunk(rows)
    parts = [columns[int(index)] for index in key.split(b",") if index]
    keys = list(zip(*parts, strict=True)) if key.endswith(b",") else parts[0]
    return Chunk(rows, None, keys)


def column_values(column: pa.ChunkedArray | pa.Array) -> list[Any]:
    """Return the values of a column as programs see them: maps are dicts, structs are rows."""
    if column.null_count == 0 and (pa.types.is_integer(column.type) or pa.types.is_floating(column.type)):
        values: list[Any] = column.to_numpy().tolist()  # a fifth of the time that to_pylist takes
        return values
    objects: list[Any] = column.to_pylist()
    convert = _converter(column.type)
    return objects if convert is None else [None if value is None else convert(value) for value in objects]


def _converter(kind: pa.DataType) -> Callable[[Any], Any] | None:
    """Return what turns Arrow's idea of a nested value into Spark's: maps are dicts, structs are rows or variants."""
    if pa.types.is_map(kind):
        key, item = _converter(kind.key_type) or _same, _converter(kind.item_type) or _same
        return lambda pairs: {key(k): None if v is None else item(v) for k, v in pairs}
    if pa.types.is_struct(kind):
        fields = [kind.field(i) for i in range(kind.num_fields)]
        if any(b"variant" in (field.metadata or ()) for field in fields):
            from pyspark.sql.types import VariantVal  # columns of variants are rare

            return lambda value: VariantVal(value["value"], value["metadata"])
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
