"""What a slot acknowledges a checkpoint with: where its state is, and what its operators put into it."""

from __future__ import annotations

from dataclasses import dataclass

import msgspec

from rekindle.checkpoint.metadata import StagedRows, StateHandle
from rekindle.state.operator_state.stored import DistributionMode


class ListStateSize(msgspec.Struct, frozen=True, array_like=True):
    """Say how many items an operator state has in a snapshot, and how they are dealt out."""

    mode: DistributionMode
    items: int


class OperatorSnapshot(msgspec.Struct, frozen=True):
    """Say what an operator put into a snapshot, and what that cost."""

    uid: str
    keyed_states: list[str]
    list_states: dict[str, ListStateSize]
    sync_ms: int = 0  # the slot stood still for it
    async_ms: int = 0  # encoding and storing beside the next epochs
    size: int = 0  # bytes of its state
    written: int = 0  # of these, stored for this checkpoint
    staged: list[StagedRows] = []  # for the driver to commit


@dataclass(frozen=True, slots=True)
class TaskMeasurement:
    """Hold what a slot measured of one operator in one snapshot.

    Attributes:
        uid: The operator.
        start_delay_ms: From the trigger until the slot knew of the checkpoint.
        alignment_ms: From then until the slot was between two chunks of records, and took the snapshot.
        sync_ms: How long the slot stood still for this operator.
        async_ms: How long its state was encoded and stored beside the next epochs.
        state_size: Bytes of its state, those stored for earlier checkpoints included.
        written_size: Bytes that were stored for this checkpoint.
    """

    uid: str
    start_delay_ms: int = 0
    alignment_ms: int = 0
    sync_ms: int = 0
    async_ms: int = 0
    state_size: int = 0
    written_size: int = 0


@dataclass(frozen=True, slots=True)
class SlotSnapshot:
    """The snapshot of one slot, which is safe.

    Attributes:
        handle: Where its state is.
        operators: What each operator put into it.
        start_delay_ms: From the trigger until the slot knew of the checkpoint.
        alignment_ms: From then until the slot was between two chunks of records, and took the snapshot.
    """

    handle: StateHandle
    operators: tuple[OperatorSnapshot, ...] = ()
    start_delay_ms: int = 0
    alignment_ms: int = 0

    def has_files(self) -> bool:
        """Return whether some of it is in files of the checkpoint storage."""
        return any(file.path is not None for file in self.handle.files())

    def measurements(self) -> tuple[TaskMeasurement, ...]:
        """Return what the slot measured of its operators."""
        return tuple(
            TaskMeasurement(
                uid=operator.uid,
                start_delay_ms=self.start_delay_ms,
                alignment_ms=self.alignment_ms,
                sync_ms=operator.sync_ms,
                async_ms=operator.async_ms,
                state_size=operator.size,
                written_size=operator.written,
            )
            for operator in self.operators
        )
