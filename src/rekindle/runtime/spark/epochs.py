"""One Spark action per epoch, and one query over the streams that Spark reads, if there are any.

streaming plan:  union over the sources of  source ─ forward (level 0)                       → envelopes
per epoch:       envelopes ─ repartition by id (slots, target) ─ forward (level 1) ─ …
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from functools import reduce

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the customary name

from rekindle.graph.job_graph import ClusterSource, JobGraph
from rekindle.graph.transformations.split_sources import SplitFrame
from rekindle.runtime.exchange.column_routes import ColumnRoute, column_routes
from rekindle.runtime.exchange.split_routes import SplitEnds, SplitRoute, split_routes
from rekindle.runtime.master.cluster import EpochDriver
from rekindle.runtime.master.slots.slot_directory import SlotDirectory
from rekindle.runtime.slot.arrivals import record_order
from rekindle.runtime.spark.described_frames import frame_of
from rekindle.runtime.spark.epoch_loop import EpochLoop
from rekindle.runtime.spark.epoch_query import EpochQuery, Ticks
from rekindle.runtime.spark.forwarder import (
    ENVELOPE_DDL,
    ForwardLevel,
    ForwardSource,
    ForwardTick,
    RouteSource,
)
from rekindle.runtime.spark.job_labels import STAGE_DETAILS, JobLabels
from rekindle.runtime.spark.planned_action import PlannedAction, rdd_of
from rekindle.runtime.spark.positions import SourceLayout
from rekindle.runtime.spark.row_sizes import has_small_rows
from rekindle.runtime.spark.session import cloned_session, query_settings, use_in_this_thread
from rekindle.runtime.spark.streaming_sources import streaming_sources
from rekindle.runtime.spark.versions import repartition_by_id


class EpochPlan:
    """Build the query of a job and the action of each of its epochs.

    Args:
        session: Where they run.
        graph: The job.
        job_name: Its name, for Spark's UI.
    """

    def __init__(self, session: SparkSession, graph: JobGraph, job_name: str) -> None:
        self._session = session
        self._graph = graph
        self._labels = JobLabels.of(job_name, graph)
        self._parallelism = {node.id: node.parallelism for node in graph.nodes}
        levels = {node.id: node.level for node in graph.nodes}
        self._edge_levels = tuple(levels[edge.target] for edge in graph.edges)
        self._streaming = [source for source in graph.cluster_sources if frame_of(source).isStreaming]
        self._static = [source for source in graph.cluster_sources if not frame_of(source).isStreaming]
        self._routes: dict[int, ColumnRoute | SplitRoute] = {**column_routes(graph)}
        self._ends: Mapping[str, SplitEnds] = {}
        self._polled_slots = graph.polled_slots
        self._hosts_sources = graph.hosts_sources
        order = record_order(graph, 0)
        timed = {
            node.id
            for node in graph.nodes
            if node.transformation.moves_watermark and not node.transformation.follows_splits
        }
        self._tasks_matter = bool(timed & order.one_sender & order.spark_rooted)
        self._bounded_rows = all(has_small_rows(frame_of(source).schema) for source in graph.cluster_sources)
        self._action: PlannedAction | None = None

    def layout(self) -> tuple[SourceLayout, ...]:
        """Return which lines of Spark's offset log belong to which source."""
        layout: list[SourceLayout] = []
        first = 0
        for source in self._streaming:
            count = streaming_sources(frame_of(source), source.uid)
            layout.append(SourceLayout(source.uid, first, count))
            first += count
        return tuple(layout)

    def static_uids(self) -> set[str]:
        """Name the bounded DataFrames: each is read whole, in one epoch."""
        return {source.uid for source in self._static}

    def split_frames(self) -> dict[str, SplitFrame]:
        """Return the streams that are read in splits, by uid."""
        return {s.uid: s.described for s in self._streaming if isinstance(s.described, SplitFrame)}

    def start(
        self,
        directory: SlotDirectory,
        scratch: str,
        ends: Mapping[str, SplitEnds],
        run_epoch: Callable[[DataFrame, int], None],
    ) -> EpochDriver:
        """Let the epochs of an attempt begin, once somebody asks for the first.

        Args:
            directory: Where the slots are.
            scratch: The directory of Spark's logs.
            ends: Where the splits of sources end, by uid.
            run_epoch: Runs an epoch: given what the slots and the streams of Spark give in it, and its number.
        """
        self._ends = ends
        self._routes |= split_routes(self._graph, ends)
        if not self._streaming:
            with query_settings(self._session):
                session = cloned_session(self._session)
            polls = self._polls(session, directory)

            def run(epoch: int) -> None:
                if epoch == 1:
                    use_in_this_thread(session)
                    session.sparkContext.setLocalProperty(STAGE_DETAILS, "")
                run_epoch(polls, epoch)

            return EpochLoop(session, self._labels.job, run)
        ticks = Ticks(self._session, self._polled_slots)
        polls = ticks.frame.mapInArrow(ForwardTick(directory, self._hosts_sources), ENVELOPE_DDL)
        plan = reduce(DataFrame.union, [*(self._source(directory, source) for source in self._streaming), polls])
        with query_settings(self._session):
            writer = plan.writeStream.foreachBatch(run_epoch).option("checkpointLocation", f"file://{scratch}")
            name = self._labels.query({query.name for query in self._session.streams.active})
            return EpochQuery(writer.queryName(name).start(), ticks)

    def run(
        self, number: int, envelopes: DataFrame, directory: SlotDirectory, unread: Collection[str], draining: bool
    ) -> None:
        """Run the one action of an epoch; returns when all its records have been processed.

        Args:
            number: The number of the epoch.
            envelopes: What the streaming plan gave.
            directory: Where the slots are.
            unread: The bounded DataFrames to be read in this epoch.
            draining: Whether Spark's streams have ended, whatever they gave.
        """
        if draining:
            envelopes = self._polls(envelopes.sparkSession, directory)
        frames = [self._source(directory, source) for source in self._static if source.uid in unread]
        if draining or frames:
            envelopes = reduce(DataFrame.union, frames, envelopes)
            self._planned(envelopes, directory).run(envelopes, number)
            return
        if self._action is None:
            self._action = self._planned(envelopes, directory)
        self._action.run(envelopes, number)

    def _planned(self, envelopes: DataFrame, directory: SlotDirectory) -> PlannedAction:
        bounded_rows = bool(self._streaming or self._static) and self._bounded_rows
        return PlannedAction(envelopes, self._levels(envelopes, directory), self._labels, bounded_rows)

    def source_tasks(self, envelopes: DataFrame, ticked: Callable[[], bool]) -> int:
        """Count the tasks in which Spark reads its streaming sources in an epoch; 0 if that makes no difference.

        Args:
            envelopes: What the streaming plan gave.
            ticked: Tells whether the slots are polled in this epoch: that takes tasks, too.
        """
        if not self._streaming or not self._tasks_matter:
            return 0
        tasks: int = rdd_of(envelopes).getNumPartitions()
        return tasks - (self._polled_slots if ticked() else 0)

    def _levels(self, envelopes: DataFrame, directory: SlotDirectory) -> DataFrame:
        for level in range(1, self._graph.levels):
            forward = ForwardLevel(directory, level, self._edge_levels)
            envelopes = repartition_by_id(envelopes, self._graph.slots, "target").mapInArrow(forward, ENVELOPE_DDL)
        return envelopes

    def _polls(self, session: SparkSession, directory: SlotDirectory) -> DataFrame:
        slots = self._polled_slots
        ticks = session.range(0, slots, 1, slots).select(F.col("id").cast("int").alias("slot"))
        return ticks.mapInArrow(ForwardTick(directory, self._hosts_sources), ENVELOPE_DDL)

    def _source(self, directory: SlotDirectory, source: ClusterSource) -> DataFrame:
        frame = frame_of(source)
        route = self._routes.get(source.node)
        if route is not None:
            return frame.mapInArrow(RouteSource(route), ENVELOPE_DDL)
        ends = self._ends.get(source.uid)
        forward = ForwardSource(directory, source.node, self._parallelism[source.node], ends)
        return frame.mapInArrow(forward, ENVELOPE_DDL)
