"""Folds rows before they are sent, where only the result of the whole fold is seen.

Sums of integers, extremes, first and last values are the same in whatever portions they are folded. Sums of floats are
not: each rounds.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from rekindle.columns.chains import WindowedFold
from rekindle.columns.evaluation import Array, NotColumnar
from rekindle.columns.folds import EXTREMES, Fold, FoldKind
from rekindle.columns.grouping import Codes, Groups, groups_of, refined
from rekindle.columns.kernels import Accumulators, FoldInput, chosen_rows, fold_input
from rekindle.columns.pipeline import KeyedRows
from rekindle.columns.windows import assigned

_WORTHWHILE = 0.5  # of the rows: with more groups than that, folding saves nothing


@dataclass(slots=True)
class FoldedRows:
    """Hold what is left of rows that were folded.

    Attributes:
        keys: The columns of the key.
        starts: Where the window of each begins.
        values: What goes into each field of the accumulator; None where nothing does.
        firsts: The first record of each, field by field; empty where each record can be folded, whatever is held.
        stamps: The timestamp of the first record of each.
        records: How many records each of them was; a record in several windows counts in the latest.
    """

    keys: list[pa.Array]
    starts: Codes
    values: list[pa.Array | None]
    firsts: list[pa.Array]
    stamps: Codes
    records: Codes


def combined(windowed: WindowedFold, given: KeyedRows) -> FoldedRows:
    """Fold rows by key and window.

    Args:
        windowed: The fold.
        given: The rows.

    Raises:
        NotColumnar: They must be sent as they are, or might as well.
    """
    assert given.timestamps is not None
    fold = windowed.fold
    windows = assigned(windowed.grid, given.timestamps)
    rows = windows.rows
    groups = groups_of(given.keys)
    codes = groups.codes if rows is None else groups.codes[rows]
    numbers, count = _numbered(windows.starts, windowed.grid.slide)
    whole = rows is None and count == 1
    pairs = groups if whole else refined(Groups(codes, groups.count), numbers, count)
    if pairs.count > _WORTHWHILE * given.rows:
        raise NotColumnar("too many groups")
    fields = given.fields if rows is None else [each.take(pa.array(rows)) for each in given.fields]
    own = fold_input(fold, fields, len(codes))
    first = pairs.first if rows is None else rows[pairs.first]
    # What a reduction holds may be a record that was never computed with. The function then raises, and names this one.
    firsts = [each.take(pa.array(first)) for each in given.fields] if fold.initial is None else []
    if fold.choice is not None:
        values = _chosen_rows(fold, pairs, own)
    else:
        values = _values(fold, pairs, own, firsts, windowed.floats)
    latest = pairs.codes if rows is None else pairs.codes[np.flatnonzero(np.diff(rows, prepend=-1))]
    records = np.bincount(latest, minlength=pairs.count)
    known = {id(each): taken for each, taken in zip(given.fields, firsts, strict=False)}
    keys = [known[id(key)] if id(key) in known else key.take(pa.array(first)) for key in given.keys]
    return FoldedRows(keys, windows.starts[pairs.first], values, firsts, given.timestamps[first], records)


def _numbered(starts: Codes, slide: int) -> tuple[Codes, int]:
    """Count the windows from the earliest one."""
    if not len(starts):
        return starts, 1
    earliest = int(starts.min())
    count = (int(starts.max()) - earliest) // slide + 1
    if count > 1 << 31:
        raise NotColumnar("timestamps that lie too far apart")
    return (starts - earliest) // slide, count


def _values(
    fold: Fold, groups: Groups, given: FoldInput, firsts: list[pa.Array], floats: bool
) -> list[pa.Array | None]:
    values: list[pa.Array | None] = []
    for place, (each, value) in enumerate(zip(fold.fields, given.values, strict=True)):
        if each.kind is FoldKind.KEEP:
            values.append(firsts[place] if firsts else None)
        elif each.kind is FoldKind.LAST:
            assert isinstance(value, pa.Array)
            values.append(value.take(pa.array(groups.last)))
        else:
            assert isinstance(value, np.ndarray)
            values.append(pa.array(_folded(each.kind, value, groups, floats)))
    return values


def _folded(kind: FoldKind, value: Array, groups: Groups, floats: bool) -> Array:
    if kind in EXTREMES:
        result = value[groups.first].copy()
        (np.minimum if kind is FoldKind.LEAST else np.maximum).at(result, groups.codes, value)
        return result
    if value.dtype.kind == "f":
        if not floats:
            raise NotColumnar("sums of floats depend on the order in which they are added")
    elif len(value) and max(abs(int(value.min())), abs(int(value.max()))) * len(value) >= 1 << 62:
        raise NotColumnar("sums that may have more than 64 bits")
    result = np.full(groups.count, -0.0 if value.dtype.kind == "f" else 0, value.dtype)  # -0.0 changes no sum
    with np.errstate(all="ignore"):
        np.add.at(result, groups.codes, value)
    return result


def _chosen_rows(fold: Fold, groups: Groups, given: FoldInput) -> list[pa.Array | None]:
    """Return the fields of the record that each group would keep."""
    assert fold.choice is not None
    rows = pa.array(chosen_rows(fold.choice, Accumulators(fold, groups, given, [None] * groups.count)))
    return [each.take(rows) for each in given.fields]
