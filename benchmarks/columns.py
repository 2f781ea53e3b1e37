"""Programs by columns against the same programs record by record, and against Flink in Java reading the same files.

Two jobs, both from Parquet files that Spark reads:

- ``window``: sum and average of each key in tumbling event-time windows, by a plain AggregateFunction;
- ``words``: a word count by ``reduce``, with a result for every word.

Each runs with columns and, on fewer records, without; ``window`` runs in Flink, too, from the same files and from its
own generator. All take turns, three rounds of them; medians count. A JVM is slower until it has
compiled its code: before the first run that counts, every job has run twice in its JVM, in Spark's as in Flink's.

    python benchmarks/columns.py [--records N] [--keys K] [--rounds N] [--parallelism P] [--no-flink]
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from measuring import Discard, configured, overall, run_job

from rekindle.common import Time, WatermarkStrategy
from rekindle.common.watermark_strategy import TimestampAssigner
from rekindle.datastream import AggregateFunction, StreamExecutionEnvironment
from rekindle.datastream.window import TumblingEventTimeWindows

WINDOW_MS = 10_000
WARM_UP = 2  # runs of each job that do not count
SLOWER = 6  # how many times fewer records the jobs get that run record by record


class Arrival(TimestampAssigner):
    """Take the time of a row out of its column."""

    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        return value.ts


class SumAndAverage(AggregateFunction):
    """Add up and count."""

    def create_accumulator(self) -> tuple[int, int]:
        return 0, 0

    def add(self, value: Any, accumulator: tuple[int, int]) -> tuple[int, int]:
        return accumulator[0] + value.v, accumulator[1] + 1

    def get_result(self, accumulator: tuple[int, int]) -> tuple[int, float]:
        return accumulator[0], accumulator[0] / accumulator[1]

    def merge(self, acc_a: tuple[int, int], acc_b: tuple[int, int]) -> tuple[int, int]:
        return acc_a[0] + acc_b[0], acc_a[1] + acc_b[1]


def write_timed(directory: Path, records: int, keys: int, files: int) -> None:
    """Write rows of a key, a time and a value. Time goes on from file to file; a window has about 100 rows of a key."""
    directory.mkdir()
    rng = np.random.default_rng(1)
    per_ms = 100 * keys / WINDOW_MS
    for number in range(files):
        start, stop = records * number // files, records * (number + 1) // files
        columns = {
            "k": pa.array(rng.integers(0, keys, stop - start)),
            "ts": pa.array((np.arange(start, stop) / per_ms).astype(np.int64)),
            "v": pa.array(rng.integers(0, 100, stop - start)),
        }
        pq.write_table(pa.table(columns), directory / f"part-{number:05}.parquet")


def write_words(directory: Path, records: int, words: int, files: int) -> None:
    """Write words, some of them often and most of them rarely."""
    directory.mkdir()
    rng = np.random.default_rng(2)
    known = np.array([f"word-{number}" for number in range(words)])
    for number in range(files):
        rows = records * (number + 1) // files - records * number // files
        places = np.minimum(rng.zipf(1.3, rows) - 1, words - 1)
        pq.write_table(pa.table({"word": pa.array(known[places])}), directory / f"part-{number:05}.parquet")


def window(environment: StreamExecutionEnvironment, data: Path, files: int) -> None:
    """Describe the job with windows."""
    spark = environment._spark_session(environment.get_parallelism())
    rows = spark.readStream.schema("k long, ts long, v long").option("maxFilesPerTrigger", files).parquet(str(data))
    times = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(Arrival())
    (
        environment.from_data_frame(rows, uid="rows", bounded=True)
        .assign_timestamps_and_watermarks(times)
        .key_by(lambda row: row.k)
        .window(TumblingEventTimeWindows.of(Time.milliseconds(WINDOW_MS)))
        .aggregate(SumAndAverage())
        .add_sink(Discard())
    )


def words(environment: StreamExecutionEnvironment, data: Path, files: int) -> None:
    """Describe the word count."""
    spark = environment._spark_session(environment.get_parallelism())
    rows = spark.readStream.schema("word string").option("maxFilesPerTrigger", files).parquet(str(data))
    (
        environment.from_data_frame(rows, uid="words", bounded=True)
        .map(lambda row: (row.word, 1))
        .key_by(lambda pair: pair[0])
        .reduce(lambda a, b: (a[0], a[1] + b[1]))
        .add_sink(Discard())
    )


def run(job: Callable[..., None], data: Path, columns: bool, parallelism: int, files: int) -> float:
    """Run a job with or without columns; return its records per second, the first epoch included."""
    environment = configured(parallelism, {"rekindle.columns.enabled": str(columns).lower()})
    job(environment, data, files)
    return overall(run_job(environment))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--records", type=int, default=12_000_000)
    parser.add_argument("--keys", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--parallelism", type=int, default=2)
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--no-flink", action="store_true")
    args = parser.parse_args()
    directory = Path(tempfile.mkdtemp(prefix="rekindle-benchmark-"))
    per_epoch = 4
    files = args.epochs * per_epoch
    speeds: dict[str, list[float]] = {}
    try:
        for name, write, count in (("timed", write_timed, args.keys), ("words", write_words, args.keys)):
            write(directory / name, args.records, count, files)
            write(directory / f"few-{name}", args.records // SLOWER, count, files)
        session = configured(args.parallelism)  # keeps Spark, and its compiled code, for all jobs
        session._spark_session(args.parallelism)
        plan: dict[str, Callable[[], float]] = {}
        for name, job, data in (("window", window, "timed"), ("word count", words, "words")):
            plan[f"{name}, by columns"] = lambda job=job, data=data: run(
                job, directory / data, True, args.parallelism, per_epoch
            )
            plan[f"{name}, record by record"] = lambda job=job, data=data: run(
                job, directory / f"few-{data}", False, args.parallelism, per_epoch
            )
        if not args.no_flink:
            sys.path.insert(0, str(Path(__file__).resolve().parent))
            from peers import flink

            flink.class_path()  # built before anything is measured
            made = flink.Generated(args.records, args.keys)
            common: dict[str, Any] = {"window_ms": WINDOW_MS, "parallelism": args.parallelism, "rounds": 1 + WARM_UP}
            plan["window, Flink in Java, same files"] = lambda: (
                flink.run("window", directory / "timed", **common).records_per_second
            )
            plan["window, Flink in Java, generator"] = lambda: flink.run("window", made, **common).records_per_second
        for _, measure in [each for each in plan.items() if "Flink" not in each[0]] * WARM_UP:
            measure()
        for _ in range(args.rounds):
            for name, measure in plan.items():
                speeds.setdefault(name, []).append(measure())
        session.close()
    finally:
        shutil.rmtree(directory)
    medians = {name: statistics.median(found) for name, found in speeds.items()}
    print(f"{args.records:,} records, {args.keys:,} keys, parallelism {args.parallelism}, {os.cpu_count()} cores")
    for name, found in speeds.items():
        each = ", ".join(f"{speed / 1e6:.2f}" for speed in found)
        print(f"{name:<36} {medians[name] / 1e6:7.2f} M records/s   ({each})")
    _compare(medians, "window, by columns", "window, record by record")
    _compare(medians, "word count, by columns", "word count, record by record")
    if not args.no_flink:
        _compare(medians, "window, by columns", "window, Flink in Java, same files")


def _compare(medians: dict[str, float], one: str, other: str) -> None:
    print(f"{one} to {other:<36} {medians[one] / medians[other]:7.2f}")


if __name__ == "__main__":
    main()
