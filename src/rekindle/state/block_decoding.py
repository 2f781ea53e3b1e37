"""Reads blocks, each with the serializers that fit those it was written with. The format is in ``block_format``."""

from __future__ import annotations

from itertools import islice
from typing import Any

import msgspec

from rekindle.exceptions import SerializationError
from rekindle.state.block_format import BlockDelta, BlockKeys, BlockValues, decode_delta_block, decode_whole_block
from rekindle.state.blocks import KeyGroupBlock
from rekindle.state.kinds.state_kind import kind_named
from rekindle.state.shapes.state_shape import FlatChanges, FlatValues, StateShape
from rekindle.state.state_serializers import StateSerializers, restored_serializers
from rekindle.types.type_serializer import TypeSerializer


class BlockDecoder:
    """Decode the blocks of one state that were written with certain serializers."""

    __slots__ = ("_readers",)

    def __init__(self, readers: StateSerializers) -> None:
        self._readers = readers

    def whole(self, block: KeyGroupBlock) -> tuple[list[Any], list[Any]]:
        """Return the keys and values of a whole block."""
        try:
            held = decode_whole_block(block.data)
            return self._keys(block, held.keys), self._values(block, held.values)
        except (SerializationError, msgspec.MsgspecError, ValueError) as error:
            raise _unreadable(block, error) from error

    def read_keys(self, block: KeyGroupBlock) -> None:
        """Read the keys of a whole block, and those of its maps, but no values."""
        try:
            held = decode_whole_block(block.data)
            self._keys(block, held.keys)
            if held.values.map_keys:
                self._readers.map_key.all_from_bytes(held.values.map_keys)
        except (SerializationError, msgspec.MsgspecError, ValueError) as error:
            raise _unreadable(block, error) from error

    def keys_of(self, block: KeyGroupBlock) -> list[Any]:
        """Return the keys of a block, whole or of changes, having read all of it."""
        if not block.delta:
            return self.whole(block)[0]
        try:
            held = decode_delta_block(block.data)
            self._changes(block, held)
            return self._keys(block, held.keys) + self._keys(block, held.removed)
        except (SerializationError, msgspec.MsgspecError, ValueError) as error:
            raise _unreadable(block, error) from error

    def apply_delta(self, block: KeyGroupBlock, entries: dict[Any, Any], accessed_at: int | None = None) -> None:
        """Change the entries of the blocks before as a delta block says.

        Args:
            block: The changes.
            entries: What they are changes to.
            accessed_at: If given, the entries have times of last access and the changes do not: they get this one.
        """
        shape = _shape(block)
        try:
            held = decode_delta_block(block.data)
            keys, removed = self._keys(block, held.keys), self._keys(block, held.removed)
            changes = self._changes(block, held)
        except (SerializationError, msgspec.MsgspecError, ValueError) as error:
            raise _unreadable(block, error) from error
        if accessed_at is not None:
            changes = [shape.change_with_last_access(change, accessed_at) for change in changes]
        shape.apply(entries, keys, changes)
        for key in removed:
            entries.pop(key, None)

    def _changes(self, block: KeyGroupBlock, held: BlockDelta) -> list[Any]:
        values = self._values(block, held.values)
        gone = iter(self._readers.map_key.all_from_bytes(held.gone_keys) if held.gone_keys else ())
        removed = [list(islice(gone, count)) for count in held.gone]
        return _shape(block).gathered_changes(FlatChanges(values, held.starts, held.cleared, removed))

    def _keys(self, block: KeyGroupBlock, held: BlockKeys) -> list[Any]:
        keys = self._readers.key.all_from_bytes(held.keys)
        if not block.namespaced:
            return keys
        return list(zip(keys, self._readers.namespace.all_from_bytes(held.namespaces), strict=True))

    def _values(self, block: KeyGroupBlock, held: BlockValues) -> list[Any]:
        values = _read_values(self._readers.value, held.values)
        for index in held.nones:
            values.insert(index, None)
        if block.ttl:
            values = list(zip(values, held.last_access, strict=True))
        shape = _shape(block)
        map_keys = self._readers.map_key.all_from_bytes(held.map_keys) if shape.has_map_keys else []
        return shape.gathered(FlatValues(values, held.lengths, map_keys))


def decode_whole(block: KeyGroupBlock) -> tuple[list[Any], list[Any]]:
    """Return the keys and values of a whole block, read with the serializers that wrote it."""
    return BlockDecoder(_restored(block)).whole(block)


def apply_delta(block: KeyGroupBlock, entries: dict[Any, Any]) -> None:
    """Change entries as a delta block says, read with the serializers that wrote it."""
    BlockDecoder(_restored(block)).apply_delta(block, entries)


def _restored(block: KeyGroupBlock) -> StateSerializers:
    assert block.serializers is not None
    return restored_serializers(block.serializers)


def _read_values(serializer: TypeSerializer[Any], values: bytes | list[bytes]) -> list[Any]:
    if isinstance(values, bytes):
        return serializer.all_from_bytes(values)
    return list(map(serializer.from_bytes, values))


def _shape(block: KeyGroupBlock) -> StateShape:
    return kind_named(block.kind).shape


def _unreadable(block: KeyGroupBlock, error: Exception) -> SerializationError:
    return SerializationError(f"state {block.state!r}, key group {block.key_group}, cannot be read: {error}")
