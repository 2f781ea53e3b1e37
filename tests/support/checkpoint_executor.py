"""Carries out what the checkpoint coordinator decides, at once: for tests that play the job master themselves."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from rekindle.base.clock import Clock
from rekindle.checkpoint import events
from rekindle.checkpoint.coordinator import CheckpointCoordinator
from rekindle.checkpoint.job_directory import JobCheckpointDirectory
from rekindle.exceptions import JobFencedError
from rekindle.graph.job_graph import JobGraph
from rekindle.ha.ownership import JobOwnership
from rekindle.runtime.master.checkpoints.checkpoint_writer import CheckpointWriter
from rekindle.runtime.master.checkpoints.savepoints import Savepoints
from rekindle.runtime.master.checkpoints.storage_orders import CheckpointNotStored, NoteCheckpoint
from rekindle.runtime.master.high_availability.takeover import references
from rekindle.runtime.master.settings.job_settings import JobSettings
from rekindle.runtime.wire import messages as m

_FAILED = events.CheckpointFailureReason.METADATA_WRITE_FAILED


class CheckpointExecutor:
    """Stand between the coordinator and the world.

    Args:
        settings: The job's.
        graph: The job.
        clock: Tells the time.
        broadcast: Tells all slots something.
        directory: The job's checkpoints; its own for a job with one attempt.
        savepoints: The savepoints that were asked for; they are handed over when they are written.
        ownership: Who owns the job.
    """

    def __init__(
        self,
        settings: JobSettings,
        graph: JobGraph,
        clock: Clock,
        broadcast: Callable[[m.ToSlot], None],
        directory: JobCheckpointDirectory | None = None,
        savepoints: Savepoints | None = None,
        ownership: JobOwnership | None = None,
    ) -> None:
        self._settings = settings
        self._clock = clock
        self._broadcast = broadcast
        self._directory = directory or JobCheckpointDirectory(settings.checkpoint_files, settings.job_id)
        self._savepoints = savepoints or Savepoints(settings.job_id)
        self._ownership = ownership or JobOwnership(clock)
        self._writer = CheckpointWriter(
            settings.job_id, settings.job_name, graph, self._directory, self._savepoints, self._ownership
        )

    def run(self, coordinator: CheckpointCoordinator, instructions: Iterable[events.Instruction]) -> None:
        """Carry out instructions, and those that follow from their outcome."""
        for order in instructions:
            match order:
                case events.TriggerCheckpoint(checkpoint_id, epoch, timestamp, _, base_id):
                    request = self._savepoints.find(checkpoint_id)
                    location = None if request is None else request.location
                    self._broadcast(m.TriggerSnapshot(checkpoint_id, epoch, base_id, location, timestamp))
                case events.WriteMetadata():
                    self._write(coordinator, order)
                case events.NotifyComplete(checkpoint_id):
                    self._broadcast(m.NotifyComplete(checkpoint_id, order.is_restore_point))
                    if order.savepoint:
                        self._savepoints.completed(checkpoint_id)
                case events.NotifyAborted(checkpoint_id):
                    self._broadcast(m.NotifyAborted(checkpoint_id))
                case events.DiscardState(checkpoint_id, snapshot):
                    if snapshot is None or snapshot.has_files():
                        self._writer.discard(checkpoint_id)
                case events.DiscardCheckpoint(checkpoint_id):
                    self._writer.discard(checkpoint_id)
                case events.DropCompleted(checkpoint):
                    self._writer.drop(checkpoint)
                case events.ReportSavepointFailure(checkpoint_id, message):
                    self._savepoints.failed(checkpoint_id, message)

    def _write(self, coordinator: CheckpointCoordinator, order: events.WriteMetadata) -> None:
        checkpoint_id, now = order.checkpoint_id, self._clock.now()
        outcome = self._writer.write(order, [])
        logged = self._ownership.shared and (order.final or not order.savepoint)
        if logged and not isinstance(outcome, CheckpointNotStored) and coordinator.begin_commit(checkpoint_id):
            location, num_retained = outcome.location, self._settings.checkpoints.num_retained
            retained = tuple(references(coordinator.completed(), location, num_retained))
            noted = self._writer.note(NoteCheckpoint(checkpoint_id, location, retained))
            outcome = noted if isinstance(noted, CheckpointNotStored) else outcome
        if not isinstance(outcome, CheckpointNotStored):
            self.run(coordinator, coordinator.metadata_written(now, checkpoint_id, outcome.location))
            return
        self.run(coordinator, coordinator.metadata_failed(now, checkpoint_id, str(outcome.error), _FAILED))
        if isinstance(outcome.error, JobFencedError):
            raise outcome.error
