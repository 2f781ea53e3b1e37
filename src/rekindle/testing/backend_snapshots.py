"""Snapshots of single backends, kept in memory."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from rekindle.contracts.key_groups import KeyGroupRange
from rekindle.state.block_decoding import apply_delta, decode_whole
from rekindle.state.blocks import KeyGroupBlock
from rekindle.state.keyed_backend import KeyedStateBackend
from rekindle.state.snapshots import NativeSnapshot, SnapshotRequest

__all__ = ["BackendSnapshot", "PendingSnapshot", "take_snapshot"]


@dataclass(frozen=True, slots=True)
class BackendSnapshot:
    """Hold what one backend handed over at a barrier. It needs neither the backend nor its files any more.

    Attributes:
        checkpoint_id: The checkpoint.
        key_groups: The key groups of the backend.
        blocks: What was handed over as blocks.
        files: What was handed over as the backend's own files, by name.
        shareable: Those of ``files`` that never change under their name.
        base: The snapshot that ``blocks`` are changes to; None if this one says all there is.
    """

    checkpoint_id: int
    key_groups: KeyGroupRange
    blocks: tuple[KeyGroupBlock, ...] = ()
    files: dict[str, bytes] = field(default_factory=dict)
    shareable: frozenset[str] = frozenset()
    base: BackendSnapshot | None = None

    def chain(self) -> list[BackendSnapshot]:
        """Return this snapshot and those it builds on, oldest first."""
        older = [] if self.base is None else self.base.chain()
        return [*older, self]

    def blocks_of(self, key_groups: KeyGroupRange) -> Iterator[KeyGroupBlock]:
        """Return the blocks of some key groups, those of the whole chain, in the order in which they are restored."""
        return (block for part in self.chain() for block in part.blocks if block.key_group in key_groups)

    def entries(self) -> dict[str, dict[Any, Any]]:
        """Return all there is, by state and key, in the form in which blocks hold it."""
        found: dict[str, dict[Any, Any]] = {}
        for block in (*self._native_blocks(), *self.blocks_of(self.key_groups)):
            entries = found.setdefault(block.state, {})
            if block.delta:
                apply_delta(block, entries)
            else:
                keys, values = decode_whole(block)
                entries.update(zip(keys, values, strict=True))
        return {state: entries for state, entries in found.items() if entries}

    @contextmanager
    def unpacked(self) -> Iterator[str]:
        """Write ``files`` to a directory of their own, which exists until the end of the ``with`` statement."""
        with tempfile.TemporaryDirectory(prefix="rekindle-snapshot-") as directory:
            for name, data in self.files.items():
                with open(os.path.join(directory, name), "wb") as file:
                    file.write(data)
            yield directory

    def _native_blocks(self) -> list[KeyGroupBlock]:
        if not self.files:
            return []
        from rekindle.state.rocksdb.native import native_blocks  # loads RocksDB

        with self.unpacked() as directory:
            return list(native_blocks(directory, self.key_groups))


class PendingSnapshot:
    """Take a snapshot in the two steps of a checkpoint: what is in memory now, what is on disk when it is finished.

    Between the two the backend may be used, also while another thread calls :meth:`write`. End it with :meth:`finish`
    or :meth:`give_up`.
    """

    def __init__(
        self,
        backend: KeyedStateBackend,
        checkpoint_id: int,
        *,
        base: BackendSnapshot | None = None,
        canonical: bool = False,
    ) -> None:
        """Begin a snapshot; see :func:`take_snapshot`."""
        base_id = None if base is None else base.checkpoint_id
        self._checkpoint_id = checkpoint_id
        self._key_groups = backend.key_groups
        self._taken = backend.snapshot(SnapshotRequest(checkpoint_id, base_id, canonical))
        self._base = base if self._taken.delta else None
        self._blocks = list(self._taken.blocks())

    @property
    def native_directory(self) -> str | None:
        """Return the directory with the backend's own files; None if there are none."""
        return None if self._taken.native is None else self._taken.native.directory

    def write(self) -> None:
        """Bring to disk what the backend had in memory only, as soon as possible."""
        if self._taken.write is not None:
            self._taken.write()

    def finish(self) -> BackendSnapshot:
        """Collect the rest, and let the backend delete what it kept for that."""
        native = self._taken.native
        try:
            for block in self._blocks:
                self._taken.check(block)
            self._taken.settle()
            exported = () if self._taken.exported is None else tuple(self._taken.exported())
            files = {} if native is None else _read(native)
            shareable = frozenset() if native is None else native.shareable
        finally:
            self._taken.release()
        blocks = (*self._blocks, *exported)
        return BackendSnapshot(self._checkpoint_id, self._key_groups, blocks, files, shareable, self._base)

    def give_up(self) -> None:
        """End the snapshot without a result, as when its checkpoint fails."""
        self._taken.release()


def take_snapshot(
    backend: KeyedStateBackend,
    checkpoint_id: int,
    *,
    base: BackendSnapshot | None = None,
    canonical: bool = False,
) -> BackendSnapshot:
    """Take a snapshot of a backend, from start to end.

    Whether its checkpoint is complete is for the caller to tell, with ``backend.snapshot_completed``.

    Args:
        backend: The backend.
        checkpoint_id: The checkpoint; each has a higher number than those before.
        base: The last completed snapshot of this backend. One that can write what changed since then does.
        canonical: Whether to take it as for a savepoint: all there is, as blocks.
    """
    return PendingSnapshot(backend, checkpoint_id, base=base, canonical=canonical).finish()


def _read(native: NativeSnapshot) -> dict[str, bytes]:
    files = {}
    for name in native.files:
        with open(os.path.join(native.directory, name), "rb") as file:
            files[name] = file.read()
    return files
