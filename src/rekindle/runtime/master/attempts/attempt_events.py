"""What happens to an attempt (events) and what it orders (instructions). Both are values; see ``attempt_machine``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import TypeAlias

from rekindle.checkpoint.completed_checkpoint import CompletedCheckpoint
from rekindle.checkpoint.metadata import StagedRows
from rekindle.checkpoint.slot_snapshot import SlotSnapshot
from rekindle.runtime.master.checkpoints.stopping import StopRequest
from rekindle.runtime.master.checkpoints.storage_orders import StorageInstruction, StorageOutcome
from rekindle.runtime.master.epochs.epoch_events import EpochEnded, EpochWaits
from rekindle.runtime.wire import messages as m


class Outcome(Enum):
    """Say how an attempt ended, when it did not fail."""

    FINISHED = auto()
    CANCELLED = auto()


# ---------------------------------------------------------------------------------------------- events


@dataclass(frozen=True, slots=True)
class Woken:
    """Time has passed, or somebody has asked for a savepoint or the end of the job."""


@dataclass(frozen=True, slots=True)
class EpochRequested:
    """An operator has something to emit that the cluster did not bring."""


@dataclass(frozen=True, slots=True)
class SnapshotTaken:
    """A slot acknowledges a checkpoint."""

    attempt: int
    checkpoint_id: int
    slot: int
    snapshot: SlotSnapshot


@dataclass(frozen=True, slots=True)
class SnapshotDeclined:
    """A slot declines a checkpoint; ``curable``: a restart may help."""

    attempt: int
    checkpoint_id: int
    slot: int
    message: str
    curable: bool = True


@dataclass(frozen=True, slots=True)
class OutputCommitted:
    """A slot has done what the completion of a checkpoint asks for; 0 stands for the end of a job without any.

    ``staged``: what is left for the driver to commit then, by the uid of the sink.
    """

    slot: int
    checkpoint_id: int
    staged: Mapping[str, Sequence[StagedRows]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RowsCommitted:
    """The driver has committed the rows of a checkpoint; 0 stands for the end of a job without any."""

    checkpoint_id: int


@dataclass(frozen=True, slots=True)
class BarrierFailed:
    """A checkpoint could not begin."""

    checkpoint_id: int
    error: Exception


@dataclass(frozen=True, slots=True)
class Failed:
    """Something has failed, the ownership of the job included. ``primary``: it follows from nothing else."""

    error: BaseException
    primary: bool = True


@dataclass(frozen=True, slots=True)
class CauseOverdue:
    """Nobody has named a better cause of a failure in time."""


@dataclass(frozen=True, slots=True)
class CancelRequested:
    """The job is to be cancelled."""


Event: TypeAlias = (
    StorageOutcome
    | Woken
    | EpochWaits
    | EpochEnded
    | EpochRequested
    | SnapshotTaken
    | SnapshotDeclined
    | OutputCommitted
    | RowsCommitted
    | BarrierFailed
    | Failed
    | CauseOverdue
    | CancelRequested
)


# ---------------------------------------------------------------------------------------- instructions


@dataclass(frozen=True, slots=True)
class BeginEpoch:
    """Let an epoch begin that waits."""

    epoch: int


@dataclass(frozen=True, slots=True)
class SkipEpoch:
    """Let an epoch that waits end without having begun: all input has ended."""

    epoch: int


@dataclass(frozen=True, slots=True)
class Tick:
    """Ask for an epoch, though the sources that the cluster reads may have nothing new."""


@dataclass(frozen=True, slots=True)
class DrainSources:
    """End all sources where they stand after the last epoch, and let the next ones go without them."""

    last_epoch: int


@dataclass(frozen=True, slots=True)
class PlaceBarrier:
    """Note where the sources stand that the cluster reads, and let all slots take a snapshot."""

    order: m.TriggerSnapshot


@dataclass(frozen=True, slots=True)
class TellSlots:
    """Tell all slots something."""

    message: m.ToSlot


@dataclass(frozen=True, slots=True)
class CommitRows:
    """Let the driver commit the rows of a completed checkpoint. Answered by ``RowsCommitted``."""

    checkpoint: CompletedCheckpoint


@dataclass(frozen=True, slots=True)
class CommitLastRows:
    """Let the driver commit all rows, at the end of a job without checkpoints. Answered by ``RowsCommitted``."""

    staged: Mapping[str, Sequence[StagedRows]]


@dataclass(frozen=True, slots=True)
class ShowCheckpoint:
    """Tell people of a completed checkpoint; what was collected before it becomes visible."""

    checkpoint: CompletedCheckpoint


@dataclass(frozen=True, slots=True)
class ShowCheckpointFailure:
    """Tell people of a failed checkpoint that the job can do without."""

    checkpoint_id: int
    reason: str
    text: str


@dataclass(frozen=True, slots=True)
class ShowStopSavepoint:
    """Tell people of the complete savepoint that the job ends with."""

    location: str


@dataclass(frozen=True, slots=True)
class ShowRecovery:
    """Tell people that the job runs again."""


@dataclass(frozen=True, slots=True)
class CompleteSavepoint:
    """Hand over a savepoint to whoever asked for it."""

    checkpoint_id: int


@dataclass(frozen=True, slots=True)
class FailSavepoint:
    """Tell whoever asked for a savepoint that there is none."""

    checkpoint_id: int
    message: str


@dataclass(frozen=True, slots=True)
class CompleteRequested:
    """Tell whoever asked for a checkpoint that it is complete."""

    checkpoint_id: int


@dataclass(frozen=True, slots=True)
class FailRequested:
    """Tell whoever asked for a checkpoint that there is none."""

    checkpoint_id: int
    message: str


@dataclass(frozen=True, slots=True)
class GiveUpStop:
    """Tell whoever asked for the end of the job that it did not come about; ``then``: what the job does instead."""

    request: StopRequest
    message: str
    then: str = "goes on"


@dataclass(frozen=True, slots=True)
class InterruptStop:
    """Leave the end of the job to the next attempt, unless too many have tried."""

    message: str


@dataclass(frozen=True, slots=True)
class AwaitCause:
    """Report ``CauseOverdue`` if nobody names the cause of a failure in a short time."""


@dataclass(frozen=True, slots=True)
class End:
    """End the attempt: it is finished or cancelled, or has failed by an error."""

    outcome: Outcome | BaseException


News: TypeAlias = (
    ShowCheckpoint
    | ShowCheckpointFailure
    | ShowStopSavepoint
    | ShowRecovery
    | CompleteSavepoint
    | FailSavepoint
    | CompleteRequested
    | FailRequested
    | GiveUpStop
    | InterruptStop
)
Instruction: TypeAlias = (
    StorageInstruction
    | News
    | BeginEpoch
    | SkipEpoch
    | Tick
    | DrainSources
    | PlaceBarrier
    | TellSlots
    | CommitRows
    | CommitLastRows
    | AwaitCause
    | End
)
