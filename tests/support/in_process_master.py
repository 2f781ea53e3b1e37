"""The real job master on the in-process cluster: what it does, and what it learns, is in the test's hands.

Programs may use every source that lives in slots.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from rekindle.base.clock import SteadyClock
from rekindle.common import JobID
from rekindle.datastream import StreamExecutionEnvironment
from rekindle.graph.plan import plan_of
from rekindle.runtime.master.cluster import Cluster as AnyCluster
from rekindle.runtime.master.collected_records import CollectedRecords
from rekindle.runtime.master.job_master import JobMaster
from rekindle.runtime.master.settings.job_settings import settle
from rekindle.runtime.master.views.progress import ProgressView
from rekindle.testing.in_process.slot import InProcessSlot
from support.paced_cluster import PacedCluster


class Jobs:
    """The jobs of a test.

    Attributes:
        attempts: The checkpoint that each attempt has begun with.
        masters: The job masters, in the order in which they were started.
    """

    def __init__(self) -> None:
        self.attempts: list[int | None] = []
        self.masters: list[JobMaster] = []

    def start(
        self, cluster: AnyCluster, env: StreamExecutionEnvironment, collected: CollectedRecords | None = None
    ) -> JobMaster:
        """Start a program on a cluster."""
        graph = env._compile()
        settings = settle(
            JobID().to_hex_string(),
            "in process",
            env._configuration,
            env._checkpoint_config,
            env._config,
            env._state_backend,
            graph.batch,
        )
        plan = plan_of(env._graph.pending(), graph)
        view = _View("in process", self.attempts)
        master = JobMaster(cluster, graph, settings, SteadyClock(), view, collected, plan)
        env._graph.submitted = len(env._graph.nodes)
        self.masters.append(master)
        master.start()
        return master

    def end(self) -> None:
        """Cancel all of them."""
        for master in self.masters:
            master.cancel()
            master.result.exception(60)


class Cluster(PacedCluster):
    """The in-process cluster and its jobs; ``hears`` and ``obeys`` may be set to functions. One job at a time."""

    def __init__(self) -> None:
        super().__init__()
        self._jobs = Jobs()
        self.attempts, self.masters = self._jobs.attempts, self._jobs.masters

    def submit(self, env: StreamExecutionEnvironment, collected: CollectedRecords | None = None) -> JobMaster:
        """Start a program."""
        return self._jobs.start(self, env, collected)

    @property
    def slots(self) -> dict[int, InProcessSlot]:
        """The slots that run now."""
        return {} if self._pool is None else self._pool.slots()

    @property
    def waiting(self) -> set[int]:
        """The attempts that are yet to begin, and whose slots run already."""
        return set() if self._pool is None else self._pool.waiting()

    @property
    def listener(self) -> Any:
        """Who hears of the slots."""
        return None if self._pool is None else self._pool.listener

    def end(self) -> None:
        """Cancel all jobs."""
        self._jobs.end()


class _View(ProgressView):
    def __init__(self, job_name: str, attempts: list[int | None]) -> None:
        super().__init__(job_name)
        self._attempts = attempts

    def attempt_started(self, attempt: int, checkpoint_id: int | None) -> None:
        self._attempts.append(checkpoint_id)


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    """Return what a job master needs to run in this process."""
    cluster = Cluster()
    yield cluster
    cluster.end()
