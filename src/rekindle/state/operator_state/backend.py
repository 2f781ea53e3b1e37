"""Keeps the operator state of one subtask: lists and broadcast maps. Always on the heap, whatever keeps keyed state."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from rekindle.contracts.state import (
    BroadcastState,
    ListState,
    ListStateDescriptor,
    MapStateDescriptor,
    OperatorStateStore,
    StateDescriptor,
)
from rekindle.exceptions import InvalidCallError, InvalidProgramError, StateRestoreError
from rekindle.serialization.serializer_of import serializer_of
from rekindle.state.operator_state.broadcast_state import OperatorBroadcastState
from rekindle.state.operator_state.encoding import EvolvingSerializer, decode_broadcast, decode_list
from rekindle.state.operator_state.list_state import OperatorListState
from rekindle.state.operator_state.stored import DistributionMode, StoredList
from rekindle.state.read_back import reading_back
from rekindle.state.state_evolution import StateName

LIST_CHECKPOINTED = "_list-checkpointed"
"""The state in which the list of a ListCheckpointed function is kept; no other may have this name."""

SOURCE_BUFFER = "~source-buffer"
"""The state in which a source function's elements are kept that were not yet taken. Dealt out last, by its name."""

SOURCE_ENDED = "~source-ended"
"""The state that tells which subtasks of a source function have ended."""

PENDING_COMMITS = "pending-commits"
"""The state in which a sink keeps what it has written and not committed yet."""

FINISHED = "~finished"
"""The state that tells which subtasks of a custom operator have finished."""

_OWN_NAMES = frozenset({LIST_CHECKPOINTED, SOURCE_BUFFER, SOURCE_ENDED, FINISHED})

S = TypeVar("S", OperatorListState, OperatorBroadcastState)


@dataclass(slots=True)
class _Registered:
    descriptor: StateDescriptor
    mode: DistributionMode
    state: OperatorListState | OperatorBroadcastState
    create: Callable[[StateName, StoredList], object]


class OperatorStateBackend(OperatorStateStore):
    """Keep the operator state of one operator in one subtask.

    Restored items stay bytes until a program asks for their state: only then is it known which type they should have.
    State that nobody asks for goes into the next snapshot as it came.
    """

    def __init__(
        self, operator: str, uid: str, subtask: int, parallelism: int, restored: Mapping[str, StoredList] | None = None
    ) -> None:
        """Make a backend.

        Args:
            operator: The operator's name, for messages.
            uid: The operator's uid, for messages.
            subtask: Which subtask this is.
            parallelism: How many subtasks there are.
            restored: What was restored, by the names of the states.
        """
        self._operator = operator
        self._uid = uid
        self._subtask = subtask
        self._parallelism = parallelism
        self._restored = dict(restored or {})
        self._registered: dict[str, _Registered] = {}

    # --- what functions call ---

    def get_list_state(self, state_descriptor: ListStateDescriptor) -> ListState[Any]:
        return self._list(_usable(state_descriptor, ListStateDescriptor), DistributionMode.SPLIT)

    def get_union_list_state(self, state_descriptor: ListStateDescriptor) -> ListState[Any]:
        return self._list(_usable(state_descriptor, ListStateDescriptor), DistributionMode.UNION)

    def get_broadcast_state(self, state_descriptor: MapStateDescriptor) -> BroadcastState[Any, Any]:
        return self._broadcast(_usable(state_descriptor, MapStateDescriptor))

    def get_registered_state_names(self) -> set[str]:
        return {name for name, mode in self._modes().items() if mode is not DistributionMode.BROADCAST}

    def get_registered_broadcast_state_names(self) -> set[str]:
        return {name for name, mode in self._modes().items() if mode is DistributionMode.BROADCAST}

    # --- what the operator calls ---

    def own_list_state(self) -> ListState[Any]:
        """Return the list in which the operator keeps what a ListCheckpointed function returns."""
        return self._list(ListStateDescriptor(LIST_CHECKPOINTED), DistributionMode.SPLIT)

    def snapshot(self) -> dict[str, StoredList]:
        """Write all states as they are now.

        Raises:
            SerializationError: An element, key or value does not match its type.
            SerializerSnapshotError: A serializer could not be read back later.
        """
        result = {name: self._as_restored(stored) for name, stored in self._restored.items()}
        for name, registered in self._registered.items():
            result[name] = registered.state.snapshot()
        return result

    def read_back(self, lists: Mapping[str, StoredList]) -> None:
        """Read what :meth:`snapshot` gave, of the states that the program has asked for, as a restore would.

        Raises:
            SerializationError: It cannot be read.
        """
        for state, registered in list(self._registered.items()):
            name = StateName(self._operator, self._uid, state)
            with reading_back(name):
                registered.create(name, lists[state])

    def _list(self, descriptor: ListStateDescriptor, mode: DistributionMode) -> OperatorListState:
        def create(name: StateName, stored: StoredList) -> OperatorListState:
            serializer = EvolvingSerializer(serializer_of(descriptor.elem_type_info), name)
            elements = decode_list(stored, serializer, name)
            serializer.stored()  # raises now, rather than at the first snapshot
            return OperatorListState(name.state, mode, serializer, elements)

        state = self._find_or_create(descriptor, mode, create)
        assert isinstance(state, OperatorListState)
        return state

    def _broadcast(self, descriptor: MapStateDescriptor) -> OperatorBroadcastState:
        def create(name: StateName, stored: StoredList) -> OperatorBroadcastState:
            keys = EvolvingSerializer(serializer_of(descriptor.key_type_info), name, "key")
            values = EvolvingSerializer(serializer_of(descriptor.value_type_info), name)
            entries = decode_broadcast(stored, keys, values, name)
            keys.stored(), values.stored()  # raise now, rather than at the first snapshot
            return OperatorBroadcastState(keys, values, entries)

        state = self._find_or_create(descriptor, DistributionMode.BROADCAST, create)
        assert isinstance(state, OperatorBroadcastState)
        return state

    def _find_or_create(
        self, descriptor: StateDescriptor, mode: DistributionMode, create: Callable[[StateName, StoredList], S]
    ) -> OperatorListState | OperatorBroadcastState:
        name = StateName(self._operator, self._uid, descriptor.get_name())
        known = self._registered.get(name.state)
        if known is not None:
            if known.descriptor != descriptor or known.mode is not mode:
                raise InvalidProgramError(
                    f"{name} was first asked for as {known.mode} state with {known.descriptor!r} and now as {mode} "
                    f"state with {descriptor!r}; give the second state another name"
                )
            return known.state
        stored = self._restored.get(name.state, StoredList(mode))
        if stored.mode is not mode and len(stored):
            raise StateRestoreError(
                f"{name} is {stored.mode} state in the snapshot and {mode} state in the program; give the new state "
                "another name"
            )
        state = create(name, stored)
        self._restored.pop(name.state, None)
        self._registered[name.state] = _Registered(descriptor, mode, state, create)
        return state

    def _as_restored(self, stored: StoredList) -> StoredList:
        """Return what this subtask has to write so that a state nobody asks for is as it was.

        Of union state everybody has everything: each writes a part of it, so that together it is the whole again.
        """
        if stored.mode is not DistributionMode.UNION:
            return stored
        total = len(stored)
        start, stop = (total * subtask // self._parallelism for subtask in (self._subtask, self._subtask + 1))
        return StoredList.joined(stored.mode, stored.cut(start, stop))

    def _modes(self) -> dict[str, DistributionMode]:
        restored = {name: stored.mode for name, stored in self._restored.items()}
        return restored | {name: registered.mode for name, registered in self._registered.items()}


D = TypeVar("D", ListStateDescriptor, MapStateDescriptor)


def _usable(descriptor: Any, wanted: type[D]) -> D:
    """Refuse what is no descriptor of operator state, rather than ignore what it asks for."""
    if not isinstance(descriptor, wanted):
        raise InvalidCallError(f"this kind of operator state is described by a {wanted.__name__}, got {descriptor!r}")
    name, ttl = descriptor.get_name(), descriptor.get_ttl_config()
    if name in _OWN_NAMES:
        raise InvalidProgramError(f"the name {name!r} of an operator state is Rekindle's own; choose another")
    if ttl is not None and ttl.is_enabled():
        raise InvalidProgramError(
            f"operator state {name!r} cannot have a time to live: only keyed state expires. Remove enable_time_to_live"
        )
    if descriptor.is_queryable():
        raise InvalidProgramError(
            f"operator state {name!r} cannot be queried: only keyed state can. Remove set_queryable"
        )
    return descriptor
