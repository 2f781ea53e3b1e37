"""A checkpoint or savepoint that is looked into, without the program that wrote it."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from rekindle.checkpoint import paths
from rekindle.checkpoint.metadata import CheckpointMetadata, OperatorMetadata
from rekindle.checkpoint.restoring import RestorePath
from rekindle.checkpoint.stored_checkpoint import StoredCheckpoint
from rekindle.exceptions import StateNotFoundError
from rekindle.runtime.slot.local_directory import LocalDirectory
from rekindle.runtime.slot.restore import StateReader
from rekindle.runtime.slot.slot_job import RestoredCheckpoint

_DOWNLOADS = 4


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Point to a completed checkpoint or savepoint. It may be sent to other processes.

    Attributes:
        stored: Where it is, and its metadata.
    """

    stored: StoredCheckpoint

    @staticmethod
    def open(location: str) -> Snapshot:
        """Open what a location names: the directory of a checkpoint or savepoint, its metadata, or a job's directory.

        Raises:
            StateRestoreError: There is none.
            CheckpointCorruptError: Its metadata is damaged.
        """
        return Snapshot(RestorePath(location).current)

    @property
    def metadata(self) -> CheckpointMetadata:
        """Return the metadata."""
        return self.stored.metadata

    @property
    def location(self) -> str:
        """Name the directory of its metadata."""
        assert self.stored.files is not None
        return self.stored.files.describe(self.stored.directory)

    def operator(self, uid: str) -> OperatorMetadata:
        """Find an operator.

        Raises:
            StateNotFoundError: There is no such operator; those that there are, are named.
        """
        for operator in self.metadata.operators:
            if operator.uid == uid:
                return operator
        known = ", ".join(repr(operator.uid) for operator in self.metadata.operators) or "no operator at all"
        raise StateNotFoundError(f"{self.stored.describe()} has no operator with uid {uid!r}; it has {known}")

    @contextmanager
    def reader(self) -> Iterator[StateReader]:
        """Open its files. What has to be fetched goes to a directory that is gone at the end."""
        directory = tempfile.mkdtemp(prefix="rekindle-state-")
        try:
            local = LocalDirectory([directory], self.metadata.job_id, 0, 0)
            stored = RestoredCheckpoint(self.metadata, self.stored.files, self.stored.directory)
            with StateReader(stored, 0, local, threads=_DOWNLOADS) as reader:
                yield reader
        finally:
            shutil.rmtree(directory, ignore_errors=True)

    def files(self) -> dict[str, Any]:
        """Return all files that it refers to, by their path within its storage; inlined ones are in the metadata."""
        return {
            paths.resolve(self.stored.directory, file.path): file
            for handle in self.metadata.handles
            for file in handle.files()
            if file.path is not None
        }
