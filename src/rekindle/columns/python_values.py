"""The values of Arrow's columns as programs see them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa

from rekindle.types.spark_rows import row_maker


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
