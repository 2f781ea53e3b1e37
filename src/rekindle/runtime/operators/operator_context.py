"""What an operator is opened with: where it runs, what it can use there and what was restored for it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

from rekindle.base.clock import Clock
from rekindle.checkpoint.row_staging import RowStaging
from rekindle.metrics import MetricGroup
from rekindle.runtime.accumulated import SlotAccumulators
from rekindle.runtime.operators.event_loop import EventLoopThread
from rekindle.runtime.operators.restored_operator_state import RestoredOperatorState
from rekindle.state.keyed_backend import KeyedStateBackend


@dataclass(frozen=True, slots=True)
class TaskInfo:
    """Identify a subtask of an operator.

    Attributes:
        uid: The operator's uid.
        name: The operator's name.
        subtask: Which subtask it is, counted from 0.
        parallelism: How many subtasks there are.
        max_parallelism: The number of key groups.
        attempt: How often the job was restarted before.
    """

    uid: str
    name: str
    subtask: int
    parallelism: int
    max_parallelism: int
    attempt: int = 0


@dataclass(frozen=True, slots=True)
class JobInfo:
    """Describe the job, as far as operators go by it.

    Attributes:
        job_id: The job's id.
        checkpointing: Whether it takes checkpoints.
        batch: Whether it is a batch, whose only checkpoint is at its end.
        watermark_interval_ms: How often periodic watermarks are asked for; 0: never.
        show_records: Whether errors name records.
        successor_of: The job from whose checkpoint it was started, which is over; empty: there is none.
    """

    job_id: str
    checkpointing: bool = False
    batch: bool = False
    watermark_interval_ms: int = 200
    show_records: bool = True
    successor_of: str = ""


@dataclass(frozen=True, slots=True)
class SlotServices:
    """Hold what all operators of a slot share.

    Attributes:
        clock: Tells the processing time.
        event_loop: For operators that wait for something outside.
        request_epoch: Called, by any thread, when there is something to emit and no epoch may come by itself.
        fresh_directory: Makes a directory on local disk that goes with the attempt, given what for.
        staging: Where rows for the driver go; None: no sink has any.
        steady: Tells how much time has passed, whoever sets the clock; None: that one does.
    """

    clock: Clock
    event_loop: EventLoopThread
    request_epoch: Callable[[], None]
    fresh_directory: Callable[[str], str]
    staging: RowStaging | None = None
    steady: Clock | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FunctionEnvironment:
    """Hold what a user function can learn about where it runs.

    Attributes:
        task: The subtask.
        job_parameters: The global job parameters.
        metrics: The group of what the function counts and measures.
        superstep: Gives the number of the round; None outside of iterations that have rounds.
        accumulators: Those of the slot.
    """

    task: TaskInfo
    job_parameters: dict[str, str]
    metrics: MetricGroup
    superstep: Callable[[], int] | None = None
    accumulators: SlotAccumulators = field(default_factory=SlotAccumulators)


class KeyedBackendFactory(Protocol):
    """Makes the backend of an operator's keyed state."""

    def __call__(self, *, on_heap: bool = False) -> KeyedStateBackend:
        """Make it, restored.

        Args:
            on_heap: Whether it is on the heap, whatever backend the job has set.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorContext(FunctionEnvironment):
    """Hold what an operator is opened with.

    Attributes:
        job: The job.
        slot: What the slot offers to its operators.
        keyed_backend: Makes the backend of keyed state, restored.
        to_driver: Sends bytes to a channel of the driver.
        restored: What else was restored.
    """

    job: JobInfo
    slot: SlotServices
    keyed_backend: KeyedBackendFactory
    to_driver: Callable[[str, bytes], None]
    restored: RestoredOperatorState
