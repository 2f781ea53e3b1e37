"""The interval join: elements of two streams with one key meet when their timestamps are close enough.

Each side keeps its elements in a map from timestamp to the list of those that have it, as keyed state. Of the other
side's map only the part is read that an element can be joined with. When the watermark says that nothing can come any
more for a timestamp, a timer removes its list.
"""

from __future__ import annotations

from typing import Any

from rekindle.contracts.functions import ProcessJoinFunction
from rekindle.contracts.state import MapStateDescriptor
from rekindle.exceptions import InvalidProgramError
from rekindle.graph.transformations.two_inputs import Interval, JoinSide
from rekindle.runtime.at_work import at_record, at_timer
from rekindle.runtime.chunk import Chunk
from rekindle.runtime.operators.keyed import KeyedOperator
from rekindle.runtime.operators.operator import MIN_WATERMARK
from rekindle.runtime.operators.operator_context import OperatorContext
from rekindle.runtime.operators.roles import TwoInputOperator
from rekindle.runtime.operators.side_outputs import SideOutput, emitted, sorted_out
from rekindle.runtime.operators.stateless import append_results
from rekindle.serialization.serializer_of import serializer_of
from rekindle.state.blocks import EVENT_TIMERS
from rekindle.state.state_primitives import RangedMapState
from rekindle.state.timer_store import TimerStore
from rekindle.types.typeinfo import Types

_LEFT, _RIGHT = 0, 1
_BUFFERS = ("_left-buffer", "_right-buffer")
_BUCKET = Types.TUPLE([Types.BYTE(), Types.LONG()])  # the side and the timestamp of a list of elements


class IntervalJoinOperator(KeyedOperator, TwoInputOperator):
    """Run a ProcessJoinFunction over the pairs of two keyed streams."""

    function: ProcessJoinFunction
    _timers: TimerStore
    _buffers: list[RangedMapState]

    def __init__(self, function: ProcessJoinFunction, interval: Interval, left: JoinSide, right: JoinSide) -> None:
        super().__init__(function)
        self.interval = interval
        self.sides = left, right
        self._watermark = MIN_WATERMARK

    def _prepare(self, context: OperatorContext) -> None:
        backend = self.backend
        self._buffers = []
        for name, side in zip(_BUFFERS, self.sides, strict=True):
            elements = Types.PICKLED_BYTE_ARRAY() if side.type_info is None else Types.LIST(side.type_info)
            buffer = backend.get_or_create(MapStateDescriptor(name, Types.LONG(), elements))
            assert isinstance(buffer, RangedMapState)
            self._buffers.append(buffer)
        self._timers = backend.timers(EVENT_TIMERS, serializer_of(_BUCKET))
        self.restore_timers(context.restored.timers)

    def timer_queues(self) -> tuple[TimerStore]:
        return (self._timers,)

    def _process(self, chunk: Chunk) -> Chunk:
        return self._join(chunk, _LEFT)

    def process_second(self, chunk: Chunk) -> Chunk:
        result = self._join(chunk, _RIGHT)
        self.backend.after_chunk(len(chunk.values))
        return result

    @at_timer("due", key="self.backend.key")
    def advance_watermark(self, watermark: int) -> None:
        self._watermark = watermark
        while (due := self._timers.pop_due(watermark)) is not None:
            (self.backend.key, (side, timestamp)), _ = due
            self._buffers[side].remove(timestamp)

    @at_record("value", key="backend.key", timestamp="timestamp")
    def _join(self, chunk: Chunk, side: int) -> Chunk:
        assert chunk.keys is not None, "a keyed operator was fed from an edge without keys"
        backend, watermark, context = self.backend, self._watermark, _PairContext()
        own, other = self._buffers[side], self._buffers[1 - side]
        lower, upper = self.interval.seen_from(side)
        kept_for = max(upper, 0)
        call, register, late_tag = self.function.process_element, self._timers.register, self.sides[side].late_tag
        values: list[Any] = []
        timestamps: list[int | None] = []
        stamps = chunk.timestamps or [None] * len(chunk.values)
        for backend.key, value, timestamp in zip(chunk.keys, chunk.values, stamps, strict=True):
            if timestamp is None or timestamp == MIN_WATERMARK:
                raise _without_timestamp(value)
            if timestamp < watermark:
                if late_tag is not None:
                    values.append(SideOutput(late_tag.tag_id, value))
                    timestamps.append(timestamp)
                continue
            bucket = own.get(timestamp)
            if bucket is None:
                own.put(timestamp, [value])
                register((backend.key, (side, timestamp)), timestamp + kept_for)
            else:
                bucket.append(value)
                own.put(timestamp, bucket)
            for other_timestamp, elements in other.between(timestamp + lower, timestamp + upper):
                later = max(timestamp, other_timestamp)
                if side == _LEFT:
                    context.left, context.right = timestamp, other_timestamp
                    for element in elements:
                        append_results(call(value, element, context), values, later, timestamps, emitted)
                else:
                    context.left, context.right = other_timestamp, timestamp
                    for element in elements:
                        append_results(call(element, value, context), values, later, timestamps, emitted)
        return sorted_out(values, timestamps)


class _PairContext(ProcessJoinFunction.Context):
    """Give the timestamps of a pair."""

    __slots__ = ("left", "right")

    def __init__(self) -> None:
        self.left = self.right = MIN_WATERMARK

    def get_left_timestamp(self) -> int:
        return self.left

    def get_right_timestamp(self) -> int:
        return self.right

    def get_timestamp(self) -> int:
        return max(self.left, self.right)


def _without_timestamp(value: Any) -> InvalidProgramError:
    return InvalidProgramError(
        f"{value!r} arrived at an interval join without a timestamp: elements of both streams need timestamps. Call "
        "assign_timestamps_and_watermarks before key_by"
    )
