"""Keeps the statistics of a job's checkpoints, over all its attempts."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import replace

from rekindle.checkpoint.distribution import DistributionRecorder
from rekindle.checkpoint.events import CheckpointFailureReason
from rekindle.checkpoint.options import CheckpointOptions
from rekindle.checkpoint.pending_checkpoint import PendingCheckpoint
from rekindle.checkpoint.statistics import (
    CheckpointStatistics,
    CheckpointStatus,
    RestoredStatistics,
    SubtaskStatistics,
    TaskStatistics,
)
from rekindle.checkpoint.statistics_overview import CheckpointCounts, CheckpointsOverview, CheckpointSummary
from rekindle.checkpoint.stored_checkpoint import StoredCheckpoint


class CheckpointStatisticsTracker:
    """Remember how the checkpoints of a job went.

    Args:
        options: Say how many are remembered, and the mode.
        operators: The parallelism of every operator that takes part, by uid.
    """

    def __init__(self, options: CheckpointOptions, operators: Mapping[str, int]) -> None:
        self._options = options
        self._operators = dict(operators)
        self._ended: deque[CheckpointStatistics] = deque(maxlen=options.history_size)
        self._latest: dict[str, CheckpointStatistics] = {}
        self._latest_restored: RestoredStatistics | None = None
        self._restored = self._total = self._completed = self._failed = 0
        self._summaries = {name: DistributionRecorder() for name in CheckpointSummary.__dataclass_fields__}

    def triggered(self) -> None:
        """Count a checkpoint."""
        self._total += 1

    def restored(self, restored: RestoredStatistics) -> None:
        """Remember what the slots of an attempt were restored from."""
        self._restored += 1
        self._latest_restored = restored

    def completed(self, now: int, attempt: int, pending: PendingCheckpoint, location: StoredCheckpoint) -> None:
        """Remember a checkpoint that is complete."""
        entry = replace(
            self._describe(attempt, pending, CheckpointStatus.COMPLETED, now),
            size=location.metadata.written_size,
            state_size=location.metadata.state_size,
            external_path=location.external_path,
        )
        self._completed += 1
        self._ended.append(entry)
        self._latest["savepoint" if entry.savepoint else "completed"] = entry
        self._sum_up(entry)

    def failed(
        self, now: int, attempt: int, pending: PendingCheckpoint, reason: CheckpointFailureReason, message: str
    ) -> None:
        """Remember a checkpoint that will never complete."""
        entry = self._describe(attempt, pending, CheckpointStatus.FAILED, now)
        self._failed += 1
        self._latest["failed"] = replace(entry, reason=reason, message=message)
        self._ended.append(self._latest["failed"])

    def discarded(self, checkpoint_id: int) -> None:
        """Remember that a completed checkpoint has been deleted."""
        for index, entry in enumerate(self._ended):
            if entry.checkpoint_id == checkpoint_id:
                self._ended[index] = replace(entry, discarded=True)
        for kind, entry in self._latest.items():
            if entry.checkpoint_id == checkpoint_id:
                self._latest[kind] = replace(entry, discarded=True)

    def ended(self) -> tuple[CheckpointStatistics, ...]:
        """Return the checkpoints that ended last, oldest first."""
        return tuple(self._ended)

    def overview(self, attempt: int, in_progress: Iterable[PendingCheckpoint]) -> CheckpointsOverview:
        """Describe all that is known now."""
        pending = tuple(self._describe(attempt, other, CheckpointStatus.IN_PROGRESS) for other in in_progress)
        return CheckpointsOverview(
            counts=CheckpointCounts(self._restored, self._total, len(pending), self._completed, self._failed),
            summary=CheckpointSummary(**{name: each.distribution() for name, each in self._summaries.items()}),
            in_progress=pending,
            ended=self.ended(),
            latest_completed=self._latest.get("completed"),
            latest_savepoint=self._latest.get("savepoint"),
            latest_failed=self._latest.get("failed"),
            latest_restored=self._latest_restored,
        )

    def _describe(
        self, attempt: int, pending: PendingCheckpoint, status: CheckpointStatus, ended: int | None = None
    ) -> CheckpointStatistics:
        end = pending.latest_ack if ended is None else ended
        return CheckpointStatistics(
            checkpoint_id=pending.checkpoint_id,
            attempt=attempt,
            status=status,
            savepoint=pending.savepoint,
            trigger_timestamp=pending.timestamp,
            duration_ms=max(0, (pending.timestamp if end is None else end) - pending.timestamp),
            final=pending.final,
            exactly_once=self._options.mode_exactly_once,
            tasks=self._tasks(pending),
        )

    def _tasks(self, pending: PendingCheckpoint) -> tuple[TaskStatistics, ...]:
        subtasks: dict[str, list[SubtaskStatistics]] = {uid: [] for uid in self._operators}
        for slot, (acknowledged, measured) in sorted(pending.measured.items()):
            for each in measured:
                if each.uid in subtasks:
                    duration = max(0, acknowledged - pending.timestamp)
                    subtasks[each.uid].append(SubtaskStatistics(slot, acknowledged, duration, each))
        return tuple(TaskStatistics(uid, self._operators[uid], tuple(own)) for uid, own in subtasks.items())

    def _sum_up(self, entry: CheckpointStatistics) -> None:
        values = {
            "duration": entry.duration_ms,
            "state_size": entry.state_size or 0,
            "written_size": entry.size or 0,
            "start_delay": entry.longest(lambda measured: measured.start_delay_ms),
            "alignment": entry.longest(lambda measured: measured.alignment_ms),
            "sync": entry.longest(lambda measured: measured.sync_ms),
            "asynchronous": entry.longest(lambda measured: measured.async_ms),
        }
        for name, value in values.items():
            self._summaries[name].add(value)
