"""A list that belongs to a subtask, not to a key."""

from __future__ import annotations

from typing import Any

from rekindle.contracts.state import ListState
from rekindle.state.list_elements import none_refused, without_none
from rekindle.state.operator_state.encoding import EvolvingSerializer, encode_list
from rekindle.state.operator_state.stored import DistributionMode, StoredList


class OperatorListState(ListState[Any]):
    """Keep one subtask's list on the heap."""

    __slots__ = ("_elements", "_mode", "_name", "_serializer")

    def __init__(
        self, name: str, mode: DistributionMode, serializer: EvolvingSerializer, elements: list[Any] | None = None
    ) -> None:
        self._name = name
        self._mode = mode
        self._serializer = serializer
        self._elements = elements or []

    def get(self) -> list[Any]:
        return list(self._elements)

    def add(self, value: Any) -> None:
        if value is None:
            raise none_refused(self._name)
        self._elements.append(value)

    def add_all(self, values: list[Any]) -> None:
        self._elements += without_none(values, self._name)

    def update(self, values: list[Any]) -> None:
        self._elements = without_none(values, self._name)

    def clear(self) -> None:
        self._elements = []

    def snapshot(self) -> StoredList:
        """Write the elements as they are now."""
        return encode_list(self._elements, self._serializer, self._mode)
