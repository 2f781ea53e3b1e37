"""Runs the real job master with real slot processes over real sockets, without Spark, whose part this process plays.

For what happens between processes: connections, handshakes, deaths. Programs may use every source that lives in slots.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import msgspec

from rekindle.datastream import StreamExecutionEnvironment
from rekindle.graph.job_graph import JobGraph
from rekindle.runtime.exchange.writers import Envelope
from rekindle.runtime.master.cluster import Epoch
from rekindle.runtime.master.job_master import JobMaster
from rekindle.runtime.master.slots.process_slot_pool import ProcessSlotPool
from rekindle.runtime.master.slots.slot_directory import SlotDirectory
from rekindle.runtime.master.slots.slot_pool import SlotPoolOptions
from rekindle.runtime.slot.slot_deployment import SlotDeployment
from rekindle.runtime.spark.forwarder import _forward
from rekindle.runtime.spark.slot_starter import start_slot
from rekindle.runtime.wire import messages as m
from rekindle.testing import InProcessCluster
from rekindle.testing.in_process.epoch_loop import InProcessEpochLoop
from rekindle.testing.in_process.epochs import InProcessEpochs
from support.in_process_master import Jobs


class SlotProcesses(InProcessCluster):
    """Start slots as processes of their own.

    Attributes:
        pool: What they are in.
        directory: Where they are, once they run.
    """

    def __init__(self) -> None:
        super().__init__()
        self.pool: ProcessSlotPool | None = None
        self.directory: SlotDirectory | None = None
        self.jobs = Jobs()
        self.attempts, self.masters = self.jobs.attempts, self.jobs.masters

    def submit(self, env: StreamExecutionEnvironment) -> JobMaster:
        """Start a program."""
        return self.jobs.start(self, env)

    def slot_pool(self, options: SlotPoolOptions) -> ProcessSlotPool:  # type: ignore[override]
        self.pool = ProcessSlotPool("127.0.0.1", options, False, self._start, lambda deployment: None)
        return self.pool

    def epochs(self, graph: JobGraph) -> InProcessEpochs:
        return _ForwardedEpochs(graph, self)

    def _start(self, deployment: SlotDeployment, slots: int) -> None:
        with ThreadPoolExecutor(slots) as pool:
            deployments = [msgspec.structs.replace(deployment, slot=slot) for slot in range(slots)]
            list(pool.map(lambda each: start_slot(each, deployment.sys_path), deployments))


class _ForwardedEpochs(InProcessEpochs):
    """Runs epochs as Spark does, with Spark's forwarders."""

    def __init__(self, graph: JobGraph, cluster: SlotProcesses) -> None:
        super().__init__(graph, lambda name: None)
        self._cluster = cluster
        self._first_slots = graph.polled_slots

    def start(self, slots: SlotDirectory, run_epoch: Callable[[Epoch], None]) -> InProcessEpochLoop:
        self._cluster.directory = slots
        return super().start(slots, run_epoch)

    def run(self, epoch: int, directory: SlotDirectory, unread: Collection[str], cancelled: Callable[[], bool]) -> None:
        envelopes: list[Envelope] = []
        for level in range(self._graph.levels):
            own = [envelope for envelope in envelopes if self._edge_levels[envelope[0]] == level]
            envelopes = [envelope for envelope in envelopes if self._edge_levels[envelope[0]] != level]
            for index in range(self._graph.slots if level else self._first_slots):
                task = m.OpenTask(directory.attempt, epoch, level, index, 0, poll=level == 0)
                frames = iter([(edge, payload) for edge, target, payload in own if target == index])
                for batch in _forward(directory, index, task, frames):
                    envelopes += [(row["edge"], row["target"], row["payload"]) for row in batch.to_pylist()]


@contextmanager
def slot_processes() -> Iterator[SlotProcesses]:
    """Let job masters of this process run jobs in slot processes of this machine."""
    cluster = SlotProcesses()
    try:
        yield cluster
    finally:
        cluster.jobs.end()
