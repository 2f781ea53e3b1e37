"""What the heap backend offers to kinds of state."""

from __future__ import annotations

from typing import Any, TypeVar

from rekindle.contracts.functions.basic_functions import AggregateFunction, ReduceFunction
from rekindle.contracts.state import AggregatingState, ListState, MapState, ReducingState, ValueState
from rekindle.state.heap.states import (
    HeapAggregatingState,
    HeapListState,
    HeapMapState,
    HeapReducingState,
    HeapState,
    HeapValueState,
)
from rekindle.state.heap.table import HeapTable
from rekindle.state.scope import Scope
from rekindle.state.state_primitives import StatePrimitives
from rekindle.types.type_serializer import TypeSerializer

H = TypeVar("H", bound=HeapState)


class HeapPrimitives(StatePrimitives):
    """Give the handles of one table. Accumulators are kept without a value state in between, which takes its time."""

    __slots__ = ("_scope", "_table")

    def __init__(self, table: HeapTable, scope: Scope, map_key: TypeSerializer[Any]) -> None:
        super().__init__(table.spec.name, map_key)
        self._table = table
        self._scope = scope

    def value_state(self, default: Any = None) -> ValueState[Any]:
        return self._attached(HeapValueState(self._scope, self._table.entries, default))

    def list_state(self) -> ListState[Any]:
        return self._attached(HeapListState(self._scope, self._table.entries, self.name))

    def _map_state(self) -> MapState[Any, Any]:
        return self._attached(HeapMapState(self._scope, self._table.entries))

    def reducing_state(self, function: ReduceFunction) -> ReducingState[Any]:
        return self._attached(HeapReducingState(self._scope, self._table.entries, function.reduce))

    def aggregating_state(self, function: AggregateFunction) -> AggregatingState[Any, Any]:
        return self._attached(HeapAggregatingState(self._scope, self._table.entries, function))

    def _attached(self, handle: H) -> H:
        self._table.attach(handle)
        return handle
