"""The cluster that a job runs on in production: Spark."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import pyspark
from pyspark.sql import DataFrame, SparkSession

from rekindle.graph.job_graph import ClusterSource, JobGraph
from rekindle.runtime.master.cluster import ClusterLoss
from rekindle.runtime.master.slots.process_slot_pool import ProcessSlotPool
from rekindle.runtime.master.slots.slot_pool import SlotPoolOptions
from rekindle.runtime.spark.attempt_epochs import SparkEpochs
from rekindle.runtime.spark.errors import refusal
from rekindle.runtime.spark.job_labels import rows_label
from rekindle.runtime.spark.rows_frame import rows_frame
from rekindle.runtime.spark.session import is_local
from rekindle.runtime.spark.slot_launcher import cancel_launch, launch_slots
from rekindle.runtime.spark.spark_loss import spark_loss

if TYPE_CHECKING:
    import pyarrow as pa

Renew = Callable[[], tuple[SparkSession, tuple[ClusterSource, ...]]]
"""Starts Spark anew, and makes the sources of a job on it."""


class SparkCluster:
    """Run a job on Spark, see :class:`rekindle.runtime.master.cluster.Cluster`.

    Args:
        session: The session.
        job_name: The name of the job, for Spark's UI.
        renew: Starts Spark anew once it is lost; None: the program itself would have to.
    """

    def __init__(self, session: SparkSession, job_name: str, renew: Renew | None = None) -> None:
        self._session = session
        self._job_name = job_name
        self._renew = renew

    @property
    def name(self) -> str:
        """Return Spark's name, with its version."""
        return f"Spark {pyspark.__version__}"

    def slot_pool(self, options: SlotPoolOptions) -> ProcessSlotPool:
        """Open a pool of slots, which Spark tasks start."""
        local = is_local(self._session)
        return ProcessSlotPool(
            "127.0.0.1" if local else _driver_host(self._session),
            options,
            not local,
            lambda deployment, slots: launch_slots(self._session, self._job_name, deployment, slots),
            lambda deployment: cancel_launch(self._session, deployment),
        )

    def epochs(self, graph: JobGraph) -> SparkEpochs:
        """Plan the epochs of an attempt."""
        return SparkEpochs(self._session, graph, self._job_name)

    @property
    def one_machine(self) -> bool:
        """Return whether Spark is in one process on this machine."""
        return is_local(self._session)

    def rows(self, files: Sequence[str], schema: pa.Schema) -> DataFrame:
        """Open files of rows as a DataFrame."""
        self._session.sparkContext.setJobDescription(rows_label(self._job_name))
        return rows_frame(self._session, files, schema)

    def loss(self) -> ClusterLoss | None:
        """Look whether Spark is gone."""
        return spark_loss(self._session)

    def refusal(self, error: BaseException) -> str | None:
        """Say that Spark refuses the plan of the job, if that is what an error means."""
        return refusal(error)

    @property
    def renewable(self) -> bool:
        """Return whether Spark can be started anew."""
        return self._renew is not None

    def renew(self) -> tuple[ClusterSource, ...]:
        """Start Spark anew; return the job's sources on it."""
        assert self._renew is not None
        self._session, sources = self._renew()
        return sources


def _driver_host(session: SparkSession) -> str:
    host = session.conf.get("spark.driver.host")
    assert host is not None
    return host
