"""Makes the database of a subtask out of the native snapshots of those that had its key groups before."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from contextlib import closing

from rekindle.contracts.key_groups import MAX_PARALLELISM_LIMIT, KeyGroupRange
from rekindle.state.blocks import KeyGroupBlock
from rekindle.state.restored_state import check_same_state
from rekindle.state.rocksdb.database import Database, damage_reported, walk
from rekindle.state.rocksdb.layout import key_group_start
from rekindle.state.rocksdb.native import state_blocks
from rekindle.state.rocksdb.native_part import NativePart
from rekindle.state.rocksdb.options import RocksDBOptions, plain_options
from rekindle.state.rocksdb.table import StateTable, stamped
from rekindle.state.rocksdb.timers import TimerTable, timer_blocks
from rekindle.state.state_owner import StateOwner
from rekindle.state.state_serializers import PICKLED

_NO_MATTER = 1  # the number of key groups, which are copied here and not computed


def restored_database(
    parts: Sequence[NativePart],
    key_groups: KeyGroupRange,
    directory: str,
    options: RocksDBOptions,
    owner: StateOwner,
    now: int,
) -> tuple[Database, list[KeyGroupBlock]]:
    """Open a database with the own key groups of all parts.

    The part that holds most of them gives its files, without what belongs to others; the rest is copied in. Where a
    state was written with other serializers, because only one of two subtasks had migrated it, it cannot be: that is
    handed over as blocks.

    Args:
        parts: Native snapshots, no two of which hold the same key group.
        key_groups: The own key groups.
        directory: Where the database is to be; what is there is deleted.
        options: RocksDB's options.
        owner: The operator, for messages.
        now: The time of last access of entries that get one here.

    Raises:
        CheckpointCorruptError: The files of a part are damaged.
    """
    base = max(parts, key=lambda part: _shared(part.key_groups, key_groups))
    _link_files(base.directory, directory)
    with damage_reported(base.directory):
        database = Database(directory, options)
    blocks: list[KeyGroupBlock] = []
    try:
        if base.key_groups != key_groups:
            _keep_only(key_groups, database)
        for part in parts:
            if part is not base:
                with damage_reported(part.directory):
                    blocks += _copy(part.directory, database, key_groups, owner, now)
    except BaseException:
        database.close()
        raise
    return database, blocks


def _keep_only(key_groups: KeyGroupRange, database: Database) -> None:
    for name in database.states:
        table = StateTable(database, name, _NO_MATTER, PICKLED)
        table.delete_key_groups(0, key_groups.start)
        table.delete_key_groups(key_groups.end + 1, MAX_PARALLELISM_LIMIT + 1)
    for name in database.timers:
        timers = TimerTable(database, name, _NO_MATTER, PICKLED)
        timers.delete_key_groups(0, key_groups.start)
        timers.delete_key_groups(key_groups.end + 1, MAX_PARALLELISM_LIMIT + 1)


def _copy(
    directory: str, database: Database, key_groups: KeyGroupRange, owner: StateOwner, now: int
) -> list[KeyGroupBlock]:
    """Copy key groups out of a native snapshot; give those that were written with other serializers as blocks."""
    blocks: list[KeyGroupBlock] = []
    start, end = key_group_start(key_groups.start), key_group_start(key_groups.end + 1)
    with closing(Database(directory, plain_options(), read_only=True)) as source:
        for name, record in source.states.items():
            copied = StateTable(source, name, _NO_MATTER, PICKLED)
            if name not in database.states:
                database.create(name, record.kind, record.ttl, record.namespaced, record.serializers)
            table = StateTable(database, name, _NO_MATTER, PICKLED)
            check_same_state(owner.state(name), table.spec, copied.spec)
            if record.serializers != database.states[name].serializers:
                blocks += state_blocks(source, name, key_groups)
                continue
            entries = walk(copied.column, start, end)
            if record.ttl:
                table.set_ttl(True, now)
            elif table.spec.ttl:
                entries = stamped(entries, now)
            table.write(entries)
            table.sequence = max(table.sequence, copied.sequence)
            table.describe()
        for name, timers in source.timers.items():
            if name not in database.timers:
                database.create_timers(name, timers.serializers)
            if timers.serializers != database.timers[name].serializers:
                blocks += timer_blocks(source, name, key_groups)
                continue
            entries = walk(source.timer_column(name), start, end)
            TimerTable(database, name, _NO_MATTER, PICKLED).write_encoded(entries)
    return blocks


def _shared(one: KeyGroupRange, other: KeyGroupRange) -> int:
    return min(one.end, other.end) - max(one.start, other.start)


def _link_files(source: str, target: str) -> None:
    """Put files that never change there as links, all others as copies."""
    shutil.rmtree(target, ignore_errors=True)
    os.makedirs(target)
    for name in os.listdir(source):
        original, link = os.path.join(source, name), os.path.join(target, name)
        if name.endswith((".sst", ".blob")):
            try:
                os.link(original, link)
                continue
            except OSError:  # on another disk, or one without links
                pass
        shutil.copyfile(original, link)
