"""State whose values expire: handles around a backend's own, which keep with each value when it was last accessed.

They decide at each access what has expired, and remove that. What else removes it is the backends' business.
"""

from __future__ import annotations

from typing import Any

from rekindle.contracts.state import ListState, MapState, ValueState
from rekindle.state.state_primitives import StatePrimitives
from rekindle.state.ttl.list_state import TtlListState
from rekindle.state.ttl.map_state import TtlMapState
from rekindle.state.ttl.rules import TtlRules
from rekindle.state.ttl.value_state import TtlAccumulator, TtlValueState


class TtlPrimitives(StatePrimitives):
    """Let what a backend keeps expire."""

    __slots__ = ("_rules", "_stored")

    def __init__(self, stored: StatePrimitives, rules: TtlRules) -> None:
        """Put rules upon a state.

        Args:
            stored: Keeps pairs (value, last access in milliseconds) as values, elements and values of maps.
            rules: What expires when.
        """
        super().__init__(stored.name, stored.map_key)
        self._stored = stored
        self._rules = rules

    def value_state(self, default: Any = None) -> ValueState[Any]:
        return TtlValueState(self._stored.value_state(), self._rules, default)

    def list_state(self) -> ListState[Any]:
        return TtlListState(self._stored.list_state(), self._rules, self.name)

    def _map_state(self) -> MapState[Any, Any]:
        return TtlMapState(self._stored._map_state(), self._rules)

    def accumulator(self) -> ValueState[Any]:
        return TtlAccumulator(self._stored.value_state(), self._rules)
