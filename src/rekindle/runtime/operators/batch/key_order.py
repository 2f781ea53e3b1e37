"""The order in which a batch job processes its keys: that of PyFlink, for keys that have a type.

Flink sorts by the bytes of the serialized key, each byte taken as a signed number. So integers come negative ones
first, though not in the order of numbers throughout, and strings the shorter ones first. Any other order would do: that
it is the same in every run, and for equal keys, is what counts.
"""

from __future__ import annotations

import struct
from typing import Any

import numpy as np
import numpy.typing as npt

from rekindle.state.rocksdb.key_encoding import encode_key

_SIGNED = bytes(byte ^ 0x80 for byte in range(256))  # makes bytes compare as signed numbers do
_LONGEST_SHORT = 126


def order_of_key(key: Any) -> bytes:
    """Return bytes that are equal for equal keys, different for others, and in the order of keys."""
    return _bytes_of(key).translate(_SIGNED)


def order_of_longs(keys: npt.NDArray[np.int64]) -> npt.NDArray[np.uint64]:
    """Return numbers in the order of integer keys, which is that of :func:`order_of_key`."""
    return keys.view(np.uint64) ^ np.uint64(0x8080808080808080)


def _bytes_of(key: Any) -> bytes:
    if isinstance(key, str):
        return b"s" + _string(key)
    if isinstance(key, tuple):
        return b"t" + b"".join(map(_bytes_of, key)) + b"\0"
    return encode_key(key)


def _string(text: str) -> bytes:
    """Write a string as Flink does: its length plus one, then each unit of UTF-16, seven bits at a time."""
    if len(text) <= _LONGEST_SHORT and text.isascii():
        return bytes((len(text) + 1,)) + text.encode("ascii")
    encoded = text.encode("utf-16-be", "surrogatepass")
    units = struct.unpack(f">{len(encoded) // 2}H", encoded)
    return b"".join(map(_varint, (len(units) + 1, *units)))


def _varint(number: int) -> bytes:
    digits = bytearray()
    while number >= 0x80:
        digits.append(number & 0x7F | 0x80)
        number >>= 7
    digits.append(number)
    return bytes(digits)
