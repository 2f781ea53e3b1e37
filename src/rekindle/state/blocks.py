"""The blocks in which keyed state travels: all entries of one state in one key group, in a form every backend reads.

A whole block holds keys and values. A value is what the state keeps for one key: the value, the accumulator, the list,
the dict. A delta block holds keys, changes and removed keys: what became of some keys since the blocks before it. What
values and changes look like is in :mod:`rekindle.state.shapes`, how they become bytes in
:mod:`rekindle.state.block_format`.

In a namespaced state a key is ``(key, namespace)``. In a state with time-to-live each value, list element and map value
is ``(value, last access in milliseconds)``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from rekindle.state.kinds.state_kind import StateKind, kind_named
from rekindle.state.state_serializers import StoredSerializers

TIMERS = "timers"
RAW = "raw"
"""The kinds of blocks that are no state of a backend: timers, and what operators wrote themselves."""

RAW_STATE = "_raw"
EVENT_TIMERS = "_event-time-timers"
PROCESSING_TIMERS = "_processing-time-timers"
RESERVED_NAMES = frozenset({RAW_STATE, EVENT_TIMERS, PROCESSING_TIMERS})
"""The names of such blocks, which no state may have; those of a timer service have its name behind a slash."""


def is_reserved(name: str) -> bool:
    """Return whether a name is that of blocks which are no state of a backend."""
    return name.partition("/")[0] in RESERVED_NAMES


@dataclass(frozen=True, slots=True)
class StateSpec:
    """Say what a backend has to know of a state to store it."""

    name: str
    kind: StateKind[Any]
    ttl: bool = False
    namespaced: bool = False


@dataclass(frozen=True, slots=True)
class KeyGroupBlock:
    """Carry the entries of one state in one key group, encoded.

    Attributes:
        state: The state's name.
        kind: The name of a kind of state; or TIMERS or RAW.
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
        """Return the state as it was when the block was written."""
        return StateSpec(self.state, kind_named(self.kind), self.ttl, self.namespaced)
