"""Value state with time-to-live."""

from __future__ import annotations

from typing import Any

from rekindle.datastream.state import StateTtlConfig, ValueStateDescriptor

from .driver import EVERY_TTL, START, TTL, Keyed, prolongs_on_read, returns_expired, ttl


def described(config: StateTtlConfig, default: Any = None) -> ValueStateDescriptor:
    descriptor = ValueStateDescriptor("v", None, default)
    descriptor.enable_time_to_live(config)
    return descriptor


class TestTtlValueState:
    @EVERY_TTL
    def test_a_value_expires_exactly_when_its_time_is_up(self, keyed: Keyed, config: StateTtlConfig) -> None:
        state = keyed.open(described(config))
        for keyed.key in ("early", "late"):
            state.update(5)
        keyed.clock.advance(TTL - 1)
        keyed.key = "early"
        assert state.value() == 5
        keyed.clock.advance(1)
        keyed.key = "late"
        assert state.value() == (5 if returns_expired(config) else None)
        assert state.value() is None

    @EVERY_TTL
    def test_the_read_that_finds_a_value_expired_removes_it(self, keyed: Keyed, config: StateTtlConfig) -> None:
        state = keyed.open(described(config))
        keyed.key = "a"
        state.update(5)
        assert keyed.stored("v") == {"a": (5, START)}
        keyed.clock.advance(TTL)
        state.value()
        assert keyed.stored("v") == {}

    @EVERY_TTL
    def test_writing_prolongs(self, keyed: Keyed, config: StateTtlConfig) -> None:
        state = keyed.open(described(config))
        keyed.key = "a"
        for number in range(4):
            state.update(number)
            keyed.clock.advance(TTL - 1)
        assert state.value() == 3

    @EVERY_TTL
    def test_reading_one_key_again_and_again_keeps_it_only_where_reading_prolongs(
        self, keyed: Keyed, config: StateTtlConfig
    ) -> None:
        state = keyed.open(described(config))
        keyed.key = "a"
        state.update(5)
        seen = []
        for _ in range(6):
            keyed.clock.advance(40)
            seen.append(state.value())
        once = 5 if returns_expired(config) else None
        assert seen == ([5] * 6 if prolongs_on_read(config) else [5, 5, once, None, None, None])

    @EVERY_TTL
    def test_reading_is_stored_as_an_access_only_where_it_prolongs(self, keyed: Keyed, config: StateTtlConfig) -> None:
        state = keyed.open(described(config))
        keyed.key = "a"
        state.update(5)
        keyed.clock.advance(40)
        state.value()
        assert keyed.stored("v") == {"a": (5, START + (40 if prolongs_on_read(config) else 0))}

    @EVERY_TTL
    def test_an_expired_value_can_be_written_again(self, keyed: Keyed, config: StateTtlConfig) -> None:
        state = keyed.open(described(config))
        keyed.key = "a"
        state.update(5)
        keyed.clock.advance(TTL)
        state.update(6)
        keyed.clock.advance(TTL - 1)
        assert state.value() == 6

    def test_the_default_stands_for_an_expired_value(self, keyed: Keyed) -> None:
        state = keyed.open(described(ttl(), default=7))
        keyed.key = "a"
        assert state.value() == 7
        state.update(5)
        assert state.value() == 5
        keyed.clock.advance(TTL)
        assert state.value() == 7
        state.update(5)
        state.update(None)
        assert state.value() == 7

    def test_values_of_several_keys_expire_by_themselves(self, keyed: Keyed) -> None:
        state = keyed.open(described(ttl()))
        for keyed.key in range(10):
            state.update(keyed.key)
            keyed.clock.advance(10)
        keyed.clock.advance(45)  # the first was written 145 ms ago, the last 55
        alive = []
        for key in range(10):
            keyed.key = key
            if state.value() is not None:
                alive.append(key)
        assert alive == [5, 6, 7, 8, 9]

    def test_an_update_type_that_is_disabled_lets_nothing_expire(self, keyed: Keyed) -> None:
        builder = StateTtlConfig.new_builder(ttl().get_ttl())
        state = keyed.open(described(builder.set_update_type(StateTtlConfig.UpdateType.Disabled).build()))
        keyed.key = "a"
        state.update(5)
        keyed.clock.advance(10 * TTL)
        assert state.value() == 5
        assert keyed.stored("v") == {"a": 5}
