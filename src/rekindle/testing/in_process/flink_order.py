"""A slot whose results come in the order in which PyFlink's are the most likely to come, while they are few.

Neither Flink nor Rekindle promises it, and on Spark records come as they come. But a test compares what a program gives
with what it gave before, on PyFlink perhaps, and has few records.
"""

from __future__ import annotations

from collections.abc import Iterator

from rekindle.graph.job_graph import JobEdge, JobGraph
from rekindle.runtime.chunk import Chunk
from rekindle.runtime.exchange.payload import Progress
from rekindle.runtime.slot.operator_graph import OperatorGraph, RunningNode
from rekindle.runtime.slot.slot import Slot
from rekindle.runtime.slot.task_output import TaskOutput
from rekindle.state.timer_heap import TimerHeap
from rekindle.testing.in_process.flink_heap import flink_timers
from rekindle.testing.in_process.ordered_inputs import OrderedInputs, arrival


class FlinkOrderedGraph(OperatorGraph):
    """Let operators with several inputs wait until all of a level is there, if it is not much."""

    def __init__(self, graph: JobGraph, slot: int) -> None:
        super().__init__(graph, slot)
        orders = {running.node.id: arrival(graph, running.node.id) for running in self if not running.node.cluster_fed}
        self._held = {node: OrderedInputs(order) for node, order in orders.items() if order is not None}

    def _arrive(self, edge: JobEdge, item: Chunk | Progress, output: TaskOutput) -> None:
        held = self._held.get(edge.target)
        for came_over, came in ((edge, item),) if held is None else held.add(edge, item):
            super()._arrive(came_over, came, output)

    def _advance(self, running: RunningNode, now: int, output: TaskOutput) -> Iterator[None]:
        held = self._held.get(running.node.id)
        for came_over, came in () if held is None else held.release():
            super()._arrive(came_over, came, output)
        yield from super()._advance(running, now, output)

    def _pass_on(self, edge: JobEdge, progress: Progress, output: TaskOutput, level_over: bool) -> None:
        if edge.target in self._held:
            self._arrive(edge, progress, output)
        else:
            super()._pass_on(edge, progress, output, level_over)


class FlinkOrderedSlot(Slot):
    """Run the operators of one subtask index, and keep to Flink's order."""

    graph_class = FlinkOrderedGraph

    @staticmethod
    def timer_heap() -> TimerHeap:
        return flink_timers()
