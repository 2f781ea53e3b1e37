"""Checkpoint statistics and settings in the JSON of Flink's REST interface.

Pure functions from values to what ``json.dumps`` takes. What Flink measures and Rekindle does not have (buffers in
flight, a changelog) is there with the value it has where there is nothing of it. Where Flink says ``"NaN"`` because it
keeps no percentiles of subtasks, there are numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rekindle.checkpoint.distribution import Distribution, distribution_of
from rekindle.checkpoint.statistics import (
    CheckpointStatistics,
    CheckpointStatus,
    RestoredStatistics,
    SubtaskStatistics,
    TaskStatistics,
)
from rekindle.checkpoint.statistics_overview import CheckpointsOverview
from rekindle.contracts.externalized_checkpoint_retention import ExternalizedCheckpointRetention
from rekindle.graph.vertex_ids import vertex_id
from rekindle.runtime.master.settings.job_settings import JobSettings

_NEVER = 2**63 - 1
_MATERIALIZATION_MS = 600_000
_PERCENTILES = {"p50": 50, "p90": 90, "p95": 95, "p99": 99, "p999": 99.9}
_NOTHING_IN_FLIGHT = {"alignment_buffered": 0, "processed_data": 0, "persisted_data": 0}

Json = dict[str, Any]


def checkpoints(overview: CheckpointsOverview) -> Json:
    """Return the answer to ``GET /jobs/:id/checkpoints``."""
    counts, summary = overview.counts, overview.summary
    return {
        "counts": {
            "restored": counts.restored,
            "total": counts.total,
            "in_progress": counts.in_progress,
            "completed": counts.completed,
            "failed": counts.failed,
        },
        "summary": {
            "checkpointed_size": _distribution(summary.written_size),
            "state_size": _distribution(summary.state_size),
            "end_to_end_duration": _distribution(summary.duration),
            **{name: _distribution(_zeros(summary.duration.count)) for name in _NOTHING_IN_FLIGHT},
        },
        "latest": {
            "completed": _latest(overview.latest_completed),
            "savepoint": _latest(overview.latest_savepoint),
            "failed": _latest(overview.latest_failed),
            "restored": _restored(overview.latest_restored),
        },
        "history": [_checkpoint(entry) for entry in overview.history],
    }


def checkpoint_details(overview: CheckpointsOverview, checkpoint_id: int) -> Json | None:
    """Return the answer to ``GET /jobs/:id/checkpoints/details/:n``; None where there is no such checkpoint."""
    entry = overview.find(checkpoint_id)
    if entry is None:
        return None
    return _checkpoint(entry, {vertex_id(task.uid): _task(entry, task) for task in entry.tasks})


def checkpoint_subtasks(overview: CheckpointsOverview, checkpoint_id: int, vertex: str) -> Json | None:
    """Return the answer to ``GET /jobs/:id/checkpoints/details/:n/subtasks/:vertex``.

    Args:
        overview: The statistics.
        checkpoint_id: The checkpoint.
        vertex: The operator: its id in the REST interface, or its uid.

    Returns:
        The answer; None where there is no such checkpoint or operator.
    """
    entry = overview.find(checkpoint_id)
    tasks = () if entry is None else entry.tasks
    task = next((task for task in tasks if vertex in (vertex_id(task.uid), task.uid)), None)
    if entry is None or task is None:
        return None
    acknowledged = {subtask.subtask: subtask for subtask in task.subtasks}
    return {
        **_task(entry, task),
        "summary": _subtask_summary(task),
        "subtasks": [_subtask(index, acknowledged.get(index)) for index in range(task.parallelism)],
    }


def checkpoint_config(settings: JobSettings) -> Json:
    """Return the answer to ``GET /jobs/:id/checkpoints/config``."""
    options, retention = settings.checkpoints, settings.retention
    in_memory = settings.state_files is None
    return {
        "mode": "exactly_once" if options.mode_exactly_once else "at_least_once",
        "interval": _NEVER if options.interval_ms is None else options.interval_ms,
        "timeout": options.timeout_ms,
        "min_pause": options.min_pause_ms,
        "max_concurrent": options.max_concurrent,
        "externalization": {
            "enabled": retention is not ExternalizedCheckpointRetention.NO_EXTERNALIZED_CHECKPOINTS,
            "delete_on_cancellation": retention is not ExternalizedCheckpointRetention.RETAIN_ON_CANCELLATION,
        },
        "state_backend": "HashMapStateBackend" if settings.backend.rocksdb is None else "EmbeddedRocksDBStateBackend",
        "checkpoint_storage": "JobManagerCheckpointStorage" if in_memory else "FileSystemCheckpointStorage",
        "unaligned_checkpoints": False,
        "tolerable_failed_checkpoints": options.tolerable_failures,
        "aligned_checkpoint_timeout": 0,
        "checkpoints_after_tasks_finish": True,
        "state_changelog_enabled": False,
        "changelog_periodic_materialization_interval": _MATERIALIZATION_MS,
        "changelog_storage": "memory",
    }


def _latest(entry: CheckpointStatistics | None) -> Json | None:
    return None if entry is None else _checkpoint(entry)


def _restored(restored: RestoredStatistics | None) -> Json | None:
    if restored is None:
        return None
    return {
        "id": restored.checkpoint_id,
        "restore_timestamp": restored.restore_timestamp,
        "is_savepoint": restored.savepoint,
        "external_path": restored.external_path,
    }


def _checkpoint(entry: CheckpointStatistics, tasks: Json | None = None) -> Json:
    completed = entry.status is CheckpointStatus.COMPLETED
    acknowledged = entry.latest_ack_timestamp
    written, state = entry.size, entry.state_size
    if not completed or written is None:
        written = sum(task.written_size for task in entry.tasks)
    if not completed or state is None:
        state = sum(task.state_size for task in entry.tasks)
    waiting = entry.status is CheckpointStatus.IN_PROGRESS and acknowledged is None
    fields: Json = {
        "className": entry.status.name.lower(),
        "id": entry.checkpoint_id,
        "status": entry.status.name,
        "is_savepoint": entry.savepoint,
        "savepointFormat": "CANONICAL" if entry.savepoint else None,
        "trigger_timestamp": entry.trigger_timestamp,
        "latest_ack_timestamp": -1 if acknowledged is None else acknowledged,
        "checkpointed_size": written,
        "state_size": state,
        "end_to_end_duration": -1 if waiting else entry.duration_ms,
        **_NOTHING_IN_FLIGHT,
        "num_subtasks": entry.subtask_count,
        "num_acknowledged_subtasks": entry.acknowledged_count,
        "checkpoint_type": _type(entry),
        "tasks": tasks or {},
    }
    if completed:
        fields["external_path"] = entry.external_path or "<checkpoint-not-externally-addressable>"
        fields["discarded"] = entry.discarded
    elif entry.status is CheckpointStatus.FAILED:
        fields["failure_timestamp"] = entry.end_timestamp
        fields["failure_message"] = entry.failure_message
    return fields


def _type(entry: CheckpointStatistics) -> str:
    if not entry.savepoint:
        return "CHECKPOINT"
    return "SYNC_SAVEPOINT" if entry.final else "SAVEPOINT"


def _task(entry: CheckpointStatistics, task: TaskStatistics) -> Json:
    return {
        "id": entry.checkpoint_id,
        "status": entry.status.name,
        "latest_ack_timestamp": -1 if task.latest_ack_timestamp is None else task.latest_ack_timestamp,
        "checkpointed_size": task.written_size,
        "state_size": task.state_size,
        "end_to_end_duration": -1 if task.end_to_end_ms is None else task.end_to_end_ms,
        **_NOTHING_IN_FLIGHT,
        "num_subtasks": task.parallelism,
        "num_acknowledged_subtasks": len(task.subtasks),
    }


def _subtask(index: int, subtask: SubtaskStatistics | None) -> Json:
    if subtask is None:
        return {"className": "pending", "index": index, "status": "pending_or_failed"}
    measured = subtask.measured
    return {
        "className": "completed",
        "index": index,
        "ack_timestamp": subtask.ack_timestamp,
        "end_to_end_duration": subtask.end_to_end_ms,
        "checkpointed_size": measured.written_size,
        "state_size": measured.state_size,
        "checkpoint": {"sync": measured.sync_ms, "async": measured.async_ms},
        "alignment": {"buffered": 0, "processed": 0, "persisted": 0, "duration": measured.alignment_ms},
        "start_delay": measured.start_delay_ms,
        "unaligned_checkpoint": False,
        "aborted": False,
        "status": "completed",
    }


def _subtask_summary(task: TaskStatistics) -> Json:
    def of(value: Callable[[SubtaskStatistics], int]) -> Json:
        return _distribution(distribution_of(value(subtask) for subtask in task.subtasks))

    nothing = _distribution(_zeros(len(task.subtasks)))
    return {
        "checkpointed_size": of(lambda subtask: subtask.measured.written_size),
        "state_size": of(lambda subtask: subtask.measured.state_size),
        "end_to_end_duration": of(lambda subtask: subtask.end_to_end_ms),
        "checkpoint_duration": {
            "sync": of(lambda subtask: subtask.measured.sync_ms),
            "async": of(lambda subtask: subtask.measured.async_ms),
        },
        "alignment": {
            "buffered": nothing,
            "processed": nothing,
            "persisted": nothing,
            "duration": of(lambda subtask: subtask.measured.alignment_ms),
        },
        "start_delay": of(lambda subtask: subtask.measured.start_delay_ms),
    }


def _distribution(distribution: Distribution) -> Json:
    values = {name: distribution.percentile(percent) for name, percent in _PERCENTILES.items()}
    return {
        "min": distribution.minimum,
        "max": distribution.maximum,
        "avg": distribution.average,
        **{name: "NaN" if value is None else value for name, value in values.items()},
    }


def _zeros(count: int) -> Distribution:
    return Distribution(count, values=(0,) if count else ())
