"""Decides what the iterations of a job do in the next epoch. Pure: reports go in, orders come out.

Only all slots together know whether a loop is empty and whether its input has ended. Nothing is kept that the slots do
not report: an attempt that goes on from a checkpoint learns from its first epoch where the loops are.
"""

from __future__ import annotations

from collections.abc import Sequence

from rekindle.graph.job_graph import JobIteration
from rekindle.runtime.iteration_phase import IterationPhase
from rekindle.runtime.wire.messages import EpochReport, IterationOrder, IterationReport


class IterationControl:
    """Give the orders of one attempt.

    Attributes:
        more: Whether an epoch is needed at once.
    """

    def __init__(self, iterations: Sequence[JobIteration]) -> None:
        self._iterations = {iteration.head: iteration for iteration in iterations}
        self._orders = {iteration.head: _first_order(iteration) for iteration in iterations}
        self.more = False

    def orders(self) -> list[IterationOrder]:
        """Return what the iterations that are not over do in the next epoch."""
        return list(self._orders.values())

    def epoch_ended(self, reports: Sequence[EpochReport]) -> None:
        """Decide what is next, from what the slots say of an epoch."""
        self.more = False
        for head, order in list(self._orders.items()):
            if order.phase is IterationPhase.OVER:
                del self._orders[head]
                continue
            said = _summed([report for slot in reports for report in slot.iterations if report.head == head])
            iteration = self._iterations[head]
            following = _next_round(iteration, said) if iteration.supersteps else _next_turn(order, said)
            self._orders[head] = following
            going = following.phase is IterationPhase.RUN if iteration.supersteps else said.fed_back > 0
            self.more = self.more or going or following.phase is IterationPhase.OVER or following != order


def _first_order(iteration: JobIteration) -> IterationOrder:
    return IterationOrder(iteration.head, IterationPhase.HOLD if iteration.supersteps else IterationPhase.RUN)


def _next_turn(order: IterationOrder, said: IterationReport) -> IterationOrder:
    """Let records go round until there are none, then event time end, and with it what that brings about."""
    if not said.ended or said.busy or said.fed_back:
        return order
    return IterationOrder(
        order.head, IterationPhase.DRAIN if order.phase is IterationPhase.RUN else IterationPhase.OVER
    )


def _next_round(iteration: JobIteration, said: IterationReport) -> IterationOrder:
    """Begin the next round, unless the last one is not done, or was the last one."""
    if not said.ended or said.busy:
        return IterationOrder(iteration.head, IterationPhase.HOLD, said.round)
    enough = iteration.max_iterations is not None and said.round >= iteration.max_iterations
    unneeded = not said.fed_back or (iteration.has_criterion and not said.criterion)
    if said.round and (enough or unneeded):
        return IterationOrder(iteration.head, IterationPhase.OVER, said.round)
    return IterationOrder(iteration.head, IterationPhase.RUN, said.round + 1)


def _summed(reports: list[IterationReport]) -> IterationReport:
    return IterationReport(
        head=reports[0].head,
        ended=all(report.ended for report in reports),
        busy=any(report.busy for report in reports),
        fed_back=sum(report.fed_back for report in reports),
        criterion=sum(report.criterion for report in reports),
        round=max(report.round for report in reports),
    )
