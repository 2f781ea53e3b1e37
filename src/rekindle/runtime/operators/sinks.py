"""Operators at the end of a stream: print, collect, sink functions, two-phase sinks."""

from __future__ import annotations

import pickle
from abc import abstractmethod
from itertools import chain
from typing import Any

import msgspec

from rekindle.base.clock import Clock
from rekindle.contracts.connectors import Sink, SinkWriter, SinkWriterContext
from rekindle.contracts.functions import SinkFunction
from rekindle.formats.collected_form import collected_form
from rekindle.formats.java_format import format_value
from rekindle.runtime.at_work import at_record
from rekindle.runtime.chunk import Chunk
from rekindle.runtime.operators.operator import MIN_WATERMARK, Operator
from rekindle.runtime.operators.operator_context import OperatorContext
from rekindle.runtime.operators.roles import OutputCommitter
from rekindle.runtime.operators.user_function import UserFunctionOperator
from rekindle.runtime.wire.messages import COLLECTED, PRINTED
from rekindle.serialization.encodings.msgpack_serializer import shown
from rekindle.state.operator_state.backend import PENDING_COMMITS
from rekindle.state.operator_state.stored import DistributionMode, StoredList
from rekindle.types.typeinfo import TypeInformation


class PrintOperator(Operator):
    """Show records on the driver's standard output, as PyFlink formats them."""

    _prefix: str

    def __init__(self, identifier: str | None, type_info: TypeInformation | None) -> None:
        self.identifier = identifier
        self.type_info = type_info

    def open(self, context: OperatorContext) -> None:
        subtask = str(context.task.subtask + 1) if context.task.parallelism > 1 else ""
        label = ":".join(part for part in (self.identifier or "", subtask) if part)
        self._prefix = f"{label}> " if label else ""
        self._to_driver = context.to_driver

    @at_record(remaining="remaining")
    def process(self, chunk: Chunk) -> None:
        if chunk.values:
            remaining = iter(chunk.values)
            lines = [f"{self._prefix}{format_value(self.type_info, value)}\n" for value in remaining]
            self._to_driver(PRINTED, "".join(lines).encode("utf-8", "surrogateescape"))


class CollectOperator(Operator):
    """Send records to ``execute_and_collect`` in the driver."""

    def __init__(self, type_info: TypeInformation | None = None) -> None:
        self.type_info = type_info

    def open(self, context: OperatorContext) -> None:
        self._to_driver = context.to_driver
        self._form = None if self.type_info is None else collected_form(self.type_info)

    def process(self, chunk: Chunk) -> None:
        if chunk.values:
            values = chunk.values if self._form is None else list(map(self._form, chunk.values))
            self._to_driver(COLLECTED, pickle.dumps(values, 5))


class SinkFunctionOperator(UserFunctionOperator):
    """Call a SinkFunction for every record."""

    function: SinkFunction
    _context: SinkContext

    def open(self, context: OperatorContext) -> None:
        self._context = SinkContext(context.slot.clock)
        super().open(context)

    @at_record("value", timestamp="context.current_timestamp")
    def process(self, chunk: Chunk) -> None:
        invoke, context = self.function.invoke, self._context
        if chunk.timestamps is None:
            context.current_timestamp = None
            for value in chunk.values:
                invoke(value, context)
        else:
            for value, context.current_timestamp in zip(chunk.values, chunk.timestamps, strict=True):
                invoke(value, context)

    def advance_watermark(self, watermark: int) -> None:
        self._context.watermark = watermark
        self.function.write_watermark(watermark)

    def finish(self) -> None:
        self.function.finish()


class SinkContext(SinkFunction.Context):
    """Give time to a SinkFunction."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.current_timestamp: int | None = None
        self.watermark = MIN_WATERMARK

    def timestamp(self) -> int | None:
        return self.current_timestamp

    def current_watermark(self) -> int:
        return self.watermark

    def current_processing_time(self) -> int:
        return self._clock.now()


class PendingCommit(msgspec.Struct, frozen=True):
    """Keep a committable in the checkpoint, with who prepared it."""

    subtask: int
    checkpoint_id: int
    committable: bytes


class TwoPhaseOperator(OutputCommitter):
    """Commit what a writer wrote when the checkpoint that holds it is complete, and once."""

    _LINEAGE = "lineage"
    _writer: SinkWriter

    def __init__(self, type_info: TypeInformation | None = None) -> None:
        self.type_info = type_info
        self._pending: dict[int, list[bytes]] = {}

    @abstractmethod
    def create_writer(self, context: OperatorContext, writer_context: SinkWriterContext) -> SinkWriter:
        """Create what writes the records of this subtask."""

    def open(self, context: OperatorContext) -> None:
        task, clock = context.task, context.slot.clock
        restored = context.restored.items(self._LINEAGE)
        self._lineage = restored[0].decode() if restored else f"{context.job.job_id}-{task.uid}"
        self._subtask = task.subtask
        place, jobs = (task.subtask, task.parallelism, task.attempt), (context.job.job_id, context.job.successor_of)
        writer_context = SinkWriterContext(*place, self._lineage, clock, self.type_info, *jobs)
        self._writer = self.create_writer(context, writer_context)
        stored = context.restored.lists.get(PENDING_COMMITS)
        own = _pending_commits(stored)
        if stored is not None and stored.mode is DistributionMode.UNION:  # as earlier releases wrote it
            own = [p for p in own if p.subtask % task.parallelism == task.subtask]
        if own:
            self._writer.commit([p.committable for p in sorted(own, key=lambda p: p.checkpoint_id)])
        self._writer.abort_leftovers()

    def process(self, chunk: Chunk) -> None:
        if chunk.values:
            self._writer.write(chunk.values, chunk.timestamps)

    def finish(self) -> None:
        self._writer.end_input()

    def prepare_snapshot(self, checkpoint_id: int, timestamp: int) -> None:
        self._pending[checkpoint_id] = self._writer.prepare_commit(checkpoint_id)

    def snapshot_lists(self) -> dict[str, StoredList]:
        for committable in chain.from_iterable(self._pending.values()):
            if not isinstance(committable, bytes | bytearray):
                raise TypeError(
                    f"prepare_commit of {type(self._writer).__name__} returned {shown(committable)} among its "
                    "committables: they are bytes, which a checkpoint keeps and a restored job commits"
                )
        items = [
            msgspec.msgpack.encode(PendingCommit(self._subtask, number, committable))
            for number, committables in sorted(self._pending.items())
            for committable in committables
        ]
        return {
            self._LINEAGE: StoredList.of(DistributionMode.BROADCAST, [self._lineage.encode()]),
            PENDING_COMMITS: StoredList.of(DistributionMode.OWNER, items),
        }

    def read_lists_back(self, lists: dict[str, StoredList]) -> None:
        _pending_commits(lists.get(PENDING_COMMITS))

    def notify_complete(self, checkpoint_id: int) -> None:
        for number in sorted(number for number in self._pending if number <= checkpoint_id):
            self._writer.commit(self._pending[number])
            del self._pending[number]

    def notify_aborted(self, checkpoint_id: int) -> None:
        """Keep what was prepared for the next checkpoint that completes."""

    def savepoint_completed(self, checkpoint_id: int) -> None:
        for number in sorted(number for number in self._pending if number <= checkpoint_id):
            self._writer.keep(self._pending[number])

    def commit_final(self, version: int) -> None:
        self._writer.end_input()
        last = self._writer.prepare_commit(0)
        for _, committables in sorted(self._pending.items()):  # of savepoints in passing
            self._writer.commit(committables)
        self._pending = {}
        self._writer.commit(last)

    def close(self) -> None:
        self._writer.close()


class TwoPhaseSinkOperator(TwoPhaseOperator):
    """Commit what the writers of a sink write."""

    def __init__(self, sink: Sink, type_info: TypeInformation | None = None) -> None:
        super().__init__(type_info)
        self.sink = sink

    def create_writer(self, context: OperatorContext, writer_context: SinkWriterContext) -> SinkWriter:
        return self.sink.create_writer(writer_context)


def _pending_commits(stored: StoredList | None) -> list[PendingCommit]:
    return [] if stored is None else [msgspec.msgpack.decode(item, type=PendingCommit) for item in stored.items]


def unpickle_collected(data: bytes) -> list[Any]:
    """Decode what a CollectOperator sent."""
    records: list[Any] = pickle.loads(data)
    return records
