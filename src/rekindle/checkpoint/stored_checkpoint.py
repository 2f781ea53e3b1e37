"""Where a completed checkpoint is."""

from __future__ import annotations

from dataclasses import dataclass

from rekindle.checkpoint import paths
from rekindle.checkpoint.metadata import CheckpointMetadata
from rekindle.checkpoint.storage import CheckpointFiles


@dataclass(frozen=True, slots=True)
class StoredCheckpoint:
    """Point to a completed checkpoint: its metadata, and the directory it is in (``files`` None: in memory)."""

    metadata: CheckpointMetadata
    files: CheckpointFiles | None
    directory: str

    @property
    def external_path(self) -> str | None:
        """Return the path by which a job can be started from it; None: it is in memory."""
        return None if self.files is None else self.files.describe(self.directory)

    def describe(self) -> str:
        """Name the checkpoint, for people."""
        kind = "savepoint" if self.metadata.savepoint else "checkpoint"
        checkpoint = f"{kind} {self.metadata.checkpoint_id}"
        return checkpoint if self.files is None else f"{checkpoint} in {self.external_path}"

    def shared_names(self) -> frozenset[str]:
        """Name the files it may share with other checkpoints, by their path relative to the job's directory."""
        own = self.directory.rsplit("/", 1)[-1]
        files = self.metadata.shared_files()
        return frozenset(paths.resolve(own, file.path) for file in files if file.path is not None)
