"""The plan names the path of each operator, and why one takes records; and what holds for bad input."""

from __future__ import annotations

import logging
from typing import Any

import pyarrow as pa
import pytest

from rekindle.columns import pipeline
from rekindle.common import Time, Types, WatermarkStrategy
from rekindle.common.watermark_strategy import TimestampAssigner
from rekindle.datastream import AggregateFunction, MapFunction, OutputTag, RuntimeContext
from rekindle.datastream.window import EventTimeSessionWindows, TumblingEventTimeWindows
from rekindle.exceptions import JobExecutionError
from rekindle.testing import local_environment

ROWS = pa.table({"k": [1, 2, 1], "v": [3, 4, 0], "s": ["a", "b", "c"], "t": [1, 2, 3]})
NO_FORM = "records: an operator of this kind has no column form"


class RowTime(TimestampAssigner):
    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        return value.t  # type: ignore[no-any-return]


class Total(AggregateFunction):
    def create_accumulator(self) -> Any:
        return 0

    def add(self, value: Any, accumulator: Any) -> Any:
        return accumulator + value.v

    def get_result(self, accumulator: Any) -> Any:
        return accumulator

    def merge(self, acc_a: Any, acc_b: Any) -> Any:
        return acc_a + acc_b


class Longest(Total):
    def add(self, value: Any, accumulator: Any) -> Any:
        return max(accumulator, len(value.s))


class Opened(MapFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        self.opened = True

    def map(self, value: Any) -> Any:
        return value


def paths(build: Any, parallelism: int = 2, **settings: str) -> list[str]:
    env = local_environment(parallelism, settings)
    build(env.from_data_frame(ROWS, "rows"))
    nodes = env._compile().nodes
    assert all(node.path.split(":")[0].split(",")[0] in ("columns", "records") for node in nodes)
    assert all(": " in node.path for node in nodes if node.path.startswith("records")), "each has a reason"
    return [node.path for node in nodes]


def timed(rows: Any) -> Any:
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(RowTime())
    return rows.assign_timestamps_and_watermarks(strategy)


def windows(rows: Any, function: AggregateFunction) -> Any:
    return timed(rows).key_by(lambda r: r.k).window(TumblingEventTimeWindows.of(Time.seconds(1))).aggregate(function)


COLUMNS, FOLDED = "columns", "columns, folded before the exchange"
BY_COLUMNS: dict[str, tuple[Any, list[str]]] = {
    "sum": (lambda rows: rows.key_by(lambda r: r.k).sum("v"), [COLUMNS] * 2),
    "min": (lambda rows: rows.key_by(lambda r: r.k).min("v"), [COLUMNS] * 2),
    "max": (lambda rows: rows.key_by(lambda r: r.k).max("v"), [COLUMNS] * 2),
    "min_by": (lambda rows: rows.key_by(lambda r: r.k).min_by("v"), [COLUMNS] * 2),
    "max_by": (lambda rows: rows.key_by(lambda r: r.k).max_by("v"), [COLUMNS] * 2),
    "operators behind the first": (
        lambda rows: (
            rows.map(lambda r: (r.k, r.v * 2))
            .filter(lambda pair: pair[1] > 1)
            .map(lambda pair: (pair[0] % 2, pair[1]))
            .filter(lambda pair: pair[0] == 1)
            .key_by(lambda pair: pair[0])
            .reduce(lambda a, b: (a[0], a[1] + b[1]))
        ),
        [COLUMNS] * 6,
    ),
    "windows": (lambda rows: windows(rows, Total()), [COLUMNS, COLUMNS, FOLDED]),
}


@pytest.mark.parametrize("name", BY_COLUMNS)
def test_what_runs_by_columns(name: str) -> None:
    build, expected = BY_COLUMNS[name]
    assert paths(build) == expected


def line(offset: int) -> int:
    return Longest.add.__code__.co_firstlineno + offset


BY_RECORDS: dict[str, tuple[Any, str]] = {
    "a call": (lambda rows: windows(rows, Longest()), "records: `add` calls len, in line {add}"),
    "open": (lambda rows: rows.map(Opened()), "records: `map` has open(), in line"),
    "None": (
        lambda rows: rows.map(lambda r: 0 if r.v is None else 1),
        "records: `<lambda>` asks whether something is None",
    ),
    "a method": (lambda rows: rows.map(lambda r: r.s.upper()), "records: `<lambda>` asks a value for 'upper', in line"),
    "no fold": (
        lambda rows: rows.key_by(lambda r: r.k).reduce(lambda a, b: a if a.v > b.v else b),
        "records: `<lambda>` makes field 0 of the accumulator in a way that is not known as a fold, in line",
    ),
    "a key of text and numbers": (
        lambda rows: rows.key_by(lambda r: r.s.upper()).sum("v"),
        "records: its key selector asks a value for 'upper', in line",
    ),
    "flat_map": (lambda rows: rows.flat_map(lambda r: [r]), NO_FORM),
    "process": (lambda rows: rows.key_by(lambda r: r.k).map(lambda r: r), NO_FORM),
    "rebalance": (lambda rows: rows.rebalance().map(lambda r: r), "records: its input crosses an exchange"),
    "a conversion": (
        lambda rows: (
            rows.map(lambda r: (r.k, r.v), output_type=Types.TUPLE([Types.LONG(), Types.DOUBLE()]))
            .key_by(lambda t: t[0])
            .sum(1)
        ),
        "records: records are converted to TupleTypeInfo(Long, Double) on their way",
    ),
    "sessions": (
        lambda rows: (
            timed(rows)
            .key_by(lambda r: r.k)
            .window(EventTimeSessionWindows.with_gap(Time.seconds(1)))
            .aggregate(Total())
        ),
        "records: EventTimeSessionWindows are not assigned by columns",
    ),
    "behind records": (
        lambda rows: rows.map(Opened()).key_by(lambda r: r.k).sum("v"),
        "records: its input comes as records",
    ),
}


@pytest.mark.parametrize("name", BY_RECORDS)
def test_why_an_operator_takes_records(name: str) -> None:
    build, expected = BY_RECORDS[name]
    assert paths(build)[-1].startswith(expected.format(add=line(1)))


def test_a_source_with_two_readers_says_so() -> None:
    def build(rows: Any) -> None:
        rows.map(lambda r: r.k)
        rows.map(lambda r: r.v)

    assert paths(build)[0] == "records: 'DataFrame rows' is read by 2 operators"


def test_what_does_not_come_from_a_data_frame_says_so() -> None:
    env = local_environment()
    env.from_collection([(1, 2)]).key_by(lambda t: t[0]).sum(1)
    found = [node.path for node in env._compile().nodes]
    assert found == [
        "records: only the rows of a DataFrame come as columns",
        "records: its input comes as records",
    ]


def test_the_switch_is_named() -> None:
    off = {"rekindle.columns.enabled": "false"}
    found = paths(lambda rows: rows.filter(lambda r: r.v > 0).key_by(lambda r: r.k).sum("v"), **off)
    assert found[1:] == ["records: rekindle.columns.enabled is false"] * 2


def test_a_batch_job_says_that_it_gathers_its_input() -> None:
    found = paths(lambda rows: rows.key_by(lambda r: r.k).sum("v"), **{"execution.runtime-mode": "BATCH"})
    assert found[-1] == "records: in a batch job it gathers its input"


class TestBadInput:
    def test_a_failing_function_raises_its_own_error_with_operator_and_record(self) -> None:
        def error(columns: str) -> str:
            env = local_environment(1, {"rekindle.columns.enabled": columns, "restart-strategy.type": "none"})
            rows = env.from_data_frame(ROWS, "rows").map(lambda r: (r.k, 12 // r.v)).name("Shares")
            with pytest.raises(JobExecutionError) as caught:
                list(rows.key_by(lambda pair: pair[0]).sum(1).execute_and_collect())
            return str(caught.value.__cause__).splitlines()[0:2].__str__()

        assert error("true") == error("false")
        assert "ZeroDivisionError" in error("true")
        assert "in operator 'Shares', subtask 0, at record Row(k=1, v=0, s='c', t=3)" in error("true")

    def test_a_kernel_that_fails_leaves_its_batch_to_the_functions(
        self, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
    ) -> None:
        def broken(*given: Any) -> Any:
            raise MemoryError("no room for the trial")

        monkeypatch.setattr(pipeline, "column", broken)
        env = local_environment(2)
        rows = env.from_data_frame([ROWS, ROWS], "rows").map(lambda r: (r.k, r.v * 2))
        totals = rows.key_by(lambda pair: pair[0]).reduce(lambda a, b: (a[0], a[1] + b[1]))
        assert env._compile().nodes[-1].path == "columns"
        with caplog.at_level(logging.WARNING, "rekindle.columns.evaluation"):
            found = list(totals.execute_and_collect())
        assert max(found) == (2, 16)
        assert sum("no room for the trial" in record.message for record in caplog.records) == 1

    def test_late_records_go_to_their_side_output_by_either_path(self) -> None:
        late = OutputTag("late")

        def found(columns: str) -> list[Any]:
            tables = [ROWS, pa.table({"k": [1], "v": [9], "s": ["x"], "t": [5_000]}), ROWS]
            env = local_environment(1, {"rekindle.columns.enabled": columns})
            keyed = timed(env.from_data_frame(tables, "rows")).key_by(lambda r: r.k)
            results = keyed.window(TumblingEventTimeWindows.of(Time.seconds(1))).side_output_late_data(late).sum("v")
            return list(results.get_side_output(late).execute_and_collect())

        assert found("true") == found("false")
        assert len(found("true")) == 3


class _SilentError(KeyError):
    def __str__(self) -> str:
        raise ValueError("not even that")


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (KeyError("x"), "KeyError: 'x'"),
        (RecursionError("too\ndeep"), "RecursionError: too deep"),
        (_SilentError(), "_SilentError"),
    ],
)
def test_whatever_fails_while_functions_are_read_they_take_records(
    error: Exception, said: str, fail_to_read: Any, caplog: pytest.LogCaptureFixture
) -> None:
    for name, build in (
        ("traceable", lambda rows: rows.map(lambda r: (r.k, r.v)).name("Failing")),
        ("traceable_callable", lambda rows: rows.key_by(lambda r: r.k).sum("v").name("Failing")),
        ("fold_of", lambda rows: rows.key_by(lambda r: r.k).sum("v").name("Failing")),
    ):
        caplog.clear()
        with fail_to_read(name, error), caplog.at_level(logging.WARNING):
            assert paths(build)[1] == f"records: its functions could not be read ({said})"
        assert "the functions of operator 'Failing' could not be read" in caplog.text
        assert said in caplog.text
