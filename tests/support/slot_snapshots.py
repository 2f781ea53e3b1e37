"""What slots acknowledge checkpoints with, and where completed checkpoints are, for tests that are the slots."""

from __future__ import annotations

from rekindle.checkpoint.completed_checkpoint import CompletedCheckpoint
from rekindle.checkpoint.metadata import CheckpointMetadata, StateHandle, StoredFile
from rekindle.checkpoint.slot_snapshot import OperatorSnapshot, SlotSnapshot
from rekindle.checkpoint.storage import LocalCheckpointFiles
from rekindle.checkpoint.stored_checkpoint import StoredCheckpoint


def snapshot(slot: int = 0, name: str = "state", *operators: OperatorSnapshot) -> SlotSnapshot:
    """Make the snapshot of a slot, in a file of this name."""
    return SlotSnapshot(StateHandle(slot, StoredFile(0, 0, path=name)), operators)


def stored(checkpoint_id: int, written: int = 0, size: int = 0, directory: str | None = None) -> StoredCheckpoint:
    """Make a checkpoint of so many bytes; it is in a directory, or in memory."""
    handle = StateHandle(0, StoredFile(size, 0), written=written)
    metadata = CheckpointMetadata(checkpoint_id, "job", "name", 0, 0, [], [handle], [])
    files = None if directory is None else LocalCheckpointFiles(directory)
    return StoredCheckpoint(metadata, files, f"chk-{checkpoint_id}")


def completed(checkpoint_id: int, savepoint: bool = False, duration_ms: int = 0, size: int = 0) -> CompletedCheckpoint:
    """Make a completed checkpoint."""
    return CompletedCheckpoint(stored(checkpoint_id, written=size), savepoint, duration_ms)
