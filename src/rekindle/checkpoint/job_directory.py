"""The directory of one job's checkpoints: what makes one complete, and what is deleted when, and in which order.

The rule behind every order of operations here: **where there is metadata, all that it refers to is there**, even if the
process ends between any two of them. So a checkpoint's shared files are registered before its metadata is created, the
metadata is deleted before anything else of it, and a file that a registered checkpoint refers to is not deleted at all.
What is deleted is decided before anything is, see ``cleanup``.
What could not be deleted is tried once more at the end of the job.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection
from concurrent.futures import ThreadPoolExecutor

from rekindle.checkpoint import paths
from rekindle.checkpoint.cleanup import FoundFiles, classify
from rekindle.checkpoint.disposal import delete_claimed
from rekindle.checkpoint.metadata import CheckpointMetadata, decode_metadata, encode_metadata
from rekindle.checkpoint.shared_state_registry import SharedStateRegistry
from rekindle.checkpoint.storage import CheckpointFiles
from rekindle.checkpoint.stored_checkpoint import StoredCheckpoint
from rekindle.exceptions import CheckpointError

log = logging.getLogger(__name__)
_DELETED_AT_ONCE = 8


class JobCheckpointDirectory:
    """Keep the checkpoints of one job, over all its attempts.

    Args:
        files: The storage; None: checkpoints are kept in the job master's memory, and there is nothing to do here.
        job_id: The job, which is also the name of its directory.
        parallel: Whether several files are deleted at a time.
        may_delete: Tells whether anything may be deleted: not when another driver may need it.
    """

    def __init__(
        self,
        files: CheckpointFiles | None,
        job_id: str,
        *,
        parallel: bool = False,
        may_delete: Callable[[], bool] = lambda: True,
    ) -> None:
        self._files = files
        self._job_id = job_id
        self._parallel = parallel
        self.may_delete = may_delete
        self._registry = SharedStateRegistry()

    def commit(self, metadata: CheckpointMetadata) -> StoredCheckpoint:
        """Make a checkpoint complete by creating its metadata.

        Raises:
            CheckpointError: If that fails. The file may be there all the same: the checkpoint must be discarded.
        """
        directory = paths.checkpoint_directory(self._job_id, metadata.checkpoint_id)
        stored = StoredCheckpoint(metadata, self._files, directory)
        if self._files is not None:
            self._registry.register(metadata.checkpoint_id, stored.shared_names())
            self._files.create(paths.join(directory, paths.METADATA), encode_metadata(metadata))
        return stored

    def adopt(self, checkpoint: StoredCheckpoint) -> None:
        """Take over a checkpoint that an earlier driver of this job completed in this directory."""
        if checkpoint.files is self._files:
            self._registry.register(checkpoint.metadata.checkpoint_id, checkpoint.shared_names())

    def drop(self, checkpoint: StoredCheckpoint, claimed: bool = False) -> None:
        """Delete a completed checkpoint, and the files that it was the last to refer to.

        One that is not in this job's directory, such as the one that the job was started from, is left alone.

        Args:
            checkpoint: The checkpoint.
            claimed: Whether it is the one that the job was started from, and is the job's to delete.
        """
        if not self.may_delete():
            return
        if claimed:
            delete_claimed(checkpoint)
            return
        if self._files is not None and checkpoint.files is self._files:
            self._remove(self._files, checkpoint.metadata.checkpoint_id, frozenset())

    def discard(self, checkpoint_id: int) -> None:
        """Delete all that was written for an aborted checkpoint, also by slots that never acknowledged it.

        Rows that wait for their commit stay: they belong to the next checkpoint.
        """
        if self._files is not None and self.may_delete():
            written = self._written_for(self._files, checkpoint_id)
            self._remove(self._files, checkpoint_id, written, but=paths.join(paths.SHARED, paths.ROWS))

    def sweep(self, retained: Collection[int], over: bool = False) -> None:
        """Delete whatever is left but the retained checkpoints, and the directory itself if that is all.

        Args:
            retained: The checkpoints that stay.
            over: Whether the job is over. If nothing can be gone back to then, what it has committed is forgotten.
        """
        if self._files is None or not self.may_delete():
            return
        try:
            if over and not retained:
                self._files.delete(self._path(paths.COMMITTED))
            self._sweep(self._files, retained)
        except CheckpointError as error:
            log.warning("%s. What is left of %s can be deleted by hand", error, self._files.describe(self._job_id))

    def _sweep(self, files: CheckpointFiles, retained: Collection[int]) -> None:
        numbers = map(paths.checkpoint_id_of, files.list(self._job_id))
        checkpoints = frozenset(number for number in numbers if number is not None)
        shared = frozenset(
            paths.join(paths.SHARED, name)
            for name in files.list(self._path(paths.SHARED))
            if paths.is_shared_name(name)
        )
        self._learn(files, checkpoints.intersection(retained))
        self._clean(files, FoundFiles(checkpoints, shared), retained)
        for directory in (self._path(paths.SHARED), self._job_id):
            if not files.list(directory):
                files.delete(directory)

    def _learn(self, files: CheckpointFiles, retained: Collection[int]) -> None:
        """Find out what retained checkpoints refer to that this process has not written."""
        for checkpoint_id in sorted(set(retained).difference(self._registry.references())):
            directory = paths.checkpoint_directory(self._job_id, checkpoint_id)
            path = paths.join(directory, paths.METADATA)
            stored = StoredCheckpoint(decode_metadata(files.read(path), files.describe(path)), files, directory)
            self._registry.register(checkpoint_id, stored.shared_names())

    def _remove(
        self, files: CheckpointFiles, checkpoint_id: int, written: frozenset[str], but: str | None = None
    ) -> None:
        references = self._registry.references()
        shared = references.get(checkpoint_id, frozenset()) | written
        if but is not None:
            shared = frozenset(name for name in shared if not name.startswith(but))
        found = FoundFiles(frozenset({checkpoint_id}), shared)
        self._clean(files, found, references.keys() - {checkpoint_id})

    def _clean(self, files: CheckpointFiles, found: FoundFiles, retained: Collection[int]) -> None:
        """Delete what no retained checkpoint refers to."""
        references = self._registry.references()
        plan = classify(found, references, retained)
        stuck = {number for number in plan.ended if not self._delete(files, self._metadata(number))}
        if stuck:
            plan = classify(found, references, stuck.union(retained))
        for checkpoint_id in plan.ended:
            self._registry.unregister(checkpoint_id)
        doomed = [self._path(name) for name in plan.delete]
        if self._parallel and len(doomed) > 1:  # no metadata refers to any of it: the order does not matter
            with ThreadPoolExecutor(min(_DELETED_AT_ONCE, len(doomed)), "clean-up") as pool:
                list(pool.map(lambda path: self._delete(files, path), doomed))
        else:
            for path in doomed:
                self._delete(files, path)

    def _written_for(self, files: CheckpointFiles, checkpoint_id: int) -> frozenset[str]:
        try:
            names = files.list(self._path(paths.SHARED))
        except CheckpointError as error:
            log.warning("%s. What checkpoint %d left there is deleted when the job ends", error, checkpoint_id)
            return frozenset()
        own = (name for name in names if paths.written_for(name) == checkpoint_id)
        return frozenset(paths.join(paths.SHARED, name) for name in own)

    def _delete(self, files: CheckpointFiles, path: str) -> bool:
        try:
            files.delete(path)
        except CheckpointError as error:
            log.warning("%s. It is no longer needed and can be deleted by hand", error)
            return False
        return True

    def _metadata(self, checkpoint_id: int) -> str:
        return paths.join(paths.checkpoint_directory(self._job_id, checkpoint_id), paths.METADATA)

    def _path(self, name: str) -> str:
        return paths.join(self._job_id, name)
