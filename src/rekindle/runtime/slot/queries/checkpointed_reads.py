"""Reads of state out of the last completed checkpoint: what a restart would bring back.

State on the heap is read by key group, at the first query of each, and kept until the next checkpoint is complete. That
of RocksDB is fetched as a whole, for the operator that is asked for, and opened beside the one that is in use. Nothing
of this is done under the slot's lock, and none of it unless somebody asks.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from rekindle.base.clock import Clock
from rekindle.checkpoint import paths
from rekindle.checkpoint.metadata import CheckpointMetadata, OperatorMetadata
from rekindle.contracts.key_groups import KeyGroupRange
from rekindle.exceptions import CheckpointError, NoCheckpointError, NoStateOwnerError
from rekindle.graph.job_graph import JobNode
from rekindle.runtime.slot.local_directory import LocalDirectory
from rekindle.runtime.slot.restore import StateReader
from rekindle.runtime.slot.slot_job import RestoredCheckpoint, SlotJob
from rekindle.runtime.wire.messages import SnapshotDone
from rekindle.state.backend_settings import BackendSettings
from rekindle.state.backends import create_backend, restore_backend
from rekindle.state.key_hash import key_group_of
from rekindle.state.keyed_backend import KeyedStateBackend
from rekindle.state.queryable_state import QueryableState
from rekindle.state.state_owner import StateOwner

_MOST_ENTRIES = 1_000_000  # on the heap, of all key groups that are kept
_NEWER_SECONDS = 5.0  # how long a read waits to be told of a newer checkpoint
_ENDING_SECONDS = 1.0  # how long closing waits for a storage that is slow


@dataclass(frozen=True, slots=True)
class _Part:
    """Identify what is restored at once: a state in one key group, or all that an operator has (-1, no state)."""

    uid: str
    state: str = ""
    key_group: int = -1


class CheckpointedReads:
    """Read the state of one slot out of the last completed checkpoint.

    Args:
        job: The job.
        slot: The slot.
        nodes: Its operators.
        local: Where files of backends are fetched to.
        databases: Where backends have their files.
        clock: Tells what has expired.
    """

    def __init__(
        self,
        job: SlotJob,
        slot: int,
        nodes: Iterable[JobNode],
        local: LocalDirectory,
        databases: LocalDirectory,
        clock: Clock,
    ) -> None:
        self._job = job
        self._slot = slot
        self._nodes = {node.uid: node for node in nodes}
        self._local = local
        self._databases = databases
        self._clock = clock
        self._changed = threading.Condition()  # the next four
        self._taken: dict[int, SnapshotDone] = {}
        self._savepoints: set[int] = set()
        self._completed = job.restore
        self._closed = False
        self._reading = threading.Lock()  # the next two; only the thread that reads checkpoints holds it for long
        self._checkpoint_id: int | None = None
        self._parts: dict[_Part, KeyedStateBackend | None] = {}

    # --- what becomes of checkpoints ---

    def begun(self, checkpoint_id: int, savepoint: bool) -> None:
        """Learn that a snapshot is about to be taken; those of savepoints are not read."""
        if savepoint:
            with self._changed:
                self._savepoints.add(checkpoint_id)

    def taken(self, done: SnapshotDone) -> None:
        """Learn where a snapshot is that this slot took."""
        with self._changed:
            if done.checkpoint_id in self._savepoints:
                self._savepoints.discard(done.checkpoint_id)
            else:
                self._taken[done.checkpoint_id] = done

    def completed(self, checkpoint_id: int) -> None:
        """Learn that a checkpoint is complete."""
        with self._changed:
            done = self._taken.get(checkpoint_id)
            self._taken = {number: later for number, later in self._taken.items() if number > checkpoint_id}
            if done is not None:
                self._completed = self._as_restored(done)
            self._changed.notify_all()

    def aborted(self, checkpoint_id: int) -> None:
        """Forget a checkpoint that will never complete."""
        with self._changed:
            self._taken.pop(checkpoint_id, None)
            self._savepoints.discard(checkpoint_id)
            self._changed.notify_all()

    def _as_restored(self, done: SnapshotDone) -> RestoredCheckpoint:
        """Describe this slot's part of a checkpoint as if it were to be restored."""
        operators = [
            OperatorMetadata(node.uid, node.name, node.parallelism, node.max_parallelism, put.keyed_states, {})
            for put in done.operators
            if (node := self._nodes.get(put.uid)) is not None
        ]
        metadata = CheckpointMetadata(done.checkpoint_id, self._job.job_id, "", 0, 0, operators, [done.handle], [])
        directory = paths.checkpoint_directory(self._job.job_id, done.checkpoint_id)
        return RestoredCheckpoint(metadata, self._job.snapshots.files, directory)

    # --- reading ---

    def read(self, state: QueryableState, keys: list[Any]) -> tuple[int, list[Any]]:
        """Return the number of the checkpoint, and what it holds for each key; None: nothing.

        Raises:
            NoCheckpointError: There is none, or it cannot be read.
            NoStateOwnerError: The slot is being closed.
        """
        with self._reading:
            try:
                return self._read(state, keys)
            finally:
                if self._closed:
                    self._drop_all()

    def _read(self, state: QueryableState, keys: list[Any]) -> tuple[int, list[Any]]:
        while not self._closed:
            with self._changed:
                completed = self._completed
            if completed is None:
                raise NoCheckpointError(
                    "no checkpoint of the job has been completed yet: ask again after the first, or for live state"
                )
            checkpoint_id = completed.metadata.checkpoint_id
            self._begin(checkpoint_id)
            try:
                return checkpoint_id, [self._value(completed, state, key) for key in keys]
            except (CheckpointError, OSError) as error:
                if not self._is_replaced(completed):
                    raise NoCheckpointError(f"checkpoint {checkpoint_id} cannot be read: {error}") from error
        raise NoStateOwnerError("the slot that has the state is being closed: the job ends or restarts")

    def _is_replaced(self, completed: RestoredCheckpoint) -> bool:
        """Return whether a checkpoint is not the last one any more; then its files may have been deleted.

        They may be before this slot is told of the newer one, if a chunk that takes its time has to end before that.
        """

        def settled() -> bool:
            may_complete = any(number > completed.metadata.checkpoint_id for number in self._taken)
            return self._closed or self._completed is not completed or not may_complete

        with self._changed:
            self._changed.wait_for(settled, _NEWER_SECONDS)
            return self._closed or self._completed is not completed

    def close(self) -> None:
        """Let go of all that was read; of what is still being read, as soon as it has been."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        if self._reading.acquire(timeout=_ENDING_SECONDS):
            try:
                self._drop_all()
            finally:
                self._reading.release()

    def _begin(self, checkpoint_id: int) -> None:
        if self._checkpoint_id != checkpoint_id:
            self._drop_all()
            self._checkpoint_id = checkpoint_id

    def _drop_all(self) -> None:
        for backend in self._parts.values():
            if backend is not None:
                backend.close()
        self._parts = {}

    def _value(self, completed: RestoredCheckpoint, state: QueryableState, key: Any) -> Any:
        if self._closed:
            raise NoStateOwnerError("the slot that has the state is being closed: the job ends or restarts")
        descriptor = state.descriptor
        part = _Part(state.uid)
        if self._job.backend.rocksdb is None:
            part = _Part(state.uid, descriptor.get_name(), key_group_of(key, state.max_parallelism))
        if part not in self._parts:
            self._make_room()
            self._parts[part] = self._restored(completed, state, part)
        backend = self._parts[part]
        if backend is None:
            return None
        backend.get_or_create(descriptor)
        return backend.peek(descriptor.get_name(), key)

    def _make_room(self) -> None:
        """Forget what was read first, if too much is kept."""
        entries = sum(backend.changes()[1] for backend in self._parts.values() if backend is not None)
        while entries > _MOST_ENTRIES and self._parts:
            forgotten = self._parts.pop(next(iter(self._parts)))
            if forgotten is not None:
                entries -= forgotten.changes()[1]
                forgotten.close()

    def _restored(self, completed: RestoredCheckpoint, state: QueryableState, part: _Part) -> KeyedStateBackend | None:
        node = self._nodes[state.uid]
        groups = state.key_groups if part.key_group < 0 else KeyGroupRange(part.key_group, part.key_group)
        settings = BackendSettings() if part.key_group >= 0 else self._job.backend
        threads = 1 if settings.rocksdb is None else settings.rocksdb.transfer_threads
        with StateReader(completed, self._slot, self._local, None, threads) as reader:
            if not reader.knows(node):
                return None
            restored = reader.keyed(node, groups, part.state or None)
            owner = StateOwner(state.operator, state.uid, state.serializers.key)
            backend = create_backend(
                settings, owner, groups, state.max_parallelism, self._clock.now, self._databases.fresh
            )
            try:
                restore_backend(backend, restored.native, restored.blocks)
            except BaseException:
                backend.close()
                raise
            finally:
                restored.forget()
        return backend
