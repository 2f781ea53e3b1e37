"""Records as rows of a table whose columns are given, a whole chunk at a time."""

from __future__ import annotations

import datetime
import enum
import uuid
from collections.abc import Callable, Sequence
from decimal import Decimal
from itertools import repeat
from operator import attrgetter, itemgetter
from typing import Any

import numpy as np
import pyarrow as pa

from rekindle.base.time import Instant
from rekindle.exceptions import SerializationError
from rekindle.types.row import Row

_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
_SHOWN = 200
_MISFITS = (pa.ArrowException, TypeError, ValueError, OverflowError)
_TAKEN: tuple[tuple[Callable[[pa.DataType], bool], tuple[type, ...]], ...] = (
    (pa.types.is_integer, (int, np.integer)),
    (pa.types.is_floating, (float, int, np.floating, np.integer)),
    (lambda kind: bool(pa.types.is_string(kind) or pa.types.is_large_string(kind)), (str,)),
    (lambda kind: bool(pa.types.is_binary(kind) or pa.types.is_large_binary(kind)), (bytes, bytearray, memoryview)),
    (pa.types.is_boolean, (bool, np.bool_)),
    (pa.types.is_date, (datetime.date,)),
    (pa.types.is_timestamp, (datetime.datetime, np.datetime64)),
    (pa.types.is_decimal, (Decimal, int)),
)
Columns = list[Sequence[Any]]


class _NoFitError(Exception):
    """A record has no such column."""


class TableRows:
    """Turn records into Arrow batches of one schema.

    Records with names (rows of DataFrames, named rows and tuples, dicts, instances of classes) give their fields by
    name. Tuples, lists and rows without names give them by place. Anything else is the only column of a table.

    Attributes:
        schema: The schema.

    Args:
        schema: The schema.
        show_records: Whether errors may name records.
    """

    def __init__(self, schema: pa.Schema, show_records: bool = True) -> None:
        self.schema = schema
        self._show = show_records
        self._names = tuple(schema.names)

    def batch(self, records: Sequence[Any]) -> pa.RecordBatch:
        """Return records as a batch.

        Raises:
            SerializationError: One of them does not fit; it is named, with the column.
        """
        try:
            columns = _columns(records, self._names)
            arrays = [_array(values, field) for values, field in zip(columns, self.schema, strict=True)]
            return pa.RecordBatch.from_arrays(arrays, schema=self.schema)
        except (_NoFitError, *_MISFITS) as error:
            raise self._explained(records, error) from error

    def _explained(self, records: Sequence[Any], error: Exception) -> SerializationError:
        """Find the first record that does not fit, and say why."""
        for record in records:
            problem = self._problem(record)
            if problem is not None:
                where = f", in record {_shown(record)}" if self._show else ""
                return SerializationError(f"{problem}{where}. The table has {self._described()}")
        return SerializationError(f"records do not fit the table: {error}. It has {self._described()}")

    def _problem(self, record: Any) -> str | None:
        try:
            columns = _columns([record], self._names)
        except _NoFitError as error:
            return str(error)
        for (value,), field in zip(columns, self.schema, strict=True):
            try:
                _array([value], field)
            except _MISFITS as error:
                kind = type(value).__name__
                what = (
                    f"cannot hold {_shown(value)} ({kind}): {str(error)[:_SHOWN]}"
                    if self._show
                    else f"cannot hold a {kind}"
                )
                return f"column {field.name!r} ({field.type}) {what}"
        return None

    def _described(self) -> str:
        return "columns " + ", ".join(f"{field.name} {field.type}" for field in self.schema)


def _columns(records: Sequence[Any], names: tuple[str, ...]) -> Columns:
    """Return the values of records by column."""
    kinds = set(map(type, records))
    if len(kinds) == 1:
        whole = _whole_columns(records, kinds.pop(), names)
        if whole is not None:
            return whole
    rows = [_values(record, names) for record in records]
    return [list(map(itemgetter(place), rows)) for place in range(len(names))]


def _whole_columns(records: Sequence[Any], kind: type, names: tuple[str, ...]) -> Columns | None:
    """Return the columns of records of one class without looking at each record; None where that is not possible."""
    if issubclass(kind, tuple | list):
        named = _names_of(kind)
        if named is None or tuple(named) == names:
            width = len(names)
            if set(map(len, records)) == {width} and (named is not None or getattr(kind, "__fields__", None) is None):
                return [list(map(itemgetter(place), records)) for place in range(width)]
        return None
    if issubclass(kind, dict):
        return [list(map(dict.get, records, repeat(name))) for name in names]
    if _has_attributes(kind):
        getters = map(attrgetter, names)
        try:
            return [list(map(getter, records)) for getter in getters]
        except AttributeError:
            return None
    return None


def _values(record: Any, names: tuple[str, ...]) -> Sequence[Any]:
    """Return the values of one record in the order of the columns."""
    if isinstance(record, dict):
        return [record.get(name) for name in names]
    if isinstance(record, Row):
        return _picked(record, list(record), record._fields, names)
    if isinstance(record, tuple | list):
        return _picked(record, record, _names_of(type(record)) or getattr(record, "__fields__", None), names)
    if _has_attributes(type(record)):
        missing = [name for name in names if not hasattr(record, name)]
        if missing:
            raise _NoFitError(f"there is no column {missing[0]!r}")
        return [getattr(record, name) for name in names]
    if len(names) == 1:
        return [record]
    raise _NoFitError(f"a {type(record).__name__} is one value, and not {len(names)} columns")


def _picked(record: Any, values: Sequence[Any], named: Sequence[str] | None, names: tuple[str, ...]) -> Sequence[Any]:
    if named is None or tuple(named) == names:
        if len(values) != len(names):
            raise _NoFitError(f"there are {len(values)} fields, and not {len(names)}")
        return values
    places = {name: place for place, name in enumerate(named)}
    missing = [name for name in names if name not in places]
    if missing:
        raise _NoFitError(f"there is no column {missing[0]!r}")
    return [values[places[name]] for name in names]


def _names_of(kind: type) -> Sequence[str] | None:
    """Return the names that all instances of a class of tuples have."""
    names = getattr(kind, "_fields", None) or kind.__dict__.get("__fields__")
    return names if isinstance(names, tuple | list) else None


def _has_attributes(kind: type) -> bool:
    """Return whether instances of a class have fields by name: dataclasses, structs, other classes of a program."""
    if issubclass(kind, str | bytes | bytearray | int | float | enum.Enum | set | frozenset | Row | Instant):
        return False
    return kind.__module__.partition(".")[0] not in ("builtins", "datetime", "decimal", "uuid", "numpy")


def _array(values: Sequence[Any], field: pa.Field) -> pa.Array:
    array = _typed_array(values, field.type)
    if array.null_count and not field.nullable:
        raise ValueError("it may not be None")
    return array


def _typed_array(values: Sequence[Any], kind: pa.DataType) -> pa.Array:
    if pa.types.is_struct(kind):
        fields = [kind.field(place) for place in range(kind.num_fields)]
        names = tuple(field.name for field in fields)
        there = [value is not None for value in values]
        rows = [(None,) * len(names) if value is None else _values(value, names) for value in values]
        parts = [_typed_array([row[place] for row in rows], field.type) for place, field in enumerate(fields)]
        mask = pa.array([not each for each in there], pa.bool_())
        return pa.StructArray.from_arrays(parts, fields=fields, mask=mask)
    if _is_list(kind):
        lists = [None if value is None else list(value) for value in values]
        flat = _typed_array([part for value in lists if value is not None for part in value], kind.value_type)
        lengths = [None if value is None else len(value) for value in lists]
        return _nested(kind, lengths, flat)
    if pa.types.is_map(kind):
        pairs = [None if value is None else list(dict(value).items()) for value in values]
        keys = _typed_array([key for pair in pairs if pair is not None for key, _ in pair], kind.key_type)
        items = _typed_array([item for pair in pairs if pair is not None for _, item in pair], kind.item_type)
        offsets = _offsets([None if pair is None else len(pair) for pair in pairs])
        return pa.MapArray.from_arrays(offsets, keys, items, type=kind)
    return _plain_array(values, kind)


def _plain_array(values: Sequence[Any], kind: pa.DataType) -> pa.Array:
    """Return values as an array, none of which is cut or read as something else: Arrow would do both."""
    taken = next((classes for is_kind, classes in _TAKEN if is_kind(kind)), None)
    if taken is not None and not _all_of(values, taken):
        values = [None if value is None else _simpler(value) for value in values]
        if not _all_of(values, taken):
            raise TypeError(f"its type is not {kind}")
    return pa.array(values, kind)


def _all_of(values: Sequence[Any], taken: tuple[type, ...]) -> bool:
    for found in set(map(type, values)) - {type(None)}:
        if not issubclass(found, taken) or (found is bool and bool not in taken):
            return False
        if issubclass(found, datetime.datetime) and datetime.date in taken:
            return False  # the time of day would be lost
    return True


def _simpler(value: Any) -> Any:
    if isinstance(value, enum.Enum):
        return value.name
    if isinstance(value, uuid.UUID):
        return str(value)
    if isinstance(value, datetime.time):
        return value.isoformat()
    if isinstance(value, Instant):
        return _EPOCH + datetime.timedelta(seconds=value.seconds, microseconds=value.nanos // 1000)
    return value


def _is_list(kind: pa.DataType) -> bool:
    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind))


def _nested(kind: pa.DataType, lengths: list[int | None], flat: pa.Array) -> pa.Array:
    made = pa.LargeListArray if pa.types.is_large_list(kind) else pa.ListArray
    return made.from_arrays(_offsets(lengths), flat, type=kind)


def _offsets(lengths: list[int | None]) -> pa.Array:
    """Return where each list begins, and where the last one ends; None where there is no list."""
    offsets: list[int | None] = []
    total = 0
    for length in lengths:
        offsets.append(None if length is None else total)
        total += length or 0
    return pa.array([*offsets, total], pa.int32())


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "…"
