"""Deletes a checkpoint or savepoint that another job took, and that the job started from it has claimed.

Beside it may be other checkpoints of that job, which nobody has claimed: what they refer to stays.
"""

from __future__ import annotations

import logging

from rekindle.checkpoint import paths
from rekindle.checkpoint.cleanup import FoundFiles, classify
from rekindle.checkpoint.metadata import decode_metadata
from rekindle.checkpoint.storage import CheckpointFiles
from rekindle.checkpoint.stored_checkpoint import StoredCheckpoint
from rekindle.exceptions import CheckpointError

log = logging.getLogger(__name__)


def delete_claimed(checkpoint: StoredCheckpoint) -> None:
    """Delete a checkpoint or savepoint with all files that belong to it alone; its metadata first.

    Whatever else somebody has put beside its files stays, and so does then its directory.
    What cannot be deleted is logged, and can be deleted by hand: nothing needs it any more.
    """
    files = checkpoint.files
    if files is None:
        return
    try:
        references = _beside(files, checkpoint)
        shared = FoundFiles(frozenset(), checkpoint.shared_names())
        doomed = [*_own(checkpoint), *classify(shared, references, references.keys()).delete]
        files.delete(paths.join(checkpoint.directory, paths.METADATA))
        for path in doomed:
            files.delete(path)
        of_the_job = (paths.SHARED, "") if paths.checkpoint_id_of(checkpoint.directory) is not None else ()
        for directory in (checkpoint.directory, *of_the_job):
            if not files.list(directory):
                files.delete(directory)
    except CheckpointError as error:
        log.warning("%s. What is left of %s can be deleted by hand", error, checkpoint.describe())


def _own(checkpoint: StoredCheckpoint) -> list[str]:
    """Name the files in its own directory."""
    files = (file for handle in checkpoint.metadata.handles for file in handle.files() if not file.shared)
    return [paths.resolve(checkpoint.directory, file.path) for file in files if file.path is not None]


def _beside(files: CheckpointFiles, checkpoint: StoredCheckpoint) -> dict[int, frozenset[str]]:
    """Read to which shared files the other checkpoints of the same job refer."""
    if not checkpoint.shared_names():
        return {}
    found = {}
    for name in files.list(""):
        number = paths.checkpoint_id_of(name)
        path = paths.join(name, paths.METADATA)
        if number is not None and name != checkpoint.directory and paths.METADATA in files.list(name):
            other = StoredCheckpoint(decode_metadata(files.read(path), files.describe(path)), files, name)
            found[number] = other.shared_names()
    return found
