"""Functions that a trace might get wrong: each gives with columns what it gives without, and is not run for nothing."""

from __future__ import annotations

import functools
import importlib
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from rekindle.columns.not_traceable import NotTraceable
from rekindle.columns.purity import traceable, traceable_callable
from rekindle.columns.shapes import Shape
from rekindle.columns.tracing import record, trace
from rekindle.common import Time, Types, WatermarkStrategy
from rekindle.common.watermark_strategy import TimestampAssigner
from rekindle.datastream import AggregateFunction, MapFunction
from rekindle.datastream.window import TumblingEventTimeWindows
from rekindle.testing import local_environment
from support.column_cases import exact

ROWS = pa.table(
    {
        "k": [0, 1, 0, 1, 2],
        "a": [3, 0, -7, 1 << 62, 5],
        "b": [1, 2, 0, 3, 4],
        "f": [0.0, -0.0, 1.5, float("nan"), 2.0],
        "s": ["x", None, "y", "x", "z"],
        "t": [-150, -50, 0, 50, 1 << 40],
        "l": pa.array([[1], [2, 3], None, [], [4]], pa.list_(pa.int64())),
        "ok": [True, False, True, None, False],
        "n": [1, None, 3, 4, 5],
    }
)
BIG = 1 << 70
OF_NUMPY = np.int64(3)


def appends_to_a_default(row: Any, seen: list[Any] = []) -> Any:  # noqa: B006 - that is the point
    seen.append(row.k)
    return row.k, 1


def helper(value: Any) -> Any:
    return value


helper.seen = []  # type: ignore[attr-defined]


def appends_to_an_attribute(row: Any) -> Any:
    helper.seen.append(row.k)  # type: ignore[attr-defined]
    return row.k, row.a


def divides_for_nothing(row: Any) -> Any:
    quotient = row.a / row.b
    return (row.k, quotient) if row.b > 0 else (row.k, 0.0)


class FindsInItsOwnWay(MapFunction):
    factor = 3

    def __getattribute__(self, name: str) -> Any:
        return 7 if name == "factor" else object.__getattribute__(self, name)

    def map(self, value: Any) -> Any:
        return value.k, value.b * self.factor


class PickledInItsOwnWay(MapFunction):
    def __init__(self) -> None:
        self.factor = 3

    def __getstate__(self) -> Any:
        return {"factor": 5}

    def map(self, value: Any) -> Any:
        return value.k, value.b * self.factor


class HoldsAFunction(MapFunction):
    def __init__(self) -> None:
        self.second = lambda one, other=1: other

    def map(self, value: Any) -> Any:
        return value.k, self.second(value.b)


class ReturnsItself(MapFunction):
    factor = 4

    def itself(self) -> Any:
        return self

    def map(self, value: Any) -> Any:
        return value.k, value.b * self.itself().factor


class Called:
    def __call__(self, row: Any) -> Any:
        return row.k, row.a


class LastOrNone(AggregateFunction):
    def create_accumulator(self) -> Any:
        return None

    def add(self, value: Any, accumulator: Any) -> Any:
        return value.n

    def get_result(self, accumulator: Any) -> Any:
        return accumulator

    def merge(self, acc_a: Any, acc_b: Any) -> Any:
        return acc_b


class Appends(MapFunction):
    """Change a list in a result, which must not change the state that the result comes from."""

    def map(self, value: Any) -> Any:
        if value[6] is not None:
            value[6].append(99)
        return tuple(value)


class RowTime(TimestampAssigner):
    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        return value.t  # type: ignore[no-any-return]


def counting() -> tuple[Any, Any]:
    number = 1

    def reads(row: Any) -> Any:
        return row.k, row.b + number

    def changes(value: Any) -> Any:
        nonlocal number
        number += 1
        return value

    return reads, changes


def last(stream: Any) -> Any:
    return stream.key_by(lambda pair: pair[0]).reduce(lambda one, other: (one[0], other[1]))


def windowed(stream: Any, function: AggregateFunction) -> Any:
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(RowTime())
    keyed = stream.assign_timestamps_and_watermarks(strategy).key_by(lambda row: row.k)
    return keyed.window(TumblingEventTimeWindows.of(Time.milliseconds(100))).aggregate(function)


READS, CHANGES = counting()
PAIR = Types.TUPLE([Types.LONG(), Types.INT()])

PROGRAMS: dict[str, Any] = {
    "a list as a default": lambda rows: last(rows.map(appends_to_a_default)),
    "a list as an attribute of a function": lambda rows: last(rows.map(appends_to_an_attribute)),
    "a division whose result is not used": lambda rows: last(rows.map(divides_for_nothing)),
    "two zeros": lambda rows: last(rows.map(lambda r: (r.k, 0.0 if r.b > 1 else -0.0))),
    "__getattribute__": lambda rows: last(rows.map(FindsInItsOwnWay())),
    "__getstate__": lambda rows: last(rows.map(PickledInItsOwnWay())),
    "a function in an instance": lambda rows: last(rows.map(HoldsAFunction())),
    "a method that returns self": lambda rows: last(rows.map(ReturnsItself())),
    "a long constant": lambda rows: last(rows.map(lambda r: (r.k, BIG))),
    "a product with a long constant": lambda rows: last(rows.map(lambda r: (r.k, r.b * BIG))),
    "a constant of numpy's": lambda rows: last(rows.map(lambda r: (r.k, r.b * OF_NUMPY))),
    "text that UTF-8 has no form for": lambda rows: last(rows.map(lambda r: (r.k, "\ud800"))),
    "partial": lambda rows: last(rows.map(functools.partial(lambda x, r: (r.k, r.a + x), 5))),
    "an object with __call__": lambda rows: last(rows.map(Called())),
    "a closure that another function changes": lambda rows: last(rows.map(READS)).map(CHANGES),
    "formatting with a row": lambda rows: last(rows.map(lambda r: (r.k, "abc" % r))),  # noqa: F507, UP031
    "a row and a tuple": lambda rows: last(rows.map(lambda r: (*(r + (1,)),))),  # noqa: RUF005
    "text and text": lambda rows: last(rows.map(lambda r: (r.k, r.s + "x"))),
    "a sum of booleans": lambda rows: last(rows.map(lambda r: (r.k, r.ok + 1))),
    "and, or": lambda rows: last(rows.map(lambda r: (r.k, (r.b and r.a) or r.k))),
    "a chained comparison": lambda rows: last(rows.map(lambda r: (r.k, 1 < r.b < 4))),
    "a choice by NaN": lambda rows: last(rows.map(lambda r: (r.k, r.f if r.f > 0 else -1.0))),
    "remainders of negatives": lambda rows: last(rows.map(lambda r: (r.k, r.a % -3, r.a // -3))),
    "division beyond 53 bits": lambda rows: last(rows.map(lambda r: (r.k, r.a / 3))),
    "comparison beyond 53 bits": lambda rows: last(rows.map(lambda r: (r.k, r.a > 4.6e18))),
    "text beside null": lambda rows: last(rows.map(lambda r: (r.k, r.s == "x", r.s != r.s))),
    "the absolute of a negative zero": lambda rows: last(rows.map(lambda r: (r.k, abs(-r.f)))),
    "the least of an integer and a float": lambda rows: last(rows.map(lambda r: (r.k, min(r.f, 1)))),
    "a null condition": lambda rows: rows.filter(lambda r: r.ok).key_by(lambda r: r.k).sum("b"),
    "text as a condition": lambda rows: rows.filter(lambda r: r.s).key_by(lambda r: r.k).sum("b"),
    "NaN among the greatest": lambda rows: rows.key_by(lambda r: r.k).max("f"),
    "a sum with nulls": lambda rows: rows.key_by(lambda r: r.k).sum("n"),
    "a list in the state of a reduction": lambda rows: (
        rows.key_by(lambda r: r.k).reduce(lambda a, b: (*(a[0], a[1], a[2], a[3], a[4], a[5], a[6]),)).map(Appends())
    ),
    "a list in the first record": lambda rows: rows.key_by(lambda r: r.k).sum("b").map(Appends()),
    "a list in a chosen record": lambda rows: rows.key_by(lambda r: r.k).max_by("b").map(Appends()),
    "keys that are booleans or null": lambda rows: rows.key_by(lambda r: r.ok).sum("b"),
    "keys that are floats": lambda rows: rows.key_by(lambda r: r.f).sum("b"),
    "keys of two fields, with null": lambda rows: rows.key_by(lambda r: (r.k, r.s)).sum("b"),
    "a constant key": lambda rows: rows.key_by(lambda r: "all").sum("b"),
    "None as a key": lambda rows: rows.key_by(lambda r: None).sum("b"),
    "a tuple as a key": lambda rows: rows.map(lambda r: (r.k,)).key_by(lambda t: t).reduce(lambda a, b: b),
    "records that are None": lambda rows: rows.map(lambda r: r.n).key_by(lambda n: 0).reduce(lambda a, b: a + b),
    "records that are numbers": lambda rows: rows.map(lambda r: r.b).key_by(lambda n: n % 2).sum(),
    "records that are empty": lambda rows: rows.map(lambda r: ()).key_by(lambda n: 0).reduce(lambda a, b: b),
    "a type that converts": lambda rows: last(
        rows.map(lambda r: (r.k, r.b), output_type=Types.TUPLE([Types.INT(), Types.DOUBLE()]))
    ),
    "a type with less bits": lambda rows: last(rows.map(lambda r: (r.k, r.a), output_type=PAIR)),
    "a reduction that outgrows its type": lambda rows: (
        rows.map(lambda r: (r.k, r.b), output_type=PAIR)
        .key_by(lambda t: t[0])
        .reduce(lambda a, b: (a[0], a[1] - b[1] * 2_000_000_000))
    ),
    "an accumulator that is None": lambda rows: windowed(rows, LastOrNone()),
    "two readers": lambda rows: last(rows.map(lambda r: (r.k, r.a))).union(last(rows.map(lambda r: (r.k, r.b)))),
}


def outcome(program: Any, columns: bool) -> Any:
    env = local_environment(1, {"rekindle.columns.enabled": str(columns).lower(), "restart-strategy.type": "none"})
    stream = program(env.from_data_frame([ROWS, ROWS], "rows"))
    try:
        return [exact(value) for value in stream.execute_and_collect()]
    except Exception as error:
        return type(error.__cause__).__name__, str(error.__cause__).splitlines()[0]


@pytest.mark.parametrize("name", PROGRAMS)
def test_columns_give_what_records_give(name: str) -> None:
    assert outcome(PROGRAMS[name], True) == outcome(PROGRAMS[name], False)


def test_nothing_is_run_for_nothing() -> None:
    seen = [*appends_to_a_default.__defaults__, helper.seen]  # type: ignore[misc,attr-defined]
    before = list(map(len, seen))
    for function in (appends_to_a_default, appends_to_an_attribute):
        with pytest.raises(NotTraceable):
            trace(traceable_callable(function), record(Shape.row(["k", "a"])))
    assert list(map(len, seen)) == before


def test_batch_mode_gives_the_same() -> None:
    def results(columns: bool) -> list[Any]:
        settings = {"rekindle.columns.enabled": str(columns).lower(), "execution.runtime-mode": "BATCH"}
        env = local_environment(2, settings)
        rows = env.from_data_frame(ROWS, "rows").filter(lambda r: r.b >= 0)
        return sorted(map(exact, windowed(rows, Counts()).execute_and_collect()))

    assert results(True) == results(False) != []


class Counts(LastOrNone):
    def create_accumulator(self) -> Any:
        return 0

    def add(self, value: Any, accumulator: Any) -> Any:
        return accumulator + 1


class TestModulesThatAreImportedAnew:
    """What a program puts into a module is not there where the function is unpickled; what the source says is."""

    SOURCE = """
import math
from math import inf
RATE = 3
HOUR = 60 * 60
DAY = 24 * HOUR
COMPUTED = round(2.5)

def rated(row): return row.a * RATE
def daily(row): return row.a * DAY
def bounded(row): return row.a if row.a < inf else 0
def computed(row): return row.a * COMPUTED
def calls(row): return rated(row)

class Scaled:
    factor = 2
    def map(self, row): return row.a * self.factor
"""

    @pytest.fixture
    def module(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
        (tmp_path / "hostile_module.py").write_text(self.SOURCE)
        monkeypatch.syspath_prepend(str(tmp_path))
        yield importlib.import_module("hostile_module")
        del sys.modules["hostile_module"]

    def test_constants_of_the_source_are_used(self, module: ModuleType) -> None:
        for function in (module.rated, module.daily, module.bounded, module.calls):
            trace(traceable_callable(function), record(Shape.row(["a"])))
        trace(traceable(module.Scaled(), "map"), record(Shape.row(["a"])))

    def test_values_that_the_source_does_not_say_are_not(self, module: ModuleType) -> None:
        with pytest.raises(NotTraceable, match="may be another value where hostile_module is imported anew"):
            traceable_callable(module.computed)

    def test_values_that_were_replaced_are_not(self, module: ModuleType) -> None:
        module.RATE = 4  # type: ignore[attr-defined]
        module.Scaled.factor = 3
        with pytest.raises(NotTraceable, match="it uses RATE, which may be another value"):
            traceable_callable(module.calls)
        with pytest.raises(NotTraceable, match=r"it uses self\.factor, which may be another value"):
            trace(traceable(module.Scaled(), "map"), record(Shape.row(["a"])))

    def test_functions_that_were_replaced_are_not(self, module: ModuleType) -> None:
        def other(row: Any) -> Any:
            return row.a

        other.__qualname__, other.__module__ = "rated", module.__name__
        module.rated = other  # type: ignore[attr-defined]
        with pytest.raises(NotTraceable, match="it is not what the source of hostile_module says"):
            traceable_callable(module.calls)
