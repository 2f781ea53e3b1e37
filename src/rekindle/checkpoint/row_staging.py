"""Where sinks put rows that the driver is to commit: files that nobody sees until then.

In a job with a checkpoint directory they are among the files that its checkpoints share, and are deleted like these:
with the last checkpoint that refers to them. Other jobs have a directory for them, which ends with the job.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import BinaryIO

from msgspec.structs import replace

from rekindle.checkpoint import paths
from rekindle.checkpoint.metadata import StagedRows, StoredFile
from rekindle.checkpoint.storage import CheckpointFiles


@dataclass(frozen=True, slots=True)
class RowStaging:
    """Say where the rows of one job go.

    Attributes:
        files: A storage that all machines reach.
        job_id: The job, which is also the name of its directory there.
        kept_by_checkpoints: Whether the job's checkpoints are there, too, and keep account of the files.
    """

    files: CheckpointFiles
    job_id: str
    kept_by_checkpoints: bool = True

    def store(self, name: str, source: BinaryIO, size: int) -> StoredFile:
        """Store a file of rows; return how metadata refers to it.

        Args:
            name: Its name, see ``paths.rows_file``.
            source: What it holds.
            size: How many bytes that is.
        """
        self.files.write(self.path(name), source)
        return StoredFile(size, 0, paths.from_checkpoint(name), shared=True)

    def path(self, name: str) -> str:
        """Return the path of a file of rows."""
        return paths.join(self.job_id, paths.SHARED, name)

    @property
    def markers(self) -> str:
        """Return the directory that says what is committed."""
        return paths.join(self.job_id, paths.COMMITTED)

    def leftovers(self, needed: frozenset[str]) -> list[str]:
        """Name the files of rows that are there and not needed, by their paths.

        Args:
            needed: The files that checkpoints refer to, by their paths relative to the job's directory.
        """
        names = self.files.list(paths.join(self.job_id, paths.SHARED))
        rows = (name for name in names if name.startswith(paths.ROWS))
        return [self.path(name) for name in rows if paths.join(paths.SHARED, name) not in needed]


def copied_rows(
    rows: Iterable[StagedRows], source: CheckpointFiles, directory: str, target: CheckpointFiles
) -> list[StagedRows]:
    """Copy files of rows into a savepoint, which holds all that it refers to; return how it refers to them.

    Args:
        rows: The rows.
        source: Where their files are.
        directory: What the paths of the files are relative to there.
        target: The directory of the savepoint.
    """
    copied = []
    for staged in rows:
        assert staged.file.path is not None
        name = staged.file.path.rpartition("/")[2]
        with source.open(paths.resolve(directory, staged.file.path)) as stream:
            target.write(name, stream)
        copied.append(replace(staged, file=replace(staged.file, path=name, shared=False)))
    return copied


def marker_directory(directory: str, savepoint: bool) -> str:
    """Return the directory of the markers that say what is committed of a checkpoint's rows.

    Args:
        directory: That of the checkpoint.
        savepoint: Whether it is a savepoint: then they are in it, and else beside all checkpoints of the job.
    """
    return directory if savepoint else paths.resolve(directory, f"../{paths.COMMITTED}")
