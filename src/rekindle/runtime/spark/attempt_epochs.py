"""The epochs of one attempt on Spark: the plan of its job, and the positions of the streams that Spark reads."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

from pyspark.sql import DataFrame, SparkSession

from rekindle.base.scratch_directory import ScratchDirectory
from rekindle.checkpoint.metadata import SourcePosition
from rekindle.graph.job_graph import JobGraph
from rekindle.graph.splits import Split
from rekindle.runtime.master.cluster import Epoch, EpochDriver
from rekindle.runtime.master.slots.slot_directory import SlotDirectory
from rekindle.runtime.spark.epochs import EpochPlan
from rekindle.runtime.spark.errors import readable_errors
from rekindle.runtime.spark.positions import SparkScratch
from rekindle.runtime.spark.split_readings import SplitReadings


class SparkEpochs:
    """Run the epochs of an attempt, see :class:`rekindle.runtime.master.cluster.ClusterEpochs`."""

    def __init__(self, session: SparkSession, graph: JobGraph, job_name: str) -> None:
        self._session = session
        self._plan = EpochPlan(session, graph, job_name)
        self._readings = SplitReadings(self._plan.split_frames())
        self._directory: ScratchDirectory | None = None  # without a stream there is no query, and no log
        self._layout = self._plan.layout()
        self._scratch = SparkScratch("", self._layout)

    @property
    def bounded_frames(self) -> set[str]:
        """Return the bounded DataFrames, by uid."""
        return self._plan.static_uids()

    def prepare(self, positions: Mapping[str, SourcePosition], now: int) -> None:
        """Let streams begin at these positions."""
        if self._layout:
            self._directory = ScratchDirectory()
            self._scratch = SparkScratch(self._directory.path, self._layout)
        self._scratch.prepare(self._readings.begin(self._session, positions), now)

    def start(self, slots: SlotDirectory, run_epoch: Callable[[Epoch], None]) -> EpochDriver:
        """Let epochs begin, once somebody asks for the first."""

        def run(envelopes: DataFrame, number: int) -> None:
            run_epoch(SparkEpoch(number, envelopes, self._plan, self._scratch, slots))

        return self._plan.start(slots, self._scratch.directory, self._readings.ends, run)

    def positions(self, epoch: int) -> list[SourcePosition]:
        """Return where every stream stands at the end of an epoch."""
        return [self._readings.within_ends(position) for position in self._scratch.positions(epoch)]

    def moved(self, epoch: int) -> set[str]:
        """Return the streams that had records in an epoch."""
        return self._scratch.moved(epoch)

    @property
    def delimited(self) -> set[str]:
        """Return the streams that know where they end."""
        return self._readings.delimited

    def ended(self, epoch: int) -> set[str]:
        """Return those of them that have come to their end with an epoch."""
        return self._readings.ended(self._scratch, epoch)

    def splits(self, epoch: int) -> dict[str, list[Split]]:
        """Return the splits of streams that may have records in an epoch."""
        return self._readings.splits(self._scratch, epoch)

    def close(self) -> None:
        """Delete Spark's logs."""
        if self._directory is not None:
            self._directory.close()


class SparkEpoch:
    """Run one epoch as one Spark action, see :class:`rekindle.runtime.master.cluster.Epoch`."""

    def __init__(
        self, number: int, envelopes: DataFrame, plan: EpochPlan, scratch: SparkScratch, slots: SlotDirectory
    ) -> None:
        self._number = number
        self._envelopes = envelopes
        self._plan = plan
        self._scratch = scratch
        self._slots = slots

    @property
    def number(self) -> int:
        """Return its number."""
        return self._number

    def source_tasks(self) -> int:
        """Count the tasks in which Spark reads its streams."""
        with readable_errors():
            return self._plan.source_tasks(self._envelopes, lambda: self._scratch.ticked(self._number))

    def run(self, unread: Collection[str], draining: bool) -> None:
        """Run the action."""
        with readable_errors():
            self._plan.run(self._number, self._envelopes, self._slots, unread, draining)
