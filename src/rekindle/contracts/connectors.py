"""What a source and a sink are: the interfaces behind ``from_source`` and ``sink_to``.

A sink takes part in two-phase commit: what it wrote since the last barrier becomes *pending* at the next one
(:meth:`SinkWriter.prepare_commit`) and visible when that checkpoint is complete (:meth:`SinkWriter.commit`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic

from rekindle.base.type_variables import IN, OUT

if TYPE_CHECKING:
    from rekindle.base.clock import Clock
    from rekindle.types.type_information import TypeInformation

__all__ = ["Sink", "SinkWriter", "SinkWriterContext", "Source"]


class Source(Generic[OUT]):
    """A description of where records come from, for ``env.from_source``.

    Attributes:
        type_info: The type of the records, if the source knows it.
    """

    type_info: TypeInformation | None = None

    @property
    def kind(self) -> str:
        """Return what uids are derived from: it has to stay the same as long as positions of the source are kept."""
        return type(self).__name__


@dataclass(frozen=True, slots=True)
class SinkWriterContext:
    """Where a writer runs.

    Attributes:
        subtask: Index of this writer, counted from 0.
        parallelism: Number of writers.
        attempt: How often the job was restarted before.
        lineage: Name of this sink in this run of the job, the same after every restart and restore.
        clock: The time.
        type_info: The type of the records, None if the program gave none.
        job_id: The job. Others that were started from the same savepoint share the lineage, and may run, too.
        successor_of: The job from whose checkpoint this one was started: it is over. Empty: there is none.
    """

    subtask: int
    parallelism: int
    attempt: int
    lineage: str
    clock: Clock
    type_info: TypeInformation | None = None
    job_id: str = ""
    successor_of: str = ""


class SinkWriter(ABC, Generic[IN]):
    """Write the records of one subtask. All methods are called by one thread at a time."""

    @abstractmethod
    def write(self, values: list[IN], timestamps: list[int | None] | None) -> None:
        """Write records; they may not be visible outside before :meth:`commit`."""

    def end_input(self) -> None:
        """Learn that no record follows: the next :meth:`prepare_commit` is the last, and leaves nothing behind."""

    @abstractmethod
    def prepare_commit(self, checkpoint_id: int) -> list[bytes]:
        """Make what was written since the last call durable but not visible, at the barrier.

        If it raises, and the job tolerates failed checkpoints, it is called again for the next one: then it has to
        prepare what the failed call has left, too.

        Returns:
            One committable for each thing to be made visible; they are kept in the checkpoint.

        Raises:
            OutputLostError: Something is lost for good. The job goes back to its last checkpoint whatever it tolerates.
        """

    @abstractmethod
    def commit(self, committables: list[bytes]) -> None:
        """Make committables visible. Called again after a failure: what is visible already stays as it is."""

    def keep(self, committables: list[bytes]) -> None:
        """Let :meth:`abort_leftovers` not remove committables: a savepoint refers to them, whatever becomes of the job.

        They may still be committed, or never. Nothing to do where nothing is removed.
        """

    @abstractmethod
    def abort_leftovers(self) -> None:
        """Remove what an earlier attempt of this lineage left invisible.

        Called once, before the first record and after everything in the restored checkpoint has been committed. This
        writer is responsible for all earlier subtasks whose index modulo the parallelism is its own.
        """

    @abstractmethod
    def close(self) -> None:
        """Release what is open; nothing becomes visible by it."""


class Sink(ABC, Generic[IN]):
    """A description of where records go, for ``stream.sink_to``."""

    @abstractmethod
    def create_writer(self, context: SinkWriterContext) -> SinkWriter[IN]:
        """Create the writer of one subtask, in its slot."""
