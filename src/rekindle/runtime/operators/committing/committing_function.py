"""Runs the two kinds of functions that take part in two-phase commit: each as the writer of a two-phase sink."""

from __future__ import annotations

from rekindle.contracts.connectors import SinkWriterContext
from rekindle.contracts.functions import GenericWriteAheadSink, SinkFunction
from rekindle.graph.transformations.sinks import CommittingFunction
from rekindle.runtime.operators.committing.stored_values import ValueCodec
from rekindle.runtime.operators.committing.transaction_writer import TransactionWriter
from rekindle.runtime.operators.committing.write_ahead_writer import WriteAheadWriter
from rekindle.runtime.operators.operator_context import OperatorContext
from rekindle.runtime.operators.runtime_context import SlotRuntimeContext
from rekindle.runtime.operators.sinks import SinkContext, TwoPhaseOperator
from rekindle.state.state_evolution import StateName
from rekindle.types.type_information import TypeInformation


class CommittingFunctionOperator(TwoPhaseOperator):
    """Commit what a TwoPhaseCommitSinkFunction or a GenericWriteAheadSink writes."""

    _writer: TransactionWriter | WriteAheadWriter
    _context: SinkContext

    def __init__(self, function: CommittingFunction, type_info: TypeInformation | None = None) -> None:
        super().__init__(type_info)
        self.function = function

    def create_writer(
        self, context: OperatorContext, writer_context: SinkWriterContext
    ) -> TransactionWriter | WriteAheadWriter:
        function, task = self.function, context.task
        runtime_context = SlotRuntimeContext(context, None)
        self._context = SinkContext(context.slot.clock)
        function.set_runtime_context(runtime_context)
        function.open(runtime_context)
        operator = (task.name, task.uid)
        if isinstance(function, GenericWriteAheadSink):
            codec = ValueCodec(function.value_type or self.type_info, StateName(*operator, "records to send"))
            return WriteAheadWriter(function, task.subtask, context.job.job_id, task.uid, codec)
        return TransactionWriter(function, task.subtask, context.slot.clock, self._context, operator)

    def prepare_snapshot(self, checkpoint_id: int, timestamp: int) -> None:
        if isinstance(self._writer, WriteAheadWriter):
            self._writer.timestamp = timestamp
        super().prepare_snapshot(checkpoint_id, timestamp)

    def advance_watermark(self, watermark: int) -> None:
        self._context.watermark = watermark
        if isinstance(self.function, SinkFunction):
            self.function.write_watermark(watermark)
