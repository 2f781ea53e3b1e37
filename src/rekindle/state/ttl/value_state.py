"""Values and accumulators that expire."""

from __future__ import annotations

from typing import Any

from rekindle.contracts.state import ValueState
from rekindle.state.ttl.rules import Pair, TtlRules, TtlState


class TtlValueState(TtlState, ValueState[Any]):
    """Keep one value per key until it expires."""

    __slots__ = ("_default", "_inner_update", "_inner_value")

    def __init__(self, inner: ValueState[Pair], rules: TtlRules, default: Any = None) -> None:
        super().__init__(inner, rules)
        self._inner_value = inner.value
        self._inner_update = inner.update
        self._default = default

    def value(self) -> Any:
        if self._on_access is not None:
            self._on_access()
        pair = self._inner_value()
        if pair is None:
            return self._default
        value, last_access = pair
        now = self._now()
        if last_access + self._ttl <= now:
            self._inner_clear()
            return value if self._returns_expired else self._default
        if self._prolongs and last_access < now:
            self._inner_update((value, now))
        return value

    def update(self, value: Any) -> None:
        if self._on_access is not None:
            self._on_access()
        if value is None:
            self._inner_clear()
        else:
            self._inner_update((value, self._now()))


class TtlAccumulator(TtlValueState):
    """Keep the accumulator of a state that reads it before it writes it: the two are one access."""

    __slots__ = ()

    def update(self, value: Any) -> None:
        if value is None:
            self._inner_clear()
        else:
            self._inner_update((value, self._now()))
