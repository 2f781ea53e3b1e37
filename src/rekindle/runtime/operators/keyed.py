"""Operators on keyed streams: functions with keyed state and timers.

``KeyedProcessOperator._each`` is the loop that the product is about: per record it sets the key, calls the user's
function and strings the results together. With one ValueState read and written that takes twice the time of a bare loop
over a dict with the same logic.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator
from itertools import compress
from sys import getrefcount
from typing import Any

from rekindle.base.clock import Clock
from rekindle.contracts.functions import KeyedProcessFunction, ReduceFunction
from rekindle.contracts.state import ValueState, ValueStateDescriptor
from rekindle.contracts.time.time_domain import TimeDomain
from rekindle.contracts.time.timer_service import TimerService
from rekindle.runtime.at_work import at_record, at_timer
from rekindle.runtime.chunk import Chunk
from rekindle.runtime.operators.operator import MIN_WATERMARK
from rekindle.runtime.operators.operator_context import OperatorContext
from rekindle.runtime.operators.result_copies import FIXED, unshared
from rekindle.runtime.operators.roles import ColumnOperator, KeyedStateOwner, ProcessingTimeOperator
from rekindle.runtime.operators.side_outputs import emitted, sorted_out
from rekindle.runtime.operators.stateless import NOT_RESULTS, append_results, refused_results
from rekindle.runtime.operators.user_function import UserFunctionOperator
from rekindle.state.blocks import EVENT_TIMERS, PROCESSING_TIMERS, TIMERS, KeyGroupBlock
from rekindle.state.keyed_backend import NO_KEY, KeyedStateBackend
from rekindle.state.many_keys import ManyKeys
from rekindle.state.snapshots import KeyedSnapshot, SnapshotRequest
from rekindle.state.timer_store import TimerStore
from rekindle.types.type_information import TypeInformation

REDUCED = "_reduce"
"""The state that holds the reduction of a key."""


class KeyedOperator(UserFunctionOperator, KeyedStateOwner):
    """Keep the keyed state of a user function."""

    backend: KeyedStateBackend

    second_input_is_broadcast = False
    """Whether the records of the second input have no key, and are seen by all subtasks."""

    def minds_other_keys(self) -> bool:
        """Return whether it makes a difference if records of other keys come before the last timer of a key."""
        return True

    def timer_queues(self) -> tuple[TimerStore, ...]:
        """Return the operator's timers, once open: those in event time, then those in processing time."""
        return ()

    def timer_count(self) -> int:
        """Count the timers."""
        return sum(map(len, self.timer_queues()))

    def open(self, context: OperatorContext) -> None:
        self.backend = context.keyed_backend()
        self._prepare(context)
        self._open_function(context, self.backend)

    def _prepare(self, context: OperatorContext) -> None:
        """Set up what the operator itself keeps, before the function is opened."""

    def restore_timers(self, restored: Iterable[KeyGroupBlock]) -> None:
        """Take over timers, besides those that are there; once open."""
        restored = list(restored)
        for queue in self.timer_queues():
            own = (block for block in restored if block.state == queue.name)
            queue.restore_blocks(own, self.backend.max_parallelism)

    def process(self, chunk: Chunk) -> Chunk:
        self._announce(chunk)
        result = self._process(chunk)
        self.backend.after_chunk(chunk.size())
        return result

    def _announce(self, chunk: Chunk) -> None:
        """Tell the backend which keys come next."""
        self.backend.before_chunk(_keys(chunk))

    @abstractmethod
    def _process(self, chunk: Chunk) -> Chunk:
        """Process records with keys."""

    def prepare_snapshot(self, checkpoint_id: int, timestamp: int) -> None:
        self.backend.key = NO_KEY  # that of the last record is of no concern to the function now
        super().prepare_snapshot(checkpoint_id, timestamp)

    def snapshot_keyed(self, request: SnapshotRequest) -> KeyedSnapshot:
        taken = self.backend.snapshot(request)
        return taken.followed_by(TIMERS, self._timer_blocks, self.timer_count(), self._read_timers_back)

    def _timer_blocks(self) -> Iterator[KeyGroupBlock]:
        for queue in self.timer_queues():
            yield from queue.snapshot_blocks(self.backend.max_parallelism)

    def _read_timers_back(self, block: KeyGroupBlock) -> None:
        for queue in self.timer_queues():
            if queue.name == block.state:
                queue.read_back(block, self.backend.max_parallelism)

    def keyed_state_names(self) -> list[str]:
        return self.backend.state_names() + [queue.name for queue in self.timer_queues() if queue.may_hold_any()]

    def keyed_changes(self) -> tuple[int, int]:
        return self.backend.changes()

    def snapshot_completed(self, checkpoint_id: int) -> None:
        self.backend.snapshot_completed(checkpoint_id)

    def notify_complete(self, checkpoint_id: int) -> None:
        self.backend.key = NO_KEY
        super().notify_complete(checkpoint_id)

    def notify_aborted(self, checkpoint_id: int) -> None:
        self.backend.key = NO_KEY
        super().notify_aborted(checkpoint_id)

    def close(self) -> None:
        self.backend.key = NO_KEY
        try:
            super().close()
        finally:
            self.backend.close()


class KeyedMapOperator(KeyedOperator):
    """Turn each record into one, with keyed state."""

    def minds_other_keys(self) -> bool:
        return False

    @at_record("value", key="backend.key")
    def _process(self, chunk: Chunk) -> Chunk:
        call, backend = self.function.map, self.backend  # type: ignore[attr-defined]
        values: list[Any] = []
        append = values.append
        for backend.key, value in zip(_keys(chunk), chunk.each(), strict=True):
            result = call(value)
            append(result if type(result) in FIXED else unshared(result))
        return Chunk(values, chunk.timestamps)


class KeyedFilterOperator(KeyedOperator):
    """Keep the records for which the function says yes, with keyed state."""

    def minds_other_keys(self) -> bool:
        return False

    @at_record("value", key="backend.key")
    def _process(self, chunk: Chunk) -> Chunk:
        call, backend = self.function.filter, self.backend  # type: ignore[attr-defined]
        kept: list[bool] = []
        values: list[Any] = []
        for backend.key, value in zip(_keys(chunk), chunk.each(), strict=True):
            references = getrefcount(value)
            passes = bool(call(value))
            kept.append(passes)
            if passes:  # what is in state now may be changed there before the chunk is sent
                values.append(value if getrefcount(value) == references else unshared(value))
        return Chunk(values, None if chunk.timestamps is None else list(compress(chunk.timestamps, kept)))


class KeyedFlatMapOperator(KeyedOperator):
    """Turn each record into any number, with keyed state."""

    def minds_other_keys(self) -> bool:
        return False

    @at_record("value", key="backend.key", timestamp="timestamp")
    def _process(self, chunk: Chunk) -> Chunk:
        call, backend = self.function.flat_map, self.backend  # type: ignore[attr-defined]
        values: list[Any] = []
        timestamps: list[int | None] | None = None if chunk.timestamps is None else []
        stamps = chunk.timestamps or [None] * chunk.size()
        for backend.key, value, timestamp in zip(_keys(chunk), chunk.each(), stamps, strict=True):
            append_results(call(value), values, timestamp, timestamps)
        return Chunk(values, timestamps)


class ReduceOperator(KeyedOperator, ColumnOperator):
    """Keep the running reduction of each key and emit it with every record."""

    function: ReduceFunction
    _state: ValueState[Any]

    def __init__(self, function: ReduceFunction, type_info: TypeInformation | None = None) -> None:
        super().__init__(function)
        self.type_info = type_info

    def _prepare(self, context: OperatorContext) -> None:
        descriptor: ValueStateDescriptor = ValueStateDescriptor(REDUCED, self.type_info)
        self._state = self.backend.get_or_create(descriptor)  # type: ignore[assignment]
        self._many = ManyKeys(self.backend, self._state)

    def process_columns(self, chunk: Chunk) -> Chunk | None:
        from rekindle.runtime.operators.column_folds import reduced  # a job without columns needs none of it

        assert self.columns is not None
        result = reduced(self.columns.fold, chunk, self._many)
        if result is not None:
            self.backend.after_chunk(chunk.size())
        return result

    @at_record("value", key="backend.key")
    def _process(self, chunk: Chunk) -> Chunk:
        reduce, backend, state = self.function.reduce, self.backend, self._state
        check_samples(self.function, chunk)
        values: list[Any] = []
        append = values.append
        for backend.key, value in zip(_keys(chunk), chunk.each(), strict=True):
            current = state.value()
            if current is not None:
                value = reduce(current, value)
            state.update(value)
            append(value if type(value) in FIXED else unshared(value))
        return Chunk(values, chunk.timestamps)


class KeyedProcessOperator(KeyedOperator, ProcessingTimeOperator):
    """Run a KeyedProcessFunction."""

    function: KeyedProcessFunction
    _context: KeyedContext

    def minds_other_keys(self) -> bool:
        return type(self.function).on_timer is not KeyedProcessFunction.on_timer

    def timer_queues(self) -> tuple[TimerStore, TimerStore]:
        return self._context.event_timers, self._context.processing_timers

    def _prepare(self, context: OperatorContext) -> None:
        self._context = self._new_context(context)
        self.restore_timers(context.restored.timers)

    def _new_context(self, context: OperatorContext) -> KeyedContext:
        return KeyedContext(context.slot.clock, self.backend)

    def _process(self, chunk: Chunk) -> Chunk:
        return self._each(self.function.process_element, chunk)

    @at_record("value", key="backend.key", timestamp="context.current_timestamp")
    def _each(self, call: Callable[[Any, Any], Any], chunk: Chunk) -> Chunk:
        """Call a method of the function for each record, and string the results together."""
        backend, context = self.backend, self._context
        values: list[Any] = []
        append = values.append
        if chunk.timestamps is None:
            context.current_timestamp = None
            for backend.key, value in zip(_keys(chunk), chunk.each(), strict=True):
                results = call(value, context)
                if type(results) not in NOT_RESULTS:
                    for result in results:
                        append(result if type(result) in FIXED else emitted(result))
                elif results is not None:
                    raise refused_results(results)
            return sorted_out(values)
        timestamps: list[int | None] = []
        stamp = timestamps.append
        for backend.key, value, timestamp in zip(_keys(chunk), chunk.each(), chunk.timestamps, strict=True):
            context.current_timestamp = timestamp
            results = call(value, context)
            if type(results) not in NOT_RESULTS:
                for result in results:
                    append(result if type(result) in FIXED else emitted(result))
                    stamp(timestamp)
            elif results is not None:
                raise refused_results(results)
        return sorted_out(values, timestamps)

    def advance_watermark(self, watermark: int) -> Chunk | None:
        self._context.watermark = watermark
        return self._fire(self._context.event_timers, watermark, TimeDomain.EVENT_TIME)

    def advance_processing_time(self, now: int) -> Chunk | None:
        return self._fire(self._context.processing_timers, now, TimeDomain.PROCESSING_TIME)

    def next_processing_timer(self) -> int | None:
        return self._context.processing_timers.next_timestamp()

    @at_timer("due", key="self.backend.key", queue="queue.name")
    def _fire(self, queue: TimerStore, until: int, domain: TimeDomain) -> Chunk | None:
        values: list[Any] = []
        timestamps: list[int | None] = []
        context = self._context
        while (due := queue.pop_due(until)) is not None:
            self.backend.key, timestamp = due
            context.current_timestamp = timestamp
            context.domain = domain
            append_results(self.function.on_timer(timestamp, context), values, timestamp, timestamps, emitted)
        return sorted_out(values, timestamps) if values else None


class KeyedContext(KeyedProcessFunction.OnTimerContext, TimerService):
    """Give key, time and timers to a KeyedProcessFunction."""

    def __init__(self, clock: Clock, backend: KeyedStateBackend) -> None:
        self._clock = clock
        self._backend = backend
        self.event_timers = backend.timers(EVENT_TIMERS)
        self.processing_timers = backend.timers(PROCESSING_TIMERS)
        self.current_timestamp: int | None = None
        self.watermark = MIN_WATERMARK
        self.domain = TimeDomain.EVENT_TIME

    def get_current_key(self) -> Any:
        return self._backend.key

    def timer_service(self) -> TimerService:
        return self

    def timestamp(self) -> int | None:
        return self.current_timestamp

    def time_domain(self) -> TimeDomain:
        return self.domain

    def current_processing_time(self) -> int:
        return self._clock.now()

    def current_watermark(self) -> int:
        return self.watermark

    def register_processing_time_timer(self, timestamp: int) -> None:
        self.processing_timers.register(self._backend.key, timestamp)

    def register_event_time_timer(self, timestamp: int) -> None:
        self.event_timers.register(self._backend.key, timestamp)

    def delete_processing_time_timer(self, timestamp: int) -> None:
        self.processing_timers.delete(self._backend.key, timestamp)

    def delete_event_time_timer(self, timestamp: int) -> None:
        self.event_timers.delete(self._backend.key, timestamp)


def check_samples(function: Any, chunk: Chunk) -> None:
    """Show some records of a chunk to a reduction that knows which field it needs, before it is given any.

    Without that a field that is missing would come to light only where a key has its second record.
    """
    check = getattr(function, "check_record", None)
    if check is not None:
        for record in chunk.samples():
            check(record)


def _keys(chunk: Chunk) -> list[Any]:
    assert chunk.keys is not None, "a keyed operator was fed from an edge without keys"
    return chunk.keys
