"""The file in which a slot keeps its state: blocks, an index by operator, state and key group, checksums.

    "RKSN" version(u16) | block block … | index (msgpack) | index length (u32) index crc32 (u32) "RKSN"

A reader fetches the index and then only the blocks of its own key groups. Blocks of keyed state may be compressed.
"""

from __future__ import annotations

import io
import os
import struct
import zlib
from collections.abc import Iterator
from itertools import accumulate
from typing import Any, BinaryIO

import msgspec

from rekindle.contracts.key_groups import KeyGroupRange
from rekindle.exceptions import CheckpointCorruptError
from rekindle.state.blocks import KeyGroupBlock
from rekindle.state.operator_state.stored import DistributionMode, StoredItems, StoredList
from rekindle.state.state_serializers import StoredSerializers

MAGIC = b"RKSN"
VERSION = 4
_READABLE = (3, VERSION)  # 3: without lists that have an owner and blocks that are compressed
_HEADER = struct.Struct("<4sH")
_TRAILER = struct.Struct("<II4s")


class BlockIndex(msgspec.Struct, frozen=True, array_like=True):
    """Locate one block. ``plain``: its length before it was compressed; 0: it is not."""

    key_group: int
    entries: int
    offset: int
    length: int
    crc: int
    plain: int = 0


class KeyedStateIndex(msgspec.Struct, frozen=True):
    """Locate the blocks of one keyed state that were written alike."""

    name: str
    kind: str
    blocks: list[BlockIndex]
    ttl: bool = False
    namespaced: bool = False
    delta: bool = False
    serializers: StoredSerializers | None = None


class ListPartIndex(msgspec.Struct, frozen=True):
    """Locate items that were written with the same serializers: they stand one after the other in a block."""

    serializers: tuple[bytes, ...]
    lengths: list[int]
    block: BlockIndex


class ListStateIndex(msgspec.Struct, frozen=True):
    """Locate the items of one operator list state."""

    name: str
    mode: DistributionMode
    parts: list[ListPartIndex]


class OperatorIndex(msgspec.Struct, frozen=True):
    """Locate all state of one operator."""

    uid: str
    keyed: list[KeyedStateIndex]
    lists: list[ListStateIndex]


class SnapshotIndex(msgspec.Struct, frozen=True):
    """Locate everything in the file."""

    operators: list[OperatorIndex]

    def sizes(self) -> dict[str, int]:
        """Count the bytes of each operator's state."""
        return {
            operator.uid: sum(block.length for state in operator.keyed for block in state.blocks)
            + sum(part.block.length for state in operator.lists for part in state.parts)
            for operator in self.operators
        }


class SnapshotWriter:
    """Write a snapshot file, block by block.

    Args:
        target: Where it goes.
        compressed: Whether keyed state is compressed, if that makes it smaller.
    """

    def __init__(self, target: BinaryIO, compressed: bool = False) -> None:
        self._target = target
        self._codec = block_codec() if compressed else None
        self._offset = target.write(_HEADER.pack(MAGIC, VERSION))
        self._keyed: dict[str, dict[tuple[object, ...], KeyedStateIndex]] = {}
        self._lists: dict[str, list[ListStateIndex]] = {}

    def keyed(self, uid: str, block: KeyGroupBlock) -> None:
        """Add a block of keyed state."""
        states = self._keyed.setdefault(uid, {})
        written = (block.ttl, block.namespaced, block.delta, block.serializers)
        state = states.get((block.state, *written))
        if state is None:
            state = states[(block.state, *written)] = KeyedStateIndex(block.state, block.kind, [], *written)
        packed = block.data if self._codec is None else self._codec.compress(block.data, asbytes=True)
        if len(packed) < len(block.data):
            state.blocks.append(self._block(block.key_group, block.entries, packed, plain=len(block.data)))
        else:
            state.blocks.append(self._block(block.key_group, block.entries, block.data))

    def operator_list(self, uid: str, name: str, state: StoredList) -> None:
        """Add an operator list state."""
        parts = [
            ListPartIndex(
                part.serializers,
                [len(item) for item in part.items],
                self._block(-1, len(part.items), b"".join(part.items)),
            )
            for part in state.parts
        ]
        self._lists.setdefault(uid, []).append(ListStateIndex(name, state.mode, parts))

    def finish(self) -> int:
        """Write the index; return the size of the file."""
        uids = sorted({*self._keyed, *self._lists})
        index = msgspec.msgpack.encode(
            SnapshotIndex(
                [OperatorIndex(uid, [*self._keyed.get(uid, {}).values()], self._lists.get(uid, [])) for uid in uids]
            )
        )
        self._target.write(index)
        self._target.write(_TRAILER.pack(len(index), zlib.crc32(index), MAGIC))
        return self._offset + len(index) + _TRAILER.size

    def _block(self, key_group: int, entries: int, data: bytes, plain: int = 0) -> BlockIndex:
        block = BlockIndex(key_group, entries, self._offset, len(data), zlib.crc32(data), plain)
        self._target.write(data)
        self._offset += len(data)
        return block


class SnapshotReader:
    """Read a snapshot file; every byte that is used is checked."""

    def __init__(self, source: BinaryIO, name: str) -> None:
        self._source = source
        self._name = name
        self.index = self._read_index()

    def keyed(self, uid: str, key_groups: KeyGroupRange, only: str | None = None) -> Iterator[KeyGroupBlock]:
        """Yield an operator's blocks of keyed state in a range of key groups, in the order in which they were written.

        The order matters: changes follow what they are changes to. ``only`` names a state: then no other is read.
        """
        found = [
            (block, state)
            for operator in self.index.operators
            if operator.uid == uid
            for state in operator.keyed
            if only is None or state.name == only
            for block in state.blocks
            if block.key_group in key_groups
        ]
        for block, state in sorted(found, key=lambda located: located[0].offset):
            yield KeyGroupBlock(
                state.name,
                state.kind,
                block.key_group,
                block.entries,
                self._read_block(block, f"state {state.name!r} of operator {uid!r}"),
                state.ttl,
                state.namespaced,
                state.delta,
                state.serializers,
            )

    def operator_list(self, uid: str, name: str) -> StoredList | None:
        """Return an operator list state; None where the operator has none of that name."""
        for operator in self.index.operators:
            if operator.uid == uid:
                for state in operator.lists:
                    if state.name == name:
                        where = f"state {name!r} of operator {uid!r}"
                        return StoredList(state.mode, tuple(self._items(part, where) for part in state.parts))
        return None

    def _items(self, part: ListPartIndex, where: str) -> StoredItems:
        data = self._read_block(part.block, where)
        stops = list(accumulate(part.lengths))
        items = tuple(data[stop - length : stop] for stop, length in zip(stops, part.lengths, strict=True))
        return StoredItems(items, part.serializers)

    def _read_index(self) -> SnapshotIndex:
        size = self._source.seek(0, os.SEEK_END)
        if size < _HEADER.size + _TRAILER.size:
            raise self._corrupt(f"it has only {size} bytes: it was not written to its end")
        self._source.seek(0)
        magic, version = _HEADER.unpack(self._source.read(_HEADER.size))
        if magic != MAGIC:
            raise self._corrupt("it does not begin as a Rekindle snapshot does")
        if version not in _READABLE:
            readable = " and ".join(map(str, _READABLE))
            raise self._corrupt(f"it has format version {version}, and this release reads versions {readable}")
        self._source.seek(size - _TRAILER.size)
        length, crc, magic = _TRAILER.unpack(self._source.read(_TRAILER.size))
        if magic != MAGIC or length > size - _HEADER.size - _TRAILER.size:
            raise self._corrupt("it does not end as a Rekindle snapshot does: it was not written to its end")
        self._source.seek(size - _TRAILER.size - length)
        index = self._source.read(length)
        if zlib.crc32(index) != crc:
            raise self._corrupt("the checksum of its index is wrong")
        return msgspec.msgpack.decode(index, type=SnapshotIndex)

    def _read_block(self, block: BlockIndex, where: str) -> bytes:
        self._source.seek(block.offset)
        data = self._source.read(block.length)
        if len(data) != block.length or zlib.crc32(data) != block.crc:
            raise self._corrupt(f"the checksum of {where}, key group {block.key_group}, is wrong")
        if block.plain:
            plain: bytes = block_codec().decompress(data, block.plain, asbytes=True)
            return plain
        return data

    def _corrupt(self, why: str) -> CheckpointCorruptError:
        return CheckpointCorruptError(
            f"snapshot file {self._name} cannot be read: {why}. Restore from another checkpoint"
        )


def block_codec() -> Any:
    """Return what compresses blocks; pyarrow takes a while to import, and has it anyway."""
    import pyarrow as pa

    return pa.Codec("zstd")


def open_inline(data: bytes, name: str) -> SnapshotReader:
    """Read a snapshot that was kept in memory."""
    return SnapshotReader(io.BytesIO(data), name)
