"""Lists in RocksDB: each element stands for itself, in the order of sequence numbers that a state counts up.

So adding to a list reads nothing, neither the elements before nor how many they are.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from rekindle.contracts.state import ListState
from rekindle.state.list_elements import none_refused, without_none
from rekindle.state.rocksdb.cache import WriteBackCache
from rekindle.state.rocksdb.database import walk
from rekindle.state.rocksdb.layout import end_of_prefix, pack_sequence
from rekindle.state.scope import Scope


class Elements(list[Any]):
    """Hold the last elements of one list.

    Attributes:
        complete: Whether these are all; else RocksDB has those before, and none of these.
        written: How many of these RocksDB has.
        stale: Whether RocksDB has, or may have, elements that do not belong to the list any more.
    """

    __slots__ = ("complete", "stale", "written")

    def __init__(self, elements: Iterable[Any] = (), complete: bool = False, stale: bool = False) -> None:
        super().__init__(elements)
        self.complete = complete
        self.stale = stale
        self.written = 0


@dataclass(frozen=True, slots=True)
class _Unwritten:
    """Hold what RocksDB lacks of one list.

    Attributes:
        elements: The elements, in their order.
        sequence: The sequence number of the first.
        stale: Whether what RocksDB has of the list is to be removed.
        complete: Whether the cell that these elements are from holds the whole list.
    """

    elements: list[Any]
    sequence: int
    stale: bool
    complete: bool

    def __len__(self) -> int:
        return len(self.elements)


class ListCache(WriteBackCache):
    """Cache lists; a cell is the Elements of one, and only in one of ``dirty``, ``clean`` and ``old``."""

    __slots__ = ()

    def fill(self, entries: Mapping[Any, Any]) -> None:
        self.dirty.update((scope_key, Elements(elements)) for scope_key, elements in entries.items())

    def freeze(self) -> dict[Any, Any]:
        dirty, self.dirty = self.dirty, {}
        unwritten = self._unwritten(dirty)
        self._keep(dirty)
        return unwritten

    def take_back(self, cells: dict[Any, Any]) -> None:
        for scope_key, unwritten in cells.items():
            cell = self.dirty.get(scope_key)
            if unwritten.complete:
                if cell is None:
                    cell = self._take_clean(scope_key)
                    assert cell is not None, "a cell stays until it is written"
                    self.dirty[scope_key] = cell
                cell.written, cell.stale = 0, True
            elif cell is None:
                self.dirty[scope_key] = Elements(unwritten.elements)
            elif not cell.complete:
                cell[:0] = unwritten.elements

    def expanded(self, changes: Iterator[tuple[bytes, bytes | None]]) -> Iterator[tuple[bytes, bytes | None]]:
        column = self.table.column
        for database_key, data in changes:
            if data is None:
                stale = walk(column, database_key, end_of_prefix(database_key))
                yield from ((stored, None) for stored, _ in stale)
            else:
                yield database_key, data

    def to_append(self, scope_key: Any) -> Elements:
        """Return the cell of a list that is not dirty, and is about to be."""
        cell = self._take_clean(scope_key)
        if cell is None:
            cell = Elements()
        self.dirty[scope_key] = cell
        self.room -= 1
        return cell

    def whole(self, scope_key: Any) -> list[Any]:
        """Return all elements of a list, in a list of its own."""
        cell = self.dirty.get(scope_key, self.clean.get(scope_key))
        if cell is None or not cell.complete:
            self.table.thaw()
        cell = self.dirty.get(scope_key)
        if cell is None:
            cell = self.clean.get(scope_key)
            if cell is None:
                cell = self.old.pop(scope_key, None)
                if cell is None:
                    cell = Elements()
                self.clean[scope_key] = cell
                self.room -= 1 + len(cell)
        if not cell.complete:
            stored = list(map(self.table.codec.decode, (data for _, data in self.table.entries(scope_key))))
            cell[:0] = stored
            cell.written = len(stored)
            cell.complete = True
            self.room -= len(stored)
        elements = list(cell)
        if self.room <= 0:
            self.make_room()
        return elements

    def replace(self, scope_key: Any, elements: list[Any]) -> None:
        """Make other elements the list."""
        cell = self.dirty.get(scope_key)
        if cell is None:
            cell = self._take_clean(scope_key)
        nothing_stored = cell is not None and cell.complete and not cell.written and not cell.stale
        self.dirty[scope_key] = Elements(elements, complete=True, stale=not nothing_stored)
        self.room -= 1 + len(elements)
        if self.room <= 0:
            self.make_room(scope_key)

    def stored(self, scope_key: Any) -> list[Any]:
        places = (self.dirty, self.clean, self.old)
        cell = next((cells[scope_key] for cells in places if scope_key in cells), Elements())
        if cell.complete:
            return list(cell)
        return [self.table.codec.decode(data) for _, data in self._entries_at_once(scope_key)] + cell

    def expire(self, scope_key: Any, threshold: int) -> int:
        cell = self.dirty.get(scope_key, ())
        if any(pair[1] <= threshold for pair in cell):
            self.flush_key(scope_key)
            self.forget(scope_key)
        return len(cell)

    def release(self, scope_key: Any, map_key: Any) -> bool:
        cell = self.dirty.get(scope_key)
        if cell is not None:
            return not cell.complete
        self.forget(scope_key)
        return True

    def _take_clean(self, scope_key: Any) -> Elements | None:
        cell: Elements | None = self.clean.pop(scope_key, None)
        return self.old.pop(scope_key, None) if cell is None else cell

    def _drop_shadowed(self) -> None:
        pass  # a cell is in one place only

    def _weight(self, cells: dict[Any, Any]) -> int:
        return sum(map(len, cells.values())) + len(cells)

    def _unwritten(self, cells: dict[Any, Any]) -> dict[Any, Any]:
        """Give sequence numbers to the elements of dirty cells that RocksDB does not have."""
        sequence = self.table.sequence
        unwritten = {}
        for scope_key, cell in cells.items():
            elements = cell[cell.written :]
            unwritten[scope_key] = _Unwritten(elements, sequence, cell.stale, cell.complete)
            sequence += len(elements)
        self.table.sequence = sequence
        return unwritten

    def _changes(self, cells: dict[Any, Any]) -> Iterator[tuple[bytes, bytes | None]]:
        # All are encoded before any is written: if one cannot be, none may be there when they are written again.
        return self.expanded(iter(list(self._frozen_changes(self._unwritten(cells)))))

    def _frozen_changes(self, cells: dict[Any, Any]) -> Iterator[tuple[bytes, bytes | None]]:
        """Encode elements. Its prefix, which no element has as its key, is to be removed where a list is stale."""
        place, codec = self.table.layout.place, self.table.codec
        for scope_key, unwritten in cells.items():
            prefix, exact = place(scope_key)
            if unwritten.stale:
                yield prefix, None
            for sequence, element in enumerate(unwritten.elements, unwritten.sequence):
                data = codec.encode(element) if exact else codec.encode_with_key(scope_key, element)
                yield prefix + pack_sequence(sequence), data

    def _keep(self, cells: dict[Any, Any]) -> None:
        for scope_key, cell in cells.items():
            if cell.complete:
                cell.written = len(cell)
                cell.stale = False
                self.clean[scope_key] = cell


class RocksListState(ListState[Any]):
    """Keep a list per key."""

    __slots__ = ("_cache", "_name", "_scope")

    def __init__(self, scope: Scope, cache: ListCache) -> None:
        self._scope = scope
        self._cache = cache
        self._name = cache.table.spec.name

    def get(self) -> list[Any]:
        return self._cache.whole(self._scope.key)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.get())

    def add(self, value: Any) -> None:
        if value is None:
            raise none_refused(self._name)
        cache = self._cache
        key = self._scope.key
        cell = cache.dirty.get(key)
        if cell is None:
            cell = cache.to_append(key)
        cell.append(value)
        cache.room -= 1
        if cache.room <= 0:
            cache.make_room(key)

    def add_all(self, values: Iterable[Any]) -> None:
        added = without_none(values, self._name)
        if added:
            cache = self._cache
            key = self._scope.key
            cell = cache.dirty.get(key)
            if cell is None:
                cell = cache.to_append(key)
            cell.extend(added)
            cache.room -= len(added)
            if cache.room <= 0:
                cache.make_room(key)

    def update(self, values: Iterable[Any]) -> None:
        self._cache.replace(self._scope.key, without_none(values, self._name))

    def clear(self) -> None:
        self._cache.replace(self._scope.key, [])
