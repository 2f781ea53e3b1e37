"""What users read about a checkpoint that failed."""

from __future__ import annotations

from rekindle.checkpoint.events import CheckpointFailureReason
from rekindle.checkpoint.pending_checkpoint import PendingCheckpoint

_SLOTS_NAMED = 10


def savepoint_failed(checkpoint_id: int, reason: CheckpointFailureReason, detail: str) -> str:
    """Return why there is no savepoint."""
    return f"Savepoint {checkpoint_id} failed: {_because(reason, detail)}."


def checkpoint_failed(checkpoint_id: int, reason: CheckpointFailureReason, detail: str) -> str:
    """Return why a checkpoint failed that the job can do without."""
    return f"checkpoint {checkpoint_id} failed: {_because(reason, detail)}; the job goes on"


def too_many_failures(
    checkpoint_id: int, reason: CheckpointFailureReason, detail: str, in_a_row: int, tolerable: int
) -> str:
    """Return why a job fails over its checkpoints, and what can be done about it."""
    advice = "raise execution.checkpointing.tolerable-failed-checkpoints to let the job go on without it"
    if reason is CheckpointFailureReason.EXPIRED:
        advice = f"raise execution.checkpointing.timeout to give it more time, or {advice}"
    return (
        f"Checkpoint {checkpoint_id} failed: {_because(reason, detail)}. "
        f"Checkpoint failures in a row: {in_a_row}, tolerated: {tolerable}. You may {advice}."
    )


def missing_acknowledgements(pending: PendingCheckpoint) -> str:
    """Say for what a checkpoint that took too long still waited."""
    if pending.writing:
        return "its metadata was still being written"
    missing = pending.missing()
    named = ", ".join(str(slot) for slot in missing[:_SLOTS_NAMED])
    more = f" and {len(missing) - _SLOTS_NAMED} more" if len(missing) > _SLOTS_NAMED else ""
    return f"no acknowledgement had come from slot {named}{more}"


def _because(reason: CheckpointFailureReason, detail: str) -> str:
    text = f"{reason.name}, {reason.value}"
    return f"{text} ({detail})" if detail else text
