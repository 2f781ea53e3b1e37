"""A broadcast state as the data side sees it: to be read only."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NoReturn

from rekindle.contracts.state import BroadcastState, ReadOnlyBroadcastState
from rekindle.exceptions import StateAccessError


class ReadOnlyView(ReadOnlyBroadcastState[Any, Any]):
    """Show a broadcast state, and refuse to change it."""

    __slots__ = ("_name", "_state")

    def __init__(self, state: BroadcastState[Any, Any], name: str) -> None:
        self._state = state
        self._name = name

    def get(self, key: Any) -> Any:
        return self._state.get(key)

    def contains(self, key: Any) -> bool:
        return self._state.contains(key)

    def items(self) -> Iterable[tuple[Any, Any]]:
        return self._state.items()

    def keys(self) -> Iterable[Any]:
        return self._state.keys()

    def values(self) -> Iterable[Any]:
        return self._state.values()

    def is_empty(self) -> bool:
        return self._state.is_empty()

    def clear(self) -> None:
        self._refuse()

    def put(self, key: Any, value: Any) -> None:
        """Refuse."""
        self._refuse()

    def put_all(self, dict_value: dict[Any, Any]) -> None:
        """Refuse."""
        self._refuse()

    def remove(self, key: Any) -> None:
        """Refuse."""
        self._refuse()

    def __setitem__(self, key: Any, value: Any) -> None:
        self._refuse()

    def __delitem__(self, key: Any) -> None:
        self._refuse()

    def _refuse(self) -> NoReturn:
        raise StateAccessError(
            f"broadcast state {self._name!r} can only be read here: on the data side a change would reach one subtask, "
            "and the copies would no longer be equal. Change it in process_broadcast_element"
        )
