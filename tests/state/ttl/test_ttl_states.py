"""What the handles of expiring state return, remove, prolong and write, whatever stores their pairs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from rekindle.common.time import Time
from rekindle.datastream.functions import AggregateFunction
from rekindle.datastream.state import (
    AggregatingStateDescriptor,
    FoldingStateDescriptor,
    ListState,
    ListStateDescriptor,
    MapState,
    MapStateDescriptor,
    ReducingStateDescriptor,
    StateDescriptor,
    StateTtlConfig,
    ValueState,
    ValueStateDescriptor,
)
from rekindle.state.kinds.state_kind import kind_of
from rekindle.state.state_primitives import StatePrimitives
from rekindle.state.state_serializers import UNUSED
from rekindle.state.ttl.primitives import TtlPrimitives
from rekindle.state.ttl.rules import TtlRules
from rekindle.testing.clock import ManualClock

TTL = 100


class StoredValue(ValueState[Any]):
    """Keep one value and count how often it is written."""

    def __init__(self) -> None:
        self.stored: Any = None
        self.writes = 0

    def value(self) -> Any:
        return self.stored

    def update(self, value: Any) -> None:
        assert isinstance(value, tuple)
        self.stored = value
        self.writes += 1

    def clear(self) -> None:
        self.stored = None
        self.writes += 1


class StoredList(ListState[Any]):
    """Keep one list and count how often it is written."""

    def __init__(self) -> None:
        self.stored: list[Any] = []
        self.writes = 0

    def get(self) -> Iterator[Any]:
        return iter(list(self.stored))

    def add(self, value: Any) -> None:
        self.stored.append(value)
        self.writes += 1

    def add_all(self, values: list[Any]) -> None:
        self.stored.extend(values)
        self.writes += 1

    def update(self, values: list[Any]) -> None:
        self.stored = list(values)
        self.writes += 1

    def clear(self) -> None:
        self.stored = []
        self.writes += 1


class StoredMap(MapState[Any, Any]):
    """Keep one map and count how often it is written."""

    def __init__(self) -> None:
        self.stored: dict[Any, Any] = {}
        self.writes = 0

    def get(self, key: Any) -> Any:
        return self.stored.get(key)

    def put(self, key: Any, value: Any) -> None:
        self.stored[key] = value
        self.writes += 1

    def put_all(self, dict_value: dict[Any, Any]) -> None:
        self.stored.update(dict_value)
        self.writes += 1

    def remove(self, key: Any) -> None:
        self.stored.pop(key, None)
        self.writes += 1

    def contains(self, key: Any) -> bool:
        return key in self.stored

    # Not over a copy: whoever changes the map while walking it fails.
    def items(self) -> Iterator[tuple[Any, Any]]:
        return iter(self.stored.items())

    def keys(self) -> Iterator[Any]:
        return iter(self.stored)

    def values(self) -> Iterator[Any]:
        return iter(self.stored.values())

    def is_empty(self) -> bool:
        return not self.stored

    def clear(self) -> None:
        self.stored = {}
        self.writes += 1


class Mean(AggregateFunction):
    """Average numbers; the accumulator is (sum, count)."""

    def create_accumulator(self) -> tuple[float, int]:
        return 0, 0

    def add(self, value: float, accumulator: tuple[float, int]) -> tuple[float, int]:
        return accumulator[0] + value, accumulator[1] + 1

    def get_result(self, accumulator: tuple[float, int]) -> float:
        return accumulator[0] / accumulator[1]

    def merge(self, acc_a: tuple[float, int], acc_b: tuple[float, int]) -> tuple[float, int]:
        return acc_a[0] + acc_b[0], acc_a[1] + acc_b[1]


class Stored(StatePrimitives):
    """Offer one stored state, whatever is asked for."""

    def __init__(self, name: str, stored: Any) -> None:
        super().__init__(name, UNUSED)
        self._stored = stored

    def value_state(self, default: Any = None) -> ValueState[Any]:
        return self._stored

    def list_state(self) -> ListState[Any]:
        return self._stored

    def _map_state(self) -> MapState[Any, Any]:
        return self._stored


class Opened:
    """Open a state with time-to-live around a stored one, with a clock to move and a count of accesses."""

    def __init__(
        self,
        descriptor: StateDescriptor,
        inner: Any,
        on_read: bool = False,
        return_expired: bool = False,
        counted: bool = True,
    ) -> None:
        builder = StateTtlConfig.new_builder(Time.milliseconds(TTL))
        if on_read:
            builder.update_ttl_on_read_and_write()
        if return_expired:
            builder.return_expired_if_not_cleaned_up()
        self.clock = ManualClock(1_000)
        self.inner = inner
        self.accesses = 0
        on_access = self._accessed if counted else None
        rules = TtlRules(builder.build(), self.clock.now, on_access)
        self.state: Any = kind_of(descriptor).open(
            descriptor, TtlPrimitives(Stored(descriptor.get_name(), inner), rules)
        )

    def _accessed(self) -> None:
        self.accesses += 1

    def writes_of(self, action: Callable[[], Any]) -> int:
        """Count what an action writes."""
        before = self.inner.writes
        action()
        return int(self.inner.writes - before)


def value(default: Any = None, **rules: bool) -> Opened:
    return Opened(ValueStateDescriptor("v", None, default), StoredValue(), **rules)


def elements(**rules: bool) -> Opened:
    return Opened(ListStateDescriptor("l"), StoredList(), **rules)


def entries(**rules: bool) -> Opened:
    return Opened(MapStateDescriptor("m"), StoredMap(), **rules)


BOTH_UPDATE_TYPES = pytest.mark.parametrize("on_read", [False, True], ids=["on write", "on read and write"])
BOTH_VISIBILITIES = pytest.mark.parametrize("return_expired", [False, True], ids=["never", "once"])


class TestValueState:
    def test_a_value_is_there_until_just_before_its_time_is_up(self) -> None:
        opened = value()
        opened.state.update(5)
        opened.clock.advance(TTL - 1)
        assert opened.state.value() == 5
        opened.clock.advance(1)
        assert opened.state.value() is None

    @BOTH_UPDATE_TYPES
    def test_an_expired_value_is_removed_by_the_read_that_finds_it(self, on_read: bool) -> None:
        opened = value(on_read=on_read)
        opened.state.update(5)
        opened.clock.advance(TTL)
        assert opened.state.value() is None
        assert opened.inner.stored is None

    @BOTH_UPDATE_TYPES
    def test_where_expired_values_are_returned_it_is_once(self, on_read: bool) -> None:
        opened = value(on_read=on_read, return_expired=True)
        opened.state.update(5)
        opened.clock.advance(TTL)
        assert opened.state.value() == 5
        assert opened.inner.stored is None
        assert opened.state.value() is None

    def test_the_default_stands_for_a_missing_and_for_an_expired_value(self) -> None:
        opened = value(default=7)
        assert opened.state.value() == 7
        opened.state.update(5)
        opened.clock.advance(TTL)
        assert opened.state.value() == 7

    def test_an_expired_value_that_is_returned_comes_before_the_default(self) -> None:
        opened = value(default=7, return_expired=True)
        opened.state.update(5)
        opened.clock.advance(TTL)
        assert [opened.state.value(), opened.state.value()] == [5, 7]

    def test_writing_prolongs(self) -> None:
        opened = value()
        opened.state.update(5)
        opened.clock.advance(TTL - 1)
        opened.state.update(6)
        opened.clock.advance(TTL - 1)
        assert opened.state.value() == 6
        opened.clock.advance(1)
        assert opened.state.value() is None

    @BOTH_VISIBILITIES
    def test_reading_again_and_again_prolongs_only_where_it_is_to(self, return_expired: bool) -> None:
        for on_read in (False, True):
            opened = value(on_read=on_read, return_expired=return_expired)
            opened.state.update(5)
            seen = []
            for _ in range(4):
                opened.clock.advance(TTL - 60)
                seen.append(opened.state.value())
            still_once = 5 if return_expired else None
            assert seen == ([5, 5, 5, 5] if on_read else [5, 5, still_once, None])

    def test_reading_writes_nothing_where_it_does_not_prolong(self) -> None:
        opened = value()
        assert opened.writes_of(opened.state.value) == 0
        opened.state.update(5)
        opened.clock.advance(TTL - 1)
        assert opened.writes_of(opened.state.value) == 0

    def test_reading_writes_once_in_a_millisecond_where_it_prolongs(self) -> None:
        opened = value(on_read=True)
        opened.state.update(5)
        assert opened.writes_of(opened.state.value) == 0
        opened.clock.advance(1)
        assert opened.writes_of(opened.state.value) == 1
        assert opened.writes_of(opened.state.value) == 0
        assert opened.inner.stored == (5, opened.clock.now())

    def test_a_clock_set_back_shortens_no_life(self) -> None:
        opened = value(on_read=True)
        opened.state.update(5)
        opened.clock.advance(-50)
        assert opened.writes_of(opened.state.value) == 0
        opened.clock.advance(TTL + 49)
        assert opened.state.value() == 5

    def test_none_clears(self) -> None:
        opened = value(default=7)
        opened.state.update(5)
        opened.state.update(None)
        assert opened.inner.stored is None
        assert opened.state.value() == 7

    @pytest.mark.parametrize("falsy", [0, "", False, [], {}])
    def test_a_falsy_value_is_a_value(self, falsy: Any) -> None:
        opened = value(default="default")
        opened.state.update(falsy)
        assert opened.state.value() == falsy

    def test_each_access_is_told_once(self) -> None:
        opened = value()
        for accesses, access in enumerate([opened.state.value, lambda: opened.state.update(1), opened.state.clear], 1):
            access()
            assert opened.accesses == accesses

    def test_accesses_need_not_be_told(self) -> None:
        opened = value(counted=False)
        opened.state.update(5)
        assert opened.state.value() == 5
        opened.state.clear()
        assert opened.state.value() is None
        assert opened.accesses == 0


class TestListState:
    @BOTH_UPDATE_TYPES
    def test_elements_expire_one_by_one_and_a_read_removes_them(self, on_read: bool) -> None:
        opened = elements(on_read=on_read)
        opened.state.add(1)
        opened.clock.advance(60)
        opened.state.add_all([2, 3])
        opened.clock.advance(40)
        assert opened.state.get() == [2, 3]
        assert [element for element, _ in opened.inner.stored] == [2, 3]
        opened.clock.advance(59)
        assert opened.state.get() == [2, 3]
        opened.clock.advance(TTL)
        assert opened.state.get() == []
        assert opened.inner.stored == []

    @BOTH_UPDATE_TYPES
    def test_where_expired_elements_are_returned_it_is_once(self, on_read: bool) -> None:
        opened = elements(on_read=on_read, return_expired=True)
        opened.state.add(1)
        opened.clock.advance(TTL)
        opened.state.add(2)
        assert opened.state.get() == [1, 2]
        assert opened.inner.stored == [(2, opened.clock.now())]
        assert opened.state.get() == [2]

    def test_reading_prolongs_what_it_returns_where_it_is_to(self) -> None:
        opened = elements(on_read=True)
        opened.state.update([1, 2])
        for _ in range(5):
            opened.clock.advance(TTL - 1)
            assert opened.state.get() == [1, 2]
        opened.clock.advance(TTL)
        assert opened.state.get() == []

    def test_reading_again_and_again_keeps_nothing_alive_where_it_is_not_to(self) -> None:
        opened = elements()
        opened.state.update([1, 2])
        seen = []
        for _ in range(4):
            opened.clock.advance(30)
            seen.append(opened.state.get())
        assert seen == [[1, 2], [1, 2], [1, 2], []]

    def test_reading_writes_only_where_something_changes(self) -> None:
        opened = elements()
        assert opened.writes_of(opened.state.get) == 0
        opened.state.update([1])
        opened.clock.advance(TTL - 1)
        assert opened.writes_of(opened.state.get) == 0
        opened.clock.advance(1)
        assert opened.writes_of(opened.state.get) == 1
        assert opened.writes_of(opened.state.get) == 0

    def test_prolonging_writes_once_in_a_millisecond(self) -> None:
        opened = elements(on_read=True)
        opened.state.update([1])
        assert opened.writes_of(opened.state.get) == 0
        opened.clock.advance(1)
        assert opened.writes_of(opened.state.get) == 1
        assert opened.writes_of(opened.state.get) == 0

    def test_update_replaces_expired_elements_too(self) -> None:
        opened = elements(return_expired=True)
        opened.state.add(1)
        opened.clock.advance(TTL)
        opened.state.update([2])
        assert opened.state.get() == [2]
        opened.state.update([])
        assert opened.state.get() == []

    @pytest.mark.parametrize("way", ["add", "add_all", "update"])
    def test_none_inside_a_list_raises_naming_the_state_and_changes_nothing(self, way: str) -> None:
        opened = elements()
        opened.state.add(1)
        with pytest.raises(ValueError, match="None cannot be an element of list state 'l'"):
            getattr(opened.state, way)(None if way == "add" else [2, None])
        assert opened.state.get() == [1]

    @pytest.mark.parametrize("way", ["add_all", "update"])
    def test_an_iterator_can_be_given(self, way: str) -> None:
        opened = elements()
        getattr(opened.state, way)(iter([1, 2]))
        assert list(opened.state) == [1, 2]

    def test_each_access_is_told_once(self) -> None:
        opened = elements()
        state = opened.state
        told = [state.get, lambda: state.add(1), lambda: state.add_all([1]), lambda: state.update([1]), state.clear]
        for accesses, access in enumerate([*told, lambda: list(state)], 1):
            access()
            assert opened.accesses == accesses


class TestMapState:
    def test_entries_expire_one_by_one(self) -> None:
        opened = entries()
        opened.state.put("x", 1)
        opened.clock.advance(60)
        opened.state.put_all({"y": 2, "z": 3})
        opened.clock.advance(39)
        assert dict(opened.state.items()) == {"x": 1, "y": 2, "z": 3}
        opened.clock.advance(1)
        assert opened.state.get("x") is None
        assert opened.state.get("y") == 2
        assert dict(opened.state.items()) == {"y": 2, "z": 3}

    @BOTH_UPDATE_TYPES
    @pytest.mark.parametrize("way", ["get", "contains", "items", "keys", "values"])
    def test_every_read_removes_what_it_finds_expired(self, way: str, on_read: bool) -> None:
        opened = entries(on_read=on_read)
        opened.state.put("x", 1)
        opened.clock.advance(TTL)
        opened.state.put("y", 2)
        arguments = ["x"] if way in ("get", "contains") else []
        getattr(opened.state, way)(*arguments)
        assert opened.inner.stored == {"y": (2, opened.clock.now())}

    @BOTH_UPDATE_TYPES
    @pytest.mark.parametrize(
        ("way", "arguments", "expected"),
        [
            ("get", ["x"], 1),
            ("contains", ["x"], True),
            ("items", [], [("x", 1)]),
            ("keys", [], ["x"]),
            ("values", [], [1]),
        ],
    )
    def test_where_expired_entries_are_returned_it_is_once_whatever_the_read(
        self, way: str, arguments: list[str], expected: Any, on_read: bool
    ) -> None:
        opened = entries(on_read=on_read, return_expired=True)
        opened.state.put("x", 1)
        opened.clock.advance(TTL)
        read = getattr(opened.state, way)
        first = read(*arguments)
        assert (list(first) if not arguments else first) == expected
        assert opened.inner.stored == {}
        second = read(*arguments)
        assert not (list(second) if not arguments else second)

    def test_a_map_is_empty_exactly_when_walking_it_would_give_nothing_and_finding_out_changes_nothing(self) -> None:
        hidden, returned = entries(), entries(return_expired=True)
        for opened in (hidden, returned):
            assert opened.state.is_empty()
            opened.state.put("x", 1)
            opened.clock.advance(TTL - 1)
            assert not opened.state.is_empty()
            opened.clock.advance(1)
        for _ in range(2):
            assert hidden.writes_of(lambda: hidden.state.is_empty()) == 0
            assert hidden.state.is_empty()
            assert not returned.state.is_empty()
        hidden.state.put("y", 2)
        assert not hidden.state.is_empty()
        assert list(returned.state.items()) == [("x", 1)]
        assert returned.state.is_empty()

    def test_asking_whether_it_is_empty_prolongs_nothing(self) -> None:
        opened = entries(on_read=True)
        opened.state.put("x", 1)
        opened.clock.advance(TTL - 1)
        assert not opened.state.is_empty()
        opened.clock.advance(1)
        assert opened.state.get("x") is None

    @pytest.mark.parametrize("way", ["get", "contains", "items", "keys", "values"])
    def test_every_read_prolongs_what_it_returns_where_it_is_to(self, way: str) -> None:
        opened = entries(on_read=True)
        opened.state.put_all({"x": 1, "y": 2})
        arguments = ["x"] if way in ("get", "contains") else []
        for _ in range(3):
            opened.clock.advance(TTL - 1)
            getattr(opened.state, way)(*arguments)
        assert opened.inner.stored["x"] == (1, opened.clock.now())
        expected = {"x": 1} if arguments else {"x": 1, "y": 2}
        assert dict(opened.state.items()) == expected

    @pytest.mark.parametrize("way", ["get", "contains", "items", "keys", "values"])
    def test_reading_writes_only_where_something_changes(self, way: str) -> None:
        arguments = ["x"] if way in ("get", "contains") else []
        for on_read in (False, True):
            opened = entries(on_read=on_read)
            read = lambda: getattr(opened.state, way)(*arguments)  # noqa: B023, E731 - called within the turn
            assert opened.writes_of(read) == 0
            opened.state.put("x", 1)
            assert opened.writes_of(read) == 0
            opened.clock.advance(1)
            assert opened.writes_of(read) == int(on_read)
            assert opened.writes_of(read) == 0

    def test_none_is_a_value_like_any_other(self) -> None:
        opened = entries()
        opened.state.put("x", None)
        opened.state.put_all({"y": None})
        assert opened.state.contains("x")
        assert opened.state.get("x") is None
        assert dict(opened.state.items()) == {"x": None, "y": None}
        assert not opened.state.is_empty()
        opened.clock.advance(TTL)
        assert not opened.state.contains("x")

    def test_an_entry_can_be_removed_and_the_map_cleared(self) -> None:
        opened = entries()
        opened.state.put_all({"x": 1, "y": 2})
        opened.state.remove("x")
        opened.state.remove("missing")
        assert list(opened.state) == ["y"]
        opened.state.clear()
        assert opened.inner.stored == {}

    def test_the_map_can_be_changed_while_it_is_walked(self) -> None:
        opened = entries()
        opened.state.put_all({"x": 1, "y": 2})
        for key, entry in opened.state.items():
            opened.state.remove(key)
            opened.state.put(key * 2, entry)
        assert dict(opened.state.items()) == {"xx": 1, "yy": 2}

    def test_each_access_is_told_once(self) -> None:
        opened = entries()
        state = opened.state
        told: list[Callable[[], Any]] = [
            lambda: state.get("x"),
            lambda: state.contains("x"),
            lambda: state.put("x", 1),
            lambda: state.put_all({"x": 1, "y": 2}),
            lambda: list(state.items()),
            lambda: list(state.keys()),
            lambda: list(state.values()),
            lambda: state.remove("x"),
            state.is_empty,
            state.clear,
        ]
        for accesses, access in enumerate(told, 1):
            access()
            assert opened.accesses == accesses


def _folding() -> FoldingStateDescriptor:
    with pytest.warns(DeprecationWarning, match="FoldingStateDescriptor"):
        return FoldingStateDescriptor("a", 0, lambda total, number: total + number)


ACCUMULATING: dict[str, Callable[[], StateDescriptor]] = {
    "reducing": lambda: ReducingStateDescriptor("a", lambda a, b: a + b),
    "aggregating": lambda: AggregatingStateDescriptor("a", Mean()),
    "folding": _folding,
}


@pytest.mark.parametrize("kind", list(ACCUMULATING))
class TestAccumulatingStates:
    def added(self, kind: str, *numbers: int) -> float:
        return sum(numbers) / len(numbers) if kind == "aggregating" else sum(numbers)

    def opened(self, kind: str, **rules: bool) -> Opened:
        return Opened(ACCUMULATING[kind](), StoredValue(), **rules)

    def test_adding_prolongs(self, kind: str) -> None:
        opened = self.opened(kind)
        opened.state.add(2)
        opened.clock.advance(TTL - 1)
        opened.state.add(4)
        opened.clock.advance(TTL - 1)
        assert opened.state.get() == self.added(kind, 2, 4)
        opened.clock.advance(1)
        assert opened.state.get() is None

    def test_adding_to_what_has_expired_starts_anew(self, kind: str) -> None:
        opened = self.opened(kind)
        opened.state.add(2)
        opened.clock.advance(TTL)
        opened.state.add(4)
        assert opened.state.get() == self.added(kind, 4)

    def test_where_expired_values_are_returned_adding_goes_on_from_there(self, kind: str) -> None:
        opened = self.opened(kind, return_expired=True)
        opened.state.add(2)
        opened.clock.advance(TTL)
        opened.state.add(4)
        assert opened.state.get() == self.added(kind, 2, 4)
        opened.clock.advance(TTL)
        assert opened.state.get() == self.added(kind, 2, 4)
        assert opened.state.get() is None

    def test_reading_prolongs_where_it_is_to(self, kind: str) -> None:
        for on_read in (False, True):
            opened = self.opened(kind, on_read=on_read)
            opened.state.add(2)
            opened.clock.advance(TTL - 1)
            assert opened.state.get() == self.added(kind, 2)
            opened.clock.advance(1)
            assert opened.state.get() == (self.added(kind, 2) if on_read else None)

    def test_none_clears(self, kind: str) -> None:
        opened = self.opened(kind)
        opened.state.add(2)
        opened.state.add(None)
        assert opened.state.get() is None
        assert opened.inner.stored is None

    def test_each_access_is_told_once_adding_included(self, kind: str) -> None:
        opened = self.opened(kind)
        state = opened.state
        for accesses, access in enumerate(
            [lambda: state.add(1), lambda: state.add(2), state.get, lambda: state.add(None), state.clear], 1
        ):
            access()
            assert opened.accesses == accesses
