"""Folding state: all that was added per key, folded into an initial value."""

from __future__ import annotations

from rekindle.contracts.state import FoldingStateDescriptor, State
from rekindle.state.accumulating_states import StoredFoldingState
from rekindle.state.kinds.state_kind import StateKind
from rekindle.state.shapes.value_shape import VALUE_SHAPE
from rekindle.state.state_primitives import StatePrimitives


class FoldingKind(StateKind[FoldingStateDescriptor]):
    """Keep the folded value. Two of them cannot be made one, so windows that merge cannot have any."""

    name = "folding"
    descriptor = FoldingStateDescriptor
    shape = VALUE_SHAPE

    def open(self, descriptor: FoldingStateDescriptor, primitives: StatePrimitives) -> State:
        initial, function = descriptor.get_initial_value(), descriptor.get_fold_function()
        return StoredFoldingState(primitives.accumulator(), initial, function)
