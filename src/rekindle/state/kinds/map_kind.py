"""Map state: a map per key."""

from __future__ import annotations

from typing import Any

from rekindle.contracts.state import MapStateDescriptor, State
from rekindle.serialization.serializer_of import serializer_of
from rekindle.state.kinds.state_kind import StateKind
from rekindle.state.shapes.map_shape import MAP_SHAPE
from rekindle.state.state_primitives import StatePrimitives
from rekindle.state.state_serializers import UNUSED, StateSerializers
from rekindle.types.type_serializer import TypeSerializer


class MapKind(StateKind[MapStateDescriptor]):
    """Keep entries that are read and written one by one."""

    name = "map"
    descriptor = MapStateDescriptor
    shape = MAP_SHAPE

    def open(self, descriptor: MapStateDescriptor, primitives: StatePrimitives) -> State:
        return primitives.map_state()

    def serializers(
        self, descriptor: MapStateDescriptor, key: TypeSerializer[Any], namespace: TypeSerializer[Any] = UNUSED
    ) -> StateSerializers:
        value, map_key = serializer_of(descriptor.value_type_info), serializer_of(descriptor.key_type_info)
        return StateSerializers(key, value, map_key, namespace)
