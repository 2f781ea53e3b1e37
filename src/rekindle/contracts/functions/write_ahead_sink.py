"""A sink that keeps records in the checkpoint, and sends them when it is complete: for systems without transactions."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Generic

from rekindle.base.type_variables import T
from rekindle.contracts.functions.rich_function import RichFunction

if TYPE_CHECKING:
    from rekindle.types.type_information import TypeInformation

__all__ = ["CheckpointCommitter", "GenericWriteAheadSink"]


class CheckpointCommitter(ABC):
    """Remember outside of the job which checkpoints of which subtask were sent, for a :class:`GenericWriteAheadSink`.

    It is pickled with its sink, so it connects in :meth:`open`, not in ``__init__``.

    Attributes:
        job_id: The job whose checkpoints are meant.
        operator_id: The sink whose checkpoints are meant, its uid.
    """

    job_id: str = ""
    operator_id: str = ""

    def set_job_id(self, job_id: str) -> None:
        """Set the job; called by the system, before everything else.

        After a restore by another job, what the checkpoint holds is asked for under the job that wrote it: checkpoint
        ids count within a job.
        """
        self.job_id = job_id

    def set_operator_id(self, operator_id: str) -> None:
        """Set the sink; called by the system, before everything else."""
        self.operator_id = operator_id

    @abstractmethod
    def create_resource(self) -> None:
        """Create what the committer writes to, such as a table, if it is not there; comes before :meth:`open`."""

    @abstractmethod
    def open(self) -> None:
        """Connect."""

    @abstractmethod
    def close(self) -> None:
        """Release what :meth:`open` acquired."""

    @abstractmethod
    def commit_checkpoint(self, subtask: int, checkpoint_id: int) -> None:
        """Remember that a subtask's records of a checkpoint were sent, and that those of all earlier ones were."""

    @abstractmethod
    def is_checkpoint_committed(self, subtask: int, checkpoint_id: int) -> bool:
        """Return whether a subtask's records of a checkpoint are known to be sent."""


class GenericWriteAheadSink(RichFunction, Generic[T]):
    """Send records when the checkpoint that holds them is complete, for ``add_sink``.

    Records wait in memory until the barrier, and then in the checkpoint. A crash between :meth:`send_values` and the
    committer's note of it sends the same values again, with the same checkpoint id: they are delivered at least once,
    and exactly once if sending them again changes nothing.

    Attributes:
        committer: Remembers what was sent.
        value_type: The type of records in checkpoints; None: that of the stream, or they are pickled.
    """

    def __init__(self, committer: CheckpointCommitter, value_type: TypeInformation | None = None) -> None:
        """Describe the sink.

        Args:
            committer: Remembers what was sent.
            value_type: The type of records; None: that of the stream, and without one they are pickled.
        """
        self.committer = committer
        self.value_type = value_type

    @abstractmethod
    def send_values(self, values: list[T], checkpoint_id: int, timestamp: int) -> bool:
        """Send the records of one subtask up to a checkpoint.

        Args:
            values: The records, in their order, at least one.
            checkpoint_id: The checkpoint.
            timestamp: When it was triggered, in milliseconds since the epoch: the same if they are sent again.

        Returns:
            Whether all were accepted. If not, they are sent again when the next checkpoint is complete, before its
            own. At the end of the job there is no next one: then the job fails, and restarts from its last checkpoint.
        """
