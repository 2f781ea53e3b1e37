"""Folds the rows of a batch into the accumulators of their groups, all at once.

Each kernel gives what the loop gives, to the bit: sums are added in the order of the rows, beginning with the
accumulator, and integers only where they cannot overflow.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from rekindle.columns.evaluation import Array, NotColumnar, as_numpy, column, numbers
from rekindle.columns.expressions import Expression
from rekindle.columns.folds import EXTREMES, SUMS, ChosenRecord, Fold, FoldKind
from rekindle.columns.grouping import Codes, Groups
from rekindle.columns.python_values import column_values
from rekindle.columns.shapes import ShapeKind

_MOST = (1 << 63) - 1


@dataclass(frozen=True, slots=True)
class FoldInput:
    """Hold what the rows of a batch bring to a fold.

    Attributes:
        fields: The records, field by field. Of rows that were folded before, the accumulators, as if they were records.
        values: What goes into each field of the accumulator: an array where it is computed with, a column where it is
            only carried, None where nothing goes in.
        rows: How many rows there are.
        portions: Whether each stands for several records, which were folded before.
    """

    fields: Sequence[pa.Array]
    values: Sequence[Array | pa.Array | None]
    rows: int
    portions: bool = False


def fold_input(fold: Fold, fields: Sequence[pa.Array], rows: int) -> FoldInput:
    """Compute what the rows of a batch bring to a fold.

    Raises:
        NotColumnar: They must be folded one by one.
    """
    if fold.record.kind is ShapeKind.VALUE and fields[0].null_count:
        raise NotColumnar("records that are None")
    values = [_value(each.kind, each.value, fields, rows) for each in fold.fields]
    if fold.shape.kind is ShapeKind.VALUE and any(isinstance(each, pa.Array) and each.null_count for each in values):
        raise NotColumnar("accumulators that are None, which the loop keeps none of")
    return FoldInput(fields, values, rows)


def _value(kind: FoldKind, value: Expression | None, fields: Sequence[pa.Array], rows: int) -> Array | pa.Array | None:
    if value is None:
        return None
    if kind is FoldKind.LAST:
        return column(value, fields, rows)
    return computable(numbers(value, fields, rows), kind)


def computable(values: Array, kind: FoldKind) -> Array:
    """Return numbers that can be folded in any way that suits.

    Raises:
        NotColumnar: They are no numbers, or such of which the least depends on how one looks for it.
    """
    if values.dtype == np.bool_:
        raise NotColumnar("arithmetic with what is no number")
    if values.dtype.kind == "f" and kind in EXTREMES:
        if np.isnan(values).any():
            raise NotColumnar("no order among numbers and NaN")
        zeros = values == 0
        if zeros.any() and np.signbit(values[zeros]).any():
            raise NotColumnar("which of 0.0 and -0.0 is the least depends on their order")
    return values


def folded(fold: Fold, groups: Groups, given: FoldInput, held: list[Any]) -> list[Any]:
    """Fold rows into accumulators.

    Args:
        fold: How.
        groups: Which rows belong to which accumulator.
        given: The rows.
        held: The accumulator of each group before; None where there is none.

    Returns:
        The accumulator of each group after it.

    Raises:
        NotColumnar: The rows must be folded one by one.
    """
    state = Accumulators(fold, groups, given, held)
    if fold.choice is not None:
        return _chosen(fold.choice, state)
    columns = [
        _field(kind.kind, place, value, state)
        for place, (kind, value) in enumerate(zip(fold.fields, given.values, strict=True))
    ]
    results = fold.shape.records(columns)
    if fold.initial is None and fold.shape != fold.record:
        for group, row in state.single():
            results[group] = state.record(row)
    return results


class Accumulators:
    """Keep the accumulators of groups, and tell which rows are to be folded into them."""

    def __init__(self, fold: Fold, groups: Groups, given: FoldInput, held: list[Any]) -> None:
        self.fold = fold
        self.groups = groups
        self.given = given
        self.held = held
        self.new = np.fromiter((each is None for each in held), np.bool_, len(held))
        # One of each class and length stands for all of them: a row's class says what its fields are.
        kinds = {(type(each), len(each) if isinstance(each, tuple) else 0): each for each in held if each is not None}
        # A reduction also holds records that are the only ones of their keys so far, as they came.
        shapes = (fold.shape,) if fold.initial is not None else (fold.shape, fold.record)
        for each in kinds.values():
            if not any(shape.fits(each) for shape in shapes):
                raise NotColumnar("state that is not of the kind that the function makes")
        rest = np.ones(given.rows, np.bool_)
        if fold.initial is None:  # the first record of a group is its accumulator
            rest[groups.first[self.new]] = False
        self.rest: npt.NDArray[np.bool_] | None = None if rest.all() else rest
        self.codes = groups.codes if self.rest is None else groups.codes[self.rest]

    def part(self, place: int) -> list[Any]:
        """Return a field of the accumulators as it was; None where a group is new and its first row has the field."""
        if self.fold.shape.kind is ShapeKind.VALUE:
            old = self.held
        else:
            old = [None if each is None else each[place] for each in self.held]
        if self.fold.initial is not None:
            initial = self.fold.initial[place]
            old = [initial if each is None else part for each, part in zip(self.held, old, strict=True)]
        return old

    def start(self, place: int, beside_floats: bool = False) -> Array:
        """Return the accumulators' field as numbers, before any row is folded in.

        Args:
            place: The field.
            beside_floats: Whether each is added to at least one float, and so becomes one whatever it is.

        Raises:
            NotColumnar: They are not all of one type that is computed with.
        """
        part = self.part(place)
        if self.fold.initial is None and self.new.any():
            first = as_numpy(self.given.fields[place].take(pa.array(self.groups.first[self.new])))
            if first.dtype == np.bool_:
                raise NotColumnar("arithmetic with what is no number")
            if self.new.all():
                return first.copy()
            known = _as_numbers([each for each, new in zip(part, self.new.tolist(), strict=True) if not new])
            if known.dtype != first.dtype:
                raise NotColumnar("accumulators of different types")
            result = np.empty(self.groups.count, known.dtype)
            result[self.new], result[~self.new] = first, known
            return result
        return _as_numbers(part, beside_floats and self.fold.initial is not None)

    def single(self) -> list[tuple[int, int]]:
        """Return the groups whose accumulator is a record as it came, and its row."""
        counts = np.bincount(self.groups.codes, minlength=self.groups.count)
        groups = np.flatnonzero(self.new & (counts == 1))
        return list(zip(groups.tolist(), self.groups.first[groups].tolist(), strict=True))

    def record(self, row: int) -> Any:
        """Make the record of a row."""
        return self.fold.record.records([column_values(field.slice(row, 1)) for field in self.given.fields])[0]


def _as_numbers(values: list[Any], mixed: bool = False) -> Array:
    kinds = set(map(type, values))
    try:
        if mixed and kinds == {int, float}:
            return np.array(list(map(float, values)), np.float64)  # as Python does when it adds a float
        if kinds <= {int}:
            return np.array(values, np.int64)
        if kinds == {float}:
            return np.array(values, np.float64)
    except OverflowError:
        raise NotColumnar("integers of more than 64 bits") from None
    raise NotColumnar("accumulators of different types, or such that are not computed with")


def _field(kind: FoldKind, place: int, value: Any, state: Accumulators) -> list[Any]:
    if kind is FoldKind.KEEP:
        return _kept(place, state)
    if kind is FoldKind.LAST:
        return _last(place, value, state)
    start = state.start(place, kind in SUMS and value.dtype.kind == "f")
    values = value if state.rest is None else value[state.rest]
    if state.given.portions and start.dtype.kind == "f" and values.dtype.kind == "i":
        raise NotColumnar("to a float, integers are added one by one: each sum is rounded")
    start, values = matched(kind, start, values, state.fold.initial is not None)
    result = start.copy()
    _UFUNCS[kind].at(result, state.codes, values)
    return result.tolist()  # type: ignore[no-any-return]


_UFUNCS = {
    FoldKind.SUM: np.add,
    FoldKind.DIFFERENCE: np.subtract,
    FoldKind.LEAST: np.minimum,
    FoldKind.GREATEST: np.maximum,
}


def matched(kind: FoldKind, start: Array, values: Array, every_group_folds: bool) -> tuple[Array, Array]:
    """Return accumulators and values as one type, as Python would compute with them.

    Args:
        kind: How they are folded.
        start: The accumulators.
        values: What is folded into them.
        every_group_folds: Whether each accumulator is folded with at least one value, and so becomes what that makes.

    Raises:
        NotColumnar: They cannot be.
    """
    if start.dtype == values.dtype:
        if kind in SUMS and start.dtype.kind == "i" and len(values):
            reach = max(map(abs, (int(values.min()), int(values.max())))) * len(values)
            if reach + (max(map(abs, (int(start.min()), int(start.max())))) if len(start) else 0) > _MOST:
                raise NotColumnar("sums that may have more than 64 bits")
        if kind in EXTREMES:
            computable(start, kind)
        return start, values
    if kind in EXTREMES or not every_group_folds:
        raise NotColumnar("numbers of different types")
    return start.astype(np.float64, copy=False), values.astype(np.float64, copy=False)


def _kept(place: int, state: Accumulators) -> list[Any]:
    part = state.part(place)
    if state.fold.initial is not None or not state.new.any():
        return part
    rows = state.groups.first[state.new]
    fresh = iter(column_values(state.given.fields[place].take(pa.array(rows))))
    return [next(fresh) if new else each for each, new in zip(part, state.new.tolist(), strict=True)]


def _last(place: int, value: pa.Array, state: Accumulators) -> list[Any]:
    last = state.groups.last
    result = column_values(value.take(pa.array(last)))
    if state.fold.initial is None:
        for group, row in state.single():  # the record as it came
            result[group] = column_values(state.given.fields[place].slice(row, 1))[0]
    return result


def _chosen(choice: ChosenRecord, state: Accumulators) -> list[Any]:
    chosen = chosen_rows(choice, state)
    stays = chosen < 0
    columns = [column_values(field.take(pa.array(chosen[~stays]))) for field in state.given.fields]
    records = iter(state.fold.record.records(columns))
    return [old if stay else next(records) for old, stay in zip(state.held, stays.tolist(), strict=True)]


def chosen_rows(choice: ChosenRecord, state: Accumulators) -> Codes:
    """Return the row that each group keeps; -1 where what it held is kept."""
    groups = state.groups
    values, start = as_numpy(state.given.fields[choice.place]), state.start(choice.place)
    for numbers_of in (values, start):
        if numbers_of.dtype == np.bool_ or (numbers_of.dtype.kind == "f" and np.isnan(numbers_of).any()):
            raise NotColumnar("no order among these values")
    if start.dtype != values.dtype:
        raise NotColumnar("numbers of different types")
    best = start.copy()
    (np.minimum if choice.least else np.maximum).at(best, groups.codes, values)
    rows = np.flatnonzero(values == best[groups.codes])
    if choice.first:
        rows = rows[::-1]  # of several writes to one place the last counts
    chosen = np.full(groups.count, -1, np.int64)
    chosen[groups.codes[rows]] = rows
    if choice.first:
        chosen[~state.new & (start == best)] = -1  # what is held came first
    return chosen
