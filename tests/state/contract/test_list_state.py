"""List state."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from rekindle.datastream.state import ListStateDescriptor

from .driver import Keyed

LIST = ListStateDescriptor("l")


class TestListState:
    def state(self, keyed: Keyed) -> Any:
        keyed.key = "a"
        return keyed.open(LIST)

    def test_elements_come_back_in_the_order_in_which_they_were_added(self, keyed: Keyed) -> None:
        state = self.state(keyed)
        state.add(3)
        state.add_all([1, 2])
        state.add(3)
        assert list(state.get()) == [3, 1, 2, 3] == list(state)

    def test_the_order_stays_with_many_elements_and_over_a_restart(self, keyed: Keyed) -> None:
        state = self.state(keyed)
        for number in range(300):
            state.add(number)
        assert list(state) == list(range(300))
        after = keyed.restarted()
        state = self.state(after)
        state.add(300)
        assert list(state) == list(range(301))

    def test_update_replaces_all_elements(self, keyed: Keyed) -> None:
        state = self.state(keyed)
        state.add_all([1, 5, 6])
        state.update([2, 3])
        assert list(state.get()) == [2, 3]
        state.add(4)
        assert list(state.get()) == [2, 3, 4]

    def test_update_with_an_empty_list_leaves_an_empty_list(self, keyed: Keyed) -> None:
        state = self.state(keyed)
        state.add(1)
        state.update([])
        assert list(state.get()) == []
        assert list(self.state(keyed.restarted())) == []
        self.state(keyed).add(2)
        assert list(state.get()) == [2]

    def test_adding_nothing_changes_nothing(self, keyed: Keyed) -> None:
        state = self.state(keyed)
        state.add_all([])
        assert keyed.stored("l") == {}
        state.add(1)
        state.add_all([])
        assert list(state.get()) == [1]

    @pytest.mark.parametrize("way", ["add", "add_all", "update"])
    def test_none_inside_a_list_raises_naming_the_state_and_changes_nothing(self, keyed: Keyed, way: str) -> None:
        state = self.state(keyed)
        state.add(1)
        with pytest.raises(ValueError, match="None cannot be an element of list state 'l'"):
            getattr(state, way)(None if way == "add" else [2, None])
        assert list(state.get()) == [1]

    @pytest.mark.parametrize("way", ["add_all", "update"])
    def test_elements_that_compare_element_by_element_can_be_kept(self, keyed: Keyed, way: str) -> None:
        state = self.state(keyed)
        getattr(state, way)([np.array([1, 2])])
        assert [element.tolist() for element in state.get()] == [[1, 2]]

    @pytest.mark.parametrize("way", ["add_all", "update"])
    def test_an_iterator_can_be_given(self, keyed: Keyed, way: str) -> None:
        state = self.state(keyed)
        getattr(state, way)(iter([1, 2]))
        assert list(state.get()) == [1, 2]

    def test_the_list_that_was_given_or_returned_is_not_the_state_itself(self, keyed: Keyed) -> None:
        state = self.state(keyed)
        given = [1]
        state.update(given)
        given.append(2)
        returned = state.get()
        assert list(returned) == [1]
        if isinstance(returned, list):
            returned.append(3)
        assert list(state.get()) == [1]

    def test_the_state_can_be_changed_while_it_is_walked(self, keyed: Keyed) -> None:
        state = self.state(keyed)
        state.update([1, 2])
        for element in state:
            state.add(element + 10)
        assert list(state.get()) == [1, 2, 11, 12]
        for _ in state:
            state.clear()
        assert list(state.get()) == []

    def test_lists_of_several_keys_grow_side_by_side(self, keyed: Keyed) -> None:
        state = self.state(keyed)
        for number in range(60):
            keyed.key = number % 7
            state.add(number)
        for keyed.key in range(7):
            assert list(state) == list(range(keyed.key, 60, 7))
