"""RocksDB's own files as blocks: for savepoints, and for other backends that restore from a RocksDB checkpoint."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import closing
from typing import Any

from rekindle.state.blocks import KeyGroupBlock, unexpired, whole_block
from rekindle.state.key_groups import KeyGroupRange
from rekindle.state.rocksdb.database import Database, damage_reported
from rekindle.state.rocksdb.entries import read_key_groups
from rekindle.state.rocksdb.options import plain_options
from rekindle.state.rocksdb.table import StateTable

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
            table = StateTable(database, name, _NO_MATTER)
            threshold = (expired_until or {}).get(name) if table.spec.ttl else None
            for key_group, entries in read_key_groups(table, key_groups):
                keys: list[Any] = []
                values: list[Any] = []
                for key, value in entries:
                    left = value if threshold is None else unexpired(table.spec.kind, value, threshold)
                    if threshold is None or left is not None:
                        keys.append(key)
                        values.append(left)
                if keys:
                    yield whole_block(table.spec, key_group, keys, values)
