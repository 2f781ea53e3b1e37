"""What the states of an operator are in a snapshot: their kinds, and the serializers that wrote them."""

from __future__ import annotations

from dataclasses import dataclass

from rekindle.state.blocks import RAW, TIMERS
from rekindle.state.kinds.state_kind import kind_named
from rekindle.state.shapes.state_shape import StateShape
from rekindle.state.state_serializers import StoredSerializers
from rekindle.state_processor.contents import SnapshotContents


@dataclass(frozen=True, slots=True)
class StateType:
    """Say what a keyed state, or the timers of an operator, are.

    Attributes:
        kind: The name of a kind of state, or TIMERS.
        ttl: Whether entries carry the time of their last access.
        namespaced: Whether keys carry a namespace.
        serializers: Snapshots of the serializers that wrote it; of the newest, where subtasks differ.
    """

    kind: str
    ttl: bool
    namespaced: bool
    serializers: StoredSerializers

    @property
    def shape(self) -> StateShape:
        """Return what a keyed state keeps for a key."""
        return kind_named(self.kind).shape


def keyed_state_types(contents: SnapshotContents, uid: str) -> dict[str, StateType]:
    """Return the types of an operator's keyed states and timers, by name; of those without a key, nothing is known."""
    found: dict[str, StateType] = {}
    operator = contents.snapshot.operator(uid)
    for old in range(operator.parallelism):
        for database in contents.databases(uid, old):
            for name, record in database.states.items():
                found[name] = StateType(record.kind, record.ttl, record.namespaced, record.serializers)
            for name, timers in database.timers.items():
                found[name] = StateType(TIMERS, False, bool(timers.serializers.namespace), timers.serializers)
        for index in contents.reader.indexes(old):
            for indexed in index.operators:
                for state in indexed.keyed if indexed.uid == uid else ():
                    if state.kind != RAW and state.serializers is not None:
                        ttl = state.ttl or (state.name in found and found[state.name].ttl)
                        of_timers = state.kind == TIMERS and bool(state.serializers.namespace)
                        found[state.name] = StateType(state.kind, ttl, state.namespaced or of_timers, state.serializers)
    return found


def list_state_serializers(contents: SnapshotContents, uid: str, name: str) -> tuple[bytes, ...]:
    """Return the snapshots of the serializers that wrote an operator state; none: it wrote bytes of its own."""
    operator = contents.list_operator(uid, name)
    for old in range(operator.parallelism):
        stored = contents.reader.list_of(uid, name, old)
        if stored is not None and stored.parts:
            return stored.parts[-1].serializers
    return ()
