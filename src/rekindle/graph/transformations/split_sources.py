"""Sources that are read in splits, such as the partitions of a topic: what the cluster must know of them.

A split is a piece of a source that has an order and a position of its own. All rows of a task are from one split.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from rekindle.contracts.time.watermark_strategy import WatermarkStrategy
from rekindle.graph.splits import Split
from rekindle.graph.transformations.sources import DescribedFrame
from rekindle.graph.transformations.transformation import Transformation

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class SplitReading(ABC):
    """Where the reading of a source begins and ends, and what its offsets mean. Pure; fixed for a job."""

    @property
    @abstractmethod
    def offsets(self) -> str:
        """Return where it begins, as an entry of Spark's offset log."""

    @property
    @abstractmethod
    def ends(self) -> Mapping[Split, int] | None:
        """Return the offset at which each split ends, those that are not named at once; None: there is no end."""

    @property
    @abstractmethod
    def kept(self) -> bytes | None:
        """Return what has to be kept with the position, so that another driver ends at the same place."""

    @abstractmethod
    def open_splits(self, before: str, after: str) -> list[Split]:
        """Return the splits that may have records in an epoch, given the offsets before it and after it."""

    @abstractmethod
    def ended(self, offsets: str) -> bool:
        """Return whether all splits are at their end."""

    @abstractmethod
    def within(self, offsets: str) -> str:
        """Return offsets that are not past any end: Spark itself reads on there."""


class SplitFrame(DescribedFrame):
    """A stream whose splits and offsets its connector understands."""

    @abstractmethod
    def begin(self, session: SparkSession, offsets: str | None, kept: bytes | None) -> SplitReading:
        """Settle where an attempt begins to read, and where it ends.

        Args:
            session: The session.
            offsets: Where a checkpoint left the source; None: it is read from its beginning.
            kept: What :attr:`SplitReading.kept` was then.
        """

    def checkpoint_completed(self, offsets: str) -> None:
        """Learn of a completed checkpoint, and where the source stood at it. May not wait for anything."""


class RecordDecoder(ABC):
    """Turns the rows of a source into records, chunk by chunk; travels to the slots."""

    @property
    @abstractmethod
    def source_kind(self) -> str:
        """Return what uids of the source are derived from: it never changes."""

    def open(self) -> None:  # noqa: B027 - most have nothing to set up
        """Make ready, in a slot."""

    @abstractmethod
    def decode(self, rows: Any) -> Any:
        """Return a chunk of records, with their timestamps, for a chunk of rows that are columns."""


@dataclass(frozen=True, eq=False)
class SplitRowsTransformation(Transformation):
    """Stand at the head of rows that go on as they are, to the subtasks that follow their splits.

    Attributes:
        source_kind: What uids of the source are derived from.
    """

    kind: ClassVar[str] = "SplitRowsOperator"
    source_kind: str

    @property
    def uid_kind(self) -> str:
        return self.source_kind


@dataclass(frozen=True, eq=False)
class SplitRecordsTransformation(Transformation):
    """Turn the rows of splits into records, with watermarks that follow each split by itself.

    Attributes:
        decoder: What turns rows into records.
        strategy: How records get timestamps and watermarks; None: they keep those of the source, and there are none.
    """

    kind: ClassVar[str] = "SplitRecordsOperator"
    moves_watermark: ClassVar[bool] = True
    follows_splits: ClassVar[bool] = True
    decoder: RecordDecoder
    strategy: WatermarkStrategy | None = None

    @property
    def uid_kind(self) -> str:
        kind = self.decoder.source_kind
        return kind if self.strategy is None else f"{kind}Records"
