"""What it costs to deal a record out to 2, 8, 32 and 128 targets: it must not grow with their number.

The writers of an exchange, without Spark or slots: by key, record by record and by columns, and at random, in turn.
The same number of records waits for each target before it is encoded, as in a job. The best of some rounds counts.

    python benchmarks/targets.py [--records N] [--chunk N]
"""

from __future__ import annotations

import argparse
import random
import time

import pyarrow as pa

from rekindle.columns.shapes import Shape
from rekindle.graph.job_graph import JobEdge
from rekindle.graph.partitioning import Partitioner, Partitioning
from rekindle.runtime.chunk import Chunk
from rekindle.runtime.column_chunk import ColumnChunk
from rekindle.runtime.exchange.dealing import Deal
from rekindle.runtime.exchange.key_routes import KeyRoutes
from rekindle.runtime.exchange.partition_writers import ShuffleWriter
from rekindle.runtime.exchange.writers import ExchangeWriter, HashWriter
from rekindle.types.spark_typeinfo import SparkRowTypeInfo
from rekindle.types.typeinfo import Types

TARGETS = (2, 8, 32, 128)
ROUNDS = 3
ROWS = Shape.row(("key", "value"))


def main() -> None:
    """Print nanoseconds for a record, by the number of targets."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--records", type=int, default=1_280_000)
    parser.add_argument("--chunk", type=int, default=10_000)
    options = parser.parse_args()
    keys = random.Random(1).choices(range(100_000), k=options.chunk)
    records = Chunk([(key, float(key)) for key in keys], list(keys))
    columns = ColumnChunk([pa.array(keys), pa.array([float(key) for key in keys])], ROWS)
    chunks = options.records // options.chunk
    print(f"{'nanoseconds a record, with targets:':<44}" + "".join(f"{targets:>8}" for targets in TARGETS))
    for name, work in {
        "dealt out, record by record": lambda targets: dealing(records, targets),
        "dealt out and encoded, record by record": lambda targets: writing(by_key(targets, records), records, chunks),
        "dealt out and encoded, by columns": lambda targets: writing(by_key(targets, columns), columns, chunks),
        "dealt out and encoded, at random": lambda targets: writing(at_random(targets), records, chunks),
    }.items():
        best = [min(work(targets) for _ in range(ROUNDS)) for targets in TARGETS]
        print(f"{name:<44}" + "".join(f"{seconds * 1e9:>8.0f}" for seconds in best))


def dealing(chunk: Chunk, targets: int) -> float:
    """Return the seconds that it takes to find out for one record where it goes, and to put it there."""
    chosen = KeyRoutes(targets, 128).targets([key for key, _ in chunk.values])
    times = 20
    begun = time.perf_counter()
    for _ in range(times):
        deal = Deal.of(chosen)
        values = deal.ordered(chunk.values)
        parts = [values[start:stop] for _, start, stop in deal.parts]
    assert len(parts) == targets
    return (time.perf_counter() - begun) / times / len(chunk.values)


def writing(writer: ExchangeWriter, chunk: Chunk, chunks: int) -> float:
    """Return the seconds that it takes to write one record."""
    begun = time.perf_counter()
    for _ in range(chunks):
        writer.write(chunk)
    writer.flush()
    return (time.perf_counter() - begun) / chunks / len(chunk.values)


def by_key(targets: int, chunk: Chunk) -> ExchangeWriter:
    """Return a writer that sends records by their first field."""
    kind = SparkRowTypeInfo(("key", "value"), [Types.LONG(), Types.DOUBLE()]) if chunk.columnar else None
    partitioner = Partitioner(Partitioning.HASH, lambda record: record[0])
    edge = JobEdge(0, 0, 1, 0, partitioner, exchange=True, type_info=kind)
    return HashWriter(edge, targets, KeyRoutes(targets, 128), "target")


def at_random(targets: int) -> ExchangeWriter:
    """Return a writer that sends records anywhere."""
    return ShuffleWriter(JobEdge(0, 0, 1, 0, Partitioner(Partitioning.SHUFFLE), exchange=True), targets)


if __name__ == "__main__":
    main()
