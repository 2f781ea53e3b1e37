"""What happens to completed checkpoints when a job is cancelled."""

from __future__ import annotations

from enum import Enum

__all__ = ["ExternalizedCheckpointCleanup", "ExternalizedCheckpointRetention"]


class ExternalizedCheckpointRetention(Enum):
    """Choose whether a job's checkpoints outlive it, to be restored from like a savepoint."""

    DELETE_ON_CANCELLATION = 0
    """Keep the checkpoints of a failed job, delete those of a cancelled one."""

    RETAIN_ON_CANCELLATION = 1
    """Keep the checkpoints of failed and cancelled jobs; deleting them is then up to you."""

    NO_EXTERNALIZED_CHECKPOINTS = 2
    """Delete the checkpoints as soon as the job ends, however it ends."""


ExternalizedCheckpointCleanup = ExternalizedCheckpointRetention
"""The name that programs written for Flink 1.x use."""
