"""Value state: one value per key."""

from __future__ import annotations

from rekindle.contracts.state import State, ValueStateDescriptor
from rekindle.state.kinds.state_kind import StateKind
from rekindle.state.shapes.value_shape import VALUE_SHAPE
from rekindle.state.state_primitives import StatePrimitives


class ValueKind(StateKind[ValueStateDescriptor]):
    """Keep what was set last."""

    name = "value"
    descriptor = ValueStateDescriptor
    shape = VALUE_SHAPE

    def open(self, descriptor: ValueStateDescriptor, primitives: StatePrimitives) -> State:
        return primitives.value_state(descriptor.get_default_value())
