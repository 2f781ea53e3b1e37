"""Runs a source function: its loop in a thread of its own, what it emits in a buffer until the slot takes it.

The function's state counts an element as soon as it was emitted. So what is in the buffer at a snapshot belongs to the
snapshot, and both are taken in one hold of the lock. With another parallelism buffer and state may come to different
subtasks: then all that was in buffers leaves in the first epoch, and no function runs before it is over.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, suppress
from threading import Thread
from typing import Any

import msgspec

from rekindle.base.milliseconds import milliseconds
from rekindle.base.object_size import object_size
from rekindle.contracts.functions import SourceFunction
from rekindle.runtime.chunk import Chunk
from rekindle.runtime.operators.checkpoint_lock import CheckpointLock, SourceClosedError
from rekindle.runtime.operators.operator_context import OperatorContext
from rekindle.runtime.operators.result_copies import FIXED, unshared_argument
from rekindle.runtime.operators.roles import RecordKeeper
from rekindle.runtime.operators.source_buffer import SourceBuffer
from rekindle.runtime.operators.source_operator import SourceOperator
from rekindle.runtime.operators.user_function import UserFunctionOperator
from rekindle.serialization.encodings.pickle_serializer import PickleSerializer
from rekindle.serialization.serializer_of import serializer_of
from rekindle.state.operator_state.backend import SOURCE_BUFFER, SOURCE_ENDED
from rekindle.state.operator_state.chunk_list import decode_records, encode_records
from rekindle.state.operator_state.stored import DistributionMode, StoredList
from rekindle.state.read_back import reading_back
from rekindle.state.state_evolution import StateName
from rekindle.types.type_information import TypeInformation
from rekindle.types.type_serializer import TypeSerializer

_ROOM = 100_000
_ROOM_BYTES = 64 << 20
_FIRST_ROOM = 1_000  # until it is known how large elements are
_WORTHWHILE = 500  # a poll that finds less is the last one of its epoch
_WAIT_SECONDS, _WAITS = 0.001, 10  # how long a poll waits for so many from a source that is busy
_END_SECONDS = 0.75


class FunctionSourceOperator(UserFunctionOperator, SourceOperator, RecordKeeper):
    """Run a SourceFunction."""

    function: SourceFunction

    def __init__(self, function: SourceFunction, type_info: TypeInformation | None = None) -> None:
        super().__init__(function)
        self.type_info = type_info

    def open(self, context: OperatorContext) -> None:
        self._task, self._slot = context.task, context.slot
        self._buffer = SourceBuffer()
        self._room = min(_FIRST_ROOM, _ROOM)
        self._size_known = False
        self._lock = CheckpointLock(self._is_full)
        self._thread: Thread | None = None
        self._failure: BaseException | None = None
        self._closing = False
        self._cut_short = False  # ended by the job, not by itself: another job goes on with it
        self._epoch_coming = True  # the first one comes by itself
        self._busy = False
        self._paused = False
        self._taken: dict[str, StoredList] | Exception = {}
        lists = context.restored.lists
        said = _said(lists.pop(SOURCE_ENDED, None))
        self._ended = _has_ended(said, context.task.subtask, context.task.parallelism)
        self._buffers_first = any(held for _, held in said) or len(said) not in (0, context.task.parallelism)
        self._restore_buffer(lists.pop(SOURCE_BUFFER, None))
        super().open(context)

    # --- what a test may look at ---

    @property
    def checkpoint_lock(self) -> CheckpointLock:
        """The lock under which the function emits, once the operator is open."""
        return self._lock

    @property
    def thread(self) -> Thread | None:
        """The thread of the function; None before the first poll."""
        return self._thread

    # --- what the slot calls ---

    def waiting(self) -> Sequence[Chunk]:
        if not self._buffers_first:
            return ()
        restored = self._buffer.take(len(self._buffer))
        return () if restored is None else (restored,)

    def poll(self, max_records: int) -> Chunk | None:
        if self._buffers_first:
            return None
        if self._thread is None and not self._ended:
            self._thread = Thread(target=self._run, name=f"source {self._task.name}", daemon=True)
            self._thread.start()
        if self._paused:
            return None
        worthwhile = min(_WORTHWHILE, max_records)
        if self._busy:
            for _ in range(_WAITS):
                if len(self._buffer) >= worthwhile or self._ended or self._failure is not None:
                    break
                time.sleep(_WAIT_SECONDS)
        with self._lock.claim():
            self._raise_failure()
            chunk = self._buffer.take(max_records)
            if chunk is not None:
                self._room = _room_for(chunk.values[0], chunk.values[-1])
                self._size_known = True
        self._busy = chunk is not None and len(chunk.values) >= worthwhile
        self._paused = not self._busy
        return chunk

    def pieces(self, chunk: Chunk, side: int = 0) -> Iterator[Chunk | None]:
        return self._buffer.pieces(chunk)

    def stamped(self, chunk: Chunk) -> Chunk:
        deque(self._buffer.pieces(chunk), maxlen=0)  # the watermarks count, behind all of it
        return chunk

    def advance_processing_time(self, now: int) -> Chunk | None:
        self._paused = self._buffers_first = False
        return None

    def output_watermark(self, watermark: int) -> int:
        return self._buffer.watermark

    def output_idle(self, idle: bool) -> bool:
        return self._buffer.idle

    def has_more(self) -> bool:
        if self._thread is None and not self._ended:
            return True
        with self._lock.claim():
            self._epoch_coming = bool(self._buffer) or self._failure is not None
            return self._epoch_coming

    def finished(self) -> bool:
        return self._ended and not self._buffer

    def drain(self) -> None:
        """Ask the function to end; what it has emitted, and still emits, is its last output."""
        if self._cut_short or self._ended:
            return
        self._cut_short = True
        if self._thread is None:
            self._ended = True  # it has not begun, and need not
        else:
            self.function.cancel()

    def prepare_snapshot(self, checkpoint_id: int, timestamp: int) -> None:
        with self._lock.claim():
            self._raise_failure()
            super().prepare_snapshot(checkpoint_id, timestamp)
            values, timestamps = self._buffer.content()
            said = msgspec.msgpack.encode((self._ended and not self._cut_short, self._buffers_first))
            ended = StoredList.of(DistributionMode.UNION, [said])
            try:
                self._taken = super().snapshot_lists() | {SOURCE_ENDED: ended}
            except Exception as error:
                self._taken = error  # declines the checkpoint, as it does for every operator
                return
        try:
            self._taken[SOURCE_BUFFER] = encode_records(values, timestamps, self._serializer, self._buffer_name)
        except Exception as error:
            self._taken = error

    def snapshot_lists(self) -> dict[str, StoredList]:
        taken, self._taken = self._taken, {}
        if isinstance(taken, Exception):
            raise taken
        return taken

    def read_lists_back(self, lists: dict[str, StoredList]) -> None:
        super().read_lists_back(lists)
        with reading_back(self._buffer_name):
            _said(lists.get(SOURCE_ENDED))
            if SOURCE_BUFFER in lists:
                list(decode_records(lists[SOURCE_BUFFER], self._serializer, self._buffer_name))

    def notify_complete(self, checkpoint_id: int) -> None:
        with self._lock.claim():
            super().notify_complete(checkpoint_id)

    def notify_aborted(self, checkpoint_id: int) -> None:
        with self._lock.claim():
            super().notify_aborted(checkpoint_id)

    def close(self) -> None:
        self._closing = True
        try:
            if self._thread is not None and self._thread.is_alive():
                self.function.cancel()
                self._lock.close(_END_SECONDS)
                self._thread.join(_END_SECONDS)
        finally:
            super().close()

    # --- the source's thread ---

    def _run(self) -> None:
        emitted = _Context(self, self._lock, self._buffer)
        try:
            self.function.run(emitted)
        except SourceClosedError:
            return
        except BaseException as error:
            self._failure = error
        finally:
            emitted.close()
            self._lock.settle()
        if self._closing:
            return
        self._ended = self._failure is None
        self._request_epoch()

    def _is_full(self) -> bool:
        """Return whether the function has to wait before it emits more; until the first poll, by what came last."""
        if not self._size_known and len(self._buffer):
            self._room = min(self._room, _room_for(self._buffer.last()))
        return len(self._buffer) >= self._room

    def _request_epoch(self) -> None:
        """See to it that an epoch comes, once for all that is emitted until the slot says that none is coming."""
        if not self._epoch_coming:
            self._epoch_coming = True
            with suppress(OSError):  # the job master has gone, and soon the slot
                self._slot.request_epoch()

    # --- state ---

    @property
    def _serializer(self) -> TypeSerializer[Any]:
        return PickleSerializer() if self.type_info is None else serializer_of(self.type_info)

    @property
    def _buffer_name(self) -> StateName:
        return StateName(self._task.name, self._task.uid, SOURCE_BUFFER)

    def _restore_buffer(self, stored: StoredList | None) -> None:
        if stored is None:
            return
        for values, timestamps in decode_records(stored, self._serializer, self._buffer_name):
            if timestamps is None:
                for value in values:
                    self._buffer.add(value)
            else:
                for value, timestamp in zip(values, timestamps, strict=True):
                    self._buffer.add_with_timestamp(value, timestamp)

    def _raise_failure(self) -> None:
        if self._failure is not None:
            raise self._failure


class _Context(SourceFunction.SourceContext):
    """Put into the buffer what the function emits."""

    def __init__(self, operator: FunctionSourceOperator, lock: CheckpointLock, buffer: SourceBuffer) -> None:
        self._operator = operator
        self._lock = lock
        self._buffer = buffer
        self._closed = False

    def collect(self, element: Any) -> None:
        if type(element) not in FIXED:
            element = unshared_argument(element)
        with self._lock:
            self._check_open()
            self._buffer.add(element)
            self._added()

    def collect_with_timestamp(self, element: Any, timestamp: int) -> None:
        if type(element) not in FIXED:
            element = unshared_argument(element)
        with self._lock:
            self._check_open()
            self._buffer.add_with_timestamp(element, milliseconds(timestamp, "the timestamp of collect_with_timestamp"))
            self._added()

    def emit_watermark(self, timestamp: int) -> None:
        with self._lock:
            self._check_open()
            self._buffer.mark(milliseconds(timestamp, "the watermark of emit_watermark"))
            self._added()

    def mark_as_temporarily_idle(self) -> None:
        with self._lock:
            self._check_open()
            self._buffer.mark(None)
            self._added()

    def get_checkpoint_lock(self) -> AbstractContextManager[Any]:
        return self._lock

    def close(self) -> None:
        self._closed = True

    def _check_open(self) -> None:
        if self._closed:
            raise SourceClosedError  # a thread that the function started, and that goes on without it

    def _added(self) -> None:
        if not self._operator._epoch_coming:
            self._operator._request_epoch()


def _room_for(*elements: Any) -> int:
    """Return how many elements may wait, by the size of some that came."""
    return min(_ROOM, max(10, _ROOM_BYTES // max(map(object_size, elements))))


def _said(stored: StoredList | None) -> list[tuple[bool, bool]]:
    """Read what all old subtasks said: whether they had ended, and whether buffers were to leave first."""
    items = [] if stored is None else stored.items
    return [msgspec.msgpack.decode(item, type=tuple[bool, bool]) for item in items]


def _has_ended(said: list[tuple[bool, bool]], subtask: int, parallelism: int) -> bool:
    """Tell from what all old subtasks said whether a subtask has nothing more to emit.

    With another parallelism nobody can tell whose state a subtask got: unless all had ended, it runs, and its function
    finds in its restored state what is left to do.
    """
    ended = [has_ended for has_ended, _ in said]
    if len(ended) == parallelism:
        return ended[subtask]
    return bool(ended) and all(ended)
