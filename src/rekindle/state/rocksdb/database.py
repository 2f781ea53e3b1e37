"""One RocksDB database: a column family for each state and for the timers of each name, and in the default one a record
of each, so that the files say by themselves what they hold.

There is no write-ahead log: what a checkpoint does not hold is lost with the process, and played again.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Any, TypeVar

import msgspec
from rocksdict import AccessType, Checkpoint, Rdict, RdictIter, ReadOptions, WriteBatch, WriteOptions

from rekindle.exceptions import CheckpointCorruptError, ConfigurationError
from rekindle.state.blocks import StateSpec
from rekindle.state.kinds.state_kind import kind_named
from rekindle.state.rocksdb.options import RocksDBOptions
from rekindle.state.state_serializers import StoredSerializers

VERSION = 2
VERSION_WITH_TIMERS = 3
_VERSION_KEY = b"version"
_STATE_PREFIX = b"state/"
_TIMERS_PREFIX = b"timers/"
_DEFAULT = "default"
_BATCH_BYTES = 4 << 20
_BATCH_ENTRIES = 1024  # after so many the size of a batch is looked at, or after fewer that are large
_LARGE = _BATCH_BYTES // _BATCH_ENTRIES
_DAMAGE = ("Corruption", "No such file or directory", "does not exist")


class StateRecord(msgspec.Struct, frozen=True):
    """Say of a state what is needed to read it.

    Attributes:
        kind: The name of its kind.
        ttl: Whether its values carry the time of their last access.
        namespaced: Whether its keys carry a namespace.
        column: Its column family.
        serializers: Snapshots of the serializers of its keys and values.
        sequence: For a list state: above the sequence numbers of all elements.
    """

    kind: str
    ttl: bool
    namespaced: bool
    column: str
    serializers: StoredSerializers
    sequence: int = 0

    def spec(self, name: str) -> StateSpec:
        """Return the state that this is the record of."""
        return StateSpec(name, kind_named(self.kind), self.ttl, self.namespaced)


class TimerRecord(msgspec.Struct, frozen=True):
    """Say of timers what is needed to read them.

    Attributes:
        column: Their column family.
        serializers: Snapshots of the serializers of their keys and namespaces.
    """

    column: str
    serializers: StoredSerializers


_Record = TypeVar("_Record", StateRecord, TimerRecord)


class WriteBarrier(ABC):
    """Something that has to be done before the database may be written again."""

    @property
    @abstractmethod
    def over(self) -> bool:
        """Return whether it is done."""

    @abstractmethod
    def wait(self) -> None:
        """Return when it is done."""


class WriteBuffer(ABC):
    """Something that has changes in memory which the database does not have yet, as *cells* of its own form."""

    __slots__ = ()

    @abstractmethod
    def freeze(self) -> dict[Any, Any]:
        """Hand over the cells, and keep them as if they had been written: nothing else may be written before them."""

    @abstractmethod
    def weight(self, cells: dict[Any, Any]) -> int:
        """Count the entries in cells that were handed over."""

    @abstractmethod
    def encoded(self, cells: dict[Any, Any]) -> Iterator[tuple[bytes, bytes | None]]:
        """Encode cells that were handed over, without looking into RocksDB; None where an entry is to be removed."""

    @abstractmethod
    def write_encoded(self, changes: Iterator[tuple[bytes, bytes | None]]) -> None:
        """Write what :meth:`encoded` gave, while all other writes wait."""

    @abstractmethod
    def take_back(self, cells: dict[Any, Any]) -> None:
        """Take over cells that were handed over and could not be written; what was changed since then stays."""


class Database:
    """Hold a database that is open.

    Attributes:
        states: The records of all states, by name.
        timers: The records of all timers, by name.
    """

    __slots__ = (
        "_barrier",
        "_closed",
        "_columns",
        "_directory",
        "_options",
        "_root",
        "_write_options",
        "states",
        "timers",
    )

    def __init__(self, directory: str, options: RocksDBOptions, create: bool = False, read_only: bool = False) -> None:
        """Open the database in a directory.

        Args:
            directory: Where its files are.
            options: RocksDB's options.
            create: Whether there is none yet.
            read_only: Whether to leave the files alone.

        Raises:
            CheckpointCorruptError: The database is damaged, or not there.
            ConfigurationError: RocksDB refuses the options of a new one.
        """
        self._barrier: WriteBarrier | None = None
        self._closed = False
        self._directory = directory
        self._options = options
        self._write_options = WriteOptions()
        self._write_options.disable_wal = True  # type: ignore[method-assign, assignment]
        self._columns: dict[str, Rdict] = {}
        self.states: dict[str, StateRecord] = {}
        self.timers: dict[str, TimerRecord] = {}
        with _options_reported() if create else damage_reported(directory):
            names = [_DEFAULT] if create else Rdict.list_cf(directory, options.database)
            access = AccessType.read_only() if read_only else AccessType.read_write()
            self._root = Rdict(directory, options.database, dict.fromkeys(names, options.column), access)
            self._root.set_write_options(self._write_options)
            if create:
                self._root[_VERSION_KEY] = msgspec.msgpack.encode(VERSION)
                return
            try:
                for name in names:
                    if name != _DEFAULT:
                        self._columns[name] = self._opened(name)
                self._read_records()
            except BaseException:
                self.close()
                raise

    def column(self, name: str) -> Rdict:
        """Return the column family of a state."""
        return self._columns[self.states[name].column]

    def create(self, name: str, kind: str, ttl: bool, namespaced: bool, serializers: StoredSerializers) -> None:
        """Add a state, with a column family of its own."""
        record = StateRecord(kind, ttl, namespaced, self._new_column("state"), serializers)
        self.describe(name, record)

    def describe(self, name: str, record: StateRecord) -> None:
        """Replace the record of a state."""
        self.states[name] = record
        self._root[_STATE_PREFIX + _encoded_name(name)] = msgspec.msgpack.encode(record)

    def timer_column(self, name: str) -> Rdict:
        """Return the column family of timers."""
        return self._columns[self.timers[name].column]

    def create_timers(self, name: str, serializers: StoredSerializers) -> None:
        """Add timers, with a column family of their own."""
        self._root[_VERSION_KEY] = msgspec.msgpack.encode(VERSION_WITH_TIMERS)
        record = self.timers[name] = TimerRecord(self._new_column("timers"), serializers)
        self._root[_TIMERS_PREFIX + _encoded_name(name)] = msgspec.msgpack.encode(record)

    def drop_timers(self, name: str) -> None:
        """Remove timers, with their column family."""
        record = self.timers.pop(name)
        del self._root[_TIMERS_PREFIX + _encoded_name(name)]
        self._columns.pop(record.column).close()
        self._root.drop_column_family(record.column)

    @property
    def frozen(self) -> bool:
        """Return whether a write has to wait."""
        return self._barrier is not None and not self._barrier.over

    def freeze(self, barrier: WriteBarrier) -> None:
        """Let nobody write, or walk through entries, until something is done."""
        self._barrier = barrier

    def thaw(self) -> None:
        """Wait until the database may be written. To be called before that is done, and by one thread only."""
        barrier, self._barrier = self._barrier, None
        if barrier is not None:
            barrier.wait()

    def writer(self, name: str) -> BatchWriter:
        """Begin to write many entries of a state."""
        return BatchWriter(self._root, self.states[name].column)

    def timer_writer(self, name: str) -> BatchWriter:
        """Begin to write many timers."""
        return BatchWriter(self._root, self.timers[name].column)

    def checkpoint(self, directory: str) -> None:
        """Make a copy of the database as it is now, of hard links to files that never change."""
        for column in (self._root, *self._columns.values()):
            column.flush()  # without the interpreter's lock, unlike the flush that a checkpoint would do
        Checkpoint(self._root).create_checkpoint(directory)

    def close(self) -> None:
        """Close the database, unless it is. Iterators that somebody still has stay usable, and keep its files open."""
        if self._closed:
            return
        self._closed = True
        for column in self._columns.values():
            column.close()
        self._columns.clear()
        self._root.close()

    def _opened(self, column: str) -> Rdict:
        opened = self._root.get_column_family(column)
        opened.set_write_options(self._write_options)
        return opened

    def _new_column(self, kind: str) -> str:
        """Make a column family, and return its name."""
        taken = [int(column.removeprefix(f"{kind}-")) for column in self._columns if column.startswith(f"{kind}-")]
        column = f"{kind}-{1 + max(taken, default=-1)}"
        self._root.create_column_family(column, self._options.column)
        self._columns[column] = self._opened(column)
        return column

    def _read_records(self) -> None:
        version = self._root.get(_VERSION_KEY)
        if version is None or msgspec.msgpack.decode(version) not in (VERSION, VERSION_WITH_TIMERS):
            problem = "records are missing" if version is None else "it is of an unknown version"
            raise CheckpointCorruptError(f"the database in {self._directory} cannot be read: {problem}")
        self.states = self._records(_STATE_PREFIX, StateRecord)
        self.timers = self._records(_TIMERS_PREFIX, TimerRecord)

    def _records(self, prefix: bytes, kind: type[_Record]) -> dict[str, _Record]:
        records: dict[str, _Record] = {}
        for key, data in walk(self._root, prefix, prefix + b"\xff"):
            name = key.removeprefix(prefix).decode("utf-8", "surrogatepass")
            records[name] = msgspec.msgpack.decode(data, type=kind)
            if records[name].column not in self._columns:
                raise CheckpointCorruptError(
                    f"the database in {self._directory} cannot be read: the entries of state {name!r} are missing"
                )
        return records


class BatchWriter:
    """Write to one column family in batches; what is left is written at the end of the ``with`` block."""

    __slots__ = ("_batch", "_column", "_root", "_until_check")

    def __init__(self, root: Rdict, column: str) -> None:
        self._root = root
        self._column = column
        self._begin()

    def put(self, key: bytes, value: bytes) -> None:
        """Set an entry."""
        self._batch[key] = value
        self._until_check -= 1 if len(value) < _LARGE else 1 + len(value) // _LARGE
        if self._until_check <= 0:
            self._check()

    def delete(self, key: bytes) -> None:
        """Remove an entry."""
        del self._batch[key]
        self._until_check -= 1
        if self._until_check <= 0:
            self._check()

    def delete_range(self, start: bytes, end: bytes) -> None:
        """Remove all entries from ``start`` up to, but without, ``end``."""
        self._batch.delete_range(start, end, self._root.get_column_family_handle(self._column))

    def __enter__(self) -> BatchWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if kind is None and self._batch.len():
            self._root.write(self._batch)

    def _begin(self) -> None:
        self._batch = WriteBatch(raw_mode=True)
        self._batch.set_default_column_family(self._root.get_column_family_handle(self._column))
        self._until_check = _BATCH_ENTRIES

    def _check(self) -> None:
        if self._batch.size_in_bytes() < _BATCH_BYTES:
            self._until_check = _BATCH_ENTRIES
            return
        self._root.write(self._batch)
        self._begin()


def _encoded_name(name: str) -> bytes:
    return name.encode("utf-8", "surrogatepass")


def walk(column: Rdict, start: bytes, end: bytes | None = None) -> Iterator[tuple[bytes, bytes]]:
    """Walk through the entries from ``start`` up to, but without, ``end``, as they are at the time of this call.

    Rdict.items() is a third faster, but takes a damaged block for the end.
    """
    options = ReadOptions()
    if end is not None:
        options.set_iterate_upper_bound(end)
    iterator = column.iter(options)
    iterator.seek(start)
    return _walk(iterator, options)


def _walk(iterator: RdictIter, options: ReadOptions) -> Iterator[tuple[bytes, bytes]]:
    # The options own the upper bound, and the iterator does not keep them: they have to live as long as it does.
    while iterator.valid():
        yield iterator.key(), iterator.value()
        iterator.next()
    iterator.status()  # raises if it is not the end that was reached


@contextmanager
def _options_reported() -> Iterator[None]:
    """Turn what RocksDB raises about the options of a new database into ConfigurationError."""
    try:
        yield
    except Exception as error:
        if "Invalid argument" in str(error):
            raise ConfigurationError(
                f"RocksDB refuses its settings: {error}. Check state.backend.rocksdb.… and the options factory"
            ) from error
        raise


@contextmanager
def damage_reported(directory: str) -> Iterator[None]:
    """Turn what RocksDB raises about the files in a directory into CheckpointCorruptError."""
    try:
        yield
    except Exception as error:
        # All that rocksdict raises is of class Exception itself. What is not damage may be a full disk, or options.
        if type(error) is not Exception or not any(reason in str(error) for reason in _DAMAGE):
            raise
        raise CheckpointCorruptError(
            f"the database in {directory} cannot be read: {error}. Restore from another checkpoint"
        ) from error
