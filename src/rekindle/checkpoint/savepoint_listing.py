"""The savepoints and checkpoints that stand in a directory."""

from __future__ import annotations

from dataclasses import dataclass

from rekindle.checkpoint import paths
from rekindle.checkpoint.restoring import open_checkpoint
from rekindle.checkpoint.storage import checkpoint_files
from rekindle.exceptions import CheckpointCorruptError, CheckpointStorageError


@dataclass(frozen=True, slots=True)
class SavepointSummary:
    """Describe a savepoint or checkpoint in a line.

    Attributes:
        location: Its directory.
        savepoint: Whether it is a savepoint.
        checkpoint_id: Its number within its job.
        job_id: The job.
        job_name: The name of the job.
        timestamp: When it was triggered, in milliseconds.
        size: How many bytes of state it has.
        problem: Why nothing of that is known; None: it is.
    """

    location: str
    savepoint: bool = False
    checkpoint_id: int = -1
    job_id: str = ""
    job_name: str = ""
    timestamp: int = -1
    size: int = 0
    problem: str | None = None


def list_savepoints(directory: str) -> list[SavepointSummary]:
    """List what stands in a directory, newest first; what cannot be read comes last."""
    files = checkpoint_files(paths.directory(directory))
    found = [
        _summary(paths.join(files.root, name))
        for name in files.list("")
        if name != paths.SHARED and not files.is_link(name) and paths.METADATA in files.list(name)
    ]
    return sorted(found, key=lambda summary: (-summary.timestamp, -summary.checkpoint_id, summary.location))


def _summary(location: str) -> SavepointSummary:
    try:
        metadata = open_checkpoint(location).metadata
    except (CheckpointCorruptError, CheckpointStorageError) as error:
        return SavepointSummary(location, problem=str(error))
    return SavepointSummary(
        location,
        metadata.savepoint,
        metadata.checkpoint_id,
        metadata.job_id,
        metadata.job_name,
        metadata.timestamp,
        metadata.state_size,
    )
