"""What a snapshot holds, in numbers and names: operators, states, their types and sizes. No entry is read for it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, field
from itertools import islice
from typing import Any

from rekindle.checkpoint.metadata import CheckpointMetadata, OperatorMetadata, SourcePosition
from rekindle.checkpoint.snapshot_file import KeyedStateIndex, ListStateIndex, SnapshotIndex
from rekindle.state.blocks import RAW, TIMERS, is_reserved
from rekindle.state.state_serializers import PICKLED, StoredSerializers
from rekindle.state_processor.contents import SnapshotContents, contents_of, timer_domain
from rekindle.state_processor.snapshot import Snapshot
from rekindle.state_processor.stored_types import readable_serializers, type_name

_COUNTED = 100_000  # so many entries of a state in RocksDB are counted, above that it is an estimate


@dataclass(slots=True)
class KeyedStateDescription:
    """Describe a keyed state.

    Attributes:
        name: Its name.
        kind: Its kind: value, list, map, reducing, aggregating, folding; empty where no entry says it.
        key_type: The type of its keys.
        value_type: The type of its values, accumulators, elements or map values.
        map_key_type: The type of the keys of its maps; empty in other states.
        namespace_type: The type of its namespaces; empty in states without.
        ttl: Whether it has a time to live.
        keys: How many keys have an entry, namespaces counted apart; a list or a map counts once.
        exact: Whether ``keys`` is exact. With incremental checkpoints it is at most that many; of much state in
            RocksDB it is an estimate, which counts the elements of lists and the entries of maps.
        size: How many bytes its entries have; None: the files of RocksDB do not say it by state.
        notes: What cannot be read here, and why.
    """

    name: str
    kind: str
    key_type: str
    value_type: str
    map_key_type: str = ""
    namespace_type: str = ""
    ttl: bool = False
    keys: int = 0
    exact: bool = True
    size: int | None = 0
    notes: list[str] = field(default_factory=list)


@dataclass(slots=True)
class TimersDescription:
    """Describe the timers of an operator in one time domain, and in a custom operator of one timer service."""

    domain: str
    key_type: str
    namespace_type: str
    entries: int = 0
    size: int = 0
    service: str = ""


@dataclass(slots=True)
class OperatorStateDescription:
    """Describe an operator state: ``mode`` is split, union or broadcast; ``items`` counts those of each subtask."""

    name: str
    mode: str
    value_type: str
    map_key_type: str
    items: list[int]
    size: int = 0


@dataclass(slots=True)
class RawStateDescription:
    """Describe what an operator wrote itself: how many key groups have any, and how many bytes."""

    key_groups: int = 0
    size: int = 0


@dataclass(slots=True)
class OperatorDescription:
    """Describe an operator as it was when the snapshot was taken; ``size`` counts the bytes of all its state."""

    uid: str
    name: str
    parallelism: int
    max_parallelism: int
    size: int
    keyed_states: list[KeyedStateDescription]
    timers: list[TimersDescription]
    operator_states: list[OperatorStateDescription]
    raw: RawStateDescription | None


@dataclass(slots=True)
class PositionDescription:
    """Describe where a Spark source stood: its offsets, or for a bounded one whether it was read."""

    uid: str
    offsets: list[str]
    consumed: bool


@dataclass(slots=True)
class SnapshotDescription:
    """Describe a snapshot. ``format`` is canonical, heap, heap-incremental or rocksdb."""

    location: str
    checkpoint_id: int
    job_id: str
    job_name: str
    timestamp: int
    savepoint: bool
    format: str
    size: int
    operators: list[OperatorDescription]
    positions: list[PositionDescription]

    def as_dict(self) -> dict[str, Any]:
        """Return it as a JSON document."""
        return asdict(self)

    def operator(self, uid: str) -> OperatorDescription:
        """Return the description of an operator that there is."""
        return next(operator for operator in self.operators if operator.uid == uid)


def describe(
    snapshot: Snapshot, uids: Iterable[str] | None = None, advance: Callable[[], None] = lambda: None
) -> SnapshotDescription:
    """Describe a snapshot.

    Args:
        snapshot: The snapshot.
        uids: The operators to describe; None: all.
        advance: Is called after each operator, to show progress.

    Raises:
        StateNotFoundError: There is no such operator.
    """
    metadata = snapshot.metadata
    wanted = metadata.operators if uids is None else [snapshot.operator(uid) for uid in uids]
    with contents_of(snapshot) as contents:
        operators = describe_contents(contents, wanted, advance)
    return SnapshotDescription(
        location=snapshot.location,
        checkpoint_id=metadata.checkpoint_id,
        job_id=metadata.job_id,
        job_name=metadata.job_name,
        timestamp=metadata.timestamp,
        savepoint=metadata.savepoint,
        format=format_of(metadata),
        size=metadata.state_size,
        operators=operators,
        positions=[_position(position) for position in metadata.positions],
    )


def describe_contents(
    contents: SnapshotContents,
    wanted: Iterable[OperatorMetadata] | None = None,
    advance: Callable[[], None] = lambda: None,
) -> list[OperatorDescription]:
    """Describe operators of a snapshot that is open; all of them, unless some are named."""
    described = []
    for operator in contents.snapshot.metadata.operators if wanted is None else wanted:
        described.append(_Describing(contents, operator).describe())
        advance()
    return described


def format_of(metadata: CheckpointMetadata) -> str:
    """Name the format of a snapshot."""
    if metadata.savepoint:
        return "canonical"
    if any(handle.native for handle in metadata.handles):
        return "rocksdb"
    state = (file for handle in metadata.handles for file in handle.files())
    return "heap-incremental" if any(file.shared for file in state) else "heap"


class _Describing:
    """Put together what all subtasks of one operator wrote."""

    def __init__(self, contents: SnapshotContents, operator: OperatorMetadata) -> None:
        self._contents = contents
        self._operator = operator
        self._keyed: dict[str, KeyedStateDescription] = {}
        self._timers: dict[str, TimersDescription] = {}
        self._lists: dict[str, OperatorStateDescription] = {}
        self._raw: RawStateDescription | None = None
        self._native_size = 0

    def describe(self) -> OperatorDescription:
        operator = self._operator
        for old in range(operator.parallelism):
            self._add_databases(old)
            reader = self._contents.reader
            *before, last = reader.indexes(old)
            for index in before:
                self._add_keyed(index, last=reader.independent_files)
            self._add_keyed(last, last=True)
        for name in operator.keyed_states:  # asked for, and empty
            if not is_reserved(name):
                self._keyed.setdefault(name, KeyedStateDescription(name, "", "", ""))
        for name, state in operator.list_states.items():
            self._lists.setdefault(name, OperatorStateDescription(name, state.mode, "", "", [])).items = state.counts
        parts: list[Any] = [*self._keyed.values(), *self._timers.values(), *self._lists.values()]
        size = sum(part.size or 0 for part in parts) + (self._raw.size if self._raw else 0) + self._native_size
        return OperatorDescription(
            operator.uid,
            operator.name,
            operator.parallelism,
            operator.max_parallelism,
            size,
            [self._keyed[name] for name in sorted(self._keyed)],
            [self._timers[name] for name in sorted(self._timers)],
            [self._lists[name] for name in sorted(self._lists)],
            self._raw,
        )

    def _add_databases(self, old: int) -> None:
        for database in self._contents.databases(self._operator.uid, old):
            from rekindle.state.rocksdb.table import StateTable  # loads RocksDB

            for name, record in database.states.items():
                found = self._state(name, record.kind, record.serializers, record.ttl)
                count, exact = _counted(StateTable(database, name, 1, PICKLED))
                found.keys += count
                found.exact, found.size = found.exact and exact, None
            for name, timers in database.timers.items():
                count = _counted_entries(database.timer_column(name))
                if count:
                    self._timers_of(name, timers.serializers).entries += count
        for handle in self._contents.snapshot.metadata.handles:
            if handle.slot == old:
                natives = (native for native in handle.native if native.uid == self._operator.uid)
                self._native_size += sum(file.size for native in natives for file in native.files.values())

    def _add_keyed(self, index: SnapshotIndex, last: bool) -> None:
        for operator in index.operators:
            if operator.uid != self._operator.uid:
                continue
            for state in operator.keyed:
                if state.kind not in (TIMERS, RAW):
                    self._add_state(state)
                elif last:
                    self._add_other(state)
            for listed in operator.lists if last else ():
                self._add_list(listed)

    def _add_state(self, state: KeyedStateIndex) -> None:
        assert state.serializers is not None
        found = self._state(state.name, state.kind, state.serializers, state.ttl)
        found.keys += sum(block.entries for block in state.blocks)
        found.exact = found.exact and not state.delta
        if found.size is not None:
            found.size += sum(block.length for block in state.blocks)

    def _state(self, name: str, kind: str, stored: StoredSerializers, ttl: bool) -> KeyedStateDescription:
        key, value, map_key, namespace = map(type_name, (stored.key, stored.value, stored.map_key, stored.namespace))
        made = KeyedStateDescription(name, kind, key, value, map_key, namespace, ttl)
        found = self._keyed.setdefault(name, made)
        if found.value_type != made.value_type and made.value_type not in found.value_type.split(" | "):
            found.value_type += f" | {made.value_type}"  # only some subtasks had migrated it
        found.ttl = found.ttl or ttl
        for note in readable_serializers(stored)[1]:
            if note not in found.notes:
                found.notes.append(note)
        return found

    def _add_other(self, state: KeyedStateIndex) -> None:
        size = sum(block.length for block in state.blocks)
        if state.kind == RAW:
            self._raw = self._raw or RawStateDescription()
            self._raw.key_groups += len(state.blocks)
            self._raw.size += size
            return
        assert state.serializers is not None
        timers = self._timers_of(state.name, state.serializers)
        timers.entries += sum(block.entries for block in state.blocks)
        timers.size += size

    def _timers_of(self, name: str, stored: StoredSerializers) -> TimersDescription:
        found = timer_domain(name)
        assert found is not None
        made = TimersDescription(found[0], type_name(stored.key), type_name(stored.namespace), service=found[1])
        return self._timers.setdefault(name, made)

    def _add_list(self, state: ListStateIndex) -> None:
        stored = next((part.serializers for part in state.parts), ())
        names = [type_name(data) for data in stored]
        map_key, value = names if len(names) == 2 else ("", names[0] if names else "bytes of the operator's own")
        found = self._lists.setdefault(state.name, OperatorStateDescription(state.name, state.mode, "", "", []))
        if state.parts:
            found.value_type, found.map_key_type = value, map_key
        found.size += sum(part.block.length for part in state.parts)


def _counted(table: Any) -> tuple[int, bool]:
    """Count the keys of a state in RocksDB, and tell whether that is exact; of many, RocksDB gives an estimate."""
    from rekindle.state.rocksdb.database import walk  # loads RocksDB

    last, keys, split = None, 0, table.layout.split
    for number, (database_key, _) in enumerate(walk(table.column, b"")):
        if number == _COUNTED:
            return table.estimated_entries(), False
        prefix = database_key[: split(database_key)]
        keys += prefix != last
        last = prefix
    return keys, True


def _counted_entries(column: Any) -> int:
    """Count the entries of a column family; where they are many, RocksDB gives an estimate."""
    from rekindle.state.rocksdb.database import walk  # loads RocksDB

    counted = sum(1 for _ in islice(walk(column, b""), _COUNTED + 1))
    return counted if counted <= _COUNTED else int(column.property_int_value("rocksdb.estimate-num-keys") or 0)


def _position(position: SourcePosition) -> PositionDescription:
    return PositionDescription(position.uid, position.offsets, position.consumed)
