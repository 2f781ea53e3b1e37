"""Puts the files of one slot's snapshot where they belong: into the metadata, beside it, or where others share them."""

from __future__ import annotations

import os
import zlib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import BinaryIO, cast

from rekindle.checkpoint import paths
from rekindle.checkpoint.metadata import NativeState, StoredFile
from rekindle.checkpoint.storage import CheckpointFiles
from rekindle.exceptions import ConfigurationError
from rekindle.graph.job_graph import JobNode
from rekindle.runtime.slot.local_copies import LocalCopies
from rekindle.runtime.slot.slot_job import SnapshotSettings
from rekindle.state.snapshots import NativeSnapshot


@dataclass(frozen=True, slots=True)
class Target:
    """Say where the files of a snapshot go.

    Attributes:
        checkpoint_id: The checkpoint.
        files: The storage; None: the job master's memory.
        job_directory: Where the checkpoints of the job are in it; None for a savepoint, which shares nothing.
        directory: Where the metadata of this checkpoint is in it.
    """

    checkpoint_id: int
    files: CheckpointFiles | None
    job_directory: str | None
    directory: str


class SnapshotStore:
    """Store the files of one slot."""

    def __init__(
        self, settings: SnapshotSettings, slot: int, attempt: int, incremental: bool, copies: LocalCopies | None
    ) -> None:
        self._settings = settings
        self._incremental = incremental
        self._slot = slot
        self._attempt = attempt
        self._copies = copies

    def store(self, target: Target, buffer: BinaryIO, name: str, shared: bool) -> StoredFile:
        """Store a snapshot file that is complete in ``buffer``.

        Args:
            target: The snapshot.
            buffer: The file.
            name: Tells the slot's files in one snapshot apart; may be empty.
            shared: Whether later checkpoints may build on it.
        """
        settings = self._settings
        size = buffer.seek(0, os.SEEK_END)
        buffer.seek(0)
        if target.files is None:
            self.check_fits(size)
        if target.files is None or size < settings.inline_below:
            data = buffer.read()
            return StoredFile(size, zlib.crc32(data), inline=data)
        checked = _Checksummed(buffer)
        shared = shared and target.job_directory is not None
        full, path = self._place(target, name, shared)
        target.files.write(full, cast(BinaryIO, checked))
        if self._copies is not None and target.job_directory is not None:
            buffer.seek(0)
            self._copies.keep(full, buffer)
        return StoredFile(size, checked.crc, path, shared=shared)

    def store_native(
        self, target: Target, node: JobNode, native: NativeSnapshot, known: dict[str, StoredFile], threads: int
    ) -> tuple[NativeState, int]:
        """Store a backend's files, but not those that the storage has already.

        Args:
            target: The snapshot.
            node: The operator.
            native: The files.
            known: What the checkpoint this one builds on has stored, by name.
            threads: How many files to copy at once.

        Returns:
            All the files, and how many bytes were written for them.
        """
        if target.files is None:
            self.check_fits(sum(os.path.getsize(os.path.join(native.directory, name)) for name in native.files))
        share = target.job_directory is not None and self._incremental
        reused = {name: known[name] for name in native.files if name in native.shareable and name in known}
        fresh = [name for name in native.files if name not in reused]

        def one(name: str) -> StoredFile:
            with open(os.path.join(native.directory, name), "rb") as source:
                return self._store_native_file(target, node, name, source, share and name in native.shareable)

        with ThreadPoolExecutor(max(1, min(threads, len(fresh))), thread_name_prefix="upload") as pool:
            stored = dict(zip(fresh, pool.map(one, fresh), strict=True))
        if self._copies is not None and target.job_directory is not None:
            for name, file in (stored | reused).items():
                if file.path is not None:
                    full = paths.resolve(target.directory, file.path)
                    self._copies.link(full, os.path.join(native.directory, name))
        return NativeState(node.uid, reused | stored), sum(file.size for file in stored.values())

    def _store_native_file(
        self, target: Target, node: JobNode, name: str, source: BinaryIO, shared: bool
    ) -> StoredFile:
        size = os.fstat(source.fileno()).st_size
        if target.files is None or size < self._settings.inline_below:
            data = source.read()
            return StoredFile(size, zlib.crc32(data), inline=data)
        checked = _Checksummed(source)
        full, path = self._place(target, f"op{node.id}-{name}", shared)
        target.files.write(full, cast(BinaryIO, checked))
        return StoredFile(size, checked.crc, path, shared=shared)

    def check_fits(self, size: int) -> None:
        """Raise if the job master's memory does not take so many bytes."""
        limit = self._settings.inline_limit
        if size > limit:
            raise ConfigurationError(
                f"the state of slot {self._slot} has {size} bytes, and the job master's memory takes at most {limit} "
                "of a slot. Set a checkpoint directory (state.checkpoints.dir), or raise the limit with "
                "JobManagerCheckpointStorage(max_state_size=…)"
            )

    def _place(self, target: Target, name: str, shared: bool) -> tuple[str, str]:
        """Return the path of a new file within the storage, and relative to the metadata."""
        if shared and target.job_directory is not None:
            own = paths.shared_file(target.checkpoint_id, self._slot, self._attempt, name or "state")
            return paths.join(target.job_directory, paths.SHARED, own), paths.from_checkpoint(own)
        own = paths.slot_file(self._slot, self._attempt) + (f"-{name}" if name else "")
        return paths.join(target.directory, own), own


class _Checksummed:
    """Compute the checksum of what is read."""

    def __init__(self, source: BinaryIO) -> None:
        self._read: Callable[[int], bytes] = source.read
        self.crc = 0

    def read(self, size: int = -1) -> bytes:
        data = self._read(size)
        self.crc = zlib.crc32(data, self.crc)
        return data
