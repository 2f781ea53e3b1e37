"""Which functions are folds, and of what kind."""

from __future__ import annotations

from typing import Any

import pytest

from rekindle.columns.expressions import Constant, Field, Operation
from rekindle.columns.folds import Fold, FoldKind, Replacing, fold_of
from rekindle.columns.purity import NotTraceable
from rekindle.columns.shapes import Shape
from rekindle.contracts.functions import AggregateFunction, ReduceFunction
from rekindle.contracts.functions.function_adapters import as_reduce_function
from rekindle.datastream.running_aggregates import FieldAggregate, FieldChoice

pytestmark = pytest.mark.usefixtures("standing_still")

ROW = Shape.row(["k", "price", "amount"])
PAIR = Shape.tuple(2)
KEEP, LAST, SUM, LEAST, GREATEST = FoldKind.KEEP, FoldKind.LAST, FoldKind.SUM, FoldKind.LEAST, FoldKind.GREATEST
DIFFERENCE = FoldKind.DIFFERENCE


class Average(AggregateFunction):
    def create_accumulator(self) -> Any:
        return 0.0, 0

    def add(self, value: Any, accumulator: Any) -> Any:
        return accumulator[0] + value.price * value.amount, accumulator[1] + 1

    def get_result(self, accumulator: Any) -> Any:
        return accumulator[0] / accumulator[1]

    def merge(self, acc_a: Any, acc_b: Any) -> Any:
        return acc_a[0] + acc_b[0], acc_a[1] + acc_b[1]


def kinds(fold: Fold) -> list[FoldKind]:
    return [field.kind for field in fold.fields]


def test_an_average_is_two_sums() -> None:
    fold = fold_of(Average(), ROW)
    assert kinds(fold) == [SUM, SUM]
    assert fold.fields[0].value == Operation("*", (Field(1), Field(2)))
    assert fold.fields[1].value == Constant.of(1)
    assert fold.initial == (0.0, 0)


@pytest.mark.parametrize(
    ("reduce", "expected"),
    [
        (lambda a, b: (a[0], a[1] + b[1]), [KEEP, SUM]),
        (lambda a, b: (a[0], b[1] + a[1]), [KEEP, SUM]),
        (lambda a, b: (b[0], a[1] - b[1]), [LAST, DIFFERENCE]),
        (lambda a, b: (a[0], min(a[1], b[1])), [KEEP, LEAST]),
        (lambda a, b: (a[0], min(b[1], a[1])), [KEEP, LEAST]),
        (lambda a, b: (a[0], max(a[1], b[1])), [KEEP, GREATEST]),
        (lambda a, b: (a[0], b[1] if b[1] < a[1] else a[1]), [KEEP, LEAST]),
        (lambda a, b: (a[0], a[1] if a[1] >= b[1] else b[1]), [KEEP, GREATEST]),
        (lambda a, b: b, [LAST, LAST]),
        (lambda a, b: a, [KEEP, KEEP]),
    ],
)
def test_reductions_by_field(reduce: Any, expected: list[FoldKind]) -> None:
    assert kinds(fold_of(as_reduce_function(reduce), PAIR)) == expected


SPELLINGS: dict[str, Any] = {
    "min(acc, v)": lambda acc, v: min(acc, v),
    "min(v, acc)": lambda acc, v: min(v, acc),
    "max(acc, v)": lambda acc, v: max(acc, v),
    "max(v, acc)": lambda acc, v: max(v, acc),
    "v if v < acc": lambda acc, v: v if v < acc else acc,
    "v if v <= acc": lambda acc, v: v if v <= acc else acc,
    "v if v > acc": lambda acc, v: v if v > acc else acc,
    "v if v >= acc": lambda acc, v: v if v >= acc else acc,
    "acc if acc < v": lambda acc, v: acc if acc < v else v,
    "acc if acc <= v": lambda acc, v: acc if acc <= v else v,
    "acc if acc > v": lambda acc, v: acc if acc > v else v,
    "acc if acc >= v": lambda acc, v: acc if acc >= v else v,
    "acc if v < acc": lambda acc, v: acc if v < acc else v,
    "acc if v >= acc": lambda acc, v: acc if v >= acc else v,
    "v if acc <= v": lambda acc, v: v if acc <= v else acc,
    "v if not acc > v": lambda acc, v: v if not acc > v else acc,
}
NUMBERS = (1, 1.0, 0, 0.0, -0.0, 2, 0.5, float("nan"), float("inf"), float("-inf"), 2**53 + 1, 2.0**53)


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_an_extreme_keeps_its_spelling(spelling: str) -> None:
    function = SPELLINGS[spelling]
    (field,) = fold_of(as_reduce_function(function), Shape.value()).fields
    assert field.replacing is not None
    for accumulated in NUMBERS:
        for value in NUMBERS:
            kept = value if field.replacing(value, accumulated) else accumulated
            assert kept is function(accumulated, value), (accumulated, value)


def test_sums_and_min_and_max_by_a_field_are_spelled_as_their_functions() -> None:
    from operator import add

    spelled = [fold_of(FieldAggregate(each.__name__, 0, each), PAIR).fields[0].replacing for each in (min, max)]
    assert spelled == [Replacing("<"), Replacing(">")]
    assert fold_of(FieldAggregate("sum", 0, add), PAIR).fields[0].replacing is None


@pytest.mark.parametrize(
    ("reduce", "reason"),
    [
        (lambda a, b: (a[0], a[1] * b[1]), "makes field 1 of the accumulator in a way that is not known as a fold"),
        (lambda a, b: (a[0], a[1] + a[1]), "field 1"),
        (lambda a, b: (a[1], a[0]), "field 0"),
        (lambda a, b: (a[0], a[1] + b[1], 1), "another kind of record"),
        (lambda a, b: a[0] + b[0], "another kind of record"),
        (lambda a, b: a if a[1] > b[1] else b, "field 0"),
        (lambda a, b: (a[0], a[1] + b.amount), "asks a record for 'amount'"),
        (lambda a, b: (a[0], a[1] + len(b)), "it calls len"),
    ],
)
def test_what_is_no_fold_is_refused_with_a_reason(reduce: Any, reason: str) -> None:
    with pytest.raises(NotTraceable, match=reason):
        fold_of(as_reduce_function(reduce), PAIR)


def test_a_reduction_of_rows_to_tuples_must_do_with_both() -> None:
    assert kinds(fold_of(as_reduce_function(lambda a, b: (a[0], a[1] + b[1], b[2])), ROW)) == [KEEP, SUM, LAST]
    with pytest.raises(NotTraceable, match="asks a record for 'k'"):
        fold_of(as_reduce_function(lambda a, b: (a.k, a[1] + b[1], b[2])), ROW)


def test_reductions_by_a_field_say_what_they_are() -> None:
    from operator import add, le

    fold = fold_of(FieldAggregate("sum", "price", add), ROW)
    assert kinds(fold) == [KEEP, SUM, KEEP]
    choice = fold_of(FieldChoice("min_by", "amount", le), ROW).choice
    assert choice is not None
    assert (choice.place, choice.least, choice.first) == (2, True, False)
    with pytest.raises(NotTraceable, match="no field 'missing'"):
        fold_of(FieldAggregate("sum", "missing", add), ROW)


def test_an_accumulator_that_grows_is_no_fold() -> None:
    class Growing(Average):
        def create_accumulator(self) -> Any:
            return ()

    with pytest.raises(NotTraceable):
        fold_of(Growing(), ROW)


def test_looking_for_a_description_runs_nothing_of_the_program() -> None:
    class Asked(ReduceFunction):
        def __getattr__(self, name: str) -> Any:
            raise KeyError(name)

        def reduce(self, value1: Any, value2: Any) -> Any:
            return value1[0], value1[1] + value2[1]

    class Described(ReduceFunction):
        @property
        def field_reduction(self) -> Any:
            raise KeyError("field_reduction")

        def reduce(self, value1: Any, value2: Any) -> Any:
            return value1[0], value1[1] + value2[1]

    with pytest.raises(NotTraceable, match="which has __getattr__"):
        fold_of(Asked(), PAIR)
    assert kinds(fold_of(Described(), PAIR)) == [KEEP, SUM]
