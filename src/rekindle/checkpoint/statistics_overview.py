"""All that is known about the checkpoints of a job at one moment, for display."""

from __future__ import annotations

from dataclasses import dataclass, field

from rekindle.checkpoint.distribution import Distribution
from rekindle.checkpoint.statistics import CheckpointStatistics, RestoredStatistics


@dataclass(frozen=True, slots=True)
class CheckpointCounts:
    """Count the checkpoints and savepoints of a job over all its attempts.

    Attributes:
        restored: How often slots were restored from one.
        total: How many were triggered.
        in_progress: How many of them are under way.
        completed: How many of them completed.
        failed: How many of them failed, for whatever reason.
    """

    restored: int = 0
    total: int = 0
    in_progress: int = 0
    completed: int = 0
    failed: int = 0


@dataclass(frozen=True, slots=True)
class CheckpointSummary:
    """Sum up all completed checkpoints and savepoints.

    Attributes:
        duration: From the trigger to the end, in milliseconds.
        state_size: Bytes of all state.
        written_size: Bytes written.
        start_delay: The longest of all subtasks', from the trigger until the slot knew of it.
        alignment: The longest of all subtasks', from then until the slot was between two chunks.
        sync: The longest synchronous part of all subtasks.
        asynchronous: The longest asynchronous part of all subtasks.
    """

    duration: Distribution = field(default_factory=Distribution)
    state_size: Distribution = field(default_factory=Distribution)
    written_size: Distribution = field(default_factory=Distribution)
    start_delay: Distribution = field(default_factory=Distribution)
    alignment: Distribution = field(default_factory=Distribution)
    sync: Distribution = field(default_factory=Distribution)
    asynchronous: Distribution = field(default_factory=Distribution)


@dataclass(frozen=True, slots=True)
class CheckpointsOverview:
    """Describe the checkpoints of a job.

    Attributes:
        counts: How many there are of which kind.
        summary: How long they took, and how large they are.
        in_progress: Those under way, oldest first.
        ended: Those that ended last, oldest first; as many as ``web.checkpoints.history`` says.
        latest_completed: The newest completed checkpoint that is no savepoint.
        latest_savepoint: The newest completed savepoint.
        latest_failed: The one that failed last.
        latest_restored: What slots were restored from last.
    """

    counts: CheckpointCounts = field(default_factory=CheckpointCounts)
    summary: CheckpointSummary = field(default_factory=CheckpointSummary)
    in_progress: tuple[CheckpointStatistics, ...] = ()
    ended: tuple[CheckpointStatistics, ...] = ()
    latest_completed: CheckpointStatistics | None = None
    latest_savepoint: CheckpointStatistics | None = None
    latest_failed: CheckpointStatistics | None = None
    latest_restored: RestoredStatistics | None = None

    @property
    def history(self) -> tuple[CheckpointStatistics, ...]:
        """Return all that is remembered, newest first."""
        entries = {entry.checkpoint_id: entry for entry in (*self.ended, *self.in_progress)}
        return tuple(entries[checkpoint_id] for checkpoint_id in sorted(entries, reverse=True))

    def find(self, checkpoint_id: int) -> CheckpointStatistics | None:
        """Return one checkpoint; None where it is not known, or not remembered any more."""
        latest = (self.latest_completed, self.latest_savepoint, self.latest_failed)
        for entry in (*self.history, *latest):
            if entry is not None and entry.checkpoint_id == checkpoint_id:
                return entry
        return None
