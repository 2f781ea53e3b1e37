"""The operator that runs an AsyncFunction: elements wait for their results without holding up the stream.

Elements without results are operator state: they are started again after a restore, before any new ones.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from rekindle.contracts.functions.async_functions import AsyncFunctionDescriptor
from rekindle.contracts.state import StateDescriptor
from rekindle.exceptions import StateAccessError
from rekindle.runtime.chunk import Chunk
from rekindle.runtime.operators.async_io.async_queue import Element
from rekindle.runtime.operators.async_io.async_requests import AsyncRequests
from rekindle.runtime.operators.event_loop import EventLoopThread
from rekindle.runtime.operators.operator_context import OperatorContext
from rekindle.runtime.operators.roles import BackgroundWork, ProcessingTimeOperator, WatermarkEmitter
from rekindle.runtime.operators.runtime_context import SlotRuntimeContext
from rekindle.runtime.operators.user_function import UserFunctionOperator
from rekindle.serialization.encodings.pickle_serializer import PickleSerializer
from rekindle.serialization.serializer_of import serializer_of
from rekindle.state.keyed_backend import KeyedStateBackend
from rekindle.state.operator_state.encoding import EvolvingSerializer
from rekindle.state.operator_state.stored import DistributionMode, StoredList
from rekindle.state.read_back import reading_back
from rekindle.state.state_evolution import StateName
from rekindle.types.type_information import TypeInformation

ELEMENTS = "_async-elements"
"""The list state in which elements without results are kept."""

_HEADER = struct.Struct(">?qI")  # whether it has a timestamp, the timestamp, the attempt; the element follows


class AsyncWaitOperator(UserFunctionOperator, ProcessingTimeOperator, WatermarkEmitter, BackgroundWork):
    """Run an AsyncFunction."""

    _requests: AsyncRequests
    _loop_thread: EventLoopThread
    _serializer: EvolvingSerializer

    def __init__(self, descriptor: AsyncFunctionDescriptor, element_type: TypeInformation | None = None) -> None:
        """Describe the operator.

        Args:
            descriptor: The function, and how it is called.
            element_type: The type by which elements are kept in a snapshot; None: pickled.
        """
        super().__init__(descriptor.async_function)
        self._descriptor = descriptor
        self._element_type = element_type

    def open(self, context: OperatorContext) -> None:
        self._name = StateName(context.task.name, context.task.uid, ELEMENTS)
        serializer = PickleSerializer() if self._element_type is None else serializer_of(self._element_type)
        self._serializer = EvolvingSerializer(serializer, self._name)
        lists = dict(context.restored.lists)
        restored = list(self._decoded(lists.pop(ELEMENTS, None)))
        super().open(replace(context, restored=replace(context.restored, lists=lists)))
        self._loop_thread = context.slot.event_loop
        loop = self._loop_thread.acquire()
        clock = context.slot.steady or context.slot.clock
        self._requests = AsyncRequests(self._descriptor, clock, loop, context.slot.request_epoch)
        if restored:
            self._requests.restart(restored)

    def _runtime_context(self, context: OperatorContext, keyed: KeyedStateBackend | None) -> SlotRuntimeContext:
        return _AsyncRuntimeContext(context, keyed)

    def process(self, chunk: Chunk) -> Chunk | None:
        if chunk.timestamps is None:
            elements = [Element(value, None) for value in chunk.values]
        else:
            elements = list(map(Element, chunk.values, chunk.timestamps))
        return _results(self._requests.submit(elements))

    def pieces(self, chunk: Chunk, side: int = 0) -> Iterator[Chunk | None]:
        return iter((self.process(chunk),))

    def advance_watermark(self, watermark: int) -> Chunk | None:
        return _results(self._requests.advance(watermark))

    def advance_processing_time(self, now: int) -> Chunk | None:
        return _results(self._requests.collect())

    def next_processing_timer(self) -> None:
        """Need no timer: results ask for an epoch when they come."""

    def finish(self) -> Chunk | None:
        return _results(self._requests.finish())

    def has_more(self) -> bool:
        return self._requests.has_news()

    def under_way(self) -> bool:
        return bool(self._requests.queue.pending)

    def output_watermark(self, watermark: int) -> int:
        return self._requests.watermark

    def output_idle(self, idle: bool) -> bool:
        return idle and not self.under_way()

    def snapshot_lists(self) -> dict[str, StoredList]:
        elements = self._requests.pending()
        return super().snapshot_lists() | {ELEMENTS: self._encoded(elements)}

    def read_lists_back(self, lists: dict[str, StoredList]) -> None:
        super().read_lists_back(lists)
        with reading_back(self._name):
            list(self._decoded(lists.get(ELEMENTS)))

    def close(self) -> None:
        if hasattr(self, "_requests"):
            self._requests.close()
            self._loop_thread.release()
        super().close()

    def _encoded(self, elements: list[Element]) -> StoredList:
        if not elements:
            return StoredList(DistributionMode.SPLIT)
        values = self._serializer.encode(element.value for element in elements)
        items = [
            _HEADER.pack(element.timestamp is not None, element.timestamp or 0, element.attempt) + value
            for element, value in zip(elements, values, strict=True)
        ]
        return StoredList.of(DistributionMode.SPLIT, items, (self._serializer.stored(),))

    def _decoded(self, stored: StoredList | None) -> Iterator[Element]:
        for part in () if stored is None else stored.parts:
            (written_by,) = part.serializers
            values = self._serializer.decode((item[_HEADER.size :] for item in part.items), written_by)
            for item, value in zip(part.items, values, strict=True):
                stamped, timestamp, attempt = _HEADER.unpack_from(item)
                yield Element(value, timestamp if stamped else None, attempt)


class _AsyncRuntimeContext(SlotRuntimeContext):
    """Refuse keyed state: results come in any order, and in a thread of their own."""

    def _keyed(self, descriptor: Any, wanted: type[StateDescriptor]) -> Any:
        raise StateAccessError(
            f"an AsyncFunction has no keyed state, and {self.get_task_name()!r} asked for state "
            f"{descriptor.get_name()!r}: use it in a function before or after the asynchronous one"
        )


def _results(elements: list[Element]) -> Chunk | None:
    """String the results of elements together; each has the timestamp of its element."""
    if not elements:
        return None
    values: list[Any] = []
    timestamps: list[int | None] = []
    for element in elements:
        results = element.results
        values += results
        timestamps += [element.timestamp] * len(results)
    return Chunk(values, None if timestamps.count(None) == len(timestamps) else timestamps)
