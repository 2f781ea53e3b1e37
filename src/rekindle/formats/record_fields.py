"""Takes records of any kind apart: by the names of their fields, or by place if they have none."""

from __future__ import annotations

import dataclasses
import operator
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import Any

import msgspec

from rekindle.exceptions import SerializationError
from rekindle.types.row import Row

__all__ = ["columns_of", "fields_of"]


def columns_of(records: Sequence[Any], names: list[str]) -> Sequence[Sequence[Any]]:
    """Return the values of each field of records, in the order of the names.

    Raises:
        SerializationError: A record does not have these fields.
    """
    kinds = set(map(type, records))
    if len(kinds) == 1:
        return _columns(kinds.pop(), records, names)
    parts = [fields_of(type(record), names)(record) for record in records]
    return list(zip(*parts, strict=True)) if parts else [()] * len(names)


def _columns(kind: type, records: Sequence[Any], names: list[str]) -> Sequence[Sequence[Any]]:
    """Return the values of each column, of records of one class."""
    if issubclass(kind, dict):
        unknown = set().union(*records).difference(names)
        if unknown:
            raise _misfit(f"a record has the field {min(map(str, unknown))!r}, which is not in it", names)
        return [[record.get(name) for record in records] for name in names]
    if issubclass(kind, tuple) and _own_names(kind, records[0]) in (None, names):
        if any(len(record) != len(names) for record in records):
            count = next(len(record) for record in records if len(record) != len(names))
            raise _misfit(f"a record has {count} fields", names)
        return list(zip(*records, strict=True))
    if kind is Row and _all_are(records, names):
        return list(zip(*[record._values for record in records], strict=True))
    take = fields_of(kind, names)
    return list(zip(*map(take, records), strict=True))


def _all_are(rows: Sequence[Row], names: list[str]) -> bool:
    """Return whether rows have these fields in this order; rows without names count by place."""
    count = len(names)
    return all((row._fields is None or row._fields == names) and len(row._values) == count for row in rows)


def fields_of(kind: type, names: Sequence[str]) -> Callable[[Any], Iterable[Any]]:
    """Return what takes records of a class apart: their values, in the order of the names."""
    if issubclass(kind, dict):
        return lambda record: [record.get(name) for name in names]
    if issubclass(kind, Row):
        return lambda record: _of_row(record, names)
    if issubclass(kind, tuple):
        return lambda record: _of_tuple(record, names)
    if dataclasses.is_dataclass(kind) or issubclass(kind, msgspec.Struct):
        return _attributes(kind, tuple(names))
    if len(names) == 1:
        return lambda record: (record,)
    raise _misfit(f"a record is a {kind.__name__}, which has no fields", names)


@lru_cache(maxsize=256)
def _attributes(kind: type, names: tuple[str, ...]) -> Callable[[Any], Iterable[Any]]:
    own: Iterable[str] = getattr(kind, "__struct_fields__", ())
    if dataclasses.is_dataclass(kind):
        own = [field.name for field in dataclasses.fields(kind)]
    if missing := set(names).difference(own):
        raise _misfit(f"{kind.__qualname__} has no field {min(missing)!r}", names)
    if len(names) == 1:
        return lambda record: (getattr(record, names[0]),)
    return operator.attrgetter(*names)


def _of_row(row: Row, names: Sequence[str]) -> Sequence[Any]:
    own = row._fields
    if own is not None and list(own) != list(names):
        if missing := set(names).difference(own):
            raise _misfit(f"a row has no field {min(missing)!r}", names)
        return [row[name] for name in names]
    values = tuple(row)
    if len(values) != len(names):
        raise _misfit(f"a row has {len(values)} fields", names)
    return values


def _of_tuple(record: tuple[Any, ...], names: Sequence[str]) -> Sequence[Any]:
    own = _own_names(type(record), record)
    if own is not None and own != list(names):
        if missing := set(names).difference(own):
            raise _misfit(f"a row has no field {min(missing)!r}", names)
        return [record[own.index(name)] for name in names]
    if len(record) != len(names):
        raise _misfit(f"a record has {len(record)} fields", names)
    return record


def _own_names(kind: type, record: Any) -> list[str] | None:
    names = getattr(record, "__fields__", None) or getattr(kind, "_fields", None)
    return None if names is None else list(names)


def _misfit(what: str, names: Sequence[str]) -> SerializationError:
    return SerializationError(
        f"records do not fit the schema with the columns {', '.join(names)}: {what}. Change the schema, or the records"
    )
