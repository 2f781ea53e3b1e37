"""The metadata of a savepoint that Spark's tasks have written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rekindle.checkpoint.metadata import (
    CheckpointMetadata,
    ListStateMetadata,
    OperatorMetadata,
    SourcePosition,
    StateHandle,
)
from rekindle.contracts.job.job_id import JobID
from rekindle.state.operator_state.stored import DistributionMode
from rekindle.state_processor.slot_writing import OperatorPlan, WrittenSlot

_FIRST_CHECKPOINT = 1


def metadata_of(
    before: CheckpointMetadata | None,
    plans: Sequence[OperatorPlan],
    modes: Mapping[str, Mapping[str, DistributionMode]],
    written: Sequence[WrittenSlot],
    positions: Sequence[SourcePosition],
    now: int,
) -> CheckpointMetadata:
    """Put together what was written.

    Args:
        before: The metadata of the savepoint that was changed; None: it is a new one.
        plans: The operators.
        modes: How their operator states are dealt out, by uid and name.
        written: What was written for each slot, by its number.
        positions: Where sources stand.
        now: The time.
    """
    kinds = {} if before is None else {operator.uid: operator.source_kind for operator in before.operators}
    return CheckpointMetadata(
        checkpoint_id=_FIRST_CHECKPOINT if before is None else before.checkpoint_id,
        job_id=JobID().to_hex_string() if before is None else before.job_id,
        job_name="state processor" if before is None else before.job_name,
        timestamp=now,
        epoch=0 if before is None else before.epoch,
        operators=[
            _operator(plan, modes.get(plan.uid, {}), written[: plan.parallelism], kinds.get(plan.carried or ""))
            for plan in plans
        ],
        handles=[StateHandle(slot.slot, slot.file, written=slot.file.size) for slot in written],
        positions=list(positions),
        savepoint=True,
    )


def _operator(
    plan: OperatorPlan, modes: Mapping[str, DistributionMode], own: Sequence[WrittenSlot], source_kind: str | None
) -> OperatorMetadata:
    keyed = {name for slot in own for name in slot.keyed_states.get(plan.uid, ())}
    lists = {
        name: ListStateMetadata(mode, [slot.list_items.get(plan.uid, {}).get(name, 0) for slot in own])
        for name, mode in sorted(modes.items())
    }
    return OperatorMetadata(
        plan.uid,
        plan.name,
        plan.parallelism,
        plan.max_parallelism,
        keyed_states=sorted(keyed),
        list_states=lists,
        source_kind=source_kind,
    )
