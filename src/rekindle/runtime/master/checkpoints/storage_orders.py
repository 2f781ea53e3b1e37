"""What an attempt orders the storage of its checkpoints to do, and what came of it. Both are values.

They are carried out by ``checkpoint_writer``, in the thread of ``checkpoint_io``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from rekindle.checkpoint.events import DropCompleted, WriteMetadata
from rekindle.checkpoint.stored_checkpoint import StoredCheckpoint
from rekindle.exceptions import RekindleError
from rekindle.ha.entry import CheckpointReference


@dataclass(frozen=True, slots=True)
class NoteCheckpoint:
    """Enter a checkpoint whose metadata is durable into the job's log, with all that are retained then."""

    checkpoint_id: int
    location: StoredCheckpoint
    retained: tuple[CheckpointReference, ...]


@dataclass(frozen=True, slots=True)
class ReserveIds:
    """Reserve checkpoint ids, this one and some more, in the job's log."""

    checkpoint_id: int


@dataclass(frozen=True, slots=True)
class NoteOutput:
    """Enter into the job's log that output becomes visible without a checkpoint."""


@dataclass(frozen=True, slots=True)
class DiscardFiles:
    """Delete all that was written for a checkpoint that will never be complete."""

    checkpoint_id: int


StorageInstruction: TypeAlias = WriteMetadata | NoteCheckpoint | ReserveIds | NoteOutput | DiscardFiles | DropCompleted


@dataclass(frozen=True, slots=True)
class MetadataStored:
    """The metadata of a checkpoint is durable."""

    checkpoint_id: int
    location: StoredCheckpoint


@dataclass(frozen=True, slots=True)
class CheckpointNoted:
    """The job's log has a completed checkpoint; ``ids_to`` is the highest checkpoint id that may be used now."""

    checkpoint_id: int
    location: StoredCheckpoint
    ids_to: int | None


@dataclass(frozen=True, slots=True)
class CheckpointNotStored:
    """The metadata of a checkpoint, or its entry in the job's log, could not be written."""

    checkpoint_id: int
    error: RekindleError


@dataclass(frozen=True, slots=True)
class IdsReserved:
    """Checkpoint ids up to this one may be used."""

    ids_to: int | None


@dataclass(frozen=True, slots=True)
class OutputNoted:
    """The job's log says that output becomes visible without a checkpoint."""


@dataclass(frozen=True, slots=True)
class CommitGivenUp:
    """The rows of a checkpoint were not committed, as the attempt ended first; whoever restores it commits them."""

    checkpoint_id: int


StorageOutcome: TypeAlias = (
    MetadataStored | CheckpointNoted | CheckpointNotStored | IdsReserved | OutputNoted | CommitGivenUp
)
