"""Reads, out of a checkpoint, what belongs to one slot."""

from __future__ import annotations

import os
import shutil
import zlib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import BinaryIO

from rekindle.checkpoint import paths
from rekindle.checkpoint.metadata import NativeState, StateHandle, StoredFile
from rekindle.checkpoint.redistribution import ItemRange, deal_out
from rekindle.checkpoint.snapshot_file import SnapshotIndex, SnapshotReader, open_inline
from rekindle.contracts.key_groups import KeyGroupRange, key_group_range
from rekindle.exceptions import CheckpointCorruptError, CheckpointStorageError
from rekindle.graph.job_graph import JobNode
from rekindle.runtime.slot.local_copies import LocalCopies
from rekindle.runtime.slot.local_directory import LocalDirectory
from rekindle.runtime.slot.slot_job import RestoredCheckpoint
from rekindle.state.blocks import RAW, TIMERS, KeyGroupBlock
from rekindle.state.operator_state.stored import StoredItems, StoredList
from rekindle.state.rocksdb.native_part import NativePart

_CHUNK = 1 << 20


@dataclass(slots=True)
class RestoredKeyedState:
    """Hold what an operator's key groups in this slot had: blocks, in their order, and files of a backend."""

    blocks: list[KeyGroupBlock] = field(default_factory=list)
    native: list[NativePart] = field(default_factory=list)
    timers: list[KeyGroupBlock] = field(default_factory=list)
    raw: list[tuple[int, bytes]] = field(default_factory=list)

    def forget(self) -> None:
        """Give back memory and disk: a backend has taken over blocks and files."""
        self.blocks.clear()
        for part in self.native:
            shutil.rmtree(part.directory, ignore_errors=True)
        self.native.clear()


class StateReader:
    """Open the snapshot files of a checkpoint as they are needed, each once."""

    def __init__(
        self,
        restored: RestoredCheckpoint,
        slot: int,
        local: LocalDirectory,
        copies: LocalCopies | None = None,
        threads: int = 1,
    ) -> None:
        self._restored = restored
        self._slot = slot
        self._local = local
        self._copies = copies if restored.own else None
        self._threads = threads
        self._operators = {operator.uid: operator for operator in restored.metadata.operators}
        self._handles = {handle.slot: handle for handle in restored.metadata.handles}
        self._readers: dict[int, list[SnapshotReader]] = {}
        self._open = ExitStack()
        self.taken_over: set[str] = set()  # operators whose backend's files are here as one old subtask wrote them

    def __enter__(self) -> StateReader:
        return self

    def __exit__(self, *error: object) -> None:
        self._open.close()

    def knows(self, node: JobNode) -> bool:
        """Return whether the checkpoint holds anything of an operator."""
        return node.uid in self._operators

    def keyed(self, node: JobNode, wanted: KeyGroupRange | None = None, only: str | None = None) -> RestoredKeyedState:
        """Return what an operator's key groups in this slot had.

        Args:
            node: The operator.
            wanted: The only key groups that are wanted; None: all that the slot owns.
            only: The only state that is wanted, as far as states are stored apart; None: all are.
        """
        operator = self._operators[node.uid]
        state = RestoredKeyedState()
        if not operator.keyed_states:
            return state
        own = wanted or key_group_range(self._slot, node.parallelism, operator.max_parallelism)
        for old in range(operator.parallelism):
            written = key_group_range(old, operator.parallelism, operator.max_parallelism)
            if written.intersects(own):
                self.add_blocks(state, node.uid, old, own, only)
                state.native += self.native_of(node.uid, old)
        if operator.parallelism == node.parallelism and len(state.native) == 1 and not state.blocks:
            self.taken_over.add(node.uid)
        return state

    def lists(self, node: JobNode) -> dict[str, StoredList]:
        """Return the operator's list states: what of them falls to this slot."""
        operator = self._operators[node.uid]
        dealt = deal_out(operator.list_states, node.parallelism, self._slot)
        return {
            name: StoredList.joined(
                operator.list_states[name].mode,
                (part for share in shares for part in self._items(operator.uid, name, share)),
            )
            for name, shares in dealt.items()
        }

    # --- what an old subtask wrote, for those above and for who looks into a snapshot ---

    @property
    def independent_files(self) -> bool:
        """Return whether no snapshot file builds on another: timers and raw state in all of them count."""
        return self._restored.metadata.savepoint

    def indexes(self, old: int) -> list[SnapshotIndex]:
        """Return what is in the snapshot files of an old slot, oldest first."""
        return [reader.index for reader in self._opened(old)]

    def add_blocks(
        self, state: RestoredKeyedState, uid: str, old: int, own: KeyGroupRange, only: str | None = None
    ) -> None:
        """Add the blocks of an old slot: of managed state those of all files, of the rest those of the last.

        The files of a savepoint do not build on each other: there those of all files are added, of the rest, too.

        Args:
            state: What they are added to.
            uid: The operator.
            old: The slot.
            own: The key groups that are wanted.
            only: The only state that is wanted; None: all are.
        """
        readers = self._opened(old)
        for reader in readers:
            counts = reader is readers[-1] or self.independent_files
            for block in reader.keyed(uid, own, only):
                if block.kind not in (TIMERS, RAW):
                    state.blocks.append(block)
                elif counts and block.kind == TIMERS:
                    state.timers.append(block)
                elif counts:
                    state.raw.append((block.key_group, block.data))

    def native_of(self, uid: str, old: int) -> list[NativePart]:
        """Fetch the files that the backend of an old subtask wrote in its own format."""
        operator = self._operators[uid]
        written = key_group_range(old, operator.parallelism, operator.max_parallelism)
        return [
            NativePart(self._fetch(native, old), written) for native in self._handles[old].native if native.uid == uid
        ]

    def list_of(self, uid: str, name: str, old: int) -> StoredList | None:
        """Return what an old subtask wrote of an operator state; None: nothing."""
        return self._opened(old)[-1].operator_list(uid, name)

    def _items(self, uid: str, name: str, share: ItemRange) -> Iterator[StoredItems]:
        stored = self.list_of(uid, name, share.old_subtask)
        if stored is None or len(stored) < share.stop:
            raise CheckpointCorruptError(
                f"checkpoint {self._restored.metadata.checkpoint_id} has fewer items of state {name!r} of operator "
                f"{uid!r}, subtask {share.old_subtask}, than its metadata says. Restore from another checkpoint"
            )
        return stored.cut(share.start, share.stop)

    # --- files ---

    def _opened(self, slot: int) -> list[SnapshotReader]:
        """Open the snapshot files of an old slot, oldest first."""
        readers = self._readers.get(slot)
        if readers is None:
            handle = self._handles[slot]
            readers = self._readers[slot] = [self._reader(handle, file) for file in (*handle.before, handle.file)]
        return readers

    def _reader(self, handle: StateHandle, file: StoredFile) -> SnapshotReader:
        if file.inline is not None:
            return open_inline(file.inline, f"of slot {handle.slot}, inside the metadata")
        path = self._path(file)
        copy = None if self._copies is None else self._copies.find(path, file)
        if copy is not None:
            return SnapshotReader(self._open.enter_context(open(copy, "rb")), copy)
        assert self._restored.files is not None
        return SnapshotReader(self._open.enter_context(self._stored(path)), self._restored.files.describe(path))

    def _fetch(self, native: NativeState, old: int) -> str:
        """Copy the files of a backend into a directory of this slot."""
        directory = self._local.fresh(f"restored-{old}")
        with ThreadPoolExecutor(self._threads, thread_name_prefix="download") as pool:
            for _ in pool.map(lambda item: self._fetch_file(item[0], item[1], directory), native.files.items()):
                pass
        return directory

    def _fetch_file(self, name: str, file: StoredFile, directory: str) -> None:
        target = os.path.join(directory, name)
        if file.inline is not None:
            with open(target, "wb") as written:
                written.write(file.inline)
            return
        path = self._path(file)
        copy = None if self._copies is None else self._copies.find(path, file)
        if copy is not None:
            shutil.copyfile(copy, target)
            return
        size, crc = 0, 0
        with open(target, "wb") as written:
            for chunk in self._chunks(path):
                written.write(chunk)
                size += len(chunk)
                crc = zlib.crc32(chunk, crc)
        if (size, crc) != (file.size, file.crc):
            assert self._restored.files is not None
            wrong = f"it has {size} bytes, not {file.size}" if size != file.size else "its checksum is wrong"
            raise CheckpointCorruptError(
                f"state file {self._restored.files.describe(path)} cannot be read: {wrong}. Restore from another "
                "checkpoint"
            )

    def _chunks(self, path: str) -> Iterator[bytes]:
        with self._stored(path) as source:
            while chunk := source.read(_CHUNK):
                yield chunk

    def _stored(self, path: str) -> BinaryIO:
        assert self._restored.files is not None
        try:
            return self._restored.files.open(path)
        except CheckpointStorageError as error:
            if isinstance(error.__cause__, FileNotFoundError):
                raise CheckpointCorruptError(
                    f"state file {self._restored.files.describe(path)} is missing. A checkpoint can be moved only "
                    "together with what it shares with others of its job; restore from another checkpoint"
                ) from error
            raise

    def _path(self, file: StoredFile) -> str:
        assert file.path is not None
        return paths.resolve(self._restored.directory, file.path)
