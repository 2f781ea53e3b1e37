"""What the checkpoint coordinator is told (events) and what it orders (instructions), with their reasons.

Events are kept as a history, so that an error can show what led to it; they carry no state. Instructions are
carried out, in the order given, by whoever drives the coordinator.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import TypeAlias

from rekindle.checkpoint.completed_checkpoint import CompletedCheckpoint
from rekindle.checkpoint.slot_snapshot import SlotSnapshot


class CheckpointFailureReason(Enum):
    """Say why a checkpoint was aborted; the value is the text shown to users."""

    EXPIRED = "it took longer than the timeout"
    DECLINED = "a subtask declined it"
    UNWRITABLE = "its state cannot be written"
    METADATA_WRITE_FAILED = "its metadata could not be written"
    STORAGE = "the checkpoint storage failed"
    SUBSUMED = "a newer checkpoint completed first"
    SLOT_LOST = "a slot was lost"
    JOB_FAILED = "the job failed"
    JOB_CANCELLED = "the job was cancelled"
    JOB_FINISHED = "the job finished"

    @property
    def counts_as_failure(self) -> bool:
        """Return whether an abort for this reason counts toward the tolerable failures."""
        return self in _COUNTED


_COUNTED = frozenset(
    {
        CheckpointFailureReason.EXPIRED,
        CheckpointFailureReason.DECLINED,
        CheckpointFailureReason.UNWRITABLE,
        CheckpointFailureReason.METADATA_WRITE_FAILED,
        CheckpointFailureReason.STORAGE,
    }
)


# ---------------------------------------------------------------------------------------------- events


@dataclass(frozen=True, slots=True)
class CheckpointTriggered:
    """Record that a checkpoint was triggered."""

    now: int
    checkpoint_id: int
    epoch: int
    savepoint: bool
    final: bool


@dataclass(frozen=True, slots=True)
class CheckpointAcknowledged:
    """Record that a slot acknowledged a checkpoint."""

    now: int
    attempt: int
    checkpoint_id: int
    slot: int


@dataclass(frozen=True, slots=True)
class CheckpointDeclined:
    """Record that a slot declined a checkpoint."""

    now: int
    attempt: int
    checkpoint_id: int
    slot: int
    reason: CheckpointFailureReason
    message: str


@dataclass(frozen=True, slots=True)
class MetadataWritten:
    """Record that a checkpoint's metadata became durable."""

    now: int
    checkpoint_id: int


@dataclass(frozen=True, slots=True)
class MetadataFailed:
    """Record that a checkpoint's metadata could not be written."""

    now: int
    checkpoint_id: int
    message: str


@dataclass(frozen=True, slots=True)
class CheckpointExpired:
    """Record that a checkpoint was found overdue."""

    now: int
    checkpoint_id: int


@dataclass(frozen=True, slots=True)
class AllAborted:
    """Record that the attempt ended and everything pending was aborted."""

    now: int
    reason: CheckpointFailureReason


@dataclass(frozen=True, slots=True)
class CheckpointDamaged:
    """Record that a completed checkpoint turned out to be unreadable."""

    checkpoint_id: int


Event: TypeAlias = (
    CheckpointTriggered
    | CheckpointAcknowledged
    | CheckpointDeclined
    | MetadataWritten
    | MetadataFailed
    | CheckpointExpired
    | AllAborted
    | CheckpointDamaged
)


# ---------------------------------------------------------------------------------------- instructions


@dataclass(frozen=True, slots=True)
class TriggerCheckpoint:
    """Tell every slot to take a snapshot."""

    checkpoint_id: int
    epoch: int
    timestamp: int
    savepoint: bool
    base_id: int | None = None  # the completed checkpoint that an incremental snapshot may build on


@dataclass(frozen=True, slots=True)
class WriteMetadata:
    """Write the metadata of a fully acknowledged checkpoint, then report how that went.

    The outcome must be reported in every case, also after the checkpoint was aborted: until then its files
    are not discarded, because the metadata that refers to them may just be becoming durable.
    """

    checkpoint_id: int
    epoch: int
    timestamp: int
    snapshots: tuple[SlotSnapshot, ...]
    savepoint: bool
    final: bool


@dataclass(frozen=True, slots=True)
class NotifyComplete:
    """Tell every slot that a checkpoint is complete."""

    checkpoint_id: int
    savepoint: bool
    final: bool

    @property
    def is_restore_point(self) -> bool:
        """Return whether a failure from now on leads back to this checkpoint at the earliest.

        Only then may sinks commit, and may later incremental snapshots build on it. A savepoint taken in
        passing is no restore point: after a failure the job goes back to a checkpoint before it, and what was
        committed for the savepoint would be written twice.
        """
        return self.final or not self.savepoint


@dataclass(frozen=True, slots=True)
class NotifyAborted:
    """Tell every slot that a checkpoint will not complete."""

    checkpoint_id: int
    reason: CheckpointFailureReason
    detail: str = field(default="", compare=False)  # what is known besides, for people


@dataclass(frozen=True, slots=True)
class DiscardState:
    """Delete what a late snapshot wrote itself; files it shares are not its own.

    ``snapshot`` is what the slot acknowledged it with, None where it gave up.
    """

    checkpoint_id: int
    snapshot: SlotSnapshot | None


@dataclass(frozen=True, slots=True)
class DiscardCheckpoint:
    """Delete all that an aborted checkpoint wrote itself, and its metadata."""

    checkpoint_id: int


@dataclass(frozen=True, slots=True)
class DropCompleted:
    """Delete a completed checkpoint, except files it shares with completed ones not dropped so far."""

    checkpoint: CompletedCheckpoint


@dataclass(frozen=True, slots=True)
class ReportSavepointFailure:
    """Tell whoever asked for a savepoint that it failed; the job goes on."""

    checkpoint_id: int
    message: str


@dataclass(frozen=True, slots=True)
class FailJob:
    """Fail the job: more checkpoints in a row have failed than are tolerated."""

    checkpoint_id: int
    reason: CheckpointFailureReason
    message: str


Instruction: TypeAlias = (
    TriggerCheckpoint
    | WriteMetadata
    | NotifyComplete
    | NotifyAborted
    | DiscardState
    | DiscardCheckpoint
    | DropCompleted
    | ReportSavepointFailure
    | FailJob
)
