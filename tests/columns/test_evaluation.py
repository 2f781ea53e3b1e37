"""Expressions by columns against the functions that they were traced from, row by row and to the bit."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from rekindle.columns.evaluation import NotColumnar, column
from rekindle.columns.kinds import Kind, kind_of
from rekindle.columns.purity import NotTraceable, traceable_callable
from rekindle.columns.python_values import column_values
from rekindle.columns.shapes import Shape
from rekindle.columns.tracing import record, trace
from support.column_cases import NUMBERS, ODD, TYPES, exact, values_of
from support.seeds import rounds, seeded

pytestmark = pytest.mark.usefixtures("standing_still")

SHAPE = Shape.row(["a", "b", "s", "t"])
LIMIT = 10

FUNCTIONS: dict[str, Any] = {
    "a": lambda r: r.a,
    "a + b": lambda r: r.a + r.b,
    "a - b": lambda r: r.a - r.b,
    "a * b": lambda r: r.a * r.b,
    "a / b": lambda r: r.a / r.b,
    "a // b": lambda r: r.a // r.b,
    "a % b": lambda r: r.a % r.b,
    "a % 7": lambda r: r.a % 7,
    "a // -3": lambda r: r.a // -3,
    "-a": lambda r: -r.a,
    "abs": lambda r: abs(r.a) + abs(r.b),
    "0.5 * a": lambda r: 0.5 * r.a,
    "1 / a": lambda r: 1 / r.a,
    "100 - a": lambda r: 100 - r.a,
    "huge": lambda r: r.a * 10**18,
    "beyond": lambda r: r.a + 2**64,
    "a < b": lambda r: r.a < r.b,
    "a == b": lambda r: r.a == r.b,
    "a != 3": lambda r: r.a != 3,
    "a <= limit": lambda r: r.a <= LIMIT,
    "a > 0.5": lambda r: r.a > 0.5,
    "min": lambda r: min(r.a, r.b),
    "max": lambda r: max(r.a, r.b),
    "guarded": lambda r: r.a / r.b if r.b != 0 else 0.0,
    "branches": lambda r: r.a if r.a > 3 and r.b < 2 else r.b,
    "not": lambda r: not r.a > 3,
    "or": lambda r: r.a > 3 or r.b > 3,
    "chained": lambda r: -5 < r.a <= 5,
    "text ==": lambda r: r.s == "a",
    "text !=": lambda r: r.s != "ä",
    "text <": lambda r: r.s < r.t,
    "text >=": lambda r: r.s >= "b",
    "text": lambda r: r.s,
    "constant": lambda r: 1,
    "constant text": lambda r: "x",
}

computed: dict[str, int] = {}


@pytest.mark.parametrize("odd", ODD)
@pytest.mark.parametrize("right", NUMBERS)
@pytest.mark.parametrize("left", NUMBERS)
def test_columns_give_what_python_gives(left: str, right: str, odd: str) -> None:
    rng = seeded()
    kinds = [Kind.INT if left[0] == "i" else Kind.FLOAT, Kind.INT if right[0] == "i" else Kind.FLOAT, Kind.TEXT]
    for _ in range(rounds(2, 20)):
        count = rng.choice([0, 1, 7, 40])
        fields = [
            pa.array(values_of(left, count, odd, rng), TYPES[left]),
            pa.array(values_of(right, count, odd, rng), TYPES[right]),
            pa.array(values_of("string", count, odd, rng), pa.string()),
            pa.array(values_of("string", count, odd, rng), pa.string()),
        ]
        rows = SHAPE.records([column_values(field) for field in fields])
        for name, function in FUNCTIONS.items():
            (expression,) = trace(traceable_callable(function), record(SHAPE)).fields
            try:
                kind_of(expression, [*kinds, Kind.TEXT])
                by_columns = column_values(column(expression, fields, count))
            except (NotColumnar, NotTraceable):
                continue
            computed[name] = computed.get(name, 0) + 1
            one_by_one = [function(row) for row in rows]
            assert list(map(exact, by_columns)) == list(map(exact, one_by_one)), name


def test_every_function_was_computed_by_columns_for_some_batch() -> None:
    rng = seeded()
    fields = [pa.array([3, 5]), pa.array([2, 9]), pa.array(["a", "b"]), pa.array(["b", "a"])]
    del rng
    for name, function in FUNCTIONS.items():
        (expression,) = trace(traceable_callable(function), record(SHAPE)).fields
        if name in ("beyond",):
            with pytest.raises(NotColumnar):
                column(expression, fields, 2)
        else:
            column(expression, fields, 2)


@pytest.mark.parametrize(
    ("function", "values"),
    [
        (lambda r: r.a / r.b, ([1], [0])),
        (lambda r: r.a % r.b, ([1], [0])),
        (lambda r: r.a + r.b, ([1 << 62], [1 << 62])),
        (lambda r: r.a * r.b, ([1 << 40], [1 << 40])),
        (lambda r: -r.a, ([-(1 << 63)], [0])),
        (lambda r: r.a + r.b, ([None], [1])),
        (lambda r: r.a // r.b, ([1.5], [0.5])),
        (lambda r: r.a < r.b, ([(1 << 53) + 1], [0.5])),
        (lambda r: r.a / r.b, ([(1 << 53) + 1], [3])),
    ],
)
def test_where_python_may_differ_nothing_is_computed(function: Any, values: Any) -> None:
    fields = [pa.array(values[0]), pa.array(values[1]), pa.array(["a"]), pa.array(["b"])]
    (expression,) = trace(traceable_callable(function), record(SHAPE)).fields
    with pytest.raises(NotColumnar):
        column(expression, fields, 1)
