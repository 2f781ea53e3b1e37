"""DataFrames that are keyed by columns: their rows go to the next operator's slots as columns, never as Python objects.

Where a key selector names columns and does nothing else, the Spark task that reads a batch hashes the key columns and
cuts the batch up by target. Such a source needs no stage in the slots before the exchange. Anything else takes the
ordinary way.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import types as T  # noqa: N812 - the customary name

from rekindle.graph.job_graph import JobGraph
from rekindle.graph.partitioning import Partitioning
from rekindle.graph.traced_keys import traced_key
from rekindle.runtime.exchange.arrow_batches import encode_batch
from rekindle.runtime.spark.described_frames import frame_of
from rekindle.state.key_hash import key_group_of, key_groups_of_longs
from rekindle.types.typeinfo import BasicType, BasicTypeInfo, TypeInformation

_ROUTABLE = (T.ByteType, T.ShortType, T.IntegerType, T.LongType, T.BooleanType, T.StringType)
_UNCHANGED: dict[BasicType, tuple[type[T.DataType], ...]] = {
    BasicType.STRING: (T.StringType,),
    BasicType.BOOLEAN: (T.BooleanType,),
    BasicType.INT: (T.ByteType, T.ShortType, T.IntegerType),
    BasicType.LONG: (T.ByteType, T.ShortType, T.IntegerType, T.LongType),
}


@dataclass(frozen=True, slots=True)
class ColumnRoute:
    """Say which columns are the key, and how many subtasks share the key groups."""

    edge: int
    key: tuple[int, ...]
    single_key: bool
    parallelism: int
    max_parallelism: int

    def envelopes(self, batch: pa.RecordBatch) -> Iterator[tuple[int, int, bytes]]:
        """Cut a batch up: an edge, a target and a payload for each subtask that gets rows."""
        targets = self._targets(batch)
        for target in range(self.parallelism):
            rows = np.flatnonzero(targets == target)
            if len(rows):
                part = encode_batch(batch.take(pa.array(rows)), self.key, self.single_key)
                yield self.edge, target, part.to_pybytes()

    def _targets(self, batch: pa.RecordBatch) -> npt.NDArray[np.int64]:
        columns = [batch.column(index) for index in self.key]
        column = columns[0]
        if self.single_key and column.null_count == 0 and pa.types.is_integer(column.type):
            groups = key_groups_of_longs(column.to_numpy().astype(np.int64, copy=False), self.max_parallelism)
        elif self.single_key:
            encoded = pc.dictionary_encode(column, null_encoding="encode")
            unique = [key_group_of(key, self.max_parallelism) for key in encoded.dictionary.to_pylist()]
            groups = np.array(unique, dtype=np.int64)[encoded.indices.to_numpy()]
        else:
            routes: dict[Any, int] = {}
            keys = zip(*(part.to_pylist() for part in columns), strict=True)
            numbers = (
                routes[key] if key in routes else routes.setdefault(key, key_group_of(key, self.max_parallelism))
                for key in keys
            )
            groups = np.fromiter(numbers, dtype=np.int64, count=batch.num_rows)
        return groups * self.parallelism // self.max_parallelism


def column_routes(graph: JobGraph) -> dict[int, ColumnRoute]:
    """Find the sources, by node, whose only consumer stands behind a ``key_by`` on columns."""
    nodes = {node.id: node for node in graph.nodes}
    routes: dict[int, ColumnRoute] = {}
    for source in graph.cluster_sources:
        if not nodes[source.node].transformation.passes_rows:
            continue
        outputs = graph.outputs(source.node)
        columns = tuple(frame_of(source).columns)
        if len(outputs) != 1 or outputs[0].partitioner.kind is not Partitioning.HASH:
            continue
        edge = outputs[0]
        assert edge.partitioner.key_selector is not None
        if edge.partitioner.functions:
            continue  # what the key selector does depends on its open()
        key = traced_key(edge.partitioner.key_selector, columns)
        positions = () if key is None else (key,) if isinstance(key, int) else key
        fields = [frame_of(source).schema[position] for position in positions]
        if (
            fields
            and all(isinstance(field.dataType, _ROUTABLE) for field in fields)
            and _fits(edge.partitioner.key_type, fields, isinstance(key, int))
        ):
            target = nodes[edge.target]
            routes[source.node] = ColumnRoute(
                edge.id, positions, isinstance(key, int), target.parallelism, target.max_parallelism
            )
    return routes


def _fits(key_type: TypeInformation | None, fields: list[T.StructField], single_key: bool) -> bool:
    """Return whether a key type leaves the values of the columns as they are; the slots alone can convert them."""
    if key_type is None:
        return True
    if not single_key or not isinstance(key_type, BasicTypeInfo):
        return False
    kinds = _UNCHANGED.get(key_type.basic_type, ())
    takes_none = key_type.basic_type is BasicType.STRING
    return isinstance(fields[0].dataType, kinds) and (takes_none or not fields[0].nullable)
