"""Takes snapshots of a slot: a short stop, then encoding and upload beside the next epochs.

With much state the slot forks: the child holds the state exactly as it was at the barrier, whatever the parent changes
meanwhile, encodes it on another core and ends. The parent only stops for the fork (milliseconds for gigabytes). With
little state encoding takes no longer than a fork would, and happens on the spot.
"""

from __future__ import annotations

import ctypes
import os
import signal
import stat
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import BinaryIO, cast

import msgspec

from rekindle.checkpoint import paths
from rekindle.checkpoint.metadata import StateHandle
from rekindle.checkpoint.snapshot_file import SnapshotWriter
from rekindle.exceptions import CheckpointError
from rekindle.runtime.operators.operator import SourceOperator
from rekindle.runtime.slot.deployment import SnapshotSettings
from rekindle.runtime.slot.failure import OperatorError, describe_failure
from rekindle.runtime.slot.operator_graph import OperatorGraph
from rekindle.runtime.wire.messages import OperatorSnapshot, SlotFailed, SnapshotDone, SnapshotFailed

_LIBC = ctypes.CDLL(None) if sys.platform.startswith("linux") else None
_PR_SET_PDEATHSIG = 1
_FORK_FROM_ENTRIES = 5_000
_UPLOADS = 4
_BUFFER = 1 << 20

Lists = dict[str, dict[str, list[bytes]]]
"""Operator list states: uid → name → items."""


class Snapshotter:
    """Take the snapshots of one slot and report each to the job master."""

    def __init__(
        self,
        graph: OperatorGraph,
        settings: SnapshotSettings,
        job_id: str,
        slot: int,
        attempt: int,
        report: Callable[[SnapshotDone | SnapshotFailed], None],
    ) -> None:
        self._graph = graph
        self._settings = settings
        self._job_id = job_id
        self._slot = slot
        self._attempt = attempt
        self._report = report
        self._uploads = ThreadPoolExecutor(_UPLOADS, thread_name_prefix="snapshot")

    def take(self, checkpoint_id: int, positions: Lists) -> None:
        """Take a snapshot. Returns after the synchronous part; nothing else may run in the slot until then.

        Args:
            checkpoint_id: The checkpoint.
            positions: The positions of the hosted sources at the end of the checkpoint's epoch.
        """
        started = time.monotonic()
        # A sink that cannot make its output durable may have lost some of it: that fails the attempt, not just this
        # checkpoint, so that the records come again.
        lists = self._prepare(checkpoint_id, positions)
        try:
            operators = self._describe(lists)
            # Has no name: nothing is left behind, however the slot ends.
            buffer = cast(BinaryIO, tempfile.TemporaryFile("w+b", _BUFFER))  # noqa: SIM115 - closed after the upload
            try:
                child = self._begin(buffer, lists)
            except BaseException:
                with suppress(OSError):
                    buffer.close()
                raise
        except Exception as error:
            self._fail(checkpoint_id, error)
            return
        sync_ms = _elapsed(started)

        def finish() -> None:
            try:
                with buffer:
                    if child is not None:
                        self._await_child(child, buffer)
                    handle = self._store(checkpoint_id, buffer)
                self._report(
                    SnapshotDone(self._attempt, checkpoint_id, handle, operators, sync_ms, _elapsed(started) - sync_ms)
                )
            except Exception as error:
                self._fail(checkpoint_id, error)

        if self._settings.asynchronous:
            self._uploads.submit(finish)
        else:
            finish()

    def close(self) -> None:
        """Wait for nothing; the process ends."""
        self._uploads.shutdown(wait=False, cancel_futures=True)

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

    def _describe(self, lists: Lists) -> list[OperatorSnapshot]:
        return [
            OperatorSnapshot(
                running.node.uid,
                running.operator.keyed_state_names(),
                {name: len(items) for name, items in lists[running.node.uid].items()},
            )
            for running in self._graph
        ]

    def _begin(self, buffer: BinaryIO, lists: Lists) -> int | None:
        """Let a child encode the state and give its pid, or encode it here."""
        entries = sum(running.operator.entry_count() for running in self._graph)
        child = None
        if self._settings.asynchronous and entries >= _FORK_FROM_ENTRIES:
            child = self._fork(buffer, lists)
        if child is None:
            self._encode(buffer, lists)
        return child

    def _encode(self, buffer: BinaryIO, lists: Lists) -> None:
        writer = SnapshotWriter(buffer)
        for running in self._graph:
            uid = running.node.uid
            try:
                for block in running.operator.keyed_blocks():
                    writer.keyed(uid, block)
            except Exception as error:
                raise OperatorError(running.node) from error
            for name, items in lists[uid].items():
                writer.operator_list(uid, name, items)
        writer.finish()
        buffer.flush()

    def _fork(self, buffer: BinaryIO, lists: Lists) -> int | None:
        try:
            with warnings.catch_warnings():
                # The child does nothing but pickle and write to a descriptor: it touches no lock of another thread.
                warnings.simplefilter("ignore", DeprecationWarning)
                child = os.fork()
        except OSError:
            return None  # no memory for a copy: encode on the spot
        if child:
            return child
        status = 1
        try:
            _leave_the_slot()
            self._encode(buffer, lists)
            status = 0
        except BaseException as error:
            with suppress(BaseException):
                os.ftruncate(buffer.fileno(), 0)
                os.pwrite(buffer.fileno(), msgspec.msgpack.encode(describe_failure(error, self._slot)), 0)
        finally:
            os._exit(status)

    def _await_child(self, child: int, buffer: BinaryIO) -> None:
        _, status = os.waitpid(child, 0)
        if os.WIFSIGNALED(status):
            raise CheckpointError(f"the process that wrote the snapshot was killed by signal {os.WTERMSIG(status)}")
        if os.waitstatus_to_exitcode(status) != 0:
            buffer.seek(0)
            failure = msgspec.msgpack.decode(buffer.read(), type=SlotFailed)
            raise CheckpointError(_explain(failure))

    def _store(self, checkpoint_id: int, buffer: BinaryIO) -> StateHandle:
        size = buffer.seek(0, os.SEEK_END)
        buffer.seek(0)
        settings = self._settings
        if settings.files is None and size > settings.inline_limit:
            raise CheckpointError(
                f"the state of slot {self._slot} has {size} bytes, and the job master's memory takes at most "
                f"{settings.inline_limit} of a slot. Set a checkpoint directory (state.checkpoints.dir), or raise the "
                "limit with JobManagerCheckpointStorage(max_state_size=…)"
            )
        if settings.files is None or size < settings.inline_below:
            return StateHandle(self._slot, size, inline=buffer.read())
        name = paths.slot_file(self._slot, self._attempt)
        directory = paths.checkpoint_directory(self._job_id, checkpoint_id)
        settings.files.write(paths.join(directory, name), buffer)
        return StateHandle(self._slot, size, path=name)

    def _fail(self, checkpoint_id: int, error: Exception) -> None:
        failure = describe_failure(error, self._slot)
        self._report(SnapshotFailed(self._attempt, checkpoint_id, _explain(failure)))


def _leave_the_slot() -> None:
    """Make a forked child independent: it holds no connection of the slot, and does not outlive it."""
    if _LIBC is not None:
        _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    for name in os.listdir("/proc/self/fd") if os.path.isdir("/proc/self/fd") else ():
        with suppress(OSError):
            if stat.S_ISSOCK(os.fstat(int(name)).st_mode):
                os.close(int(name))


def _explain(failure: SlotFailed) -> str:
    if not failure.operator:
        return failure.summary
    return (
        f"{failure.summary}\n  in operator {failure.operator!r}, subtask {failure.subtask}; "
        f"the traceback there was:\n\n{failure.traceback}"
    )


def _elapsed(started: float) -> int:
    return round((time.monotonic() - started) * 1000)
