"""What queries return: states that hold a copy of what the job had, and cannot be changed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NoReturn

from rekindle.contracts.state import (
    AggregatingState,
    AggregatingStateDescriptor,
    FoldingState,
    ListState,
    MapState,
    ReducingState,
    State,
    StateDescriptor,
    ValueState,
)
from rekindle.exceptions import ImmutableStateError, WrongStateTypeError

__all__ = [
    "ImmutableAggregatingState",
    "ImmutableFoldingState",
    "ImmutableListState",
    "ImmutableMapState",
    "ImmutableReducingState",
    "ImmutableValueState",
    "immutable_state",
]


class _Immutable(State):
    """Hold a value, and refuse to change it."""

    def __init__(self, held: Any) -> None:
        self._held = held

    def clear(self) -> None:
        """Refuse."""
        self._refuse()

    def _refuse(self) -> NoReturn:
        raise ImmutableStateError(
            "a state that a query returned cannot be changed: it is a copy, and the job would not see it"
        )

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._held!r})"


class ImmutableValueState(_Immutable, ValueState[Any]):
    """A value."""

    def value(self) -> Any:
        """Return the value."""
        return self._held

    def update(self, value: Any) -> None:
        """Refuse."""
        self._refuse()


class _ImmutableAppending(_Immutable):
    def get(self) -> Any:
        """Return what the added values came to."""
        return self._held

    def add(self, value: Any) -> None:
        """Refuse."""
        self._refuse()


class ImmutableReducingState(_ImmutableAppending, ReducingState[Any]):
    """A reduction."""


class ImmutableFoldingState(_ImmutableAppending, FoldingState[Any, Any]):
    """What was folded."""


class ImmutableAggregatingState(_ImmutableAppending, AggregatingState[Any, Any]):
    """The result of an aggregation."""


class ImmutableListState(_ImmutableAppending, ListState[Any]):
    """A list."""

    def get(self) -> list[Any]:
        """Return the elements."""
        return list(self._held)

    def update(self, values: list[Any]) -> None:
        """Refuse."""
        self._refuse()

    def add_all(self, values: list[Any]) -> None:
        """Refuse."""
        self._refuse()


class ImmutableMapState(_Immutable, MapState[Any, Any]):
    """A map."""

    def get(self, key: Any) -> Any:
        """Return the value of a key; None if there is no such entry."""
        return self._held.get(key)

    def contains(self, key: Any) -> bool:
        """Return whether there is an entry of a key."""
        return key in self._held

    def items(self) -> Iterable[tuple[Any, Any]]:
        """Return the entries."""
        return list(self._held.items())

    def keys(self) -> Iterable[Any]:
        """Return the keys."""
        return list(self._held)

    def values(self) -> Iterable[Any]:
        """Return the values."""
        return list(self._held.values())

    def is_empty(self) -> bool:
        """Return whether there are no entries."""
        return not self._held

    def put(self, key: Any, value: Any) -> None:
        """Refuse."""
        self._refuse()

    def put_all(self, dict_value: dict[Any, Any]) -> None:
        """Refuse."""
        self._refuse()

    def remove(self, key: Any) -> None:
        """Refuse."""
        self._refuse()

    def __iter__(self) -> Iterator[Any]:
        return iter(self._held)


_STATES: dict[str, type[_Immutable]] = {
    "value": ImmutableValueState,
    "list": ImmutableListState,
    "map": ImmutableMapState,
    "reducing": ImmutableReducingState,
    "folding": ImmutableFoldingState,
}


def immutable_state(kind: str, held: Any, descriptor: StateDescriptor | None) -> State:
    """Return a state that holds what a job had.

    Args:
        kind: The kind of state.
        held: What it held for a key.
        descriptor: The state, if it was described.

    Raises:
        WrongStateTypeError: There is no result without a function that computes it.
    """
    if kind == "aggregating":
        if not isinstance(descriptor, AggregatingStateDescriptor):
            raise WrongStateTypeError(
                "an aggregating state is queried with its AggregatingStateDescriptor: its function computes the result"
            )
        return ImmutableAggregatingState(descriptor.get_agg_function().get_result(held))
    made = _STATES.get(kind)
    if made is None:
        raise WrongStateTypeError(f"a {kind} state is of a kind that this client does not know")
    return made(held)
