"""Reducing, aggregating and folding state with time-to-live."""

from __future__ import annotations

from typing import Any

import pytest

from rekindle.datastream.state import StateTtlConfig

from .driver import EVERY_TTL, KINDS, TTL, Keyed, Kind, prolongs_on_read, returns_expired


@pytest.mark.parametrize("kind", KINDS[3:], ids=str)
@EVERY_TTL
class TestTtlAccumulatingStates:
    def state(self, keyed: Keyed, kind: Kind, config: StateTtlConfig) -> Any:
        keyed.key = "a"
        return keyed.open(kind.descriptor(config))

    def both(self, kind: Kind) -> Any:
        """Give what adding 2 and 4 comes to."""
        return {"reducing": 6, "aggregating": 3, "folding": [2, 4]}[kind.name]

    def test_it_expires_exactly_when_its_time_is_up(self, keyed: Keyed, kind: Kind, config: StateTtlConfig) -> None:
        state = self.state(keyed, kind, config)
        state.add(2)
        keyed.clock.advance(TTL)
        assert state.get() == (kind.expected(2) if returns_expired(config) else None)
        assert keyed.stored(kind.name) == {}
        assert state.get() is None

    def test_adding_prolongs(self, keyed: Keyed, kind: Kind, config: StateTtlConfig) -> None:
        state = self.state(keyed, kind, config)
        state.add(2)
        keyed.clock.advance(TTL - 1)
        state.add(4)
        keyed.clock.advance(TTL - 1)
        assert state.get() == self.both(kind)

    def test_adding_to_what_has_expired_starts_anew_unless_expired_values_are_returned(
        self, keyed: Keyed, kind: Kind, config: StateTtlConfig
    ) -> None:
        state = self.state(keyed, kind, config)
        state.add(2)
        keyed.clock.advance(TTL)
        state.add(4)
        assert state.get() == (self.both(kind) if returns_expired(config) else kind.expected(4))

    def test_reading_again_and_again_keeps_it_only_where_reading_prolongs(
        self, keyed: Keyed, kind: Kind, config: StateTtlConfig
    ) -> None:
        state = self.state(keyed, kind, config)
        state.add(2)
        seen = []
        for _ in range(5):
            keyed.clock.advance(40)
            seen.append(state.get())
        value = kind.expected(2)
        once = value if returns_expired(config) else None
        assert seen == ([value] * 5 if prolongs_on_read(config) else [value, value, once, None, None])

    def test_adding_none_clears(self, keyed: Keyed, kind: Kind, config: StateTtlConfig) -> None:
        state = self.state(keyed, kind, config)
        state.add(2)
        state.add(None)
        assert state.get() is None
        assert keyed.stored(kind.name) == {}
