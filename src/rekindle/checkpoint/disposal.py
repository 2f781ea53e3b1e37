"""Deletes a savepoint or a retained checkpoint: exactly what belongs to it, and to nothing else.

What there is to delete is settled first, from its metadata and from that of the checkpoints beside it. Then the
metadata goes first: where there is metadata, all that it refers to is there, even if the process ends in the middle.

Anybody may have written what is named as a savepoint. So nothing is deleted but files that are named as Rekindle names
them, that really lie in the directory or among those its job shares, and that belong to the user; and nothing at all
where one of them does not.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass

from rekindle.checkpoint import paths
from rekindle.checkpoint.metadata import CheckpointMetadata
from rekindle.checkpoint.restoring import open_checkpoint
from rekindle.checkpoint.storage import CheckpointFiles, checkpoint_files
from rekindle.checkpoint.stored_checkpoint import StoredCheckpoint
from rekindle.exceptions import (
    CheckpointCorruptError,
    CheckpointError,
    CheckpointStorageError,
    ConfigurationError,
    StateNotFoundError,
)

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class DisposalPlan:
    """Say what disposing of a checkpoint or savepoint deletes.

    Attributes:
        stored: The checkpoint.
        files: What is deleted besides the metadata, by path within its storage.
        size: How many bytes of state that is, with what is inside the metadata.
        kept: Files that other checkpoints of the job refer to, which stay.
        unknown: What stands in its directory and does not belong to it, which stays, too.
        warnings: What the user should know before.
    """

    stored: StoredCheckpoint
    files: tuple[str, ...]
    size: int
    kept: tuple[str, ...]
    unknown: tuple[str, ...]
    warnings: tuple[str, ...]

    @property
    def location(self) -> str:
        """Name the directory of the metadata."""
        assert self.stored.files is not None
        return self.stored.files.describe(self.stored.directory)

    @property
    def metadata(self) -> CheckpointMetadata:
        """Return the metadata."""
        return self.stored.metadata


@dataclass(frozen=True, slots=True)
class DisposalReport:
    """Say what was deleted.

    Attributes:
        location: Where the checkpoint was.
        deleted: The files that are gone, the metadata among them.
        size: How many bytes of state they had.
        kept: Files that other checkpoints refer to.
        unknown: What did not belong to the checkpoint and was left alone.
        failed: What could not be deleted, and why; it is of no use any more.
    """

    location: str
    deleted: tuple[str, ...]
    size: int
    kept: tuple[str, ...]
    unknown: tuple[str, ...]
    failed: tuple[str, ...]


def plan_disposal(location: str) -> DisposalPlan:
    """Settle what is to be deleted; nothing is, yet.

    Args:
        location: The directory of a checkpoint or savepoint, or its metadata file.

    Raises:
        StateNotFoundError: There is no such directory.
        ConfigurationError: The directory is none of a checkpoint or savepoint.
        CheckpointCorruptError: Its metadata is damaged: what belongs to it cannot be told.
        CheckpointStorageError: Something of it is a link, or belongs to somebody else.
    """
    location = paths.directory(location)
    if location.endswith("/" + paths.METADATA):
        location = location[: -len(paths.METADATA) - 1]
    location = checkpoint_files(location).really().root
    names = checkpoint_files(location).list("")
    if paths.METADATA not in names:
        raise _no_savepoint(location, names)
    return plan_disposal_of(open_checkpoint(location))


def plan_disposal_of(stored: StoredCheckpoint) -> DisposalPlan:
    """Settle what is to be deleted with a checkpoint or savepoint in files; nothing is, yet.

    Raises:
        CheckpointStorageError: Something of it is a link, or belongs to somebody else.
    """
    files, directory = stored.files, stored.directory
    assert files is not None
    by_path = {paths.resolve(directory, file.path): file for file in stored.metadata.files() if file.path is not None}
    own = {path for path, file in by_path.items() if not file.shared and _is_below(path, directory)}
    shared = {path for path, file in by_path.items() if file.shared and _is_below(path, paths.SHARED)}
    needed, warnings = _needed_by_others(stored) if shared else (frozenset[str](), ())
    if not stored.metadata.savepoint:
        warnings += (
            "this is a checkpoint, not a savepoint: if its job is still running, it may need it to recover, and that "
            "cannot be told from the files",
        )
    markers = {paths.join(directory, name) for name in files.list(directory) if paths.is_commit_marker(name)}
    known = {path.rsplit("/", 1)[-1] for path in own | markers} | {paths.METADATA}
    deleted = own | {path for path in shared if path not in needed}
    for path in (paths.join(directory, paths.METADATA), *sorted(deleted | markers)):
        refusal = files.refusal(path)
        if refusal is not None:
            raise CheckpointStorageError(f"{refusal}. Nothing was deleted")
    inlined = sum(file.size for file in stored.metadata.files() if file.path is None)
    return DisposalPlan(
        stored,
        tuple(sorted(deleted | markers)),
        sum(by_path[path].size for path in deleted) + inlined,
        tuple(sorted(shared & needed)),
        tuple(sorted(set(files.list(directory)) - known)),
        warnings,
    )


def delete_claimed(checkpoint: StoredCheckpoint) -> None:
    """Delete a checkpoint or savepoint that another job took, and that the job started from it has claimed.

    What cannot be deleted is logged, and can be deleted by hand: nothing needs it any more.
    """
    if checkpoint.files is None:
        return
    try:
        problems: tuple[str, ...] = carry_out(plan_disposal_of(checkpoint)).failed
    except CheckpointError as error:
        problems = (str(error),)
    for problem in problems:
        log.warning("%s. What is left of %s can be deleted by hand", problem, checkpoint.describe())


def dispose(location: str) -> DisposalReport:
    """Delete a savepoint or checkpoint with all files that belong to it alone.

    Raises:
        CheckpointError: It cannot be done; see :func:`plan_disposal`. Then nothing is deleted.
    """
    return carry_out(plan_disposal(location))


def carry_out(plan: DisposalPlan) -> DisposalReport:
    """Delete what was settled.

    Raises:
        CheckpointStorageError: The metadata cannot be deleted. Then nothing is.
    """
    files, directory = plan.stored.files, plan.stored.directory
    assert files is not None
    metadata = paths.join(directory, paths.METADATA)
    files.delete_own(metadata)
    deleted, failed = [metadata], []
    for path in plan.files:
        try:
            files.delete_own(path)
            deleted.append(path)
        except CheckpointError as error:
            failed.append(str(error))
    emptied = [directory] if directory else []
    if paths.checkpoint_id_of(directory) is not None:
        emptied += [paths.COMMITTED, paths.SHARED, ""]  # of the job
    for name in emptied:
        try:
            if name == paths.COMMITTED and _is_last(files):
                _forget_commits(files)
            files.delete_empty(name)
        except CheckpointError as error:
            failed.append(str(error))
    return DisposalReport(
        plan.location, tuple(map(files.describe, deleted)), plan.size, plan.kept, plan.unknown, tuple(failed)
    )


def _needed_by_others(stored: StoredCheckpoint) -> tuple[frozenset[str], tuple[str, ...]]:
    """Find the shared files that checkpoints beside this one refer to; all, where one of those cannot be read."""
    files = stored.files
    assert files is not None
    needed: set[str] = set()
    for name in files.list(""):
        if name == stored.directory or paths.METADATA not in files.list(name):
            continue
        try:
            beside = open_checkpoint(files.describe(name))
        except CheckpointCorruptError as error:
            return stored.shared_names(), (f"files that checkpoints share are kept: {error}",)
        needed |= beside.shared_names()
    return frozenset(needed), ()


def _forget_commits(files: CheckpointFiles) -> None:
    """Delete the markers that say what a job has committed, when nothing can be gone back to."""
    for name in filter(paths.is_commit_marker, files.list(paths.COMMITTED)):
        files.delete_own(paths.join(paths.COMMITTED, name))


def _is_last(files: CheckpointFiles) -> bool:
    """Return whether no checkpoint is left in a job's directory."""
    return all(paths.checkpoint_id_of(name) is None for name in files.list(""))


def _is_below(path: str, directory: str) -> bool:
    return ".." not in path.split("/") and (not directory or path.startswith(directory + "/"))


def _no_savepoint(location: str, names: list[str]) -> CheckpointError | ConfigurationError:
    above, _, name = location.rpartition("/")
    if not names and name not in checkpoint_files(above or "/").list(""):
        return StateNotFoundError(f"there is no savepoint or checkpoint at {location}: there is no such directory")
    return ConfigurationError(
        f"{location} is not a savepoint or checkpoint: there is no {paths.METADATA} file in it. Give the directory of "
        "one; nothing was deleted"
    )
