"""Keyed state on Spark against a bare Python loop: the count-window average of two, 12 M records, 100,000 keys.

Prints the throughput in steady state (the first epoch apart) and its ratio to a loop over a list on one core that does
the same with a dict. The job runs five times, and the median of the last three counts: a fresh JVM compiles its code
during the first 20 million records, and a job that runs for days does not see that. With ``--opaque-key`` it also runs
with a key that a function computes which cannot be traced, in turn with the column, and with one that can be.

    python benchmarks/keyed_state.py [--records N] [--keys K] [--parallelism P] [--epochs E] [--opaque-key]
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from typing import Any

import pyarrow.parquet as pq
from measuring import Discard, Epochs, configured, run_job, steady, write_pairs
from pyspark.sql import SparkSession

from rekindle.common import Types
from rekindle.datastream import KeyedProcessFunction, StreamExecutionEnvironment
from rekindle.datastream.state import ValueStateDescriptor


class CountWindowAverage(KeyedProcessFunction):
    """Emit the average of every two values of a key."""

    def open(self, runtime_context: Any) -> None:
        """Get the state."""
        self.sum = runtime_context.get_state(ValueStateDescriptor("sum", Types.PICKLED_BYTE_ARRAY()))

    def process_element(self, value: Any, ctx: Any) -> Iterator[tuple[int, float]]:
        """Count and add up."""
        current = self.sum.value()
        if current is None:
            current = (0, 0)
        current = (current[0] + 1, current[1] + value.v)
        if current[0] >= 2:
            self.sum.clear()
            yield value.k, current[1] / current[0]
        else:
            self.sum.update(current)


def bare_loop(records: list[tuple[int, int]]) -> float:
    """Do the same on a list, with a dict; return records per second, the best of three."""
    best = 0.0
    for _ in range(3):
        state: dict[int, tuple[int, int]] = {}
        out = []
        started = time.perf_counter()
        for k, v in records:
            current = state.get(k)
            if current is None:
                current = (0, 0)
            current = (current[0] + 1, current[1] + v)
            if current[0] >= 2:
                out.append((k, current[1] / current[0]))
                state.pop(k, None)
            else:
                state[k] = current
        best = max(best, len(records) / (time.perf_counter() - started))
    return best


def computed(number: int) -> int:
    """Compute a key in a way that tracing refuses: it asks for a truth value."""
    return number if number >= 0 else -number


KEYS: dict[str, Callable[[Any], Any]] = {
    "column": lambda row: row.k,
    "traced": lambda row: row.k + 0,
    "opaque": lambda row: computed(row.k),
}


def run(
    environment: StreamExecutionEnvironment, spark: SparkSession, data: str, files: int, key: str = "column"
) -> Epochs:
    """Run the job over all files, with a key of one of the kinds of KEYS."""
    stream = spark.readStream.schema("k long, v long").option("maxFilesPerTrigger", files).parquet(data)
    source = environment.from_data_frame(stream, uid="events", bounded=True)
    keyed = source.key_by(KEYS[key])
    keyed.process(CountWindowAverage()).add_sink(Discard())
    return run_job(environment)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--records", type=int, default=12_000_000)
    parser.add_argument("--keys", type=int, default=100_000)
    parser.add_argument("--parallelism", type=int, default=2)
    parser.add_argument("--epochs", type=int, default=9)
    parser.add_argument("--opaque-key", action="store_true", help="compare with keys that are computed")
    args = parser.parse_args()

    environment = configured(args.parallelism)
    spark = environment._spark_session(args.parallelism)
    data = tempfile.mkdtemp(prefix="rekindle-benchmark-")
    files = 4
    try:
        write_pairs(data, args.records, args.keys, args.epochs * files)
        table = pq.read_table(data)
        loop = bare_loop(list(zip(table["k"].to_numpy().tolist(), table["v"].to_numpy().tolist(), strict=True)))
        del table
        rates = [steady(run(environment, spark, data, files)) for _ in range(5)]
        computing: dict[str, list[float]] = {key: [] for key in KEYS}
        for _ in range(4 if args.opaque_key else 0):
            for key, known in computing.items():
                known.append(steady(run(environment, spark, data, files, key))[1])
    finally:
        shutil.rmtree(data)
        environment.close()
    print(f"{args.records:,} records, {args.keys:,} keys, parallelism {args.parallelism}, {os.cpu_count()} cores")
    print(f"bare loop over a list, one core    {loop:12,.0f} records/s")
    print(f"fresh JVM, first epoch             {rates[0][0]:12,.0f} records/s   {rates[0][0] / loop:5.2f} of the loop")
    print(f"fresh JVM, other epochs            {rates[0][1]:12,.0f} records/s   {rates[0][1] / loop:5.2f}")
    print(f"same job again                     {rates[1][1]:12,.0f} records/s   {rates[1][1] / loop:5.2f}")
    warm = statistics.median(rate for _, rate in rates[2:])
    print(f"steady state, median of three      {warm:12,.0f} records/s   {warm / loop:5.2f}  <- ratio")
    for key, known in computing.items() if args.opaque_key else ():
        rate, column = (statistics.median(each[1:]) for each in (known, computing["column"]))
        print(f"key: {key:30}{rate:12,.0f} records/s   {rate / column:5.2f} of a column, medians")


if __name__ == "__main__":
    main()
