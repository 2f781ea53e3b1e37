"""What is known about one checkpoint, for display: when, how long, how much, by operator and subtask."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import Enum

from rekindle.checkpoint.events import CheckpointFailureReason
from rekindle.checkpoint.slot_snapshot import TaskMeasurement


class CheckpointStatus(Enum):
    """Say how far a checkpoint is."""

    IN_PROGRESS = "in progress"
    COMPLETED = "completed"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class SubtaskStatistics:
    """Describe what a subtask of an operator, which has acknowledged, did for a checkpoint."""

    subtask: int
    ack_timestamp: int
    end_to_end_ms: int
    measured: TaskMeasurement


@dataclass(frozen=True, slots=True)
class TaskStatistics:
    """Describe what the subtasks of one operator did for a checkpoint.

    Attributes:
        uid: The operator.
        parallelism: How many subtasks it has.
        subtasks: Those that have acknowledged, by index.
    """

    uid: str
    parallelism: int
    subtasks: tuple[SubtaskStatistics, ...] = ()

    @property
    def complete(self) -> bool:
        """Return whether all subtasks have acknowledged."""
        return len(self.subtasks) == self.parallelism

    @property
    def latest_ack_timestamp(self) -> int | None:
        """Return the time of the last acknowledgement, None if there is none."""
        return max((subtask.ack_timestamp for subtask in self.subtasks), default=None)

    @property
    def end_to_end_ms(self) -> int | None:
        """Return the time from the trigger to the last acknowledgement, None if there is none."""
        return max((subtask.end_to_end_ms for subtask in self.subtasks), default=None)

    @property
    def state_size(self) -> int:
        """Count the bytes of state."""
        return sum(subtask.measured.state_size for subtask in self.subtasks)

    @property
    def written_size(self) -> int:
        """Count the bytes that were written for the checkpoint."""
        return sum(subtask.measured.written_size for subtask in self.subtasks)


@dataclass(frozen=True, slots=True)
class CheckpointStatistics:
    """Describe one checkpoint.

    Attributes:
        checkpoint_id: The checkpoint's number.
        attempt: The attempt of the job it belonged to.
        status: How far it is.
        savepoint: Whether the user asked for it.
        trigger_timestamp: When it was triggered.
        duration_ms: From the trigger to its end, or to the last acknowledgement so far.
        reason: Why it failed, None if it did not.
        message: More about that reason, empty if there is none.
        size: Bytes written for it, None when not known.
        state_size: Bytes of all its state, what it shares with earlier ones included; None when not known.
        final: Whether the job ends with it.
        exactly_once: Whether it was taken in the mode EXACTLY_ONCE.
        external_path: Where it is, None where it is not (or in memory only).
        discarded: Whether it has been deleted since it completed.
        tasks: What its operators did for it.
    """

    checkpoint_id: int
    attempt: int
    status: CheckpointStatus
    savepoint: bool
    trigger_timestamp: int
    duration_ms: int
    reason: CheckpointFailureReason | None = None
    message: str = ""
    size: int | None = None
    state_size: int | None = None
    final: bool = False
    exactly_once: bool = True
    external_path: str | None = None
    discarded: bool = False
    tasks: tuple[TaskStatistics, ...] = ()

    @property
    def end_timestamp(self) -> int | None:
        """Return the time at which it ended, None while it is in progress."""
        if self.status is CheckpointStatus.IN_PROGRESS:
            return None
        return self.trigger_timestamp + self.duration_ms

    @property
    def latest_ack_timestamp(self) -> int | None:
        """Return the time of the last acknowledgement, None if there is none."""
        return max((subtask.ack_timestamp for subtask in self._subtasks()), default=None)

    @property
    def subtask_count(self) -> int:
        """Count the subtasks that take part."""
        return sum(task.parallelism for task in self.tasks)

    @property
    def acknowledged_count(self) -> int:
        """Count the subtasks that have acknowledged."""
        return sum(len(task.subtasks) for task in self.tasks)

    @property
    def failure_message(self) -> str:
        """Return why it failed, empty if it did not."""
        if self.reason is None:
            return ""
        return f"{self.reason.value} ({self.message})" if self.message else self.reason.value

    def longest(self, part: Callable[[TaskMeasurement], int]) -> int:
        """Return the longest of what the subtasks measured, 0 where nothing was measured."""
        return max((part(subtask.measured) for subtask in self._subtasks()), default=0)

    def _subtasks(self) -> Iterator[SubtaskStatistics]:
        return (subtask for task in self.tasks for subtask in task.subtasks)


@dataclass(frozen=True, slots=True)
class RestoredStatistics:
    """Describe what the slots of an attempt were restored from.

    Attributes:
        checkpoint_id: The checkpoint or savepoint.
        restore_timestamp: When all slots had restored it.
        savepoint: Whether it is a savepoint.
        external_path: Where it is, None: in the job master's memory.
    """

    checkpoint_id: int
    restore_timestamp: int
    savepoint: bool
    external_path: str | None = None
