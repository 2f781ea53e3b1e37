"""Maps whose entries expire."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rekindle.contracts.state import MapState
from rekindle.state.ttl.rules import Pair, TtlRules, TtlState


class TtlMapState(TtlState, MapState[Any, Any]):
    """Keep a map per key whose entries expire one by one.

    ``items``, ``keys`` and ``values`` read all entries at once, however many of them are then looked at: the current
    key may be another one by then.
    """

    __slots__ = ("_inner_get", "_inner_items", "_inner_put", "_inner_put_all", "_inner_remove", "_inner_values")

    def __init__(self, inner: MapState[Any, Pair], rules: TtlRules) -> None:
        super().__init__(inner, rules)
        self._inner_get = inner.get
        self._inner_items = inner.items
        self._inner_values = inner.values
        self._inner_put = inner.put
        self._inner_put_all = inner.put_all
        self._inner_remove = inner.remove

    def get(self, key: Any) -> Any:
        pair = self._read(key)
        return None if pair is None else pair[0]

    def contains(self, key: Any) -> bool:
        return self._read(key) is not None

    def put(self, key: Any, value: Any) -> None:
        if self._on_access is not None:
            self._on_access()
        self._inner_put(key, (value, self._now()))

    def put_all(self, dict_value: dict[Any, Any]) -> None:
        if self._on_access is not None:
            self._on_access()
        now = self._now()
        self._inner_put_all({key: (value, now) for key, value in dict_value.items()})

    def remove(self, key: Any) -> None:
        if self._on_access is not None:
            self._on_access()
        self._inner_remove(key)

    def items(self) -> Iterator[tuple[Any, Any]]:
        return iter(self._read_all())

    def keys(self) -> Iterator[Any]:
        return iter([key for key, _ in self._read_all()])

    def values(self) -> Iterator[Any]:
        return iter([value for _, value in self._read_all()])

    def is_empty(self) -> bool:
        """Return True if walking the map would give nothing. This neither prolongs nor removes entries."""
        if self._on_access is not None:
            self._on_access()
        threshold = self._now() - self._ttl
        return not any(self._returns_expired or last_access > threshold for _, last_access in self._inner_values())

    def _read(self, key: Any) -> Pair | None:
        if self._on_access is not None:
            self._on_access()
        pair: Pair | None = self._inner_get(key)
        if pair is None:
            return None
        value, last_access = pair
        now = self._now()
        if last_access + self._ttl <= now:
            self._inner_remove(key)
            return pair if self._returns_expired else None
        if self._prolongs and last_access < now:
            self._inner_put(key, (value, now))
        return pair

    def _read_all(self) -> list[tuple[Any, Any]]:
        if self._on_access is not None:
            self._on_access()
        now = self._now()
        found: list[tuple[Any, Any]] = []
        expired: list[Any] = []
        prolonged: dict[Any, Pair] = {}
        for key, (value, last_access) in self._inner_items():
            if last_access + self._ttl <= now:
                expired.append(key)
                if not self._returns_expired:
                    continue
            elif self._prolongs and last_access < now:
                prolonged[key] = (value, now)
            found.append((key, value))
        for key in expired:
            self._inner_remove(key)
        if prolonged:
            self._inner_put_all(prolonged)
        return found
