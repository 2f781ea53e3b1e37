"""Keyed state on Spark against a bare Python loop: the count-window average of two, 4 M records, 100,000 keys.

Prints the throughput in steady state (the first epoch apart) and its ratio to a loop over a list on one core that does
the same with a dict. The job runs twice: a fresh JVM compiles its code during the first millions of records, and a job
that runs for days does not see that.

    python benchmarks/keyed_state.py [--records N] [--keys K] [--parallelism P] [--epochs E] [--opaque-key]
"""

from __future__ import annotations

import argparse
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
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


def run(environment: StreamExecutionEnvironment, spark: SparkSession, data: str, files: int, opaque: bool) -> Epochs:
    """Run the job over all files."""
    stream = spark.readStream.schema("k long, v long").option("maxFilesPerTrigger", files).parquet(data)
    source = environment.from_data_frame(stream, uid="events", bounded=True)
    keyed = source.key_by((lambda row: row.k + 0) if opaque else (lambda row: row.k))
    keyed.process(CountWindowAverage()).add_sink(Discard())
    return run_job(environment)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--records", type=int, default=4_000_000)
    parser.add_argument("--keys", type=int, default=100_000)
    parser.add_argument("--parallelism", type=int, default=2)
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--opaque-key", action="store_true", help="a key that is computed, not a column")
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
        cold = steady(run(environment, spark, data, files, args.opaque_key))
        warm = steady(run(environment, spark, data, files, args.opaque_key))
    finally:
        shutil.rmtree(data)
        environment.close()
    print(f"{args.records:,} records, {args.keys:,} keys, parallelism {args.parallelism}, {os.cpu_count()} cores")
    print(f"bare loop over a list, one core    {loop:12,.0f} records/s")
    print(f"fresh JVM, first epoch             {cold[0]:12,.0f} records/s   {cold[0] / loop:5.2f} of the loop")
    print(f"fresh JVM, other epochs            {cold[1]:12,.0f} records/s   {cold[1] / loop:5.2f}")
    print(f"same job again, first epoch        {warm[0]:12,.0f} records/s   {warm[0] / loop:5.2f}")
    print(f"same job again, steady state       {warm[1]:12,.0f} records/s   {warm[1] / loop:5.2f}  <- ratio")


if __name__ == "__main__":
    main()
