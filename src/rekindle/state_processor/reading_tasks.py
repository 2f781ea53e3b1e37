"""What Spark's tasks do when a snapshot is read: each reads its own part, and no state goes through the driver."""

from __future__ import annotations

import itertools
import pickle
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql import types as t

from rekindle.checkpoint.restoring import open_checkpoint
from rekindle.graph.struct_pickling import dumps
from rekindle.runtime.spark.versions import arrow_schema
from rekindle.state_processor.contents import SnapshotContents, contents_of
from rekindle.state_processor.readings import Part, Reading
from rekindle.state_processor.shipped_program import Program
from rekindle.state_processor.snapshot import Snapshot

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_ROWS_PER_BATCH = 4096


@dataclass(frozen=True, slots=True)
class ReadParts:
    """Read the parts of a snapshot; the number of a part is the id that Spark gives to a task."""

    location: str
    reading: bytes
    parts: list[Part]
    schema: t.StructType
    program: Program = field(default_factory=Program.of_driver)

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Run as the function of ``mapInArrow``."""
        self.program.unpack()
        reading: Reading = pickle.loads(self.reading)
        numbers = [number for batch in batches for number in batch.column(0).to_pylist()]
        schema = arrow_schema(self.schema)
        if not numbers:
            return
        with contents_of(Snapshot(open_checkpoint(self.location))) as contents:
            for number in numbers:
                yield from _batches(reading.arrow_rows(contents, self.parts[number]), schema)


@dataclass(frozen=True, slots=True)
class AskContents:
    """Look something up in a snapshot, in a task: what has to be fetched for it is not fetched to the driver."""

    location: str
    question: bytes

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Run as the function of ``mapInArrow``."""
        for batch in batches:
            if batch.num_rows:
                question: Callable[[SnapshotContents], Any] = pickle.loads(self.question)
                with contents_of(Snapshot(open_checkpoint(self.location))) as contents:
                    answer = pickle.dumps(question(contents))
                yield pa.RecordBatch.from_pydict({"answer": [answer]})


def read_as_data_frame(spark: SparkSession, snapshot: Snapshot, reading: Reading, parts: list[Part]) -> DataFrame:
    """Read parts of a snapshot, each in a task of its own."""
    schema = reading.schema()
    task = ReadParts(snapshot.location, dumps(reading), parts, schema)
    return spark.range(0, len(parts), 1, max(1, len(parts))).mapInArrow(task, schema)


def ask(spark: SparkSession, snapshot: Snapshot, question: Callable[[SnapshotContents], Any]) -> Any:
    """Look something up in a snapshot: here, or in a task where files of RocksDB have to be fetched for it."""
    if not any(handle.native for handle in snapshot.metadata.handles):
        with contents_of(snapshot) as contents:
            return question(contents)
    task = AskContents(snapshot.location, dumps(question))
    (row,) = spark.range(0, 1, 1, 1).mapInArrow(task, "answer binary").collect()
    return pickle.loads(row[0])


def _batches(rows: Iterator[list[Any]], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    while chunk := list(itertools.islice(rows, _ROWS_PER_BATCH)):
        columns = zip(*chunk, strict=True)
        arrays = [pa.array(column, field.type) for column, field in zip(columns, schema, strict=True)]
        yield pa.RecordBatch.from_arrays(arrays, schema=schema)
