"""State descriptors: the name and the types under which a function asks for its state.

A name is unique within an operator. The same descriptor, or an equal one, always gives the same state.
"""

from __future__ import annotations

import warnings
from abc import ABC
from collections.abc import Callable
from typing import Any, Generic

from rekindle.base.type_variables import ACC, IN, OUT, K, S, T, V
from rekindle.contracts.functions.basic_functions import AggregateFunction, FoldFunction, ReduceFunction
from rekindle.contracts.state.interfaces import (
    AggregatingState,
    FoldingState,
    ListState,
    MapState,
    ReducingState,
    ValueState,
)
from rekindle.contracts.state.ttl import StateTtlConfig
from rekindle.exceptions import ConfigurationError
from rekindle.types.annotations import TypeOf, as_type_info
from rekindle.types.type_information import TypeInformation
from rekindle.types.type_serializer import TypeSerializer
from rekindle.types.typeinfo import Types

__all__ = [
    "AggregatingStateDescriptor",
    "FoldingStateDescriptor",
    "ListStateDescriptor",
    "MapStateDescriptor",
    "ReducingStateDescriptor",
    "StateDescriptor",
    "ValueStateDescriptor",
]


StateType = TypeInformation | TypeSerializer[Any] | type[Any] | Any
"""What says what a state holds: a type out of ``Types``, a serializer, a dataclass or another class, an annotation."""


class StateDescriptor(ABC, Generic[S]):
    """Name a state and say what it holds.

    Descriptors of the same kind with the same name and types are equal.

    Attributes:
        name: The state's name.
        type_info: The type of what the state holds; pickled Python objects if none was given.
    """

    def __init__(self, name: str, type_info: StateType | None = None) -> None:
        if not isinstance(name, str):
            raise TypeError(f"the name of a state must be a string, got {name!r}")
        if not name:
            raise ConfigurationError("the name of a state must not be empty")
        self.name = name
        self.type_info = _type_or_pickle(type_info, name)
        self._ttl_config: StateTtlConfig | None = None
        self._queryable_state_name: str | None = None

    def get_name(self) -> str:
        """Return the state's name."""
        return self.name

    def enable_time_to_live(self, ttl_config: StateTtlConfig) -> None:
        """Let the state's values expire as ``ttl_config`` says."""
        if not isinstance(ttl_config, StateTtlConfig):
            raise TypeError(f"state {self.name!r}: enable_time_to_live takes a StateTtlConfig, got {ttl_config!r}")
        self._ttl_config = ttl_config

    def get_ttl_config(self) -> StateTtlConfig | None:
        """Return the state's time-to-live, None if its values do not expire."""
        return self._ttl_config

    def set_queryable(self, queryable_state_name: str) -> None:
        """Let clients query the state from outside under this name, which must be unique in the job."""
        if not isinstance(queryable_state_name, str):
            raise TypeError(f"state {self.name!r}: a queryable name must be a string, got {queryable_state_name!r}")
        if not queryable_state_name:
            raise ConfigurationError(f"state {self.name!r}: a queryable name must not be empty")
        if self._queryable_state_name not in (None, queryable_state_name):
            raise ConfigurationError(
                f"state {self.name!r} is already queryable as {self._queryable_state_name!r}, "
                f"it cannot also be {queryable_state_name!r}"
            )
        self._queryable_state_name = queryable_state_name

    def get_queryable_state_name(self) -> str | None:
        """Return the name under which clients query the state, None if they cannot."""
        return self._queryable_state_name

    def is_queryable(self) -> bool:
        """Return True if clients can query the state."""
        return self._queryable_state_name is not None

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, StateDescriptor):
            return NotImplemented
        return type(self) is type(other) and self.name == other.name and self.type_info == other.type_info

    def __hash__(self) -> int:
        return hash((type(self), self.name, self.type_info))

    def __repr__(self) -> str:
        return f"{type(self).__name__}(name={self.name!r}, type_info={self.type_info})"


class ValueStateDescriptor(StateDescriptor[ValueState[T]], Generic[T]):
    """Describe a state that holds one value per key."""

    def __init__(self, name: str, value_type_info: TypeOf[T] | None = None, default_value: T | None = None) -> None:
        """Describe the state.

        Args:
            name: The state's name.
            value_type_info: The value's type; pickled Python objects if None.
            default_value: What ``value()`` returns while nothing is set.
        """
        super().__init__(name, value_type_info)
        self.default_value = default_value

    def get_default_value(self) -> T | Any:
        """Return what ``value()`` returns while nothing is set."""
        return self.default_value


class ListStateDescriptor(StateDescriptor[ListState[T]], Generic[T]):
    """Describe a state that holds a list."""

    def __init__(self, name: str, elem_type_info: TypeOf[T] | None = None) -> None:
        """Describe the state.

        Args:
            name: The state's name.
            elem_type_info: The elements' type; pickled Python objects if None.
        """
        self.elem_type_info = _type_or_pickle(elem_type_info, name)
        super().__init__(name, Types.LIST(self.elem_type_info))


class MapStateDescriptor(StateDescriptor[MapState[K, V]], Generic[K, V]):
    """Describe a state that holds a map: keyed map state or broadcast state."""

    def __init__(
        self,
        name: str,
        key_type_info: TypeOf[K] | None = None,
        value_type_info: TypeOf[V] | None = None,
    ) -> None:
        """Describe the state.

        Args:
            name: The state's name.
            key_type_info: The type of the map's keys; pickled Python objects if None.
            value_type_info: The type of the map's values; pickled Python objects if None.
        """
        self.key_type_info = _type_or_pickle(key_type_info, name)
        self.value_type_info = _type_or_pickle(value_type_info, name)
        super().__init__(name, Types.MAP(self.key_type_info, self.value_type_info))


class ReducingStateDescriptor(StateDescriptor[ReducingState[T]], Generic[T]):
    """Describe a state that reduces all values added for a key to one."""

    def __init__(
        self,
        name: str,
        reduce_function: ReduceFunction[T] | Callable[[T, T], T],
        type_info: TypeOf[T] | None = None,
    ) -> None:
        """Describe the state.

        Args:
            name: The state's name.
            reduce_function: Combines two values into one; a callable will do.
            type_info: The type of the values; pickled Python objects if None.
        """
        super().__init__(name, type_info)
        if isinstance(reduce_function, ReduceFunction):
            self._reduce_function = reduce_function
        elif callable(reduce_function) and not isinstance(reduce_function, type):
            self._reduce_function = _CallableReduceFunction(reduce_function)
        else:
            raise TypeError(
                f"state {name!r}: reduce_function must be a ReduceFunction or a callable, got {reduce_function!r}"
            )

    def get_reduce_function(self) -> ReduceFunction[T]:
        """Return the function that combines two values."""
        return self._reduce_function


class AggregatingStateDescriptor(StateDescriptor[AggregatingState[IN, OUT]], Generic[IN, ACC, OUT]):
    """Describe a state that aggregates all values added for a key."""

    def __init__(
        self, name: str, agg_function: AggregateFunction[IN, ACC, OUT], state_type_info: TypeOf[ACC] | None = None
    ) -> None:
        """Describe the state.

        Args:
            name: The state's name.
            agg_function: Computes the aggregate.
            state_type_info: The type of its accumulator, which is what is stored; pickled if None.
        """
        super().__init__(name, state_type_info)
        if not isinstance(agg_function, AggregateFunction):
            raise TypeError(f"state {name!r}: agg_function must be an AggregateFunction, got {agg_function!r}")
        self._agg_function = agg_function

    def get_agg_function(self) -> AggregateFunction[IN, ACC, OUT]:
        """Return the function that computes the aggregate."""
        return self._agg_function


class FoldingStateDescriptor(StateDescriptor[FoldingState[IN, ACC]], Generic[IN, ACC]):
    """Describe a state that folds all values added for a key. Deprecated: use an aggregating state."""

    def __init__(
        self,
        name: str,
        initial_value: Any,
        fold_function: FoldFunction[IN, ACC] | Callable[[ACC, IN], ACC],
        type_info: TypeOf[ACC] | None = None,
    ) -> None:
        """Describe the state.

        Args:
            name: The state's name.
            initial_value: What the first value is folded into.
            fold_function: Folds a value into the accumulator; a callable ``(accumulator, value)`` will do.
            type_info: The type of the accumulator; pickled Python objects if None.
        """
        warnings.warn(
            "FoldingStateDescriptor is deprecated, use AggregatingStateDescriptor",
            DeprecationWarning,
            stacklevel=2,
        )
        super().__init__(name, type_info)
        self._initial_value = initial_value
        if isinstance(fold_function, FoldFunction):
            self._fold_function = fold_function
        elif callable(fold_function) and not isinstance(fold_function, type):
            self._fold_function = _CallableFoldFunction(fold_function)
        else:
            raise TypeError(
                f"state {name!r}: fold_function must be a FoldFunction or a callable, got {fold_function!r}"
            )

    def get_initial_value(self) -> Any:
        """Return what the first value is folded into."""
        return self._initial_value

    def get_fold_function(self) -> FoldFunction[IN, ACC]:
        """Return the function that folds a value into the accumulator."""
        return self._fold_function


class _CallableReduceFunction(ReduceFunction):
    def __init__(self, function: Callable[[Any, Any], Any]) -> None:
        self._function = function

    def reduce(self, value1: Any, value2: Any) -> Any:
        return self._function(value1, value2)


class _CallableFoldFunction(FoldFunction):
    def __init__(self, function: Callable[[Any, Any], Any]) -> None:
        self._function = function

    def fold(self, accumulator: Any, value: Any) -> Any:
        return self._function(accumulator, value)


def _type_or_pickle(type_info: StateType | None, state_name: str) -> TypeInformation:
    if type_info is None:
        return Types.PICKLED_BYTE_ARRAY()
    return as_type_info(type_info, f"A type of the state {state_name!r}")
