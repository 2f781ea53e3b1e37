"""The functions behind ``map_with_state``, ``flat_map_with_state`` and ``filter_with_state``.

Each calls the user's function with a record and the state of its key, None if there is none, and gets back the result
and the new state, None to drop it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from rekindle.contracts.functions.basic_functions import FilterFunction, FlatMapFunction, Function, MapFunction
from rekindle.contracts.functions.runtime_context import RuntimeContext
from rekindle.contracts.state import ValueState, ValueStateDescriptor
from rekindle.exceptions import InvalidProgramError
from rekindle.types.typeinfo import TypeInformation

StatefulCallable = Callable[[Any, Any], tuple[Any, Any]]
"""(record, state of its key or None) → (result, new state or None)"""


class _WithState(Function):
    _state: ValueState[Any]

    def __init__(self, method: str, function: StatefulCallable, state_type: TypeInformation | None) -> None:
        if not callable(function):
            raise TypeError(f"{method} takes a function (value, state) -> (result, new state), got {function!r}")
        self._method = method
        self._function = function
        self._state_type = state_type

    def open(self, runtime_context: RuntimeContext) -> None:
        self._state = runtime_context.get_state(ValueStateDescriptor("state", self._state_type))

    def _call(self, value: Any) -> Any:
        answer = self._function(value, self._state.value())
        if not isinstance(answer, tuple) or len(answer) != 2:
            raise InvalidProgramError(
                f"the function given to {self._method} must return a pair (result, new state), got {answer!r}"
            )
        result, state = answer
        self._state.update(state)
        return result


class MapWithState(_WithState, MapFunction):
    """Turn each record and its key's state into a result and the new state."""

    def map(self, value: Any) -> Any:
        return self._call(value)


class FlatMapWithState(_WithState, FlatMapFunction):
    """Turn each record and its key's state into any number of results and the new state."""

    def flat_map(self, value: Any) -> Iterable[Any]:
        results: Iterable[Any] = self._call(value)
        return results


class FilterWithState(_WithState, FilterFunction):
    """Keep a record or not, by it and its key's state."""

    def filter(self, value: Any) -> bool:
        return bool(self._call(value))
