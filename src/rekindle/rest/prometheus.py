"""The metrics of all jobs in the form that Prometheus reads, with Flink's names behind ``rekindle_``.

What only grows is a counter, whose name ends in ``_total``; number and sum of a distribution are a summary; all else is
a gauge. Counters begin anew with a job, those of operators with an attempt, which Prometheus notices.

Everything is collected anew when somebody asks: what no job has any more is gone. Metrics of functions are listed up to
a number for each job, with labels up to a length, so that a program cannot fill somebody's database with names.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import Metric
from prometheus_client.registry import Collector

from rekindle.contracts.job.job_status import JobStatus
from rekindle.graph.vertex_ids import vertex_id
from rekindle.metrics.slot_metrics import MetricValue
from rekindle.rest.job_metrics import COUNTERS, job_metrics, readings_of
from rekindle.runtime.master.running_jobs import RegisteredJob, RunningJobs

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
MAX_SERIES_OF_A_JOB = 10_000
MAX_LABEL = 200
MAX_VARIABLES = 10

_CLUSTER = "rekindle_jobmanager_"
_JOB = "rekindle_jobmanager_job_"
_OPERATOR = "rekindle_taskmanager_job_task_operator_"
_TOTAL = "_total"
_UNUSABLE = re.compile(r"[^a-zA-Z0-9_]")


def prometheus_text(jobs: RunningJobs) -> bytes:
    """Return the metrics of all jobs."""
    registry = CollectorRegistry()
    registry.register(_JobsCollector(jobs))
    return generate_latest(registry)


class _JobsCollector(Collector):
    def __init__(self, jobs: RunningJobs) -> None:
        self._jobs = jobs

    def describe(self) -> list[Metric]:
        return []  # nothing is known before it is asked for

    def collect(self) -> Iterator[Metric]:
        families = _Families()
        jobs = self._jobs.all()
        running = [job for job in jobs if not job.ended]
        families.add(_CLUSTER + "numRunningJobs", {}, len(running))
        families.add(_CLUSTER + "taskSlotsTotal", {}, sum(_slots(job) for job in running))
        for job in jobs:
            _add_states(families, job)
        for job in running:
            _add_job(families, job)
        yield from families.all()


class _Families:
    """Gather samples by name; of two with the same name and labels, or of two kinds, the first counts."""

    def __init__(self) -> None:
        self._metrics: dict[str, Metric] = {}
        self._seen: set[tuple[str, tuple[tuple[str, str], ...]]] = set()

    def add(self, name: str, labels: dict[str, str], value: object, kind: str = "gauge", suffix: str = "") -> bool:
        """Add a sample if it is a number; tell whether it was."""
        if not isinstance(value, int | float):
            return False
        family = f"{name.removesuffix(_TOTAL)}{_TOTAL}" if kind == "counter" else name
        key = family + suffix, tuple(sorted(labels.items()))
        plain = family.removesuffix(_TOTAL) if kind == "counter" else family  # the ending is added when it is written
        metric = self._metrics.setdefault(family, Metric(plain, name.rpartition("_")[2], kind))
        if metric.type != kind or key in self._seen:
            return False
        self._seen.add(key)
        metric.add_sample(family + suffix, labels, float(value))
        return True

    def all(self) -> list[Metric]:
        return [metric for _, metric in sorted(self._metrics.items())]


def _add_states(families: _Families, job: RegisteredJob) -> None:
    current = job.history.status
    for status in JobStatus:
        families.add(_JOB + "state", {**_job_labels(job), "state": status.name}, int(status is current))


def _add_job(families: _Families, job: RegisteredJob) -> None:
    labels = _job_labels(job)
    for name, value in job_metrics(job).items():
        families.add(_JOB + name, labels, value, "counter" if name in COUNTERS else "gauge")
    readings = job.read_metrics()
    left_out = readings.left_out
    series = 0
    for metric in readings.metrics():
        own = {**labels, **_operator_labels(metric)}
        name = _OPERATOR + "_".join(map(_usable, _path(metric)))
        for suffix, reading in readings_of(metric):
            if series >= MAX_SERIES_OF_A_JOB:
                left_out += 1
            elif _add_reading(families, name, suffix, own, metric.kind, reading):
                series += 1
    families.add(_JOB + "metricsLeftOut", labels, left_out)
    _add_state_sizes(families, job)


def _add_state_sizes(families: _Families, job: RegisteredJob) -> None:
    """Tell how much state each subtask had in the last completed checkpoint."""
    completed = job.checkpoint_statistics().latest_completed
    names = {node.uid: node.type for node in job.plan.nodes}
    for task in () if completed is None else completed.tasks:
        for subtask in task.subtasks:
            own = {**_job_labels(job), **_subtask_labels(task.uid, names.get(task.uid, task.uid), subtask.subtask)}
            families.add(_OPERATOR + "lastCheckpointStateSize", own, subtask.measured.state_size)


def _add_reading(
    families: _Families, name: str, suffix: str, labels: dict[str, str], kind: str, reading: object
) -> bool:
    if kind == "counter" or (kind == "meter" and suffix):
        return families.add(name + suffix, labels, reading, "counter")
    if kind == "distribution" and suffix in ("_count", "_sum"):
        return families.add(name, labels, reading, "summary", suffix)
    return families.add(name + suffix, labels, reading)


def _path(metric: MetricValue) -> list[str]:
    """Return the names of a metric: of a group with a key and a value, the key; the value is a label."""
    values = list(metric.variables.values())
    path = []
    for index, name in enumerate(metric.groups):
        follows_key = index > 0 and metric.groups[index - 1] in metric.variables
        if not (follows_key and name in values):
            path.append(name)
    return [*path, metric.name]


def _job_labels(job: RegisteredJob) -> dict[str, str]:
    return {"job_id": job.job_id, "job_name": job.settings.job_name[:MAX_LABEL]}


def _operator_labels(metric: MetricValue) -> dict[str, str]:
    own = _subtask_labels(metric.uid, metric.operator, metric.subtask)
    taken = {"job_id", "job_name", *own}
    for key, value in list(metric.variables.items())[:MAX_VARIABLES]:
        name = _usable(key).strip("_") or "_"
        own[f"{name}_" if name in taken or name[0].isdigit() else name] = value[:MAX_LABEL]
    return own


def _subtask_labels(uid: str, operator: str, subtask: int) -> dict[str, str]:
    return {
        "operator_id": vertex_id(uid),
        "operator_name": operator[:MAX_LABEL],
        "subtask_index": str(subtask),
    }


def _usable(name: str) -> str:
    return _UNUSABLE.sub("_", name)[:MAX_LABEL]


def _slots(job: RegisteredJob) -> int:
    return max((node.parallelism for node in job.plan.nodes), default=0)
