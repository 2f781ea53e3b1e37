"""Reducing state: all that was added per key, reduced to one value."""

from __future__ import annotations

from rekindle.contracts.state import ReducingStateDescriptor, State
from rekindle.state.kinds.accumulating_kind import AccumulatingKind
from rekindle.state.state_primitives import StatePrimitives


class ReducingKind(AccumulatingKind[ReducingStateDescriptor]):
    """Keep the reduction."""

    name = "reducing"
    descriptor = ReducingStateDescriptor

    def open(self, descriptor: ReducingStateDescriptor, primitives: StatePrimitives) -> State:
        return primitives.reducing_state(descriptor.get_reduce_function())
