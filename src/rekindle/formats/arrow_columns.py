"""Records of any kind as Arrow tables with a schema that is given, a chunk at a time."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, time
from enum import Enum
from numbers import Number
from typing import Any
from uuid import UUID

import pyarrow as pa

from rekindle.base.time import Instant
from rekindle.exceptions import SerializationError
from rekindle.formats.record_fields import columns_of, fields_of

__all__ = ["arrow_table"]

_MIDNIGHT = time()


def arrow_table(records: Sequence[Any], schema: pa.Schema) -> pa.Table:
    """Return records as a table.

    Args:
        records: Rows, tuples, dicts, dataclasses, ``msgspec.Struct``s; those with names are taken apart by them, others
            by place.
        schema: The schema.

    Raises:
        SerializationError: A record does not fit the schema; the message names the column, and a value.
    """
    columns = columns_of(records, schema.names)
    arrays = [_array(values, field) for values, field in zip(columns, schema, strict=True)]
    for array, field in zip(arrays, schema, strict=True):
        if array.null_count and not field.nullable:
            raise SerializationError(
                f"column {field.name!r} of type {field.type} is not to be null, and a record has nothing there. "
                "Change the schema, or the records"
            )
    return pa.Table.from_arrays(arrays, schema=schema)


def _array(values: Sequence[Any], field: pa.Field) -> pa.Array:
    """Return the values of a column as an array: at once, or one by one if they are nested, or not plain."""
    try:
        if not pa.types.is_nested(field.type):
            try:
                return pa.array(_unrounded(values, field.type), field.type)
            except (pa.ArrowException, TypeError):
                if not any(isinstance(value, Enum | UUID | Instant) for value in values):
                    raise
        return pa.array([_plain(value, field.type) for value in values], field.type)
    except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
        raise SerializationError(
            f"column {field.name!r} of type {field.type} cannot hold what records have there: {error}. "
            f"{_example(values, field.type)}Change the schema, or the records"
        ) from error


def _unrounded(values: Sequence[Any], kind: pa.DataType) -> Sequence[Any]:
    """Return values back; Arrow would cut numbers to make integers or times of them, and times to make dates."""
    if pa.types.is_integer(kind) or pa.types.is_temporal(kind):
        kinds = set(map(type, values))
        if fractions := [each for each in kinds if issubclass(each, Number) and not hasattr(each, "__index__")]:
            raise TypeError(f"a {fractions[0].__name__} is not an integer")
        if pa.types.is_date(kind) and any(issubclass(each, datetime) for each in kinds):
            for value in values:
                if isinstance(value, datetime) and value.time() != _MIDNIGHT:
                    raise TypeError("a time of a day is not a date")
    return values


def _plain(value: Any, kind: pa.DataType) -> Any:
    """Return a value as Arrow takes it."""
    if value is None:
        return None
    if pa.types.is_struct(kind):
        fields = [kind.field(place) for place in range(kind.num_fields)]
        parts = fields_of(type(value), [field.name for field in fields])(value)
        return tuple(_plain(part, field.type) for part, field in zip(parts, fields, strict=True))
    if pa.types.is_map(kind):
        return [(_plain(key, kind.key_type), _plain(item, kind.item_type)) for key, item in dict(value).items()]
    if pa.types.is_nested(kind):
        if isinstance(value, str | bytes):
            raise TypeError("a text is not an array")
        return [_plain(item, kind.value_type) for item in value]
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, UUID):
        return str(value)
    if isinstance(value, Instant):
        return pa.scalar(value.to_epoch_milli(), pa.timestamp("ms", "UTC")).cast(kind)
    return _unrounded([value], kind)[0]


def _example(values: Sequence[Any], kind: pa.DataType) -> str:
    """Return a sentence with a value that does not fit, if there is one."""
    for value in values:
        try:
            pa.array([_plain(value, kind)], kind)
        except (pa.ArrowException, TypeError, ValueError, OverflowError, SerializationError):
            text = repr(value)
            return f"It was given {text if len(text) <= 100 else text[:100] + '…'}. "
    return ""
