"""The port between a job master and the cluster that its job runs on.

The job master decides what happens; a cluster starts the slots, reads the streams that are not read in slots, and moves
records from slot to slot. ``runtime/spark`` is the cluster on Spark, ``rekindle.testing`` has one in this process.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from rekindle.checkpoint.metadata import SourcePosition
from rekindle.graph.job_graph import ClusterSource, JobGraph
from rekindle.graph.splits import Split
from rekindle.runtime.master.slots.slot_directory import SlotDirectory
from rekindle.runtime.master.slots.slot_pool import SlotPool, SlotPoolOptions

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, slots=True)
class ClusterLoss:
    """Say what has become of a cluster.

    Attributes:
        what: In words, such as "Spark's JVM (process 42) was killed by SIGKILL".
        wanted: Whether the program stopped it itself.
    """

    what: str
    wanted: bool = False


class Epoch(Protocol):
    """One epoch that has begun: everything that flows between two barriers."""

    @property
    def number(self) -> int:
        """Return its number; the first epoch of an attempt is 1."""

    def source_tasks(self) -> int:
        """Count the tasks in which the cluster reads its streams in this epoch; 0 if that makes no difference."""

    def run(self, unread: Collection[str], draining: bool) -> None:
        """Move all records of the epoch through the slots; return when they have been processed.

        Args:
            unread: The bounded DataFrames to be read in this epoch, by uid.
            draining: Whether the streams that the cluster reads give nothing any more.

        Raises:
            RekindleError: That failed.
        """


class EpochDriver(Protocol):
    """What lets the epochs of an attempt begin, one after the other, in a thread of its own."""

    def tick(self) -> None:
        """Ask for an epoch in which slots are polled. Asked twice before it begins, there is one. From any thread."""

    @property
    def active(self) -> bool:
        """Return whether there may be more epochs."""

    @property
    def error(self) -> BaseException:
        """Return why there will be no more; asked only when that is so."""

    def stop(self) -> None:
        """Cut off the epoch under way, and wait until it has ended; there is no other."""


class ClusterEpochs(Protocol):
    """The epochs of one attempt, and the positions of the streams that the cluster reads in them."""

    @property
    def bounded_frames(self) -> set[str]:
        """Return the bounded DataFrames, by uid: each is read whole, in one epoch."""

    def prepare(self, positions: Mapping[str, SourcePosition], now: int) -> None:
        """Let streams begin at these positions, by uid, and at their own beginning where there is none.

        Raises:
            StateRestoreError: A position does not fit its stream.
        """

    def start(self, slots: SlotDirectory, run_epoch: Callable[[Epoch], None]) -> EpochDriver:
        """Let epochs begin, once somebody asks for the first.

        Args:
            slots: Where the slots are.
            run_epoch: Runs an epoch; is called in the driver's thread.
        """

    def positions(self, epoch: int) -> list[SourcePosition]:
        """Return where every stream stands at the end of an epoch."""

    def moved(self, epoch: int) -> set[str]:
        """Return the streams that had records in an epoch, by uid."""

    @property
    def delimited(self) -> set[str]:
        """Return the streams that know where they end, by uid: there, and not as soon as nothing is new."""

    def ended(self, epoch: int) -> set[str]:
        """Return those of them that have come to their end with an epoch, by uid."""

    def splits(self, epoch: int) -> dict[str, list[Split]]:
        """Return the splits of streams that may have records in an epoch, or later, by uid."""

    def close(self) -> None:
        """Let go of what was kept for this; the driver has been stopped."""


class Cluster(Protocol):
    """Run one job for a job master."""

    @property
    def name(self) -> str:
        """Return what the cluster is called in messages, with its version."""

    def slot_pool(self, options: SlotPoolOptions) -> SlotPool:
        """Open a pool of slots for the job."""

    def epochs(self, graph: JobGraph) -> ClusterEpochs:
        """Make ready for the epochs of an attempt."""

    @property
    def one_machine(self) -> bool:
        """Return whether all slots are on the machine of the driver, and share its disk."""

    def rows(self, files: Sequence[str], schema: pa.Schema) -> Any:
        """Open files of rows as what programs know as a table: a DataFrame, on Spark.

        Args:
            files: Parquet files, by path or URI.
            schema: Their columns.
        """

    def loss(self) -> ClusterLoss | None:
        """Look whether the cluster is gone; None while it is there."""

    def refusal(self, error: BaseException) -> str | None:
        """Return why the cluster refuses the job, now and after a restart; None if the error does not mean that."""

    @property
    def renewable(self) -> bool:
        """Return whether the cluster can be started anew once it is lost."""

    def renew(self) -> tuple[ClusterSource, ...]:
        """Start the cluster anew; return the job's sources on it."""
