"""What a backend offers to kinds of state: for each key a value, a list or a map, and handles to read and write it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from rekindle.contracts.functions.basic_functions import AggregateFunction, ReduceFunction
from rekindle.contracts.state import AggregatingState, ListState, MapState, ReducingState, ValueState
from rekindle.state.accumulating_states import StoredAggregatingState, StoredReducingState
from rekindle.state.map_keys import ConvertedKeysMapState, key_conversion
from rekindle.types.type_serializer import TypeSerializer


class StatePrimitives(ABC):
    """Give the handle of one state that a backend has opened. A kind asks once, for what its shape says.

    Attributes:
        name: The state's name.
        map_key: The serializer of the keys of its maps.
    """

    __slots__ = ("map_key", "name")

    def __init__(self, name: str, map_key: TypeSerializer[Any]) -> None:
        self.name = name
        self.map_key = map_key

    @abstractmethod
    def value_state(self, default: Any = None) -> ValueState[Any]:
        """Keep one value per key; where there is none, ``default`` is read."""

    @abstractmethod
    def list_state(self) -> ListState[Any]:
        """Keep a list per key."""

    def map_state(self) -> MapState[Any, Any]:
        """Keep a map per key."""
        convert = key_conversion(self.map_key)
        state = self._map_state()
        return state if convert is None else ConvertedKeysMapState(state, convert)

    @abstractmethod
    def _map_state(self) -> MapState[Any, Any]:
        """Keep a map per key, under its keys as they are given."""

    def accumulator(self) -> ValueState[Any]:
        """Keep one value per key that is always read right before it is written."""
        return self.value_state()

    def reducing_state(self, function: ReduceFunction) -> ReducingState[Any]:
        """Keep the reduction of all that was added per key."""
        return StoredReducingState(self.accumulator(), function)

    def aggregating_state(self, function: AggregateFunction) -> AggregatingState[Any, Any]:
        """Keep an accumulator per key."""
        return StoredAggregatingState(self.accumulator(), function)


class RangedMapState(MapState[Any, Any]):
    """Keep a map per key, and give a part of it without reading all."""

    __slots__ = ()

    @abstractmethod
    def between(self, first: int, last: int) -> list[tuple[int, Any]]:
        """Return the entries whose keys lie between two, both included, in their order.

        All keys of the map must be integers of 64 bits.
        """
