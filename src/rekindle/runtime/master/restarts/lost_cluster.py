"""What follows when the cluster is gone under a job: it gets a new one, or ends here as if its driver had died."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass

from rekindle.exceptions import SparkLostError
from rekindle.graph.job_graph import ClusterSource
from rekindle.runtime.master.cluster import Cluster, ClusterLoss
from rekindle.runtime.master.restarts.restart_strategies import GiveUp, Restart, RestartStrategy

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class NewCluster:
    """Decide to start the cluster anew, and the job with it."""

    delay_ms: int


class LostCluster:
    """Decide what follows each time that the cluster is lost.

    With high availability the driver takes over its own job, on a new cluster. It ends if the program has stopped
    the cluster itself, or has made what is gone with it, such as DataFrames: only the program can make them again.

    Args:
        job_name: The job.
        highly_available: Whether a driver can take over the job.
        restarts: How often in a row the cluster may be lost, and how long to wait before each new one.
        cluster: What the job runs on.
    """

    def __init__(self, job_name: str, highly_available: bool, restarts: RestartStrategy, cluster: Cluster) -> None:
        self._job_name = job_name
        self._restarts = restarts
        self._cluster = cluster
        self._renewable = cluster.renewable and highly_available

    def decide(self, loss: ClusterLoss, now: int) -> NewCluster | GiveUp:
        """Decide whether there is to be a new cluster."""
        if loss.wanted or not self._renewable:
            return GiveUp(loss.what)
        decision = self._restarts.on_failure(now)
        return NewCluster(decision.delay_ms) if isinstance(decision, Restart) else GiveUp(loss.what)

    def renew(self, now: Callable[[], int], wait: Callable[[float], bool]) -> tuple[ClusterSource, ...]:
        """Start the cluster anew; as often as it may be lost in a row, if it dies on the way.

        Returns the job's sources on the new one.

        Args:
            now: Tells the time, in milliseconds.
            wait: Waits for so many seconds; tells whether the job was cancelled meanwhile.

        Raises:
            SparkLostError: If that fails.
        """
        while True:
            try:
                return self._cluster.renew()
            except Exception as error:
                decision = self._restarts.on_failure(now())
                if isinstance(decision, GiveUp) or wait(decision.delay_ms / 1000):
                    raise SparkLostError(
                        f"job {self._job_name!r} is suspended: {self._cluster.name} was lost, and could not be "
                        f"started anew: {error}"
                    ) from error
                log.warning("%s could not be restarted, and is tried again: %s", self._cluster.name, error)
