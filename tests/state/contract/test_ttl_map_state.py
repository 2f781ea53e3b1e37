"""Map state with time-to-live: entries expire one by one."""

from __future__ import annotations

from typing import Any

from rekindle.datastream.state import MapStateDescriptor, StateTtlConfig

from .driver import EVERY_TTL, START, TTL, Keyed, prolongs_on_read, returns_expired, ttl

# All ways to read the entry x of a map that has no other one; each gives something true if it is there.
READS = {
    "get": lambda state: state.get("x"),
    "contains": lambda state: state.contains("x"),
    "in": lambda state: "x" in state,
    "items": lambda state: list(state.items()),
    "keys": lambda state: list(state.keys()),
    "values": lambda state: list(state.values()),
    "iterate": lambda state: list(state),
}


class TestTtlMapState:
    def state(self, keyed: Keyed, config: StateTtlConfig) -> Any:
        descriptor = MapStateDescriptor("m")
        descriptor.enable_time_to_live(config)
        keyed.key = "a"
        return keyed.open(descriptor)

    @EVERY_TTL
    def test_an_entry_expires_exactly_when_its_time_is_up_however_it_is_read(
        self, keyed: Keyed, config: StateTtlConfig
    ) -> None:
        state = self.state(keyed, config)
        for keyed.key in READS:
            state.put("x", 1)
        keyed.clock.advance(TTL - 1)
        for keyed.key in READS:
            assert not state.is_empty()
        keyed.clock.advance(1)
        for keyed.key, read in READS.items():
            assert bool(read(state)) == returns_expired(config)
            assert not read(state)
        assert keyed.stored("m") == {}

    @EVERY_TTL
    def test_reading_prolongs_only_where_it_is_to_however_it_is_read(
        self, keyed: Keyed, config: StateTtlConfig
    ) -> None:
        state = self.state(keyed, config)
        for keyed.key in READS:
            state.put("x", 1)
        seen: dict[str, list[bool]] = {name: [] for name in READS}
        for _ in range(5):
            keyed.clock.advance(40)
            for keyed.key, read in READS.items():
                seen[keyed.key].append(bool(read(state)))
        kept = [True] * 5 if prolongs_on_read(config) else [True, True, returns_expired(config), False, False]
        assert seen == dict.fromkeys(READS, kept)

    @EVERY_TTL
    def test_entries_expire_one_by_one(self, keyed: Keyed, config: StateTtlConfig) -> None:
        state = self.state(keyed, config)
        state.put("x", 1)
        keyed.clock.advance(60)
        state.put_all({"y": 2, "z": 3})
        keyed.clock.advance(40)
        young = {"y": 2, "z": 3}
        assert dict(state.items()) == ({"x": 1, **young} if returns_expired(config) else young)
        assert dict(state.items()) == young
        assert sorted(keyed.stored("m")["a"]) == ["y", "z"]

    @EVERY_TTL
    def test_putting_one_entry_prolongs_no_other(self, keyed: Keyed, config: StateTtlConfig) -> None:
        state = self.state(keyed, config)
        state.put_all({"x": 1, "y": 1})
        keyed.clock.advance(TTL - 1)
        state.put("y", 2)
        keyed.clock.advance(1)
        assert state.get("x") == (1 if returns_expired(config) else None)
        assert state.get("x") is None
        assert state.get("y") == 2

    @EVERY_TTL
    def test_getting_one_entry_prolongs_no_other(self, keyed: Keyed, config: StateTtlConfig) -> None:
        state = self.state(keyed, config)
        state.put_all({"x": 1, "y": 2})
        keyed.clock.advance(40)
        state.get("x")
        accessed = START + (40 if prolongs_on_read(config) else 0)
        assert keyed.stored("m") == {"a": {"x": (1, accessed), "y": (2, START)}}

    def test_a_map_is_empty_exactly_when_walking_it_would_give_nothing(self, keyed: Keyed) -> None:
        state = self.state(keyed, ttl())
        assert state.is_empty()
        state.put("x", 1)
        keyed.clock.advance(TTL - 1)
        assert not state.is_empty()
        keyed.clock.advance(1)
        assert state.is_empty()
        assert list(state.items()) == []
        state.put("x", 1)
        assert not state.is_empty()

    def test_asking_whether_it_is_empty_uses_up_no_expired_entry(self, keyed: Keyed) -> None:
        state = self.state(keyed, ttl(return_expired=True))
        state.put("x", 1)
        keyed.clock.advance(TTL)
        assert not state.is_empty()
        assert not state.is_empty()
        assert list(state.items()) == [("x", 1)]
        assert state.is_empty()

    def test_none_is_a_value_like_any_other(self, keyed: Keyed) -> None:
        state = self.state(keyed, ttl())
        state.put("x", None)
        assert state.contains("x")
        assert state.get("x") is None
        assert list(state.items()) == [("x", None)]
        keyed.clock.advance(TTL)
        assert not state.contains("x")

    def test_an_expired_entry_can_be_put_again_and_one_that_is_not_there_removed(self, keyed: Keyed) -> None:
        state = self.state(keyed, ttl())
        state.put("x", 1)
        keyed.clock.advance(TTL)
        state.put("x", 2)
        assert state.get("x") == 2
        state.remove("x")
        state.remove("x")
        assert state.is_empty()
        assert keyed.stored("m") == {}
