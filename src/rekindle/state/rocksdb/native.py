"""RocksDB's own files as blocks: for savepoints, and for other backends that restore from a RocksDB checkpoint.

Values are copied as they are, and not deserialized: that is fast, and works for state that no program knows any more.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing
from typing import Any

from rekindle.contracts.key_groups import KeyGroupRange
from rekindle.state.block_encoding import BLOCK_BYTES, BlockEncoder
from rekindle.state.blocks import KeyGroupBlock
from rekindle.state.rocksdb.codec import last_access_of, split_value
from rekindle.state.rocksdb.database import Database, damage_reported, walk
from rekindle.state.rocksdb.layout import Layout, key_group_at, key_group_start
from rekindle.state.rocksdb.options import plain_options
from rekindle.state.rocksdb.table import StateTable
from rekindle.state.rocksdb.timers import timer_blocks
from rekindle.state.state_serializers import readable_key_serializers

_NO_MATTER = 1  # the number of key groups, which are read here and not computed


def native_blocks(
    directory: str, key_groups: KeyGroupRange, expired_until: Mapping[str, int] | None = None
) -> Iterator[KeyGroupBlock]:
    """Read the files of a native snapshot, one key group of one state at a time.

    Args:
        directory: Where the files are. They are left as they are.
        key_groups: The key groups to read.
        expired_until: By state: the last access up to which entries are left out.

    Raises:
        CheckpointCorruptError: The files are damaged.
    """
    with damage_reported(directory), closing(Database(directory, plain_options(), read_only=True)) as database:
        for name in sorted(database.states):
            yield from state_blocks(database, name, key_groups, (expired_until or {}).get(name))
        for name in sorted(database.timers):
            yield from timer_blocks(database, name, key_groups)


def drop_expired(directory: str, expired_until: Mapping[str, int]) -> None:
    """Remove expired entries from a copy of a database, and the room that they take.

    Args:
        directory: Where the copy is. Files that it shares with the database stay as they are there.
        expired_until: By state: the last access up to which entries are removed.
    """
    with closing(Database(directory, plain_options())) as database:
        for name, threshold in expired_until.items():
            record = database.states.get(name)
            if record is None or not record.ttl:
                continue
            column = database.column(name)
            removed = 0
            with database.writer(name) as writer:
                for database_key, data in walk(column, b""):
                    if last_access_of(data) <= threshold:
                        writer.delete(database_key)
                        removed += 1
            if removed:
                column.flush()
                column.compact_range(None, None)


def state_blocks(
    database: Database, name: str, key_groups: KeyGroupRange, expired_until: int | None = None
) -> Iterator[KeyGroupBlock]:
    """Read one state, one key group at a time.

    Args:
        database: Where it is.
        name: The state's name.
        key_groups: The key groups to read.
        expired_until: The last access up to which entries are left out; None: all are in.
    """
    return _blocks_between(
        database, name, key_group_start(key_groups.start), key_group_start(key_groups.end + 1), expired_until
    )


def key_blocks(database: Database, name: str, key: Any, max_parallelism: int) -> Iterator[KeyGroupBlock]:
    """Read what one key has in a state, in all its namespaces."""
    layout = Layout(max_parallelism, database.states[name].namespaced)
    return _blocks_between(database, name, *layout.of_key(key))


def _blocks_between(
    database: Database, name: str, start: bytes, end: bytes, expired_until: int | None = None
) -> Iterator[KeyGroupBlock]:
    stored = database.states[name].serializers
    serializers = readable_key_serializers(stored, f"state {name!r}")
    table = StateTable(database, name, _NO_MATTER, serializers)
    encoder = BlockEncoder(table.spec, serializers, stored)
    threshold = expired_until if table.spec.ttl else None
    entries = walk(table.column, start, end)
    for key_group, own in itertools.groupby(entries, lambda entry: key_group_at(entry[0])):
        for part in _parts(own, table.layout.split):
            block = _block(table, encoder, key_group, part, threshold)
            if block.entries:
                yield block


def _parts(
    entries: Iterable[tuple[bytes, bytes]], split: Callable[[bytes], int]
) -> Iterator[list[tuple[bytes, bytes]]]:
    """Cut up the entries of a key group, where there are many bytes of them; what one key has stays together."""
    part: list[tuple[bytes, bytes]] = []
    size = 0
    for entry in entries:
        if size > BLOCK_BYTES and entry[0][: split(entry[0])] != part[-1][0][: split(part[-1][0])]:
            yield part
            part, size = [], 0
        part.append(entry)
        size += len(entry[1])
    yield part


def _block(
    table: StateTable,
    encoder: BlockEncoder,
    key_group: int,
    entries: Iterable[tuple[bytes, bytes]],
    threshold: int | None,
) -> KeyGroupBlock:
    shape, ttl, split = table.spec.kind.shape, table.spec.ttl, table.layout.split
    several, has_map_keys = shape.several, shape.has_map_keys
    keys: list[Any] = []
    values: list[bytes | None] = []
    lengths: list[int] = []
    map_keys: list[Any] = []
    stamps: list[int] = []
    last = None
    for database_key, data in entries:
        if ttl:
            last_access = last_access_of(data)
            if threshold is not None and last_access <= threshold:
                continue
            stamps.append(last_access)
        if several:
            at = split(database_key)
            prefix = database_key[:at]
            if prefix != last:
                last = prefix
                keys.append(table.scope_key(database_key, data))
                lengths.append(0)
            lengths[-1] += 1
            if has_map_keys:
                map_keys.append(table.map_key(database_key, at, data))
        else:
            keys.append(table.scope_key(database_key, data))
        values.append(split_value(data, ttl)[1])
    return encoder.serialized(key_group, keys, values, lengths, map_keys, stamps)
