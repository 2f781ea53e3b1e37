"""Keys back from their bytes. What the bytes mean is told in :mod:`rekindle.state.rocksdb.key_encoding`."""

from __future__ import annotations

import datetime
import pickle
import struct
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from typing import Any

import msgspec

from rekindle.exceptions import SerializationError, StateRestoreError
from rekindle.serialization.classes.class_names import ClassName, class_here
from rekindle.serialization.encodings.stand_ins import made_stand_in
from rekindle.serialization.snapshots.moved_modules import loads_moved
from rekindle.state.key_hash import fields_of_key
from rekindle.types.row import Row, RowKind, row_from

_LONG = struct.Struct(">q")
_DOUBLE = struct.Struct(">d")
_LONG_SIZE = 255
_EPOCH = datetime.datetime(1970, 1, 1)
_UTC_EPOCH = _EPOCH.replace(tzinfo=datetime.UTC)
_MICROSECOND = datetime.timedelta(microseconds=1)


def decode_key(data: bytes) -> Any:
    """Decode what ``encode_key`` gave: a key equal to the one that was encoded."""
    return decode_at(data, 0)[0]


def decode_at(data: bytes, at: int) -> tuple[Any, int]:
    """Decode the key whose encoding starts at an index; also give the index behind it."""
    return _DECODERS[data[at]](data, at + 1)


@contextmanager
def reading_key_back(key: Any) -> Iterator[None]:
    """Turn what is raised by an encoded key into an error that says so."""
    try:
        yield
    except Exception as error:
        raise SerializationError(
            f"a key ({type(key).__name__}) was written and cannot be read back: {type(error).__name__}: {error}"
        ) from error


def sized_at(data: bytes, at: int) -> tuple[int, int]:
    """Return the start and end of the bytes whose length stands at an index."""
    size, start = _size_at(data, at)
    return start, start + size


def _size_at(data: bytes, at: int) -> tuple[int, int]:
    size = data[at]
    return (size, at + 1) if size < _LONG_SIZE else (int.from_bytes(data[at + 1 : at + 5], "big"), at + 5)


def _decode_sized(data: bytes, at: int) -> tuple[bytes, int]:
    start, end = sized_at(data, at)
    return data[start:end], end


def _decode_string(data: bytes, at: int) -> tuple[str, int]:
    start, end = sized_at(data, at)
    return data[start:end].decode("utf-8", "surrogatepass"), end


def _decode_integer(data: bytes, at: int) -> tuple[int, int]:
    start, end = sized_at(data, at)
    return int.from_bytes(data[start:end], "big", signed=True), end


def _decode_elements(data: bytes, at: int) -> tuple[list[Any], int]:
    count, at = _size_at(data, at)
    elements = []
    for _ in range(count):
        element, at = decode_at(data, at)
        elements.append(element)
    return elements, at


def _decode_tuple(data: bytes, at: int) -> tuple[tuple[Any, ...], int]:
    elements, at = _decode_elements(data, at)
    return tuple(elements), at


def _decode_frozenset(data: bytes, at: int) -> tuple[frozenset[Any], int]:
    elements, at = _decode_elements(data, at)
    return frozenset(elements), at


def _decode_ratio(data: bytes, at: int) -> tuple[Fraction, int]:
    numerator, at = decode_at(data, at)
    denominator, at = decode_at(data, at)
    return Fraction(numerator, denominator), at


def _decode_complex(data: bytes, at: int) -> tuple[complex, int]:
    return complex(_DOUBLE.unpack_from(data, at)[0], _DOUBLE.unpack_from(data, at + 8)[0]), at + 16


def _decode_class(data: bytes, at: int) -> tuple[Any, int]:
    module, at = _decode_string(data, at)
    name, at = _decode_string(data, at)
    kind: Any = class_here(ClassName(module, name)) or made_stand_in(module, name)
    if kind is None:
        raise StateRestoreError(f"keys of the snapshot are of class {name!r} of module {module!r}, which is not there")
    return kind, at


def _decode_dataclass(data: bytes, at: int) -> tuple[Any, int]:
    kind, at = _decode_class(data, at)
    values, at = _decode_elements(data, at)
    fields = fields_of_key(kind)
    if len(fields) != len(values):
        raise StateRestoreError(
            f"keys of the snapshot are of class {kind.__qualname__!r} with {len(values)} fields, which now has "
            f"{len(fields)}: a key's class must stay as it is"
        )
    if issubclass(kind, msgspec.Struct):
        return kind(**dict(zip(fields, values, strict=True))), at
    key = object.__new__(kind)
    for field, value in zip(fields, values, strict=True):
        object.__setattr__(key, field, value)
    return key, at


def _decode_enum(data: bytes, at: int) -> tuple[Any, int]:
    kind, at = _decode_class(data, at)
    name, at = _decode_string(data, at)
    return kind[name], at


def _decode_row(data: bytes, at: int) -> tuple[Row, int]:
    values, end = decode_at(data, at + 2)
    names = None
    if data[at + 1]:
        names, end = decode_at(data, end)
    row = row_from(list(values), None if names is None else list(names))
    row.set_row_kind(RowKind(data[at]))
    return row, end


def _time_of_day(number: int) -> datetime.time:
    """Return a time of day so many microseconds after midnight in UTC: in UTC, unless it is on another day there."""
    day, minute = 86_400_000_000, 60_000_000
    ahead = -(number // minute) if number < 0 else -((number - day) // minute + 1) if number >= day else 0
    zone = datetime.timezone(datetime.timedelta(minutes=ahead)) if ahead else datetime.UTC
    return (_EPOCH + (number + ahead * minute) * _MICROSECOND).time().replace(tzinfo=zone)


def _from_integer(make: Callable[[int], Any]) -> Callable[[bytes, int], tuple[Any, int]]:
    def decode(data: bytes, at: int) -> tuple[Any, int]:
        number, end = decode_at(data, at)
        return make(number), end

    return decode


def _decode_pickled(data: bytes, at: int) -> tuple[Any, int]:
    start, end = sized_at(data, at)
    pickled = data[start:end]
    try:
        return pickle.loads(pickled), end
    except (ImportError, AttributeError):
        return loads_moved(pickled), end


_DECODERS: dict[int, Callable[[bytes, int], tuple[Any, int]]] = {
    ord("N"): lambda data, at: (None, at),
    ord("i"): lambda data, at: (_LONG.unpack_from(data, at)[0], at + 8),
    ord("I"): _decode_integer,
    ord("f"): lambda data, at: (_DOUBLE.unpack_from(data, at)[0], at + 8),
    ord("q"): _decode_ratio,
    ord("c"): _decode_complex,
    ord("s"): _decode_string,
    ord("b"): _decode_sized,
    ord("t"): _decode_tuple,
    ord("z"): _decode_frozenset,
    ord("D"): _decode_dataclass,
    ord("e"): _decode_enum,
    ord("r"): _decode_row,
    ord("d"): _from_integer(datetime.date.fromordinal),
    ord("T"): _from_integer(lambda number: _EPOCH + number * _MICROSECOND),
    ord("U"): _from_integer(lambda number: _UTC_EPOCH + number * _MICROSECOND),
    ord("l"): _from_integer(lambda number: number * _MICROSECOND),
    ord("h"): _from_integer(_time_of_day),
    ord("u"): lambda data, at: (uuid.UUID(bytes=data[at : at + 16]), at + 16),
    ord("p"): _decode_pickled,
}
