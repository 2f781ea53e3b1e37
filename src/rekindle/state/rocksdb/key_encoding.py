"""Keys as bytes: keys that are equal in Python have equal bytes, in every process and in every run.

Used for keys, namespaces and the keys of maps. An encoding tells where it ends, so that encodings can stand one after
the other. Numbers are normalised as in :mod:`rekindle.state.key_hash`: ``1``, ``1.0``, ``True`` and ``Decimal(1)`` are
one key. What :mod:`rekindle.state.rocksdb.key_decoding` gives back equals what was encoded; where it may be of another
type the encoding is called inexact.

A key is a tag of one byte and what the tag asks for::

    N None                         t tuple: count, elements
    i integer of 64 bits           z frozenset: count, elements in the order of their bytes
    I larger integer: sized        D dataclass, struct: class, count, fields in the order of their names
    f float                        e member of an enum: class, name
    q fraction: two integers       r Row: kind, whether it has names, values, names
    c complex: two floats          d date, T datetime without zone, U datetime in UTC, l timedelta: an integer
    s string: sized UTF-8          h time of day with a zone, as if it were UTC: an integer
    b bytes: sized                 u UUID
                                   p anything else: sized pickle
"""

from __future__ import annotations

import contextlib
import dataclasses
import datetime
import decimal
import enum
import functools
import importlib
import io
import math
import numbers
import operator
import pickle
import struct
import sys
import uuid
from collections.abc import Iterable
from typing import Any

import msgspec
import numpy as np

from rekindle.state.key_hash import canonical, fields_of_key, plain_time
from rekindle.types.row import Row

_pack_long = struct.Struct(">q").pack
_pack_double = struct.Struct(">d").pack
_SIGN = 1 << 63
_SHORT = 255
_SIZES = tuple(bytes([size]) for size in range(_SHORT))
_EPOCH = datetime.datetime(1970, 1, 1)
_UTC_EPOCH = _EPOCH.replace(tzinfo=datetime.UTC)
_MICROSECOND = datetime.timedelta(microseconds=1)


def encode_key(key: Any) -> bytes:
    """Encode a key."""
    return encode(key)[0]


def encode(key: Any) -> tuple[bytes, bool]:
    """Encode a key, and say whether decoding gives a key of the same type rather than one that is merely equal."""
    kind = type(key)
    if kind is str:
        return b"s" + sized(key.encode("utf-8", "surrogatepass")), True
    if kind is int:
        return _integer(key), True
    if kind is tuple:
        return _collection(b"t", map(encode, key), len(key))
    if key is None:
        return b"N", True
    if kind is bytes:
        return b"b" + sized(key), True
    if kind is float:
        return _float(key), not key.is_integer()
    return _other(key)


def sized(data: bytes) -> bytes:
    """Put the length of some bytes in front of them: one byte, or five from 255 on."""
    size = len(data)
    return (_SIZES[size] if size < _SHORT else b"\xff" + size.to_bytes(4, "big")) + data


def _integer(key: int) -> bytes:
    if -_SIGN <= key < _SIGN:
        return b"i" + _pack_long(key)
    return b"I" + sized(key.to_bytes(key.bit_length() // 8 + 1, "big", signed=True))


def _float(key: float) -> bytes:
    if key.is_integer():
        return _integer(int(key))
    return b"f" + _pack_double(math.nan if key != key else key)


def _ratio(numerator: int, denominator: int) -> bytes:
    if denominator == 1:
        return _integer(numerator)
    with contextlib.suppress(OverflowError):
        nearest = numerator / denominator
        if nearest.as_integer_ratio() == (numerator, denominator):
            return _float(nearest)
    return b"q" + _integer(numerator) + _integer(denominator)


def _collection(tag: bytes, encodings: Iterable[tuple[bytes, bool]], count: int) -> tuple[bytes, bool]:
    parts = [tag + (_SIZES[count] if count < _SHORT else b"\xff" + count.to_bytes(4, "big"))]
    exact = True
    for data, element_exact in encodings:
        parts.append(data)
        exact = exact and element_exact
    return b"".join(parts), exact


def _other(key: Any) -> tuple[bytes, bool]:
    # What is equal to a key of another type is encoded as that: an IntEnum as its int, a named tuple as a tuple.
    if isinstance(key, enum.Enum) and getattr(type(key), "_member_type_", object) is object:
        if isinstance(key, enum.Flag):  # may have no name
            return _pickled(key)
        return b"e" + _class_name(type(key)) + sized(key.name.encode()), True
    if isinstance(key, str):
        return encode(str.__str__(key))[0], False
    if isinstance(key, bytes):
        return encode(bytes(key))[0], False
    if isinstance(key, tuple):
        return encode(tuple(key))[0], False
    if isinstance(key, numbers.Number | np.generic):
        return _number(key)
    if type(key) is Row:
        return _row(key)
    if isinstance(key, frozenset):
        data, exact = _collection(b"z", sorted(map(encode, key)), len(key))
        return data, exact and type(key) is frozenset
    if isinstance(key, datetime.date | datetime.timedelta):
        return _time(key)
    if isinstance(key, datetime.time):
        return _time_of_day(key)
    if isinstance(key, uuid.UUID):
        return b"u" + key.bytes, type(key) is uuid.UUID
    if isinstance(key, msgspec.Struct) or (dataclasses.is_dataclass(key) and not isinstance(key, type)):
        return _dataclass(key)
    return _pickled(key)


def _number(key: Any) -> tuple[bytes, bool]:
    if isinstance(key, np.datetime64 | np.timedelta64):
        plain = plain_time(key)
        return (_pickled(plain) if isinstance(plain, np.generic) else encode(plain))[0], False
    if isinstance(key, int):
        return _integer(int(key)), False
    if isinstance(key, float):
        return _float(float(key)), False
    if isinstance(key, complex):
        if key.imag == 0:
            return _float(key.real), False
        exact = type(key) is complex and (key.real != 0 or math.copysign(1, key.real) > 0)  # -0 becomes 0
        return b"c" + _pack_double(key.real + 0.0) + _pack_double(key.imag), exact
    if isinstance(key, decimal.Decimal):
        return _ratio(*key.as_integer_ratio()) if key.is_finite() else _float(float(key)), False
    if isinstance(key, numbers.Rational):
        return _ratio(int(key.numerator), int(key.denominator)), False
    if isinstance(key, np.longdouble):
        return _ratio(*key.as_integer_ratio()) if np.isfinite(key) else _float(float(key)), False
    if isinstance(key, np.number | np.bool_) and not isinstance(key, np.clongdouble):
        return encode(key.item())[0], False
    return _pickled(key)


def _row(key: Row) -> tuple[bytes, bool]:
    """Encode a row; rows with the same names in another order are equal."""
    head = b"r" + _SIZES[key._row_kind.value]
    if key._fields is None:
        values, exact = encode(tuple(key._values))
        return head + b"\0" + values, exact
    names = sorted(key._fields)
    values, values_exact = encode(tuple(key._in_name_order()))
    encoded_names, names_exact = encode(tuple(names))
    return head + b"\1" + values + encoded_names, values_exact and names_exact and names == key._fields


def _time(key: datetime.date | datetime.timedelta) -> tuple[bytes, bool]:
    if isinstance(key, datetime.datetime):
        if getattr(key, "nanosecond", 0):  # of pandas: no datetime can be equal to it
            return _pickled(key)
        exact = type(key) is datetime.datetime and not key.fold
        if key.utcoffset() is None:
            return b"T" + _integer((key.replace(tzinfo=None) - _EPOCH) // _MICROSECOND), exact and key.tzinfo is None
        if key.replace(fold=not key.fold).utcoffset() != key.utcoffset():  # equal to no time of another zone
            return _pickled(key.replace(fold=0))[0], exact
        return b"U" + _integer((key - _UTC_EPOCH) // _MICROSECOND), exact and key.tzinfo is datetime.UTC
    if isinstance(key, datetime.date):
        return b"d" + _integer(key.toordinal()), type(key) is datetime.date
    if getattr(key, "nanoseconds", 0):
        return _pickled(key)
    return b"l" + _integer(key // _MICROSECOND), type(key) is datetime.timedelta


def _time_of_day(key: datetime.time) -> tuple[bytes, bool]:
    """Encode a time of day; one whose zone needs a date to tell its offset equals one without a zone."""
    plain = datetime.time(key.hour, key.minute, key.second, key.microsecond)
    exact = type(key) is datetime.time and not key.fold
    offset = key.utcoffset()
    if offset is None:
        return _pickled(plain)[0], exact and key.tzinfo is None
    of_day = datetime.datetime.combine(_EPOCH, plain) - _EPOCH
    return b"h" + _integer((of_day - offset) // _MICROSECOND), exact and key.tzinfo is datetime.UTC


def _dataclass(key: Any) -> tuple[bytes, bool]:
    hash(key)  # raises where the class has no hash, as a lookup in a dict does
    kind: Any = type(key)
    head, fields, complete = dataclass_plan(kind)
    data, exact = _collection(head, (encode(getattr(key, field)) for field in fields), len(fields))
    return data, exact and complete


def _pickled(key: Any) -> tuple[bytes, bool]:
    hash(key)  # raises for what can be no key: a list, or the lack of a key
    stands_for = canonical(key)
    buffer = io.BytesIO()
    pickler = pickle.Pickler(buffer, 5)
    pickler.fast = True  # no memo: whether two parts are one object makes no difference
    pickler.dump(stands_for)
    return b"p" + sized(buffer.getvalue()), stands_for is key


@functools.lru_cache
def dataclass_plan(kind: Any) -> tuple[bytes, tuple[str, ...], bool]:
    """Return the head of the encoding, the fields that make two keys equal, by name, and whether these are all."""
    fields = kind.__struct_fields__ if issubclass(kind, msgspec.Struct) else dataclasses.fields(kind)
    compared = fields_of_key(kind)
    return b"D" + _class_name(kind), compared, len(compared) == len(fields)


@functools.lru_cache
def _class_name(kind: type) -> bytes:
    if find_class(kind.__module__, kind.__qualname__) is not kind:
        raise pickle.PicklingError(
            f"{kind.__qualname__!r} of module {kind.__module__!r} cannot be the class of a key: it is not found under "
            "its name. Define it at the top level of a module"
        )
    return sized(kind.__module__.encode()) + sized(kind.__qualname__.encode())


def find_class(module: str, name: str) -> Any:
    """Find a class by its module and qualified name; None if it is not there."""
    try:
        found = sys.modules.get(module) or importlib.import_module(module)
        return operator.attrgetter(name)(found)
    except (ImportError, AttributeError):
        return None
