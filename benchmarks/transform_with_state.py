"""A keyed process function against Spark's transformWithState, on the same files, in one Spark.

Counts and sums the values of each key in windows, by hand: a map state from the end of a window to what is in it, and a
timer in event time that emits a window and removes it. Spark's processors add up all rows that they get of a key before
they touch the state once; the keyed process function is called for each record. Both write a checkpoint after each of
the same micro-batches: Spark with RocksDB and its changelog, Rekindle on the heap and with RocksDB.

Rekindle's time goes from the beginning of the first epoch to the end of the job, its last checkpoint included; Spark's
is the sum of its micro-batches. All take turns; before the first round that counts each has run once. Every run must
give the windows that the files hold.

Spark's processors in Python need protobuf, which the tools of development bring along.

    python benchmarks/transform_with_state.py [--records N] [--keys K …] [--batches B] [--rounds N]
"""

from __future__ import annotations

import argparse
import os
import pickle
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from measuring import Epochs, configured
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the customary name
from pyspark.sql.streaming import StatefulProcessor, StatefulProcessorHandle

from rekindle.common import Types, WatermarkStrategy
from rekindle.common.watermark_strategy import TimestampAssigner
from rekindle.datastream import (
    EmbeddedRocksDBStateBackend,
    KeyedProcessFunction,
    RuntimeContext,
    SinkFunction,
    StreamExecutionEnvironment,
)
from rekindle.datastream.state import MapStateDescriptor

PARALLELISM = 2
WINDOW_MS = 1_000_000
WINDOWS = 10  # of a key, in all files together
END = WINDOW_MS * WINDOWS
SCHEMA = "k long, ts long, v long"
RESULT = "k long, end long, count long, total long"
ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"

Result = tuple[int, int, int, int]
"""A window of a key: the key, its end, how many values, and their sum."""


def end_of(timestamp: int) -> int:
    """Return the end of the window that a timestamp is in."""
    return timestamp - timestamp % WINDOW_MS + WINDOW_MS


class Arrival(TimestampAssigner):
    """Take the time of a row out of its column."""

    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        return value.ts


class Windows(KeyedProcessFunction):
    """Add up the windows of a key."""

    def open(self, runtime_context: RuntimeContext) -> None:
        descriptor = MapStateDescriptor("windows", Types.LONG(), Types.TUPLE([Types.LONG(), Types.LONG()]))
        self.windows = runtime_context.get_map_state(descriptor)

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> None:
        end = end_of(value.ts)
        window = self.windows.get(end)
        if window is None:
            ctx.timer_service().register_event_time_timer(end)
            window = 0, 0
        self.windows.put(end, (window[0] + 1, window[1] + value.v))

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterator[Result]:
        count, total = self.windows.get(timestamp)
        self.windows.remove(timestamp)
        yield ctx.get_current_key(), timestamp, count, total


class Keep(SinkFunction):
    """Keep all results of a subtask, and write them to a file in the end."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.results: list[Result] = []

    def open(self, runtime_context: RuntimeContext) -> None:
        self.file = self.directory / str(runtime_context.get_index_of_this_subtask())

    def invoke(self, value: Result, context: Any) -> None:
        self.results.append(value)

    def close(self) -> None:
        self.file.write_bytes(pickle.dumps(self.results))


class WindowsByRow(StatefulProcessor):
    """Do the same for transformWithState, whose input is rows."""

    def init(self, handle: StatefulProcessorHandle) -> None:
        self.handle = handle
        self.windows = handle.getMapState("windows", "end long", "count long, total long")

    def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> Iterator[Any]:  # noqa: N803 - Spark's
        added: dict[int, tuple[int, int]] = {}
        for row in rows:
            end = end_of(row.ts)
            count, total = added.get(end, (0, 0))
            added[end] = count + 1, total + row.v
        self.add(added)
        return iter(())

    def handleExpiredTimer(self, key: Any, timerValues: Any, expiredTimerInfo: Any) -> Iterator[Any]:  # noqa: N803
        yield Row(**dict(zip(("k", "end", "count", "total"), self.expired(key, expiredTimerInfo), strict=True)))

    def add(self, added: dict[int, tuple[int, int]]) -> None:
        """Bring what a micro-batch has of a key into the state."""
        for end, (count, total) in added.items():
            window = self.windows.getValue((end,))
            if window is None:
                self.handle.registerTimer(end)
                window = (0, 0)
            self.windows.updateValue((end,), (window[0] + count, window[1] + total))

    def expired(self, key: Any, timer: Any) -> Result:
        """Take the window of a timer out of the state."""
        end = timer.getExpiryTimeInMs()
        count, total = self.windows.getValue((end,))
        self.windows.removeKey((end,))
        return key[0], end, count, total


class WindowsByFrame(WindowsByRow):
    """Do the same for transformWithStateInPandas, whose input is frames."""

    def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> Iterator[Any]:  # noqa: N803 - Spark's
        added: dict[int, tuple[int, int]] = {}
        for frame in rows:
            for end, values in frame["v"].groupby(end_of(frame["ts"])):
                count, total = added.get(end, (0, 0))
                added[int(end)] = count + len(values), total + int(values.sum())
        self.add(added)
        return iter(())

    def handleExpiredTimer(self, key: Any, timerValues: Any, expiredTimerInfo: Any) -> Iterator[Any]:  # noqa: N803
        yield pd.DataFrame([self.expired(key, expiredTimerInfo)], columns=["k", "end", "count", "total"])


def write_files(directory: Path, records: int, keys: int, files: int) -> set[Result]:
    """Write rows whose time goes on from file to file; the last file has one row, after all windows.

    Returns:
        What is in the windows.
    """
    directory.mkdir()
    rng = np.random.default_rng(1)
    columns = {
        "k": rng.integers(0, keys, records),
        "ts": 1 + np.arange(records) * END // records,  # at 0 a row is as old as Spark's first watermark, and dropped
        "v": rng.integers(0, 100, records),
    }
    for number in range(files):
        part = slice(records * number // files, records * (number + 1) // files)
        _write(directory, number, {name: column[part] for name, column in columns.items()})
    _write(directory, files, {"k": np.array([0]), "ts": np.array([2 * END]), "v": np.array([0])})
    frame = pd.DataFrame(columns).assign(end=lambda rows: end_of(rows["ts"]))
    windows = frame.groupby(["k", "end"])["v"].agg(["size", "sum"]).reset_index()
    return set(windows.itertuples(index=False, name=None))


def _write(directory: Path, number: int, columns: dict[str, Any]) -> None:
    path = directory / f"part-{number:05}.parquet"
    pq.write_table(pa.table(columns), path)
    os.utime(path, (number, number))  # Spark reads the oldest file first


def rows_of(spark: SparkSession, data: Path, files: int) -> DataFrame:
    """Read so many files in each micro-batch."""
    return spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", files).parquet(str(data))


def run_rekindle(rocksdb: bool, data: Path, files: int, scratch: Path) -> tuple[float, set[Result]]:
    """Run Rekindle's job; return the seconds it took, and its results."""
    environment: StreamExecutionEnvironment = configured(PARALLELISM)
    environment.enable_checkpointing(10)  # one after each epoch
    environment.get_checkpoint_config().set_checkpoint_storage_dir(f"file://{scratch}/checkpoints")
    if rocksdb:
        environment.set_state_backend(EmbeddedRocksDBStateBackend(True))
    output = scratch / "results"
    output.mkdir()
    times = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(Arrival())
    rows = environment.from_data_frame(rows_of(environment.spark_session, data, files), uid="rows", bounded=True)
    keyed = rows.assign_timestamps_and_watermarks(times).key_by(lambda row: row.k)
    keyed.process(Windows()).add_sink(Keep(output))
    epochs = Epochs()
    environment._submit("windows", None, epochs).result.result()
    ended = time.perf_counter()
    at, summary = epochs.finished[0]
    results = {result for file in output.iterdir() for result in pickle.loads(file.read_bytes())}
    return ended - (at - summary.seconds), results


def run_spark(frames: bool, spark: SparkSession, data: Path, files: int, scratch: Path) -> tuple[float, set[Result]]:
    """Run Spark's query; return the seconds it took, and its results."""
    timed = rows_of(spark, data, files).withColumn("time", F.timestamp_millis("ts")).withWatermark("time", "0 seconds")
    keyed = timed.groupBy("k")
    results: set[Result] = set()

    def keep(batch: DataFrame, number: int) -> None:
        table = batch.toArrow()
        results.update(zip(*(column.to_pylist() for column in table.columns), strict=True))

    if frames:
        windows = keyed.transformWithStateInPandas(WindowsByFrame(), RESULT, "Append", "EventTime")
    else:
        windows = keyed.transformWithState(WindowsByRow(), RESULT, "Append", "EventTime")
    writer = windows.writeStream.foreachBatch(keep).option("checkpointLocation", str(scratch))
    query = writer.trigger(availableNow=True).start()
    query.awaitTermination()
    return sum(progress["durationMs"]["triggerExecution"] for progress in query.recentProgress) / 1000, results


def measured(run: Callable[[Path], tuple[float, set[Result]]], expected: set[Result]) -> float:
    """Run a job in a directory of its own, and check its results; return the seconds it took."""
    scratch = Path(tempfile.mkdtemp(prefix="rekindle-benchmark-"))
    try:
        seconds, results = run(scratch)
    finally:
        shutil.rmtree(scratch)
    found = {result for result in results if result[1] <= END}
    if found != expected:
        raise SystemExit(f"{len(expected - found)} windows are missing, and {len(found - expected)} are wrong")
    return seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--records", type=int, default=400_000)
    parser.add_argument("--keys", type=int, nargs="+", default=[100, 2_000])
    parser.add_argument("--batches", type=int, default=4)
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()
    directory = Path(tempfile.mkdtemp(prefix="rekindle-benchmark-"))
    settings = {
        "spark.sql.shuffle.partitions": str(PARALLELISM),
        "spark.python.authenticate.socketTimeout": "120s",  # 15 s is short on a busy machine
    }
    environment = configured(PARALLELISM, settings)
    spark = environment.spark_session
    spark.conf.set("spark.sql.streaming.stateStore.providerClass", ROCKSDB)
    spark.conf.set("spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled", "true")
    files = PARALLELISM
    try:
        for keys in args.keys:
            data = directory / str(keys)
            expected = write_files(data, args.records, keys, files * args.batches)
            plan: dict[str, Callable[[Path], tuple[float, set[Result]]]] = {
                "Rekindle, heap": lambda scratch, data=data: run_rekindle(False, data, files, scratch),
                "Rekindle, RocksDB": lambda scratch, data=data: run_rekindle(True, data, files, scratch),
                "transformWithState": lambda scratch, data=data: run_spark(False, spark, data, files, scratch),
                "transformWithStateInPandas": lambda scratch, data=data: run_spark(True, spark, data, files, scratch),
            }
            speeds: dict[str, list[float]] = {name: [] for name in plan}
            for number in range(args.rounds + 1):
                for name, run in plan.items():
                    speed = args.records / measured(run, expected)
                    if number:
                        speeds[name].append(speed)
            _report(args.records, keys, args.batches, len(expected), speeds)
    finally:
        environment.close()
        shutil.rmtree(directory)


def _report(records: int, keys: int, batches: int, windows: int, speeds: dict[str, list[float]]) -> None:
    print(f"\n{records:,} records, {keys:,} keys, {windows:,} windows, {batches} micro-batches, {os.cpu_count()} cores")
    medians = {name: statistics.median(found) for name, found in speeds.items()}
    best = max(speed for name, speed in medians.items() if not name.startswith("Rekindle"))
    for name, found in speeds.items():
        each = ", ".join(f"{speed:,.0f}" for speed in found)
        print(f"{name:<28}{medians[name]:>10,.0f} records/s{medians[name] / best:>8.1f}   ({each})", flush=True)
    print("the last column but one: as a multiple of the faster of Spark's; results of all runs are equal")


if __name__ == "__main__":
    main()
