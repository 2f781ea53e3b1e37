"""What the kinds have in common that keep one accumulator per key and can make one of two."""

from __future__ import annotations

from typing import Any, Protocol, cast

from rekindle.contracts.state import State
from rekindle.state.kinds.state_kind import D, StateKind
from rekindle.state.shapes.value_shape import VALUE_SHAPE


class _Accumulating(Protocol):
    def clear(self) -> None: ...

    def stored(self) -> Any: ...

    def store(self, accumulator: Any) -> None: ...

    def merged(self, accumulator: Any, other: Any) -> Any: ...


class AccumulatingKind(StateKind[D]):
    """Keep an accumulator per key. The handles give it as ``stored``, set it with ``store`` and merge two."""

    shape = VALUE_SHAPE

    def take(self, state: State) -> Any:
        accumulating = cast(_Accumulating, state)
        accumulator = accumulating.stored()
        accumulating.clear()
        return accumulator

    def absorb(self, state: State, taken: Any) -> None:
        if taken is not None:
            accumulating = cast(_Accumulating, state)
            current = accumulating.stored()
            accumulating.store(taken if current is None else accumulating.merged(current, taken))
