"""The rules that every state with time-to-live goes by."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

from rekindle.contracts.state import State, StateTtlConfig

Pair: TypeAlias = tuple[Any, int]
"""A value, and when it was last accessed, in milliseconds."""


class TtlRules:
    """Hold what a StateTtlConfig says, in the form in which the handles need it at every access.

    Attributes:
        ttl: How long a value lives after its last access, in milliseconds: at ``last access + ttl`` it has expired.
        prolongs: Whether reading prolongs a value's life, too.
        returns_expired: Whether a read returns what has expired but is still there; either way the read removes it.
        now: Tells the processing time, in milliseconds.
        on_access: To be called once at each access, before it takes place.
    """

    __slots__ = ("now", "on_access", "prolongs", "returns_expired", "ttl")

    def __init__(self, config: StateTtlConfig, now: Callable[[], int], on_access: Callable[[], None] | None) -> None:
        self.ttl = config.get_ttl().to_milliseconds()
        self.prolongs = config.get_update_type() is StateTtlConfig.UpdateType.OnReadAndWrite
        visibility = config.get_state_visibility()
        self.returns_expired = visibility is StateTtlConfig.StateVisibility.ReturnExpiredIfNotCleanedUp
        self.now = now
        self.on_access = on_access


class TtlState(State):
    """Be the base of the handles: the rules in slots of their own, one attribute away."""

    __slots__ = ("_inner_clear", "_now", "_on_access", "_prolongs", "_returns_expired", "_ttl")

    def __init__(self, inner: State, rules: TtlRules) -> None:
        self._inner_clear = inner.clear
        self._ttl = rules.ttl
        self._prolongs = rules.prolongs
        self._returns_expired = rules.returns_expired
        self._now = rules.now
        self._on_access = rules.on_access

    def clear(self) -> None:
        if self._on_access is not None:
            self._on_access()
        self._inner_clear()


@dataclass(frozen=True, slots=True)
class TtlCleanup:
    """Say how a state is swept.

    Attributes:
        per_access: How many entries to visit at every access of the state.
        per_record: How many entries to visit for every record the operator processes.
        clock_every: After how many entries to look at the clock again.
        threshold: Tells up to which time of last access entries have expired by now.
    """

    per_access: int
    per_record: int
    clock_every: int
    threshold: Callable[[], int]
