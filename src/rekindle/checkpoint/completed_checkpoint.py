"""A checkpoint whose metadata is durable."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class CompletedCheckpoint:
    """Describe a checkpoint that a job can be restored from.

    Attributes:
        checkpoint_id: Its number, unique within the job over all attempts.
        epoch: The epoch at whose end its barrier stood.
        timestamp: When it was triggered, in milliseconds.
        location: Where its metadata is; what that is, the storage knows.
        savepoint: Whether the user asked for it; then it is the user's to delete.
        duration_ms: From the trigger to the metadata being durable.
        size: Bytes written, None when the storage does not tell.
        claimed: Whether another job took it, and this one, which was started from it, deletes it in its time.
    """

    checkpoint_id: int
    epoch: int
    timestamp: int
    location: object
    savepoint: bool = False
    duration_ms: int = 0
    size: int | None = None
    claimed: bool = False
