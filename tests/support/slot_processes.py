"""Runs the real job master with real slot processes over real sockets, without Spark, whose part this process plays.

For what happens between processes: connections, handshakes, deaths. Programs may use every source that lives in slots.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import msgspec
import pytest

from rekindle.graph.job_graph import JobGraph
from rekindle.runtime.exchange.writers import Envelope
from rekindle.runtime.master import job_master as job_master_module
from rekindle.runtime.master import slot_launch as slot_launch_module
from rekindle.runtime.slot.slot_deployment import SlotDeployment
from rekindle.runtime.spark.forwarder import SlotDirectory, _forward
from rekindle.runtime.spark.slot_starter import start_slot
from rekindle.runtime.wire import messages as m
from support.in_process_master import Cluster, _Plan


class SlotProcesses(Cluster):
    """Start slots as processes of their own."""

    def launch(self, session: Any, deployment: SlotDeployment, slots: int) -> None:
        with ThreadPoolExecutor(slots) as pool:
            deployments = [msgspec.structs.replace(deployment, slot=slot) for slot in range(slots)]
            list(pool.map(lambda each: start_slot(each, deployment.sys_path), deployments))


class _ForwardingPlan(_Plan):
    """Runs epochs as Spark does, with Spark's forwarders."""

    def __init__(self, cluster: Cluster, graph: JobGraph) -> None:
        super().__init__(cluster, graph)
        self._levels = {node.id: node.level for node in graph.nodes}

    def run(self, epoch: int, directory: SlotDirectory, unread: set[str]) -> None:
        envelopes: list[Envelope] = []
        for level in range(self._graph.levels):
            own = [envelope for envelope in envelopes if self._level(envelope) == level]
            envelopes = [envelope for envelope in envelopes if self._level(envelope) != level]
            for index in range(self._graph.slots if level else self.polled_slots):
                task = m.OpenTask(directory.attempt, epoch, level, index, 0, poll=level == 0)
                frames = iter([(edge, payload) for edge, target, payload in own if target == index])
                for batch in _forward(directory, index, task, frames):
                    envelopes += [(row["edge"], row["target"], row["payload"]) for row in batch.to_pylist()]

    def _level(self, envelope: Envelope) -> int:
        return self._levels[self._graph.edges[envelope[0]].target]


@contextmanager
def slot_processes() -> Iterator[SlotProcesses]:
    """Let job masters of this process run jobs in slot processes of this machine."""
    cluster = SlotProcesses()
    with pytest.MonkeyPatch.context() as patch:
        for module in (job_master_module, slot_launch_module):
            patch.setattr(module, "is_local", lambda session: True)
        patch.setattr(job_master_module, "EpochPlan", lambda session, graph: _ForwardingPlan(cluster, graph))
        patch.setattr(slot_launch_module, "launch_slots", cluster.launch)
        try:
            yield cluster
        finally:
            for master in cluster.masters:
                master.cancel()
                master.result.exception(60)
