"""What there is to say about a job, in Flink's JSON. Pure, but for the clock of the job."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from rekindle.checkpoint.statistics import TaskStatistics
from rekindle.config.secrets import all_shown, without_secrets
from rekindle.contracts.job.job_status import JobStatus
from rekindle.graph.plan import DATA_SINK, DATA_SOURCE, PlanNode
from rekindle.graph.vertex_ids import vertex_id
from rekindle.runtime.master.running_jobs import RegisteredJob
from rekindle.runtime.master.slots.slot_metrics import SlotReadings
from rekindle.runtime.master.views.job_history import Failure, JobHistory
from rekindle.runtime.operators.operator import MIN_WATERMARK
from rekindle.runtime.wire.messages import OperatorNumbers

TASK_STATES = (
    "CREATED",
    "SCHEDULED",
    "DEPLOYING",
    "INITIALIZING",
    "RUNNING",
    "FINISHED",
    "CANCELING",
    "CANCELED",
    "FAILED",
    "RECONCILING",
)

_TASK_STATE = {
    JobStatus.CREATED: "CREATED",
    JobStatus.FAILING: "CANCELING",
    JobStatus.CANCELLING: "CANCELING",
    JobStatus.CANCELED: "CANCELED",
    JobStatus.FINISHED: "FINISHED",
    JobStatus.SUSPENDED: "CANCELED",
    JobStatus.RECONCILING: "RECONCILING",
}


def task_state(history: JobHistory, node: PlanNode) -> str:
    """Return what the subtasks of an operator do; all of a job do the same, but for the one that failed."""
    status = history.status
    if status is JobStatus.RUNNING:
        return "RUNNING" if history.slots_running else "DEPLOYING"
    if status in (JobStatus.FAILED, JobStatus.RESTARTING):
        last = next(iter(history.exceptions()), None)
        return "FAILED" if last is not None and last.operator == _own_name(node) else "CANCELED"
    return _TASK_STATE[status]


def overview_entry(job: RegisteredJob) -> dict[str, Any]:
    """Describe a job for a list of jobs."""
    history = job.history
    states = _subtask_states(job)
    return {
        "jid": job.job_id,
        "name": job.settings.job_name,
        "jobType": _job_type(job),
        "schedulerType": "Default",
        "start-time": history.start_time,
        "end-time": _or_never(history.end_time),
        "duration": history.duration(),
        "state": history.status.name,
        "last-modification": max(history.status_times().values()),
        "tasks": {"total": states.total(), **{state.lower(): states[state] for state in TASK_STATES}},
        "pending-operators": 0,
    }


def job_details(job: RegisteredJob, readings: SlotReadings) -> dict[str, Any]:
    """Describe a job and its operators."""
    history, tasks = job.history, _last_checkpoint(job)
    vertices = [_vertex(job, node, readings, tasks.get(node.uid)) for node in job.plan.nodes]
    return {
        "jid": job.job_id,
        "application-id": job.job_id,
        "name": job.settings.job_name,
        "isStoppable": False,
        "state": history.status.name,
        "job-type": _job_type(job),
        "schedulerType": "Default",
        "start-time": history.start_time,
        "end-time": _or_never(history.end_time),
        "duration": history.duration(),
        "maxParallelism": -1,
        "now": history.now(),
        "timestamps": history.status_times(),
        "vertices": vertices,
        "status-counts": _counted(vertex["status"] for vertex in vertices),
        "plan": job.plan_json(),
        "pending-operators": 0,
    }


def find_vertex(job: RegisteredJob, named: str) -> PlanNode | None:
    """Find an operator by the id of its vertex, or by its uid."""
    return next((node for node in job.plan.nodes if named in (vertex_id(node.uid), node.uid)), None)


def vertex_details(job: RegisteredJob, node: PlanNode, readings: SlotReadings) -> dict[str, Any]:
    """Describe the subtasks of an operator."""
    task = _last_checkpoint(job).get(node.uid)
    return {
        "id": vertex_id(node.uid),
        "name": node.type,
        "parallelism": node.parallelism,
        "maxParallelism": node.max_parallelism,
        "now": job.history.now(),
        "subtasks": [_subtask(job, node, subtask, readings, task) for subtask in range(node.parallelism)],
    }


def job_config(job: RegisteredJob) -> dict[str, Any]:
    """Describe what a job runs with."""
    return {
        "jid": job.job_id,
        "name": job.settings.job_name,
        "execution-config": {
            "restart-strategy": job.settings.restart_strategy.describe(),
            "job-parallelism": max((node.parallelism for node in job.plan.nodes), default=1),
            "object-reuse-mode": False,
            "user-config": all_shown(job.settings.job_parameters),
        },
    }


def exceptions(job: RegisteredJob, limit: int) -> dict[str, Any]:
    """List the failures of a job, newest first."""
    known = job.history.exceptions()
    truncated = len(known) > limit or job.history.exceptions_forgotten
    entries = [_failure(failure) for failure in known[:limit]]
    return {"exceptionHistory": {"entries": entries, "truncated": truncated}}


def _failure(failure: Failure) -> dict[str, Any]:
    place, delay = failure.place, failure.restart_delay_ms
    task = failure.operator
    if task is not None and failure.subtask is not None:
        task = f"{task} (subtask {failure.subtask})"
    location = None if place is None else f"{place.host}:{place.pid}"
    return {
        "exceptionName": failure.name,
        "stacktrace": without_secrets(failure.text),
        "timestamp": failure.timestamp,
        "attempt": failure.attempt,
        "failureLabels": {},
        "taskName": task,
        "endpoint": location,
        "taskManagerId": None if failure.subtask is None else f"slot-{failure.subtask}",
        "concurrentExceptions": [],
        "followedBy": "FAILED" if delay is None else "RESTARTING",
        "restartDelay": delay,
    }


def backpressure(job: RegisteredJob, node: PlanNode, readings: SlotReadings) -> dict[str, Any]:
    """Tell how much the subtasks of an operator are held up by what follows."""
    numbers = sorted(_numbers(readings, node.uid), key=lambda each: each.subtask)
    if not numbers:
        return {"status": "deprecated", "backpressureLevel": None, "end-timestamp": None, "subtasks": None}
    attempt = job.history.attempt
    subtasks = [_subtask_backpressure(each, 0 if attempt is None else attempt.attempt) for each in numbers]
    level = _backpressure_level(max(subtask["ratio"] for subtask in subtasks))
    now = job.history.now()
    return {"status": "ok", "backpressureLevel": level, "end-timestamp": now, "subtasks": subtasks}


def _subtask_backpressure(numbers: OperatorNumbers, attempt: int) -> dict[str, Any]:
    ratio = numbers.rates.back_pressured_ms / 1000
    return {
        "subtask": numbers.subtask,
        "attempt-number": attempt,
        "backpressureLevel": _backpressure_level(ratio),
        "ratio": ratio,
        "idleRatio": numbers.rates.idle_ms / 1000,
        "busyRatio": numbers.rates.busy_ms / 1000,
        "other-concurrent-attempts": None,
    }


def _backpressure_level(ratio: float) -> str:
    """Return Flink's word for a share of time."""
    return "ok" if ratio <= 0.10 else "low" if ratio <= 0.5 else "high"


def _last_checkpoint(job: RegisteredJob) -> dict[str, TaskStatistics]:
    """Return what the last completed checkpoint says about each operator."""
    completed = job.checkpoint_statistics().latest_completed
    return {} if completed is None else {task.uid: task for task in completed.tasks}


def _state_size(task: TaskStatistics, subtask: int) -> int | None:
    found = (each.measured.state_size for each in task.subtasks if each.subtask == subtask)
    return next(found, None)


def _vertex(job: RegisteredJob, node: PlanNode, readings: SlotReadings, task: TaskStatistics | None) -> dict[str, Any]:
    history = job.history
    state = task_state(history, node)
    started, end = _task_times(history)
    return {
        "id": vertex_id(node.uid),
        "slotSharingGroupId": job.job_id,
        "name": node.type,
        "uid": node.uid,
        "maxParallelism": node.max_parallelism,
        "parallelism": node.parallelism,
        "status": state,
        "start-time": started,
        "end-time": end,
        "duration": _duration(history, started, end),
        "tasks": {each: node.parallelism if each == state else 0 for each in TASK_STATES},
        "metrics": _io_metrics(_numbers(readings, node.uid), readings.complete),
        "rates": _rates(_numbers(readings, node.uid)),
        "state-size": None if task is None else task.state_size,
    }


def _subtask(
    job: RegisteredJob, node: PlanNode, subtask: int, readings: SlotReadings, task: TaskStatistics | None
) -> dict[str, Any]:
    history = job.history
    started, end = _task_times(history)
    attempt = history.attempt
    place = None if attempt is None else attempt.places.get(subtask)
    numbers = [each for each in _numbers(readings, node.uid) if each.subtask == subtask]
    return {
        "subtask": subtask,
        "status": task_state(history, node),
        "attempt": 0 if attempt is None else attempt.attempt,
        "endpoint": "(unassigned)" if place is None else f"{place.host}:{place.pid}",
        "start-time": started,
        "end-time": end,
        "duration": _duration(history, started, end),
        "metrics": _io_metrics(numbers, bool(numbers)),
        "rates": _rates(numbers),
        "state-size": None if task is None else _state_size(task, subtask),
        "taskmanager-id": f"slot-{subtask}",
        "status-duration": {},
        "start_time": started,
    }


def _task_times(history: JobHistory) -> tuple[int, int]:
    attempt = history.attempt
    return -1 if attempt is None else attempt.timestamp, _or_never(history.end_time)


def _duration(history: JobHistory, started: int, end: int) -> int:
    return -1 if started < 0 else max(0, (history.now() if end < 0 else end) - started)


def _numbers(readings: SlotReadings, uid: str) -> list[OperatorNumbers]:
    return [numbers for numbers in readings.operators if numbers.uid == uid]


def _io_metrics(numbers: Sequence[OperatorNumbers], complete: bool) -> dict[str, Any]:
    """Sum up; bytes are complete where all records come, or go, over exchanges: a call within a slot has none."""
    return {
        "read-bytes": sum(each.bytes_in for each in numbers),
        "read-bytes-complete": complete and all(each.all_bytes_in for each in numbers),
        "write-bytes": sum(each.bytes_out for each in numbers),
        "write-bytes-complete": complete and all(each.all_bytes_out for each in numbers),
        "read-records": sum(each.records_in for each in numbers),
        "read-records-complete": complete,
        "write-records": sum(each.records_out for each in numbers),
        "write-records-complete": complete,
        "accumulated-backpressured-time": sum(each.back_pressured_ms for each in numbers),
        "accumulated-idle-time": sum(each.idle_ms for each in numbers),
        "accumulated-busy-time": float(sum(each.busy_ms for each in numbers)),
    }


def _rates(numbers: Sequence[OperatorNumbers]) -> dict[str, Any]:
    """Sum up what happened in a second; times are those of the busiest and the most held up subtask, as in Flink."""
    rates = [each.rates for each in numbers]
    return {
        "records-in-per-second": sum(each.records_in for each in rates),
        "records-out-per-second": sum(each.records_out for each in rates),
        "bytes-in-per-second": sum(each.bytes_in for each in rates),
        "bytes-out-per-second": sum(each.bytes_out for each in rates),
        "busy-time-ms-per-second": max((each.busy_ms for each in rates), default=0.0),
        "backpressured-time-ms-per-second": max((each.back_pressured_ms for each in rates), default=0.0),
        "idle-time-ms-per-second": min((each.idle_ms for each in rates), default=0.0),
        "watermark": min((each.output_watermark for each in numbers), default=MIN_WATERMARK),
    }


def _own_name(node: PlanNode) -> str:
    """Return the name of an operator without what the plan puts before it."""
    return node.type.removeprefix({DATA_SOURCE: "Source: ", DATA_SINK: "Sink: "}.get(node.pact, ""))


def _subtask_states(job: RegisteredJob) -> Counter[str]:
    states: Counter[str] = Counter()
    for node in job.plan.nodes:
        states[task_state(job.history, node)] += node.parallelism
    return states


def _counted(states: Iterable[str]) -> dict[str, int]:
    counted = Counter(states)
    return {state: counted[state] for state in TASK_STATES}


def _job_type(job: RegisteredJob) -> str:
    return "BATCH" if job.settings.batch else "STREAMING"


def _or_never(time: int | None) -> int:
    return -1 if time is None else time
