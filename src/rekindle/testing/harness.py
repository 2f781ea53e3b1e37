"""Runs one operator, or one user function, in the test's own process: no Spark, no slots, no waiting.

harness = OperatorHarness.keyed(CountPerUser(), key_selector=lambda event: event.user)
assert harness.process(first, second) == [("ada", 1), ("ada", 2)]

again = OperatorHarness.keyed(CountPerUser(), lambda event: event.user, restored=[harness.snapshot()])
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from rekindle.checkpoint.metadata import ListStateMetadata
from rekindle.checkpoint.redistribution import deal_out
from rekindle.contracts.functions import (
    BroadcastProcessFunction,
    CoFlatMapFunction,
    CoMapFunction,
    CoProcessFunction,
    FilterFunction,
    FlatMapFunction,
    Function,
    GenericWriteAheadSink,
    KeyedBroadcastProcessFunction,
    KeyedCoProcessFunction,
    KeyedProcessFunction,
    MapFunction,
    ProcessFunction,
    ReduceFunction,
    SinkFunction,
    TwoPhaseCommitSinkFunction,
)
from rekindle.contracts.functions.function_adapters import as_key_selector
from rekindle.contracts.key_groups import check_parallelism, key_group_range
from rekindle.contracts.state import MapStateDescriptor
from rekindle.datastream.operators import AbstractStreamOperator, OneInputStreamOperator, TwoInputStreamOperator
from rekindle.graph.transformations.one_input import CustomTransformation, one_input, two_input
from rekindle.metrics.slot_metrics import MetricRegistry
from rekindle.runtime.chunk import Chunk
from rekindle.runtime.operators.broadcast import BroadcastOperator, KeyedBroadcastOperator
from rekindle.runtime.operators.committing.committing_function import CommittingFunctionOperator
from rekindle.runtime.operators.custom.custom_operator import CustomOperator
from rekindle.runtime.operators.event_loop import EventLoopThread
from rekindle.runtime.operators.keyed import (
    KeyedFilterOperator,
    KeyedFlatMapOperator,
    KeyedMapOperator,
    KeyedProcessOperator,
    ReduceOperator,
)
from rekindle.runtime.operators.operator import MAX_WATERMARK, Operator
from rekindle.runtime.operators.operator_context import JobInfo, OperatorContext, SlotServices, TaskInfo
from rekindle.runtime.operators.restored_operator_state import RestoredOperatorState
from rekindle.runtime.operators.roles import (
    CheckpointObserver,
    InputGatherer,
    KeyedStateOwner,
    OperatorStateOwner,
    ProcessingTimeOperator,
    TwoInputOperator,
)
from rekindle.runtime.operators.sinks import SinkFunctionOperator
from rekindle.runtime.operators.stateless import FilterOperator, FlatMapOperator, MapOperator, ProcessOperator
from rekindle.runtime.operators.two_input import CoOperator, KeyedCoOperator
from rekindle.state.blocks import RAW, TIMERS, KeyGroupBlock
from rekindle.state.keyed_backend import KeyedStateBackend
from rekindle.state.operator_state.stored import StoredList
from rekindle.state.snapshots import SnapshotRequest
from rekindle.state.state_owner import StateOwner
from rekindle.testing.backends import BackendUnderTest
from rekindle.testing.clock import ManualClock
from rekindle.testing.in_process.flink_heap import flink_timers

__all__ = ["HarnessSnapshot", "OperatorHarness"]


@dataclass(frozen=True, slots=True)
class HarnessSnapshot:
    """Hold the state of one subtask as it was at a barrier."""

    blocks: tuple[KeyGroupBlock, ...]
    lists: dict[str, StoredList]
    timers: tuple[KeyGroupBlock, ...] = ()
    raw: tuple[tuple[int, bytes], ...] = ()
    checkpoint_id: int = 1


class OperatorHarness:
    """Run one subtask of an operator.

    Attributes:
        operator: The operator, opened.
        clock: The processing time; move it with :meth:`advance_processing_time`, which also fires timers.
        output: All records emitted so far.
        side_outputs: All records of side outputs emitted so far, by the ids of their tags.
        sent: What the operator sent to the driver, as (channel, bytes).
    """

    def __init__(
        self,
        operator: Operator,
        key_selector: Callable[[Any], Any] | Any | None = None,
        second_key_selector: Callable[[Any], Any] | Any | None = None,
        *,
        name: str = "operator",
        subtask: int = 0,
        parallelism: int = 1,
        max_parallelism: int = 128,
        clock: ManualClock | None = None,
        attempt: int = 0,
        job_parameters: dict[str, str] | None = None,
        job_id: str = "harness",
        restored: Sequence[HarnessSnapshot] | None = None,
        state_backend: BackendUnderTest | None = None,
    ) -> None:
        """Open the operator.

        Args:
            operator: The operator; one instance for each harness.
            key_selector: Gives the key of a record, for an operator on a keyed stream.
            second_key_selector: Gives the key of a record of the second input, for an operator on two keyed streams.
            name: The operator's name.
            subtask: Which subtask this is.
            parallelism: How many subtasks there are.
            max_parallelism: The number of key groups.
            clock: Tells the processing time; a new ManualClock at 0 if None.
            attempt: How often the job was restarted before.
            job_parameters: The global job parameters.
            job_id: The job's id.
            restored: The snapshots of all old subtasks, in their order; their number is the old parallelism.
            state_backend: Makes the backend of keyed state; the heap's if None. Close it after the harness.
        """
        check_parallelism(parallelism, max_parallelism)
        self.operator = operator
        self.clock = clock or ManualClock()
        self.output: list[Any] = []
        self.side_outputs: dict[str, list[Any]] = {}
        self.sent: list[tuple[str, bytes]] = []
        self._metrics = MetricRegistry(self.clock)
        self._key = None if key_selector is None else as_key_selector(key_selector)
        self._second_key = None if second_key_selector is None else as_key_selector(second_key_selector)
        own = key_group_range(subtask, parallelism, max_parallelism)
        snapshots = restored or ()

        def restored_backend(*, on_heap: bool = False) -> KeyedStateBackend:
            made = BackendUnderTest("heap") if on_heap or state_backend is None else state_backend
            backend = made.create(own, max_parallelism, self.clock.now, StateOwner(name, timer_heap=flink_timers))
            backend.restore_blocks(b for snapshot in snapshots for b in snapshot.blocks if b.key_group in own)
            return backend

        state = RestoredOperatorState()
        if restored is not None:
            state = RestoredOperatorState(
                next((snapshot.checkpoint_id for snapshot in restored), 1),
                True,
                [b for snapshot in restored for b in snapshot.timers if b.key_group in own],
                [raw for snapshot in restored for raw in snapshot.raw if raw[0] in own],
                _dealt(restored, parallelism, subtask),
            )
        operator.open(
            OperatorContext(
                task=TaskInfo(name, name, subtask, parallelism, max_parallelism, attempt),
                job_parameters=job_parameters or {},
                metrics=self._metrics.group(name, name, subtask),
                job=JobInfo(job_id, checkpointing=True),
                slot=SlotServices(self.clock, EventLoopThread(), lambda: None, _fresh_directory),
                keyed_backend=restored_backend,
                to_driver=lambda channel, data: self.sent.append((channel, data)),
                restored=state,
            )
        )

    @classmethod
    def keyed(
        cls,
        function: Function | AbstractStreamOperator,
        key_selector: Callable[[Any], Any] | Any,
        *more: Any,
        **settings: Any,
    ) -> OperatorHarness:
        """Run a function as it would run on a keyed stream.

        Args:
            function: The function, or an operator of your own.
            key_selector: Gives the key of a record.
            more: What a function with two inputs needs besides: the key selector of the second one, or the descriptors
                of the broadcast states.
            settings: Those of ``OperatorHarness``.
        """
        if isinstance(function, KeyedBroadcastProcessFunction):
            return cls(KeyedBroadcastOperator(function, more), key_selector, **settings)
        return cls(_keyed_operator(function), key_selector, *more, **settings)

    @classmethod
    def unkeyed(
        cls, function: Function | AbstractStreamOperator, *descriptors: MapStateDescriptor, **settings: Any
    ) -> OperatorHarness:
        """Run a function, or an operator of your own, as it would run on a stream without a key.

        Args:
            function: The function or operator.
            descriptors: Those of the broadcast states.
            settings: Those of ``OperatorHarness``.
        """
        if isinstance(function, BroadcastProcessFunction):
            return cls(BroadcastOperator(function, descriptors), **settings)
        return cls(unkeyed_operator(function), **settings)

    def process(self, *values: Any, timestamps: Sequence[int | None] | None = None) -> list[Any]:
        """Process records; return what they led to."""
        return self._emitted(self.operator.process(_chunk(values, timestamps, self._key)))

    def process_second(self, *values: Any, timestamps: Sequence[int | None] | None = None) -> list[Any]:
        """Process records of the second input, or broadcast ones; return what they led to."""
        operator = self.operator
        assert isinstance(operator, TwoInputOperator), f"{type(operator).__name__} has only one input"
        return self._emitted(operator.process_second(_chunk(values, timestamps, self._second_key)))

    def advance_watermark(self, watermark: int) -> list[Any]:
        """Let event time go on, firing timers; return what they led to."""
        return self._emitted(self.operator.advance_watermark(watermark))

    def advance_processing_time(self, now: int) -> list[Any]:
        """Set the clock, firing timers; return what they led to."""
        self.clock.set(now)
        operator = self.operator
        return self._emitted(
            operator.advance_processing_time(now) if isinstance(operator, ProcessingTimeOperator) else None
        )

    def finish(self) -> list[Any]:
        """End the input as a bounded stream ends: with the last watermark."""
        operator = self.operator
        chunks = operator.held_back() if isinstance(operator, InputGatherer) else ()
        held_back = [value for chunk in chunks for value in self._emitted(chunk)]
        return held_back + self.advance_watermark(MAX_WATERMARK) + self._emitted(operator.finish())

    def snapshot(self, checkpoint_id: int = 1) -> HarnessSnapshot:
        """Take a snapshot, from which another harness can be opened."""
        operator = self.operator
        lists: dict[str, StoredList] = {}
        blocks: list[KeyGroupBlock] = []
        if isinstance(operator, OperatorStateOwner):
            operator.prepare_snapshot(checkpoint_id, self.clock.now())
            lists = operator.snapshot_lists()
        if isinstance(operator, KeyedStateOwner):
            keyed = operator.snapshot_keyed(SnapshotRequest(checkpoint_id, canonical=True))
            try:
                blocks = list(keyed.blocks())
                keyed.settle()
                blocks += () if keyed.exported is None else keyed.exported()
            finally:
                keyed.release()
        return HarnessSnapshot(
            tuple(block for block in blocks if block.kind not in (TIMERS, RAW)),
            lists,
            tuple(block for block in blocks if block.kind == TIMERS),
            tuple((block.key_group, block.data) for block in blocks if block.kind == RAW),
            checkpoint_id,
        )

    def complete(self, checkpoint_id: int = 1) -> None:
        """Say that a checkpoint is complete."""
        if isinstance(self.operator, CheckpointObserver):
            self.operator.notify_complete(checkpoint_id)

    def abort(self, checkpoint_id: int = 1) -> None:
        """Say that a checkpoint will never complete."""
        if isinstance(self.operator, CheckpointObserver):
            self.operator.notify_aborted(checkpoint_id)

    def metrics(self) -> dict[str, dict[str, Any]]:
        """Read what the function counts and measures, by the names of groups and metric with dots between them."""
        return {".".join((*metric.groups, metric.name)): metric.values for metric in self._metrics.values()}

    def close(self) -> None:
        """Close the operator."""
        self.operator.close()

    def _emitted(self, chunk: Chunk | None) -> list[Any]:
        if chunk is None:
            return []
        for tag_id, part in (chunk.side or {}).items():
            self.side_outputs.setdefault(tag_id, []).extend(part.values)
        self.output += chunk.values
        return chunk.values


def _fresh_directory(purpose: str) -> str:
    return tempfile.mkdtemp(prefix=f"rekindle-{purpose}-")


def _chunk(values: Sequence[Any], timestamps: Sequence[int | None] | None, key: Callable[[Any], Any] | None) -> Chunk:
    stamps = None if timestamps is None else list(timestamps)
    return Chunk(list(values), stamps, None if key is None else [key(value) for value in values])


def _dealt(restored: Sequence[HarnessSnapshot], parallelism: int, subtask: int) -> dict[str, StoredList]:
    """Deal the list states out as a restored job does."""
    states: dict[str, ListStateMetadata] = {}
    for name in sorted({name for snapshot in restored for name in snapshot.lists}):
        counts = [len(snapshot.lists.get(name, ())) for snapshot in restored]
        mode = next(snapshot.lists[name].mode for snapshot in restored if name in snapshot.lists)
        states[name] = ListStateMetadata(mode, counts)
    return {
        name: StoredList.joined(
            states[name].mode,
            (part for s in shares for part in restored[s.old_subtask].lists[name].cut(s.start, s.stop)),
        )
        for name, shares in deal_out(states, parallelism, subtask).items()
    }


def _custom(transformation: CustomTransformation) -> Operator:
    return CustomOperator(transformation.operator, transformation.keyed, transformation.inputs)


def _keyed_operator(function: Function | AbstractStreamOperator) -> Operator:
    match function:
        case OneInputStreamOperator():
            return _custom(one_input(function, keyed=True))
        case TwoInputStreamOperator():
            return _custom(two_input(function, keyed=True))
        case KeyedProcessFunction():
            return KeyedProcessOperator(function)
        case MapFunction():
            return KeyedMapOperator(function)
        case FlatMapFunction():
            return KeyedFlatMapOperator(function)
        case FilterFunction():
            return KeyedFilterOperator(function)
        case ReduceFunction():
            return ReduceOperator(function)
        case CoMapFunction() | CoFlatMapFunction() | CoProcessFunction() | KeyedCoProcessFunction():
            return KeyedCoOperator(function)
    raise TypeError(f"{type(function).__name__} is not a function of a keyed stream")


def unkeyed_operator(function: Function | AbstractStreamOperator) -> Operator:
    """Return the operator that runs a function on a stream without a key."""
    match function:
        case OneInputStreamOperator():
            return _custom(one_input(function, keyed=False))
        case TwoInputStreamOperator():
            return _custom(two_input(function, keyed=False))
        case ProcessFunction():
            return ProcessOperator(function)
        case MapFunction():
            return MapOperator(function)
        case FlatMapFunction():
            return FlatMapOperator(function)
        case FilterFunction():
            return FilterOperator(function)
        case TwoPhaseCommitSinkFunction() | GenericWriteAheadSink():
            return CommittingFunctionOperator(function)
        case SinkFunction():
            return SinkFunctionOperator(function)
        case CoMapFunction() | CoFlatMapFunction() | CoProcessFunction():
            return CoOperator(function)
    raise TypeError(f"{type(function).__name__} is not a function of a stream without a key")
