"""Value state."""

from __future__ import annotations

import datetime
import decimal
from typing import Any

import pytest

from rekindle.common.typeinfo import Types
from rekindle.datastream.state import ValueStateDescriptor

from .driver import Keyed


class TestValueState:
    def state(self, keyed: Keyed, default: Any = None) -> Any:
        keyed.key = "a"
        return keyed.open(ValueStateDescriptor("v", None, default))

    def test_an_unset_value_is_the_default_of_the_descriptor(self, keyed: Keyed) -> None:
        state = self.state(keyed, default=7)
        assert state.value() == 7
        assert keyed.stored("v") == {}

    def test_a_value_replaces_the_one_before(self, keyed: Keyed) -> None:
        state = self.state(keyed)
        state.update(1)
        state.update("two")
        assert state.value() == "two"

    def test_update_with_none_clears_it_so_that_the_default_is_back(self, keyed: Keyed) -> None:
        state = self.state(keyed, default=7)
        state.update(1)
        assert state.value() == 1
        state.update(None)
        assert state.value() == 7
        assert keyed.stored("v") == {}

    @pytest.mark.parametrize("falsy", [0, "", False, [], {}, 0.0, b"", ()], ids=repr)
    def test_a_falsy_value_is_a_value(self, keyed: Keyed, falsy: Any) -> None:
        state = self.state(keyed, default="default")
        state.update(falsy)
        assert state.value() == falsy
        assert type(state.value()) is type(falsy)

    def test_values_of_all_sorts_come_back_after_a_restart_as_what_they_were(self, keyed: Keyed) -> None:
        values = {
            "text": "ä\udc80 \0",
            "number": -(1 << 70),
            "fraction": 0.1,
            "bytes": bytes(range(256)),
            "time": datetime.datetime(2024, 2, 29, 12, 30, 15, 123_456),
            "decimal": decimal.Decimal("1.10"),
            "nested": [{"x": (1, None)}, {2, 3}],
            "long": "x" * 100_000,
        }
        state = self.state(keyed)
        for keyed.key, value in values.items():
            state.update(value)
        after = keyed.restarted()
        state = self.state(after)
        for after.key, value in values.items():
            assert state.value() == value
            assert type(state.value()) is type(value)

    def test_a_state_with_a_type_keeps_values_of_that_type(self, keyed: Keyed) -> None:
        typed = {
            "int": (Types.INT(), 2**31 - 1),
            "text": (Types.STRING(), "text"),
            "list": (Types.LIST(Types.LONG()), [1, 2]),
            "map": (Types.MAP(Types.STRING(), Types.DOUBLE()), {"x": 0.5}),
            "tuple": (Types.TUPLE([Types.INT(), Types.BOOLEAN()]), (1, True)),
        }
        keyed.key = "a"
        for name, (type_info, value) in typed.items():
            keyed.open(ValueStateDescriptor(name, type_info)).update(value)
        after = keyed.restarted()
        after.key = "a"
        for name, (type_info, value) in typed.items():
            assert after.open(ValueStateDescriptor(name, type_info)).value() == value

    def test_many_keys_keep_their_values(self, keyed: Keyed) -> None:
        state = self.state(keyed)
        for keyed.key in range(500):
            state.update(keyed.key * 3)
        for keyed.key in range(0, 500, 2):
            state.clear()
        for keyed.key in range(500):
            assert state.value() == (keyed.key * 3 if keyed.key % 2 else None)
