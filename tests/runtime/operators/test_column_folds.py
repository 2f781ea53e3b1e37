"""Reductions and windows by columns against the same operators record by record: results, state, timers, to the bit.

The operators are given the same records, once as columns and once as rows. What comes out must be equal in value, type
and order, and so must snapshots, on both backends. Where the loop raises, so do the columns.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest

from rekindle.columns.chains import WindowedFold
from rekindle.columns.combinable import may_combine
from rekindle.columns.combining import combined
from rekindle.columns.evaluation import NotColumnar
from rekindle.columns.folds import fold_of
from rekindle.columns.kinds import Kind
from rekindle.columns.pipeline import KeyedRows
from rekindle.columns.shapes import Shape
from rekindle.columns.window_grid import grid_of
from rekindle.common import Time
from rekindle.contracts.functions import AggregateFunction, PassThroughWindowFunction, ReduceFunction
from rekindle.contracts.functions.function_adapters import as_reduce_function
from rekindle.contracts.windowing.windows import TimeWindow
from rekindle.datastream.running_aggregates import FieldReductions
from rekindle.datastream.window import EventTimeTrigger, SlidingEventTimeWindows, TumblingEventTimeWindows
from rekindle.exceptions import InvalidProgramError
from rekindle.graph.job_graph import NodeColumns
from rekindle.graph.transformations.windows import WindowContents, Windowing
from rekindle.runtime.chunk import Chunk
from rekindle.runtime.column_chunk import ColumnChunk, FoldedChunk
from rekindle.runtime.operators.keyed import ReduceOperator
from rekindle.runtime.operators.windows.window_operator import WindowOperator
from rekindle.testing.backends import BackendUnderTest
from rekindle.testing.harness import OperatorHarness
from rekindle.types.spark_rows import row_maker
from support.column_cases import NUMBERS, ODD, TYPES, exact, values_of
from support.seeds import SEED, rounds

pytestmark = pytest.mark.usefixtures("standing_still")

ROW = Shape.row(["k", "v", "w"])
BACKENDS = ("heap", "rocksdb")


class _Described(FieldReductions):
    """Gives the functions of ``sum``, ``min_by`` and the others."""

    def reduce(self, func: Any, /) -> Any:
        return func


class Average(AggregateFunction):
    def __init__(self, start: Any) -> None:
        self.start = start

    def create_accumulator(self) -> Any:
        return self.start, 0

    def add(self, value: Any, accumulator: Any) -> Any:
        return accumulator[0] + value[1], accumulator[1] + 1

    def get_result(self, accumulator: Any) -> Any:
        return accumulator

    def merge(self, acc_a: Any, acc_b: Any) -> Any:
        return acc_a[0] + acc_b[0], acc_a[1] + acc_b[1]


class Extremes(Average):
    def create_accumulator(self) -> Any:
        return self.start, self.start, 0

    def add(self, value: Any, accumulator: Any) -> Any:
        return min(accumulator[0], value[1]), max(accumulator[1], value[1]), value[2]


class Total(Average):
    def create_accumulator(self) -> Any:
        return self.start

    def add(self, value: Any, accumulator: Any) -> Any:
        return accumulator + value[1] * 2


class Less(Average):
    def add(self, value: Any, accumulator: Any) -> Any:
        return accumulator[0] - value[1], accumulator[1] - 1


class Spelled(Average):
    """Keeps extremes of several spellings."""

    def create_accumulator(self) -> Any:
        return self.start, self.start, self.start, self.start

    def add(self, value: Any, accumulator: Any) -> Any:
        a, b, c, d, v = accumulator[0], accumulator[1], accumulator[2], accumulator[3], value[1]
        return min(a, v), min(v, b), max(c, v), max(v, d)


class SpelledOut(Spelled):
    def add(self, value: Any, accumulator: Any) -> Any:
        a, b, c, d, v = accumulator[0], accumulator[1], accumulator[2], accumulator[3], value[1]
        return v if v <= a else a, v if b <= v else b, c if not v > c else v, d if not d > v else v


by = _Described()
REDUCTIONS: dict[str, Any] = {
    "sum": lambda: by.sum("v"),
    "min": lambda: by.min("v"),
    "max": lambda: by.max("v"),
    "min_by first": lambda: by.min_by("v"),
    "min_by last": lambda: by.min_by("v", False),
    "max_by first": lambda: by.max_by("v"),
    "max_by last": lambda: by.max_by("v", False),
    "tuples of rows": lambda: as_reduce_function(lambda a, b: (a[0], a[1] + b[1], b[2])),
    "doubled": lambda: as_reduce_function(lambda a, b: (a[0], a[1] + b[1] * 2, a[2])),
    "min of the other": lambda: as_reduce_function(lambda a, b: (a[0], min(b[1], a[1]), a[2])),
    "max of the other": lambda: as_reduce_function(lambda a, b: (a[0], max(b[1], a[1]), b[2])),
    "less": lambda: as_reduce_function(lambda a, b: (b[0], a[1] - b[1], max(a[2], b[2]))),
    "last": lambda: as_reduce_function(lambda a, b: b),
    "first": lambda: as_reduce_function(lambda a, b: a),
}
AGGREGATIONS: dict[str, Any] = {
    "average from 0": lambda: Average(0),
    "average from 0.0": lambda: Average(0.0),
    "total from 0": lambda: Total(0),
    "extremes from 0": lambda: Extremes(0),
    "extremes from 0.0": lambda: Extremes(0.0),
    "less from 0": lambda: Less(0),
    "less from -0.0": lambda: Less(-0.0),
    "spelled from 0": lambda: Spelled(0),
    "spelled from NaN": lambda: Spelled(float("nan")),
    "spelled out from -0.0": lambda: SpelledOut(-0.0),
    "spelled out from NaN": lambda: SpelledOut(float("nan")),
}
KEYS: dict[str, Any] = {
    "many": lambda rng: rng.randint(0, 30),
    "one": lambda rng: 1,
    "text": lambda rng: rng.choice(["", "a", "b", None]),
}


class Case:
    """Some chunks of records, as columns and as rows, and an operator for each."""

    def __init__(self, kind: str, odd: str, keys: str, seed: int) -> None:
        self.rng = random.Random(f"{seed} {kind} {odd} {keys}")
        self.key_type = pa.string() if keys == "text" else pa.int64()
        self.chunks: list[ColumnChunk] = []
        time = 0
        for count in (1, 25, 0, 60, 3):
            stamps = [time + self.rng.randint(0, 400) for _ in range(count)]
            time += 200
            self.chunks.append(self._chunk(kind, odd, keys, count, stamps))

    def _chunk(self, kind: str, odd: str, keys: str, count: int, stamps: list[int]) -> ColumnChunk:
        key = pa.array([KEYS[keys](self.rng) for _ in range(count)], self.key_type)
        value = pa.array(values_of(kind, count, odd, self.rng), TYPES[kind])
        other = pa.array([self.rng.randint(0, 9) for _ in range(count)], pa.int64())
        times = pa.array(stamps, pa.int64()).to_numpy()
        return ColumnChunk([key, value, other], ROW, [key], True, times)


@pytest.fixture(params=BACKENDS)
def backend(request: pytest.FixtureRequest) -> str:
    return str(request.param)


by_columns: dict[str, int] = {}


def ran(operator: Any, chunks: list[Any], columns: bool, backend: str, watermarks: bool) -> list[Any]:
    """Run an operator over chunks; return all that can be seen of it, up to an error."""
    under_test = BackendUnderTest(backend)
    harness = OperatorHarness(operator, lambda row: row[0], state_backend=under_test)
    seen: list[Any] = []
    try:
        for number, chunk in enumerate(chunks):
            if not chunk.size():
                continue
            fresh = chunk.cut(0, chunk.size())
            try:
                result = operator.process_columns(fresh) if columns and isinstance(chunk, ColumnChunk) else None
                if result is not None:
                    by_columns[type(operator).__name__] = by_columns.get(type(operator).__name__, 0) + 1
                else:
                    result = operator.process(Chunk(chunk.values, chunk.timestamps, chunk.keys))
                seen.append([exact(result.values), result.timestamps, exact(_side(result))])
            except Exception as error:
                seen.append((type(error).__name__, str(error)))
                return seen
            if watermarks:
                seen.append(exact(harness.advance_watermark(200 * number)))
        taken = harness.snapshot()
        seen.append([(block.state, block.key_group, block.entries, block.data) for block in taken.blocks])
        seen.append([(block.state, block.key_group, block.data) for block in taken.timers])
        seen.append(exact(harness.finish()))
        return seen
    finally:
        harness.close()
        under_test.close()


def _side(chunk: Chunk) -> Any:
    return {tag: part.values for tag, part in (chunk.side or {}).items()}


def agree(make: Any, chunks: list[Any], backend: str, watermarks: bool = False) -> None:
    expected = ran(make(False), chunks, False, backend, watermarks)
    found = ran(make(True), chunks, True, backend, watermarks)
    assert found == expected


def reducing(function: ReduceFunction) -> Any:
    def make(columns: bool) -> ReduceOperator:
        operator = ReduceOperator(function)
        if columns:
            operator.columns = NodeColumns(fold_of(function, ROW))
        return operator

    return make


ASSIGNERS: dict[str, Any] = {
    "tumbling": lambda: TumblingEventTimeWindows.of(Time.milliseconds(100)),
    "shifted": lambda: TumblingEventTimeWindows.of(Time.milliseconds(100), Time.milliseconds(-30)),
    "sliding": lambda: SlidingEventTimeWindows.of(Time.milliseconds(100), Time.milliseconds(40)),
    "gaps": lambda: SlidingEventTimeWindows.of(Time.milliseconds(30), Time.milliseconds(100)),
}


def windowing(function: Any, assigner: str, lateness: int = 0, late: Any = None) -> Any:
    def make(columns: bool) -> WindowOperator:
        described = Windowing(ASSIGNERS[assigner](), EventTimeTrigger(), WindowContents(None, function), lateness, late)
        operator = WindowOperator(described, PassThroughWindowFunction())
        if columns:
            grid = grid_of(described.assigner, described.trigger)
            operator.columns = NodeColumns(fold_of(function, ROW), grid)
        return operator

    return make


def cases() -> Iterator[int]:
    return iter(range(SEED, SEED + rounds(1, 6)))


OTHER_ROWS = {"reordered": ("k", "w", "v"), "renamed": ("k", "v", "x"), "inserted": ("k", "new", "v")}
SAME_ROWS = ("sum", "min", "max", "min_by first", "min_by last", "max_by first", "max_by last", "last", "first")


def rows_before(names: str) -> Chunk:
    """Return rows as another version of the DataFrame had them."""
    make = row_maker(OTHER_ROWS[names])
    return Chunk([make((1, 100, 5)), make((1, 200, 6)), make((2, 3, 4))], [0, 1, 2], [1, 1, 2])


def chunk_of_one_window() -> ColumnChunk:
    columns = [pa.array([1, 1, 1, 2, 2, 3] * 2), pa.array([7, 2, 9, 3, 5, 6] * 2), pa.array([50, 60, 1, 2, 3, 4] * 2)]
    return ColumnChunk(columns, ROW, columns[:1], True, pa.array(range(12)).to_numpy())


class TestRowsOfAnotherVersion:
    """State holds rows whose fields have other names, or another order, than those that come."""

    @pytest.mark.parametrize("names", OTHER_ROWS)
    @pytest.mark.parametrize("name", REDUCTIONS)
    def test_are_reduced_by_name(self, name: str, names: str, backend: str) -> None:
        chunk = chunk_of_one_window()
        for make in (reducing(REDUCTIONS[name]()), windowing(REDUCTIONS[name](), "tumbling")):
            agree(make, [rows_before(names), chunk, chunk], backend)

    @pytest.mark.parametrize("name", REDUCTIONS)
    def test_rows_of_this_version_are_still_reduced_by_columns(self, name: str) -> None:
        operator = reducing(REDUCTIONS[name]())(True)
        harness = OperatorHarness(operator, lambda row: row[0])
        try:
            chunk = chunk_of_one_window()
            first = chunk.cut(5, 6)  # whose key holds this very row then
            assert operator.process(Chunk(first.values, first.timestamps, first.keys)).values == first.values
            assert operator.process_columns(chunk) is not None
        finally:
            harness.close()


class TestReductions:
    @pytest.mark.parametrize("odd", ODD)
    @pytest.mark.parametrize("kind", TYPES)
    @pytest.mark.parametrize("name", REDUCTIONS)
    def test_of_every_type(self, name: str, kind: str, odd: str, backend: str) -> None:
        for seed in cases():
            agree(reducing(REDUCTIONS[name]()), Case(kind, odd, "many", seed).chunks, backend)

    @pytest.mark.parametrize("keys", KEYS)
    @pytest.mark.parametrize("name", REDUCTIONS)
    def test_of_all_kinds_of_keys(self, name: str, keys: str, backend: str) -> None:
        for seed in cases():
            agree(reducing(REDUCTIONS[name]()), Case("int64", "plain", keys, seed).chunks, backend)

    @pytest.mark.parametrize("name", REDUCTIONS)
    def test_of_one_key_in_many_rows(self, name: str) -> None:
        rng = random.Random(SEED)
        for kind in ("int64", "float64"):
            key = pa.array([rng.choice([1, 1, 1, 2, 3]) for _ in range(3_000)])
            value = pa.array(values_of(kind, 3_000, "wide", rng), TYPES[kind])
            chunk = ColumnChunk([key, value, pa.array(range(3_000))], ROW, [key])
            agree(reducing(REDUCTIONS[name]()), [chunk, chunk], "heap")

    def test_numbers_were_reduced_by_columns(self) -> None:
        by_columns.clear()
        for name in REDUCTIONS:
            for kind in NUMBERS:
                before = dict(by_columns)
                agree(reducing(REDUCTIONS[name]()), Case(kind, "plain", "many", SEED).chunks, "heap")
                assert by_columns != before, (name, kind)


class TestWindows:
    @pytest.mark.parametrize("odd", ODD)
    @pytest.mark.parametrize("kind", TYPES)
    @pytest.mark.parametrize("name", AGGREGATIONS)
    def test_aggregations_of_every_type(self, name: str, kind: str, odd: str, backend: str) -> None:
        for seed in cases():
            agree(windowing(AGGREGATIONS[name](), "tumbling"), Case(kind, odd, "many", seed).chunks, backend, True)

    @pytest.mark.parametrize("odd", ["plain", "nulls", "wide"])
    @pytest.mark.parametrize("kind", ["int64", "float64", "string"])
    @pytest.mark.parametrize("name", REDUCTIONS)
    def test_reductions(self, name: str, kind: str, odd: str, backend: str) -> None:
        for seed in cases():
            agree(windowing(REDUCTIONS[name](), "tumbling"), Case(kind, odd, "many", seed).chunks, backend, True)

    @pytest.mark.parametrize("lateness", [0, 150])
    @pytest.mark.parametrize("keys", KEYS)
    @pytest.mark.parametrize("assigner", ASSIGNERS)
    def test_on_every_grid(self, assigner: str, keys: str, lateness: int, backend: str) -> None:
        from rekindle.common import Types
        from rekindle.datastream import OutputTag

        for seed in cases():
            for late in (None, OutputTag("late", Types.PICKLED_BYTE_ARRAY())):
                chunks = Case("float64", "wide", keys, seed).chunks
                agree(windowing(Average(0.0), assigner, lateness, late), chunks, backend, True)

    def test_numbers_were_folded_by_columns(self) -> None:
        by_columns.clear()
        for assigner in ASSIGNERS:
            for kind in NUMBERS:
                before = dict(by_columns)
                agree(windowing(Average(0), assigner), Case(kind, "plain", "many", SEED).chunks, "heap", True)
                assert by_columns != before, (assigner, kind)


class TestFoldedBefore:
    """Rows that were folded before they were sent give the state and the results that the rows give."""

    FUNCTIONS = AGGREGATIONS | {
        name: REDUCTIONS[name] for name in ("sum", "min", "max", "min_by first", "max_by last", "last")
    }
    NEVER = ("less from -0.0",)  # begins with a float

    @pytest.mark.parametrize("odd", ["plain", "extremes", "wide", "negative zero", "nan", "nulls"])
    @pytest.mark.parametrize("kind", ["int32", "int64", "float64"])
    @pytest.mark.parametrize("assigner", ASSIGNERS)
    @pytest.mark.parametrize("name", FUNCTIONS)
    def test_in_any_portions(self, name: str, assigner: str, kind: str, odd: str) -> None:
        function = self.FUNCTIONS[name]()
        fold = fold_of(function, ROW)
        kinds = (Kind.INT, Kind.INT if kind.startswith("int") else Kind.FLOAT, Kind.INT)
        if not may_combine(fold, kinds, False):
            if name in self.NEVER:
                return
            assert kind == "float64" or name.endswith("from 0.0"), "sums of integers are folded before they are sent"
            return
        described = windowing(function, assigner)(False).windowing
        windowed = WindowedFold(fold, grid_of(described.assigner, described.trigger))
        for seed in cases():
            chunks = Case(kind, odd, "many", seed).chunks
            folded = [self._folded(windowed, chunk) for chunk in chunks]
            expected = self._results(windowing(function, assigner)(True), chunks)
            assert self._results(windowing(function, assigner)(True), folded) == expected

    @pytest.mark.parametrize("name", FUNCTIONS)
    @pytest.mark.parametrize("odd", ["plain", "extremes", "nan", "negative zero", "nulls"])
    @pytest.mark.parametrize("kind", ["int64", "float64"])
    def test_of_one_key_they_are_folded(self, name: str, odd: str, kind: str) -> None:
        function = self.FUNCTIONS[name]()
        windowed = WindowedFold(fold_of(function, ROW), grid_of(ASSIGNERS["tumbling"](), EventTimeTrigger()))
        if not may_combine(windowed.fold, (Kind.INT, Kind.INT if kind == "int64" else Kind.FLOAT, Kind.INT), False):
            return
        for seed in range(SEED, SEED + 10):
            chunks = Case(kind, odd if seed % 2 else "plain", "one", seed).chunks
            chunks += Case(kind, "plain", "one", seed + 1).chunks
            folded = [self._folded(windowed, chunk) for chunk in chunks]
            assert any(isinstance(chunk, FoldedChunk) and chunk.records for chunk in folded)
            expected = self._results(windowing(function, "tumbling")(True), chunks)
            assert self._results(windowing(function, "tumbling")(True), folded) == expected

    def test_with_accumulators_of_another_version_of_the_program_the_job_fails_rather_than_guesses(self) -> None:
        function = Total(0)
        windowed = WindowedFold(fold_of(function, ROW), grid_of(ASSIGNERS["tumbling"](), EventTimeTrigger()))
        stamps = pa.array([1, 2, 3, 4]).to_numpy()
        columns = [pa.array([1] * 4), pa.array([1 << 53, 1, 1, 1]), pa.array([0] * 4)]
        chunk = self._folded(windowed, ColumnChunk(columns, ROW, columns[:1], True, stamps))
        assert isinstance(chunk, FoldedChunk)
        for held, problem in ((0.5, "holds 1.0"), ("text", "holds 'text'"), ((1, 2), r"holds \(1, 2\)")):
            operator = windowing(function, "tumbling")(True)
            harness = OperatorHarness(operator, lambda row: row[0])
            try:
                operator._folds.state.put([(1, TimeWindow(0, 100))], [held * 2 if held == 0.5 else held])
                with pytest.raises(InvalidProgramError, match=problem):
                    operator.process_columns(chunk)
            finally:
                harness.close()

    @pytest.mark.parametrize("names", OTHER_ROWS)
    @pytest.mark.parametrize("name", SAME_ROWS)
    def test_rows_with_other_fields_are_reduced_by_the_function_itself(self, name: str, names: str) -> None:
        function = REDUCTIONS[name]()
        windowed = WindowedFold(fold_of(function, ROW), grid_of(ASSIGNERS["tumbling"](), EventTimeTrigger()))
        chunk = chunk_of_one_window()
        folded = self._folded(windowed, chunk)
        assert isinstance(folded, FoldedChunk)
        old = rows_before(names)
        expected = self._results(windowing(function, "tumbling")(False), [old, chunk])
        assert self._results(windowing(function, "tumbling")(True), [old, folded]) == expected

    def test_a_sum_in_such_a_row_that_rounds_is_not_guessed(self) -> None:
        function = by.sum("v")
        windowed = WindowedFold(fold_of(function, ROW), grid_of(ASSIGNERS["tumbling"](), EventTimeTrigger()))
        old = Chunk([row_maker(("k", "w", "v"))((1, 100, 0.5))], [0], [1])
        found = self._results(
            windowing(function, "tumbling")(True), [old, self._folded(windowed, chunk_of_one_window())]
        )
        assert found[-1][0] == "InvalidProgramError"
        assert "it is from a savepoint of another version" in found[-1][1]

    @staticmethod
    def _folded(windowed: WindowedFold, chunk: ColumnChunk) -> Chunk:
        rows = KeyedRows(list(chunk.fields), ROW, list(chunk.key_columns), chunk.stamps, chunk.size())
        try:
            left = combined(windowed, rows)
        except NotColumnar:
            return chunk
        records = int(left.records.sum())
        return FoldedChunk(left.keys, True, left.starts, left.values, records, left.firsts, left.stamps)

    @staticmethod
    def _results(operator: WindowOperator, chunks: list[Any]) -> list[Any]:
        harness = OperatorHarness(operator, lambda row: row[0])
        seen: list[Any] = []
        try:
            for number, chunk in enumerate(chunks):
                try:
                    by_rows = type(chunk) is Chunk or operator.columns is None
                    if chunk.size() and (by_rows or operator.process_columns(chunk) is None):
                        operator.process(Chunk(chunk.values, chunk.timestamps, chunk.keys))
                except Exception as error:
                    return [*seen, (type(error).__name__, str(error))]
                seen.append(exact(sorted(harness.advance_watermark(200 * number), key=repr)))
            seen.append(exact(sorted(harness.finish(), key=repr)))
            return seen
        finally:
            harness.close()
