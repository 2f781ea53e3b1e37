"""The hash that sends a key to its key group: the same in every process, in every run, and in Spark SQL.

It is xxh64 with seed 42, Spark's ``xxhash64``, over the bytes of the key: an integer as eight little-endian bytes
(Spark: ``bigint``), a string as UTF-8, a tuple by hashing each element with the hash so far as seed (Spark:
``xxhash64(a, b)``). Keys that are equal in Python have equal hashes: ``1``, ``1.0``, ``True`` and ``Decimal(1)`` are
one key.
"""

from __future__ import annotations

import contextlib
import dataclasses
import datetime
import decimal
import enum
import functools
import numbers
import pathlib
import struct
import types
import uuid
from collections.abc import Callable, Iterator
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt
import xxhash

from rekindle.types.row import Row

SEED = 42

_MASK = (1 << 64) - 1
_SIGN = 1 << 63
_EPOCH = datetime.datetime(1970, 1, 1)
_MICROSECOND = datetime.timedelta(microseconds=1)
_PACK_LONG = struct.Struct("<q").pack
_PACK_DOUBLE = struct.Struct("<d").pack
_xxh64: Callable[[bytes, int], int] = xxhash.xxh64_intdigest


def key_hash(key: Any) -> int:
    """Hash a key to a signed 64-bit number."""
    digest = _hash(key, SEED)
    return digest - (1 << 64) if digest & _SIGN else digest


def key_group_of(key: Any, max_parallelism: int) -> int:
    """Return the key group of a key."""
    return key_hash(key) % max_parallelism


def key_groups_of_longs(keys: npt.NDArray[np.int64], max_parallelism: int) -> npt.NDArray[np.int64]:
    """Return the key groups of many integer keys at once; agrees with :func:`key_group_of` on each of them."""
    return np.mod(_xxh64_longs(keys.astype(np.int64, copy=False)), max_parallelism)


def _hash(key: Any, seed: int) -> int:
    kind = type(key)
    if kind is str:
        return _xxh64(key.encode("utf-8", "surrogatepass"), seed)
    if kind is int or kind is bool:
        return _hash_int(int(key), seed)
    if kind is tuple:
        for element in key:
            seed = _hash(element, seed)
        return seed
    if key is None:
        return seed
    if kind is float:
        return _hash_float(key, seed)
    if kind is bytes:
        return _xxh64(key, seed)
    return _hash_other(key, seed)


def _hash_int(key: int, seed: int) -> int:
    if -_SIGN <= key < _SIGN:
        return _xxh64(_PACK_LONG(key), seed)
    return _xxh64(key.to_bytes(key.bit_length() // 8 + 1, "little", signed=True), seed)


def _hash_float(key: float, seed: int) -> int:
    if key.is_integer():
        return _hash_int(int(key), seed)
    return _xxh64(_PACK_DOUBLE(key), seed)


def _hash_other(key: Any, seed: int) -> int:
    # What is equal to a key of another type hashes as that: an IntEnum as its int, a Fraction as the float it may be.
    if isinstance(key, enum.Enum) and getattr(type(key), "_member_type_", object) is object:
        return _hash((type(key).__qualname__, key.name), seed)
    if isinstance(key, str):
        return _xxh64(str.encode(key, "utf-8", "surrogatepass"), seed)
    if isinstance(key, bytes):
        return _xxh64(bytes(key), seed)
    if isinstance(key, Row):
        return _hash(tuple(key if key._fields is None else key._in_name_order()), seed)
    if isinstance(key, tuple):
        return _hash(tuple(key), seed)
    if isinstance(key, numbers.Number | np.generic):
        return _hash_number(key, seed)
    if isinstance(key, datetime.date | datetime.time | datetime.timedelta):
        return _hash_time(key, seed)
    if isinstance(key, uuid.UUID):
        return _xxh64(key.bytes, seed)
    if isinstance(key, msgspec.Struct) or (dataclasses.is_dataclass(key) and not isinstance(key, type)):
        for field in fields_of_key(type(key)):
            seed = _hash(getattr(key, field), seed)
        return seed
    return _hash_object(key, seed)


@functools.lru_cache
def fields_of_key(kind: Any) -> tuple[str, ...]:
    """Name the fields that make two dataclasses or structs equal, in an order that outlives that of the declaration."""
    if issubclass(kind, msgspec.Struct):
        return tuple(sorted(kind.__struct_fields__))
    return tuple(sorted(field.name for field in dataclasses.fields(kind) if field.compare))


def plain_time(key: np.datetime64 | np.timedelta64) -> Any:
    """Return the datetime or timedelta that a time of numpy's equals; else it, in the unit of all that equal it."""
    kind = "M8" if isinstance(key, np.datetime64) else "m8"
    if kind == "m8" and np.datetime_data(key.dtype)[0] in ("Y", "M"):
        return key.astype("m8[M]")
    found = key
    for unit in ("us", "ns", "ps", "fs", "as"):
        found = key.astype(f"{kind}[{unit}]")
        if found == key:
            break
    item = found.item()
    return item if isinstance(item, datetime.datetime | datetime.timedelta) else found


def canonical(key: Any) -> Any:
    """Return the one object that stands for all that are equal to a key, where pickle would tell them apart."""
    if isinstance(key, range):
        step = key.step if len(key) > 1 else 1
        start = key.start if key else 0
        return range(start, start + len(key) * step, step)
    if isinstance(key, datetime.timezone):
        return datetime.timezone(key.utcoffset(None))
    if isinstance(key, pathlib.PurePosixPath):
        return key if type(key) is pathlib.PurePosixPath else pathlib.PurePosixPath(key)
    if isinstance(key, pathlib.PureWindowsPath):
        return pathlib.PureWindowsPath(str(key).lower())
    return key


def _hash_number(key: Any, seed: int) -> int:
    if isinstance(key, np.datetime64 | np.timedelta64):
        plain = plain_time(key)
        return _hash_int(int(plain.astype(np.int64)), seed) if isinstance(plain, np.generic) else _hash(plain, seed)
    if isinstance(key, int):
        return _hash_int(int(key), seed)
    if isinstance(key, float):
        return _hash_float(float(key), seed)
    if isinstance(key, complex):
        return _hash_float(key.real, seed if key.imag == 0 else _hash_float(key.imag, seed))
    if isinstance(key, np.generic):
        item = key.item()
        return _hash(complex(item) if isinstance(item, np.number) else item, seed)  # a long double has no Python twin
    if isinstance(key, decimal.Decimal):
        return _hash_ratio(*key.as_integer_ratio(), seed) if key.is_finite() else _hash_float(float(key), seed)
    if isinstance(key, numbers.Rational):
        return _hash_ratio(int(key.numerator), int(key.denominator), seed)
    return _hash_object(key, seed)


def _hash_ratio(numerator: int, denominator: int, seed: int) -> int:
    if denominator == 1:
        return _hash_int(numerator, seed)
    with contextlib.suppress(OverflowError):
        nearest = numerator / denominator
        if nearest.as_integer_ratio() == (numerator, denominator):
            return _hash_float(nearest, seed)
    return _hash_int(denominator, _hash_int(numerator, seed))


def _hash_time(key: datetime.date | datetime.time | datetime.timedelta, seed: int) -> int:
    if isinstance(key, datetime.datetime):  # microseconds, as Spark hashes a timestamp
        key = key.replace(fold=0)  # a time that comes twice is one key, as it has one hash
        naive = key.utcoffset() is None
        since = key.replace(tzinfo=None) - _EPOCH if naive else key - _EPOCH.replace(tzinfo=datetime.UTC)
        return _hash_int(since // _MICROSECOND, seed)
    if isinstance(key, datetime.date):
        return _hash_int(key.toordinal(), seed)
    if isinstance(key, datetime.time):
        of_day = datetime.timedelta(0, key.second, key.microsecond, 0, key.minute, key.hour)
        key = of_day - (key.utcoffset() or datetime.timedelta())
    return _hash_int(key // _MICROSECOND, seed)


def _hash_object(key: Any, seed: int) -> int:
    """Hash by what pickle would keep, but whatever the order of dicts and sets and whoever shares which object."""
    if isinstance(key, frozenset | set | dict):
        combined = len(key)
        for element in key.items() if isinstance(key, dict) else key:
            combined ^= _hash(element, SEED)
        return _hash_int(combined, seed)
    if isinstance(key, list | Iterator):
        return _hash(tuple(key), seed)
    if isinstance(key, type | types.FunctionType | types.BuiltinFunctionType):
        return _hash((key.__module__, key.__qualname__), seed)
    return _hash(canonical(key).__reduce_ex__(4), seed)


_P1 = np.uint64(0x9E3779B185EBCA87)
_P2 = np.uint64(0xC2B2AE3D27D4EB4F)
_P3 = np.uint64(0x165667B19E3779F9)
_P4 = np.uint64(0x85EBCA77C2B2AE63)
_P5 = np.uint64(0x27D4EB2F165667C5)


def _rotate_left(x: npt.NDArray[np.uint64], bits: int) -> npt.NDArray[np.uint64]:
    return (x << np.uint64(bits)) | (x >> np.uint64(64 - bits))


def _xxh64_longs(keys: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Compute xxh64 of eight-byte inputs: the short-input branch of the algorithm, on whole columns."""
    with np.errstate(over="ignore"):
        start = np.uint64((SEED + int(_P5) + 8) & _MASK)
        h = start ^ (_rotate_left(keys.view(np.uint64) * _P2, 31) * _P1)
        h = _rotate_left(h, 27) * _P1 + _P4
        h = (h ^ (h >> np.uint64(33))) * _P2
        h = (h ^ (h >> np.uint64(29))) * _P3
        h = h ^ (h >> np.uint64(32))
    return h.view(np.int64)
