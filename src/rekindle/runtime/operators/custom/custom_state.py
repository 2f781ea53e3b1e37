"""The contexts in which a custom operator reads and writes its state, raw state among it."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator
from typing import BinaryIO

import msgspec

from rekindle.contracts.functions.runtime_context import KeyedStateStore
from rekindle.contracts.key_groups import KeyGroupRange
from rekindle.contracts.operators.state_contexts import (
    KeyedStateCheckpointOutputStream,
    KeyGroupStatePartition,
    OperatorStateCheckpointOutputStream,
    StateInitializationContext,
    StateSnapshotContext,
)
from rekindle.contracts.state import OperatorStateStore
from rekindle.exceptions import StateAccessError
from rekindle.runtime.operators.operator_context import OperatorContext
from rekindle.state.operator_state.backend import FINISHED
from rekindle.state.operator_state.stored import DistributionMode, StoredList

RAW_PARTITIONS = "_raw-partitions"
"""The list state in which raw operator state is kept: an item is a partition."""


class Finished:
    """Remember that ``finish`` was called: a job that is restored after that does not call it again.

    With another parallelism it is called again, unless all old subtasks were finished.

    Attributes:
        now: Whether the input has ended, and no record has come since.
    """

    def __init__(self, context: OperatorContext) -> None:
        self._own = context.task.subtask, context.task.parallelism
        before = self.read(context.restored.lists.get(FINISHED))
        self.now = self._own in before or any(len(before) == parallelism for _, parallelism in before)
        if context.job.batch and context.restored.checkpoint_id is not None:
            self.now = True  # all that is left to do is to commit

    def lists(self) -> dict[str, StoredList]:
        """Return what is part of a snapshot."""
        if not self.now:
            return {}
        return {FINISHED: StoredList.of(DistributionMode.UNION, [msgspec.msgpack.encode(self._own)])}

    @staticmethod
    def read(stored: StoredList | None) -> list[tuple[int, int]]:
        """Read which subtasks had finished, of how many."""
        return [] if stored is None else [msgspec.msgpack.decode(item, type=tuple[int, int]) for item in stored.items]

    @staticmethod
    def others(lists: dict[str, StoredList]) -> dict[str, StoredList]:
        """Return the other states of an operator."""
        return {name: stored for name, stored in lists.items() if name != FINISHED}


class InitializationContext(StateInitializationContext):
    """Give an operator its state."""

    def __init__(self, context: OperatorContext, store: OperatorStateStore, keyed: KeyedStateStore) -> None:
        self._context = context
        self._store = store
        self._keyed = keyed

    def is_restored(self) -> bool:
        return self._context.restored.checkpoint_id is not None

    def get_restored_checkpoint_id(self) -> int | None:
        return self._context.restored.checkpoint_id

    def get_operator_state_store(self) -> OperatorStateStore:
        return self._store

    def get_keyed_state_store(self) -> KeyedStateStore:
        return self._keyed

    def get_raw_keyed_state_inputs(self) -> Iterator[KeyGroupStatePartition]:
        for key_group, data in sorted(self._context.restored.raw):
            yield KeyGroupStatePartition(key_group, io.BytesIO(data))

    def get_raw_operator_state_inputs(self) -> Iterator[BinaryIO]:
        return map(io.BytesIO, self._context.restored.items(RAW_PARTITIONS))


class SnapshotContext(StateSnapshotContext):
    """Take what an operator writes for a checkpoint."""

    def __init__(self, checkpoint_id: int, timestamp: int, operator: str, key_groups: KeyGroupRange | None) -> None:
        self._checkpoint_id = checkpoint_id
        self._timestamp = timestamp
        self._operator = operator
        self._key_groups = key_groups
        self.keyed: _KeyGroupsOutput | None = None
        self.partitions = _PartitionsOutput()

    def get_checkpoint_id(self) -> int:
        return self._checkpoint_id

    def get_checkpoint_timestamp(self) -> int:
        return self._timestamp

    def get_raw_keyed_operator_state_output(self) -> KeyedStateCheckpointOutputStream:
        if self._key_groups is None:
            raise StateAccessError(
                f"raw keyed state can be written only on a keyed stream, and the input of operator {self._operator!r} "
                "has no key: call key_by(...) before it, or write raw operator state"
            )
        if self.keyed is None:
            self.keyed = _KeyGroupsOutput(self._operator, self._key_groups)
        return self.keyed

    def get_raw_operator_state_output(self) -> OperatorStateCheckpointOutputStream:
        return self.partitions


class _KeyGroupsOutput:
    def __init__(self, operator: str, key_groups: KeyGroupRange) -> None:
        self._operator = operator
        self._key_groups = key_groups
        self._written: dict[int, io.BytesIO] = {}
        self._current: io.BytesIO | None = None

    def start_new_key_group(self, key_group: int) -> None:
        if key_group not in self._key_groups:
            raise ValueError(
                f"operator {self._operator!r} wrote raw state of key group {key_group}, and has the key groups "
                f"{self._key_groups.start} to {self._key_groups.end}"
            )
        if key_group in self._written:
            raise ValueError(f"operator {self._operator!r} began twice with raw state of key group {key_group}")
        self._current = self._written[key_group] = io.BytesIO()

    def get_key_group_list(self) -> Iterable[int]:
        return self._key_groups

    def write(self, data: bytes) -> int:
        if self._current is None:
            raise ValueError(
                f"operator {self._operator!r} wrote raw keyed state before it began with a key group: call "
                "start_new_key_group first"
            )
        return self._current.write(data)

    def written(self) -> list[tuple[int, bytes]]:
        """Return the bytes of each key group that was begun."""
        return [(key_group, stream.getvalue()) for key_group, stream in self._written.items()]


class _PartitionsOutput:
    def __init__(self) -> None:
        self._written: list[io.BytesIO] = []

    def start_new_partition(self) -> None:
        self._written.append(io.BytesIO())

    def write(self, data: bytes) -> int:
        if not self._written:
            self.start_new_partition()
        return self._written[-1].write(data)

    def written(self) -> list[bytes]:
        """Return the bytes of each partition."""
        return [stream.getvalue() for stream in self._written]
