"""Latency of records on Spark, and the time from epoch to epoch.

A stream in Spark's memory gets records at a steady rate, each with the time at which it is due. A stateful function
counts them per key, and a sink compares the time with the clock. The same stream goes through a keyed process function
of Rekindle's and through Spark's applyInPandasWithState; both begin a micro-batch as soon as the one before has ended.
The first seconds are left out.

The time from epoch to epoch is that of a job with one exchange and two records in each epoch, which come from a source
in the slots, or from a stream of Spark's.

    python benchmarks/latency.py [--seconds S] [--keys K] [--epochs E] [--rates R …]
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import threading
import time
from array import array
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from measuring import Discard, Epochs
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.state import GroupState

from rekindle.common import Configuration, Types, WatermarkStrategy
from rekindle.datastream import KeyedProcessFunction, RuntimeContext, SinkFunction, StreamExecutionEnvironment
from rekindle.datastream.connectors.number_seq import NumberSequenceSource
from rekindle.datastream.state import ValueStateDescriptor
from rekindle.runtime.spark.versions import memory_stream

WARM_UP = 6.0  # seconds of each job that do not count
BURST = 0.01  # seconds
SETTLING = 3.0  # seconds without an epoch, after which all records have been processed
PARALLELISM = 2

Times = tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]
"""When records were due, and when the sink saw them."""


class Count(KeyedProcessFunction):
    """Count the records of each key."""

    def open(self, runtime_context: RuntimeContext) -> None:
        """Get the state."""
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value: Any, ctx: Any) -> Iterator[tuple[int, int]]:
        """Emit the number of records so far, with the time of this one."""
        count = (self.count.value() or 0) + 1
        self.count.update(count)
        yield value.due, count


class Clock(SinkFunction):
    """Note how old each record is, and write that to a file in the end."""

    def __init__(self, directory: str) -> None:
        self.directory = directory

    def open(self, runtime_context: RuntimeContext) -> None:
        """Begin with none."""
        self.path = os.path.join(self.directory, f"{runtime_context.get_index_of_this_subtask()}.npy")
        self.times = array("q")

    def invoke(self, value: tuple[int, int], context: Any) -> None:
        """Look at the clock."""
        self.times.extend((value[0], time.time_ns()))

    def close(self) -> None:
        """Write it all."""
        np.save(self.path, np.array(self.times, dtype=np.int64))


class Feed(threading.Thread):
    """Add records to a stream, in small bursts, until it is stopped; before it is started, there is one burst.

    Attributes:
        frame: The stream: a key, and when the record was due, in nanoseconds.
        began: When it was started.
    """

    def __init__(self, spark: SparkSession, rate: int, keys: int) -> None:
        super().__init__(daemon=True)
        self._sequence: Any = spark._jvm.PythonUtils.toSeq
        self._stream = memory_stream(spark, PARALLELISM)
        self._origin = time.time_ns()
        self._ended = threading.Event()
        self.began = self._origin
        size = int(rate * BURST)
        numbers = f"explode(sequence(value * {size}L, value * {size}L + {size - 1}L)) AS n"
        columns = f"n * 7919 % {keys} AS key", f"{self._origin}L + n * {10**9 // rate}L AS due"
        self.frame = DataFrame(self._stream.toDF(), spark).selectExpr(numbers).selectExpr(*columns)
        self._add(0)

    def run(self) -> None:
        """Add each burst when its last record is due."""
        self.began = time.time_ns()
        burst = int((self.began - self._origin) / 1e9 / BURST)
        while not self._ended.wait(max(0.0, self._origin / 1e9 + (burst + 1) * BURST - time.time())):
            self._add(burst)
            burst += 1

    def stop(self) -> None:
        """Add no more."""
        self._ended.set()

    def _add(self, burst: int) -> None:
        self._stream.addData(self._sequence([burst]))


def measured(spark: SparkSession, rate: int, keys: int, run: Callable[[Feed], Times]) -> tuple[float, float]:
    """Return the median and the 99th percentile of the latency, in milliseconds.

    Args:
        spark: The session.
        rate: Records per second.
        keys: How many keys there are.
        run: Runs a job that reads the stream, for a while.
    """
    feed = Feed(spark, rate, keys)
    try:
        due, seen = run(feed)
    finally:
        feed.stop()
    counted = due > feed.began + WARM_UP * 1e9
    p50, p99 = np.percentile((seen - due)[counted] / 1e6, (50, 99))
    return float(p50), float(p99)


def run_rekindle(environment: StreamExecutionEnvironment, feed: Feed, seconds: float) -> Times:
    """Run Rekindle's job."""
    with tempfile.TemporaryDirectory() as directory:
        source = environment.from_data_frame(feed.frame, uid="records")
        source.key_by(lambda row: row.key).process(Count()).add_sink(Clock(directory))
        epochs = Epochs()
        job = environment._submit(None, None, epochs)
        while not epochs.finished and not job.result.done():
            time.sleep(0.1)
        feed.start()
        time.sleep(WARM_UP + seconds)
        feed.stop()
        while time.perf_counter() - epochs.finished[-1][0] < SETTLING and not job.result.done():
            time.sleep(0.1)  # what is under way counts, or only quick records would
        job.cancel()
        job.result.exception()
        files = [np.load(os.path.join(directory, name)).reshape(-1, 2) for name in os.listdir(directory)]
    times = np.concatenate(files)
    return times[:, 0], times[:, 1]


def count(key: tuple[int], frames: Iterator[pd.DataFrame], state: GroupState) -> Iterator[pd.DataFrame]:
    """Count the records of a key, as a function of Spark's."""
    before = state.get[0] if state.exists else 0
    for frame in frames:
        yield pd.DataFrame({"due": frame["due"], "count": range(before + 1, before + 1 + len(frame))})
        before += len(frame)
    state.update((before,))


def run_spark(feed: Feed, seconds: float) -> Times:
    """Run Spark's job."""
    due: list[Any] = []
    seen: list[Any] = []

    def sink(batch: DataFrame, epoch: int) -> None:
        column = batch.select("due").toArrow().column(0).to_numpy()
        due.append(column)
        seen.append(np.full(len(column), time.time_ns()))

    counts = feed.frame.groupBy("key").applyInPandasWithState(
        count, "due long, count long", "count long", "append", "NoTimeout"
    )
    with tempfile.TemporaryDirectory() as directory:
        query = counts.writeStream.foreachBatch(sink).option("checkpointLocation", directory).start()
        while not any(map(len, due)) and query.isActive:
            time.sleep(0.1)
        feed.start()
        time.sleep(WARM_UP + seconds)
        feed.stop()
        query.processAllAvailable()
        query.stop()
        if (error := query.exception()) is not None:
            raise error
    return np.concatenate(due), np.concatenate(seen)


def epoch_to_epoch(environment: StreamExecutionEnvironment, epochs: int) -> float:
    """Run what is in an environment for some epochs; return the median time from one to the next, in milliseconds."""
    view = Epochs()
    job = environment._submit(None, None, view)
    while len(view.finished) < epochs and not job.result.done():
        time.sleep(0.1)
    job.cancel()
    job.result.exception()
    ended = [at for at, _ in view.finished[epochs // 3 : epochs]]
    return statistics.median(1000 * (after - before) for before, after in pairwise(ended))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--keys", type=int, default=100)
    parser.add_argument("--epochs", type=int, default=150)
    parser.add_argument("--rates", type=int, nargs="+", default=[1_000, 50_000])
    args = parser.parse_args()

    configuration = Configuration()
    configuration.set_integer("rekindle.epoch.max-records", 2)
    configuration.set_string("spark.sql.shuffle.partitions", str(PARALLELISM))
    environment = StreamExecutionEnvironment.get_execution_environment(configuration)
    environment.set_parallelism(PARALLELISM)
    spark = environment._spark_session(PARALLELISM)
    try:
        numbers = NumberSequenceSource(0, 10**9)
        source = environment.from_source(numbers, WatermarkStrategy.no_watermarks(), "numbers")
        source.key_by(lambda number: number).map(lambda number: number).add_sink(Discard())
        slots = epoch_to_epoch(environment, args.epochs)
        rows = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", 2).option("numPartitions", 1).load()
        source = environment.from_data_frame(rows, uid="rows")
        source.key_by(lambda row: row.value).map(lambda row: row).add_sink(Discard())
        stream = epoch_to_epoch(environment, args.epochs)
        print(f"\nfrom epoch to epoch, source in the slots    {slots:7.0f} ms")
        print(f"from epoch to epoch, stream of Spark's      {stream:7.0f} ms\n")
        print(f"{'latency':>26}{'p50':>17}{'p99':>11}")
        for rate in args.rates:
            jobs: dict[str, Callable[[Feed], Times]] = {
                "Rekindle": lambda feed: run_rekindle(environment, feed, args.seconds),
                "Spark": lambda feed: run_spark(feed, args.seconds),
            }
            for name, run in jobs.items():
                p50, p99 = measured(spark, rate, args.keys, run)
                print(f"{rate:>9,} records/s {name:<9}{p50:>11,.0f} ms{p99:>8,.0f} ms", flush=True)
    finally:
        environment.close()


if __name__ == "__main__":
    main()
