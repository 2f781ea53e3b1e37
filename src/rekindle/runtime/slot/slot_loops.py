"""The iterations of a slot: what the job master orders, and what it is told about them."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from rekindle.graph.job_graph import JobGraph
from rekindle.runtime.slot.operator_graph import OperatorGraph, RunningNode
from rekindle.runtime.wire.messages import IterationOrder, IterationReport


class SlotIterations:
    """Carry out orders for the loops of a slot, and report on them."""

    def __init__(self, job: JobGraph, graph: OperatorGraph) -> None:
        self._iterations = job.iterations
        self._loops = graph.loops
        self._running = {running.node.id: running for running in graph}
        self._staying = [i for i in job.iterations if i.stays and not i.supersteps]

    def begin_epoch(self, orders: Iterable[IterationOrder]) -> None:
        """Let each loop do what the job master wants in this epoch."""
        for order in orders:
            self._loops[order.head].begin(order.phase, order.round)

    def going(self, level: int) -> list[RunningNode]:
        """Return the heads whose records can go round again in this very epoch: they meet no exchange on the way."""
        heads = [self._running[i.head] for i in self._staying if i.head in self._running]
        return [head for head in heads if head.node.level == level and self._loops[head.node.id].fed_back]

    def report(self) -> list[IterationReport]:
        """Sum up the loops at the end of an epoch."""
        reports = []
        for iteration in self._iterations:
            loop = self._loops[iteration.head]
            entries = [e for e in iteration.entries if e.target in self._running]
            body = [self._running[node].operator for node in iteration.body if node in self._running]
            reports.append(
                IterationReport(
                    head=iteration.head,
                    ended=all(self._running[edge.target].inputs[edge.input].ended for edge in entries),
                    busy=any(operator.has_more() or operator.under_way() for operator in body),
                    fed_back=loop.waiting(),
                    criterion=loop.criterion,
                    round=loop.round,
                )
            )
        return reports

    def superstep(self, node: int) -> Callable[[], int] | None:
        """Return what tells an operator the number of its round; None if it is in none."""
        for iteration in self._iterations:
            if iteration.supersteps and node in iteration.body:
                loop = self._loops[iteration.head]
                return lambda: loop.round
        return None
