"""The blocks in which keyed state travels: all entries of one state in one key group, in a form every backend reads.

A whole block holds keys and values. A value is what the state keeps for one key: the value, the accumulator, the list,
the dict. A delta block holds keys, changes and removed keys: what became of some keys since the blocks before it; a
change is the new value, for a list ``(start, elements)`` and for a map a :class:`MapChange`. How they become bytes is
in :mod:`rekindle.state.block_format`.

In a namespaced state a key is ``(key, namespace)``. In a state with time-to-live each value, list element and map value
is ``(value, last access in milliseconds)``.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from rekindle.state.state_serializers import StoredSerializers

TIMERS = "timers"
RAW = "raw"
"""The kinds of blocks that are no state of a backend: timers, and what operators wrote themselves."""

RAW_STATE = "_raw"
EVENT_TIMERS = "_event-time-timers"
PROCESSING_TIMERS = "_processing-time-timers"
RESERVED_NAMES = frozenset({RAW_STATE, EVENT_TIMERS, PROCESSING_TIMERS})
"""The names of such blocks, which no state may have."""


class StateKind(StrEnum):
    """Name what a state keeps for a key."""

    VALUE = "value"
    LIST = "list"
    MAP = "map"
    REDUCING = "reducing"
    AGGREGATING = "aggregating"
    FOLDING = "folding"


@dataclass(frozen=True, slots=True)
class StateSpec:
    """Say what a backend has to know of a state to store it."""

    name: str
    kind: StateKind
    ttl: bool = False
    namespaced: bool = False


@dataclass(frozen=True, slots=True)
class KeyGroupBlock:
    """Carry the entries of one state in one key group, encoded.

    Attributes:
        state: The state's name.
        kind: A StateKind; or TIMERS or RAW.
        key_group: The key group.
        entries: How many entries ``data`` holds.
        data: The entries.
        ttl: Whether they carry the time of their last access.
        namespaced: Whether their keys carry a namespace.
        delta: Whether they are changes to the blocks before, rather than all there is.
        serializers: Snapshots of the serializers that wrote ``data``; None where the operator wrote it itself.
    """

    state: str
    kind: str
    key_group: int
    entries: int
    data: bytes
    ttl: bool = False
    namespaced: bool = False
    delta: bool = False
    serializers: StoredSerializers | None = None

    @property
    def spec(self) -> StateSpec:
        """Give the state as it was when the block was written."""
        return StateSpec(self.state, StateKind(self.kind), self.ttl, self.namespaced)


class MapChange(NamedTuple):
    """Say what became of one key's map: emptied first or not, then entries set and removed."""

    cleared: bool
    put: dict[Any, Any]
    removed: list[Any]


def with_last_access(kind: StateKind, value: Any, now: int) -> Any:
    """Turn what a state without time-to-live keeps for a key into what one with it keeps: just written."""
    if kind is StateKind.LIST:
        return [(element, now) for element in value]
    if kind is StateKind.MAP:
        return {key: (entry, now) for key, entry in value.items()}
    return value, now


def without_last_access(kind: StateKind, value: Any) -> Any:
    """Turn what a state with time-to-live keeps for a key into what one without it keeps."""
    if kind is StateKind.LIST:
        return [element for element, _ in value]
    if kind is StateKind.MAP:
        return {key: entry for key, (entry, _) in value.items()}
    return value[0]


def unexpired(kind: StateKind, value: Any, threshold: int) -> Any:
    """Give what is left of a key's state without what was accessed last at ``threshold`` or before; None: nothing."""
    if kind is StateKind.LIST:
        return [pair for pair in value if pair[1] > threshold] or None
    if kind is StateKind.MAP:
        return {key: pair for key, pair in value.items() if pair[1] > threshold} or None
    return value if value[1] > threshold else None


def change_with_last_access(kind: StateKind, change: Any, now: int) -> Any:
    """Turn a change of a state without time-to-live into one of a state with it: just written."""
    if kind is StateKind.LIST:
        start, elements = change
        return start, with_last_access(kind, elements, now)
    if kind is StateKind.MAP:
        cleared, put, removed = change
        return MapChange(cleared, with_last_access(kind, put, now), removed)
    return with_last_access(kind, change, now)
