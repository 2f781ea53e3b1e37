"""Folds the rows of a batch one after the other, and gives the accumulator behind each of them.

Rows are sorted by group, in their order; the accumulators of a group then stand one behind the other. What cannot be
accumulated over all groups at once is, for groups of many rows, accumulated group by group, and for all others row by
row: the first rows of all groups, then the second ones, and so on. Neither takes more steps than the root of the rows.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from rekindle.columns.evaluation import Array, NotColumnar, as_numpy
from rekindle.columns.folds import SUMS, ChosenRecord, Fold, FoldKind
from rekindle.columns.grouping import Codes, Groups
from rekindle.columns.kernels import Accumulators, FoldInput, computable, matched
from rekindle.columns.python_values import column_values

_FUNCTIONS = {
    FoldKind.SUM: np.add,
    FoldKind.DIFFERENCE: np.subtract,
    FoldKind.LEAST: np.minimum,
    FoldKind.GREATEST: np.maximum,
}


def running(fold: Fold, groups: Groups, given: FoldInput, held: list[Any]) -> list[Any]:
    """Fold rows into accumulators, one after the other.

    Args:
        fold: How; the first record of a group is its first accumulator.
        groups: Which rows belong to which accumulator.
        given: The rows.
        held: The accumulator of each group before; None where there is none.

    Returns:
        The accumulator behind each row.

    Raises:
        NotColumnar: The rows must be folded one by one.
    """
    assert fold.initial is None
    state = Accumulators(fold, groups, given, held)
    rows = _SortedRows(groups)
    if fold.choice is not None:
        return _choices(fold.choice, state, rows)
    columns = [
        _field(each.kind, place, value, state, rows)
        for place, (each, value) in enumerate(zip(fold.fields, given.values, strict=True))
    ]
    results = fold.shape.records(columns)
    if fold.shape != fold.record:
        first = groups.first[state.new]
        records = fold.record.records([column_values(each.take(pa.array(first))) for each in given.fields])
        for row, record in zip(first.tolist(), records, strict=True):
            results[row] = record
    return results


class _SortedRows:
    """Hold the rows of a batch sorted by group.

    Attributes:
        order: The rows, group by group.
        starts: Where each group begins.
        sizes: How many rows it has.
    """

    def __init__(self, groups: Groups) -> None:
        codes = groups.codes
        narrow = codes.astype(np.uint16) if groups.count <= 1 << 16 else codes  # sorted in a sixth of the time
        self.order: Codes = np.argsort(narrow, kind="stable")
        self.sizes: Codes = np.bincount(codes, minlength=groups.count)
        self.starts: Codes = np.cumsum(self.sizes) - self.sizes

    def unsorted(self, values: Array) -> Array:
        """Put values back into the order of the rows."""
        result = np.empty_like(values)
        result[self.order] = values
        return result


def _field(kind: FoldKind, place: int, value: Any, state: Accumulators, rows: _SortedRows) -> list[Any]:
    if kind is FoldKind.KEEP:
        return _kept(place, state)
    if kind is FoldKind.LAST:
        return _last(place, value, state)
    start = state.start(place)
    start, values = matched(kind, start, value, every_group_folds=False)
    return rows.unsorted(_accumulated(kind, start, values, state.new, rows)).tolist()  # type: ignore[no-any-return]


def _kept(place: int, state: Accumulators) -> list[Any]:
    part = state.part(place)
    if state.new.any():
        first = state.groups.first[state.new]
        fresh = iter(column_values(state.given.fields[place].take(pa.array(first))))
        part = [next(fresh) if new else each for each, new in zip(part, state.new.tolist(), strict=True)]
    return list(map(part.__getitem__, state.groups.codes.tolist()))


def _last(place: int, value: pa.Array, state: Accumulators) -> list[Any]:
    result = column_values(value)
    first = state.groups.first[state.new]
    records = column_values(state.given.fields[place].take(pa.array(first)))
    for row, field in zip(first.tolist(), records, strict=True):
        result[row] = field
    return result


def _accumulated(kind: FoldKind, start: Array, values: Array, new: npt.NDArray[np.bool_], rows: _SortedRows) -> Array:
    """Return accumulators in sorted order: those of a new group begin with its first row, others with what is held."""
    function, starts = _FUNCTIONS[kind], rows.starts
    result = values[rows.order]
    first = np.where(new, start, function(start, result[starts]))
    if kind is FoldKind.DIFFERENCE and result.dtype.kind == "i":
        result = -result
    result[starts] = first
    if kind in SUMS and result.dtype.kind == "i":
        sums = np.cumsum(result)
        before: Array = np.repeat(sums[starts] - result[starts], rows.sizes)
        return sums - before
    many = max(16, int(len(result) ** 0.5))
    for group in np.flatnonzero(rows.sizes > many).tolist():
        stretch = slice(starts[group], starts[group] + rows.sizes[group])
        result[stretch] = function.accumulate(result[stretch])
    places = starts[(rows.sizes > 1) & (rows.sizes <= many)]
    sizes = rows.sizes[(rows.sizes > 1) & (rows.sizes <= many)]
    for number in range(1, int(sizes.max()) if len(sizes) else 0):
        going = sizes > number
        places, sizes = places[going], sizes[going]
        here = places + number
        result[here] = function(result[here - 1], result[here])
    return result


def _choices(choice: ChosenRecord, state: Accumulators, rows: _SortedRows) -> list[Any]:
    """Return the chosen record behind each row."""
    kind = FoldKind.LEAST if choice.least else FoldKind.GREATEST
    values = as_numpy(state.given.fields[choice.place])
    start = state.start(choice.place)
    if start.dtype != values.dtype or start.dtype == np.bool_:
        raise NotColumnar("numbers of different types")
    computable(values, kind)
    computable(start, kind)
    best = _accumulated(kind, start, values, state.new, rows)
    sorted_values = values[rows.order]
    before = np.empty_like(best)
    before[1:] = best[:-1]
    before[rows.starts] = start
    better = _BETTER[choice.least, choice.first](sorted_values, before)
    better[rows.starts[state.new]] = True
    begins = np.zeros(len(best), np.bool_)
    begins[rows.starts] = True
    places = np.maximum.accumulate(np.where(better | begins, np.arange(len(best)), 0))
    from_state = begins[places] & ~better[places]
    records = state.fold.record.records([column_values(each) for each in state.given.fields])
    chosen = rows.unsorted(np.where(from_state, -1, rows.order[places])).tolist()
    codes = state.groups.codes.tolist()
    return [state.held[group] if row < 0 else records[row] for row, group in zip(chosen, codes, strict=True)]


_BETTER = {
    (True, True): np.less,
    (True, False): np.less_equal,
    (False, True): np.greater,
    (False, False): np.greater_equal,
}
