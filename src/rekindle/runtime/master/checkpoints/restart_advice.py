"""Tells people what is left of a job that was cancelled or has failed, and how to go on from it."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from rekindle.checkpoint.completed_checkpoint import CompletedCheckpoint
from rekindle.program.continuing import this_program
from rekindle.runtime.master.settings.job_settings import JobSettings


def restart_advice(
    settings: JobSettings,
    completed: Sequence[CompletedCheckpoint],
    kept: Collection[CompletedCheckpoint],
    savepoint: str | None = None,
    unreadable: CompletedCheckpoint | None = None,
) -> str:
    """Say in one line from where the job can be started again, or why from nowhere.

    Args:
        settings: The job's.
        completed: The checkpoints it could have been restarted from, oldest first.
        kept: Those of them that are kept now that it has ended.
        savepoint: The savepoint it was cancelled with, if it was.
        unreadable: The checkpoint that the job failed to read, if it failed by that: it is no place to start from.
    """
    if savepoint is not None:
        return f"Savepoint {savepoint} was taken at the end: {_start_from(savepoint)}"
    for checkpoint in reversed([checkpoint for checkpoint in completed if checkpoint is not unreadable]):
        path = _path(checkpoint)
        if path is not None and checkpoint.savepoint:
            return f"No checkpoint is newer than what the job was started from: {_start_from(path)}"
        if path is not None and checkpoint in kept:
            return f"Checkpoint {checkpoint.checkpoint_id} is kept: {_start_from(path)}"
    if unreadable is not None:
        name = "what the job was started from" if unreadable.savepoint else f"checkpoint {unreadable.checkpoint_id}"
        return f"No checkpoint is left to start from: {name} ({_path(unreadable) or 'in memory'}) cannot be read"
    return f"No checkpoint is left to start from: {_why(settings, completed)}"


def _start_from(path: str) -> str:
    return f"go on from it with '{this_program().continued_from(path)}', or set execution.state-recovery.path to {path}"


def _why(settings: JobSettings, completed: Sequence[CompletedCheckpoint]) -> str:
    if not settings.checkpointing:
        return "checkpoints are off; execution.checkpointing.interval turns them on"
    if settings.checkpoint_files is None:
        return "they were in memory; set execution.checkpointing.dir to have them in files"
    if not completed:
        return "none was complete"
    deleted = [checkpoint for checkpoint in completed if checkpoint.claimed or not checkpoint.savepoint]
    which = ", ".join(f"{checkpoint.checkpoint_id} ({_path(checkpoint)})" for checkpoint in deleted)
    return (
        f"with the job, checkpoint {which} is deleted; set "
        "execution.checkpointing.externalized-checkpoint-retention to RETAIN_ON_CANCELLATION to keep the last one"
    )


def _path(checkpoint: CompletedCheckpoint) -> str | None:
    return checkpoint.location.external_path
