"""The interfaces by which a function takes part in checkpoints.

They are mixed into a function: ``class BufferingSink(SinkFunction, CheckpointedFunction)``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rekindle.contracts.functions.runtime_context import KeyedStateStore
    from rekindle.contracts.state import OperatorStateStore

__all__ = [
    "CheckpointListener",
    "CheckpointedFunction",
    "FunctionInitializationContext",
    "FunctionSnapshotContext",
    "ListCheckpointed",
]


class FunctionInitializationContext(ABC):
    """The state stores of a function while it is being set up."""

    @abstractmethod
    def is_restored(self) -> bool:
        """Return True if the job was started from a checkpoint or savepoint, or recovered from one.

        So it is, too, for a function that was not in the job then, and has no state.
        """

    @abstractmethod
    def get_restored_checkpoint_id(self) -> int | None:
        """Return the id of the checkpoint that was restored, None if there was none."""

    @abstractmethod
    def get_operator_state_store(self) -> OperatorStateStore:
        """Return the store of the state that belongs to the subtask, not to a key."""

    @abstractmethod
    def get_keyed_state_store(self) -> KeyedStateStore:
        """Return the store of keyed state; its states are read and written while elements are processed.

        On a stream without a key every method of it raises ``StateAccessError``.
        """


class FunctionSnapshotContext(ABC):
    """Describe the checkpoint for which a function is asked to snapshot."""

    @abstractmethod
    def get_checkpoint_id(self) -> int:
        """Return the checkpoint's id; later checkpoints have higher ones."""

    @abstractmethod
    def get_checkpoint_timestamp(self) -> int:
        """Return when the checkpoint was triggered, in milliseconds since the epoch."""


class CheckpointedFunction(ABC):
    """Keep operator state: set it up before ``open``, bring it up to date at every checkpoint."""

    @abstractmethod
    def initialize_state(self, context: FunctionInitializationContext) -> None:
        """Get state handles, and read them back if ``context.is_restored()``; called before ``open``."""

    @abstractmethod
    def snapshot_state(self, context: FunctionSnapshotContext) -> None:
        """Write into the state handles what the checkpoint is to hold; no element is processed meanwhile.

        There is no current key: keyed state cannot be used here. An exception fails the attempt, and the job restarts.
        """


class ListCheckpointed(ABC):
    """Keep operator state as one list, the short way; its items are dealt out anew when rescaled."""

    @abstractmethod
    def snapshot_state(self, checkpoint_id: int, timestamp: int) -> list[Any]:
        """Return this subtask's state as a list of items that can be dealt out one by one.

        Args:
            checkpoint_id: The checkpoint's id.
            timestamp: When it was triggered, in milliseconds since the epoch.
        """

    @abstractmethod
    def restore_state(self, state: list[Any]) -> None:
        """Accept the items of this subtask; called before ``open``, only after a restore."""


class CheckpointListener(ABC):  # noqa: B024 - both notifications are optional
    """Is told how checkpoints end, to commit or undo external effects.

    A notification may be lost in a failure, never the completion itself: a notification for checkpoint n
    covers all earlier ones. A savepoint of a job that continues is not reported as complete: a failure leads back to
    a checkpoint before it.
    """

    def notify_checkpoint_complete(self, checkpoint_id: int) -> None:  # noqa: B027
        """React to a completed checkpoint; does nothing by default."""

    def notify_checkpoint_aborted(self, checkpoint_id: int) -> None:  # noqa: B027
        """React to a checkpoint that will not complete; does nothing by default."""
