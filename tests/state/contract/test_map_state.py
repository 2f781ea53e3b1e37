"""Map state."""

from __future__ import annotations

from typing import Any

import pytest

from rekindle.datastream.state import MapStateDescriptor

from .driver import Keyed

MAP = MapStateDescriptor("m")


class TestMapState:
    def state(self, keyed: Keyed) -> Any:
        keyed.key = "a"
        return keyed.open(MAP)

    def test_a_missing_entry_is_none_and_not_contained(self, keyed: Keyed) -> None:
        state = self.state(keyed)
        assert state.get("x") is None
        assert not state.contains("x")
        state.put("y", 1)
        assert state.get("x") is None
        assert not state.contains("x")

    def test_put_all_sets_many_entries_and_keeps_the_others(self, keyed: Keyed) -> None:
        state = self.state(keyed)
        state.put_all({})
        assert state.is_empty()
        state.put("x", 1)
        state.put("y", 2)
        state.put_all({"y": 3, "z": 4})
        assert dict(state.items()) == {"x": 1, "y": 3, "z": 4}

    def test_a_none_value_counts_as_contained(self, keyed: Keyed) -> None:
        state = self.state(keyed)
        state.put("x", None)
        assert state.contains("x")
        assert not state.is_empty()
        assert state.get("x") is None
        assert list(state.items()) == [("x", None)]
        assert self.state(keyed.restarted()).contains("x")

    @pytest.mark.parametrize("map_key", [None, 0, -1, 2.5, "", "text", b"bytes", ("t", 1), 1 << 70], ids=repr)
    def test_anything_hashable_can_be_a_map_key(self, keyed: Keyed, map_key: Any) -> None:
        state = self.state(keyed)
        state.put("other", 0)
        state.put(map_key, 1)
        assert state.get(map_key) == 1
        assert sorted(map(repr, state.keys())) == sorted(map(repr, ["other", map_key]))
        state.remove(map_key)
        assert not state.contains(map_key)
        assert dict(state.items()) == {"other": 0}

    def test_map_keys_that_are_equal_are_one_entry(self, keyed: Keyed) -> None:
        state = self.state(keyed)
        state.put(1, "one")
        assert state.get(1.0) == "one"
        assert state.contains(True)
        state.put(1.0, "still one")
        assert dict(state.items()) == {1: "still one"}
        state.remove(True)
        assert state.is_empty()

    def test_keys_values_and_items_give_all_entries(self, keyed: Keyed) -> None:
        state = self.state(keyed)
        state.put_all({"x": 1, "y": 2})
        state.put("z", 3)
        assert sorted(state.keys()) == ["x", "y", "z"] == sorted(state)
        assert sorted(state.values()) == [1, 2, 3]
        assert sorted(state.items()) == [("x", 1), ("y", 2), ("z", 3)]

    def test_removing_an_entry_that_is_not_there_is_no_error(self, keyed: Keyed) -> None:
        state = self.state(keyed)
        state.remove("x")
        state.put("y", 1)
        state.remove("x")
        assert dict(state.items()) == {"y": 1}

    def test_a_map_without_entries_is_empty_again_and_takes_no_room(self, keyed: Keyed) -> None:
        state = self.state(keyed)
        assert state.is_empty()
        state.put("x", 1)
        assert not state.is_empty()
        state.remove("x")
        assert state.is_empty()
        assert keyed.stored("m") == {}
        assert list(keyed.backend.keys("m")) == []

    def test_it_reads_like_a_dict(self, keyed: Keyed) -> None:
        state = self.state(keyed)
        state["x"] = 1
        assert state["x"] == 1
        assert "x" in state
        assert state["missing"] is None
        del state["x"]
        del state["x"]
        assert "x" not in state

    def test_the_map_can_be_changed_while_it_is_walked(self, keyed: Keyed) -> None:
        state = self.state(keyed)
        state.put_all({"x": 1, "y": 2})
        for key in state.keys():  # noqa: SIM118 - the method is what is tested
            state.remove(key)
        assert state.is_empty()
        state.put("x", 1)
        for key, value in state.items():
            state.put(key + "2", value)
        for value in state.values():
            state.put("v", value)
        assert dict(state.items()) == {"x": 1, "x2": 1, "v": 1}

    def test_maps_of_several_keys_have_entries_of_their_own(self, keyed: Keyed) -> None:
        state = self.state(keyed)
        model: dict[Any, dict[int, int]] = {}
        for number in range(200):
            keyed.key = number % 5
            state.put(number % 13, number)
            model.setdefault(keyed.key, {})[number % 13] = number
            if number % 3 == 0:
                state.remove(number % 7)
                model[keyed.key].pop(number % 7, None)
        for keyed.key, entries in model.items():
            assert dict(state.items()) == entries
        keyed.key = 2
        state.clear()
        assert dict(state.items()) == {}
        keyed.key = 3
        assert dict(state.items()) == model[3]

    def test_a_map_that_was_cleared_has_only_what_was_put_since(self, keyed: Keyed) -> None:
        state = self.state(keyed)
        state.put_all({"x": 1, "y": 2})
        state.clear()
        assert state.get("x") is None
        state.put("z", 3)
        assert dict(state.items()) == {"z": 3}
        assert dict(self.state(keyed.restarted()).items()) == {"z": 3}

    def test_map_keys_whose_encodings_begin_alike_are_told_apart(self, keyed: Keyed) -> None:
        state = self.state(keyed)
        entries = {"": 0, "x": 1, "xx": 2, "x\0": 3, b"x": 4, ("x",): 5, ("x", "x"): 6}
        state.put_all(entries)
        for keyed.key in ("", "aa", "a\0", b"a", ("a",)):
            state.put("foreign", 1)
        keyed.key = "a"
        assert dict(state.items()) == entries
