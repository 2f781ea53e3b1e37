"""The iterations of a slot: what the job master orders, and what it is told about them."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from rekindle.graph.job_graph import JobGraph
from rekindle.runtime.operators.roles import RecordKeeper
from rekindle.runtime.slot.operator_graph import OperatorGraph, RunningNode
from rekindle.runtime.wire.messages import IterationOrder, IterationReport


class SlotIterations:
    """Carry out orders for the loops of a slot, and report on them."""

    def __init__(self, job: JobGraph, graph: OperatorGraph) -> None:
        self._iterations = job.iterations
        self._graph = graph
        self._loops = graph.loops
        self._running = {running.node.id: running for running in graph}
        self._staying = {i.head for i in job.iterations if i.stays and not i.supersteps}

    def begin_epoch(self, orders: Iterable[IterationOrder]) -> None:
        """Let each loop do what the job master wants in this epoch."""
        for order in orders:
            self._loops[order.head].begin(order.phase, order.round)

    def going(self, level: int) -> list[tuple[RunningNode, RecordKeeper]]:
        """Return the heads whose records can go round again in this very epoch: they meet no exchange on the way."""
        heads = [(node, head) for node, head in self._graph.keepers(level) if node.node.id in self._staying]
        return [(node, head) for node, head in heads if self._loops[node.node.id].fed_back]

    def report(self) -> list[IterationReport]:
        """Sum up the loops at the end of an epoch."""
        reports = []
        for iteration in self._iterations:
            loop = self._loops[iteration.head]
            entries = [e for e in iteration.entries if e.target in self._running]
            workers = [worker for running, worker in self._graph.background if running.node.id in iteration.body]
            reports.append(
                IterationReport(
                    head=iteration.head,
                    ended=all(self._running[edge.target].inputs[edge.input].ended for edge in entries),
                    busy=any(worker.has_more() or worker.under_way() for worker in workers),
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
