"""Blocks as bytes: what the serializers of a state make of its keys and values, and how many belong together.

The values of all keys stand in one row: in a list state the elements of all lists, in a map state the values of all
maps. ``lengths`` says how many each key has. None, which only a map may hold, is left out and its place noted. Values
are either serialized as a whole, or, where a backend has each as bytes already, stand as they are.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain, islice
from typing import Any

import msgspec

from rekindle.exceptions import SerializationError
from rekindle.serialization.type_serializer import TypeSerializer
from rekindle.state.blocks import KeyGroupBlock, MapChange, StateKind, StateSpec, change_with_last_access
from rekindle.state.map_keys import check_unchanged
from rekindle.state.state_serializers import StateSerializers, StoredSerializers, restored_serializers


class _Keys(msgspec.Struct, frozen=True, array_like=True):
    """Hold keys, and in a namespaced state their namespaces."""

    keys: bytes
    namespaces: bytes = b""


class _Values(msgspec.Struct, frozen=True, array_like=True):
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


class _Whole(msgspec.Struct, frozen=True, array_like=True):
    keys: _Keys
    values: _Values


class _Delta(msgspec.Struct, frozen=True, array_like=True):
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

    keys: _Keys
    values: _Values
    removed: _Keys
    starts: list[int] = []
    cleared: list[bool] = []
    gone: list[int] = []
    gone_keys: bytes = b""


_encode = msgspec.msgpack.Encoder().encode
_decode_whole = msgspec.msgpack.Decoder(_Whole).decode
_decode_delta = msgspec.msgpack.Decoder(_Delta).decode


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
            data = _encode(_Whole(self._keys(keys), self._values(values)))
        except Exception as error:  # pickling may raise anything
            raise _in_state(self._spec.name, error) from error
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
        held = _Values(
            [value for value in values if value is not None],
            lengths,
            self._map_keys(map_keys) if map_keys else b"",
            [index for index, value in enumerate(values) if value is None],
            last_access,
        )
        return self._block(key_group, len(keys), _encode(_Whole(self._keys(keys), held)))

    def delta(self, key_group: int, keys: list[Any], changes: list[Any], removed: list[Any]) -> KeyGroupBlock:
        """Encode what became of some keys in a key group: changes, and keys that have no entry any more."""
        starts: list[int] = []
        cleared: list[bool] = []
        gone: list[Any] = []
        if self._spec.kind is StateKind.LIST:
            starts = [start for start, _ in changes]
            changes = [elements for _, elements in changes]
        elif self._spec.kind is StateKind.MAP:
            cleared = [change.cleared for change in changes]
            gone = [change.removed for change in changes]
            changes = [change.put for change in changes]
        try:
            data = _encode(
                _Delta(
                    self._keys(keys),
                    self._values(changes),
                    self._keys(removed),
                    starts,
                    cleared,
                    list(map(len, gone)),
                    self._serializers.map_key.all_to_bytes(list(chain.from_iterable(gone))) if any(gone) else b"",
                )
            )
        except Exception as error:  # pickling may raise anything
            raise _in_state(self._spec.name, error) from error
        return self._block(key_group, len(keys) + len(removed), data, delta=True)

    def _block(self, key_group: int, entries: int, data: bytes, delta: bool = False) -> KeyGroupBlock:
        spec = self._spec
        return KeyGroupBlock(
            spec.name, spec.kind, key_group, entries, data, spec.ttl, spec.namespaced, delta, self._stored
        )

    def _keys(self, keys: list[Any]) -> _Keys:
        serializers = self._serializers
        if not self._spec.namespaced:
            return _Keys(serializers.key.all_to_bytes(keys))
        return _Keys(
            serializers.key.all_to_bytes([key for key, _ in keys]),
            serializers.namespace.all_to_bytes([namespace for _, namespace in keys]),
        )

    def _map_keys(self, keys: list[Any]) -> bytes:
        serializer = self._serializers.map_key
        check_unchanged(serializer, keys)
        return serializer.all_to_bytes(keys)

    def _values(self, values: list[Any]) -> _Values:
        spec, serializers = self._spec, self._serializers
        lengths: list[int] = []
        map_keys = b""
        nones: list[int] = []
        last_access: list[int] = []
        if spec.kind in (StateKind.LIST, StateKind.MAP):
            lengths = list(map(len, values))
            if spec.kind is StateKind.MAP:
                map_keys = self._map_keys(list(chain.from_iterable(values)))
                values = [mapping.values() for mapping in values]
            values = list(chain.from_iterable(values))
        if spec.ttl:
            last_access = [stamp for _, stamp in values]
            values = [value for value, _ in values]
        if spec.kind is StateKind.MAP and any(value is None for value in values):
            nones = [index for index, value in enumerate(values) if value is None]
            values = [value for value in values if value is not None]
        return _Values(serializers.value.all_to_bytes(values), lengths, map_keys, nones, last_access)


class BlockDecoder:
    """Decode the blocks of one state that were written with certain serializers."""

    __slots__ = ("_readers",)

    def __init__(self, readers: StateSerializers) -> None:
        self._readers = readers

    def whole(self, block: KeyGroupBlock) -> tuple[list[Any], list[Any]]:
        """Give the keys and values of a whole block."""
        try:
            held = _decode_whole(block.data)
            return self._keys(block, held.keys), self._values(block, held.values)
        except (SerializationError, msgspec.MsgspecError, ValueError) as error:
            raise _unreadable(block, error) from error

    def apply_delta(self, block: KeyGroupBlock, entries: dict[Any, Any], accessed_at: int | None = None) -> None:
        """Change the entries of the blocks before as a delta block says.

        Args:
            block: The changes.
            entries: What they are changes to.
            accessed_at: If given, the entries have times of last access and the changes do not: they get this one.
        """
        try:
            held = _decode_delta(block.data)
            keys, removed = self._keys(block, held.keys), self._keys(block, held.removed)
            changes = self._changes(block, held)
        except (SerializationError, msgspec.MsgspecError, ValueError) as error:
            raise _unreadable(block, error) from error
        if accessed_at is not None:
            changes = [change_with_last_access(StateKind(block.kind), change, accessed_at) for change in changes]
        if block.kind == StateKind.LIST:
            for key, (start, elements) in zip(keys, changes, strict=True):
                entries[key] = entries[key][:start] + elements if start else elements
        elif block.kind == StateKind.MAP:
            for key, change in zip(keys, changes, strict=True):
                _change_map(entries, key, change)
        else:
            entries.update(zip(keys, changes, strict=True))
        for key in removed:
            entries.pop(key, None)

    def _changes(self, block: KeyGroupBlock, held: _Delta) -> list[Any]:
        values = self._values(block, held.values)
        if block.kind == StateKind.LIST:
            return list(zip(held.starts, values, strict=True))
        if block.kind == StateKind.MAP:
            gone = iter(self._readers.map_key.all_from_bytes(held.gone_keys) if held.gone_keys else ())
            removed = [list(islice(gone, count)) for count in held.gone]
            return list(map(MapChange, held.cleared, values, removed))
        return values

    def _keys(self, block: KeyGroupBlock, held: _Keys) -> list[Any]:
        keys = self._readers.key.all_from_bytes(held.keys)
        if not block.namespaced:
            return keys
        return list(zip(keys, self._readers.namespace.all_from_bytes(held.namespaces), strict=True))

    def _values(self, block: KeyGroupBlock, held: _Values) -> list[Any]:
        values = _read_values(self._readers.value, held.values)
        for index in held.nones:
            values.insert(index, None)
        if block.ttl:
            values = list(zip(values, held.last_access, strict=True))
        if block.kind not in (StateKind.LIST, StateKind.MAP):
            return values
        if sum(held.lengths) != len(values):
            raise ValueError(f"there are {len(values)} values where {sum(held.lengths)} should be")
        row = iter(values)
        if block.kind == StateKind.LIST:
            return [list(islice(row, length)) for length in held.lengths]
        map_keys = iter(self._readers.map_key.all_from_bytes(held.map_keys))
        maps = [dict(zip(islice(map_keys, length), islice(row, length), strict=True)) for length in held.lengths]
        if sum(map(len, maps)) < len(values):
            raise ValueError("two keys of a map have become one: they lost what told them apart")
        return maps


def decode_whole(block: KeyGroupBlock) -> tuple[list[Any], list[Any]]:
    """Give the keys and values of a whole block, read with the serializers that wrote it."""
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


def _change_map(entries: dict[Any, Any], key: Any, change: Iterable[Any]) -> None:
    cleared, put, removed = change
    mapping = {} if cleared else entries.get(key, {})
    mapping.update(put)
    for entry in removed:
        mapping.pop(entry, None)
    if mapping:
        entries[key] = mapping
    else:
        entries.pop(key, None)


def _in_state(name: str, error: Exception) -> SerializationError:
    reason = str(error) if isinstance(error, SerializationError) else f"{type(error).__name__}: {error}"
    return SerializationError(f"state {name!r} cannot be written: {reason}")


def _unreadable(block: KeyGroupBlock, error: Exception) -> SerializationError:
    return SerializationError(f"state {block.state!r}, key group {block.key_group}, cannot be read: {error}")
