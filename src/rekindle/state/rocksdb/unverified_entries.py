"""Entries that were written to RocksDB and that nobody has read back yet.

RocksDB's files go into a checkpoint as they are, so what is written must be read once before the checkpoint counts.
This happens beside the job, when a snapshot is stored, and not where values are written: reading a pickled object takes
half the time of writing it. Values that no code of the user's takes part in reading are not noted here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from rekindle.state.rocksdb.codec import split_value
from rekindle.types.type_serializer import TypeSerializer

_MOST_ENTRIES = 100_000
_MOST_BYTES = 64 << 20

Holds = Callable[[bytes, bytes], bool]
"""Tells whether an entry is in a snapshot, by its database key and what was written."""


@dataclass(slots=True)
class Batch:
    """Hold entries that were written between two snapshots.

    Attributes:
        entries: Database keys and what was written; of one key several may be here.
        proven: Whether all of them were read back, or are gone.
    """

    entries: list[tuple[bytes, bytes]]
    proven: bool = False


class UnprovenEntries:
    """Note the entries of one state until they are read back."""

    __slots__ = ("_batches", "_bytes", "_doubtful", "_entries", "_serializer", "_ttl")

    def __init__(self, serializer: TypeSerializer[Any], ttl: bool) -> None:
        """Note nothing yet.

        Args:
            serializer: Wrote the values.
            ttl: Whether times of last access stand before them.
        """
        self._doubtful = serializer.doubtful
        self._serializer = serializer
        self._ttl = ttl
        self._entries: list[tuple[bytes, bytes]] = []
        self._bytes = 0
        self._batches: list[Batch] = []

    def noting(self, changes: Iterator[tuple[bytes, bytes | None]]) -> Iterator[tuple[bytes, bytes | None]]:
        """Note changes as they are written."""
        doubtful, note, size = self._doubtful, self._entries.append, 0
        try:
            for change in changes:
                data = change[1]
                if data is not None and doubtful in data:
                    note(change)  # type: ignore[arg-type]
                    size += len(data)
                yield change
        finally:
            self._bytes += size

    def check(self, data: bytes) -> None:
        """Read an entry that is about to be written, if there is any doubt, and raise what comes of it."""
        if self._doubtful in data:
            self._read(data, self._serializer)

    def clear(self) -> None:
        """Forget what was written: it was restored, and so it can be."""
        self._entries, self._bytes = [], 0

    def take(self) -> list[Batch]:
        """Return what a snapshot taken now has to read back; it stays noted until :meth:`prove` has."""
        self._batches = [batch for batch in self._batches if not batch.proven]
        if self._entries:
            self._batches.append(Batch(self._entries))
            self.clear()
        return list(self._batches)

    def prove(self, batches: list[Batch], holds: Holds) -> None:
        """Read entries back, and raise what comes of one that cannot be read. May be called by another thread.

        Args:
            batches: The entries.
            holds: Tells whether an entry that cannot be read is in the snapshot, or was replaced before.
        """
        reader = self._serializer.duplicate()  # the other may be writing
        for batch in batches:
            for database_key, data in batch.entries:
                try:
                    self._read(data, reader)
                except Exception:
                    if holds(database_key, data):
                        raise
            batch.proven = True

    def limit(self, holds: Holds) -> None:
        """Read back here and now, if more is noted than there is room for."""
        if len(self._entries) > _MOST_ENTRIES or self._bytes > _MOST_BYTES:
            self.prove(self.take(), holds)

    def _read(self, data: bytes, reader: TypeSerializer[Any]) -> None:
        value = split_value(data, self._ttl)[1]
        if value is not None:
            reader.from_bytes(value)
