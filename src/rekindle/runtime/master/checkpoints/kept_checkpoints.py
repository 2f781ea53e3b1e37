"""Which checkpoints outlive a job, by how it ended: what is kept, what is deleted, what people are told."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass

from rekindle.checkpoint.completed_checkpoint import CompletedCheckpoint
from rekindle.checkpoint.job_directory import JobCheckpointDirectory
from rekindle.contracts.externalized_checkpoint_retention import ExternalizedCheckpointRetention
from rekindle.contracts.job.job_status import JobStatus
from rekindle.exceptions import SparkLostError
from rekindle.program.continuing import log_ends_with_command
from rekindle.runtime.master.checkpoints.restart_advice import restart_advice
from rekindle.runtime.master.cluster import ClusterLoss
from rekindle.runtime.master.settings.job_settings import JobSettings

log = logging.getLogger(__name__)

_KEPT = {
    ExternalizedCheckpointRetention.RETAIN_ON_CANCELLATION: {JobStatus.CANCELED, JobStatus.FAILED},
    ExternalizedCheckpointRetention.DELETE_ON_CANCELLATION: {JobStatus.FAILED},
    ExternalizedCheckpointRetention.NO_EXTERNALIZED_CHECKPOINTS: set(),
}


@dataclass(frozen=True, slots=True)
class KeptCheckpoints:
    """Settle what remains of a job.

    Attributes:
        settings: The job's.
        status: How it ended.
        completed: The checkpoints it could have been restarted from, oldest first.
        damaged: Completed ones that cannot be read.
        savepoint: The savepoint it was cancelled or stopped with, if it was.
        keeps_all: Whether nothing is deleted, whatever the retention says: somebody is to go on with the job.
        unreadable: The checkpoint that it failed to read, if it failed by that.
        interrupted: Whether it was cancelled by a signal: that is no word about its checkpoints, and they are kept.
    """

    settings: JobSettings
    status: JobStatus
    completed: Sequence[CompletedCheckpoint]
    damaged: Sequence[CompletedCheckpoint]
    savepoint: str | None = None
    keeps_all: bool = False
    unreadable: CompletedCheckpoint | None = None
    interrupted: bool = False

    def kept(self) -> list[CompletedCheckpoint]:
        """Return the checkpoints that outlive the job; all of one that another driver may go on with."""
        interrupted = self.interrupted and self.status is JobStatus.CANCELED
        kept = self.keeps_all or interrupted or self.status in _KEPT[self.settings.retention]
        return [*self.completed, *self.damaged] if kept else []

    def describe(self) -> str:
        """Say in one line how to go on."""
        logged = self.settings.high_availability is not None and not log_ends_with_command()
        if self.status is JobStatus.SUSPENDED and logged:
            return "Start the program again, and the job goes on from its last checkpoint"
        return restart_advice(self.settings, self.completed, self.kept(), self.savepoint, self.unreadable)

    def lost_error(self, loss: ClusterLoss) -> SparkLostError:
        """Say in one error what has died under the job, and how to go on."""
        how = self.describe()
        if self.settings.high_availability is not None:
            start = f"checkpoint {self.completed[-1].checkpoint_id}" if self.completed else "its beginning"
            how = (
                f"Start the program again: the job goes on from {start} (rekindle run --restart-driver does so by "
                "itself)"
            )
        return SparkLostError(f"job {self.settings.job_name!r} is suspended, because {loss.what}. {how}")

    def advice(self, after: str = "") -> str:
        """Say in an error how to go on, if the job was to be able to; ``after`` is what the error says before it."""
        if not self.settings.checkpointing:
            return ""
        separator = "\n" if after.endswith("\n") else ". "  # a traceback ends with its line
        return f"{separator}{self.describe()}"

    def delete(self, checkpoints: JobCheckpointDirectory) -> list[int]:
        """Delete what is not kept; give the ids of the checkpoints that are gone."""
        kept = self.kept()
        try:
            own = {checkpoint.checkpoint_id for checkpoint in kept if not checkpoint.savepoint}
            checkpoints.sweep(own, over=True)
            for checkpoint in [*self.completed, *self.damaged]:
                if checkpoint.claimed and checkpoint not in kept:
                    checkpoints.drop(checkpoint.location, claimed=True)
        except Exception:
            log.exception("the checkpoints of job %s could not be cleaned up", self.settings.job_id)
            return []
        gone = [checkpoint for checkpoint in [*self.completed, *self.damaged] if checkpoint not in kept]
        return [checkpoint.checkpoint_id for checkpoint in gone if checkpoint.claimed or not checkpoint.savepoint]
