"""Finds the checkpoint a job is to be restored from, and checks that it fits the program."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import dataclass, replace

from rekindle.base.local_path import is_local
from rekindle.checkpoint import paths
from rekindle.checkpoint.alike_operators import check_told_apart
from rekindle.checkpoint.left_behind import LeftState, left_behind, listed
from rekindle.checkpoint.metadata import CheckpointMetadata, OperatorMetadata, decode_metadata
from rekindle.checkpoint.storage import CheckpointFiles, checkpoint_files
from rekindle.checkpoint.stored_checkpoint import StoredCheckpoint
from rekindle.exceptions import CheckpointCorruptError, CheckpointNotFoundError, StateRestoreError
from rekindle.graph.job_graph import JobGraph, JobNode
from rekindle.graph.vertex_ids import given_uid

log = logging.getLogger(__name__)

FALLBACK_KEY = "execution.state-recovery.fallback-to-earlier"
WRITTEN_AGAIN = "Output that was committed after that one may be written again"


@dataclass(frozen=True, slots=True)
class Consent:
    """Say what of a checkpoint may be dropped because no operator of the program takes it over.

    Attributes:
        unclaimed_state: State of any kind but uncommitted output.
        uncommitted_output: Output that was not committed when the checkpoint was taken: its records may be lost.
    """

    unclaimed_state: bool = False
    uncommitted_output: bool = False


class RestorePath:
    """Give the checkpoint that a location names and, while what was given is damaged, the ones before it.

    The location is the directory of a checkpoint, its metadata file, or a directory of which it is the newest. Those
    before it are the older ones in the same job's directory.

    Attributes:
        current: The newest checkpoint that is not known to be damaged.

    Args:
        location: What the user gave.
        fallback: Whether an earlier checkpoint may stand in for a damaged one.

    Raises:
        CheckpointNotFoundError: If there is none.
        CheckpointCorruptError: If its metadata is damaged, and no other may, or can, stand in.
    """

    def __init__(self, location: str, fallback: bool = False) -> None:
        self._fallback = fallback
        self._directories = _directories(location, fallback)
        self.current = self._open_next()

    def earlier(self) -> list[str]:
        """Name the checkpoints before the current one, newest first."""
        return list(self._directories)

    def go_back(self) -> StoredCheckpoint | None:
        """Take the current checkpoint for damaged; return the next one before it, None where there is none."""
        if not self._directories:
            return None
        try:
            self.current = self._open_next()
        except CheckpointCorruptError as error:
            log.warning("%s", error)
            return None
        return self.current

    def _open_next(self) -> StoredCheckpoint:
        directory = self._directories.pop(0)
        while True:
            try:
                return open_checkpoint(directory)
            except CheckpointCorruptError as error:
                if not self._directories:
                    raise
                if not self._fallback:
                    raise CheckpointCorruptError(f"{error}. {advice(self._directories)}") from error
                directory = self._directories.pop(0)
                log.warning("%s; %s is used instead. %s", error, directory, WRITTEN_AGAIN)


def check_restore_path(location: str) -> None:
    """Find out whether there is anything to restore from at a location, without reading it.

    Raises:
        CheckpointNotFoundError: There is nothing.
    """
    _directories(location, skip_damaged=True)


def advice(earlier: list[str]) -> str:
    """Return what to do about a damaged checkpoint with others before it."""
    return f"Earlier checkpoints exist ({', '.join(earlier)}): set {FALLBACK_KEY} to true to go back to them"


def open_checkpoint(directory: str) -> StoredCheckpoint:
    """Open a checkpoint by its own directory, from the one above it: beside it are the files it shares."""
    if is_local(directory):
        directory = checkpoint_files(directory).really().root  # beside what a link leads to, not beside the link
    above, _, name = directory.rpartition("/")
    if not above or above.endswith(("/", ":")):  # nothing above it but the root of the file system
        above, name = directory, ""
    files = checkpoint_files(above)
    path = paths.join(name, paths.METADATA)
    return StoredCheckpoint(decode_metadata(files.read(path), files.describe(path)), files, name)


def _directories(location: str, skip_damaged: bool) -> list[str]:
    """List the directories of the checkpoints that a location may stand for, newest first."""
    location = paths.directory(location)
    if location.endswith("/" + paths.METADATA):
        location = location[: -len(paths.METADATA) - 1]
    files = checkpoint_files(location)
    names = files.list("")
    if paths.METADATA in names:
        return [location, *_before(location)]
    names = [name for name in names if not _left_out(files, name)]
    jobs = [("", names), *((name, files.list(name)) for name in names if paths.checkpoint_id_of(name) is None)]
    found = [numbered for job, below in jobs if (numbered := list(_completed(files, job, below)))]
    if not found:
        raise CheckpointNotFoundError(
            f"there is no checkpoint at {location}: no {paths.METADATA} file in it or in a chk-… directory below. "
            "Give the directory of a checkpoint, or of a job that has completed one"
        )
    # Ids count within a job. Between jobs, the one that was taken last is the newest.
    newest = found[0]
    if len(found) > 1:
        newest = max(found, key=lambda job: _taken(files, job, skip_damaged))
        log.warning(
            "%d jobs have checkpoints in %s, and %s is the newest by the clocks of their machines: that one is taken. "
            "If another one is meant, name it",
            *(len(found), location, newest[0]),
        )
    return [paths.join(location, checkpoint) for checkpoint in newest]


def _left_out(files: CheckpointFiles, name: str) -> bool:
    """Return whether a name is a link: what it leads to is not below."""
    if not files.is_link(name):
        return False
    log.warning("%s is a symbolic link and is left out: name what it leads to", files.describe(name))
    return True


def _before(directory: str) -> list[str]:
    """List the older checkpoints beside one."""
    if is_local(directory):
        directory = checkpoint_files(directory).really().root
    above, _, name = directory.rpartition("/")
    number = paths.checkpoint_id_of(name)
    if number is None or not above:
        return []
    files = checkpoint_files(above)
    names = [name for name in files.list("") if not files.is_link(name)]
    older = [name for name in names if (other := paths.checkpoint_id_of(name)) is not None and other < number]
    return [paths.join(above, checkpoint) for checkpoint in _completed(files, "", older)]


def _completed(files: CheckpointFiles, job: str, names: list[str]) -> Iterator[str]:
    """Yield the checkpoints in a job's directory that have metadata, newest first."""
    numbered = [(number, name) for name in names if (number := paths.checkpoint_id_of(name)) is not None]
    for _, name in sorted(numbered, reverse=True):
        checkpoint = paths.join(job, name)
        if paths.METADATA in files.list(checkpoint):
            yield checkpoint


def _taken(files: CheckpointFiles, checkpoints: list[str], skip_damaged: bool) -> int:
    """Return when the newest of a job's checkpoints was taken."""
    for checkpoint in checkpoints:
        path = paths.join(checkpoint, paths.METADATA)
        try:
            return decode_metadata(files.read(path), files.describe(path)).timestamp
        except CheckpointCorruptError:
            if not skip_damaged:
                raise
    return -1


def fit_to_checkpoint(
    graph: JobGraph, metadata: CheckpointMetadata, consent: Consent, where: str | None = None
) -> JobGraph:
    """Check that a program can take over a checkpoint's state, and take over derived max parallelism from it.

    Args:
        graph: The program.
        metadata: What the checkpoint has.
        consent: What of it may be dropped.
        where: The path of the checkpoint, for messages.
    """
    left = left_behind(graph, metadata)
    kind, place = "savepoint" if metadata.savepoint else "checkpoint", f" ({where})" if where else ""
    named = f"{kind} {metadata.checkpoint_id} of job {metadata.job_name!r}{place}"
    if left and not consent.unclaimed_state:
        raise StateRestoreError(
            f"{named} holds state of operators that the program does not have: {listed(left)}. Give those operators "
            f"their old uid{_how(left)}, or drop their state by setting "
            "execution.state-recovery.ignore-unclaimed-state (--allow-non-restored-state)"
        )
    output = [state for state in left if state.output]
    if output and not consent.uncommitted_output:
        raise StateRestoreError(
            f"{named} holds output of sinks that the program does not have: {listed(output)}. Unless the job committed "
            "it afterwards, as rekindle stop does, its records would be lost. Start once more with those sinks under "
            "their old uid, which commits it; or drop it by setting "
            "execution.state-recovery.ignore-uncommitted-output (--drop-uncommitted-output)"
        )
    check_told_apart(graph, metadata, named)
    saved = {operator.uid: operator for operator in metadata.operators}
    return replace(graph, nodes=tuple(_fitted(node, saved.get(node.uid)) for node in graph.nodes))


def _how(left: list[LeftState]) -> str:
    """Return how operators are given their old uids."""
    derived = any(not given_uid(state.uid) for state in left)
    taken = any(state.obstacle for state in left)
    return " (with set_uid_hash, if it was derived)" * derived + ", and another one to what has it now" * taken


def _fitted(node: JobNode, operator: OperatorMetadata | None) -> JobNode:
    if operator is None or not operator.keyed_states:
        return node
    if node.parallelism > operator.max_parallelism:
        raise StateRestoreError(
            f"operator {node.name!r} (uid {node.uid}) has parallelism {node.parallelism}, and its state was written "
            f"with max parallelism {operator.max_parallelism}: it cannot be spread further. Choose a parallelism of at "
            f"most {operator.max_parallelism}"
        )
    if node.explicit_max_parallelism and node.max_parallelism != operator.max_parallelism:
        raise StateRestoreError(
            f"operator {node.name!r} (uid {node.uid}) is set to max parallelism {node.max_parallelism}, and its state "
            f"was written with {operator.max_parallelism}: the number of key groups cannot change. Set "
            f"{operator.max_parallelism}, or leave it unset"
        )
    return replace(node, max_parallelism=operator.max_parallelism)
