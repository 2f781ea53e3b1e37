"""What an operator is: built from its transformation in every slot that runs it, and opened there once."""

from __future__ import annotations

import tempfile
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from rekindle.base.clock import Clock, SystemClock
from rekindle.metrics import MetricGroup
from rekindle.metrics.slot_metrics import SlotMetricGroup
from rekindle.runtime.chunk import Chunk
from rekindle.runtime.operators.event_loop import EventLoopThread
from rekindle.runtime.operators.restored_operator_state import RestoredOperatorState
from rekindle.state.blocks import KeyGroupBlock
from rekindle.state.keyed_backend import KeyedStateBackend
from rekindle.state.operator_state.stored import StoredList
from rekindle.state.snapshots import KeyedSnapshot, SnapshotRequest
from rekindle.types.type_information import TypeInformation

if TYPE_CHECKING:
    from rekindle.runtime.operators.event_time import EventTime

MIN_WATERMARK = -(1 << 63)
MAX_WATERMARK = (1 << 63) - 1


@dataclass(slots=True)
class OperatorContext:
    """Tell an operator where it runs and what was restored for it.

    ``keyed_backend`` makes the backend of its keyed state, restored; ``restored`` is what else was. ``request_epoch``
    may be called by any thread of the operator's own, when it has something to emit and no epoch may come by itself.
    ``superstep`` gives the number of the round, to an operator in an iteration that has rounds. ``batch`` tells whether
    the job is a batch, whose only checkpoint is at its end. ``event_loop`` is the slot's, for operators that wait for
    something outside. ``fresh_directory`` makes a directory on local disk that goes with the attempt, given what for.
    ``metrics`` is the group of what its functions count and measure. ``watermark_interval_ms`` says how often periodic
    watermarks are asked for; 0: never.
    """

    job_id: str
    uid: str
    name: str
    subtask: int
    parallelism: int
    max_parallelism: int
    attempt: int
    clock: Clock
    job_parameters: dict[str, str]
    keyed_backend: Callable[[], KeyedStateBackend]
    to_driver: Callable[[str, bytes], None]
    checkpointing: bool
    restored: RestoredOperatorState = field(default_factory=RestoredOperatorState)
    request_epoch: Callable[[], None] = lambda: None
    superstep: Callable[[], int] | None = None
    batch: bool = False
    event_loop: EventLoopThread = field(default_factory=EventLoopThread)
    fresh_directory: Callable[[str], str] = lambda purpose: tempfile.mkdtemp(prefix=f"rekindle-{purpose}-")
    metrics: MetricGroup = field(default_factory=lambda: SlotMetricGroup(SystemClock()))
    watermark_interval_ms: int = 200


class Operator(ABC):
    """Process chunks. Everything here is called by one thread at a time."""

    key_type: TypeInformation | None = None
    """The type that the program gave to the keys of the operator's input; None: any Python object."""

    commits_output = False
    """Whether output becomes visible when a checkpoint is complete: what is to commit is part of the checkpoint."""

    one_key_at_a_time = False
    """Whether there is state of one key only at any time, for which the heap will do, whatever backend is set."""

    def open(self, context: OperatorContext) -> None:  # noqa: B027 - most operators have nothing to set up
        """Set up in a slot, with restored state if there is any."""

    @abstractmethod
    def process(self, chunk: Chunk) -> Chunk | None:
        """Process records; return what goes on to the next operators."""

    def process_second(self, chunk: Chunk) -> Chunk | None:
        """Process records of the second input; return what goes on to the next operators."""
        raise AssertionError(f"{type(self).__name__} has only one input")

    def pieces(self, chunk: Chunk, side: int = 0) -> Iterator[Chunk | None]:
        """Process records of an input; give the results cut where the watermark of the output moves.

        All user code runs before the first piece. Behind each piece, ``output_watermark`` is the one that follows it.
        """
        return iter((self.process_second(chunk) if side else self.process(chunk),))

    def advance_watermark(self, watermark: int) -> Chunk | None:
        """React to the progress of event time."""
        return None

    def advance_processing_time(self, now: int) -> Chunk | None:
        """React to the progress of processing time."""
        return None

    def next_processing_timer(self) -> int | None:
        """Tell when processing time is of interest next."""
        return None

    def has_more(self) -> bool:
        """Tell whether an epoch is needed at once, though no record may come from before the operator."""
        return False

    def under_way(self) -> bool:
        """Tell whether records that came have yet to lead to their results, which will come unasked."""
        return False

    def waiting(self) -> Sequence[Chunk]:
        """Hand over what was kept for this epoch; it is emitted before the operator's other records."""
        return ()

    def input_progress(self, watermark: int, ended: bool) -> tuple[int, bool]:
        """Turn the watermark of the inputs, and whether they have ended, into what holds for the operator."""
        return watermark, ended

    def output_watermark(self, watermark: int) -> int:
        """Turn the watermark of the inputs into that of the output."""
        return watermark

    def output_idle(self, idle: bool) -> bool:
        """Turn the idleness of the inputs into that of the output: nobody waits for the watermark of an idle one."""
        return idle

    def held_back(self) -> Iterable[Chunk]:
        """Give what was held back until the end of all inputs, chunk by chunk; comes before the last watermark."""
        return ()

    def finish(self) -> Chunk | None:
        """React to the end of all inputs, after the last watermark."""
        return None

    def prepare_snapshot(self, checkpoint_id: int, timestamp: int) -> None:  # noqa: B027
        """Bring state and output up to date for a snapshot; runs while nothing else does.

        Args:
            checkpoint_id: The checkpoint.
            timestamp: When it was triggered, in milliseconds since the epoch.
        """

    def snapshot_lists(self) -> dict[str, StoredList]:
        """Give the operator's list states; runs while nothing else does."""
        return {}

    def snapshot_keyed(self, request: SnapshotRequest) -> KeyedSnapshot:
        """Freeze the managed keyed state; runs while nothing else does."""
        return KeyedSnapshot()

    def keyed_changes(self) -> tuple[int, int]:
        """Count the entries of keyed state in memory that changed since the last completed checkpoint, and all."""
        return 0, 0

    def timer_blocks(self) -> Iterator[KeyGroupBlock]:
        """Encode the timers; may run in a forked copy of the slot."""
        return iter(())

    def read_timers_back(self, block: KeyGroupBlock) -> None:  # noqa: B027
        """Read back one of :meth:`timer_blocks`; raise if a restore could not. May run in a forked copy of the slot."""

    def read_lists_back(self, lists: dict[str, StoredList]) -> None:  # noqa: B027
        """Read back list states that a snapshot holds; raise if a restore could not. May run in a forked copy."""

    def timer_count(self) -> int:
        """Count the timers."""
        return 0

    def raw_keyed_state(self) -> Iterable[tuple[int, bytes]]:
        """Give bytes of the operator's own making per key group of this subtask; they move with their key group."""
        return ()

    def keyed_state_names(self) -> list[str]:
        """Name the keyed states that exist, timers included."""
        return []

    def snapshot_completed(self, checkpoint_id: int) -> None:  # noqa: B027
        """Learn that later snapshots may build on this one."""

    def notify_complete(self, checkpoint_id: int) -> None:  # noqa: B027
        """React to a completed checkpoint."""

    def savepoint_completed(self, checkpoint_id: int) -> None:  # noqa: B027
        """Let what a complete savepoint in passing refers to outlive a failure of the job."""

    def notify_aborted(self, checkpoint_id: int) -> None:  # noqa: B027
        """React to a checkpoint that will never complete."""

    def commit_final(self) -> None:  # noqa: B027
        """Make output visible at the end of a job without checkpoints."""

    def close(self) -> None:  # noqa: B027
        """Tear down; the slot ends."""


class SourceOperator(Operator):
    """Produce records in the slot itself. Its position is operator state."""

    event_time: EventTime | None = None
    """Gives timestamps to what is polled, and watermarks, if the program asked for them."""

    drained = False
    """Whether it has to end though there may be more input: its position stays where it is."""

    def process(self, chunk: Chunk) -> Chunk | None:
        """Refuse: a source has no input."""
        raise AssertionError("a source has no input")

    def advance_processing_time(self, now: int) -> Chunk | None:
        if self.event_time is not None:
            self.event_time.advance(now)
        return None

    def next_processing_timer(self) -> int | None:
        return None if self.event_time is None or self.finished() else self.event_time.next_check()

    def output_watermark(self, watermark: int) -> int:
        return watermark if self.event_time is None else self.event_time.watermark

    def output_idle(self, idle: bool) -> bool:
        return idle if self.event_time is None else self.event_time.idle

    @abstractmethod
    def poll(self, max_records: int) -> Chunk | None:
        """Give the next records; None when there are none at the moment."""

    def pieces(self, chunk: Chunk, side: int = 0) -> Iterator[Chunk | None]:
        """Give what was polled with its timestamps, cut where the watermark moves."""
        return iter((chunk,)) if self.event_time is None else self.event_time.pieces(chunk)

    def stamped(self, chunk: Chunk) -> Chunk:
        """Give what was polled with its timestamps, in one piece."""
        return chunk if self.event_time is None else self.event_time.assign(chunk)

    @abstractmethod
    def finished(self) -> bool:
        """Tell whether there is no more input."""

    def drain(self) -> None:
        """End as if there were no more input; may be called again."""
        self.drained = True

    def over(self) -> bool:
        """Tell whether nothing more comes from here."""
        return self.drained or self.finished()

    def has_more(self) -> bool:
        return not self.finished()

    moves_by_itself = False
    """Whether it goes on while the slot stands still: its state is then that of a snapshot, not that of an epoch."""

    def position(self) -> dict[str, StoredList]:
        """Give the position as operator list states, as of the last poll; not called if it moves by itself."""
        raise AssertionError(f"{type(self).__name__} has no position of its own")
