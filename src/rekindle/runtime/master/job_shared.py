"""What outlives an attempt of a job."""

from __future__ import annotations

from dataclasses import dataclass, field

from rekindle.base.clock import Clock
from rekindle.checkpoint.job_directory import JobCheckpointDirectory
from rekindle.checkpoint.row_staging import RowStaging
from rekindle.graph.job_graph import JobGraph
from rekindle.ha.ownership import JobOwnership
from rekindle.runtime.master.checkpoints.checkpoint_io import CheckpointIO
from rekindle.runtime.master.checkpoints.requested_checkpoints import RequestedCheckpoints
from rekindle.runtime.master.checkpoints.savepoints import Savepoints
from rekindle.runtime.master.checkpoints.stopping import Stopping
from rekindle.runtime.master.checkpoints.table_commits import TableCommits
from rekindle.runtime.master.cluster import Cluster
from rekindle.runtime.master.collected_records import CollectedRecords
from rekindle.runtime.master.settings.job_settings import JobSettings
from rekindle.runtime.master.slots.slot_pool import SlotPool
from rekindle.runtime.master.views.progress import ProgressView


@dataclass(slots=True)
class JobShared:
    """Hold what outlives an attempt."""

    cluster: Cluster
    graph: JobGraph
    settings: JobSettings
    clock: Clock
    slot_pool: SlotPool
    secret: bytes
    view: ProgressView
    collected: CollectedRecords | None
    checkpoints: JobCheckpointDirectory
    savepoints: Savepoints
    requested: RequestedCheckpoints
    stopping: Stopping
    ownership: JobOwnership
    io: CheckpointIO
    staging: RowStaging | None = None  # where rows wait that the driver commits; None: no sink has any
    tables: TableCommits | None = None  # what commits them
    table_io: CheckpointIO | None = None  # the thread in which it does
    proxy_ports: list[int] = field(default_factory=list)  # where clients queried state last, by slot
