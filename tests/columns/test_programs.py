"""Whole programs with columns on and off: results, state and metrics must be the same.

Each program is drawn at random, and run on the cluster in this process with one subtask, where the order of records is
the same on both paths; and with two, where results are compared as a set.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest

from rekindle.common import Duration, Time, WatermarkStrategy
from rekindle.common.watermark_strategy import TimestampAssigner
from rekindle.datastream import AggregateFunction, OutputTag
from rekindle.datastream.window import SlidingEventTimeWindows, TumblingEventTimeWindows
from rekindle.testing import local_environment
from support.column_cases import ODD, exact, values_of
from support.seeds import SEED, rounds

SCHEMA = pa.schema([("k", pa.int64()), ("s", pa.string()), ("i", pa.int32()), ("f", pa.float64()), ("t", pa.int64())])


class RowTime(TimestampAssigner):
    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        return value.t  # type: ignore[no-any-return]


class Average(AggregateFunction):
    def create_accumulator(self) -> Any:
        return 0, 0

    def add(self, value: Any, accumulator: Any) -> Any:
        return accumulator[0] + value.f * value.i, accumulator[1] + 1

    def get_result(self, accumulator: Any) -> Any:
        return accumulator[0] / accumulator[1], accumulator[1]

    def merge(self, acc_a: Any, acc_b: Any) -> Any:
        return acc_a[0] + acc_b[0], acc_a[1] + acc_b[1]


class Range(AggregateFunction):
    def create_accumulator(self) -> Any:
        return 1 << 40, -(1 << 40), ""

    def add(self, value: Any, accumulator: Any) -> Any:
        return min(accumulator[0], value.i), max(accumulator[1], value.i), value.s

    def get_result(self, accumulator: Any) -> Any:
        return accumulator

    def merge(self, acc_a: Any, acc_b: Any) -> Any:
        return min(acc_a[0], acc_b[0]), max(acc_a[1], acc_b[1]), acc_b[2]


MAPS: list[Callable[[Any], Any]] = [
    lambda stream: stream,
    lambda stream: stream.filter(lambda row: row.i % 3 != 1),
    lambda stream: stream.filter(lambda row: row.f > 0 or row.s == "a"),
    lambda stream: stream.filter(lambda row: not (0 <= row.i < 50)),
    lambda stream: stream.filter(lambda row: row.f),
    lambda stream: stream.filter(lambda row: row.s < "b"),
]
KEYS: list[Callable[[Any], Any]] = [
    lambda row: row.k,
    lambda row: row.s,
    lambda row: (row.s, row.k),
    lambda row: row.i % 5,
    lambda row: row.i > 0,
    lambda row: -row.k if row.k > 3 else row.k,
]
RUNNING: list[Callable[[Any], Any]] = [
    lambda keyed: keyed.sum("i"),
    lambda keyed: keyed.sum("f"),
    lambda keyed: keyed.min("f"),
    lambda keyed: keyed.max_by("i"),
    lambda keyed: keyed.min_by("f", False),
    lambda keyed: keyed.reduce(lambda a, b: (a[0], b[1], a[2] - b[2], a[3] + b[3] / 7, max(a[4], b[4]))),
]
LATE = OutputTag("late")
WINDOWS: list[Callable[[Any], Any]] = [
    lambda keyed: keyed.window(TumblingEventTimeWindows.of(Time.milliseconds(100))),
    lambda keyed: keyed.window(TumblingEventTimeWindows.of(Time.milliseconds(100), Time.milliseconds(30))),
    lambda keyed: keyed.window(SlidingEventTimeWindows.of(Time.milliseconds(120), Time.milliseconds(50))),
    lambda keyed: keyed.window(TumblingEventTimeWindows.of(Time.milliseconds(100))).allowed_lateness(90),
    lambda keyed: keyed.window(TumblingEventTimeWindows.of(Time.milliseconds(100))).side_output_late_data(LATE),
]
FOLDS: list[Callable[[Any], Any]] = [
    lambda windows: windows.aggregate(Average()),
    lambda windows: windows.aggregate(Range()),
    lambda windows: windows.reduce(lambda a, b: (a[0], a[1], a[2] + b[2], a[3], b[4])),
    lambda windows: windows.sum("i"),
    lambda windows: windows.max_by("f"),
]


def tables(rng: random.Random, odd: str, tasks: int) -> list[pa.Table]:
    """Draw what each epoch reads; timestamps go back and forth, also before 1970."""
    made = []
    for epoch in range(4):
        batches = []
        for _ in range(rng.randint(1, tasks)):
            count = rng.choice([0, 1, 3, 40])
            own = odd if rng.random() < 0.6 else "plain"
            columns = [
                [rng.randint(0, 6) for _ in range(count)],
                values_of("string", count, own, rng),
                values_of("int32", count, own, rng),
                values_of("float64", count, own, rng),
                [epoch * 150 - 200 + rng.randint(-120, 200) for _ in range(count)],
            ]
            arrays = [pa.array(*pair) for pair in zip(columns, SCHEMA.types, strict=True)]
            batches.append(pa.RecordBatch.from_arrays(arrays, schema=SCHEMA))
        made.append(pa.Table.from_batches(batches, SCHEMA))
    return made


def program(rng: random.Random) -> Callable[[Any], list[Any]]:
    """Draw a program: what is done to a stream of rows, and which streams come out."""
    before, after, key = rng.choice(MAPS), rng.choice(MAPS), rng.choice(KEYS)
    running, window, fold = rng.choice(RUNNING), rng.choice(WINDOWS), rng.choice(FOLDS)
    windowed = rng.random() < 0.6
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(RowTime())

    def build(stream: Any) -> Any:
        stream = before(stream)
        if windowed:
            stream = after(stream.assign_timestamps_and_watermarks(strategy))
            results = fold(window(stream.key_by(key)))
            late = results.get_side_output(LATE).map(lambda row: ("late", row))
            return results.map(lambda result: ("in time", result)).union(late)
        return running(after(stream).key_by(key))

    return build


def outcome(build: Any, given: list[pa.Table], columns: bool, parallelism: int) -> tuple[list[Any], Any]:
    """Run a program; return its results or its error, and which path each operator took."""
    settings = {
        "rekindle.columns.enabled": str(columns).lower(),
        "restart-strategy.type": "none",
        "pipeline.auto-watermark-interval": "1 h",  # at the end of an epoch, and not by the clock in the middle of one
    }
    env = local_environment(parallelism, settings)
    result = build(env.from_data_frame(given, "rows"))
    paths = [node.path for node in env._compile().nodes if "Map" not in node.name]
    try:
        found = [exact(value) for value in result.execute_and_collect()]
    except Exception as error:
        return [f"failed by {type(error.__cause__).__name__}"], paths  # of several bad records any may be the first
    return found if parallelism == 1 else sorted(found, key=repr), paths


SEEDS = range(SEED, SEED + rounds(12, 400))


@pytest.mark.parametrize("odd", ODD)
def test_one_subtask_gives_the_same_in_the_same_order(odd: str) -> None:
    by_columns = 0
    for seed in SEEDS:
        rng = random.Random(f"{seed} {odd}")
        build, given = program(rng), tables(rng, odd, 1)
        expected, _ = outcome(build, given, False, 1)
        found, paths = outcome(build, given, True, 1)
        assert found == expected, (seed, odd, paths)
        by_columns += paths[-1].startswith("columns")
    assert by_columns > len(SEEDS) / 2


@pytest.mark.parametrize("odd", ["plain", "wide"])
def test_two_subtasks_give_the_same(odd: str) -> None:
    for seed in SEEDS:
        rng = random.Random(f"{seed} {odd} two")
        key, given = rng.choice(KEYS), tables(rng, odd, 3)
        # How records are dealt out to those who make watermarks is not the same, so none may be late.
        strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_seconds(9)).with_timestamp_assigner(
            RowTime()
        )

        def build(stream: Any, key: Any = key, strategy: Any = strategy) -> Any:
            keyed = stream.assign_timestamps_and_watermarks(strategy).key_by(key)
            return keyed.window(TumblingEventTimeWindows.of(Time.milliseconds(100))).aggregate(Range())

        expected, _ = outcome(build, given, False, 2)
        found, paths = outcome(build, given, True, 2)
        assert [row[2][:2] for row in found] == [row[2][:2] for row in expected], (seed, odd, paths)
