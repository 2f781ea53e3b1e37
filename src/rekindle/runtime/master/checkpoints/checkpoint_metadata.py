"""Puts together what the metadata of a checkpoint says. Pure."""

from __future__ import annotations

from rekindle.checkpoint.events import WriteMetadata
from rekindle.checkpoint.metadata import CheckpointMetadata, ListStateMetadata, OperatorMetadata, SourcePosition
from rekindle.checkpoint.slot_snapshot import OperatorSnapshot
from rekindle.exceptions import InvalidProgramError
from rekindle.graph.job_graph import JobGraph, JobNode


def checkpoint_metadata(
    order: WriteMetadata, positions: list[SourcePosition], graph: JobGraph, job_id: str, job_name: str
) -> CheckpointMetadata:
    """Describe a checkpoint that all slots have acknowledged.

    Args:
        order: What they have acknowledged it with.
        positions: Where the sources stood at its barrier that the cluster reads.
        graph: What the job runs.
        job_id: The job.
        job_name: Its name.

    Raises:
        InvalidProgramError: If the subtasks of an operator do not agree about its state.
    """
    snapshots = {(slot.handle.slot, own.uid): own for slot in order.snapshots for own in slot.operators}
    operators = []
    for node in graph.nodes:
        if graph.batch and (0, node.uid) not in snapshots:
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
                staged=[staged for snapshot in own for staged in snapshot.staged],
                source_kind=node.transformation.uid_kind if node.transformation.hosted else "",
            )
        )
    return CheckpointMetadata(
        checkpoint_id=order.checkpoint_id,
        job_id=job_id,
        job_name=job_name,
        timestamp=order.timestamp,
        epoch=order.epoch,
        operators=operators,
        handles=[slot.handle for slot in order.snapshots],
        positions=positions,
        savepoint=order.savepoint,
    )


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
