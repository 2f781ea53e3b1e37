"""A job by columns, and its golden result in plain Python: turnover in windows, and totals of each key."""

from __future__ import annotations

import random
from ast import literal_eval
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa

from rekindle.common import Duration, Encoder, Time, Types, WatermarkStrategy
from rekindle.common.watermark_strategy import TimestampAssigner
from rekindle.datastream import AggregateFunction, DataStream, MapFunction
from rekindle.datastream.connectors.file_system import BucketAssigner, FileSink
from rekindle.datastream.window import TumblingEventTimeWindows
from support.balances import read_output

TABLES, WINDOW = 40, 1_000
SCHEMA = pa.schema([("k", pa.int64()), ("price", pa.int64()), ("amount", pa.int32()), ("t", pa.int64())])


class RowTime(TimestampAssigner):
    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        return value.t  # type: ignore[no-any-return]


class Turnover(AggregateFunction):
    def create_accumulator(self) -> Any:
        return -1, 0, 0, 0

    def add(self, value: Any, accumulator: Any) -> Any:
        return (
            value.k,
            accumulator[1] + value.price * value.amount,
            accumulator[2] + 1,
            max(accumulator[3], value.price),
        )

    def get_result(self, accumulator: Any) -> Any:
        return accumulator

    def merge(self, acc_a: Any, acc_b: Any) -> Any:
        return acc_b[0], acc_a[1] + acc_b[1], acc_a[2] + acc_b[2], max(acc_a[3], acc_b[3])


def tables(rng: random.Random) -> list[pa.Table]:
    """Draw orders, table by table in the order of time."""
    made = []
    for number in range(TABLES):
        batches = []
        for _ in range(2):
            count = rng.randint(1, 30)
            columns = [
                [rng.randint(0, 20) for _ in range(count)],
                [rng.randint(0, 100) for _ in range(count)],
                [rng.randint(1, 9) for _ in range(count)],
                [number * 200 + rng.randint(0, 250) for _ in range(count)],
            ]
            arrays = [pa.array(*pair) for pair in zip(columns, SCHEMA.types, strict=True)]
            batches.append(pa.RecordBatch.from_arrays(arrays, schema=SCHEMA))
        made.append(pa.Table.from_batches(batches, SCHEMA))
    return made


def kept(row: Any) -> bool:
    return row["k"] != 13 and row["price"] < 95  # type: ignore[no-any-return]


def golden(given: list[pa.Table]) -> tuple[set[str], dict[int, int]]:
    """Compute the windows and the totals of each key in plain Python."""
    windows: dict[tuple[int, int], list[int]] = defaultdict(lambda: [0, 0, 0])
    totals: dict[int, int] = defaultdict(int)
    for row in (row for table in given for row in table.to_pylist() if kept(row)):
        found = windows[row["k"], row["t"] // WINDOW]
        found[0] += row["price"] * row["amount"]
        found[1] += 1
        found[2] = max(found[2], row["price"])
        totals[row["k"]] += row["amount"]
    return {str((key, *found)) for (key, _), found in windows.items()}, totals


def job(rows_of: Callable[[str], DataStream], output: Path, between: MapFunction | None = None) -> None:
    """Write the job down.

    Args:
        rows_of: Makes the source of a name.
        output: Where its two outputs go.
        between: What the results pass through.
    """
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(300))
    for name in ("windows", "totals"):
        rows = rows_of(f"{name} rows")
        orders = rows.filter(lambda row: row.k != 13 and row.price < 95).uid(f"{name} filter")
        if name == "windows":
            timed = orders.assign_timestamps_and_watermarks(strategy.with_timestamp_assigner(RowTime())).uid("times")
            keyed = timed.key_by(lambda row: row.k)
            results = keyed.window(TumblingEventTimeWindows.of(Time.milliseconds(WINDOW))).aggregate(Turnover())
        else:
            pairs = orders.map(lambda row: (row.k, row.amount)).uid("pairs")
            results = pairs.key_by(lambda pair: pair[0]).reduce(lambda a, b: (a[0], a[1] + b[1]))
        passed = results.uid(name)
        if between is not None:
            passed = passed.map(between, Types.PICKLED_BYTE_ARRAY()).uid(f"{name} between")
        sink = FileSink.for_row_format(str(output / name), Encoder.simple_string_encoder())
        bucket = BucketAssigner.base_path_bucket_assigner()
        passed.map(str, Types.STRING()).sink_to(sink.with_bucket_assigner(bucket).build()).uid(f"{name} sink")


def assert_golden(given: list[pa.Table], output: Path) -> None:
    windows, totals = golden(given)
    found = read_output(str(output / "windows"))
    assert len(found) == len(windows)
    assert set(found) == windows
    last: dict[int, int] = defaultdict(int)
    for key, total in map(literal_eval, read_output(str(output / "totals"))):
        last[key] = max(last[key], total)
    assert last == totals
