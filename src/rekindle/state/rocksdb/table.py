"""One state in the database: its column family, with the layout of its keys and the codec of its values."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable, Iterable, Iterator
from operator import itemgetter
from typing import Any

import msgspec
from rocksdict import Rdict

from rekindle.exceptions import SerializationError, StateRestoreError
from rekindle.state.rocksdb.codec import LAST_ACCESS_BYTES, Codec, pack_last_access, split_value
from rekindle.state.rocksdb.database import Database, walk
from rekindle.state.rocksdb.key_decoding import decode_at
from rekindle.state.rocksdb.key_encoding import encode_key
from rekindle.state.rocksdb.layout import Layout, end_of_prefix, key_group_start, key_of
from rekindle.state.rocksdb.unverified_entries import UnprovenEntries
from rekindle.state.state_evolution import StateName, other_keys
from rekindle.state.state_serializers import StateSerializers, StoredSerializers
from rekindle.types.type_serializer import TypeSerializer

_FIRST_READ, _READ_GROWTH = 16, 32  # how many values are read at once, until their size is known, and then
_FEW = 4  # from here on a batch is faster
_SORTED = 1 << 14  # changes
_PROGRESS_EVERY = 250_000


class StateTable:
    """Read and write the entries of one state.

    Attributes:
        spec: The state.
        column: Its column family.
        layout: Where its entries stand.
        codec: How its values are encoded.
        sequence: The next sequence number, in a list state.
        unproven: What was written and not read back yet; None where all that is written can be read.
    """

    __slots__ = ("_database", "_serializers", "codec", "column", "layout", "sequence", "spec", "unproven")

    def __init__(self, database: Database, name: str, max_parallelism: int, serializers: StateSerializers) -> None:
        """Give access to a state that is in the database.

        Args:
            database: The database.
            name: The state's name.
            max_parallelism: The number of all key groups.
            serializers: How its keys and values are serialized; does not matter where entries are moved only.
        """
        record = database.states[name]
        self._database = database
        self._serializers = serializers
        self.spec = record.spec(name)
        self.column: Rdict = database.column(name)
        self.layout = Layout(max_parallelism, record.namespaced)
        self.codec = self._codec()
        self.sequence = record.sequence
        self.unproven = None if serializers.value.always_readable else UnprovenEntries(serializers.value, self.spec.ttl)

    def explain(self, error: Exception) -> None:
        """Add to an error that was raised while values were written that it was then, and whose values."""
        error.add_note(
            f"raised when values of state {self.spec.name!r}, set just now or before, were written to RocksDB"
        )

    @property
    def frozen(self) -> bool:
        """Return whether a write has to wait for a checkpoint."""
        return self._database.frozen

    def thaw(self) -> None:
        """Wait until the state may be written, and has all that caches handed over."""
        self._database.thaw()

    # --- reading ---

    def read(self, scope_key: Any) -> Any:
        """Return the value of a scope key, in a state that keeps one each; None if there is none."""
        data = self.column.get(self.layout.place(scope_key)[0])
        return None if data is None else self.codec.decode(data)

    def read_many(self, scope_keys: list[Any], most_bytes: int) -> dict[Any, bytes | None]:
        """Return what stands in the database for scope keys, in a state that keeps one value each; None where nothing.

        RocksDB finds many in the order of their keys in less than half of the time that it needs for one after the
        other.

        Args:
            scope_keys: The scope keys, each once.
            most_bytes: After about so many bytes the rest is left out.
        """
        scope_keys, prefixes = self.layout.in_order(scope_keys)
        found: dict[Any, bytes | None] = {}
        start, count, size = 0, _FIRST_READ, 0
        while start < len(prefixes) and size < most_bytes:
            values: list[bytes | None] = self.column.get(prefixes[start : start + count])  # type: ignore[assignment, arg-type]
            found.update(zip(scope_keys[start : start + count], values, strict=True))
            size += sum(len(data) for data in values if data is not None)
            start += count
            fitting = (most_bytes - size) * start // max(1, size)  # if the others are of the same size
            count = max(1, min(fitting, _READ_GROWTH * count))
        return found

    def entries(self, scope_key: Any) -> Iterator[tuple[bytes, bytes]]:
        """Walk through what a scope key has, as it is now."""
        self.thaw()
        prefix = self.layout.place(scope_key)[0]
        return walk(self.column, prefix, end_of_prefix(prefix))

    def integer_entries(self, scope_key: Any, first: int, last: int) -> Iterator[tuple[bytes, bytes]]:
        """Walk through the entries of a map whose keys are integers between two, both included, in their order."""
        self.thaw()
        prefix = self.layout.place(scope_key)[0]
        first, last = max(first, -1 << 63), min(last, (1 << 63) - 1)
        for low, high in ((first, min(last, -1)), (max(first, 0), last)):  # those below 0 stand behind the others
            if low <= high:
                yield from walk(self.column, prefix + encode_key(low), prefix + encode_key(high) + b"\0")

    def holds(self, database_key: bytes, data: bytes) -> bool:
        """Return whether an entry is there as it was written."""
        return bool(self.column.get(database_key) == data)

    def scope_key(self, database_key: bytes, data: bytes) -> Any:
        """Return the scope key of an entry, as it was when the entry was written."""
        known = self.codec.key_in(data)
        if known is None:
            return self.layout.scope_key(database_key)
        return known[0]

    def key(self, database_key: bytes, data: bytes) -> Any:
        """Return the key of an entry, without its namespace."""
        known = self.codec.key_in(data)
        if known is None:
            return key_of(database_key)
        return known[0][0] if self.spec.namespaced else known[0]

    def map_key(self, database_key: bytes, at: int, data: bytes) -> Any:
        """Return the map key of an entry of a map, whose encoding starts at an index of the database key."""
        known = self.codec.key_in(data)
        return decode_at(database_key, at)[0] if known is None else known[1]

    # --- writing ---

    def write(self, changes: Iterator[tuple[bytes, bytes | None]]) -> None:
        """Set entries, and remove those whose new value is None."""
        self.thaw()
        self.write_before_checkpoint(changes)

    def write_before_checkpoint(self, changes: Iterator[tuple[bytes, bytes | None]]) -> None:
        """Set and remove entries that belong to the checkpoint that all other writes wait for."""
        if self.unproven is not None:
            changes = self.unproven.noting(changes)
        few = list(itertools.islice(changes, _FEW))
        if len(few) < _FEW:
            column = self.column
            for database_key, data in few:
                if data is None:
                    del column[database_key]
                else:
                    column[database_key] = data
            return
        with self._database.writer(self.spec.name) as writer:
            for database_key, data in _nearly_sorted(itertools.chain(few, changes)):
                if data is None:
                    writer.delete(database_key)
                else:
                    writer.put(database_key, data)

    def delete_entries(self, scope_key: Any) -> None:
        """Remove what a scope key has; one by one, as ranges that were removed make every later read slower."""
        self.write((database_key, None) for database_key, _ in self.entries(scope_key))

    def delete_key_groups(self, start: int, end: int) -> None:
        """Remove the entries of the key groups from ``start`` up to, but without, ``end``, as a range."""
        if start < end:
            with self._database.writer(self.spec.name) as writer:
                writer.delete_range(key_group_start(start), key_group_start(end))

    def set_ttl(self, ttl: bool, now: int) -> None:
        """Turn entries that were written without time-to-live into entries with it, or the other way round."""
        if ttl == self.spec.ttl:
            return
        entries = walk(self.column, b"")
        if ttl:
            self.write(stamped(entries, now))
        else:
            self.write((database_key, data[LAST_ACCESS_BYTES:]) for database_key, data in entries)
        self.spec = dataclasses.replace(self.spec, ttl=ttl)
        self.codec = self._codec()
        if self.unproven is not None:
            self.unproven = UnprovenEntries(self._serializers.value, ttl)
        self.describe()

    def migrate(self, reader: TypeSerializer[Any], stored: StoredSerializers, progress: Callable[[int], None]) -> None:
        """Write all values anew that another serializer wrote.

        Args:
            reader: The serializer that wrote them.
            stored: Snapshots of those that the table has.
            progress: Is told from time to time how many values have been written.

        Raises:
            SerializationError: A value cannot be read or written.
        """
        self.write(self._migrated(reader, progress))
        self.describe_serializers(stored)

    def describe_serializers(self, stored: StoredSerializers) -> None:
        """Note which serializers write from now on: those before may have known less, such as members of an enum."""
        record = self._database.states[self.spec.name]
        if record.serializers != stored:
            self._database.describe(self.spec.name, msgspec.structs.replace(record, serializers=stored))

    def check_keys(self, name: StateName, limit: int | None = None, map_keys: bool = True) -> None:
        """Refuse entries that would not be found any more by the keys that the program has for them.

        Args:
            name: The state, for messages.
            limit: How many entries to look at; None: all.
            map_keys: Whether to look at the keys of maps, too.

        Raises:
            StateMigrationException: The type of the keys changed what they are.
        """
        keys = self._serializers
        for database_key, data in itertools.islice(walk(self.column, b""), limit):
            shown = "a key"
            try:
                scope_key = self.scope_key(database_key, data)
                shown = repr(scope_key)
                if self.spec.namespaced:
                    key, namespace = scope_key
                    expected = self.layout.place((_again(keys.key, key), _again(keys.namespace, namespace)))[0]
                else:
                    expected = self.layout.place(_again(keys.key, scope_key))[0]
                if map_keys and self.spec.kind.shape.has_map_keys:
                    map_key = self.map_key(database_key, self.layout.split(database_key), data)
                    shown = f"{map_key!r}, in the map of {shown},"
                    expected += encode_key(_again(keys.map_key, map_key))
            except (SerializationError, StateRestoreError) as error:
                raise other_keys(name, shown) from error
            if not database_key.startswith(expected):
                raise other_keys(name, shown)

    def estimated_entries(self) -> int:
        """Tell about how many entries there are, as RocksDB estimates it."""
        return int(self.column.property_int_value("rocksdb.estimate-num-keys") or 0)

    def _migrated(
        self, reader: TypeSerializer[Any], progress: Callable[[int], None]
    ) -> Iterator[tuple[bytes, bytes | None]]:
        ttl, read, write = self.spec.ttl, reader.from_bytes, self._serializers.value.to_bytes
        for count, (database_key, data) in enumerate(walk(self.column, b""), 1):
            head, value = split_value(data, ttl)
            if value is not None:
                try:
                    value = write(read(value))
                except Exception as error:  # whatever a serializer raises
                    key = self.key(database_key, data)
                    raise SerializationError(f"the value of key {key!r}: {error}") from error
                yield database_key, head + value
            if not count % _PROGRESS_EVERY:
                progress(count)

    def _codec(self) -> Codec:
        spec = self.spec
        return Codec(spec.ttl, self._serializers, spec.kind.shape.has_map_keys, spec.namespaced)

    def describe(self) -> None:
        """Bring the state's record in the database up to date."""
        record = self._database.states[self.spec.name]
        if (record.ttl, record.sequence) != (self.spec.ttl, self.sequence):
            changed = msgspec.structs.replace(record, ttl=self.spec.ttl, sequence=self.sequence)
            self._database.describe(self.spec.name, changed)


def _again(serializer: TypeSerializer[Any], key: Any) -> Any:
    """Return a key as it is after a way through its serializer."""
    return serializer.from_bytes(serializer.to_bytes(key))


def stamped(entries: Iterable[tuple[bytes, bytes]], now: int) -> Iterator[tuple[bytes, bytes]]:
    """Turn entries of a state without time-to-live into entries of one with it: just written."""
    stamp = pack_last_access(now)
    return ((database_key, stamp + data) for database_key, data in entries)


def _nearly_sorted(changes: Iterator[tuple[bytes, bytes | None]]) -> Iterator[tuple[bytes, bytes | None]]:
    """Put changes in order, as many as are in memory at a time: RocksDB's table of new entries is sorted.

    An entry next to the one before is put in with fewer steps, and most of those are in the processor's cache. Changes
    of one entry keep their order.
    """
    while some := list(itertools.islice(changes, _SORTED)):
        some.sort(key=itemgetter(0))
        yield from some
