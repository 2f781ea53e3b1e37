"""What is kept of a window until it fires: its elements, an accumulator, or elements with their timestamps."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from functools import reduce
from typing import Any

from rekindle.contracts.functions import AggregateFunction, ReduceFunction
from rekindle.contracts.state import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    ReducingStateDescriptor,
    StateDescriptor,
)
from rekindle.contracts.windowing.evictors import Evictor, TimestampedValue
from rekindle.graph.transformations import windows as transformations
from rekindle.state.keyed_backend import KeyedStateBackend
from rekindle.state.many_keys import ManyKeys
from rekindle.state.scope import NamespacedState, NamespaceScope
from rekindle.types.type_information import TypeInformation
from rekindle.types.type_serializer import TypeSerializer
from rekindle.types.typeinfo import Types

CONTENTS = "_window-contents"


class WindowContents(ABC):
    """Keep the contents of the windows of the current key, as namespaced state."""

    _state: NamespacedState
    _scope: NamespaceScope
    _add: Callable[[Any], None]

    @abstractmethod
    def _descriptor(self) -> StateDescriptor:
        """Describe the state."""

    def open(self, backend: KeyedStateBackend, window_serializer: TypeSerializer[Any]) -> None:
        """Get the state."""
        self._state = backend.get_or_create_namespaced(self._descriptor(), window_serializer)
        self._scope = self._state.scope
        self._add = self._state.state.add  # type: ignore[attr-defined]

    def add(self, window: Any, value: Any, timestamp: int) -> None:
        """Add an element to a window."""
        self._scope.namespace = window  # what use() does, without a call for each element
        self._add(value)

    def many_keys(self, backend: KeyedStateBackend) -> ManyKeys:
        """Return the state of many keys and windows at once."""
        return ManyKeys(backend, self._state.state, self._scope)

    @abstractmethod
    def evaluate(
        self, window: Any, ctx: Evictor.EvictorContext, call: Callable[[list[Any]], None], state_window: Any
    ) -> None:
        """Call a function with the elements that are to be seen of a window, unless there are none."""

    def clear(self, window: Any) -> None:
        """Drop what is kept of a window."""
        self._state.use(window).clear()

    def merge(self, target: Any, sources: Iterable[Any]) -> None:
        """Move what is kept of windows into another."""
        self._state.merge(target, sources)


class ElementContents(WindowContents):
    """Keep all elements."""

    def __init__(self, type_info: TypeInformation | None) -> None:
        self._type_info = type_info

    def _descriptor(self) -> StateDescriptor:
        return ListStateDescriptor(CONTENTS, self._type_info)

    def evaluate(
        self, window: Any, ctx: Evictor.EvictorContext, call: Callable[[list[Any]], None], state_window: Any
    ) -> None:
        elements = list(self._state.use(state_window).get())  # type: ignore[attr-defined]
        if elements:
            call(elements)


class AccumulatedContents(WindowContents):
    """Keep an accumulator only; what is seen of a window is the one result."""

    def __init__(self, function: ReduceFunction | AggregateFunction, type_info: TypeInformation | None) -> None:
        self._function = function
        self._type_info = type_info

    def _descriptor(self) -> StateDescriptor:
        if isinstance(self._function, ReduceFunction):
            return ReducingStateDescriptor(CONTENTS, self._function, self._type_info)
        return AggregatingStateDescriptor(CONTENTS, self._function, self._type_info)

    def evaluate(
        self, window: Any, ctx: Evictor.EvictorContext, call: Callable[[list[Any]], None], state_window: Any
    ) -> None:
        result = self._state.use(state_window).get()  # type: ignore[attr-defined]
        if result is not None:
            call([result])


class EvictedContents(WindowContents):
    """Keep all elements with their timestamps, and let an evictor drop some when the window fires.

    With a function that accumulates, what is seen of a window is the one result over the elements that are left.
    """

    def __init__(
        self,
        evictor: Evictor[Any, Any],
        type_info: TypeInformation | None,
        function: ReduceFunction | AggregateFunction | None = None,
    ) -> None:
        self._evictor = evictor
        self._type_info = type_info
        self._function = function

    def _descriptor(self) -> StateDescriptor:
        typed = None if self._type_info is None else Types.TUPLE([self._type_info, Types.LONG()])
        return ListStateDescriptor(CONTENTS, typed)

    def add(self, window: Any, value: Any, timestamp: int) -> None:
        self._state.use(window)
        self._add((value, timestamp))

    def evaluate(
        self, window: Any, ctx: Evictor.EvictorContext, call: Callable[[list[Any]], None], state_window: Any
    ) -> None:
        state: Any = self._state.use(state_window)
        elements = [TimestampedValue(*stored) for stored in state.get()]
        size = len(elements)
        if not size:
            return
        self._evictor.evict_before(elements, size, window, ctx)
        if elements or self._function is None:
            call(self._seen([element.value for element in elements]))
        self._evictor.evict_after(elements, len(elements), window, ctx)
        if len(elements) != size:
            state = self._state.use(state_window)
            if elements:
                state.update([tuple(element) for element in elements])
            else:
                state.clear()

    def _seen(self, values: list[Any]) -> list[Any]:
        function = self._function
        if function is None:
            return values
        if isinstance(function, ReduceFunction):
            return [reduce(function.reduce, values)]
        accumulator = function.create_accumulator()
        for value in values:
            accumulator = function.add(value, accumulator)
        return [function.get_result(accumulator)]


def contents_of(described: transformations.WindowContents) -> WindowContents:
    """Build what keeps the contents of windows."""
    if described.evictor is not None:
        return EvictedContents(described.evictor, described.type_info, described.function)
    if described.function is not None:
        return AccumulatedContents(described.function, described.type_info)
    return ElementContents(described.type_info)
