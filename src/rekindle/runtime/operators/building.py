"""Builds operators in a slot, out of what the program says of them."""

from __future__ import annotations

from dataclasses import fields
from importlib import import_module

from rekindle.graph.transformations.loops import LoopTransformation
from rekindle.graph.transformations.sources import ConnectorSourceTransformation
from rekindle.graph.transformations.transformation import Transformation
from rekindle.runtime.operators.event_time import EventTime
from rekindle.runtime.operators.loop_operators import FeedbackLoop
from rekindle.runtime.operators.operator import Operator
from rekindle.runtime.operators.slot_source import SlotSource

_OPERATORS = {
    "async_io.async_wait": ("AsyncWaitOperator",),
    "broadcast": ("BroadcastOperator", "KeyedBroadcastOperator"),
    "windows.co_group": ("CoGroupOperator",),
    "committing.committing_function": ("CommittingFunctionOperator",),
    "custom.custom_operator": ("CustomOperator",),
    "event_time": ("TimestampsAndWatermarksOperator",),
    "function_source": ("FunctionSourceOperator",),
    "data_frame_sink": ("DataFrameSinkOperator",),
    "interval_join": ("IntervalJoinOperator",),
    "keyed_batches": ("KeyedBatchOperator",),
    "loop_operators": ("IterationHeadOperator", "IterationTailOperator", "TerminationCriterionOperator"),
    "keyed": (
        "KeyedFilterOperator",
        "KeyedFlatMapOperator",
        "KeyedMapOperator",
        "KeyedProcessOperator",
        "ReduceOperator",
    ),
    "sinks": ("CollectOperator", "PrintOperator", "SinkFunctionOperator", "TwoPhaseSinkOperator"),
    "sources": ("CollectionSourceOperator", "FileRecordsOperator", "SparkSourceOperator", "TextLinesOperator"),
    "split_records": ("SplitRecordsOperator", "SplitRowsOperator"),
    "stateless": ("FilterOperator", "FlatMapOperator", "MapOperator", "PassOperator", "ProcessOperator"),
    "two_input": ("CoOperator", "KeyedCoOperator"),
    "windows.window_operator": ("WindowOperator",),
}
_MODULES = {name: module for module, names in _OPERATORS.items() for name in names}


class OperatorBuilder:
    """Build the operators of one slot. Those of a loop share what is in the loop."""

    def __init__(self) -> None:
        self._loops: dict[int, FeedbackLoop] = {}

    def build(self, transformation: Transformation, batch_memory: int | None = None) -> Operator:
        """Build an operator.

        Args:
            transformation: What it is.
            batch_memory: In a batch job, how many records it may hold in memory if it gathers its input; None: it
                processes records as they come.
        """
        if isinstance(transformation, ConnectorSourceTransformation):
            return _reading(transformation)
        arguments = {f.name: getattr(transformation, f.name) for f in fields(transformation) if f.name != "key_type"}
        if isinstance(transformation, LoopTransformation):
            arguments["loop"] = self.feedback_loop(transformation)
        operator: Operator = operator_class(transformation.kind)(**arguments)
        if batch_memory is None:
            return operator
        from rekindle.runtime.operators.batch.batch_operators import batch_operator  # a streaming job needs none of it

        return batch_operator(operator, batch_memory)

    def feedback_loop(self, transformation: Transformation) -> FeedbackLoop:
        """Return what goes round in the loop of an operator: the same for all operators of it."""
        assert isinstance(transformation, LoopTransformation)
        loop = transformation.loop
        return self._loops.setdefault(id(loop), FeedbackLoop(loop))


def operator_class(kind: str) -> type[Operator]:
    """Return the class of the operators of a kind. Its module is imported now: a slot needs few of them."""
    found: type[Operator] = getattr(import_module(f"rekindle.runtime.operators.{_MODULES[kind]}"), kind)
    return found


def _reading(transformation: ConnectorSourceTransformation) -> Operator:
    source = transformation.source
    assert isinstance(source, SlotSource)
    operator = source.create_operator()
    if transformation.strategy is not None:
        operator.event_time = EventTime(transformation.strategy)
    return operator
