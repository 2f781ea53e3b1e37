"""What a snapshot holds: the entries of its keyed states, its timers, the items of its operator states.

All is read lazily, some key groups of one old subtask at a time, whatever format it was written in: by the code that
restores a slot, and with the serializers that wrote it.

RocksDB is imported where there is state of its own: most snapshots have none.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from typing import Any

from rekindle.checkpoint.metadata import OperatorMetadata
from rekindle.contracts.key_groups import KeyGroupRange, key_group_range
from rekindle.exceptions import SerializationError, StateNotFoundError, StateRestoreError
from rekindle.runtime.slot.restore import RestoredKeyedState, StateReader
from rekindle.serialization.encodings.stand_ins import stand_ins_for_missing_classes
from rekindle.state.block_decoding import BlockDecoder
from rekindle.state.blocks import EVENT_TIMERS, PROCESSING_TIMERS, RAW_STATE, KeyGroupBlock, is_reserved
from rekindle.state.kinds.state_kind import kind_named
from rekindle.state.namespace_timers import decode_timers
from rekindle.state.operator_state.encoding import broadcast_pairs
from rekindle.state.plain_values import RawBytes
from rekindle.state.restored_state import merged_entries
from rekindle.state.state_evolution import StateName
from rekindle.state.state_serializers import StateSerializers, StoredSerializers
from rekindle.state_processor.snapshot import Snapshot
from rekindle.state_processor.stored_types import readable_serializer, readable_serializers

_PIECES = 256  # at most so many steps to read what one subtask has of a state


@dataclass(frozen=True, slots=True)
class Entry:
    """Hold what a state keeps for one key, in one namespace.

    Attributes:
        key: The key.
        namespace: The namespace, a window for instance; None in states without.
        value: The value or accumulator, the list, the dict.
        last_access: With time-to-live the time of last access, in milliseconds, in the shape of ``value``: a number, a
            list of them, a dict of them; None without.
    """

    key: Any
    namespace: Any
    value: Any
    last_access: Any = None


@dataclass(frozen=True, slots=True)
class Timer:
    """Hold a timer.

    Attributes:
        domain: ``event`` or ``processing``.
        timestamp: When it is due, in milliseconds.
        key: Its key.
        namespace: Its namespace, a window for instance; None where there are none.
        service: The name of its timer service, in a custom operator; nothing in others.
    """

    domain: str
    timestamp: int
    key: Any
    namespace: Any = None
    service: str = ""


_TIMER_DOMAINS = {EVENT_TIMERS: "event", PROCESSING_TIMERS: "processing"}


def timer_domain(name: str) -> tuple[str, str] | None:
    """Return the time domain and the timer service of timers, by what they are called; None: it names no timers."""
    kind, _, service = name.partition("/")
    domain = _TIMER_DOMAINS.get(kind)
    return None if domain is None else (domain, service)


class SnapshotContents:
    """Read the contents of a snapshot, while its ``with`` statement lasts."""

    def __init__(self, snapshot: Snapshot, reader: StateReader) -> None:
        self.snapshot = snapshot
        self.reader = reader
        self._open = ExitStack()
        self._databases: dict[tuple[str, int], list[Any]] = {}
        self._readable: dict[StoredSerializers, StateSerializers] = {}

    # --- keyed state ---

    def entries(self, uid: str, state: str, key_groups: KeyGroupRange | None = None) -> Iterator[Entry]:
        """Yield the entries of a keyed state, key group by key group.

        Args:
            uid: The operator.
            state: The name of the state.
            key_groups: Which key groups to read; None: all.

        Raises:
            StateNotFoundError: There is no such operator or state.
        """
        operator = self.keyed_operator(uid, state)
        name = StateName(operator.name, uid, state)
        for blocks in self._by_key_group(operator, state, key_groups):
            yield from self._entries(blocks, name)

    def timers(self, uid: str, key_groups: KeyGroupRange | None = None) -> Iterator[Timer]:
        """Yield the timers of an operator, key group by key group."""
        operator = self.snapshot.operator(uid)
        for old, piece in pieces(operator, key_groups):
            state = RestoredKeyedState()
            for name in filter(timer_domain, operator.keyed_states):
                self._add_stored_timers(state, uid, old, piece, name)
                self.reader.add_blocks(state, uid, old, piece, name)
            for block in state.timers:
                assert block.serializers is not None
                with stand_ins_for_missing_classes():
                    timers = decode_timers(block, self._serializers(block.serializers))
                found = timer_domain(block.state)
                assert found is not None
                for key, namespace, timestamp in timers:
                    yield Timer(found[0], timestamp, key, namespace, found[1])

    def raw_keyed(self, uid: str, key_groups: KeyGroupRange | None = None) -> Iterator[tuple[int, bytes]]:
        """Yield what an operator wrote itself, by key group."""
        operator = self.snapshot.operator(uid)
        for old, piece in pieces(operator, key_groups):
            state = RestoredKeyedState()
            self.reader.add_blocks(state, uid, old, piece, RAW_STATE)
            yield from state.raw

    def blocks(
        self, operator: OperatorMetadata, old: int, key_groups: KeyGroupRange, only: str | None = None
    ) -> RestoredKeyedState:
        """Return what an old subtask wrote of some key groups, its backend's own files as blocks, too."""
        state = RestoredKeyedState()
        for database in self.databases(operator.uid, old):
            from rekindle.state.rocksdb.database import damage_reported
            from rekindle.state.rocksdb.native import state_blocks

            for name in sorted(database.states):
                if only in (None, name):
                    with damage_reported(self.snapshot.location), stand_ins_for_missing_classes():
                        state.blocks += state_blocks(database, name, key_groups)
        self._add_stored_timers(state, operator.uid, old, key_groups, only)
        self.reader.add_blocks(state, operator.uid, old, key_groups, only)
        return state

    def _add_stored_timers(
        self, state: RestoredKeyedState, uid: str, old: int, key_groups: KeyGroupRange, only: str | None
    ) -> None:
        """Add the timers that are in a database of an old subtask."""
        for database in self.databases(uid, old):
            from rekindle.state.rocksdb.database import damage_reported
            from rekindle.state.rocksdb.timers import timer_blocks

            for name in sorted(database.timers):
                if only in (None, name):
                    with damage_reported(self.snapshot.location), stand_ins_for_missing_classes():
                        state.timers += timer_blocks(database, name, key_groups)

    def databases(self, uid: str, old: int) -> list[Any]:
        """Open copies of the databases that an old subtask wrote: one, or none where it has another format."""
        found = self._databases.get((uid, old))
        if found is None:
            found = self._databases[uid, old] = []
            for part in self.reader.native_of(uid, old):
                from rekindle.state.rocksdb.database import Database
                from rekindle.state.rocksdb.options import plain_options

                opened = Database(part.directory, plain_options(), read_only=True)
                found.append(self._open.enter_context(closing(opened)))
        return found

    def keyed_operator(self, uid: str, state: str) -> OperatorMetadata:
        """Find the operator of a keyed state.

        Raises:
            StateNotFoundError: There is no such operator, or it has no such state.
        """
        operator = self.snapshot.operator(uid)
        if state not in operator.keyed_states or is_reserved(state):
            known = [repr(name) for name in operator.keyed_states if not is_reserved(name)]
            raise StateNotFoundError(
                f"operator {uid!r} has no keyed state {state!r} in {self.snapshot.stored.describe()}; "
                f"it has {', '.join(known) or 'none'}"
            )
        return operator

    def _by_key_group(
        self, operator: OperatorMetadata, state: str, key_groups: KeyGroupRange | None
    ) -> Iterator[list[KeyGroupBlock]]:
        for old, piece in pieces(operator, key_groups):
            groups: dict[int, list[KeyGroupBlock]] = {}
            for block in self.blocks(operator, old, piece, state).blocks:
                groups.setdefault(block.key_group, []).append(block)
            yield from groups.values()

    def _entries(self, blocks: list[KeyGroupBlock], name: StateName) -> Iterator[Entry]:
        shape, namespaced = kind_named(blocks[-1].kind).shape, blocks[-1].namespaced
        stored = {block.serializers for block in blocks if block.serializers is not None}
        decoders = {written: BlockDecoder(self._serializers(written)) for written in stored}
        try:
            with stand_ins_for_missing_classes():
                entries, ttl = merged_entries(blocks, decoders, shape, self.snapshot.metadata.timestamp)
        except SerializationError as error:
            raise StateRestoreError(f"{name} cannot be read: {error}") from error
        for scope_key, value in entries.items():
            key, namespace = scope_key if namespaced else (scope_key, None)
            yield Entry(key, namespace, *shape.split(value)) if ttl else Entry(key, namespace, value)

    def _serializers(self, stored: StoredSerializers) -> StateSerializers:
        found = self._readable.get(stored)
        if found is None:
            found = self._readable[stored] = readable_serializers(stored)[0]
        return found

    # --- operator state ---

    def items(self, uid: str, state: str, subtasks: range | None = None) -> Iterator[tuple[int, Any]]:
        """Yield the items of a list state, split or union, each with the old subtask that wrote it."""
        operator = self.list_operator(uid, state)
        name = StateName(operator.name, uid, state)
        for old in range(operator.parallelism) if subtasks is None else subtasks:
            stored = self.reader.list_of(uid, state, old)
            for part in () if stored is None else stored.parts:
                if len(part.serializers) != 1:  # an operator's own bytes
                    yield from ((old, RawBytes(item)) for item in part.items)
                    continue
                yield from ((old, value) for value in _read(part.serializers[0], part.items, name))

    def broadcast_entries(self, uid: str, state: str) -> Iterator[tuple[Any, Any]]:
        """Yield the entries of a broadcast state: all subtasks have the same, so those of the first that has any."""
        operator = self.list_operator(uid, state)
        name = StateName(operator.name, uid, state)
        for old in range(operator.parallelism):
            stored = self.reader.list_of(uid, state, old)
            if stored is not None and len(stored):
                for part in stored.parts:
                    pairs = [pair for item in part.items for pair in broadcast_pairs(item, name)]
                    keys = _read(part.serializers[0], [key for key, _ in pairs], name)
                    values = iter(_read(part.serializers[1], [value for _, value in pairs if value is not None], name))
                    for key, (_, value) in zip(keys, pairs, strict=True):
                        yield key, None if value is None else next(values)
                return

    def list_operator(self, uid: str, state: str) -> OperatorMetadata:
        """Find the operator of an operator state.

        Raises:
            StateNotFoundError: There is no such operator, or it has no such state.
        """
        operator = self.snapshot.operator(uid)
        if state not in operator.list_states:
            known = ", ".join(map(repr, operator.list_states)) or "none"
            raise StateNotFoundError(
                f"operator {uid!r} has no operator state {state!r} in {self.snapshot.stored.describe()}; it has {known}"
            )
        return operator

    def close(self) -> None:
        """Close the databases."""
        self._open.close()


@contextmanager
def contents_of(snapshot: Snapshot) -> Iterator[SnapshotContents]:
    """Open the contents of a snapshot."""
    with snapshot.reader() as reader, closing(SnapshotContents(snapshot, reader)) as contents:
        yield contents


def pieces(operator: OperatorMetadata, key_groups: KeyGroupRange | None) -> Iterator[tuple[int, KeyGroupRange]]:
    """Cut what is wanted into pieces, each of one old subtask and few key groups."""
    if not operator.keyed_states:
        return
    for old in range(operator.parallelism):
        written = key_group_range(old, operator.parallelism, operator.max_parallelism)
        if key_groups is not None:
            written = KeyGroupRange(max(written.start, key_groups.start), min(written.end, key_groups.end))
        yield from ((old, piece) for piece in cut(written, _PIECES))


def cut(key_groups: KeyGroupRange, number: int) -> list[KeyGroupRange]:
    """Cut a range into at most so many, of about the same size."""
    step = max(1, -(-len(key_groups) // number))
    starts = range(key_groups.start, key_groups.end + 1, step)
    return [KeyGroupRange(start, min(start + step - 1, key_groups.end)) for start in starts]


def _read(stored: bytes, items: Sequence[bytes], name: StateName) -> list[Any]:
    serializer = readable_serializer(stored)[0]
    try:
        with stand_ins_for_missing_classes():
            return [serializer.from_bytes(item) for item in items]
    except SerializationError as error:
        raise StateRestoreError(f"{name} cannot be read: {error}") from error
