"""What outlives an attempt of a job."""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import SparkSession

from rekindle.base.clock import Clock
from rekindle.checkpoint.job_directory import JobCheckpointDirectory
from rekindle.graph.job_graph import JobGraph
from rekindle.ha.ownership import JobOwnership
from rekindle.runtime.master.checkpoint_io import CheckpointIO
from rekindle.runtime.master.collected import CollectedRecords
from rekindle.runtime.master.control_server import ControlServer
from rekindle.runtime.master.job_settings import JobSettings
from rekindle.runtime.master.progress import ProgressView
from rekindle.runtime.master.savepoints import Savepoints
from rekindle.runtime.master.stopping import Stopping
from rekindle.runtime.spark.epochs import EpochPlan


@dataclass(slots=True)
class JobShared:
    """Hold what outlives an attempt."""

    session: SparkSession
    graph: JobGraph
    plan: EpochPlan
    settings: JobSettings
    clock: Clock
    server: ControlServer
    host: str
    secret: bytes
    scratch: str
    view: ProgressView
    collected: CollectedRecords | None
    checkpoints: JobCheckpointDirectory
    savepoints: Savepoints
    stopping: Stopping
    ownership: JobOwnership
    io: CheckpointIO
