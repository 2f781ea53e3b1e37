"""List state: a list per key."""

from __future__ import annotations

from typing import Any

from rekindle.contracts.state import ListState, ListStateDescriptor, State
from rekindle.serialization.serializer_of import serializer_of
from rekindle.state.kinds.state_kind import StateKind
from rekindle.state.shapes.list_shape import LIST_SHAPE
from rekindle.state.state_primitives import StatePrimitives
from rekindle.state.state_serializers import UNUSED, StateSerializers
from rekindle.types.type_serializer import TypeSerializer


class ListKind(StateKind[ListStateDescriptor]):
    """Keep elements in the order in which they were added. Lists that are merged stand one behind the other."""

    name = "list"
    descriptor = ListStateDescriptor
    shape = LIST_SHAPE

    def open(self, descriptor: ListStateDescriptor, primitives: StatePrimitives) -> State:
        return primitives.list_state()

    def serializers(
        self, descriptor: ListStateDescriptor, key: TypeSerializer[Any], namespace: TypeSerializer[Any] = UNUSED
    ) -> StateSerializers:
        return StateSerializers(key, serializer_of(descriptor.elem_type_info), UNUSED, namespace)

    def take(self, state: State) -> list[Any]:
        assert isinstance(state, ListState)
        elements = list(state.get())
        state.clear()
        return elements

    def absorb(self, state: State, taken: Any) -> None:
        assert isinstance(state, ListState)
        state.add_all(taken)
