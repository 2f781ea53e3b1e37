"""Lists whose elements expire."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from rekindle.contracts.state import ListState
from rekindle.state.list_elements import none_refused, without_none
from rekindle.state.ttl.rules import Pair, TtlRules, TtlState


class TtlListState(TtlState, ListState[Any]):
    """Keep a list per key whose elements expire one by one."""

    __slots__ = ("_inner_add", "_inner_add_all", "_inner_get", "_inner_update", "_name")

    def __init__(self, inner: ListState[Pair], rules: TtlRules, name: str) -> None:
        super().__init__(inner, rules)
        self._inner_get = inner.get
        self._inner_add = inner.add
        self._inner_add_all = inner.add_all
        self._inner_update = inner.update
        self._name = name

    def get(self) -> list[Any]:
        if self._on_access is not None:
            self._on_access()
        pairs = list(self._inner_get())
        if not pairs:
            return []
        now = self._now()
        alive = [pair for pair in pairs if pair[1] + self._ttl > now]
        if self._prolongs and any(pair[1] < now for pair in alive):
            self._inner_update([(element, max(last_access, now)) for element, last_access in alive])
        elif not alive:
            self._inner_clear()
        elif len(alive) < len(pairs):
            self._inner_update(alive)
        return [element for element, _ in (pairs if self._returns_expired else alive)]

    def add(self, value: Any) -> None:
        if self._on_access is not None:
            self._on_access()
        if value is None:
            raise none_refused(self._name)
        self._inner_add((value, self._now()))

    def add_all(self, values: Iterable[Any]) -> None:
        if self._on_access is not None:
            self._on_access()
        self._inner_add_all(self._stamped(values))

    def update(self, values: Iterable[Any]) -> None:
        if self._on_access is not None:
            self._on_access()
        self._inner_update(self._stamped(values))

    def _stamped(self, values: Iterable[Any]) -> list[Pair]:
        now = self._now()
        return [(value, now) for value in without_none(values, self._name)]
