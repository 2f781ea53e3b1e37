"""A checkpoint whose metadata is durable."""

from __future__ import annotations

from dataclasses import dataclass

from rekindle.checkpoint.stored_checkpoint import StoredCheckpoint


@dataclass(frozen=True, slots=True)
class CompletedCheckpoint:
    """Describe a checkpoint that a job can be restored from.

    Attributes:
        location: Where it is, and its metadata.
        savepoint: Whether it is not the job's own, to build on or to delete: the user asked for it, or the job was
            started from it.
        duration_ms: From the trigger to the metadata being durable.
        claimed: Whether another job took it, and this one, which was started from it, deletes it in its time.
    """

    location: StoredCheckpoint
    savepoint: bool = False
    duration_ms: int = 0
    claimed: bool = False

    @property
    def checkpoint_id(self) -> int:
        """Return its number, unique within the job over all attempts."""
        return self.location.metadata.checkpoint_id

    @property
    def size(self) -> int:
        """Return how many bytes were written for it."""
        return self.location.metadata.written_size
