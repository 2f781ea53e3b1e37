"""A map of which every subtask has a copy."""

from __future__ import annotations

from typing import Any

from rekindle.contracts.state import BroadcastState
from rekindle.state.operator_state.encoding import EvolvingSerializer, encode_broadcast
from rekindle.state.operator_state.stored import StoredList


class OperatorBroadcastState(BroadcastState[Any, Any]):
    """Keep one subtask's copy of the map on the heap."""

    __slots__ = ("_convert", "_entries", "_keys", "_values")

    def __init__(
        self, keys: EvolvingSerializer, values: EvolvingSerializer, entries: dict[Any, Any] | None = None
    ) -> None:
        self._keys = keys
        self._values = values
        self._entries = entries or {}
        self._convert = keys.conversion()

    def get(self, key: Any) -> Any:
        return self._entries.get(key if self._convert is None else self._convert(key))

    def contains(self, key: Any) -> bool:
        return (key if self._convert is None else self._convert(key)) in self._entries

    def items(self) -> list[tuple[Any, Any]]:
        return list(self._entries.items())

    def keys(self) -> list[Any]:
        return list(self._entries)

    def values(self) -> list[Any]:
        return list(self._entries.values())

    def is_empty(self) -> bool:
        return not self._entries

    def put(self, key: Any, value: Any) -> None:
        self._entries[key if self._convert is None else self._convert(key)] = value

    def put_all(self, dict_value: dict[Any, Any]) -> None:
        for key, value in dict_value.items():
            self.put(key, value)

    def remove(self, key: Any) -> None:
        self._entries.pop(key if self._convert is None else self._convert(key), None)

    def clear(self) -> None:
        self._entries = {}

    def snapshot(self) -> StoredList:
        """Write the map as it is now."""
        return encode_broadcast(self._entries, self._keys, self._values)
