"""What each operator of a slot has counted: records, bytes and time, as totals and as rates."""

from __future__ import annotations

import time

from rekindle.graph.job_graph import JobGraph
from rekindle.metrics.rates import RateWindow
from rekindle.runtime.slot.operator_graph import OperatorGraph, RunningNode
from rekindle.runtime.slot.task_output import Exchanges
from rekindle.runtime.slot.work_times import LevelWaits, called_by
from rekindle.runtime.wire import messages as m

RATE_SPAN_MS = 10_000
"""Over how long rates are averaged."""


class CountedWork:
    """Read what the operators of one slot count. Nothing here runs unless somebody asks, but once a second.

    Args:
        graph: The job.
        operators: The operators.
        exchanges: What leaves the slot.
        waits: How long levels have waited.
        now: The current time.
    """

    def __init__(
        self, graph: JobGraph, operators: OperatorGraph, exchanges: Exchanges, waits: LevelWaits, now: int
    ) -> None:
        self._operators = {running.node.id: running for running in operators}
        self._behind = called_by(graph)
        self._inputs = {node.id: graph.inputs(node.id) for node in graph.nodes}
        self._from_spark = {source.node for source in graph.cluster_sources}
        self._traffic = exchanges.traffic
        self._waits = waits
        self._began = time.monotonic()
        self._windows = {node: RateWindow(now, 6, RATE_SPAN_MS) for node in self._operators}

    def note(self, now: int) -> None:
        """Remember the numbers of this moment for the rates; called at the end of an epoch."""
        for node, running in self._operators.items():
            window = self._windows[node]
            if window.due(now):
                window.note(now, *self._totals(running))

    def numbers(self, subtask: int, now: int) -> list[m.OperatorNumbers]:
        """Return what there is to say about all operators."""
        return [self._numbers(running, subtask, now) for running in self._operators.values()]

    def _numbers(self, running: RunningNode, subtask: int, now: int) -> m.OperatorNumbers:
        node = running.node
        records_in, records_out, bytes_in, bytes_out, busy, waited = totals = self._totals(running)
        rates = self._windows[node.id].per_second(now, *totals)
        inputs, outputs = self._inputs[node.id], running.outputs
        passed = round((time.monotonic() - self._began) * 1000)
        return m.OperatorNumbers(
            uid=node.uid,
            operator=node.name,
            subtask=subtask,
            records_in=int(records_in),
            records_out=int(records_out),
            input_watermark=running.watermark,
            output_watermark=running.output_progress().watermark,
            bytes_in=int(bytes_in),
            bytes_out=int(bytes_out),
            all_bytes_in=node.id in self._from_spark or (bool(inputs) and all(edge.exchange for edge in inputs)),
            all_bytes_out=bool(outputs) and all(edge.exchange for edge in outputs),
            busy_ms=round(busy),
            back_pressured_ms=round(waited),
            idle_ms=max(0, passed - round(busy) - round(waited)),
            rates=_limited(m.Rates(*rates)),
        )

    def _totals(self, running: RunningNode) -> tuple[float, ...]:
        node = running.node
        sent = [self._traffic[edge.id] for edge in running.outputs if edge.exchange]
        behind = sum(self._busy(self._operators[other]) for other in self._behind[node.id] if other in self._operators)
        return (
            running.records_in,
            running.records_out,
            running.bytes_in,
            sum(traffic.size for traffic in sent),
            self._busy(running) * 1000,
            (self._waits.of(node.level) + behind) * 1000,
        )

    def _busy(self, running: RunningNode) -> float:
        return running.busy + sum(self._traffic[edge.id].seconds for edge in running.outputs if edge.exchange)


def _limited(rates: m.Rates) -> m.Rates:
    """Keep the shares of a second within it: what is counted at the end of a chunk may have begun long before."""
    busy = min(1000.0, rates.busy_ms)
    return m.Rates(
        rates.records_in,
        rates.records_out,
        rates.bytes_in,
        rates.bytes_out,
        busy,
        min(1000.0 - busy, rates.back_pressured_ms),
    )
