"""Takes snapshots of a slot: a short stop, then encoding and upload beside the next epochs.

With much state on the heap the slot forks, see ``forked_encoder``. With little state encoding takes no longer than a
fork would, and happens on the spot. What a backend has on disk is completed and stored after the stop.
"""

from __future__ import annotations

import errno
import tempfile
from collections.abc import Callable, Collection, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from threading import Lock
from typing import BinaryIO, cast

from rekindle.checkpoint import paths
from rekindle.checkpoint.metadata import CheckpointMetadata, NativeState, StateHandle, StoredFile
from rekindle.checkpoint.snapshot_file import SnapshotReader, SnapshotWriter, block_codec
from rekindle.checkpoint.storage import checkpoint_files
from rekindle.exceptions import CheckpointStorageError, OutputLostError
from rekindle.graph.job_graph import JobNode
from rekindle.runtime.operators.roles import KeyedStateOwner, OperatorStateOwner, RowStager
from rekindle.runtime.slot.failure import OperatorError, blaming, describe_failure, explain, is_curable
from rekindle.runtime.slot.forked_encoder import ForkedEncoder
from rekindle.runtime.slot.increments import Increments, StoredIncrement
from rekindle.runtime.slot.local_copies import LocalCopies
from rekindle.runtime.slot.operator_graph import RunningNode
from rekindle.runtime.slot.slot_job import SlotJob
from rekindle.runtime.slot.snapshot_costs import SnapshotCosts
from rekindle.runtime.slot.snapshot_store import SnapshotStore, Target
from rekindle.runtime.slot.taken_snapshot import SnapshotPart, TakenSnapshot, read_back, release
from rekindle.runtime.wire.messages import SnapshotDone, SnapshotFailed, TriggerSnapshot
from rekindle.state.blocks import TIMERS
from rekindle.state.namespace_timers import read_timers_back
from rekindle.state.operator_state.stored import StoredList
from rekindle.state.read_back import read_keys_back
from rekindle.state.snapshots import KeyedSnapshot, SnapshotRequest

_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_FORK_FROM_ENTRIES = 5_000
UPLOADS = 32  # threads begin as they are needed; this many checkpoints can really be under way at once
_BUFFER = 1 << 20

Lists = dict[str, dict[str, StoredList]]
"""Operator list states: uid → name → items."""


@dataclass(frozen=True, slots=True)
class _StateOwners:
    """Hold an operator by the kinds of state it has; None: it has none of the kind."""

    node: JobNode
    lists: OperatorStateOwner | None
    keyed: KeyedStateOwner | None

    @staticmethod
    def of(running: RunningNode) -> _StateOwners:
        operator = running.operator
        return _StateOwners(
            running.node,
            operator if isinstance(operator, OperatorStateOwner) else None,
            operator if isinstance(operator, KeyedStateOwner) else None,
        )

    def freeze(self, request: SnapshotRequest, lists: dict[str, StoredList] | None) -> SnapshotPart:
        """Take the state as it is now, unless its list states are given: those of a source at the end of an epoch."""
        try:
            if lists is None:
                lists = {} if self.lists is None else self.lists.snapshot_lists()
            if self.keyed is None:
                staged = self.lists.staged_rows() if isinstance(self.lists, RowStager) else []
                return SnapshotPart(self.node, lists, self.lists, KeyedSnapshot(), [], staged)
            names = self.keyed.keyed_state_names()
            return SnapshotPart(self.node, lists, self.lists, self.keyed.snapshot_keyed(request), names)
        except BaseException as error:
            raise OperatorError(self.node) from error


class Snapshotter:
    """Take the snapshots of one slot and report each to the job master."""

    def __init__(
        self,
        graph: Iterable[RunningNode],
        job: SlotJob,
        slot: int,
        attempt: int,
        report: Callable[[SnapshotDone | SnapshotFailed], None],
        copies: LocalCopies | None = None,
    ) -> None:
        self._owners = [_StateOwners.of(running) for running in graph]
        self._keyed = [owners.keyed for owners in self._owners if owners.keyed is not None]
        self._job = job
        self._slot = slot
        self._attempt = attempt
        self._report = report
        self._copies = copies
        self._incremental = job.backend.incremental and job.snapshots.files is not None
        self._store = SnapshotStore(job.snapshots, slot, attempt, self._incremental, copies)
        self._increments = Increments()
        self._lock = Lock()  # the next three are used by the threads of uploads, too
        self._under_way: dict[int, TakenSnapshot] = {}
        self._copied: dict[int, set[str]] = {}
        self._uploads = ThreadPoolExecutor(UPLOADS, thread_name_prefix="snapshot")
        if job.snapshots.compressed:
            block_codec()  # a forked child imports nothing

    def take(self, order: TriggerSnapshot, positions: Lists, start_delay_ms: int = 0, alignment_ms: int = 0) -> None:
        """Take a snapshot. Returns after the synchronous part; nothing else may run in the slot until then.

        Args:
            order: The checkpoint.
            positions: The positions of the hosted sources at the end of the checkpoint's epoch.
            start_delay_ms: How long ago the checkpoint was triggered when the slot heard of it.
            alignment_ms: How long the slot had to wait until it was between two chunks.
        """
        costs = SnapshotCosts()
        checkpoint_id = order.checkpoint_id
        try:
            self._prepare(checkpoint_id, order.timestamp, costs)
        except OperatorError as error:
            # What operators before it have prepared stays with them, and is part of the next snapshot.
            if not self._job.snapshots.tolerates_errors or isinstance(error.__cause__, OutputLostError):
                raise
            self._fail(checkpoint_id, error)
            return
        parts: list[SnapshotPart] = []
        try:
            base = self._increments.base(order.base_id) if self._incremental else None
            request = SnapshotRequest(checkpoint_id, self._base_id(order, base), order.savepoint is not None)
            for owners in self._owners:
                with costs.stop(owners.node.uid):
                    parts.append(owners.freeze(request, positions.get(owners.node.uid)))
            described = [part.describe() for part in parts]
            # Has no name: nothing is left behind, however the slot ends.
            buffer = cast(BinaryIO, tempfile.TemporaryFile("w+b", _BUFFER))  # noqa: SIM115 - closed after the upload
            try:
                encoder = self._begin(buffer, parts, costs)
            except BaseException:
                with suppress(OSError):
                    buffer.close()
                raise
        except Exception as error:
            release(parts)
            self._fail(checkpoint_id, error)
            return
        taken = TakenSnapshot(buffer, parts, encoder)

        def finish() -> None:
            try:
                with taken:
                    handle = self._finish(order, base, taken, costs)
                operators = costs.added_to(described)
                delays = (start_delay_ms, alignment_ms)
                self._report(SnapshotDone(self._attempt, checkpoint_id, handle, operators, *delays))
            except BaseException as error:
                self._fail(checkpoint_id, error)
            finally:
                with self._lock:
                    self._under_way.pop(checkpoint_id, None)

        if self._job.snapshots.asynchronous:
            with self._lock:
                self._under_way[checkpoint_id] = taken
            taken.upload = self._uploads.submit(finish)
        else:
            finish()

    def adopt(self, metadata: CheckpointMetadata, taken_over: Collection[str]) -> None:
        """Let snapshots build on the checkpoint this slot was restored from.

        Args:
            metadata: The checkpoint.
            taken_over: The operators whose backends go on with the files of this slot's predecessor.
        """
        for handle in metadata.handles:
            if handle.slot == self._slot:
                native = {native.uid: native.files for native in handle.native if native.uid in taken_over}
                self._increments.add(metadata.checkpoint_id, StoredIncrement(native=native))

    def completed(self, checkpoint_id: int) -> None:
        """Learn that a checkpoint is complete: later ones build on it."""
        with self._lock:
            self._increments.completed(checkpoint_id)
            self._copied = {number: copied for number, copied in self._copied.items() if number >= checkpoint_id}
            needed = [path for copied in self._copied.values() for path in copied]
        if self._copies is not None:
            self._copies.retain(needed)
        for keyed in self._keyed:
            keyed.snapshot_completed(checkpoint_id)

    def aborted(self, checkpoint_id: int) -> None:
        """Give up a checkpoint that will never complete."""
        with self._lock:
            self._increments.aborted(checkpoint_id)
            taken = self._under_way.pop(checkpoint_id, None)
        if taken is not None:
            taken.give_up()

    def finish_uploads(self) -> None:
        """Wait until nothing is written any more, and begin nothing else."""
        self._uploads.shutdown(wait=True)

    def close(self) -> None:
        """Wait for nothing; the process ends."""
        self._uploads.shutdown(wait=False, cancel_futures=True)

    # --- the stop ---

    def _prepare(self, checkpoint_id: int, timestamp: int, costs: SnapshotCosts) -> None:
        for owners in self._owners:
            if owners.lists is not None:
                try:
                    with costs.stop(owners.node.uid):
                        owners.lists.prepare_snapshot(checkpoint_id, timestamp)
                except BaseException as error:
                    raise OperatorError(owners.node) from error

    def _base_id(self, order: TriggerSnapshot, base: StoredIncrement | None) -> int | None:
        """Tell on which checkpoint the state on the heap builds; None: it is written as a whole."""
        if base is None or not base.worth_extending or order.savepoint is not None:
            return None
        counts = [keyed.keyed_changes() for keyed in self._keyed]
        changed = sum(changed for changed, _ in counts)
        return order.base_id if not changed or 2 * changed < sum(entries for _, entries in counts) else None

    def _begin(self, buffer: BinaryIO, parts: list[SnapshotPart], costs: SnapshotCosts) -> ForkedEncoder | None:
        """Encode what is in memory, in a child or here."""

        compressed = self._job.snapshots.compressed

        def encode() -> None:
            writer = SnapshotWriter(buffer, compressed)
            for part in parts:
                with costs.stop(part.node.uid):
                    part.write(writer)
            writer.finish()
            buffer.flush()

        def encode_and_read_back() -> None:
            encode()
            read_back(SnapshotReader(buffer, "that is being written"), parts)

        if self._job.snapshots.asynchronous and sum(part.keyed.entries for part in parts) >= _FORK_FROM_ENTRIES:
            awaited = any(part.keyed.write is not None for part in parts)
            encoder = ForkedEncoder.start(buffer, self._slot, encode_and_read_back, awaited)
            if encoder is not None:
                return encoder
        encode()
        return None

    # --- beside the next epochs ---

    def _finish(
        self, order: TriggerSnapshot, base: StoredIncrement | None, taken: TakenSnapshot, costs: SnapshotCosts
    ) -> StateHandle:
        parts, buffer = taken.parts, taken.buffer
        target = self._target(order)
        chained = self._incremental and self._job.backend.rocksdb is None
        for part in parts:
            if part.keyed.write is not None:
                with costs.beside((part.node.uid,)):
                    part.keyed.write()
        sizes: dict[str, int] = {}
        with costs.beside(sizes):  # those of the operators that have something in the file
            sizes.update(taken.wait().index.sizes())
            file = self._store.store(target, buffer, "", shared=chained)
        costs.stored(sizes)
        before: list[StoredFile] = []
        written = file.size
        if base is not None and any(part.keyed.delta for part in parts):
            before += base.chain
            costs.referred(base.sizes)
            sizes = {uid: sizes.get(uid, 0) + base.sizes.get(uid, 0) for uid in {*sizes, *base.sizes}}
        for part in parts:
            with costs.beside((part.node.uid,)), blaming(part.node):
                part.keyed.settle()
        exported = self._export(target, parts, costs)
        if exported is not None:
            before.append(exported)
            written += exported.size
        native: list[NativeState] = []
        for part in parts:
            if part.keyed.native is not None:
                known = {} if base is None else base.native.get(part.node.uid, {})
                threads = self._job.backend.rocksdb.transfer_threads if self._job.backend.rocksdb is not None else 1
                uid = part.node.uid
                with costs.beside((uid,)):
                    stored, size = self._store.store_native(target, part.node, part.keyed.native, known, threads)
                costs.stored({uid: size})
                costs.referred({uid: sum(file.size for file in stored.files.values()) - size})
                native.append(stored)
                written += size
        if target.files is None:
            self._store.check_fits(written)
        handle = StateHandle(self._slot, file, before, native, written)
        if order.savepoint is None:
            increment = StoredIncrement(
                (*before, file) if chained else (),
                {state.uid: state.files for state in native},
                sizes if chained else {},
            )
            copied = {paths.resolve(target.directory, f.path) for f in handle.files() if f.path is not None}
            with self._lock:
                taken.check()
                self._increments.add(order.checkpoint_id, increment)
                self._copied[order.checkpoint_id] = copied
        return handle

    def _export(self, target: Target, parts: list[SnapshotPart], costs: SnapshotCosts) -> StoredFile | None:
        """Store what backends have on disk as blocks, for a savepoint."""
        if not any(part.keyed.exported is not None for part in parts):
            return None
        with tempfile.TemporaryFile("w+b", _BUFFER) as buffer:
            writer = SnapshotWriter(cast(BinaryIO, buffer), self._job.snapshots.compressed)
            for part in parts:
                if part.keyed.exported is None:
                    continue
                size = 0
                with costs.beside((part.node.uid,)), blaming(part.node):
                    for block in part.keyed.exported():
                        (read_timers_back if block.kind == TIMERS else read_keys_back)(block)
                        writer.keyed(part.node.uid, block)
                        size += len(block.data)
                costs.stored({part.node.uid: size})
            writer.finish()
            return self._store.store(target, cast(BinaryIO, buffer), "keyed", shared=False)

    def _target(self, order: TriggerSnapshot) -> Target:
        if order.savepoint is not None:
            return Target(order.checkpoint_id, checkpoint_files(order.savepoint), None, "")
        job_id = self._job.job_id
        directory = paths.checkpoint_directory(job_id, order.checkpoint_id)
        return Target(order.checkpoint_id, self._job.snapshots.files, job_id, directory)

    def _fail(self, checkpoint_id: int, error: BaseException) -> None:
        if isinstance(error, OSError) and error.errno in _NO_ROOM and error.filename is None:  # the file has no name
            error = CheckpointStorageError(
                f"cannot write to a temporary file in {tempfile.gettempdir()}: {error.strerror}. Free some space "
                "there, or let TMPDIR name another directory"
            )
        failure = describe_failure(error, self._slot, self._job.show_records)
        self._report(SnapshotFailed(self._attempt, checkpoint_id, explain(failure), is_curable(failure)))
