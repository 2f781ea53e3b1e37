"""Takes snapshots of a slot: a short stop, then encoding and upload beside the next epochs.

With much state on the heap the slot forks, see ``forked_encoder``. With little state encoding takes no longer than a
fork would, and happens on the spot. What a backend has on disk is frozen in the stop, and stored afterwards.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from typing import BinaryIO, cast

from rekindle.checkpoint import paths
from rekindle.checkpoint.metadata import CheckpointMetadata, NativeState, StateHandle, StoredFile
from rekindle.checkpoint.snapshot_file import SnapshotWriter
from rekindle.checkpoint.storage import checkpoint_files
from rekindle.graph.job_graph import JobNode
from rekindle.runtime.operators.operator import Operator, SourceOperator
from rekindle.runtime.slot.deployment import SlotJob
from rekindle.runtime.slot.failure import OperatorError, describe_failure, explain
from rekindle.runtime.slot.forked_encoder import ForkedEncoder
from rekindle.runtime.slot.increments import Increments, StoredIncrement
from rekindle.runtime.slot.local_copies import LocalCopies
from rekindle.runtime.slot.operator_graph import OperatorGraph
from rekindle.runtime.slot.snapshot_store import SnapshotStore, Target
from rekindle.runtime.wire.messages import OperatorSnapshot, SnapshotDone, SnapshotFailed, TriggerSnapshot
from rekindle.state.blocks import KeyGroupBlock
from rekindle.state.snapshots import KeyedSnapshot, SnapshotRequest

RAW = "raw"
"""The kind, and with an underscore the name, of blocks that hold what operators wrote themselves."""

_FORK_FROM_ENTRIES = 5_000
_UPLOADS = 4
_BUFFER = 1 << 20

Lists = dict[str, dict[str, list[bytes]]]
"""Operator list states: uid → name → items."""


@dataclass(slots=True)
class _Part:
    """Hold what one operator contributes to a snapshot."""

    node: JobNode
    operator: Operator
    lists: dict[str, list[bytes]]
    keyed: KeyedSnapshot
    raw: list[tuple[int, bytes]]

    @property
    def entries(self) -> int:
        return self.keyed.entries + self.operator.timer_count()

    def describe(self) -> OperatorSnapshot:
        names = self.operator.keyed_state_names() + ([f"_{RAW}"] if self.raw else [])
        return OperatorSnapshot(self.node.uid, names, {name: len(items) for name, items in self.lists.items()})

    def write(self, writer: SnapshotWriter) -> None:
        uid = self.node.uid
        try:
            for block in self.keyed.blocks():
                writer.keyed(uid, block)
            for block in self.operator.timer_blocks():
                writer.keyed(uid, block)
        except Exception as error:
            raise OperatorError(self.node) from error
        for key_group, data in self.raw:
            writer.keyed(uid, KeyGroupBlock(f"_{RAW}", RAW, key_group, 1, data))
        for name, items in self.lists.items():
            writer.operator_list(uid, name, items)


class Snapshotter:
    """Take the snapshots of one slot and report each to the job master."""

    def __init__(
        self,
        graph: OperatorGraph,
        job: SlotJob,
        slot: int,
        attempt: int,
        report: Callable[[SnapshotDone | SnapshotFailed], None],
        copies: LocalCopies | None = None,
    ) -> None:
        self._graph = graph
        self._job = job
        self._slot = slot
        self._attempt = attempt
        self._report = report
        self._copies = copies
        self._incremental = job.backend.incremental and job.snapshots.files is not None
        self._store = SnapshotStore(job.snapshots, slot, attempt, self._incremental, copies)
        self._increments = Increments()
        self._encoders: dict[int, ForkedEncoder] = {}
        self._copied: dict[int, set[str]] = {}
        self._uploads = ThreadPoolExecutor(_UPLOADS, thread_name_prefix="snapshot")

    def take(self, order: TriggerSnapshot, positions: Lists) -> None:
        """Take a snapshot. Returns after the synchronous part; nothing else may run in the slot until then.

        Args:
            order: The checkpoint.
            positions: The positions of the hosted sources at the end of the checkpoint's epoch.
        """
        started = time.monotonic()
        checkpoint_id = order.checkpoint_id
        # A sink that cannot make its output durable may have lost some of it: that fails the attempt, not just this
        # checkpoint, so that the records come again.
        lists = self._prepare(checkpoint_id, positions)
        parts: list[_Part] = []
        try:
            base = self._increments.base(order.base_id) if self._incremental else None
            request = SnapshotRequest(checkpoint_id, self._base_id(order, base), order.savepoint is not None)
            for running in self._graph:
                parts.append(self._freeze(running.node, running.operator, request, lists))
            described = [part.describe() for part in parts]
            # Has no name: nothing is left behind, however the slot ends.
            buffer = cast(BinaryIO, tempfile.TemporaryFile("w+b", _BUFFER))  # noqa: SIM115 - closed after the upload
            try:
                self._begin(checkpoint_id, buffer, parts)
            except BaseException:
                with suppress(OSError):
                    buffer.close()
                raise
        except Exception as error:
            _release(parts)
            self._fail(checkpoint_id, error)
            return
        sync_ms = _elapsed(started)

        def finish() -> None:
            try:
                try:
                    with buffer:
                        handle = self._finish(order, base, buffer, parts)
                finally:
                    _release(parts)
                async_ms = _elapsed(started) - sync_ms
                self._report(SnapshotDone(self._attempt, checkpoint_id, handle, described, sync_ms, async_ms))
            except Exception as error:
                self._fail(checkpoint_id, error)

        if self._job.snapshots.asynchronous:
            self._uploads.submit(finish)
        else:
            finish()

    def adopt(self, metadata: CheckpointMetadata) -> None:
        """Let snapshots build on the checkpoint this slot was restored from, as far as its files were taken over."""
        parallelism = {operator.uid: operator.parallelism for operator in metadata.operators}
        nodes = [running.node for running in self._graph]
        own = {node.uid for node in nodes if node.parallelism == parallelism.get(node.uid)}
        for handle in metadata.handles:
            if handle.slot == self._slot:
                native = {native.uid: native.files for native in handle.native if native.uid in own}
                self._increments.add(metadata.checkpoint_id, StoredIncrement(native=native))

    def completed(self, checkpoint_id: int) -> None:
        """Learn that a checkpoint is complete: later ones build on it."""
        self._increments.completed(checkpoint_id)
        self._copied = {number: copied for number, copied in self._copied.items() if number >= checkpoint_id}
        if self._copies is not None:
            self._copies.retain(path for copied in self._copied.values() for path in copied)
        for running in self._graph:
            running.operator.snapshot_completed(checkpoint_id)

    def aborted(self, checkpoint_id: int) -> None:
        """Give up a checkpoint that will never complete."""
        self._increments.aborted(checkpoint_id)
        encoder = self._encoders.pop(checkpoint_id, None)
        if encoder is not None:
            encoder.kill()

    def close(self) -> None:
        """Wait for nothing; the process ends."""
        self._uploads.shutdown(wait=False, cancel_futures=True)

    # --- the stop ---

    def _prepare(self, checkpoint_id: int, positions: Lists) -> Lists:
        lists: Lists = {}
        for running in self._graph:
            uid = running.node.uid
            if isinstance(running.operator, SourceOperator):
                lists[uid] = positions[uid]
                continue
            try:
                lists[uid] = running.operator.prepare_snapshot(checkpoint_id)
            except Exception as error:
                raise OperatorError(running.node) from error
        return lists

    def _base_id(self, order: TriggerSnapshot, base: StoredIncrement | None) -> int | None:
        """Tell on which checkpoint the state on the heap builds; None: it is written as a whole."""
        return order.base_id if base is not None and base.worth_extending and order.savepoint is None else None

    def _freeze(self, node: JobNode, operator: Operator, request: SnapshotRequest, lists: Lists) -> _Part:
        try:
            raw = list(operator.raw_keyed_state())
            return _Part(node, operator, lists[node.uid], operator.snapshot_keyed(request), raw)
        except Exception as error:
            raise OperatorError(node) from error

    def _begin(self, checkpoint_id: int, buffer: BinaryIO, parts: list[_Part]) -> None:
        """Encode what is in memory, in a child or here."""

        def encode() -> None:
            writer = SnapshotWriter(buffer)
            for part in parts:
                part.write(writer)
            writer.finish()
            buffer.flush()

        if self._job.snapshots.asynchronous and sum(part.entries for part in parts) >= _FORK_FROM_ENTRIES:
            encoder = ForkedEncoder.start(buffer, self._slot, encode)
            if encoder is not None:
                self._encoders[checkpoint_id] = encoder
                return
        encode()

    # --- beside the next epochs ---

    def _finish(
        self, order: TriggerSnapshot, base: StoredIncrement | None, buffer: BinaryIO, parts: list[_Part]
    ) -> StateHandle:
        encoder = self._encoders.get(order.checkpoint_id)
        if encoder is not None:
            encoder.wait()
            self._encoders.pop(order.checkpoint_id, None)
        target = self._target(order)
        chained = self._incremental and self._job.backend.rocksdb is None
        file = self._store.store(target, buffer, "", shared=chained)
        before: list[StoredFile] = []
        written = file.size
        if base is not None and any(part.keyed.delta for part in parts):
            before += base.chain
        exported = self._export(target, parts)
        if exported is not None:
            before.append(exported)
            written += exported.size
        native: list[NativeState] = []
        for part in parts:
            if part.keyed.native is not None:
                known = {} if base is None else base.native.get(part.node.uid, {})
                threads = self._job.backend.rocksdb.transfer_threads if self._job.backend.rocksdb is not None else 1
                stored, size = self._store.store_native(target, part.node, part.keyed.native, known, threads)
                native.append(stored)
                written += size
        if order.savepoint is None:
            stored_native = {state.uid: state.files for state in native}
            increment = StoredIncrement((*before, file) if chained else (), stored_native)
            self._increments.add(order.checkpoint_id, increment)
        handle = StateHandle(self._slot, file, before, native, written)
        self._copied[order.checkpoint_id] = {
            paths.resolve(target.directory, stored.path) for stored in handle.files() if stored.path is not None
        }
        return handle

    def _export(self, target: Target, parts: list[_Part]) -> StoredFile | None:
        """Store what backends have on disk as blocks, for a savepoint."""
        if not any(part.keyed.exported for part in parts):
            return None
        with tempfile.TemporaryFile("w+b", _BUFFER) as buffer:
            writer = SnapshotWriter(cast(BinaryIO, buffer))
            for part in parts:
                for block in part.keyed.exported() if part.keyed.exported is not None else ():
                    writer.keyed(part.node.uid, block)
            writer.finish()
            return self._store.store(target, cast(BinaryIO, buffer), "keyed", shared=False)

    def _target(self, order: TriggerSnapshot) -> Target:
        if order.savepoint is not None:
            return Target(order.checkpoint_id, checkpoint_files(order.savepoint), None, "")
        job_id = self._job.job_id
        directory = paths.checkpoint_directory(job_id, order.checkpoint_id)
        return Target(order.checkpoint_id, self._job.snapshots.files, job_id, directory)

    def _fail(self, checkpoint_id: int, error: Exception) -> None:
        failure = describe_failure(error, self._slot)
        self._report(SnapshotFailed(self._attempt, checkpoint_id, explain(failure)))


def _release(parts: list[_Part]) -> None:
    for part in parts:
        part.keyed.release()


def _elapsed(started: float) -> int:
    return round((time.monotonic() - started) * 1000)
