"""One query over all sources of a job, one Spark action per epoch.

streaming plan:  union over the sources of  source ─ forward (level 0)                       → envelopes
per epoch:       envelopes ─ repartition by id (slots, target) ─ forward (level 1) ─ … ─ collect
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the customary name
from pyspark.sql.streaming.query import StreamingQuery

from rekindle.graph.job_graph import JobGraph, SparkSource
from rekindle.runtime.operators.operator import SourceOperator
from rekindle.runtime.slot.arrivals import record_order
from rekindle.runtime.spark.data_frames import streaming_sources
from rekindle.runtime.spark.forwarder import (
    ENVELOPE_DDL,
    ForwardLevel,
    ForwardSource,
    ForwardTick,
    RouteSource,
    SlotDirectory,
)
from rekindle.runtime.spark.positions import SourceLayout
from rekindle.runtime.spark.routed_source import column_routes
from rekindle.runtime.spark.session import query_settings
from rekindle.runtime.spark.versions import repartition_by_id

# How long an idle query waits for a tick before it looks at Spark's own sources again.
_WAIT_ALONE = 1.0
_WAIT_BESIDE_SPARK_SOURCES = 0.2


class EpochPlan:
    """Build the query of a job and the action of each of its epochs."""

    def __init__(self, session: SparkSession, graph: JobGraph) -> None:
        self._session = session
        self._graph = graph
        self._parallelism = {node.id: node.parallelism for node in graph.nodes}
        levels = {node.id: node.level for node in graph.nodes}
        self._edge_levels = tuple(levels[edge.target] for edge in graph.edges)
        self._streaming = [source for source in graph.spark_sources if source.data_frame.isStreaming]
        self._static = [source for source in graph.spark_sources if not source.data_frame.isStreaming]
        self._routes = column_routes(graph)
        hosted = [node.parallelism for node in graph.nodes if isinstance(node.operator, SourceOperator)]
        self.polled_slots = max(hosted, default=1)
        self.hosts_sources = bool(hosted)
        order = record_order(graph, 0)
        timed = {node.id for node in graph.nodes if node.operator.moves_watermark}
        self._tasks_matter = bool(timed & order.one_sender & order.spark_rooted)

    def layout(self) -> tuple[SourceLayout, ...]:
        """Say which lines of Spark's offset log belong to which source."""
        layout: list[SourceLayout] = []
        first = 0
        for source in self._streaming:
            count = streaming_sources(source.data_frame, source.uid)
            layout.append(SourceLayout(source.uid, first, count))
            first += count
        return tuple(layout)

    def static_uids(self) -> set[str]:
        """Name the bounded DataFrames: each is read whole, in one epoch."""
        return {source.uid for source in self._static}

    def start(
        self,
        directory: SlotDirectory,
        tick_path: str,
        scratch: str,
        run_epoch: Callable[[DataFrame, int], None],
    ) -> StreamingQuery:
        """Start the query of an attempt."""
        from rekindle.runtime.spark.tick_source import NAME, TickSource

        self._session.dataSource.register(TickSource)
        wait = _WAIT_BESIDE_SPARK_SOURCES if self._streaming else _WAIT_ALONE
        reader = self._session.readStream.format(NAME).option("path", tick_path).option("wait", wait)
        ticks = reader.option("slots", self.polled_slots).load()
        polls = ticks.mapInArrow(ForwardTick(directory, self.hosts_sources), ENVELOPE_DDL)
        branches = [self._source(directory, source) for source in self._streaming]
        plan = reduce(DataFrame.union, [*branches, polls])
        with query_settings(self._session):
            return plan.writeStream.foreachBatch(run_epoch).option("checkpointLocation", f"file://{scratch}").start()

    def run(self, envelopes: DataFrame, directory: SlotDirectory, unread: set[str]) -> None:
        """Run the one action of an epoch; returns when all its records have been processed.

        Args:
            envelopes: What the streaming plan gave.
            directory: Where the slots are.
            unread: The bounded DataFrames to be read in this epoch.
        """
        for source in self._static:
            if source.uid in unread:
                envelopes = envelopes.union(self._source(directory, source))
        slots = self._graph.slots
        for level in range(1, self._graph.levels):
            forward = ForwardLevel(directory, level, self._edge_levels)
            envelopes = repartition_by_id(envelopes, slots, "target").mapInArrow(forward, ENVELOPE_DDL)
        envelopes.collect()

    def source_tasks(self, envelopes: DataFrame, ticked: Callable[[], bool]) -> int:
        """Count the tasks in which Spark reads its streaming sources in an epoch; 0 if that makes no difference.

        Args:
            envelopes: What the streaming plan gave.
            ticked: Tells whether the slots are polled in this epoch: that takes tasks, too.
        """
        if not self._tasks_matter:
            return 0
        tasks: int = envelopes._jdf.queryExecution().logical().rdd().getNumPartitions()
        return tasks - (self.polled_slots if ticked() else 0)

    def without_sources(self, envelopes: DataFrame, directory: SlotDirectory) -> DataFrame:
        """Give what the streaming plan would give if Spark's sources had nothing: only the slots are polled."""
        slots = self.polled_slots
        ticks = envelopes.sparkSession.range(0, slots, 1, slots).select(F.col("id").cast("int").alias("slot"))
        return ticks.mapInArrow(ForwardTick(directory, self.hosts_sources), ENVELOPE_DDL)

    def _source(self, directory: SlotDirectory, source: SparkSource) -> DataFrame:
        frame: DataFrame = source.data_frame
        route = self._routes.get(source.node)
        if route is not None:
            return frame.mapInArrow(RouteSource(route), ENVELOPE_DDL)
        forward = ForwardSource(directory, source.node, self._parallelism[source.node])
        return frame.mapInArrow(forward, ENVELOPE_DDL)
