"""List state with time-to-live: elements expire one by one."""

from __future__ import annotations

from typing import Any

import pytest

from rekindle.datastream.state import ListStateDescriptor, StateTtlConfig

from .driver import EVERY_TTL, START, TTL, Keyed, prolongs_on_read, returns_expired, ttl


class TestTtlListState:
    def state(self, keyed: Keyed, config: StateTtlConfig) -> Any:
        descriptor = ListStateDescriptor("l")
        descriptor.enable_time_to_live(config)
        keyed.key = "a"
        return keyed.open(descriptor)

    @EVERY_TTL
    def test_each_element_expires_exactly_when_its_time_is_up(self, keyed: Keyed, config: StateTtlConfig) -> None:
        state = self.state(keyed, config)
        state.add(1)
        keyed.clock.advance(60)
        state.add_all([2, 3])
        keyed.clock.advance(TTL - 60 - 1)
        assert [element for element, _ in keyed.stored("l")["a"]] == [1, 2, 3]
        keyed.clock.advance(1)
        assert list(state.get()) == ([1, 2, 3] if returns_expired(config) else [2, 3])
        assert list(state.get()) == [2, 3]
        keyed.clock.advance(60)
        still = [2, 3] if prolongs_on_read(config) or returns_expired(config) else []
        assert list(state.get()) == still
        assert list(state.get()) == ([2, 3] if prolongs_on_read(config) else [])

    @EVERY_TTL
    def test_a_read_removes_the_expired_elements_from_storage(self, keyed: Keyed, config: StateTtlConfig) -> None:
        state = self.state(keyed, config)
        state.add_all([1, 2])
        keyed.clock.advance(TTL)
        state.add(3)
        list(state.get())
        assert keyed.stored("l") == {"a": [(3, START + TTL)]}
        keyed.clock.advance(TTL)
        list(state.get())
        assert keyed.stored("l") == {}

    @EVERY_TTL
    def test_reading_again_and_again_keeps_elements_only_where_reading_prolongs(
        self, keyed: Keyed, config: StateTtlConfig
    ) -> None:
        state = self.state(keyed, config)
        state.update([1, 2])
        seen = []
        for _ in range(5):
            keyed.clock.advance(40)
            seen.append(list(state.get()))
        once = [1, 2] if returns_expired(config) else []
        assert seen == ([[1, 2]] * 5 if prolongs_on_read(config) else [[1, 2], [1, 2], once, [], []])

    @EVERY_TTL
    def test_adding_does_not_prolong_what_is_there(self, keyed: Keyed, config: StateTtlConfig) -> None:
        state = self.state(keyed, config)
        state.add(1)
        keyed.clock.advance(TTL - 1)
        state.add(2)
        keyed.clock.advance(1)
        assert list(state.get()) == ([1, 2] if returns_expired(config) else [2])
        assert list(state.get()) == [2]

    @EVERY_TTL
    def test_update_replaces_expired_elements_too(self, keyed: Keyed, config: StateTtlConfig) -> None:
        state = self.state(keyed, config)
        state.add(1)
        keyed.clock.advance(TTL)
        state.update([2])
        assert list(state.get()) == [2]

    def test_order_is_kept_when_elements_in_the_middle_expire(self, keyed: Keyed) -> None:
        state = self.state(keyed, ttl())
        keyed.clock.set(START + 50)
        state.add("young")
        keyed.clock.set(START)  # clocks of machines go back at times
        state.add("old")
        keyed.clock.set(START + 60)
        state.add("youngest")
        keyed.clock.set(START + TTL)
        assert list(state.get()) == ["young", "youngest"]
        state.add("new")
        assert list(state.get()) == ["young", "youngest", "new"]

    @pytest.mark.parametrize("way", ["add", "add_all", "update"])
    def test_none_inside_a_list_raises_naming_the_state_and_changes_nothing(self, keyed: Keyed, way: str) -> None:
        state = self.state(keyed, ttl())
        state.add(1)
        with pytest.raises(ValueError, match="None cannot be an element of list state 'l'"):
            getattr(state, way)(None if way == "add" else [2, None])
        assert list(state.get()) == [1]
