"""Python objects in front of RocksDB: what was read or written lately is neither encoded nor decoded again.

A cell is what the cache knows of one scope key. Cells that were changed are ``dirty`` until they are written, all at
once: to make room, or for a snapshot, to which they are handed over and from then on count as written. Cells that
RocksDB has, too, are in ``clean``, and in ``old`` if they were there when room was made last; when room is made again
and nobody asked for them, they are forgotten. No access takes a lock or moves anything: an access of a dirty cell, the
most frequent, is one lookup.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

from rekindle.base.object_size import object_size
from rekindle.state.queryable_state import StateBusyError
from rekindle.state.rocksdb.database import WriteBuffer
from rekindle.state.rocksdb.table import StateTable

_MOST_BYTES = 64 << 20
_FIRST_LOOK, _LOOK_EVERY = 16, 4096  # how many entries are put in before their size is looked at
_SAMPLES = 4
_WHILE_FROZEN = 3  # how much more than usual is kept while nothing can be written


class WriteBackCache(WriteBuffer):
    """Keep ``entries`` entries of a state, and as many again that were not asked for lately; none at all with 0.

    Fewer, if they are large: about 64 MiB of them. That is looked at whenever some thousands have been put in.

    Attributes:
        table: The state in RocksDB.
        dirty: What RocksDB does not have yet; always looked up first.
        clean: What RocksDB has, too.
        old: What RocksDB has, too, and was not asked for lately.
        room: How many more entries may be put in before :meth:`make_room` is called. Who puts one in counts it down.
    """

    __slots__ = ("_limit", "_reserve", "clean", "dirty", "old", "room", "table")

    def __init__(self, table: StateTable, entries: int) -> None:
        self.table = table
        self.dirty: dict[Any, Any] = {}
        self.clean: dict[Any, Any] = {}
        self.old: dict[Any, Any] = {}
        self._limit = entries
        self.room = min(entries, _FIRST_LOOK)
        self._reserve = entries - self.room  # what may be put in besides, if entries are not too large

    def make_room(self, scope_key: Any = None) -> None:
        """Write what is dirty, and forget what was not asked for since the last time; neither, if it all fits.

        Args:
            scope_key: What was put in last, if that is known: others may have the same size.
        """
        if not self._limit:
            self._write(self.dirty)
            self.dirty.clear()
            self.clean.clear()
            return
        limit = self._limit if self._limit <= _FIRST_LOOK else min(self._limit, self._fitting(scope_key))
        if self.table.frozen:
            weight = self._weight(self.dirty) + self._weight(self.clean)
            if weight < _WHILE_FROZEN * limit:  # rather than wait
                self._give_room(_WHILE_FROZEN * limit - weight)
                return
        if self._reserve > 0 and limit == self._limit:
            more = min(self._reserve, _LOOK_EVERY)
            self._reserve -= more
            self.room += more
            if self.room > 0:
                return
        self._drop_shadowed()
        weight = self._weight(self.dirty) + self._weight(self.clean)
        if weight < limit - limit // 8:  # the same entries were put in again and again
            self._give_room(limit - weight)
            return
        self.flush()
        self.old = self.clean if weight <= 2 * limit else {}
        self.clean = {}
        self._give_room(limit)

    def _give_room(self, entries: int) -> None:
        self.room = min(entries, _LOOK_EVERY)
        self._reserve = entries - self.room

    def _fitting(self, scope_key: Any) -> int:
        """Return how many entries of the size of those that were put in last may be kept."""
        lately = [cell for cells in (self.dirty, self.clean) for cell in islice(reversed(cells.values()), _SAMPLES)]
        if scope_key in self.dirty:
            lately.append(self.dirty[scope_key])
        largest = max((object_size(cell) // max(1, self._weight({None: cell})) for cell in lately), default=1)
        return max(_SAMPLES, _MOST_BYTES // largest)

    def fill(self, entries: Mapping[Any, Any]) -> None:
        """Put in scope keys and what they have, in the form of blocks. RocksDB must have nothing of them."""
        self.dirty.update(entries)

    def weight(self, cells: dict[Any, Any]) -> int:
        return self._weight(cells)

    def freeze(self) -> dict[Any, Any]:
        dirty, self.dirty = self.dirty, {}
        self._keep(dirty)
        return dirty

    def encoded(self, cells: dict[Any, Any]) -> Iterator[tuple[bytes, bytes | None]]:
        try:
            yield from self._frozen_changes(cells)
        except Exception as error:
            self.table.explain(error)
            raise

    def expanded(self, changes: Iterator[tuple[bytes, bytes | None]]) -> Iterator[tuple[bytes, bytes | None]]:
        """Return the changes to be written for those that :meth:`encoded` gave."""
        return changes

    def write_encoded(self, changes: Iterator[tuple[bytes, bytes | None]]) -> None:
        self.table.write_before_checkpoint(self.expanded(changes))

    def take_back(self, cells: dict[Any, Any]) -> None:
        self.dirty = cells | self.dirty

    def flush(self) -> None:
        """Write what is dirty."""
        self.table.thaw()
        dirty = self.dirty
        if dirty:
            self._write(dirty)
            self.dirty = {}
            self._keep(dirty)

    def flush_key(self, scope_key: Any) -> None:
        """Write what is dirty of one scope key."""
        self.table.thaw()
        if scope_key in self.dirty:
            cells = {scope_key: self.dirty[scope_key]}
            self._write(cells)
            del self.dirty[scope_key]
            self._keep(cells)

    def forget(self, scope_key: Any) -> None:
        """Forget all that is known of a scope key, written or not."""
        self.table.thaw()
        self.dirty.pop(scope_key, None)
        self.clean.pop(scope_key, None)
        self.old.pop(scope_key, None)

    @abstractmethod
    def stored(self, scope_key: Any) -> Any:
        """Return what a scope key has, for somebody who only looks: it is not kept here, and nothing is written.

        Raises:
            StateBusyError: A checkpoint has to be written first.
        """

    def _entries_at_once(self, scope_key: Any) -> Iterator[tuple[bytes, bytes]]:
        """Walk through what RocksDB has of a scope key, unless a checkpoint has to be waited for."""
        if self.table.frozen:
            raise StateBusyError
        return self.table.entries(scope_key)

    @abstractmethod
    def expire(self, scope_key: Any, threshold: int) -> int:
        """Visit the entries of a dirty cell, and remove those accessed last at ``threshold`` or before.

        What cannot be removed here is written instead, so that it can be removed there. Returns how many were visited.
        """

    @abstractmethod
    def release(self, scope_key: Any, map_key: Any) -> bool:
        """Forget an entry that is about to be removed from RocksDB; False: it must stay, something newer is dirty."""

    @abstractmethod
    def _drop_shadowed(self) -> None:
        """Forget what is in ``clean`` but not looked up there, as it is in ``dirty``, too."""

    @abstractmethod
    def _weight(self, cells: dict[Any, Any]) -> int:
        """Count the entries in cells."""

    @abstractmethod
    def _changes(self, cells: dict[Any, Any]) -> Iterator[tuple[bytes, bytes | None]]:
        """Encode dirty cells: database keys with their new values, None where they are to be removed."""

    def _frozen_changes(self, cells: dict[Any, Any]) -> Iterator[tuple[bytes, bytes | None]]:
        return self._changes(cells)

    def _keep(self, cells: dict[Any, Any]) -> None:
        """Keep cells that were just written."""
        self.clean.update(cells)

    def _write(self, cells: dict[Any, Any]) -> None:
        try:
            self.table.write(self._changes(cells))
        except Exception as error:
            self.table.explain(error)
            raise
