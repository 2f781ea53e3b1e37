"""Writes and deletes what belongs to a job's checkpoints: their metadata, their entries in the job's log, their files.

It decides nothing; it is called from the thread of ``checkpoint_io``.
"""

from __future__ import annotations

import logging

from msgspec.structs import replace

from rekindle.checkpoint import paths
from rekindle.checkpoint.completed_checkpoint import CompletedCheckpoint
from rekindle.checkpoint.events import WriteMetadata
from rekindle.checkpoint.job_directory import JobCheckpointDirectory
from rekindle.checkpoint.metadata import CheckpointMetadata, SourcePosition, encode_metadata
from rekindle.checkpoint.row_staging import RowStaging, copied_rows
from rekindle.checkpoint.storage import CheckpointFiles
from rekindle.checkpoint.stored_checkpoint import StoredCheckpoint
from rekindle.exceptions import CheckpointError, ConfigurationError, InvalidProgramError, JobFencedError
from rekindle.graph.job_graph import JobGraph
from rekindle.ha.ownership import JobOwnership
from rekindle.runtime.master.checkpoints.checkpoint_metadata import checkpoint_metadata
from rekindle.runtime.master.checkpoints.savepoints import SavepointRequest, Savepoints
from rekindle.runtime.master.checkpoints.storage_orders import (
    CheckpointNoted,
    CheckpointNotStored,
    IdsReserved,
    MetadataStored,
    NoteCheckpoint,
    OutputNoted,
)

log = logging.getLogger(__name__)


class CheckpointWriter:
    """Write the checkpoints and savepoints of one attempt.

    Args:
        job_id: The job.
        job_name: Its name.
        graph: What it runs.
        directory: Its checkpoints.
        savepoints: The savepoints that were asked for.
        ownership: Who owns the job.
        staging: Where rows wait that the driver commits; None: no sink has any.
    """

    def __init__(
        self,
        job_id: str,
        job_name: str,
        graph: JobGraph,
        directory: JobCheckpointDirectory,
        savepoints: Savepoints,
        ownership: JobOwnership,
        staging: RowStaging | None = None,
    ) -> None:
        self._job_id = job_id
        self._job_name = job_name
        self._graph = graph
        self._directory = directory
        self._savepoints = savepoints
        self._ownership = ownership
        self._staging = staging

    def write(self, order: WriteMetadata, positions: list[SourcePosition]) -> MetadataStored | CheckpointNotStored:
        """Create the metadata of a checkpoint, which refers to all that its slots have written."""
        request = self._savepoints.find(order.checkpoint_id)
        try:
            metadata = checkpoint_metadata(order, positions, self._graph, self._job_id, self._job_name)
            location = self._directory.commit(metadata) if request is None else self._commit(request, metadata)
            if order.savepoint and not order.final:
                self._ownership.check()  # it is not entered into the log
        except (CheckpointError, InvalidProgramError, ConfigurationError, JobFencedError) as error:
            return CheckpointNotStored(order.checkpoint_id, error)
        return MetadataStored(order.checkpoint_id, location)

    def _commit(self, request: SavepointRequest, metadata: CheckpointMetadata) -> StoredCheckpoint:
        files = request.open_files()
        if metadata.has_staged_rows:
            metadata = self._with_own_rows(metadata, files)
        files.create(paths.METADATA, encode_metadata(metadata))
        return StoredCheckpoint(metadata, files, "")

    def _with_own_rows(self, metadata: CheckpointMetadata, files: CheckpointFiles) -> CheckpointMetadata:
        assert self._staging is not None
        source, directory = self._staging.files, paths.checkpoint_directory(self._job_id, metadata.checkpoint_id)
        operators = [
            replace(own, staged=copied_rows(own.staged, source, directory, files)) for own in metadata.operators
        ]
        return replace(metadata, operators=operators)

    def note(self, order: NoteCheckpoint) -> CheckpointNoted | CheckpointNotStored:
        """Let other drivers of this job know what they have to go on from."""
        try:
            self._ownership.commit(order.retained)
        except (CheckpointError, JobFencedError) as error:
            return CheckpointNotStored(order.checkpoint_id, error)
        return CheckpointNoted(order.checkpoint_id, order.location, self._ownership.ids_to)

    def reserve(self, checkpoint_id: int) -> IdsReserved:
        """Make sure that no other driver uses a checkpoint id, and some more.

        Raises:
            JobFencedError: If another driver has taken over.
            CheckpointError: If that could not be noted.
        """
        self._ownership.reserve(checkpoint_id)
        return IdsReserved(self._ownership.ids_to)

    def note_output(self) -> OutputNoted:
        """Let other drivers know that output becomes visible without a checkpoint.

        Raises:
            JobFencedError: If another driver has taken over.
            CheckpointError: If that could not be noted.
        """
        self._ownership.commit_output()
        return OutputNoted()

    def check_owner(self) -> None:
        """Look whether another driver has taken over.

        Raises:
            JobFencedError: If so.
        """
        self._ownership.check()

    def drop(self, checkpoint: CompletedCheckpoint) -> None:
        """Delete a completed checkpoint."""
        self._directory.drop(checkpoint.location, checkpoint.claimed)

    def discard(self, checkpoint_id: int) -> None:
        """Delete all that was written for a checkpoint or savepoint that will never be complete."""
        request = self._savepoints.find(checkpoint_id)
        if request is None:
            self._directory.discard(checkpoint_id)
            return
        if not self._directory.may_delete():
            return
        try:
            files = request.open_files()
            files.delete(paths.METADATA)  # first, so that nobody takes what is left for a savepoint
            files.delete("")
        except (CheckpointError, ConfigurationError) as error:
            log.warning("%s. What is left of the savepoint can be deleted by hand", error)
