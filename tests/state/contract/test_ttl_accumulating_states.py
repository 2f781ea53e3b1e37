"""Reducing, aggregating and folding state with time-to-live."""

from __future__ import annotations

from typing import Any

from rekindle.datastream.state import StateTtlConfig

from .driver import EVERY_TTL, KINDS, TTL, Keyed, prolongs_on_read, returns_expired

ACCUMULATING = KINDS[3:]
ADDED_2 = {kind.name: kind.expected(2) for kind in ACCUMULATING}
ADDED_4 = {kind.name: kind.expected(4) for kind in ACCUMULATING}
ADDED_BOTH = {"reducing": 6, "aggregating": 3, "folding": [2, 4]}
NOTHING: dict[str, Any] = {kind.name: None for kind in ACCUMULATING}


@EVERY_TTL
class TestTtlAccumulatingStates:
    def add(self, keyed: Keyed, config: StateTtlConfig, value: int | None) -> None:
        keyed.key = "a"
        for kind in ACCUMULATING:
            keyed.open(kind.descriptor(config)).add(value)

    def read(self, keyed: Keyed, config: StateTtlConfig) -> dict[str, Any]:
        return {kind.name: keyed.open(kind.descriptor(config)).get() for kind in ACCUMULATING}

    def test_they_expire_exactly_when_their_time_is_up(self, keyed: Keyed, config: StateTtlConfig) -> None:
        self.add(keyed, config, 2)
        keyed.clock.advance(TTL)
        assert self.read(keyed, config) == (ADDED_2 if returns_expired(config) else NOTHING)
        assert keyed.savepoint().entries() == {}
        assert self.read(keyed, config) == NOTHING

    def test_adding_prolongs(self, keyed: Keyed, config: StateTtlConfig) -> None:
        self.add(keyed, config, 2)
        keyed.clock.advance(TTL - 1)
        self.add(keyed, config, 4)
        keyed.clock.advance(TTL - 1)
        assert self.read(keyed, config) == ADDED_BOTH

    def test_adding_to_what_has_expired_starts_anew_unless_expired_values_are_returned(
        self, keyed: Keyed, config: StateTtlConfig
    ) -> None:
        self.add(keyed, config, 2)
        keyed.clock.advance(TTL)
        self.add(keyed, config, 4)
        assert self.read(keyed, config) == (ADDED_BOTH if returns_expired(config) else ADDED_4)

    def test_reading_again_and_again_keeps_them_only_where_reading_prolongs(
        self, keyed: Keyed, config: StateTtlConfig
    ) -> None:
        self.add(keyed, config, 2)
        seen = []
        for _ in range(5):
            keyed.clock.advance(40)
            seen.append(self.read(keyed, config))
        once = ADDED_2 if returns_expired(config) else NOTHING
        kept = [ADDED_2] * 5 if prolongs_on_read(config) else [ADDED_2, ADDED_2, once, NOTHING, NOTHING]
        assert seen == kept

    def test_adding_none_clears(self, keyed: Keyed, config: StateTtlConfig) -> None:
        self.add(keyed, config, 2)
        self.add(keyed, config, None)
        assert self.read(keyed, config) == NOTHING
        assert keyed.savepoint().entries() == {}
