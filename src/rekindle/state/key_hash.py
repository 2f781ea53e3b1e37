"""The hash that sends a key to its key group: the same in every process, in every run, and in Spark SQL.

It is xxh64 with seed 42, Spark's ``xxhash64``, over the bytes of the key: an integer as eight little-endian bytes
(Spark: ``bigint``), a string as UTF-8, a tuple by hashing each element with the hash so far as seed (Spark:
``xxhash64(a, b)``). Keys that are equal in Python have equal hashes: ``1``, ``1.0``, ``True`` and ``Decimal(1)`` are
one key.
"""

from __future__ import annotations

import dataclasses
import datetime
import decimal
import enum
import pickle
import struct
import uuid
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import xxhash

from rekindle.common.types import Row

SEED = 42

_MASK = (1 << 64) - 1
_SIGN = 1 << 63
_PACK_LONG = struct.Struct("<q").pack
_PACK_DOUBLE = struct.Struct("<d").pack
_xxh64: Callable[[bytes, int], int] = xxhash.xxh64_intdigest


def key_hash(key: Any) -> int:
    """Hash a key to a signed 64-bit number."""
    digest = _hash(key, SEED)
    return digest - (1 << 64) if digest & _SIGN else digest


def key_group_of(key: Any, max_parallelism: int) -> int:
    """Give the key group of a key."""
    return key_hash(key) % max_parallelism


def key_groups_of_longs(keys: npt.NDArray[np.int64], max_parallelism: int) -> npt.NDArray[np.int64]:
    """Give the key groups of many integer keys at once; agrees with :func:`key_group_of` on each of them."""
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
    if isinstance(key, enum.Enum):
        return _hash((type(key).__qualname__, key.name), seed) if not isinstance(key, int | str) else _hash(key.value, seed)
    if isinstance(key, bool | int):
        return _hash_int(int(key), seed)
    if isinstance(key, str):
        return _xxh64(str.encode(key, "utf-8", "surrogatepass"), seed)
    if isinstance(key, float):
        return _hash_float(float(key), seed)
    if isinstance(key, np.generic):
        return _hash(key.item(), seed)
    if isinstance(key, Row | tuple):
        for element in key:
            seed = _hash(element, seed)
        return seed
    if isinstance(key, decimal.Decimal):
        return _hash_decimal(key, seed)
    if isinstance(key, datetime.datetime):
        instant = key.timestamp() if key.tzinfo else (key - datetime.datetime(1970, 1, 1)).total_seconds()
        return _xxh64(_PACK_DOUBLE(instant), seed)
    if isinstance(key, datetime.date):
        return _hash_int(key.toordinal(), seed)
    if isinstance(key, datetime.time | datetime.timedelta):
        return _xxh64(str(key).encode(), seed)
    if isinstance(key, uuid.UUID):
        return _xxh64(key.bytes, seed)
    if isinstance(key, frozenset):
        combined = len(key)
        for element in key:
            combined ^= _hash(element, SEED)
        return _hash_int(combined, seed)
    if dataclasses.is_dataclass(key):
        for field in dataclasses.fields(key):
            seed = _hash(getattr(key, field.name), seed)
        return seed
    return _xxh64(pickle.dumps(key, 5), seed)


def _hash_decimal(key: decimal.Decimal, seed: int) -> int:
    if key.is_finite():
        if key == key.to_integral_value():
            return _hash_int(int(key), seed)
        if decimal.Decimal(float(key)) == key:
            return _hash_float(float(key), seed)
    return _xxh64(str(key.normalize()).encode(), seed)


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
