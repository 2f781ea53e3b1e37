"""What a file sink keeps in checkpoints: files that become visible, and files that wait to be merged.

Paths are relative to the base path. ``base_path`` is where that was: a job that goes on with another base path still
finishes the files there.
"""

from __future__ import annotations

from typing import TypeAlias

import msgspec

from rekindle.exceptions import StateRestoreError


class FileCommittable(msgspec.Struct, frozen=True, tag_field="format", tag="rekindle-file-1"):
    """Keep a pending file that becomes visible when the checkpoint is complete."""

    pending: str
    finished: str
    size: int
    base_path: str = ""


class MergedFile(msgspec.Struct, frozen=True, tag_field="format", tag="rekindle-merged-file-1"):
    """Keep a pending file that becomes visible in the place of smaller ones, which are removed then."""

    pending: str
    finished: str
    size: int
    base_path: str
    replaced: tuple[str, ...]
    """The pending names of the smaller files."""


class HeldFile(msgspec.Struct, frozen=True, tag_field="format", tag="rekindle-held-file-1"):
    """Keep a pending file that waits to be merged with others: it becomes visible with none of these checkpoints."""

    pending: str
    finished: str
    size: int
    base_path: str
    checkpoints: int
    """How many checkpoints have found it waiting."""
    written_by: str = ""
    """The fingerprint of its format, hashed."""

    def as_it_is(self) -> FileCommittable:
        """Return what makes it visible without merging."""
        return FileCommittable(self.pending, self.finished, self.size, self.base_path)


Committable: TypeAlias = FileCommittable | MergedFile | HeldFile


def encoded(committable: Committable) -> bytes:
    """Return what goes into the checkpoint."""
    return msgspec.msgpack.encode(committable)


def decoded(data: bytes) -> Committable:
    """Read what is in a checkpoint.

    Raises:
        StateRestoreError: It is not of a file sink of this version.
    """
    try:
        committable: Committable = msgspec.msgpack.decode(data, type=Committable)
    except msgspec.DecodeError as error:
        raise StateRestoreError(
            f"the checkpoint holds a commit that is not of this version's FileSink ({error}). Give a sink of "
            "another kind another uid, or restore with the version that wrote the checkpoint"
        ) from error
    return committable
