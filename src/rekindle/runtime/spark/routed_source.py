"""DataFrames that are keyed by a column: Spark routes their rows to the slots itself, without a Python stage.

``key_by(lambda row: row.user)`` is recognised by calling the selector with a row that only notes which fields are asked
for. If what comes back is a field, or a tuple of fields, and nothing else was done with them, the key is computed in
the JVM, by the hash that Python uses (:mod:`rekindle.state.key_hash`). Anything else takes the ordinary way.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the customary name
from pyspark.sql import types as T  # noqa: N812

from rekindle.graph.job_graph import JobEdge, JobGraph, SparkSource
from rekindle.graph.partitioning import Partitioning

_LONGS = (T.ByteType, T.ShortType, T.IntegerType, T.LongType, T.BooleanType)


@dataclass(frozen=True, slots=True)
class RoutedSource:
    """Describe a DataFrame whose rows go straight to the slots of the operator behind ``key_by``."""

    source: SparkSource
    edge: JobEdge
    columns: tuple[str, ...]
    key: tuple[int, ...]
    single_key: bool
    parallelism: int
    max_parallelism: int

    @property
    def prefix(self) -> str:
        """Give the prefix of this source's columns where several sources share a table."""
        return f"r{self.edge.id}_"

    def route(self) -> DataFrame:
        """Give the rows with the edge and the target subtask, columns renamed."""
        frame: DataFrame = self.source.data_frame
        columns = [frame[_quoted(name)] for name in self.columns]
        group = F.pmod(F.xxhash64(*(_hashed(frame, columns[i], i) for i in self.key)), F.lit(self.max_parallelism))
        target = F.floor(group * F.lit(self.parallelism) / F.lit(self.max_parallelism)).cast("int")
        renamed = [column.alias(f"{self.prefix}{i}") for i, column in enumerate(columns)]
        edge = F.lit(self.edge.id).cast("int").alias("edge")
        return frame.select(edge, target.alias("target"), F.lit(None).cast("binary").alias("payload"), *renamed)


def routed_sources(graph: JobGraph) -> list[RoutedSource]:
    """Find the sources that Spark can route by itself."""
    found = [_routed(graph, source) for source in graph.spark_sources]
    return [routed for routed in found if routed is not None]


def _routed(graph: JobGraph, source: SparkSource) -> RoutedSource | None:
    outputs = graph.outputs(source.node)
    if len(outputs) != 1 or outputs[0].partitioner.kind is not Partitioning.HASH:
        return None
    edge = outputs[0]
    assert edge.partitioner.key_selector is not None
    columns = tuple(source.data_frame.columns)
    if len(set(columns)) != len(columns):
        return None
    key = traced_key(edge.partitioner.key_selector, columns)
    if key is None:
        return None
    single = isinstance(key, int)
    positions = (key,) if isinstance(key, int) else key
    types = [source.data_frame.schema[i].dataType for i in positions]
    if not all(isinstance(kind, (*_LONGS, T.StringType)) for kind in types):
        return None
    target = next(node for node in graph.nodes if node.id == edge.target)
    return RoutedSource(source, edge, columns, positions, single, target.parallelism, target.max_parallelism)


def traced_key(selector: Callable[[Any], Any], columns: tuple[str, ...]) -> int | tuple[int, ...] | None:
    """Find which columns a key selector returns; None if it does anything else."""
    try:
        result = selector(_TracedRow(columns))
    except Exception:
        return None
    if type(result) is _Field:
        return result.index
    if type(result) is tuple and result and all(type(part) is _Field for part in result):
        return tuple(part.index for part in result)
    return None


class _Field:
    """Stand for the value of a field; whatever is done with it raises."""

    __slots__ = ("index",)
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, index: int) -> None:
        self.index = index

    def __bool__(self) -> bool:
        raise _Opaque

    def __eq__(self, other: object) -> bool:
        raise _Opaque


class _TracedRow:
    """Stand for a row: give fields by name or position."""

    __slots__ = ("_columns",)

    def __init__(self, columns: tuple[str, ...]) -> None:
        self._columns = columns

    def __getattr__(self, name: str) -> _Field:
        return self[name]

    def __getitem__(self, item: Any) -> _Field:
        if isinstance(item, str):
            return _Field(self._columns.index(item))
        if type(item) is int:
            return _Field(range(len(self._columns))[item])
        raise _Opaque


class _Opaque(Exception):  # noqa: N818 - a signal, not an error
    pass


def _hashed(frame: DataFrame, column: Column, index: int) -> Column:
    kind = frame.schema[index].dataType
    return column.cast("long") if isinstance(kind, _LONGS) else column


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"
