"""Which functions may be called with stand-ins."""

from __future__ import annotations

import math
from operator import attrgetter, itemgetter
from typing import Any

import pytest

from rekindle.columns.expressions import Constant, Field, Operation
from rekindle.columns.not_traceable import NotTraceable
from rekindle.columns.purity import traceable, traceable_callable
from rekindle.columns.shapes import Shape
from rekindle.columns.tracing import record, trace
from rekindle.contracts.functions import MapFunction

pytestmark = pytest.mark.usefixtures("standing_still")

LIMIT = 5
SEEN: list[Any] = []
counter = 0


def counts(value: Any) -> Any:
    global counter
    counter += 1
    return value


def reads_what_another_changes(value: Any) -> Any:
    return value + counter


def twice(value: Any) -> Any:
    return value * 2


def remembers(value: Any) -> Any:
    SEEN.append(value)
    return value


def loops(value: Any) -> Any:
    for _ in range(3):
        value = value + 1
    return value


def asks_for_none(value: Any) -> Any:
    return 0 if value.a is None else 1


def catches(value: Any) -> Any:
    try:
        return value.a
    except AttributeError:
        return 0


def yields(value: Any) -> Any:
    yield value


def calls_too_deep(value: Any) -> Any:
    return calls_too_deep(value)


@pytest.mark.parametrize(
    "function",
    [
        lambda row: row.a,
        lambda row: (row[0], row["b"]),
        lambda row: row.a * LIMIT + 1,
        lambda row: max(row.a, row.b),
        lambda row: twice(row.a),
        lambda row: row.a if row.a > 3 and row.b < 2 else row.b,
        lambda row: min(row.a, math.inf),
        itemgetter(0),
        attrgetter("a"),
    ],
)
def test_what_only_computes_may_be_called(function: Any) -> None:
    traceable_callable(function)


@pytest.mark.parametrize(
    ("function", "reason"),
    [
        (remembers, "it uses SEEN, which is a list"),
        (counts, "it uses counter, which a function changes"),
        (reads_what_another_changes, "it uses counter, which a function changes"),
        (loops, "it calls range"),
        (asks_for_none, "it asks whether something is None"),
        (catches, "it handles or raises exceptions"),
        (yields, "it yields"),
        (calls_too_deep, "too deep to follow"),
        (lambda row: print(row), "it calls print"),
        (lambda row: f"{row}", "it makes text"),
        (lambda row: [row.a], "it makes a list"),
        (lambda row: {"a": row.a}, "it makes a list, set or dict"),
        (lambda row: remembers(row), "it uses SEEN, which is a list"),
        (lambda row: row.a in (1, 2), "it asks whether something is in something"),
        (lambda row: setattr(row, "a", 1), "it calls setattr"),
        (str, "it is a type"),
        (len, "it is a builtin_function_or_method"),
    ],
)
def test_what_may_leave_a_trace_is_not_called(function: Any, reason: str) -> None:
    with pytest.raises(NotTraceable, match=reason):
        traceable_callable(function)


def test_a_reason_says_in_which_line() -> None:
    line = remembers.__code__.co_firstlineno + 1
    with pytest.raises(NotTraceable, match=f"in line {line}"):
        traceable_callable(remembers)


def test_closures_over_what_can_change_are_refused() -> None:
    seen: dict[str, int] = {}
    with pytest.raises(NotTraceable, match="it uses seen, which is a dict"):
        traceable_callable(lambda row: seen.get(row.a))
    factor = 3
    traceable_callable(lambda row: row.a * factor)


class Scaled(MapFunction):
    offset = 7

    def __init__(self, factor: Any) -> None:
        self.factor = factor

    def map(self, value: Any) -> Any:
        return self._scaled(value) + self.offset

    def _scaled(self, value: Any) -> Any:
        return value * self.factor


def test_a_method_may_use_numbers_and_methods_of_its_instance() -> None:
    (found,) = trace(traceable(Scaled(3), "map"), record(Shape.value())).fields
    assert found == Operation("+", (Operation("*", (Field(0), Constant.of(3))), Constant.of(7)))


def test_a_method_may_use_nothing_else_of_its_instance() -> None:
    call = traceable(Scaled([3]), "map")
    with pytest.raises(NotTraceable, match=r"it uses self\.factor, which is a list"):
        trace(call, record(Shape.value()))


def test_a_property_is_not_run() -> None:
    ran = []

    class Sly(MapFunction):
        @property
        def factor(self) -> int:
            ran.append(1)
            return 1

        def map(self, value: Any) -> Any:
            return value * self.factor

    with pytest.raises(NotTraceable):
        trace(traceable(Sly(), "map"), record(Shape.value()))
    assert ran == []


def test_a_function_with_open_is_not_traced() -> None:
    class Opened(Scaled):
        def open(self, runtime_context: Any) -> None:
            self.opened = True

    with pytest.raises(NotTraceable, match="open"):
        traceable(Opened(3), "map")
