"""What some operators do besides processing chunks. A slot sorts its operators by role once, when it is built."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Sequence

from rekindle.checkpoint.metadata import StagedRows
from rekindle.graph.job_graph import NodeColumns
from rekindle.graph.splits import Split
from rekindle.runtime.chunk import Chunk
from rekindle.runtime.operators.operator import Operator
from rekindle.state.operator_state.stored import StoredList
from rekindle.state.snapshots import KeyedSnapshot, SnapshotRequest


class TwoInputOperator(Operator):
    """An operator with a second input."""

    @abstractmethod
    def process_second(self, chunk: Chunk) -> Chunk | None:
        """Process records of the second input; return what goes on to the next operators."""


class ProcessingTimeOperator(Operator):
    """An operator that goes by the clock."""

    @abstractmethod
    def advance_processing_time(self, now: int) -> Chunk | None:
        """React to the progress of processing time."""

    def clock_set(self, by: int) -> None:
        """Hear that the clock was set by some milliseconds, for operators that wait for time to pass.

        What waits for a point in time, as timers do, waits for that.
        """

    @abstractmethod
    def next_processing_timer(self) -> int | None:
        """Return when processing time is of interest next; None: as far as is known, never."""


class ColumnOperator(Operator):
    """An operator that may process records that come as columns.

    Attributes:
        columns: How; None: it does not.
    """

    columns: NodeColumns | None = None

    @abstractmethod
    def process_columns(self, chunk: Chunk) -> Chunk | None:
        """Process records by columns, with the same results as one by one; None: they must be processed so."""


class WatermarkEmitter(Operator):
    """An operator whose output has watermarks of its own, rather than those of its inputs."""

    @abstractmethod
    def pieces(self, chunk: Chunk, side: int = 0) -> Iterator[Chunk | None]:
        """Process records of an input; return the results cut where the watermark of the output moves.

        All user code runs before the first piece. Behind each piece, ``output_watermark`` is the one that follows it.
        """

    @abstractmethod
    def output_watermark(self, watermark: int) -> int:
        """Turn the watermark of the inputs into that of the output."""

    @abstractmethod
    def output_idle(self, idle: bool) -> bool:
        """Turn the idleness of the inputs into that of the output: nobody waits for the watermark of an idle one."""


class SplitFollower(Operator):
    """An operator that follows the splits of its source, each by itself."""

    @abstractmethod
    def assign_splits(self, splits: Iterable[Split]) -> None:
        """Take the splits of the source that may have records from now on, those of all subtasks."""


class BackgroundWork(Operator):
    """An operator that works on records between epochs, and has results when no record comes."""

    @abstractmethod
    def has_more(self) -> bool:
        """Return whether an epoch is needed at once, because there are results."""

    @abstractmethod
    def under_way(self) -> bool:
        """Return whether records that came have yet to lead to their results."""


class RecordKeeper(Operator):
    """An operator that keeps records from one epoch to the next."""

    @abstractmethod
    def waiting(self) -> Sequence[Chunk]:
        """Hand over what was kept for this epoch; it is emitted before the operator's other records."""


class InputGatherer(Operator):
    """An operator that holds its results back until all its inputs have ended."""

    @abstractmethod
    def held_back(self) -> Iterable[Chunk]:
        """Return what was held back, chunk by chunk; comes before the last watermark."""


class OperatorStateOwner(Operator):
    """An operator with list states: state that belongs to its subtask, not to a key."""

    def prepare_snapshot(self, checkpoint_id: int, timestamp: int) -> None:
        """Bring state and output up to date for a snapshot; runs while nothing else does.

        Args:
            checkpoint_id: The checkpoint.
            timestamp: When it was triggered, in milliseconds since the epoch.
        """

    @abstractmethod
    def snapshot_lists(self) -> dict[str, StoredList]:
        """Return the list states by name; runs while nothing else does."""

    @abstractmethod
    def read_lists_back(self, lists: dict[str, StoredList]) -> None:
        """Read back list states that a snapshot holds; raise if a restore could not. May run in a forked copy."""


class KeyedStateOwner(Operator):
    """An operator with keyed state."""

    @abstractmethod
    def snapshot_keyed(self, request: SnapshotRequest) -> KeyedSnapshot:
        """Freeze the keyed state, with timers and raw state; runs while nothing else does."""

    @abstractmethod
    def keyed_state_names(self) -> list[str]:
        """Name what :meth:`snapshot_keyed` holds."""

    @abstractmethod
    def keyed_changes(self) -> tuple[int, int]:
        """Count the entries of keyed state in memory that changed since the last completed checkpoint, and all."""

    @abstractmethod
    def snapshot_completed(self, checkpoint_id: int) -> None:
        """Learn that later snapshots may build on this one."""


class CheckpointObserver(Operator):
    """An operator that is told what became of a checkpoint."""

    @abstractmethod
    def notify_complete(self, checkpoint_id: int) -> None:
        """React to a completed checkpoint."""

    @abstractmethod
    def notify_aborted(self, checkpoint_id: int) -> None:
        """React to a checkpoint that will never complete."""


class OutputCommitter(OperatorStateOwner, CheckpointObserver):
    """An operator whose output becomes visible when a checkpoint is complete: what is to commit is part of it."""

    @abstractmethod
    def savepoint_completed(self, checkpoint_id: int) -> None:
        """Let what a complete savepoint in passing refers to outlive a failure of the job."""

    @abstractmethod
    def commit_final(self, version: int) -> None:
        """Make output visible at the end of a job without checkpoints.

        Args:
            version: The checkpoint it counts as prepared for, where that is of interest.
        """


class RowStager(OutputCommitter):
    """An operator whose output the driver commits: rows in files, which are named with each snapshot."""

    @abstractmethod
    def staged_rows(self) -> list[StagedRows]:
        """Return what was prepared, at the last barrier or before, and is not known to be part of a checkpoint."""
