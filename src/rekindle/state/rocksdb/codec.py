"""Values as bytes: what stands in the database for a value, an element of a list, a value of a map.

That is a pickle; in a state with time-to-live eight bytes of last access stand before it. Where the database key does
not give back the key exactly, such as True, which equals 1, a byte and the pickled pair (key, value) take its place.
"""

from __future__ import annotations

import pickle
import struct
from typing import Any

LAST_ACCESS_BYTES = 8
_PICKLE = 0x80  # what every pickle starts with
_WITH_KEY = b"\x01"
_LAST_ACCESS = struct.Struct(">q")
pack_last_access = _LAST_ACCESS.pack
_dumps = pickle.dumps
_loads = pickle.loads


class Codec:
    """Encode and decode the values of one state; with ``ttl`` they are pairs (value, last access)."""

    __slots__ = ("ttl",)

    def __init__(self, ttl: bool) -> None:
        self.ttl = ttl

    def encode(self, value: Any) -> bytes:
        """Encode a value."""
        if self.ttl:
            value, last_access = value
            return pack_last_access(last_access) + _dumps(value, 5)
        return _dumps(value, 5)

    def encode_with_key(self, key: Any, value: Any) -> bytes:
        """Encode a value and the key that its database key stands for."""
        if self.ttl:
            value, last_access = value
            return pack_last_access(last_access) + _WITH_KEY + _dumps((key, value), 5)
        return _WITH_KEY + _dumps((key, value), 5)

    def decode(self, data: bytes) -> Any:
        """Decode a value."""
        if self.ttl:
            at = LAST_ACCESS_BYTES
            value = _loads(data[at:]) if data[at] == _PICKLE else _loads(data[at + 1 :])[1]
            return value, last_access_of(data)
        return _loads(data) if data[0] == _PICKLE else _loads(data[1:])[1]

    def key_in(self, data: bytes) -> tuple[Any] | None:
        """Give the key that was encoded with a value; None if there was none."""
        at = LAST_ACCESS_BYTES if self.ttl else 0
        return None if data[at] == _PICKLE else (_loads(data[at + 1 :])[0],)


def last_access_of(data: bytes) -> int:
    """Read the last access of a value of a state with time-to-live."""
    return int(_LAST_ACCESS.unpack_from(data)[0])
