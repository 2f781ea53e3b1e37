"""Reducing, aggregating and folding state."""

from __future__ import annotations

from typing import Any

import pytest

from rekindle.datastream.functions import AggregateFunction, FoldFunction, ReduceFunction
from rekindle.datastream.state import (
    AggregatingStateDescriptor,
    FoldingStateDescriptor,
    ReducingStateDescriptor,
)

from .driver import Keyed, Mean


class TestReducingState:
    def state(self, keyed: Keyed, function: Any) -> Any:
        keyed.key = "a"
        return keyed.open(ReducingStateDescriptor("r", function))

    def test_the_first_value_is_the_reduction_and_later_ones_come_second(self, keyed: Keyed) -> None:
        state = self.state(keyed, lambda a, b: f"({a}{b})")
        state.add("x")
        assert state.get() == "x"
        state.add("y")
        state.add("z")
        assert state.get() == "((xy)z)"

    def test_a_reduce_function_can_be_given(self, keyed: Keyed) -> None:
        class Longest(ReduceFunction):
            def reduce(self, value1: str, value2: str) -> str:
                return max(value1, value2, key=len)

        state = self.state(keyed, Longest())
        for word in ("to", "kindle", "a"):
            state.add(word)
        assert state.get() == "kindle"

    def test_a_reduction_to_none_clears(self, keyed: Keyed) -> None:
        state = self.state(keyed, lambda a, b: None)
        state.add(1)
        state.add(2)
        assert state.get() is None
        assert list(keyed.backend.keys("r")) == []

    def test_adding_none_clears(self, keyed: Keyed) -> None:
        state = self.state(keyed, lambda a, b: a + b)
        state.add(1)
        state.add(None)
        assert state.get() is None
        assert keyed.stored("r") == {}
        state.add(2)
        assert state.get() == 2

    def test_a_falsy_reduction_goes_on_being_reduced(self, keyed: Keyed) -> None:
        state = self.state(keyed, lambda a, b: a + b)
        for number, total in ((0, 0), (5, 5), (-5, 0), (3, 3)):
            state.add(number)
            assert state.get() == total

    def test_the_reduction_goes_on_after_a_restart(self, keyed: Keyed) -> None:
        def concatenate(a: str, b: str) -> str:
            return a + b

        self.state(keyed, concatenate).add("x")
        after = keyed.restarted()
        state = self.state(after, concatenate)
        state.add("y")
        assert state.get() == "xy"


class TestAggregatingState:
    def state(self, keyed: Keyed, function: AggregateFunction | None = None) -> Any:
        keyed.key = "a"
        return keyed.open(AggregatingStateDescriptor("g", function or Mean()))

    def test_get_gives_the_result_of_the_accumulator(self, keyed: Keyed) -> None:
        state = self.state(keyed)
        for value in (1, 2, 6):
            state.add(value)
        assert state.get() == 3

    def test_the_accumulator_is_stored_and_not_the_result(self, keyed: Keyed) -> None:
        state = self.state(keyed)
        state.add(1)
        state.add(2)
        assert keyed.stored("g") == {"a": [3, 2]}

    def test_each_key_has_an_accumulator_of_its_own(self, keyed: Keyed) -> None:
        state = self.state(keyed)
        for keyed.key in range(20):
            state.add(keyed.key)
            state.add(keyed.key + 2)
        for keyed.key in range(20):
            assert state.get() == keyed.key + 1

    def test_adding_none_clears(self, keyed: Keyed) -> None:
        state = self.state(keyed)
        state.add(1)
        state.add(None)
        assert state.get() is None
        assert keyed.stored("g") == {}
        state.add(4)
        assert state.get() == 4

    def test_a_falsy_accumulator_is_an_accumulator(self, keyed: Keyed) -> None:
        class Sum(AggregateFunction):
            def create_accumulator(self) -> int:
                return 100

            def add(self, value: int, accumulator: int) -> int:
                return accumulator + value

            def get_result(self, accumulator: int) -> str:
                return f"={accumulator}"

            def merge(self, acc_a: int, acc_b: int) -> int:
                return acc_a + acc_b

        state = self.state(keyed, Sum())
        state.add(-100)
        assert state.get() == "=0"
        state.add(1)
        assert state.get() == "=1"

    def test_the_aggregate_goes_on_after_a_restart(self, keyed: Keyed) -> None:
        self.state(keyed).add(2)
        state = self.state(keyed.restarted())
        state.add(4)
        assert state.get() == 3


@pytest.mark.filterwarnings("ignore:FoldingStateDescriptor:DeprecationWarning")
class TestFoldingState:
    def state(self, keyed: Keyed, initial: Any, function: Any) -> Any:
        keyed.key = "a"
        return keyed.open(FoldingStateDescriptor("f", initial, function))

    def test_values_are_folded_into_the_initial_one_in_their_order(self, keyed: Keyed) -> None:
        state = self.state(keyed, "<", lambda folded, value: f"{folded}{value}")
        assert state.get() is None
        for number in (1, 2, 3):
            state.add(number)
        assert state.get() == "<123"

    def test_a_fold_function_can_be_given(self, keyed: Keyed) -> None:
        class Count(FoldFunction):
            def fold(self, accumulator: int, value: Any) -> int:
                return accumulator + 1

        state = self.state(keyed, 0, Count())
        state.add("x")
        state.add("y")
        assert state.get() == 2

    def test_an_initial_value_that_is_changed_in_place_is_not_shared_by_keys(self, keyed: Keyed) -> None:
        def append(folded: list[Any], value: Any) -> list[Any]:
            folded.append(value)
            return folded

        state = self.state(keyed, [], append)
        for keyed.key in ("a", "b"):
            state.add(keyed.key)
        for keyed.key in ("a", "b"):
            assert state.get() == [keyed.key]
        state.clear()
        state.add("again")
        assert state.get() == ["again"]

    def test_adding_none_clears(self, keyed: Keyed) -> None:
        state = self.state(keyed, 10, lambda folded, value: folded + value)
        state.add(1)
        state.add(None)
        assert state.get() is None
        assert keyed.stored("f") == {}
        state.add(5)
        assert state.get() == 15

    def test_the_fold_goes_on_after_a_restart(self, keyed: Keyed) -> None:
        def concatenate(folded: str, value: str) -> str:
            return folded + value

        self.state(keyed, ">", concatenate).add("x")
        state = self.state(keyed.restarted(), ">", concatenate)
        state.add("y")
        assert state.get() == ">xy"
