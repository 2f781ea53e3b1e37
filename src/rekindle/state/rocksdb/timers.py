"""Timers in RocksDB: the earliest are Python objects in memory, all later ones in the database.

Timers are ordered by their *places*: timestamp, then encoded key. The *border* is a place, too: up to it all timers are
in memory, and behind it none is. When too many are in memory, the later half is written to the database and the border
moves down; when none is left, the earliest are taken out of the database and the border moves up. So a timer is at one
of the two only, a job with few timers never writes one, and no search begins among entries that were just removed.

A database key is the key group (two bytes) and the place.
"""

from __future__ import annotations

import heapq
import struct
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from itertools import groupby, islice
from operator import itemgetter
from typing import Any

from rocksdict import Rdict, RdictIter, ReadOptions

from rekindle.contracts.key_groups import MAX_PARALLELISM_LIMIT, KeyGroupRange
from rekindle.state.blocks import TIMERS, KeyGroupBlock
from rekindle.state.namespace_timers import encode_timers
from rekindle.state.rocksdb.codec import Codec
from rekindle.state.rocksdb.database import Database, WriteBuffer, walk
from rekindle.state.rocksdb.layout import KEY_GROUP_BYTES, Layout, key_group_at, key_group_start
from rekindle.state.state_evolution import StateName, other_keys
from rekindle.state.state_serializers import UNUSED, StateSerializers, readable_key_serializers
from rekindle.state.timer_store import TimerStore
from rekindle.state.timers import TimerQueue

_SIGN = 1 << 63
_TIME = struct.Struct(">Q")
_TIME_END = KEY_GROUP_BYTES + _TIME.size
_NOWHERE = -_SIGN - 1  # is before all timestamps
_EVERYWHERE = _SIGN  # is after all timestamps
_UNWRITTEN = 4096  # so many changes are written at once
_WHILE_FROZEN = 3  # how much more than usual is kept while nothing can be written
_LEAST_READ = 4  # at a time, of one key group
_KEYS_CHECKED = 16
_BLOCK_TIMERS = 1 << 16
_NO_MATTER = 1  # the number of key groups, which are read here and not computed


class TimerTable(WriteBuffer):
    """Read and write the timers of one name in the database; changes are gathered, and written before a read."""

    __slots__ = ("_codec", "_column", "_database", "_layout", "_name", "_nothing", "_unwritten")

    def __init__(self, database: Database, name: str, max_parallelism: int, serializers: StateSerializers) -> None:
        """Give access to timers that are in the database.

        Args:
            database: The database.
            name: What the timers are called.
            max_parallelism: The number of all key groups.
            serializers: Those of the timers; do not matter where entries are moved only.
        """
        namespaced = serializers.namespace is not UNUSED
        self._database = database
        self._name = name
        self._column: Rdict = database.timer_column(name)
        self._layout = Layout(max_parallelism, namespaced)
        self._codec = Codec(False, serializers, namespaced=namespaced)
        self._nothing = self._codec.encode(None)  # stands behind a database key that says all
        self._unwritten: dict[bytes, bytes | None] = {}

    # --- single timers ---

    def place(self, key: Any, timestamp: int) -> bytes:
        """Return where a timer stands among all others."""
        return _TIME.pack(timestamp + _SIGN) + self._layout.place(key)[0][KEY_GROUP_BYTES:]

    def put(self, key: Any, timestamp: int) -> None:
        """Add a timer, unless it is there."""
        prefix, exact = self._layout.place(key)
        data = self._nothing if exact else self._codec.encode_with_key(key, None)
        self._change(prefix[:KEY_GROUP_BYTES] + _TIME.pack(timestamp + _SIGN) + prefix[KEY_GROUP_BYTES:], data)

    def remove(self, key: Any, timestamp: int) -> None:
        """Remove a timer, if it is there."""
        prefix = self._layout.place(key)[0]
        self._change(prefix[:KEY_GROUP_BYTES] + _TIME.pack(timestamp + _SIGN) + prefix[KEY_GROUP_BYTES:], None)

    def _change(self, database_key: bytes, data: bytes | None) -> None:
        self._unwritten[database_key] = data
        if len(self._unwritten) >= _UNWRITTEN:
            most = _WHILE_FROZEN * _UNWRITTEN if self._database.frozen else _UNWRITTEN  # rather than wait
            if len(self._unwritten) >= most:
                self._flush()

    # --- many ---

    def take_first(self, behind: bytes, key_groups: KeyGroupRange, count: int) -> tuple[list[tuple[Any, int]], bool]:
        """Take timers out of the database, the earliest of all key groups.

        Args:
            behind: There are none up to this place.
            key_groups: Where there are any.
            count: How many to take.

        Returns:
            The timers, in their order, and whether that were all.
        """
        self._flush()
        iterator = self._column.iter(ReadOptions())
        piece = max(_LEAST_READ, count // (2 * len(key_groups)))
        groups = range(key_groups.start, key_groups.end + 1)
        entries = heapq.merge(*(_of_group(iterator, key_group_start(group), behind, piece) for group in groups))
        taken = []
        for _, database_key, data in islice(entries, count):
            taken.append(self._timer(database_key, data))
            self._change(database_key, None)
        return taken, next(entries, None) is None

    def latest_timestamp(self, key_groups: KeyGroupRange) -> int | None:
        """Return when the latest timer of some key groups is due."""
        self._flush()
        iterator = self._column.iter(ReadOptions())
        latest = None
        for group in range(key_groups.start, key_groups.end + 1):
            iterator.seek_for_prev(key_group_start(group + 1))
            if iterator.valid():
                database_key = iterator.key()
                if key_group_at(database_key) == group:
                    timestamp = _timestamp_of(database_key)
                    latest = timestamp if latest is None else max(latest, timestamp)
            else:
                iterator.status()
        return latest

    def of_key(self, key: Any) -> list[tuple[Any, int]]:
        """Return the timers of a key, in all its namespaces, by time: all timers of its key group are looked at."""
        self._flush()
        prefix, end = self._layout.of_key(key)
        group = key_group_at(prefix)
        start, behind = prefix[KEY_GROUP_BYTES:], end[KEY_GROUP_BYTES:]
        entries = walk(self._column, key_group_start(group), key_group_start(group + 1))
        return [self._timer(*entry) for entry in entries if start <= entry[0][_TIME_END:] < behind]

    def estimated(self) -> int:
        """Tell about how many timers there are, as RocksDB estimates it."""
        estimate = int(self._column.property_int_value("rocksdb.estimate-num-keys") or 0)
        return estimate + sum(1 if data is not None else -1 for data in self._unwritten.values())

    def any_of(self, key_groups: KeyGroupRange) -> bool:
        """Return whether there are timers of some key groups."""
        self._flush()
        entries = walk(self._column, key_group_start(key_groups.start), key_group_start(key_groups.end + 1))
        return next(entries, None) is not None

    def delete_key_groups(self, start: int, end: int) -> None:
        """Remove the timers of the key groups from ``start`` up to, but without, ``end``, as a range."""
        if start < end:
            self._flush()
            with self._database.timer_writer(self._name) as writer:
                writer.delete_range(key_group_start(start), key_group_start(end))

    def check_keys(self, name: StateName) -> None:
        """Refuse timers whose keys the program looks for elsewhere now; looks at a few.

        Raises:
            StateMigrationException: The type of the keys changed what they are.
        """
        for database_key, data in islice(walk(self._column, b""), _KEYS_CHECKED):
            key = self._timer(database_key, data)[0]
            if self._layout.place(key)[0] != database_key[:KEY_GROUP_BYTES] + database_key[_TIME_END:]:
                raise other_keys(name, repr(key))

    def in_order(self, start: bytes, end: bytes) -> Iterator[tuple[int, Iterator[tuple[Any, int]]]]:
        """Walk through key groups between two database keys: of each its number and its timers, by time."""
        for group, entries in groupby(walk(self._column, start, end), lambda entry: key_group_at(entry[0])):
            yield group, (self._timer(*entry) for entry in entries)

    def _timer(self, database_key: bytes, data: bytes) -> tuple[Any, int]:
        timestamp = _timestamp_of(database_key)
        if data == self._nothing:
            return self._layout.scope_key(database_key[:KEY_GROUP_BYTES] + database_key[_TIME_END:]), timestamp
        known = self._codec.key_in(data)
        assert known is not None
        return known[0], timestamp

    # --- what is not written yet ---

    def freeze(self) -> dict[Any, Any]:
        unwritten, self._unwritten = self._unwritten, {}
        return unwritten

    def weight(self, cells: dict[Any, Any]) -> int:
        return len(cells)

    def encoded(self, cells: dict[Any, Any]) -> Iterator[tuple[bytes, bytes | None]]:
        return iter(cells.items())

    def write_encoded(self, changes: Iterable[tuple[bytes, bytes | None]]) -> None:
        with self._database.timer_writer(self._name) as writer:
            for database_key, data in changes:
                if data is None:
                    writer.delete(database_key)
                else:
                    writer.put(database_key, data)

    def take_back(self, cells: dict[Any, Any]) -> None:
        self._unwritten = cells | self._unwritten

    def _flush(self) -> None:
        self._database.thaw()
        if self._unwritten:
            self.write_encoded(sorted(self._unwritten.items()))
            self._unwritten = {}


class RocksDBTimers(TimerStore):
    """Keep a limited number of timers in memory, and all later ones in the database."""

    __slots__ = ("_border", "_border_time", "_key_groups", "_limit", "_near", "_table")

    def __init__(self, near: TimerQueue, table: TimerTable, key_groups: KeyGroupRange, limit: int) -> None:
        """Take over the timers of a table.

        Args:
            near: Keeps those in memory; empty.
            table: Keeps the others.
            key_groups: The key groups whose timers are kept here.
            limit: How many are in memory at most.
        """
        super().__init__(near.name)
        self._near = near
        self._table = table
        self._key_groups = key_groups
        self._limit = max(2, limit)
        self._border = b""
        self._border_time = _NOWHERE if table.any_of(key_groups) else _EVERYWHERE

    def register(self, key: Any, timestamp: int) -> None:
        if type(timestamp) is not int or not -_SIGN <= timestamp < _SIGN:
            timestamp = self._near.checked(timestamp)
        if self._is_near(key, timestamp):
            self._near.register(key, timestamp)
            if len(self._near) > self._limit:
                self._move_later_half_away()
        else:
            self._table.put(key, timestamp)

    def delete(self, key: Any, timestamp: int) -> None:
        if type(timestamp) is not int or not -_SIGN <= timestamp < _SIGN:
            timestamp = self._near.checked(timestamp)
        if self._is_near(key, timestamp):
            self._near.delete(key, timestamp)
        else:
            self._table.remove(key, timestamp)

    def pop_due(self, until: int) -> tuple[Any, int] | None:
        due = self._near.pop_due(until)
        if due is None and self._border_time <= until and not self._near.may_hold_any():
            self._bring_earliest_near()
            due = self._near.pop_due(until)
        return due

    def next_timestamp(self) -> int | None:
        if self._border_time != _EVERYWHERE and not self._near.may_hold_any():
            self._bring_earliest_near()
        return self._near.next_timestamp()

    def latest_timestamp(self) -> int | None:
        latest = None if self._border_time == _EVERYWHERE else self._table.latest_timestamp(self._key_groups)
        return self._near.latest_timestamp() if latest is None else latest

    def clear(self) -> None:
        self._near.clear()
        if self._border_time != _EVERYWHERE:
            self._table.delete_key_groups(self._key_groups.start, self._key_groups.end + 1)
            self._set_border(b"", _EVERYWHERE)

    def __len__(self) -> int:
        return len(self._near) + (0 if self._border_time == _EVERYWHERE else max(0, self._table.estimated()))

    def may_hold_any(self) -> bool:
        return self._border_time != _EVERYWHERE or self._near.may_hold_any()

    def snapshot_blocks(self, max_parallelism: int) -> Iterator[KeyGroupBlock]:
        return self._near.snapshot_blocks(max_parallelism)

    def blocks_of(self, key: Any, max_parallelism: int) -> Iterator[KeyGroupBlock]:
        far = [] if self._border_time == _EVERYWHERE else self._table.of_key(key)
        return self.blocks([*self._near.of_key(key), *far], max_parallelism)

    def blocks(self, ordered: Iterable[tuple[Any, int]], max_parallelism: int) -> Iterator[KeyGroupBlock]:
        return self._near.blocks(ordered, max_parallelism)

    def timers_in(
        self, blocks: Iterable[KeyGroupBlock], max_parallelism: int | None = None
    ) -> Iterator[tuple[Any, int]]:
        return self._near.timers_in(blocks, max_parallelism)

    def read_back(self, block: KeyGroupBlock, max_parallelism: int) -> None:
        self._near.read_back(block, max_parallelism)

    # --- the border ---

    def _is_near(self, key: Any, timestamp: int) -> bool:
        """Return whether a timer is in memory, if it is anywhere."""
        border_time = self._border_time
        if timestamp != border_time:
            return timestamp < border_time
        return self._table.place(key, timestamp) <= self._border

    def _set_border(self, border: bytes, border_time: int) -> None:
        self._border, self._border_time = border, border_time

    def _move_later_half_away(self) -> None:
        timers = self._near.in_order()
        kept = self._limit // 2
        time = timers[kept][1]
        first, end = (cut(timers, time, key=itemgetter(1)) for cut in (bisect_left, bisect_right))
        alike = sorted(((self._table.place(*timer), timer) for timer in timers[first:end]), key=itemgetter(0))
        self._set_border(alike[kept - first - 1][0] if kept > first else _TIME.pack(time + _SIGN), time)
        for key, timestamp in (*(timer for _, timer in alike[kept - first :]), *timers[end:]):
            self._near.delete(key, timestamp)
            self._table.put(key, timestamp)

    def _bring_earliest_near(self) -> None:
        timers, all_of_them = self._table.take_first(self._border, self._key_groups, max(1, self._limit // 2))
        for key, timestamp in timers:
            self._near.register(key, timestamp)
        if all_of_them:
            self._set_border(b"", _EVERYWHERE)
        else:
            self._set_border(self._table.place(*timers[-1]), timers[-1][1])


def opened_timers(
    database: Database, in_memory: TimerQueue, max_parallelism: int, name: StateName
) -> tuple[TimerTable, list[KeyGroupBlock]]:
    """Open the table of timers in a database, and create it if there is none.

    Args:
        database: The database.
        in_memory: An empty queue of the same timers.
        max_parallelism: The number of all key groups.
        name: The timers, for messages.

    Returns:
        The table, and what is to be restored into it, because other serializers wrote it.

    Raises:
        StateMigrationException: The type of the keys changed what they are.
    """
    serializers = in_memory.serializers()
    stored = serializers.stored_for_timers(name)
    written: list[KeyGroupBlock] = []
    record = database.timers.get(in_memory.name)
    if record is not None and record.serializers != stored:
        written = taken_out(database, in_memory.name)
        record = None
    if record is None:
        database.create_timers(in_memory.name, stored)
    table = TimerTable(database, in_memory.name, max_parallelism, serializers)
    table.check_keys(name)
    return table, written


def taken_out(database: Database, name: str) -> list[KeyGroupBlock]:
    """Remove the timers of a name from a database, and return them as blocks."""
    blocks = list(timer_blocks(database, name, KeyGroupRange(0, MAX_PARALLELISM_LIMIT)))
    database.drop_timers(name)
    return blocks


def timer_blocks(database: Database, name: str, key_groups: KeyGroupRange) -> Iterator[KeyGroupBlock]:
    """Read timers, one key group at a time, whatever program wrote them.

    Args:
        database: Where they are.
        name: What they are called.
        key_groups: The key groups to read.
    """
    stored = database.timers[name].serializers
    serializers = readable_key_serializers(stored, f"timers {name!r}")
    table = TimerTable(database, name, _NO_MATTER, serializers)
    for group, timers in table.in_order(key_group_start(key_groups.start), key_group_start(key_groups.end + 1)):
        while part := list(islice(timers, _BLOCK_TIMERS)):
            yield KeyGroupBlock(name, TIMERS, group, len(part), encode_timers(part, serializers), serializers=stored)


def _timestamp_of(database_key: bytes) -> int:
    return int(_TIME.unpack_from(database_key, KEY_GROUP_BYTES)[0]) - _SIGN


def _of_group(iterator: RdictIter, group: bytes, behind: bytes, piece: int) -> Iterator[tuple[bytes, bytes, bytes]]:
    """Walk through the entries of a key group: place, database key and data of each.

    The iterator is shared with other key groups, and moved for every piece: an iterator for each of thousands of them
    would take more memory than the entries.
    """
    start = group + behind + b"\0"
    while True:
        iterator.seek(start)
        entries: list[tuple[bytes, bytes, bytes]] = []
        while len(entries) < piece and iterator.valid():
            database_key = iterator.key()
            if not database_key.startswith(group):
                break
            entries.append((database_key[KEY_GROUP_BYTES:], database_key, iterator.value()))
            iterator.next()
        if not iterator.valid():
            iterator.status()  # raises if it is not the end that was reached
        yield from entries
        if len(entries) < piece:
            return
        start = entries[-1][1] + b"\0"
