"""Carries out what the checkpoint coordinator decides: files are written and deleted here, slots are told."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence

from rekindle.checkpoint import events, paths
from rekindle.checkpoint.completed_checkpoint import CompletedCheckpoint
from rekindle.checkpoint.coordinator import CheckpointCoordinator
from rekindle.checkpoint.failure_messages import checkpoint_failed
from rekindle.checkpoint.job_directory import JobCheckpointDirectory
from rekindle.checkpoint.metadata import (
    CheckpointMetadata,
    ListStateMetadata,
    OperatorMetadata,
    SparkPosition,
    encode_metadata,
)
from rekindle.checkpoint.slot_snapshot import OperatorSnapshot
from rekindle.checkpoint.stored_checkpoint import StoredCheckpoint
from rekindle.exceptions import CheckpointError, InvalidProgramError
from rekindle.graph.job_graph import JobGraph, JobNode
from rekindle.ha.ownership import JobOwnership
from rekindle.runtime.clock import Clock
from rekindle.runtime.master.job_settings import JobSettings
from rekindle.runtime.master.savepoints import SavepointRequest, Savepoints
from rekindle.runtime.master.takeover import references
from rekindle.runtime.wire import messages as m

log = logging.getLogger(__name__)

_METADATA_FAILED = events.CheckpointFailureReason.METADATA_WRITE_FAILED


class CheckpointExecutor:
    """Stand between the pure coordinator and the world. The caller holds the job master's lock.

    Args:
        settings: The job's.
        graph: The job.
        clock: Tells the time.
        broadcast: Tells all slots something.
        completed: Is told of a completed checkpoint that a restart may go back to.
        fail_job: Is told why the job must fail.
        directory: The job's checkpoints; its own for a job with one attempt.
        savepoints: The savepoints that were asked for.
        ownership: Who owns the job.
        failed: Is told of a checkpoint that failed, if the job can do without it: which, the reason, and all in words.
        positions: Reads where Spark's sources stand.
    """

    def __init__(
        self,
        settings: JobSettings,
        graph: JobGraph,
        clock: Clock,
        broadcast: Callable[[m.ToSlot], None],
        completed: Callable[[CompletedCheckpoint], None],
        fail_job: Callable[[events.FailJob], None],
        directory: JobCheckpointDirectory | None = None,
        savepoints: Savepoints | None = None,
        ownership: JobOwnership | None = None,
        failed: Callable[[int, str, str], None] | None = None,
        positions: Callable[[], list[SparkPosition]] = list,
    ) -> None:
        self._settings = settings
        self._graph = graph
        self._clock = clock
        self._broadcast = broadcast
        self._completed = completed
        self._fail_job = fail_job
        self._directory = directory or JobCheckpointDirectory(settings.checkpoint_files, settings.job_id)
        self._savepoints = savepoints or Savepoints(settings.job_id)
        self._ownership = ownership or JobOwnership(clock)
        self._failed = failed or (lambda checkpoint_id, reason, text: None)
        self._read_positions = positions
        self._positions: dict[int, list[SparkPosition]] = {}  # of the checkpoints under way

    def run(self, coordinator: CheckpointCoordinator, instructions: Iterable[events.Instruction]) -> None:
        """Carry out instructions, and those that follow from their outcome."""
        instructions = list(instructions)
        self._tell_failures(instructions)
        for instruction in instructions:
            match instruction:
                case events.TriggerCheckpoint():
                    self._trigger(instruction)
                case events.WriteMetadata():
                    self._write_metadata(coordinator, instruction)
                case events.NotifyComplete():
                    self._notify_complete(coordinator, instruction)
                case events.NotifyAborted():
                    self._positions.pop(instruction.checkpoint_id, None)
                    self._broadcast(m.NotifyAborted(instruction.checkpoint_id))
                case events.DiscardState(checkpoint_id, snapshot):
                    if snapshot is None or snapshot.has_files():
                        self._discard(checkpoint_id)
                case events.DiscardCheckpoint():
                    self._discard(instruction.checkpoint_id)
                case events.DropCompleted():
                    self._directory.drop(instruction.checkpoint.location, instruction.checkpoint.claimed)
                case events.FailJob():
                    self._fail_job(instruction)
                case events.ReportSavepointFailure():
                    log.warning(instruction.message)
                    self._savepoints.failed(instruction.checkpoint_id, instruction.message)

    def _tell_failures(self, instructions: Sequence[events.Instruction]) -> None:
        """Tell of each checkpoint that failed; one that fails the job is told of by the job's failure."""
        fatal = {order.checkpoint_id for order in instructions if isinstance(order, events.FailJob)}
        for order in instructions:
            if not isinstance(order, events.NotifyAborted) or not order.reason.counts_as_failure:
                continue
            number = order.checkpoint_id
            if number not in fatal and self._savepoints.find(number) is None:
                self._failed(number, order.reason.name, checkpoint_failed(number, order.reason, order.detail))

    def _trigger(self, order: events.TriggerCheckpoint) -> None:
        self._positions[order.checkpoint_id] = self._read_positions()
        request = self._savepoints.find(order.checkpoint_id)
        location = None if request is None else request.location
        self._broadcast(m.TriggerSnapshot(order.checkpoint_id, order.epoch, order.base_id, location, order.timestamp))

    def _notify_complete(self, coordinator: CheckpointCoordinator, order: events.NotifyComplete) -> None:
        latest = coordinator.latest_completed()
        if latest is not None and latest.checkpoint_id == order.checkpoint_id:
            self._completed(latest)
        in_passing = order.savepoint and not order.is_restore_point
        if in_passing:
            self._savepoints.written(order.checkpoint_id, self._graph.slots)
        self._broadcast(m.NotifyComplete(order.checkpoint_id, order.is_restore_point))
        if order.savepoint and not in_passing:
            self._savepoints.completed(order.checkpoint_id)

    def notified(self, slot: int, checkpoint_id: int) -> None:
        """Learn that a slot has done what the completion of a checkpoint, or of a savepoint, asks of it."""
        self._savepoints.made_safe(checkpoint_id, slot)

    def attempt_ended(self, output_committed: bool) -> None:
        """Settle what becomes of savepoints that not all slots have heard of.

        Args:
            output_committed: Whether all output was committed at the end: then nothing can be removed any more.
        """
        for checkpoint_id in self._savepoints.give_up_unsafe():
            if output_committed:
                self._savepoints.completed(checkpoint_id)
            else:
                self._discard(checkpoint_id)
                self._savepoints.failed(
                    checkpoint_id, "the job was interrupted before the output that the savepoint refers to was safe"
                )

    def _write_metadata(self, coordinator: CheckpointCoordinator, order: events.WriteMetadata) -> None:
        request = self._savepoints.find(order.checkpoint_id)
        try:
            metadata = self._metadata(order)
            stored = self._directory.commit(metadata) if request is None else _commit(request, metadata)
            self._note(coordinator, order, stored)
        except (CheckpointError, InvalidProgramError) as error:
            reason = _METADATA_FAILED if error.curable else events.CheckpointFailureReason.UNWRITABLE
            then = coordinator.metadata_failed(self._clock.now(), order.checkpoint_id, str(error), reason)
        else:
            then = coordinator.metadata_written(self._clock.now(), order.checkpoint_id, stored)
        self.run(coordinator, then)

    def _note(self, coordinator: CheckpointCoordinator, order: events.WriteMetadata, stored: StoredCheckpoint) -> None:
        """Let other drivers of this job know what they have to go on from, unless it was given up meanwhile."""
        if not self._ownership.shared or order.checkpoint_id not in coordinator.pending_ids():
            return
        if order.savepoint and not order.final:
            self._ownership.check()
        else:
            retained = self._settings.checkpoints.num_retained
            self._ownership.commit(references(coordinator.completed(), stored, retained))

    def _metadata(self, order: events.WriteMetadata) -> CheckpointMetadata:
        snapshots = {(slot.handle.slot, own.uid): own for slot in order.snapshots for own in slot.operators}
        operators = []
        for node in self._graph.nodes:
            if self._graph.batch and (0, node.uid) not in snapshots:
                continue  # a batch keeps what its sinks have to commit, and no state
            own = [snapshots[slot, node.uid] for slot in range(node.parallelism)]
            operators.append(
                OperatorMetadata(
                    uid=node.uid,
                    name=node.name,
                    parallelism=node.parallelism,
                    max_parallelism=node.max_parallelism,
                    keyed_states=sorted({name for snapshot in own for name in snapshot.keyed_states}),
                    list_states=_list_states(node, own),
                )
            )
        return CheckpointMetadata(
            checkpoint_id=order.checkpoint_id,
            job_id=self._settings.job_id,
            job_name=self._settings.job_name,
            timestamp=order.timestamp,
            epoch=order.epoch,
            operators=operators,
            handles=[slot.handle for slot in order.snapshots],
            positions=self._positions.pop(order.checkpoint_id),
            savepoint=order.savepoint,
        )

    def _discard(self, checkpoint_id: int) -> None:
        request = self._savepoints.find(checkpoint_id)
        if request is None:
            self._directory.discard(checkpoint_id)
            return
        if not self._directory.may_delete():
            return
        try:
            request.files.delete(paths.METADATA)  # first, so that nobody takes what is left for a savepoint
            request.files.delete("")
        except CheckpointError as error:
            log.warning("%s. What is left of the savepoint can be deleted by hand", error)


def _list_states(node: JobNode, snapshots: list[OperatorSnapshot]) -> dict[str, ListStateMetadata]:
    """Put together what the subtasks of an operator wrote of its list states, by name."""
    result: dict[str, ListStateMetadata] = {}
    for name in sorted({name for snapshot in snapshots for name in snapshot.list_states}):
        sizes = [snapshot.list_states.get(name) for snapshot in snapshots]
        modes = sorted({size.mode for size in sizes if size is not None})
        if len(modes) > 1:
            raise InvalidProgramError(
                f"state {name!r} of operator {node.name!r} (uid {node.uid}) is {' and '.join(modes)} state in "
                "different subtasks; let all subtasks ask for it in the same way"
            )
        result[name] = ListStateMetadata(modes[0], [0 if size is None else size.items for size in sizes])
    return result


def _commit(request: SavepointRequest, metadata: CheckpointMetadata) -> StoredCheckpoint:
    request.files.create(paths.METADATA, encode_metadata(metadata))
    return StoredCheckpoint(metadata, request.files, "")
