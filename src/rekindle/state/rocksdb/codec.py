"""Values as bytes: what stands in the database for a value, an element of a list, a value of a map.

That is a byte of flags and what the serializer of the state makes of the value; None, which only a map may hold, is a
flag and nothing else. In a state with time-to-live eight bytes of last access stand before it all. Where the database
key does not give back the key exactly, such as True, which equals 1, the serialized key stands before the value.
"""

from __future__ import annotations

import struct
from typing import Any

import msgspec

from rekindle.state.rocksdb.key_decoding import sized_at
from rekindle.state.rocksdb.key_encoding import sized
from rekindle.state.state_serializers import StateSerializers

LAST_ACCESS_BYTES = 8
_WITH_KEY = 1
_NONE = 2
_PLAIN_FLAGS = b"\0"
_LAST_ACCESS = struct.Struct(">q")
pack_last_access = _LAST_ACCESS.pack
_encode_parts = msgspec.msgpack.Encoder().encode
_decode_parts = msgspec.msgpack.Decoder(list[bytes]).decode


class Codec:
    """Encode and decode the values of one state; with ``ttl`` they are pairs (value, last access)."""

    __slots__ = ("_from_bytes", "_has_map_keys", "_namespaced", "_serializers", "_to_bytes", "ttl")

    def __init__(
        self, ttl: bool, serializers: StateSerializers, has_map_keys: bool = False, namespaced: bool = False
    ) -> None:
        self.ttl = ttl
        self._serializers = serializers
        self._to_bytes = serializers.value.to_bytes
        self._from_bytes = serializers.value.from_bytes
        self._has_map_keys = has_map_keys
        self._namespaced = namespaced

    def encode(self, value: Any) -> bytes:
        """Encode a value."""
        if self.ttl:
            value, last_access = value
            return pack_last_access(last_access) + self._flagged(value)
        return self._flagged(value)

    def encode_with_key(self, key: Any, value: Any) -> bytes:
        """Encode a value and the key that its database key stands for: the scope key, and in a map the map key."""
        head = b""
        if self.ttl:
            value, last_access = value
            head = pack_last_access(last_access)
        head += bytes([_WITH_KEY if value is not None else _WITH_KEY | _NONE]) + sized(self._key_to_bytes(key))
        return head if value is None else head + self._to_bytes(value)

    def decode(self, data: bytes) -> Any:
        """Decode a value."""
        if self.ttl:
            start, is_none = _value_start(data, LAST_ACCESS_BYTES)
            return None if is_none else self._from_bytes(data[start:]), last_access_of(data)
        if not data[0]:
            return self._from_bytes(data[1:])
        start, is_none = _value_start(data, 0)
        return None if is_none else self._from_bytes(data[start:])

    def key_in(self, data: bytes) -> tuple[Any, Any] | None:
        """Return the scope key that was encoded with a value, and the map key, None without maps; None if none was."""
        at = LAST_ACCESS_BYTES if self.ttl else 0
        if not data[at] & _WITH_KEY:
            return None
        start, end = sized_at(data, at + 1)
        parts = _decode_parts(data[start:end])
        scope_key = self._serializers.key.from_bytes(parts[0])
        if self._namespaced:
            scope_key = (scope_key, self._serializers.namespace.from_bytes(parts[1]))
        return scope_key, self._serializers.map_key.from_bytes(parts[-1]) if self._has_map_keys else None

    def _flagged(self, value: Any) -> bytes:
        return bytes([_NONE]) if value is None else _PLAIN_FLAGS + self._to_bytes(value)

    def _key_to_bytes(self, key: Any) -> bytes:
        parts = []
        map_key = None
        if self._has_map_keys:
            key, map_key = key
        if self._namespaced:
            key, namespace = key
            parts = [
                self._serializers.key.to_readable_bytes(key),
                self._serializers.namespace.to_readable_bytes(namespace),
            ]
        else:
            parts = [self._serializers.key.to_readable_bytes(key)]
        if self._has_map_keys:
            parts.append(self._serializers.map_key.to_readable_bytes(map_key))
        return _encode_parts(parts)


def split_value(data: bytes, ttl: bool) -> tuple[bytes, bytes | None]:
    """Split what stands in the database into what stands before the value, and the value; None where it is None."""
    start, is_none = _value_start(data, LAST_ACCESS_BYTES if ttl else 0)
    return data[:start], None if is_none else data[start:]


def last_access_of(data: bytes) -> int:
    """Read the last access of a value of a state with time-to-live."""
    return int(_LAST_ACCESS.unpack_from(data)[0])


def _value_start(data: bytes, at: int) -> tuple[int, bool]:
    flags = data[at]
    start = sized_at(data, at + 1)[1] if flags & _WITH_KEY else at + 1
    return start, bool(flags & _NONE)
