"""The entries of one state on the heap: what handles work on, written to snapshots and read back from them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any

import numpy as np
import numpy.typing as npt

from rekindle.base.object_size import typical_size
from rekindle.state.block_encoding import BLOCK_BYTES, BlockEncoder, unwritable
from rekindle.state.blocks import KeyGroupBlock, StateSpec
from rekindle.state.heap.changes import StateChanges, union
from rekindle.state.heap.states import HeapState
from rekindle.state.key_hash import key_group_of, key_groups_of_longs
from rekindle.state.read_back import BlockReadBack
from rekindle.state.shapes.map_shape import MapChange


class HeapTable:
    """Hold one state: a dict from key, or (key, namespace), to the value, accumulator, list or dict.

    Attributes:
        spec: The state.
        entries: Its entries; always the same dict.
        read_back: Reads its blocks back.

    Changes are noted from the first snapshot on, and not while more than half of the entries have changed: such a
    snapshot is written whole anyway, and noting costs a third of a write when the keys are many.
    """

    __slots__ = ("_changes", "_encoder", "_handles", "_incremental", "_sweep", "_taken", "entries", "read_back", "spec")

    def __init__(
        self,
        spec: StateSpec,
        encoder: BlockEncoder,
        read_back: BlockReadBack,
        entries: dict[Any, Any],
        incremental: bool,
        noting: bool,
    ) -> None:
        """Make a table.

        Args:
            spec: The state.
            encoder: Encodes its entries.
            read_back: Reads back what the encoder wrote.
            entries: What was restored.
            incremental: Whether snapshots may be incremental.
            noting: Whether to note changes from now on: snapshots were taken that say the same of this state as
                ``entries``.
        """
        self.spec = spec
        self.entries = entries
        self._encoder = encoder
        self.read_back = read_back
        self._incremental = incremental
        self._handles: list[HeapState] = []
        self._changes = StateChanges() if noting else None  # None: not noted, anything may have changed
        # By the snapshot that took them, until a later one is complete.
        self._taken: dict[int, StateChanges | None] = {}
        self._sweep: Iterator[Any] = iter(())

    def attach(self, handle: HeapState) -> None:
        """Let a handle note its changes here."""
        self._handles.append(handle)
        handle.note_changes(self._changes)

    # --- snapshots ---

    def take_changes(self, checkpoint_id: int) -> None:
        """Close the stretch of time whose changes belong to a snapshot."""
        if self._incremental:
            self._taken[checkpoint_id] = self._changes
            self._note(StateChanges())

    def forget_changes(self, checkpoint_id: int) -> None:
        """Forget changes up to a snapshot that is complete."""
        self._taken = {taken: changes for taken, changes in self._taken.items() if taken > checkpoint_id}

    def change_count(self) -> int | None:
        """Count changes that no completed snapshot has; None where not all were noted."""
        noted = [changes for changes in (*self._taken.values(), self._changes) if changes is not None]
        return sum(map(len, noted)) if len(noted) > len(self._taken) else None

    def changes_since(self, base_id: int) -> StateChanges | None:
        """Return what changed between the snapshot ``base_id`` and the last one taken; None where not all was noted."""
        stretches = [changes for taken, changes in self._taken.items() if taken > base_id]
        noted = [changes for changes in stretches if changes is not None]
        return union(noted) if len(noted) == len(stretches) else None

    def limit_changes(self) -> None:
        """Stop noting changes when there are so many that the next snapshot is written whole."""
        if self._changes is not None and 2 * len(self._changes) > max(len(self.entries), _FEW):
            self._note(None)

    def _note(self, changes: StateChanges | None) -> None:
        self._changes = changes
        for handle in self._handles:
            handle.note_changes(changes)

    def whole_blocks(self, max_parallelism: int, expired_until: int | None) -> Iterator[KeyGroupBlock]:
        """Encode all entries but those that were accessed last at ``expired_until`` or before."""
        entries = self.entries
        if expired_until is not None:
            unexpired = self.spec.kind.shape.unexpired
            left = ((key, unexpired(value, expired_until)) for key, value in entries.items())
            entries = {key: value for key, value in left if value is not None}
        values = list(entries.values())  # a place in a list is found in less than half of the time of a key in a dict
        for key_group, keys, places in self._by_key_group(list(entries), max_parallelism):
            yield from self._whole(key_group, keys, list(map(values.__getitem__, places)))

    def blocks_of(self, key: Any, max_parallelism: int) -> Iterator[KeyGroupBlock]:
        """Encode the entries of one key, in all its namespaces."""
        if self.spec.namespaced:
            own = [entry for entry in self.entries if entry[0] == key]
        else:
            own = [key] if key in self.entries else []
        for key_group, keys, _ in self._by_key_group(own, max_parallelism):
            yield from self._whole(key_group, keys, list(map(self.entries.__getitem__, keys)))

    def _whole(self, key_group: int, keys: list[Any], values: list[Any]) -> Iterator[KeyGroupBlock]:
        """Encode entries, in several blocks where they are large: what a block holds is in memory several times."""
        at_once = max(1, BLOCK_BYTES // typical_size(values))
        for start in range(0, len(keys), at_once):
            yield self._encoder.whole(key_group, keys[start : start + at_once], values[start : start + at_once])

    def delta_blocks(self, changes: StateChanges, max_parallelism: int, whole: bool) -> Iterator[KeyGroupBlock]:
        """Encode changes, with the entries as they are now.

        Args:
            changes: The changes.
            max_parallelism: The number of key groups.
            whole: Whether to encode lists and maps that were changed as a whole: the base may lack a part of them.
        """
        entries = self.entries
        if whole:
            changes = changes.of_whole_entries()
        changed, replacement = self._changed(changes), self.spec.kind.shape.replacement
        touched = [*changes.keys, *(key for key in changed if key not in changes.keys)]
        for key_group, keys, _ in self._by_key_group(touched, max_parallelism):
            kept = [key for key in keys if key in entries]
            removed = [key for key in keys if key not in entries]
            values = [changed[key] if key in changed else replacement(entries[key]) for key in kept]
            at_once = max(1, BLOCK_BYTES // typical_size(values))
            for start in range(0, len(kept) or 1, at_once):
                some = slice(start, start + at_once)
                yield self._encoder.delta(key_group, kept[some], values[some], [] if start else removed)

    def _changed(self, changes: StateChanges) -> dict[Any, Any]:
        """Return the changes of entries that were not replaced as a whole, by key."""
        lists = ((key, start) for key, start in changes.starts.items() if key not in changes.keys)
        grown = {key: (start, self.entries[key][start:] if key in self.entries else []) for key, start in lists}
        maps: dict[Any, MapChange] = {}
        for key, map_key in changes.map_entries:
            if key in changes.keys:
                continue
            change = maps.get(key)
            if change is None:
                change = maps[key] = MapChange(False, {}, [])
            mapping = self.entries.get(key, {})
            if map_key in mapping:
                change.put[map_key] = mapping[map_key]
            else:
                change.removed.append(map_key)
        return grown | maps

    def _by_key_group(self, keys: list[Any], max_parallelism: int) -> Iterator[tuple[int, list[Any], list[int]]]:
        """Give the key groups that keys are in, with their keys and the places of these among all."""
        if not keys:
            return
        of_namespaces = self.spec.namespaced
        hashed = [key[0] for key in keys] if of_namespaces else keys
        longs = _longs(hashed)
        try:
            if longs is None:
                groups = np.array([key_group_of(key, max_parallelism) for key in hashed], dtype=np.int64)
            else:
                groups = key_groups_of_longs(longs, max_parallelism)
        except Exception as error:  # objects of the user's classes are hashed by what pickle keeps of them
            raise unwritable(self.spec.name, error) from error
        order = np.argsort(groups.astype(np.uint16), kind="stable")  # numbers of 16 bits are sorted ten times as fast
        start = 0
        for number, count in enumerate(np.bincount(groups).tolist()):
            if not count:
                continue
            # Not all at once: what is about to be encoded should be in the processor's cache.
            own = order[start : start + count]
            places = own.tolist()
            # New integers are made in less time than the old ones are found, which are anywhere in memory.
            made = None if longs is None or of_namespaces else longs[own].tolist()
            yield number, made or list(map(keys.__getitem__, places)), places
            start += count

    # --- clean-up ---

    def sweep(self, limit: int, expired_until: int) -> None:
        """Visit the next entries, beginning anew after the last, and remove what has expired."""
        entries, shape = self.entries, self.spec.kind.shape
        restarted = False
        for _ in range(limit):
            key = next(self._sweep, _END)
            if key is _END:
                if restarted or not entries:
                    return
                restarted = True
                self._sweep = iter(list(entries))
                key = next(self._sweep)
            value = entries.get(key)
            if value is None:
                continue
            left = shape.unexpired(value, expired_until)
            if left is None:
                del entries[key]
            elif shape.several and len(left) < len(value):
                entries[key] = left
            else:
                continue
            if self._changes is not None:
                self._changes.keys.add(key)


_END = object()
_FEW = 1_000


def _longs(keys: Sequence[Any]) -> npt.NDArray[np.int64] | None:
    """Return keys as an array, if all are integers of 64 bits and nothing else."""
    if set(map(type, keys)) == {int}:
        with suppress(OverflowError):  # integers of more than 64 bits
            return np.array(keys, dtype=np.int64)
    return None
