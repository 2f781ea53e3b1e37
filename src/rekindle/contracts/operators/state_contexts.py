"""What an operator is given when its state is set up and when it is written: managed state, and raw bytes."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from typing import BinaryIO, NamedTuple, Protocol

from rekindle.contracts.functions.checkpointed_function import FunctionInitializationContext, FunctionSnapshotContext

__all__ = [
    "KeyGroupStatePartition",
    "KeyedStateCheckpointOutputStream",
    "OperatorStateCheckpointOutputStream",
    "StateInitializationContext",
    "StateSnapshotContext",
]


class KeyGroupStatePartition(NamedTuple):
    """What an operator wrote for a key group."""

    key_group: int
    stream: BinaryIO


class StateInitializationContext(FunctionInitializationContext):
    """The state of an operator before it is opened."""

    @abstractmethod
    def get_raw_keyed_state_inputs(self) -> Iterable[KeyGroupStatePartition]:
        """Return what was written for each key group that this subtask has now, whichever subtask had it."""

    @abstractmethod
    def get_raw_operator_state_inputs(self) -> Iterable[BinaryIO]:
        """Return the partitions that fall to this subtask: its own, or an even share after a rescale."""


class KeyedStateCheckpointOutputStream(Protocol):
    """Receives the bytes of key groups, one after the other."""

    def start_new_key_group(self, key_group: int) -> None:
        """Begin with a key group of this subtask; each can be written once."""
        ...

    def get_key_group_list(self) -> Iterable[int]:
        """Return the key groups of this subtask."""
        ...

    def write(self, data: bytes) -> int:
        """Add bytes to the key group begun last."""
        ...


class OperatorStateCheckpointOutputStream(Protocol):
    """Receives the bytes of partitions, which are distributed to the subtasks on a rescale, each as a whole."""

    def start_new_partition(self) -> None:
        """Begin with a partition."""
        ...

    def write(self, data: bytes) -> int:
        """Add bytes to the partition begun last; the first need not be begun."""
        ...


class StateSnapshotContext(FunctionSnapshotContext):
    """Describe a checkpoint to an operator, and take what it writes itself."""

    @abstractmethod
    def get_raw_keyed_operator_state_output(self) -> KeyedStateCheckpointOutputStream:
        """Return the stream of raw keyed state, on a keyed stream only."""

    @abstractmethod
    def get_raw_operator_state_output(self) -> OperatorStateCheckpointOutputStream:
        """Return the stream of raw operator state."""
