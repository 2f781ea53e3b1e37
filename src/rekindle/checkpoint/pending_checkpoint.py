"""A checkpoint that has been triggered and has not ended."""

from __future__ import annotations

from enum import Enum, auto

from rekindle.checkpoint.slot_snapshot import SlotSnapshot, TaskMeasurement


class AcknowledgeResult(Enum):
    """Tell what an acknowledgement did to a pending checkpoint."""

    ACCEPTED = auto()
    COMPLETED = auto()
    DUPLICATE = auto()
    UNKNOWN_SLOT = auto()


class PendingCheckpoint:
    """Collect the acknowledgements of one checkpoint, then wait for its metadata to be written.

    Attributes:
        checkpoint_id: The checkpoint's number.
        epoch: The epoch at whose end its barrier stands.
        timestamp: When it was triggered.
        savepoint: Whether the user asked for it.
        final: Whether the job ends with it.
        base_id: The newest checkpoint completed when this one was triggered: the one an incremental snapshot
            may share files with. None for none, and for a savepoint, which shares nothing.
        expires_at: The time at which it is overdue.
        writing: Whether all slots have acknowledged and the metadata is being written.
        committing: Whether its metadata is durable and nothing can abort it any more but the outcome of its commit.
        measured: When each slot acknowledged, and what it measured of its operators.
    """

    __slots__ = (
        "_participants",
        "_snapshots",
        "base_id",
        "checkpoint_id",
        "committing",
        "epoch",
        "expires_at",
        "final",
        "measured",
        "savepoint",
        "timestamp",
        "writing",
    )

    def __init__(
        self,
        *,
        checkpoint_id: int,
        epoch: int,
        timestamp: int,
        timeout_ms: int,
        participants: frozenset[int],
        savepoint: bool,
        final: bool,
        base_id: int | None,
    ) -> None:
        self.checkpoint_id = checkpoint_id
        self.epoch = epoch
        self.timestamp = timestamp
        self.savepoint = savepoint
        self.final = final
        self.base_id = base_id
        self.expires_at = timestamp + timeout_ms
        self.writing = False
        self.committing = False
        self.measured: dict[int, tuple[int, tuple[TaskMeasurement, ...]]] = {}
        self._participants = participants
        self._snapshots: dict[int, SlotSnapshot] = {}

    @property
    def latest_ack(self) -> int | None:
        """Return the time of the last acknowledgement, None if there is none."""
        return max((acknowledged for acknowledged, _ in self.measured.values()), default=None)

    def acknowledge(self, slot: int, snapshot: SlotSnapshot, now: int) -> AcknowledgeResult:
        """Take a slot's acknowledgement; the one that completes the set starts the writing."""
        if slot not in self._participants:
            return AcknowledgeResult.UNKNOWN_SLOT
        if slot in self._snapshots:
            return AcknowledgeResult.DUPLICATE
        self._snapshots[slot] = snapshot
        self.measured[slot] = (now, snapshot.measurements())
        if len(self._snapshots) < len(self._participants):
            return AcknowledgeResult.ACCEPTED
        self.writing = True
        return AcknowledgeResult.COMPLETED

    def snapshots(self) -> tuple[SlotSnapshot, ...]:
        """Return the snapshots of the slots that have acknowledged, by slot."""
        return tuple(snapshot for _, snapshot in sorted(self._snapshots.items()))

    def missing(self) -> list[int]:
        """Return the slots that have not acknowledged."""
        return sorted(self._participants - self._snapshots.keys())

    def is_participant(self, slot: int) -> bool:
        """Return whether the checkpoint waits, or waited, for this slot."""
        return slot in self._participants
