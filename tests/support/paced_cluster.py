"""The in-process cluster for jobs that are watched, killed and stopped in the middle."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Collection

from rekindle.graph.job_graph import JobGraph
from rekindle.runtime.master.slot_directory import SlotDirectory
from rekindle.testing import InProcessCluster
from rekindle.testing.in_process.epochs import InProcessEpochs
from support.processes import wait_until


class PacedEpochs(InProcessEpochs):
    """Take as long as Spark at its best, so that there is a middle even of a small job."""

    def run(self, epoch: int, directory: SlotDirectory, unread: Collection[str], cancelled: Callable[[], bool]) -> None:
        time.sleep(0.01)
        super().run(epoch, directory, unread, cancelled)


class PacedCluster(InProcessCluster):
    """The in-process cluster; its epochs take as long as Spark's at their best."""

    def epochs(self, graph: JobGraph) -> InProcessEpochs:
        return PacedEpochs(graph, self._by_name.get)

    def kill_one(self, rng: random.Random, slots: int = 2) -> None:
        """Kill one of the slots, once all of them run."""
        wait_until(lambda: len(self.running_slots) == slots, "all slots run")
        self.kill_slot(rng.choice(self.running_slots))
