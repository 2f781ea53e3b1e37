"""What is remembered about checkpoints that have ended, for display."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum

from rekindle.checkpoint.events import CheckpointFailureReason


class CheckpointStatus(Enum):
    """Say how a checkpoint ended."""

    COMPLETED = "completed"
    ABORTED = "aborted"


@dataclass(frozen=True, slots=True)
class CheckpointStatistics:
    """Describe one ended checkpoint.

    Attributes:
        checkpoint_id: The checkpoint's number.
        attempt: The attempt of the job it belonged to.
        status: How it ended.
        savepoint: Whether the user asked for it.
        trigger_timestamp: When it was triggered.
        duration_ms: From the trigger to its end.
        reason: Why it was aborted, None if it completed.
        message: More about that reason, empty if it completed.
        size: Bytes written, None when not known.
    """

    checkpoint_id: int
    attempt: int
    status: CheckpointStatus
    savepoint: bool
    trigger_timestamp: int
    duration_ms: int
    reason: CheckpointFailureReason | None = None
    message: str = ""
    size: int | None = None


class CheckpointHistory:
    """Keep the statistics of the checkpoints that ended last.

    Args:
        statistics: What is remembered already, oldest first.
        limit: How many to keep.
    """

    def __init__(self, statistics: Iterable[CheckpointStatistics] = (), limit: int = 100) -> None:
        self._entries = deque(statistics, maxlen=limit)

    def add(self, entry: CheckpointStatistics) -> None:
        """Remember one more, and forget the oldest if there are too many."""
        self._entries.append(entry)

    def all(self) -> tuple[CheckpointStatistics, ...]:
        """Return what is remembered, oldest first."""
        return tuple(self._entries)
