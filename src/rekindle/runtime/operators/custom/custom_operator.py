"""Runs an operator of the user's own making in a slot, record by record."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from rekindle.base.milliseconds import milliseconds
from rekindle.contracts.operators.internal_timers import InternalTimerService, Triggerable
from rekindle.contracts.operators.operator_services import OperatorServices
from rekindle.contracts.operators.output import Output
from rekindle.contracts.operators.stream_operator import (
    AbstractStreamOperator,
)
from rekindle.contracts.operators.stream_record import StreamRecord, Watermark
from rekindle.contracts.output_tag import OutputTag
from rekindle.contracts.state import State, StateDescriptor
from rekindle.exceptions import StateAccessError
from rekindle.runtime.at_work import at_record
from rekindle.runtime.chunk import Chunk
from rekindle.runtime.operators.custom.custom_state import (
    RAW_PARTITIONS,
    Finished,
    InitializationContext,
    SnapshotContext,
)
from rekindle.runtime.operators.custom.custom_timers import TimerServices, namespace_serializer
from rekindle.runtime.operators.operator import MIN_WATERMARK
from rekindle.runtime.operators.operator_context import OperatorContext
from rekindle.runtime.operators.result_copies import FIXED, unshared
from rekindle.runtime.operators.roles import (
    CheckpointObserver,
    KeyedStateOwner,
    OperatorStateOwner,
    ProcessingTimeOperator,
    TwoInputOperator,
    WatermarkEmitter,
)
from rekindle.runtime.operators.runtime_context import SlotRuntimeContext
from rekindle.runtime.operators.side_outputs import SideOutput, sorted_out
from rekindle.state.blocks import RAW, RAW_STATE, TIMERS, KeyGroupBlock
from rekindle.state.keyed_backend import NO_KEY, KeyedStateBackend
from rekindle.state.operator_state.backend import FINISHED, OperatorStateBackend
from rekindle.state.operator_state.stored import DistributionMode, StoredList
from rekindle.state.snapshots import KeyedSnapshot, SnapshotRequest

_TIMES = frozenset({int, type(None)})


class CustomOperator(
    TwoInputOperator,
    ProcessingTimeOperator,
    WatermarkEmitter,
    OperatorStateOwner,
    KeyedStateOwner,
    CheckpointObserver,
):
    """Run an AbstractStreamOperator."""

    backend: KeyedStateBackend | None
    _services: _Services
    _output: _ChunkOutput
    _snapshot: SnapshotContext
    _finished: Finished

    def __init__(self, operator: AbstractStreamOperator, keyed: bool, inputs: int) -> None:
        self.operator: Any = operator
        self.keyed = keyed
        self.inputs = inputs

    def open(self, context: OperatorContext) -> None:
        lists = Finished.others(context.restored.lists)
        lists = {name: stored for name, stored in lists.items() if name != RAW_PARTITIONS}
        self._finished = Finished(context)
        self._batch = context.job.batch
        self.backend = context.keyed_backend() if self.keyed else None
        own = replace(context, restored=replace(context.restored, lists=lists))
        self._services = services = _Services(own, self.backend)
        self._output = _ChunkOutput()
        self._snapshot = SnapshotContext(0, 0, context.task.name, None)
        self.operator.setup(services, self._output)
        self.operator.initialize_state(
            InitializationContext(context, services.operator_state, services.runtime_context)
        )
        self.operator.open()

    # --- records and time ---

    def process(self, chunk: Chunk) -> Chunk | None:
        self._each(chunk, side=0)
        return self._output.take()

    def process_second(self, chunk: Chunk) -> Chunk | None:
        self._each(chunk, side=1)
        return self._output.take()

    def pieces(self, chunk: Chunk, side: int = 0) -> Iterator[Chunk | None]:
        self._each(chunk, side)
        return self._output.pieces()

    @at_record("record", key="backend.key")
    def _each(self, chunk: Chunk, side: int) -> None:
        operator = self.operator
        call: Callable[[StreamRecord[Any]], None]
        if self.inputs == 1:
            call = operator.process_element
        else:
            call = operator.process_element2 if side else operator.process_element1
        stamps = chunk.timestamps or [None] * len(chunk.values)
        backend = self.backend
        self._finished.now = False
        if backend is None:
            for record in map(StreamRecord, chunk.values, stamps):
                call(record)
        else:
            assert chunk.keys is not None, "a keyed operator was fed from an edge without keys"
            backend.before_chunk(chunk.keys)
            for backend.key, record in zip(chunk.keys, map(StreamRecord, chunk.values, stamps), strict=True):
                call(record)
            backend.after_chunk(len(chunk.values))

    def advance_watermark(self, watermark: int) -> Chunk | None:
        self._forget_key()
        self.operator.process_watermark(Watermark(watermark))
        return self._output.take()

    def advance_processing_time(self, now: int) -> Chunk | None:
        if self._services.timers is not None:
            self._services.timers.advance_processing_time(now)
        return self._output.take()

    def next_processing_timer(self) -> int | None:
        return None if self._services.timers is None else self._services.timers.next_processing_timer()

    def output_watermark(self, watermark: int) -> int:
        return self._output.watermark

    def output_idle(self, idle: bool) -> bool:
        return idle

    def finish(self) -> Chunk | None:
        self._forget_key()
        if self._batch and self._services.timers is not None:
            self._services.timers.exhaust_processing_time()  # a batch waits for no clock, and leaves no timer behind
            self._forget_key()
        if not self._finished.now:
            self._finished.now = True
            self.operator.finish()
        return self._output.take()

    # --- state ---

    def prepare_snapshot(self, checkpoint_id: int, timestamp: int) -> None:
        self._forget_key()
        key_groups = None if self.backend is None else self.backend.key_groups
        self._snapshot = SnapshotContext(checkpoint_id, timestamp, self._services.name, key_groups)
        self.operator.snapshot_state(self._snapshot)

    def snapshot_lists(self) -> dict[str, StoredList]:
        partitions = StoredList.of(DistributionMode.SPLIT, self._snapshot.partitions.written())
        lists = self._services.operator_state.snapshot() | self._finished.lists()
        return lists | {RAW_PARTITIONS: partitions} if len(partitions) else lists

    def snapshot_keyed(self, request: SnapshotRequest) -> KeyedSnapshot:
        if self.backend is None or self._services.timers is None:
            return KeyedSnapshot()
        timers, raw = self._services.timers, self._raw_blocks()
        managed = self.backend.snapshot(request).followed_by(TIMERS, timers.blocks, len(timers), timers.read_back)
        return managed.followed_by(RAW, lambda: iter(raw))

    def _raw_blocks(self) -> list[KeyGroupBlock]:
        written = [] if self._snapshot.keyed is None else self._snapshot.keyed.written()
        return [KeyGroupBlock(RAW_STATE, RAW, key_group, 1, data) for key_group, data in written]

    def keyed_changes(self) -> tuple[int, int]:
        return (0, 0) if self.backend is None else self.backend.changes()

    def read_lists_back(self, lists: dict[str, StoredList]) -> None:
        Finished.read(lists.get(FINISHED))
        self._services.operator_state.read_back(lists)

    def keyed_state_names(self) -> list[str]:
        if self.backend is None or self._services.timers is None:
            return []
        raw = [RAW_STATE] if self._raw_blocks() else []
        return self.backend.state_names() + self._services.timers.names() + raw

    def snapshot_completed(self, checkpoint_id: int) -> None:
        if self.backend is not None:
            self.backend.snapshot_completed(checkpoint_id)

    def notify_complete(self, checkpoint_id: int) -> None:
        self._forget_key()
        self.operator.notify_checkpoint_complete(checkpoint_id)

    def notify_aborted(self, checkpoint_id: int) -> None:
        self._forget_key()
        self.operator.notify_checkpoint_aborted(checkpoint_id)

    def close(self) -> None:
        self._forget_key()
        try:
            self.operator.close()
        finally:
            if self.backend is not None:
                self.backend.close()

    def _forget_key(self) -> None:
        if self.backend is not None:
            self.backend.key = NO_KEY


class _Services(OperatorServices):
    def __init__(self, context: OperatorContext, backend: KeyedStateBackend | None) -> None:
        task = context.task
        self.name = task.name
        self._backend = backend
        self._runtime_context = SlotRuntimeContext(context, backend)
        self._operator_state = OperatorStateBackend(
            task.name, task.uid, task.subtask, task.parallelism, context.restored.lists
        )
        self.timers = None if backend is None else TimerServices(backend, context.slot.clock, context.restored.timers)

    @property
    def runtime_context(self) -> SlotRuntimeContext:
        return self._runtime_context

    @property
    def operator_state(self) -> OperatorStateBackend:
        return self._operator_state

    def keyed_backend(self) -> KeyedStateBackend:
        if self._backend is None:
            raise self._no_key("has keyed state")
        return self._backend

    def partitioned_state(self, descriptor: StateDescriptor, namespace: Any, namespace_type: Any) -> State:
        backend = self.keyed_backend()
        if namespace is None:
            return backend.get_or_create(descriptor)
        return backend.get_or_create_namespaced(descriptor, namespace_serializer(namespace_type)).use(namespace)

    def timer_service(self, name: str, namespace_type: Any, triggerable: Triggerable) -> InternalTimerService:
        if self.timers is None:
            raise self._no_key("has timers")
        return self.timers.get(name, namespace_type, triggerable)

    def fire_event_timers(self, watermark: int) -> None:
        if self.timers is not None:
            self.timers.advance_watermark(watermark)

    def _no_key(self, what: str) -> StateAccessError:
        return StateAccessError(
            f"only an operator on a keyed stream {what}, and the input of operator {self.name!r} has no key: call "
            "key_by(...) before transform"
        )


class _ChunkOutput(Output):
    """Gather what an operator emits until it leaves as a chunk.

    Attributes:
        watermark: The watermark behind the records that have left.
    """

    def __init__(self) -> None:
        self.watermark = MIN_WATERMARK
        self._emitted = MIN_WATERMARK
        self._values: list[Any] = []
        self._timestamps: list[int | None] = []
        self._marks: list[tuple[int, int]] = []  # after so many records, a watermark

    def collect(self, record: StreamRecord[Any]) -> None:
        value = record.value
        self._values.append(value if type(value) in FIXED else unshared(value))
        self._timestamps.append(record.timestamp)

    def collect_to(self, output_tag: OutputTag, record: StreamRecord[Any]) -> None:
        value = record.value
        self._values.append(SideOutput(output_tag.tag_id, value if type(value) in FIXED else unshared(value)))
        self._timestamps.append(record.timestamp)

    def emit_watermark(self, mark: Watermark) -> None:
        timestamp = milliseconds(mark.timestamp, "a watermark")
        if timestamp > self._emitted:
            self._emitted = timestamp
            self._marks.append((len(self._values), timestamp))

    def take(self) -> Chunk | None:
        """Return what was emitted since the last time."""
        values, timestamps = self._values, self._timestamps
        self._values, self._timestamps, self._marks = [], [], []
        self.watermark = self._emitted
        return _emitted(values, timestamps)

    def pieces(self) -> Iterator[Chunk | None]:
        """Yield what was emitted since the last time, cut at the watermarks in between."""
        values, timestamps, marks = self._values, self._timestamps, self._marks
        self._values, self._timestamps, self._marks = [], [], []
        start = 0
        for place, self.watermark in marks:
            yield _emitted(values[start:place], timestamps[start:place])
            start = place
        if start < len(values):
            yield _emitted(values[start:], timestamps[start:])


def _emitted(values: list[Any], timestamps: list[int | None]) -> Chunk | None:
    if not values:
        return None
    if not _TIMES.issuperset(map(type, timestamps)):
        timestamps = [None if time is None else milliseconds(time, "a record's timestamp") for time in timestamps]
    return sorted_out(values, None if timestamps.count(None) == len(timestamps) else timestamps)
