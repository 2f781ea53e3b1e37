"""Where the entries of a state stand in its column family.

A database key is the key group (two bytes), the key (sized), in a namespaced state the namespace (sized), and a tail:
nothing for a value, eight bytes of sequence number for an element of a list, the encoded map key for an entry of a map.
All that one key has in one namespace stands together behind the same prefix, and no prefix is the beginning of another.
"""

from __future__ import annotations

import struct
from typing import Any

import numpy as np

from rekindle.serialization.encodings.pickle_serializer import NAMES_A_CLASS
from rekindle.state.key_hash import key_group_of, key_groups_of_longs
from rekindle.state.rocksdb.key_decoding import decode_at, reading_key_back, sized_at
from rekindle.state.rocksdb.key_encoding import encode, sized

KEY_GROUP_BYTES = 2
_GROUP = struct.Struct(">H")
_pack_group = _GROUP.pack
_pack_integer = struct.Struct(">HBcq").pack  # group, and what ``sized`` and ``encode`` make of an integer of 64 bits
_INTEGER_PREFIX = np.dtype([("group", ">u2"), ("size", "u1"), ("tag", "S1"), ("key", ">i8")])  # the same for many
_SIGN = 1 << 63
_SEQUENCE = struct.Struct(">Q")
pack_sequence = _SEQUENCE.pack


class Layout:
    """Give the prefixes of one state's keys, and read them back."""

    __slots__ = ("_last", "_max_parallelism", "_namespaced", "_placed")

    def __init__(self, max_parallelism: int, namespaced: bool) -> None:
        self._max_parallelism = max_parallelism
        self._namespaced = namespaced
        self._last: Any = self  # no scope key
        self._placed = (b"", True)

    def place(self, scope_key: Any) -> tuple[bytes, bool]:
        """Return the prefix of a scope key, and whether the scope key can be read back from it exactly."""
        if scope_key is self._last:  # a value is often written right after it was read
            return self._placed
        if type(scope_key) is int and -_SIGN <= scope_key < _SIGN and not self._namespaced:
            group = key_group_of(scope_key, self._max_parallelism)
            self._last = scope_key
            self._placed = (_pack_integer(group, 9, b"i", scope_key), True)  # in half of the time
            return self._placed
        key = scope_key
        if self._namespaced:
            key, namespace = scope_key
        data, exact = encode(key)
        prefix = _pack_group(key_group_of(key, self._max_parallelism)) + sized(data)
        if self._namespaced:
            data, namespace_exact = encode(namespace)
            prefix += sized(data)
            exact = exact and namespace_exact
        if NAMES_A_CLASS in prefix:
            with reading_key_back(key):
                self.scope_key(prefix)
        self._last = scope_key
        self._placed = (prefix, exact)
        return self._placed

    def of_key(self, key: Any) -> tuple[bytes, bytes]:
        """Return where what a key has in all its namespaces begins, and what stands behind it."""
        prefix = _pack_group(key_group_of(key, self._max_parallelism)) + sized(encode(key)[0])
        return prefix, prefix + b"\xff\xff"  # a long namespace starts with one 0xff

    def in_order(self, scope_keys: list[Any]) -> tuple[list[Any], list[bytes]]:
        """Return scope keys in the order of their prefixes, and these."""
        integers = self.integers_in_order(scope_keys)
        if integers is not None:
            order, prefixes = integers
            return list(map(scope_keys.__getitem__, order)), prefixes
        placed = [(self.place(scope_key)[0], number) for number, scope_key in enumerate(scope_keys)]
        placed.sort()
        return [scope_keys[number] for _, number in placed], [prefix for prefix, _ in placed]

    def integers_in_order(self, scope_keys: list[Any]) -> tuple[list[int], list[bytes]] | None:
        """Return the order of scope keys by their prefixes, and these; None if not all are integers of 64 bits.

        These can be read back exactly. It takes a fifth of the time that each by itself would take.
        """
        if self._namespaced or set(map(type, scope_keys)) != {int}:
            return None
        try:
            keys = np.array(scope_keys, dtype=np.int64)
        except OverflowError:
            return None
        groups = key_groups_of_longs(keys, self._max_parallelism)
        order = np.lexsort((keys.view(np.uint64), groups))
        prefixes = np.empty(len(keys), _INTEGER_PREFIX)
        prefixes["group"], prefixes["size"], prefixes["tag"] = groups[order], 9, b"i"
        prefixes["key"] = keys[order]
        return order.tolist(), prefixes.view(f"V{_INTEGER_PREFIX.itemsize}").tolist()

    def split(self, database_key: bytes) -> int:
        """Return where in a database key the tail starts."""
        end = end_of_key(database_key)
        return sized_at(database_key, end)[1] if self._namespaced else end

    def scope_key(self, database_key: bytes) -> Any:
        """Read the scope key back from a database key."""
        key = key_of(database_key)
        if not self._namespaced:
            return key
        return key, decode_at(database_key, sized_at(database_key, end_of_key(database_key))[0])[0]


def key_of(database_key: bytes) -> Any:
    """Read the key back from a database key, without its namespace."""
    return decode_at(database_key, sized_at(database_key, KEY_GROUP_BYTES)[0])[0]


def end_of_key(database_key: bytes) -> int:
    """Return where in a database key the part ends that is the same for all namespaces of a key."""
    return sized_at(database_key, KEY_GROUP_BYTES)[1]


def key_group_start(key_group: int) -> bytes:
    """Return what all database keys of a key group, and of later ones, are not below."""
    return _pack_group(key_group)


def key_group_at(database_key: bytes) -> int:
    """Read the key group of a database key."""
    return int(_GROUP.unpack_from(database_key)[0])


def end_of_prefix(prefix: bytes) -> bytes:
    """Return what all database keys with this prefix are below, and all later ones not: no tail starts with 0xff."""
    return prefix + b"\xff"
