"""Aggregating state: all that was added per key, in an accumulator from which a result is read."""

from __future__ import annotations

from rekindle.contracts.state import AggregatingStateDescriptor, State
from rekindle.state.kinds.accumulating_kind import AccumulatingKind
from rekindle.state.state_primitives import StatePrimitives


class AggregatingKind(AccumulatingKind[AggregatingStateDescriptor]):
    """Keep the accumulator."""

    name = "aggregating"
    descriptor = AggregatingStateDescriptor

    def open(self, descriptor: AggregatingStateDescriptor, primitives: StatePrimitives) -> State:
        return primitives.aggregating_state(descriptor.get_agg_function())
