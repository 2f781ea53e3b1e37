"""State whose values expire: handles around a backend's own, which keep with each value when it was last accessed.

They decide at each access what has expired, and remove that. What else removes it is the backends' business.
"""

from __future__ import annotations

from collections.abc import Callable

from rekindle.contracts.state import (
    ListState,
    MapState,
    State,
    StateDescriptor,
    StateTtlConfig,
    ValueState,
    ValueStateDescriptor,
)
from rekindle.state.accumulating_states import accumulating
from rekindle.state.ttl.list_state import TtlListState
from rekindle.state.ttl.map_state import TtlMapState
from rekindle.state.ttl.rules import TtlRules
from rekindle.state.ttl.value_state import TtlAccumulator, TtlValueState

__all__ = ["TtlListState", "TtlMapState", "TtlValueState", "with_ttl"]


def with_ttl(
    descriptor: StateDescriptor,
    inner: State,
    config: StateTtlConfig,
    now: Callable[[], int],
    on_access: Callable[[], None] | None,
) -> State:
    """Give the handle of a state with time-to-live.

    Args:
        descriptor: The state.
        inner: Stores pairs (value, last access in milliseconds): a ListState or MapState of them for these kinds, for
            all others a ValueState, whose value is a pair or None.
        config: Says what expires when. It is not Disabled.
        now: Tells the processing time, in milliseconds. It is asked at each access.
        on_access: Called once at each access, before it takes place.
    """
    rules = TtlRules(config, now, on_access)
    if isinstance(inner, ListState):
        return TtlListState(inner, rules, descriptor.get_name())
    if isinstance(inner, MapState):
        return TtlMapState(inner, rules)
    assert isinstance(inner, ValueState)
    if isinstance(descriptor, ValueStateDescriptor):
        return TtlValueState(inner, rules, descriptor.get_default_value())
    return accumulating(descriptor, TtlAccumulator(inner, rules))
