"""Writes blocks: keys and values by the serializers of their state. The format is in ``block_format``."""

from __future__ import annotations

from itertools import chain
from typing import Any

from rekindle.exceptions import SerializationError
from rekindle.state.block_format import BlockDelta, BlockKeys, BlockValues, BlockWhole, encode_block
from rekindle.state.blocks import KeyGroupBlock, StateSpec
from rekindle.state.map_keys import check_unchanged
from rekindle.state.state_serializers import StateSerializers, StoredSerializers

BLOCK_BYTES = 64 << 20
"""About what a block has at most: a key group with more has several, each with some of its keys."""


class BlockEncoder:
    """Encode the blocks of one state."""

    __slots__ = ("_serializers", "_spec", "_stored")

    def __init__(self, spec: StateSpec, serializers: StateSerializers, stored: StoredSerializers) -> None:
        self._spec = spec
        self._serializers = serializers
        self._stored = stored

    def whole(self, key_group: int, keys: list[Any], values: list[Any]) -> KeyGroupBlock:
        """Encode all entries of the state in a key group: keys, and what the state keeps for each."""
        try:
            data = encode_block(BlockWhole(self._keys(keys), self._values(values)))
        except Exception as error:  # pickling may raise anything
            raise unwritable(self._spec.name, error) from error
        return self._block(key_group, len(keys), data)

    def serialized(
        self,
        key_group: int,
        keys: list[Any],
        values: list[bytes | None],
        lengths: list[int],
        map_keys: list[Any],
        last_access: list[int],
    ) -> KeyGroupBlock:
        """Encode all entries of the state in a key group, whose values have been serialized one by one before."""
        held = BlockValues(
            [value for value in values if value is not None],
            lengths,
            self._map_keys(map_keys) if map_keys else b"",
            [index for index, value in enumerate(values) if value is None],
            last_access,
        )
        return self._block(key_group, len(keys), encode_block(BlockWhole(self._keys(keys), held)))

    def delta(self, key_group: int, keys: list[Any], changes: list[Any], removed: list[Any]) -> KeyGroupBlock:
        """Encode what became of some keys in a key group: changes, and keys that have no entry any more."""
        flat = self._spec.kind.shape.flat_changes(changes)
        gone = list(chain.from_iterable(flat.removed))
        try:
            data = encode_block(
                BlockDelta(
                    self._keys(keys),
                    self._values(flat.values),
                    self._keys(removed),
                    flat.starts,
                    flat.cleared,
                    list(map(len, flat.removed)),
                    self._serializers.map_key.all_to_bytes(gone) if gone else b"",
                )
            )
        except Exception as error:  # pickling may raise anything
            raise unwritable(self._spec.name, error) from error
        return self._block(key_group, len(keys) + len(removed), data, delta=True)

    def _block(self, key_group: int, entries: int, data: bytes, delta: bool = False) -> KeyGroupBlock:
        spec = self._spec
        return KeyGroupBlock(
            spec.name, spec.kind.name, key_group, entries, data, spec.ttl, spec.namespaced, delta, self._stored
        )

    def _keys(self, keys: list[Any]) -> BlockKeys:
        serializers = self._serializers
        if not self._spec.namespaced:
            return BlockKeys(serializers.key.all_to_bytes(keys))
        return BlockKeys(
            serializers.key.all_to_bytes([key for key, _ in keys]),
            serializers.namespace.all_to_bytes([namespace for _, namespace in keys]),
        )

    def _map_keys(self, keys: list[Any]) -> bytes:
        serializer = self._serializers.map_key
        check_unchanged(serializer, keys)
        return serializer.all_to_bytes(keys)

    def _values(self, values: list[Any]) -> BlockValues:
        spec, serializers = self._spec, self._serializers
        nones: list[int] = []
        last_access: list[int] = []
        shape = spec.kind.shape
        flat = shape.flat(values)
        values = flat.values
        map_keys = self._map_keys(flat.map_keys) if shape.has_map_keys else b""
        if spec.ttl:
            last_access = [stamp for _, stamp in values]
            values = [value for value, _ in values]
        if shape.has_map_keys and any(value is None for value in values):
            nones = [index for index, value in enumerate(values) if value is None]
            values = [value for value in values if value is not None]
        return BlockValues(serializers.value.all_to_bytes(values), flat.lengths, map_keys, nones, last_access)


def unwritable(name: str, error: Exception) -> SerializationError:
    """Say that a state cannot be part of a snapshot."""
    reason = str(error) if isinstance(error, SerializationError) else f"{type(error).__name__}: {error}"
    return SerializationError(f"state {name!r} cannot be written: {reason}")
