"""Carries out what the checkpoint coordinator decides: files are written and deleted here, slots are told."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from rekindle.checkpoint import events, paths
from rekindle.checkpoint.completed_checkpoint import CompletedCheckpoint
from rekindle.checkpoint.coordinator import CheckpointCoordinator
from rekindle.checkpoint.metadata import CheckpointMetadata, OperatorMetadata, SparkPosition, encode_metadata
from rekindle.checkpoint.storage import CheckpointFiles
from rekindle.exceptions import CheckpointError
from rekindle.graph.job_graph import JobGraph
from rekindle.runtime.clock import Clock
from rekindle.runtime.master.job_settings import JobSettings
from rekindle.runtime.wire import messages as m

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class StoredCheckpoint:
    """Point to a completed checkpoint: its metadata, and the directory it is in (None: in memory)."""

    metadata: CheckpointMetadata
    files: CheckpointFiles | None
    directory: str


class CheckpointExecutor:
    """Stand between the pure coordinator and the world. The caller holds the job master's lock."""

    def __init__(
        self,
        settings: JobSettings,
        graph: JobGraph,
        clock: Clock,
        broadcast: Callable[[m.ToSlot], None],
        completed: Callable[[CompletedCheckpoint], None],
        fail_job: Callable[[str], None],
    ) -> None:
        self._settings = settings
        self._graph = graph
        self._clock = clock
        self._broadcast = broadcast
        self._completed = completed
        self._fail_job = fail_job

    def run(self, coordinator: CheckpointCoordinator, instructions: Iterable[events.Instruction]) -> None:
        """Carry out instructions, and those that follow from their outcome."""
        for instruction in instructions:
            match instruction:
                case events.TriggerCheckpoint():
                    self._broadcast(m.TriggerSnapshot(instruction.checkpoint_id, instruction.epoch))
                case events.WriteMetadata():
                    self._write_metadata(coordinator, instruction)
                case events.NotifyComplete():
                    latest = coordinator.latest_completed()
                    if latest is not None and latest.checkpoint_id == instruction.checkpoint_id:
                        self._completed(latest)
                    self._broadcast(m.NotifyComplete(instruction.checkpoint_id))
                case events.NotifyAborted():
                    self._broadcast(m.NotifyAborted(instruction.checkpoint_id))
                case events.DiscardState():
                    self._discard_state(instruction.checkpoint_id, instruction.ack)
                case events.DiscardCheckpoint():
                    self._delete(paths.checkpoint_directory(self._settings.job_id, instruction.checkpoint_id))
                case events.DropCompleted():
                    self.drop(instruction.checkpoint)
                case events.FailJob():
                    self._fail_job(instruction.message)
                case events.ReportSavepointFailure():
                    log.warning(instruction.message)

    def drop(self, checkpoint: CompletedCheckpoint) -> None:
        """Delete a completed checkpoint of this job; one of another job is not ours to delete."""
        stored = checkpoint.location
        assert isinstance(stored, StoredCheckpoint)
        if stored.files is self._settings.checkpoint_files:
            self._delete(stored.directory)

    def remove_job_directory(self) -> None:
        """Delete the directory of this job's checkpoints if there is none left in it."""
        files = self._settings.checkpoint_files
        if files is None:
            return
        try:
            if not files.list(self._settings.job_id):
                files.delete(self._settings.job_id)
        except CheckpointError as error:
            log.warning("%s. The directory is empty and can be deleted by hand", error)

    def _write_metadata(self, coordinator: CheckpointCoordinator, order: events.WriteMetadata) -> None:
        acks = [ack for _, ack in order.acks if isinstance(ack, m.SnapshotDone)]
        positions = order.source_positions
        assert isinstance(positions, list)
        metadata = self._metadata(order, acks, positions)
        files = self._settings.checkpoint_files
        directory = paths.checkpoint_directory(self._settings.job_id, order.checkpoint_id)
        try:
            if files is not None:
                files.create(paths.join(directory, paths.METADATA), encode_metadata(metadata))
        except CheckpointError as error:
            outcome = coordinator.metadata_failed(self._clock.now(), order.checkpoint_id, str(error))
        else:
            stored = StoredCheckpoint(metadata, files, directory)
            outcome = coordinator.metadata_written(self._clock.now(), order.checkpoint_id, stored, metadata.state_size)
        self.run(coordinator, outcome)

    def _metadata(
        self, order: events.WriteMetadata, acks: list[m.SnapshotDone], positions: list[SparkPosition]
    ) -> CheckpointMetadata:
        snapshots = {(ack.handle.slot, op.uid): op for ack in acks for op in ack.operators}
        operators = []
        for node in self._graph.nodes:
            own = [snapshots[slot, node.uid] for slot in range(node.parallelism)]
            lists = sorted({name for snapshot in own for name in snapshot.list_states})
            operators.append(
                OperatorMetadata(
                    uid=node.uid,
                    name=node.name,
                    parallelism=node.parallelism,
                    max_parallelism=node.max_parallelism,
                    keyed_states=sorted({name for snapshot in own for name in snapshot.keyed_states}),
                    list_states={name: [s.list_states.get(name, 0) for s in own] for name in lists},
                )
            )
        return CheckpointMetadata(
            checkpoint_id=order.checkpoint_id,
            job_id=self._settings.job_id,
            job_name=self._settings.job_name,
            timestamp=order.timestamp,
            epoch=order.epoch,
            operators=operators,
            handles=[ack.handle for ack in sorted(acks, key=lambda ack: ack.handle.slot)],
            positions=positions,
            savepoint=order.savepoint,
        )

    def _discard_state(self, checkpoint_id: int, ack: object) -> None:
        if isinstance(ack, m.SnapshotDone) and ack.handle.path is not None:
            self._delete(paths.checkpoint_directory(self._settings.job_id, checkpoint_id))

    def _delete(self, path: str) -> None:
        files = self._settings.checkpoint_files
        if files is None:
            return
        try:
            files.delete(path)
        except CheckpointError as error:
            log.warning("%s. It is no longer needed and can be deleted by hand", error)
