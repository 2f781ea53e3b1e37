"""How throughput changes with the size of what a job processes: one axis at a time, everything else held still.

=============  ========================================================================================================
keys           10^3 to 10^7 keys; the count-window average of ``keyed_state.py``
records        records of 16 bytes to 10 KB; a keyed function that adds up their lengths
state          1 MB to 5 GB of state in RocksDB, 1,000 bytes a key, which every record reads and writes
exchanges      1 to 4 keyed functions one behind the other, each with an exchange before it
parallelism    1 and 2 slots, on as many cores; the count-window average
=============  ========================================================================================================

Without arguments all axes run, with sizes that take about five minutes on two cores. ``--full`` runs all sizes, in
turn, and takes medians of three. With ``--axis state --full`` the count-window average also runs with 5 M keys in
RocksDB beside Flink in Java on the same files (``peers/flink.py``; needs Maven and a JDK), both over all records.

Every step is a job of three epochs, of which the first is left out: it fills the state. The table has the records per
second of each step and their ratio to the step before; where a record is more work in each step, also that work per
second, which should not fall. Plots go to ``build/scaling``.

    python benchmarks/scaling.py [--axis NAME ...] [--full] [--rounds N] [--records N] [--plots DIRECTORY]
"""

from __future__ import annotations

import argparse
import os
import random
import statistics
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import keyed_state
from measuring import Discard, configured, overall, run_job, steady, write_pairs
from peers import flink
from pyspark.sql import SparkSession

from rekindle.common import Types
from rekindle.datastream import DataStream, KeyedProcessFunction
from rekindle.datastream.state import ValueStateDescriptor

FILES_PER_EPOCH = 4
FILES = 3 * FILES_PER_EPOCH
VALUE_BYTES = 1000
ROCKSDB = {"state.backend": "rocksdb"}

Pair = tuple[int, int]


class TotalLength(KeyedProcessFunction):
    """Add up the lengths of a key's payloads."""

    def open(self, runtime_context: Any) -> None:
        self.total = runtime_context.get_state(ValueStateDescriptor("total", Types.LONG()))

    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        self.total.update((self.total.value() or 0) + len(value.payload))
        return iter(())


class LastBytes(KeyedProcessFunction):
    """Read the bytes of a key and write others in their place."""

    def open(self, runtime_context: Any) -> None:
        self.last = runtime_context.get_state(ValueStateDescriptor("last", Types.PICKLED_BYTE_ARRAY()))
        self.random = random.Random(1).randbytes(1 << 20)  # does not compress

    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        last = self.last.value()
        start = (value.k * 7_919 + value.v + (last[0] if last else 0)) % (len(self.random) - VALUE_BYTES)
        self.last.update(self.random[start : start + VALUE_BYTES])
        return iter(())


class Forward(KeyedProcessFunction):
    """Count the records of a key and send them on under another one."""

    def open(self, runtime_context: Any) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value: Pair, ctx: Any) -> Iterator[Pair]:
        count = (self.count.value() or 0) + 1
        self.count.update(count)
        yield value[0] + 1, count


@dataclass(frozen=True, slots=True)
class Step:
    """One size on an axis.

    Attributes:
        name: The size, as the table has it.
        throughput: Records per second.
        work: What a record is in this step, in the axis' unit of work.
    """

    name: str
    throughput: float
    work: float = 1.0


@dataclass(frozen=True, slots=True)
class Axis:
    """Sizes that grow, and how a job of each size is run.

    Attributes:
        title: What grows.
        sizes: The sizes of a short run.
        full_sizes: All sizes.
        measure: Runs the job of one size in a session.
        unit: What more of a record's work is counted in; None: a record is the same work at each size.
        slots: Returns how many slots and cores a size runs on.
    """

    title: str
    sizes: tuple[int, ...]
    full_sizes: tuple[int, ...]
    measure: Callable[[SparkSession, int, int], Step]
    unit: str | None = None
    slots: Callable[[int], int] = lambda size: 2


def by_keys(spark: SparkSession, keys: int, records: int) -> Step:
    """Run the count-window average with a number of keys."""
    return Step(f"{keys:,}", _count_window_average(spark, keys, max(records, 2 * keys), 2))


def by_parallelism(spark: SparkSession, parallelism: int, records: int) -> Step:
    """Run the count-window average on a number of slots."""
    return Step(f"{parallelism}", _count_window_average(spark, 100_000, records, parallelism))


def _count_window_average(spark: SparkSession, keys: int, records: int, parallelism: int) -> float:
    with tempfile.TemporaryDirectory(prefix="rekindle-benchmark-") as data:
        write_pairs(data, records, keys, FILES)
        return steady(keyed_state.run(configured(parallelism), spark, data, FILES_PER_EPOCH))[1]


def by_record_size(spark: SparkSession, size: int, records: int) -> Step:
    """Run a job over records of a number of bytes: two longs, or a key and a payload. There are fewer large records."""
    payload = size - 8
    with tempfile.TemporaryDirectory(prefix="rekindle-benchmark-") as data:
        write_pairs(data, min(records, 400 * records // size), 10_000, FILES, payload)
        throughput = _run(
            spark,
            data,
            "k long, payload binary",
            lambda rows: rows.key_by(lambda row: row.k).process(TotalLength()),
        )
    return Step(f"{size:,} bytes", throughput, size / 1e6)


def by_state_size(spark: SparkSession, megabytes: int, records: int) -> Step:
    """Run a job with some megabytes of state in RocksDB."""
    keys = megabytes * 1_000_000 // VALUE_BYTES
    with tempfile.TemporaryDirectory(prefix="rekindle-benchmark-") as data:
        write_pairs(data, max(records // 3, 3 * keys), keys, FILES)
        throughput = _run(
            spark,
            data,
            "k long, v long",
            lambda rows: rows.key_by(lambda row: row.k).process(LastBytes()),
            ROCKSDB,
        )
    return Step(f"{megabytes:,} MB", throughput)


def by_exchanges(spark: SparkSession, exchanges: int, records: int) -> Step:
    """Run a job with keyed functions one behind the other."""

    def chain(rows: DataStream) -> DataStream:
        pairs = rows.map(lambda row: (row.k, row.v), Types.TUPLE([Types.LONG(), Types.LONG()]))
        for _ in range(exchanges):
            keyed = pairs.key_by(lambda pair: pair[0], Types.LONG())
            pairs = keyed.process(Forward(), Types.TUPLE([Types.LONG(), Types.LONG()]))
        return pairs

    with tempfile.TemporaryDirectory(prefix="rekindle-benchmark-") as data:
        write_pairs(data, records // 2, 10_000, FILES)
        throughput = _run(spark, data, "k long, v long", chain)
    return Step(f"{exchanges}", throughput, exchanges)


def _run(
    spark: SparkSession,
    data: str,
    schema: str,
    build: Callable[[DataStream], DataStream],
    settings: dict[str, str] | None = None,
) -> float:
    """Run a job over the rows of a directory on two slots; return its throughput in steady state."""
    environment = configured(2, settings)
    rows = spark.readStream.schema(schema).option("maxFilesPerTrigger", FILES_PER_EPOCH).parquet(data)
    build(environment.from_data_frame(rows, uid="events", bounded=True)).add_sink(Discard())
    return steady(run_job(environment))[1]


AXES = {
    "keys": Axis("keys", (10**3, 10**4, 10**5, 10**6), (10**3, 10**4, 10**5, 10**6, 10**7), by_keys),
    "records": Axis("size of a record", (16, 100, 1_000), (16, 100, 1_000, 10_000), by_record_size, "MB"),
    "state": Axis("state in RocksDB", (1, 10, 100), (1, 10, 100, 1_000, 5_000), by_state_size),
    "exchanges": Axis("exchanges", (1, 2, 3), (1, 2, 3, 4), by_exchanges, "exchanged records"),
    "parallelism": Axis("slots", (1, 2), (1, 2), by_parallelism, slots=lambda size: size),
}


def run_axis(axis: Axis, sizes: tuple[int, ...], records: int, rounds: int) -> list[Step]:
    """Run the jobs of an axis in turn, some rounds of them, and return their medians.

    Those with the same number of slots share a session, which a first job warms up.
    """
    steps: list[Step] = []
    for slots in sorted({axis.slots(size) for size in sizes}):
        environment = configured(slots)
        spark = environment._spark_session(slots)
        sized = [size for size in sizes if axis.slots(size) == slots]
        try:
            axis.measure(spark, sized[0], records)  # lets the JVM compile its code
            measured = [[axis.measure(spark, size, records) for size in sized] for _ in range(rounds)]
        finally:
            environment.close()
        for same in zip(*measured, strict=True):
            steps.append(replace(same[0], throughput=statistics.median(step.throughput for step in same)))
    return steps


def beside_flink(records: int, keys: int, rounds: int) -> None:
    """Run the count-window average in RocksDB beside Flink in Java on the same files, in turn, and print medians."""
    environment = configured(2)
    spark = environment._spark_session(2)
    ours, theirs = [], []
    try:
        with tempfile.TemporaryDirectory(prefix="rekindle-benchmark-") as data:
            write_pairs(data, records, keys, FILES)
            _count_window_average(spark, 100_000, 1_000_000, 2)  # lets the JVM compile its code
            for _ in range(rounds):
                rocksdb = configured(2, ROCKSDB)
                ours.append(overall(keyed_state.run(rocksdb, spark, data, FILES_PER_EPOCH)))
                theirs.append(flink.run("keyed_state", data, settings=flink.ROCKSDB).records_per_second)
    finally:
        environment.close()
    mine, peer = statistics.median(ours), statistics.median(theirs)
    print(f"\ncount-window average in RocksDB, {keys:,} keys, {records:,} records, medians of {rounds}")
    print(f"Rekindle        {mine:12,.0f} records/s   {mine / peer:5.2f} of Flink in Java")
    print(f"Flink in Java   {peer:12,.0f} records/s")


def table(axis: Axis, steps: list[Step]) -> str:
    """Return the throughput of each step and its ratio to the step before."""
    lines = []
    for before, step in zip([steps[0], *steps], steps, strict=False):
        line = f"{step.name:<16}{step.throughput:12,.0f} records/s{step.throughput / before.throughput:7.2f}"
        if axis.unit is not None:
            work, work_before = step.throughput * step.work, before.throughput * before.work
            line += f"{work:14,.1f} {axis.unit}/s{work / work_before:7.2f}"
        lines.append(line)
    return "\n".join(lines)


def plot(title: str, steps: list[Step]) -> str:
    """Return an SVG with a bar for each step."""
    top = max(step.throughput for step in steps)
    bars = []
    for number, step in enumerate(steps):
        x, height = 20 + number * 110, 200 * step.throughput / top
        bars.append(
            f'<rect x="{x}" y="{250 - height:.1f}" width="80" height="{height:.1f}" fill="#4878a8"/>'
            f'<text x="{x + 40}" y="{244 - height:.1f}">{step.throughput / 1e6:.3f} M</text>'
            f'<text x="{x + 40}" y="268">{step.name}</text>'
        )
    width = 20 + len(steps) * 110
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="285" font-family="sans-serif" font-size="12" '
        f'text-anchor="middle">\n<text x="{width // 2}" y="18" font-size="14">records/s by {title}</text>\n'
        + "\n".join(bars)
        + "\n</svg>\n"
    )


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--axis", nargs="+", choices=list(AXES), default=list(AXES), help="what grows; default: all")
    parser.add_argument("--full", action="store_true", help="all sizes, and Flink in Java beside the state")
    parser.add_argument(
        "--records", type=int, default=3_000_000, help="records of a job, where its size leaves them free"
    )
    parser.add_argument("--rounds", type=int, help="how often each job is run; default: 1, with --full 3")
    parser.add_argument("--plots", type=Path, default=Path(__file__).resolve().parents[1] / "build" / "scaling")
    args = parser.parse_args()
    rounds = args.rounds or (3 if args.full else 1)
    args.plots.mkdir(parents=True, exist_ok=True)
    print(f"{os.cpu_count()} cores; records per second in steady state, and the ratio to the step before")
    for name in args.axis:
        axis = AXES[name]
        steps = run_axis(axis, axis.full_sizes if args.full else axis.sizes, args.records, rounds)
        print(f"\n{axis.title}\n{table(axis, steps)}", flush=True)
        (args.plots / f"{name}.svg").write_text(plot(axis.title, steps))
        if name == "state" and args.full:
            beside_flink(15_000_000, 5_000_000, rounds)


if __name__ == "__main__":
    main()
