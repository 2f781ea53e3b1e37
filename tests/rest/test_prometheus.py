"""Metrics for Prometheus: read back by its own parser."""

from __future__ import annotations

from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from rekindle.checkpoint.slot_snapshot import TaskMeasurement
from rekindle.checkpoint.statistics import CheckpointStatistics, CheckpointStatus, SubtaskStatistics, TaskStatistics
from rekindle.checkpoint.statistics_overview import CheckpointsOverview
from rekindle.common import JobStatus
from rekindle.graph.vertex_ids import vertex_id
from rekindle.metrics.slot_metrics import MetricValue
from rekindle.rest import prometheus
from rekindle.rest.prometheus import prometheus_text
from rekindle.runtime.master.slots.slot_metrics import SlotReadings
from rekindle.runtime.master.views.progress import EpochSummary
from rekindle.runtime.wire.messages import OperatorNumbers
from rekindle.testing import ManualClock
from support.rest_jobs import JOB, FakeMaster, registered, served

OPERATOR = "rekindle_taskmanager_job_task_operator_"
JOB_PREFIX = "rekindle_jobmanager_job_"
Samples = list[tuple[str, dict[str, str], float]]


def samples(*masters: FakeMaster) -> Samples:
    families = text_string_to_metric_families(prometheus_text(registered(*masters)).decode())
    return [(sample.name, sample.labels, sample.value) for family in families for sample in family.samples]


def value(found: Samples, name: str, **labels: str) -> float:
    (only,) = [v for n, given, v in found if n == name and labels.items() <= given.items()]
    return only


def metric(
    name: str, kind: str, values: dict[str, Any], groups: tuple[str, ...] = (), variables: dict[str, str] | None = None
) -> MetricValue:
    return MetricValue("map", "Map", 1, groups, variables or {}, name, kind, values)


def measured(*values: MetricValue, left_out: int = 0) -> FakeMaster:
    master = FakeMaster().run()
    numbers = OperatorNumbers("map", "Map", 1, 10, 20, 30, 40)
    master.readings = SlotReadings((numbers,), values, complete=True, left_out=left_out)
    return master


def test_it_is_text_that_prometheus_reads() -> None:
    answer = served(FakeMaster().run()).get("/metrics")
    assert answer.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    assert answer.body.endswith(b"\n")


def test_without_jobs_there_are_the_numbers_of_the_driver() -> None:
    assert samples() == [
        ("rekindle_jobmanager_numRunningJobs", {}, 0.0),
        ("rekindle_jobmanager_taskSlotsTotal", {}, 0.0),
    ]


def test_a_job_has_flinks_names_and_labels() -> None:
    clock = ManualClock(1_000)
    master = FakeMaster(clock=clock).run()
    master.history.failed(RuntimeError("x"), 5)
    master.history.epoch_finished(EpochSummary(1, 10, 10, 0.25, 77))
    clock.advance(4)
    found = samples(master)
    labels = {"job_id": JOB, "job_name": "a job"}
    assert value(found, "rekindle_jobmanager_numRunningJobs") == 1
    assert value(found, "rekindle_jobmanager_taskSlotsTotal") == 2
    assert value(found, JOB_PREFIX + "numRestarts_total", **labels) == 1
    assert value(found, JOB_PREFIX + "uptime", **labels) == 4
    assert value(found, JOB_PREFIX + "numberOfCompletedCheckpoints_total", **labels) == 0
    assert value(found, JOB_PREFIX + "lastCheckpointDuration", **labels) == -1
    assert value(found, JOB_PREFIX + "numRecordsIn_total", **labels) == 10
    assert value(found, JOB_PREFIX + "currentOutputWatermark", **labels) == 77
    assert value(found, JOB_PREFIX + "lastEpochDuration", **labels) == 250
    assert value(found, JOB_PREFIX + "state", state="RUNNING") == 1
    assert value(found, JOB_PREFIX + "state", state="FAILED") == 0
    assert not [name for name, _, _ in found if name.endswith("ExternalPath")]


def test_of_a_job_that_has_ended_only_its_state_is_told() -> None:
    master = FakeMaster().run()
    jobs = registered(master)
    master.end(JobStatus.FAILED)
    text = prometheus_text(jobs).decode()
    told = {line.partition("{")[0] for line in text.splitlines() if line.startswith(JOB_PREFIX)}
    assert told == {"rekindle_jobmanager_job_state"}
    assert f'{JOB_PREFIX}state{{job_id="{JOB}",job_name="a job",state="FAILED"}} 1.0' in text


def test_operators_have_their_numbers_by_subtask() -> None:
    found = samples(measured())
    labels = {
        "job_id": JOB,
        "job_name": "a job",
        "operator_id": vertex_id("map"),
        "operator_name": "Map",
        "subtask_index": "1",
    }
    own = {name.removeprefix(OPERATOR): v for name, given, v in found if name.startswith(OPERATOR) and given == labels}
    assert own == {
        "numRecordsIn_total": 10,
        "numRecordsOut_total": 20,
        "numRecordsInPerSecond": 0,
        "numRecordsOutPerSecond": 0,
        "currentInputWatermark": 30,
        "currentOutputWatermark": 40,
        "accumulateBusyTimeMs": 0,
        "accumulateBackPressuredTimeMs": 0,
        "accumulateIdleTimeMs": 0,
        "busyTimeMsPerSecond": 0,
        "backPressuredTimeMsPerSecond": 0,
        "idleTimeMsPerSecond": 1000,
    }


def test_operators_tell_how_much_state_they_had_in_the_last_checkpoint() -> None:
    master = measured()
    subtask = SubtaskStatistics(1, 5, 5, TaskMeasurement("map", state_size=77))
    task = TaskStatistics("map", 2, (subtask,))
    completed = CheckpointStatistics(3, 0, CheckpointStatus.COMPLETED, False, 0, 5, tasks=(task,))
    master.overview = CheckpointsOverview(latest_completed=completed)
    assert value(samples(master), OPERATOR + "lastCheckpointStateSize", subtask_index="1") == 77


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (metric("c", "counter", {"count": 3}), {"c_total": 3}),
        (metric("c_total", "counter", {"count": 3}), {"c_total": 3}),
        (metric("g", "gauge", {"value": 2.5}), {"g": 2.5}),
        (metric("g", "gauge", {"value": True}), {"g": 1}),
        (metric("g", "gauge", {"value": "text"}), {}),
        (metric("g", "gauge", {"value": None}), {}),
        (metric("m", "meter", {"count": 9, "rate": 0.5}), {"m": 0.5, "m_count_total": 9}),
        (
            metric("d", "distribution", {"count": 2, "sum": 5, "min": 1, "max": 4, "mean": 2.5}),
            {"d_count": 2, "d_sum": 5, "d_min": 1, "d_max": 4, "d_mean": 2.5},
        ),
        (
            metric("d", "distribution", {"count": 0, "sum": 0, "min": None, "max": None, "mean": None}),
            {"d_count": 0, "d_sum": 0},
        ),
    ],
)
def test_metrics_of_functions_are_listed_by_their_kind(given: MetricValue, expected: dict[str, float]) -> None:
    found = samples(measured(given))
    own = {n.removeprefix(OPERATOR): v for n, _, v in found if n.startswith(OPERATOR) and "Record" not in n}
    own = {name: v for name, v in own.items() if "Watermark" not in name and "TimeMs" not in name}
    assert own == expected


def test_what_only_grows_is_a_counter_and_has_its_type() -> None:
    master = measured(
        metric("c", "counter", {"count": 3}),
        metric("m", "meter", {"count": 9, "rate": 0.5}),
        metric("d", "distribution", {"count": 2, "sum": 5, "min": 1, "max": 4, "mean": 2.5}),
    )
    text = prometheus_text(registered(master)).decode()
    types = dict(line.split()[2:] for line in text.splitlines() if line.startswith("# TYPE"))
    job, operator = JOB_PREFIX, OPERATOR
    counters = {name for name, kind in types.items() if kind == "counter"}
    assert counters == {
        *(f"{job}{name}_total" for name in ("numRestarts", "numRecordsIn", "numEpochs", "totalNumberOfCheckpoints")),
        *(f"{job}numberOf{kind}Checkpoints_total" for kind in ("Completed", "Failed")),
        *(f"{operator}{name}_total" for name in ("numRecordsIn", "numRecordsOut", "c", "m_count")),
    }
    assert types[operator + "d"] == "summary"
    assert {types[operator + name] for name in ("m", "d_min", "d_max", "d_mean", "currentInputWatermark")} == {"gauge"}
    families = {family.name: family for family in text_string_to_metric_families(text)}
    assert families[operator + "c"].type == "counter"
    assert [sample.name for sample in families[operator + "d"].samples] == [operator + "d_count", operator + "d_sum"]


def test_a_name_has_one_kind() -> None:
    given = metric("c", "counter", {"count": 1}), metric("c_total", "gauge", {"value": 2})
    text = prometheus_text(registered(measured(*given))).decode()
    assert text.count(f"# TYPE {OPERATOR}c_total ") == 1
    assert f"# TYPE {OPERATOR}c_total counter" in text


def test_groups_are_in_the_name_and_their_variables_in_labels() -> None:
    given = metric("c", "counter", {"count": 1}, ("outer", "country", "Côte d'Ivoire"), {"country": "Côte d'Ivoire"})
    assert value(samples(measured(given)), OPERATOR + "outer_country_c_total", country="Côte d'Ivoire") == 1


def test_names_and_labels_that_prometheus_does_not_know_are_rewritten() -> None:
    given = [
        metric("a metric/é", "counter", {"count": 1}, ("my group",)),
        metric("c", "counter", {"count": 2}, ("job_id", "x"), {"job_id": "x"}),
        metric("e", "counter", {"count": 3}, ("1st", "x"), {"1st": "x"}),
        metric("f", "counter", {"count": 4}, ("__n", 'a"b\\c\nd'), {"__n": 'a"b\\c\nd'}),
    ]
    found = samples(measured(*given))
    assert value(found, OPERATOR + "my_group_a_metric___total") == 1
    assert value(found, OPERATOR + "job_id_c_total", job_id=JOB, job_id_="x") == 2
    assert value(found, OPERATOR + "1st_e_total") == 3
    assert value(found, OPERATOR + "__n_f_total", n='a"b\\c\nd') == 4


def test_two_metrics_that_end_up_with_one_name_do_not_break_the_list() -> None:
    given = [metric("a.b", "counter", {"count": 1}), metric("a b", "counter", {"count": 2})]
    assert value(samples(measured(*given)), OPERATOR + "a_b_total") == 1


def test_a_functions_metric_does_not_hide_the_operators_own() -> None:
    given = metric("numRecordsIn", "counter", {"count": 999})
    assert value(samples(measured(given)), OPERATOR + "numRecordsIn_total") == 10


def test_there_is_a_limit_to_what_one_job_lists(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prometheus, "MAX_SERIES_OF_A_JOB", 14)
    given = [metric(f"c{number}", "counter", {"count": 1}) for number in range(10)]
    found = samples(measured(*given, left_out=3))
    assert len([name for name, _, _ in found if name.startswith(OPERATOR)]) == 14
    assert value(found, JOB_PREFIX + "metricsLeftOut") == 8 + 3


def test_labels_are_cut_off() -> None:
    given = metric("c", "counter", {"count": 1}, ("k", "v" * 500), {"k": "v" * 500})
    assert value(samples(measured(given)), OPERATOR + "k_c_total", k="v" * 200) == 1


def test_what_a_job_no_longer_has_is_gone() -> None:
    master = measured(metric("c", "counter", {"count": 1}))
    jobs = registered(master)
    assert b"operator_c_total{" in prometheus_text(jobs)
    master.readings = SlotReadings()
    assert b"operator_c_total{" not in prometheus_text(jobs)


def test_the_metrics_of_an_operator_are_listed_by_flinks_ids() -> None:
    master = measured(metric("c", "counter", {"count": 7}, ("grp", "k", "v"), {"k": "v"}))
    client = served(master)
    path = f"/jobs/{JOB}/vertices/map/metrics"
    assert [each["id"] for each in client.get(path).json] == [
        "1.numRecordsIn",
        "1.numRecordsOut",
        "1.numRecordsInPerSecond",
        "1.numRecordsOutPerSecond",
        "1.currentInputWatermark",
        "1.Map.currentOutputWatermark",
        "1.accumulateBusyTimeMs",
        "1.accumulateBackPressuredTimeMs",
        "1.accumulateIdleTimeMs",
        "1.busyTimeMsPerSecond",
        "1.backPressuredTimeMsPerSecond",
        "1.idleTimeMsPerSecond",
        "1.Map.grp.k.v.c",
    ]
    assert client.get(f"{path}?get=1.Map.grp.k.v.c,1.numRecordsOut").json == [
        {"id": "1.Map.grp.k.v.c", "value": "7"},
        {"id": "1.numRecordsOut", "value": "20"},
    ]
    assert client.get(f"/jobs/{JOB}/vertices/map/watermarks").json == [{"id": "1.currentInputWatermark", "value": "30"}]
