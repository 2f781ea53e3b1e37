"""Records as dicts of plain values, all the way down."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from enum import Enum
from typing import Any

import msgspec

from rekindle.base.time import Instant
from rekindle.types.row import Row

__all__ = ["plain_record"]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def plain_record(record: Any, names: Sequence[str]) -> Any:
    """Return a record as a dict; what has no names gets them from the schema, and other fields are left out."""
    if isinstance(record, Row | tuple) and _names(record) is None:
        return {name: _plain(value) for name, value in zip(names, record, strict=True)}
    plain = _plain(record)
    if isinstance(record, dict) or not isinstance(plain, dict):
        return plain
    return {name: plain[name] for name in names if name in plain}


def _plain(value: Any) -> Any:
    kind = type(value)
    if kind in (str, int, float, bool, bytes, type(None)):
        return value
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, Row | tuple) and (names := _names(value)) is not None:
        return {name: _plain(item) for name, item in zip(names, value, strict=True)}
    if isinstance(value, list | tuple | set | frozenset | Row):
        return [_plain(item) for item in value]
    if dataclasses.is_dataclass(kind):
        return {field.name: _plain(getattr(value, field.name)) for field in dataclasses.fields(kind)}
    if isinstance(value, msgspec.Struct):
        return {name: _plain(getattr(value, name)) for name in value.__struct_fields__}
    if isinstance(value, Enum):
        return value.value if isinstance(value.value, str) else value.name
    if isinstance(value, Instant):
        return _EPOCH + timedelta(milliseconds=value.to_epoch_milli())
    return value


def _names(record: Any) -> Sequence[str] | None:
    names: Sequence[str] | None = getattr(record, "__fields__", None) or getattr(record, "_fields", None)
    return names
