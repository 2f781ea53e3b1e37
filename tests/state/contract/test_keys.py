"""Keys: whose state is read and written, and which keys are one."""

from __future__ import annotations

import datetime
import decimal
import enum
import fractions
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from rekindle.common.typeinfo import Types
from rekindle.datastream.state import MapStateDescriptor, ValueStateDescriptor
from rekindle.exceptions import InvalidProgramError

from .driver import EVERY_KIND, Keyed, Kind

VALUE = ValueStateDescriptor("v")


class Colour(enum.IntEnum):
    """Be equal to a number."""

    RED = 1


@dataclass(frozen=True)
class Place:
    """Be a key of several fields."""

    city: str
    number: float


def _copied(text: str) -> str:
    """Return an equal string that is another object: pickled twice in a tuple, it is not written as a reference."""
    return "".join(list(text))


KEYS: list[Any] = ["a", "b", "", "1", 1, -1, None, ("t", 2), ("t",), b"a", b"", 2.5, 1 << 70, frozenset({1, 2})]

EQUAL_KEYS: list[tuple[str, Any, Any]] = [
    ("int and float", 1, 1.0),
    ("int and bool", 1, True),
    ("zero and False", 0, False),
    ("zeros", 0.0, -0.0),
    ("int and numpy int", 7, np.int64(7)),
    ("float and numpy float", 2.5, np.float64(2.5)),
    ("str and numpy str", "x", np.str_("x")),
    ("int and IntEnum", 1, Colour.RED),
    ("int and Decimal", 3, decimal.Decimal("3.0")),
    ("float and Fraction", 0.5, fractions.Fraction(1, 2)),
    ("far int and float", 1 << 70, float(1 << 70)),
    ("tuples", ("x", 1), (_copied("x"), 1.0)),
    ("nested tuples", (("x", (0,)),), (("x", (False,)),)),
    ("tuples with one string or two", ("word word",) * 2, ("word word", _copied("word word"))),
    ("sets", frozenset(["a", "b", "c", "d"]), frozenset(["d", "c", "b", "a"])),
    ("objects", Place("Oslo", 1), Place(_copied("Oslo"), 1.0)),
    ("dates", datetime.date(2024, 1, 2), datetime.date.fromisoformat("2024-01-02")),
]


class TestKeys:
    @EVERY_KIND
    def test_every_key_has_a_state_of_its_own(self, keyed: Keyed, kind: Kind) -> None:
        state = keyed.open(kind.descriptor())
        for number, keyed.key in enumerate(KEYS):
            kind.write(state, number)
        for number, keyed.key in enumerate(KEYS):
            assert kind.read(state) == kind.expected(number)

    @EVERY_KIND
    def test_every_key_has_its_state_after_a_restart(self, keyed: Keyed, kind: Kind) -> None:
        state = keyed.open(kind.descriptor())
        for number, keyed.key in enumerate(KEYS):
            kind.write(state, number)
        for snapshot in (keyed.checkpoint(), keyed.savepoint()):
            after = keyed.restored(snapshot)
            state = after.open(kind.descriptor())
            for number, after.key in enumerate(KEYS):
                assert kind.read(state) == kind.expected(number)

    @EVERY_KIND
    def test_none_is_a_key_like_any_other(self, keyed: Keyed, kind: Kind) -> None:
        state = keyed.open(kind.descriptor())
        keyed.key = None
        kind.write(state, 1)
        keyed.key = "a"
        assert kind.read(state) == kind.unset
        keyed.key = None
        assert kind.read(state) == kind.expected(1)
        state.clear()
        assert kind.read(state) == kind.unset

    @pytest.mark.parametrize(("one", "other"), [pair[1:] for pair in EQUAL_KEYS], ids=[pair[0] for pair in EQUAL_KEYS])
    def test_keys_that_are_equal_are_one_key(self, keyed: Keyed, one: Any, other: Any) -> None:
        assert one == other
        state = keyed.open(VALUE)
        keyed.key = one
        state.update("first")
        keyed.key = other
        assert state.value() == "first"
        state.update("second")
        keyed.key = one
        assert state.value() == "second"
        assert len(list(keyed.backend.keys("v"))) == 1
        after = keyed.restarted()
        after.key = other
        state = after.open(VALUE)
        assert state.value() == "second"
        state.clear()
        after.key = one
        assert state.value() is None

    @pytest.mark.parametrize(("one", "other"), [pair[1:] for pair in EQUAL_KEYS], ids=[pair[0] for pair in EQUAL_KEYS])
    def test_map_keys_that_are_equal_are_one_entry(self, keyed: Keyed, one: Any, other: Any) -> None:
        keyed.key = "a"
        state = keyed.open(MapStateDescriptor("m"))
        state.put(one, "first")
        assert state.get(other) == "first"
        state.put(other, "second")
        assert list(state.items()) == [(one, "second")]
        state.remove(other)
        assert state.is_empty()

    def test_keys_that_look_alike_are_told_apart(self, keyed: Keyed) -> None:
        alike: list[Any] = ["1", b"1", 1, ("1",), (1,), ((1,),), "None", None, "", (), b"", "1\0", 1.5, "True", -1]
        state = keyed.open(VALUE)
        for number, keyed.key in enumerate(alike):
            state.update(number)
        for number, keyed.key in enumerate(alike):
            assert state.value() == number
        assert len(list(keyed.backend.keys("v"))) == len(alike)

    def test_keys_gives_every_key_once(self, keyed: Keyed) -> None:
        state = keyed.open(VALUE)
        for keyed.key in range(50):
            state.update(keyed.key)
            state.update(keyed.key + 1)
        for keyed.key in range(0, 50, 5):
            state.clear()
        expected = [key for key in range(50) if key % 5]
        assert sorted(keyed.backend.keys("v")) == expected
        again = keyed.restarted()
        again.open(VALUE)
        assert sorted(again.backend.keys("v")) == expected

    def test_keys_of_a_state_that_nobody_asked_for_are_none(self, keyed: Keyed) -> None:
        assert list(keyed.backend.keys("v")) == []
        keyed.key = 1
        keyed.open(VALUE).update(1)
        assert list(keyed.restarted().backend.keys("v")) == []

    def test_the_state_can_be_changed_while_its_keys_are_walked(self, keyed: Keyed) -> None:
        state = keyed.open(VALUE)
        for keyed.key in range(20):
            state.update(1)
        for key in keyed.backend.keys("v"):
            keyed.key = key
            state.update(2)
            if key % 2:
                state.clear()
        assert sorted(keyed.backend.keys("v")) == list(range(0, 20, 2))


class TestNames:
    def test_the_same_name_with_another_type_raises_naming_both_descriptors(self, keyed: Keyed) -> None:
        keyed.open(ValueStateDescriptor("v", Types.INT()))
        with pytest.raises(InvalidProgramError, match=r"state 'v' .*ValueStateDescriptor.*ValueStateDescriptor"):
            keyed.open(ValueStateDescriptor("v", Types.STRING()))

    def test_the_same_name_with_and_without_namespaces_raises(self, keyed: Keyed) -> None:
        keyed.open(VALUE)
        with pytest.raises(InvalidProgramError, match="both as state of a window and as state of a key"):
            keyed.backend.get_or_create_namespaced(VALUE)

    @pytest.mark.parametrize("name", ["default", "with space", "a/b", "..", "ä", "x" * 300, "__meta__", "a\0b"])
    def test_a_name_can_be_any_text(self, keyed: Keyed, name: str) -> None:
        keyed.key = "a"
        keyed.open(ValueStateDescriptor(name)).update(1)
        after = keyed.restarted()
        after.key = "a"
        assert after.open(ValueStateDescriptor(name)).value() == 1

    @pytest.mark.parametrize("name", ["_raw", "_event-time-timers", "_processing-time-timers"])
    def test_a_name_of_what_snapshots_hold_besides_is_refused(self, keyed: Keyed, name: str) -> None:
        with pytest.raises(InvalidProgramError, match="is Rekindle's own; choose another"):
            keyed.open(ValueStateDescriptor(name))

    def test_state_names_are_those_asked_for_and_those_restored(self, keyed: Keyed) -> None:
        keyed.key = "a"
        keyed.open(VALUE).update(1)
        after = keyed.restarted()
        after.open(ValueStateDescriptor("other"))
        assert sorted(after.backend.state_names()) == ["other", "v"]
