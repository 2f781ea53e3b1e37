"""The in-process cluster for jobs that are watched, killed and stopped in the middle."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Collection

from rekindle.graph.job_graph import JobGraph
from rekindle.runtime.master.slots.slot_directory import SlotDirectory
from rekindle.testing import InProcessCluster
from rekindle.testing.in_process.epochs import FindSlot, InProcessEpochs
from support.processes import wait_until


class PacedEpochs(InProcessEpochs):
    """Take a while for each epoch.

    Args:
        graph: The job.
        find_slot: Finds a slot by its name.
        seconds: How long.
    """

    def __init__(self, graph: JobGraph, find_slot: FindSlot, seconds: float) -> None:
        super().__init__(graph, find_slot)
        self._seconds = seconds

    def run(self, epoch: int, directory: SlotDirectory, unread: Collection[str], cancelled: Callable[[], bool]) -> None:
        time.sleep(self._seconds)
        super().run(epoch, directory, unread, cancelled)


class PacedCluster(InProcessCluster):
    """The in-process cluster; its epochs take so long that there is a middle even of a small job.

    Args:
        epoch_seconds: How long they take at least.
    """

    def __init__(self, epoch_seconds: float = 0.01) -> None:
        super().__init__()
        self._epoch_seconds = epoch_seconds

    def epochs(self, graph: JobGraph) -> InProcessEpochs:
        return PacedEpochs(graph, self._by_name.get, self._epoch_seconds)

    def kill_one(self, rng: random.Random, slots: int = 2) -> None:
        """Kill one of the slots, once all of them run."""
        wait_until(lambda: len(self.running_slots) == slots, "all slots run")
        self.kill_slot(rng.choice(self.running_slots))
