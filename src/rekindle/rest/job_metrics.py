"""The metrics of jobs by Flink's names, and those of operators as Flink lists them. Pure, but for the job's clock."""

from __future__ import annotations

import re
from collections.abc import Iterable

from rekindle.contracts.job.job_status import JobStatus
from rekindle.metrics.slot_metrics import MetricValue
from rekindle.runtime.master.running_jobs import RegisteredJob
from rekindle.runtime.master.views.job_history import JobHistory

Number = int | float

_STATE_TIMES = {
    "createdTime": JobStatus.CREATED,
    "runningTime": JobStatus.RUNNING,
    "restartingTime": JobStatus.RESTARTING,
    "cancellingTime": JobStatus.CANCELLING,
    "failingTime": JobStatus.FAILING,
}
COUNTERS = frozenset(
    {
        "numRestarts",
        "totalNumberOfCheckpoints",
        "numberOfCompletedCheckpoints",
        "numberOfFailedCheckpoints",
        "numRecordsIn",
        "numEpochs",
    }
)
"""The metrics of a job that only grow."""

TASK_METRICS = frozenset(
    {
        "numRecordsIn",
        "numRecordsOut",
        "numRecordsInPerSecond",
        "numRecordsOutPerSecond",
        "numBytesIn",
        "numBytesOut",
        "numBytesInPerSecond",
        "numBytesOutPerSecond",
        "currentInputWatermark",
        "accumulateBusyTimeMs",
        "accumulateBackPressuredTimeMs",
        "accumulateIdleTimeMs",
        "busyTimeMsPerSecond",
        "backPressuredTimeMsPerSecond",
        "idleTimeMsPerSecond",
    }
)
"""The metrics that Flink has of a task: their ids do not name the operator."""

_SEPARATORS = re.compile(r"[^A-Za-z0-9_\-]")


def job_metrics(job: RegisteredJob) -> dict[str, Number | str]:
    """Return the metrics of a job as a whole."""
    history, overview = job.history, job.checkpoint_statistics()
    progress, counts = history.progress(), overview.counts
    completed, restored = overview.latest_completed, overview.latest_restored
    found: dict[str, Number | str] = {
        "numRestarts": history.restarts,
        "uptime": _time_in(history, JobStatus.RUNNING),
        "downtime": _time_in(history, JobStatus.RESTARTING),
        **{name: max(0, _time_in(history, status)) for name, status in _STATE_TIMES.items()},
        "totalNumberOfCheckpoints": counts.total,
        "numberOfInProgressCheckpoints": counts.in_progress,
        "numberOfCompletedCheckpoints": counts.completed,
        "numberOfFailedCheckpoints": counts.failed,
        "lastCheckpointDuration": -1 if completed is None else completed.duration_ms,
        "lastCheckpointSize": -1 if completed is None else completed.size or 0,
        "lastCheckpointFullSize": -1 if completed is None else completed.state_size or 0,
        "lastCompletedCheckpointId": -1 if completed is None else completed.checkpoint_id,
        "lastCheckpointCompletedTimestamp": -1
        if completed is None
        else completed.trigger_timestamp + completed.duration_ms,
        "lastCheckpointExternalPath": "n/a" if completed is None else completed.external_path or "n/a",
        "lastCheckpointRestoreTimestamp": -1 if restored is None else restored.restore_timestamp,
        "numRecordsIn": progress.records_in,
        "numRecordsInPerSecond": progress.records_in_per_second,
        "currentOutputWatermark": progress.watermark,
        "numEpochs": progress.epochs,
        "lastEpochDuration": 0 if progress.last is None else round(progress.last.seconds * 1000),
        "lastEpochRecords": 0 if progress.last is None else progress.last.records,
    }
    return found


def _time_in(history: JobHistory, status: JobStatus) -> int:
    """Tell for how long a job has been in a state; 0 if it is in another, -1 if it is over."""
    if history.end_time is not None:
        return -1
    return history.now() - history.status_times()[status.name] if history.status is status else 0


def operator_metrics(values: Iterable[MetricValue]) -> dict[str, Number | str]:
    """Return the metrics of the subtasks of one operator, by Flink's ids: those of functions by the operator's name."""
    found: dict[str, Number | str] = {}
    for value in values:
        path = [f"{value.subtask}"]
        if value.groups or value.name not in TASK_METRICS:
            path.append(_scoped(value.operator))
        path += [*map(_scoped, value.groups), _scoped(value.name)]
        for suffix, number in readings_of(value):
            if number is not None:
                found[".".join(path) + suffix] = number
    return found


def readings_of(value: MetricValue) -> list[tuple[str, Number | str | None]]:
    """Return what a metric says, each with what is to be added to its name."""
    read = value.values
    match value.kind:
        case "counter":
            return [("", read["count"])]
        case "gauge":
            return [("", read["value"])]
        case "meter":
            return [("", read["rate"]), ("_count", read["count"])]
        case _:
            return [(f"_{name}", read[name]) for name in ("count", "sum", "min", "max", "mean")]


def _scoped(name: str) -> str:
    """Write a name as it stands in an id, in which dots separate names."""
    return _SEPARATORS.sub("_", name)
