"""Folds chunks of columns into the state of their keys: gather, fold, scatter."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa

from rekindle.columns.evaluation import NotColumnar, as_numpy, columnar
from rekindle.columns.folds import SUMS, FieldFold, Fold, FoldKind
from rekindle.columns.grouping import Codes, Groups, groups_of, refined
from rekindle.columns.kernels import FoldInput, computable, fold_input, folded
from rekindle.columns.python_values import column_values
from rekindle.columns.running import running
from rekindle.columns.shapes import ShapeKind
from rekindle.columns.window_grid import WindowGrid
from rekindle.columns.windows import assigned
from rekindle.contracts.windowing.windows import MAX_TIMESTAMP, TimeWindow
from rekindle.exceptions import InvalidProgramError
from rekindle.runtime.chunk import Chunk
from rekindle.runtime.column_chunk import ColumnChunk, FoldedChunk
from rekindle.runtime.operators.result_copies import unshared
from rekindle.state.many_keys import ManyKeys


def reduced(fold: Fold, chunk: Chunk, state: ManyKeys) -> Chunk | None:
    """Fold records into the reductions of their keys, and give each with what has become of it by then.

    Returns:
        The results; None where the records must be reduced one by one. Then nothing has been changed.
    """
    if not isinstance(chunk, ColumnChunk) or chunk.shape != fold.record:
        return None
    try:
        with columnar(), np.errstate(all="ignore"):  # infinities and NaN come about without a word in Python, too
            given = fold_input(fold, chunk.fields, chunk.rows)
            groups = groups_of(chunk.key_columns)
            keys = chunk.keys_of(groups.first)
            values = running(fold, groups, given, state.get(keys))
    except NotColumnar:
        return None
    state.put(keys, [values[row] for row in groups.last.tolist()])
    if any(pa.types.is_nested(field.type) for field in chunk.fields):
        values = [unshared(value) for value in values]  # who gets a result may change lists in it
    return Chunk(values, chunk.timestamps)


Place: TypeAlias = tuple[Any, TimeWindow]
"""A key and a window."""


class WindowFolds:
    """Fold records into the accumulators of their keys and windows.

    Attributes:
        state: The accumulators, by pairs of a key and a window.
    """

    def __init__(
        self, fold: Fold, grid: WindowGrid, lateness: int, state: ManyKeys, add: Callable[[Place, Any, int], None]
    ) -> None:
        """Take what is folded where.

        Args:
            fold: The fold.
            grid: The windows.
            lateness: How long after its end a window takes records.
            state: The accumulators, by pairs of a key and a window.
            add: Adds a record with its timestamp to a window, by the program's own function.
        """
        self._fold = fold
        self._add = add
        self._grid = grid
        self._lateness = lateness
        self.state = state

    def fold(self, chunk: Chunk, watermark: int, keeps_late: bool, register: Callable[[Place, int], None]) -> bool:
        """Fold a chunk.

        Args:
            chunk: The records.
            watermark: The watermark, by which records are late.
            keeps_late: Whether late records go somewhere.
            register: Sets the timer of a key and a window that had none.

        Returns:
            False where the records must be processed one by one. Then nothing has been changed.
        """
        if isinstance(chunk, FoldedChunk):
            self._fold_folded(chunk, watermark, register)
            return True
        if not isinstance(chunk, ColumnChunk) or chunk.shape != self._fold.record or chunk.stamps is None:
            return False
        try:
            with columnar(), np.errstate(all="ignore"):
                places, held, after = self._folded(chunk, chunk.stamps, watermark, keeps_late)
        except NotColumnar:
            return False
        self._scatter(places, held, after, register)
        return True

    def _folded(
        self, chunk: ColumnChunk, stamps: Codes, watermark: int, keeps_late: bool
    ) -> tuple[list[Place], list[Any], list[Any]]:
        """Return the keys and windows of a chunk, and their accumulators before and after it."""
        windows = assigned(self._grid, stamps)
        if keeps_late and self._grid.slide > self._grid.size:
            without = np.ones(len(stamps), np.bool_)
            without[windows.rows] = False
            if (stamps[without] + self._lateness <= watermark).any():
                raise NotColumnar("some are in no window, and go to a side output")
        ends = windows.starts + (self._grid.size - 1)
        in_time = ends > watermark
        if not in_time.all():
            if keeps_late or self._lateness:
                raise NotColumnar("some go to a side output, or make their windows fire at once")
            windows = type(windows)(
                np.flatnonzero(in_time) if windows.rows is None else windows.rows[in_time], windows.starts[in_time]
            )
        rows = windows.rows
        if rows is not None and not len(rows):
            return [], [], []
        fields = chunk.fields if rows is None else [field.take(pa.array(rows)) for field in chunk.fields]
        key_groups = groups_of(chunk.key_columns)
        codes = key_groups.codes if rows is None else key_groups.codes[rows]
        given = fold_input(self._fold, fields, len(codes))
        pairs = _pairs(Groups(codes, key_groups.count), windows.starts, self._grid, whole=rows is None)
        keys = chunk.keys_of(key_groups.first)
        places = self._places(keys, codes, windows.starts, pairs.first)
        held = self.state.get(places)
        return places, held, folded(self._fold, pairs, given, held)

    def _fold_folded(self, chunk: FoldedChunk, watermark: int, register: Callable[[Place, int], None]) -> None:
        """Fold what was folded before: each entry stands for the records of a key and a window in one task."""
        rows = np.flatnonzero(chunk.starts + (self._grid.size - 1) > watermark)
        if not len(rows):
            return
        starts = chunk.starts[rows]
        places = self._places(chunk.keys_of(rows), np.arange(len(rows)), starts, np.arange(len(rows)))
        taken = pa.array(rows)
        columns = [None if column is None else column.take(taken) for column in chunk.folded]
        held = self.state.get(places)
        groups = Groups(np.arange(len(rows)), len(rows))  # each key and window is there once
        after: list[Any] | None = None
        try:
            with columnar(), np.errstate(all="ignore"):
                after = folded(self._fold, groups, _folded_input(self._fold, columns, len(rows)), held)
        except NotColumnar:
            pass  # what is raised below is raised by itself, and not in the middle of this
        if after is None:
            after = self._one_by_one(chunk, rows, columns, places, held)
        self._scatter(places, held, after, register)

    def _one_by_one(
        self, chunk: FoldedChunk, rows: Codes, columns: list[pa.Array | None], places: list[Place], held: list[Any]
    ) -> list[Any]:
        """Fold entries in Python, where columns do not do: NaN, long integers, accumulators of an older program."""
        fold = self._fold
        parts = [[None] * len(held) if column is None else column_values(column) for column in columns]
        entries = fold.shape.records(parts) if fold.choice is None else fold.record.records(parts)
        after: list[Any] = []
        for place, row, old, new in zip(places, rows.tolist(), held, entries, strict=True):
            failed: Exception | None = None
            try:
                if old is None or fold.shape.kind is not ShapeKind.ROW or fold.shape.fits(old):
                    after.append(_combined(fold, old, new))
                else:
                    stamp = place[1][0] if chunk.stamps is None else int(chunk.stamps[row])
                    after.append(self._by_name(place, old, new, stamp))
            except Exception as error:
                failed = error
            if failed is not None:
                first = chunk.first_record(row, fold.record)
                if first is not None and not isinstance(failed, _NotExactError):
                    self._add(place, *first)  # which raises the function's own error, and names the record
                raise _of_another_program(place, old) from failed
        return after

    def _by_name(self, place: Place, old: Any, new: Any, stamp: int) -> Any:
        """Fold an entry into a row with other fields, or fields in another order, than rows have in this program.

        The program's own function does it, which may read the fields of each by name. An entry is a row like any other:
        it has the fields of the first record, with the least, the greatest or the sum of some.
        """
        self._add(place, new, stamp)
        (after,) = self.state.get([place])
        summed = zip(self._fold.fields, new, strict=False)  # where a record is chosen, there are no fields
        whole = any(each.kind in SUMS and isinstance(part, int) for each, part in summed)
        if whole and any(now is not was and not isinstance(now, int) for was, now in zip(old, after, strict=True)):
            raise _NotExactError
        return after

    def _places(self, keys: list[Any], codes: Codes, starts: Codes, first: Codes) -> list[Place]:
        """Return the key and the window of each group, given its first row."""
        size = self._grid.size
        windows = {start: TimeWindow(start, start + size) for start in np.unique(starts[first]).tolist()}
        return [
            (keys[code], windows[start])
            for code, start in zip(codes[first].tolist(), starts[first].tolist(), strict=True)
        ]

    def _scatter(
        self, places: list[Place], held: list[Any], after: list[Any], register: Callable[[Place, int], None]
    ) -> None:
        self.state.put(places, after)
        for place, before in zip(places, held, strict=True):
            # With lateness a window may have fired, and be kept, before the watermark began anew behind a savepoint.
            if before is None or self._lateness:
                end = place[1][1] - 1
                register(place, end)
                if self._lateness and end + self._lateness < MAX_TIMESTAMP:
                    register(place, end + self._lateness)


def _pairs(groups: Groups, starts: Codes, grid: WindowGrid, whole: bool) -> Groups:
    """Group rows by key and window; ``whole``: there are rows of all keys."""
    earliest = int(starts.min())
    count = (int(starts.max()) - earliest) // grid.slide + 1
    if count * max(1, groups.count) >= 1 << 62:
        raise NotColumnar("timestamps that lie too far apart")
    return groups if whole and count == 1 else refined(groups, (starts - earliest) // grid.slide, count)


def _folded_input(fold: Fold, columns: list[pa.Array | None], rows: int) -> FoldInput:
    if fold.choice is not None:
        return FoldInput([column for column in columns if column is not None], (), rows, portions=True)
    values: list[Any] = []
    for each, column in zip(fold.fields, columns, strict=True):
        if column is None or each.kind in (FoldKind.KEEP, FoldKind.LAST):
            values.append(column)
        else:
            values.append(computable(as_numpy(column), each.kind))
    return FoldInput([column for column in columns if column is not None], values, rows, portions=True)


class _NotExactError(Exception):
    """Integers were added up, and what they are to be added to is none."""


def _of_another_program(place: Place, held: Any) -> InvalidProgramError:
    key, window = place
    return InvalidProgramError(
        f"window {window} of key {key!r} holds {held!r}, which this program does not make: it is from a savepoint of "
        "another version. Records of such windows cannot be folded before they are sent. Run the program with "
        "rekindle.columns.enabled: false until these windows have fired"
    )


def _combined(fold: Fold, old: Any, new: Any) -> Any:
    if old is None and fold.initial is None:
        return new
    if fold.choice is not None:
        choice = fold.choice
        one, other = old[choice.place], new[choice.place]
        better = other < one if choice.least else other > one
        return new if better or (not choice.first and other == one) else old
    initial = fold.initial if fold.initial is not None else ()
    before = initial if old is None else fold.shape.fields([old])
    olds = [part if old is None else part[0] for part in before]
    news = [part[0] for part in fold.shape.fields([new])]
    parts = [[_fold_value(each, a, b)] for each, a, b in zip(fold.fields, olds, news, strict=True)]
    return fold.shape.records(parts)[0]


def _fold_value(each: FieldFold, old: Any, new: Any) -> Any:
    """Return what is accumulated of a field, given what was and what several records have made together."""
    if each.kind is FoldKind.KEEP:
        return old
    if each.kind is FoldKind.LAST:
        return new
    if each.kind in SUMS:
        result = old + new if each.kind is FoldKind.SUM else old - new
        if isinstance(new, int) and not isinstance(result, int):
            raise _NotExactError
        return result
    assert each.replacing is not None
    return new if each.replacing(new, old) else old
