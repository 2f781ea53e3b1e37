"""Blocks as bytes: what the serializers of a state make of its keys and values, and how many belong together.

The values of all keys stand in one row: in a list state the elements of all lists, in a map state the values of all
maps. ``lengths`` says how many each key has. None, which only a map may hold, is left out and its place noted. Values
are either serialized as a whole, or, where a backend has each as bytes already, stand as they are.
"""

from __future__ import annotations

import msgspec


class BlockKeys(msgspec.Struct, frozen=True, array_like=True):
    """Hold keys, and in a namespaced state their namespaces."""

    keys: bytes
    namespaces: bytes = b""


class BlockValues(msgspec.Struct, frozen=True, array_like=True):
    """Hold the values of some keys.

    Attributes:
        values: All values that are not None, as one or one by one.
        lengths: How many values each key has, in a list or map state.
        map_keys: The keys of the values, in a map state.
        nones: The indices of values that are None.
        last_access: The time of last access of each value, with time-to-live.
    """

    values: bytes | list[bytes]
    lengths: list[int] = []
    map_keys: bytes = b""
    nones: list[int] = []
    last_access: list[int] = []


class BlockWhole(msgspec.Struct, frozen=True, array_like=True):
    """Hold all entries."""

    keys: BlockKeys
    values: BlockValues


class BlockDelta(msgspec.Struct, frozen=True, array_like=True):
    """Hold changes.

    Attributes:
        keys: The keys that have new values.
        values: These values.
        removed: The keys that have none any more.
        starts: For each list, from which element on it is new.
        cleared: For each map, whether it is emptied first.
        gone: How many entries each map loses.
        gone_keys: The keys of these entries.
    """

    keys: BlockKeys
    values: BlockValues
    removed: BlockKeys
    starts: list[int] = []
    cleared: list[bool] = []
    gone: list[int] = []
    gone_keys: bytes = b""


encode_block = msgspec.msgpack.Encoder().encode
decode_whole_block = msgspec.msgpack.Decoder(BlockWhole).decode
decode_delta_block = msgspec.msgpack.Decoder(BlockDelta).decode
