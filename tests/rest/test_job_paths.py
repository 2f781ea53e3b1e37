"""Requests about jobs: Flink's paths, and its JSON key by key (as Flink 2.3 answers)."""

from __future__ import annotations

from typing import Any

import pytest

from rekindle.common import Configuration, JobStatus
from rekindle.exceptions import SlotLostError, UserCodeError
from rekindle.graph.vertex_ids import vertex_id
from rekindle.runtime.master.slots.slot_metrics import SlotReadings
from rekindle.runtime.master.views.progress import EpochSummary
from rekindle.runtime.wire.messages import OperatorNumbers, Rates
from rekindle.testing import ManualClock
from support.rest_jobs import JOB, FakeMaster, served

OTHER = "f" * 32
TASKS = {
    "canceled",
    "canceling",
    "created",
    "deploying",
    "failed",
    "finished",
    "initializing",
    "reconciling",
    "running",
    "scheduled",
}
TASK_STATES = {name.upper() for name in TASKS}
TIMESTAMPS = {
    "CANCELED",
    "CANCELLING",
    "CREATED",
    "FAILED",
    "FAILING",
    "FINISHED",
    "INITIALIZING",
    "RECONCILING",
    "RESTARTING",
    "RUNNING",
    "SUSPENDED",
}
VERTEX_METRICS = {
    "accumulated-backpressured-time",
    "accumulated-busy-time",
    "accumulated-idle-time",
    "read-bytes",
    "read-bytes-complete",
    "read-records",
    "read-records-complete",
    "write-bytes",
    "write-bytes-complete",
    "write-records",
    "write-records-complete",
}


RATES = {
    "records-in-per-second",
    "records-out-per-second",
    "bytes-in-per-second",
    "bytes-out-per-second",
    "busy-time-ms-per-second",
    "backpressured-time-ms-per-second",
    "idle-time-ms-per-second",
    "watermark",
}


def numbers(uid: str, subtask: int, records_in: int, records_out: int) -> OperatorNumbers:
    return OperatorNumbers(uid, uid, subtask, records_in, records_out, 5, 6)


def measured(subtask: int, busy: float, held_up: float) -> OperatorNumbers:
    return OperatorNumbers(
        "map",
        "Map",
        subtask,
        records_in=10,
        records_out=10,
        input_watermark=5,
        output_watermark=6 + subtask,
        bytes_in=100,
        bytes_out=7,
        all_bytes_in=True,
        all_bytes_out=subtask == 0,
        busy_ms=40,
        back_pressured_ms=30,
        idle_ms=20,
        rates=Rates(1.0, 2.0, 3.0, 4.0, busy, held_up),
    )


def test_the_overview_counts_slots_and_jobs() -> None:
    ended = FakeMaster(OTHER).run()
    client = served(FakeMaster().run(), ended)
    ended.end(JobStatus.FAILED)
    overview = client.get("/overview").json
    version = overview.pop("flink-version")
    assert version.startswith("rekindle ")
    assert overview == {
        "taskmanagers": 2,
        "slots-total": 2,
        "slots-available": 0,
        "jobs-running": 1,
        "jobs-finished": 0,
        "jobs-cancelled": 0,
        "jobs-failed": 1,
        "flink-commit": "",
    }


def test_the_configuration_has_flinks_keys() -> None:
    config = served().get("/config").json
    assert config.keys() == {
        "refresh-interval",
        "timezone-name",
        "timezone-offset",
        "flink-version",
        "flink-revision",
        "features",
    }
    assert config["features"] == {"web-submit": False, "web-cancel": True, "web-rescale": False, "web-history": False}


def test_jobs_are_listed_with_their_states() -> None:
    assert served(FakeMaster().run(), FakeMaster(OTHER)).get("/jobs").json == {
        "jobs": [{"id": JOB, "status": "RUNNING"}, {"id": OTHER, "status": "CREATED"}]
    }


def test_the_overview_of_jobs_has_flinks_keys() -> None:
    clock = ManualClock(1_000)
    master = FakeMaster(clock=clock)
    clock.advance(10)
    master.run()
    clock.advance(90)
    (entry,) = served(master).get("/jobs/overview").json["jobs"]
    tasks = entry.pop("tasks")
    assert entry == {
        "jid": JOB,
        "name": "a job",
        "jobType": "STREAMING",
        "schedulerType": "Default",
        "start-time": 1_000,
        "end-time": -1,
        "duration": 100,
        "state": "RUNNING",
        "last-modification": 1_010,
        "pending-operators": 0,
    }
    assert tasks == {"total": 5, **dict.fromkeys(TASKS, 0), "running": 5}


def test_a_job_is_described_with_flinks_keys() -> None:
    clock = ManualClock(1_000)
    master = FakeMaster(clock=clock).run()
    master.readings = SlotReadings((numbers("map", 0, 3, 2), numbers("map", 1, 4, 4)), (), complete=True)
    clock.advance(7)
    details = served(master).get(f"/jobs/{JOB}").json
    assert details.keys() == {
        "application-id",
        "duration",
        "end-time",
        "isStoppable",
        "jid",
        "job-type",
        "maxParallelism",
        "name",
        "now",
        "pending-operators",
        "plan",
        "schedulerType",
        "start-time",
        "state",
        "status-counts",
        "timestamps",
        "vertices",
    }
    assert (details["jid"], details["state"], details["now"], details["duration"]) == (JOB, "RUNNING", 1_007, 7)
    assert details["timestamps"].keys() == TIMESTAMPS
    assert details["timestamps"]["RUNNING"] == 1_000
    assert details["timestamps"]["FAILED"] == 0
    assert details["status-counts"] == {**dict.fromkeys(TASK_STATES, 0), "RUNNING": 3}
    vertex = details["vertices"][1]
    metrics = vertex.pop("metrics")
    assert vertex.pop("rates").keys() == RATES
    assert vertex == {
        "id": vertex_id("map"),
        "state-size": None,
        "slotSharingGroupId": JOB,
        "name": "Map",
        "uid": "map",
        "maxParallelism": 128,
        "parallelism": 2,
        "status": "RUNNING",
        "start-time": 1_000,
        "end-time": -1,
        "duration": 7,
        "tasks": {**dict.fromkeys(TASK_STATES, 0), "RUNNING": 2},
    }
    assert metrics.keys() == VERTEX_METRICS
    assert (metrics["read-records"], metrics["write-records"], metrics["read-records-complete"]) == (7, 6, True)
    assert details["plan"] == served(master).get(f"/jobs/{JOB}/plan").json["plan"]


def test_a_job_that_has_ended_says_when() -> None:
    clock = ManualClock(1_000)
    master = FakeMaster(clock=clock).run()
    client = served(master)
    clock.advance(5)
    master.end(JobStatus.FINISHED)
    clock.advance(100)
    details = client.get(f"/jobs/{JOB}").json
    assert (details["state"], details["end-time"], details["duration"]) == ("FINISHED", 1_005, 5)
    assert {vertex["status"] for vertex in details["vertices"]} == {"FINISHED"}


@pytest.mark.parametrize(
    ("status", "tasks"),
    [
        (JobStatus.CREATED, "CREATED"),
        (JobStatus.CANCELLING, "CANCELING"),
        (JobStatus.CANCELED, "CANCELED"),
        (JobStatus.FINISHED, "FINISHED"),
        (JobStatus.RECONCILING, "RECONCILING"),
    ],
)
def test_the_subtasks_do_what_the_job_does(status: JobStatus, tasks: str) -> None:
    master = FakeMaster()
    master.history.enter(status)
    assert {vertex["status"] for vertex in served(master).get(f"/jobs/{JOB}").json["vertices"]} == {tasks}


def test_slots_that_are_not_ready_are_being_deployed() -> None:
    master = FakeMaster()
    master.history.enter(JobStatus.RUNNING)
    assert {v["status"] for v in served(master).get(f"/jobs/{JOB}").json["vertices"]} == {"DEPLOYING"}


def test_the_operator_that_failed_is_told_from_the_others() -> None:
    master = FakeMaster().run()
    master.history.failed(UserCodeError("numbers", 0, "ValueError: no", ""), 1_000)
    master.history.enter(JobStatus.RESTARTING)
    states = [vertex["status"] for vertex in served(master).get(f"/jobs/{JOB}").json["vertices"]]
    assert states == ["FAILED", "CANCELED", "CANCELED"]


def test_the_plan_is_flinks_with_names_and_uids() -> None:
    assert served(FakeMaster()).get(f"/jobs/{JOB}/plan").json == {
        "plan": {
            "jid": JOB,
            "name": "a job",
            "type": "STREAMING",
            "nodes": [
                {
                    "id": vertex_id("numbers"),
                    "name": "Source: numbers",
                    "uid": "numbers",
                    "level": 0,
                    "parallelism": 2,
                    "operator": "",
                    "operator_strategy": "",
                    "description": "Source: numbers",
                    "optimizer_properties": {},
                },
                {
                    "id": vertex_id("map"),
                    "name": "Map",
                    "uid": "map",
                    "level": 0,
                    "parallelism": 2,
                    "operator": "",
                    "operator_strategy": "",
                    "description": "adds one",
                    "optimizer_properties": {},
                    "inputs": [
                        {
                            "num": 0,
                            "id": vertex_id("numbers"),
                            "ship_strategy": "HASH",
                            "exchange": "pipelined_bounded",
                        }
                    ],
                },
                {
                    "id": vertex_id("out"),
                    "name": "Sink: Out",
                    "uid": "out",
                    "level": 0,
                    "parallelism": 1,
                    "operator": "",
                    "operator_strategy": "",
                    "description": "Sink: Out",
                    "optimizer_properties": {},
                    "inputs": [{"num": 0, "id": vertex_id("map"), "ship_strategy": "FORWARD", "exchange": "pipelined"}],
                },
            ],
        }
    }


def test_the_state_of_a_job_alone() -> None:
    assert served(FakeMaster().run()).get(f"/jobs/{JOB}/status").json == {"status": "RUNNING"}


def test_what_a_job_runs_with() -> None:
    configuration = Configuration()
    configuration.set_string("pipeline.global-job-parameters", "a:b,db.Password:hunter2")
    configuration.set_string("restart-strategy.type", "none")
    config = served(FakeMaster(configuration=configuration)).get(f"/jobs/{JOB}/config").json
    strategy = config["execution-config"].pop("restart-strategy")
    assert strategy
    assert config == {
        "jid": JOB,
        "name": "a job",
        "execution-config": {
            "job-parallelism": 2,
            "object-reuse-mode": False,
            "user-config": {"a": "b", "db.Password": "******"},
        },
    }


def test_there_are_no_accumulators() -> None:
    assert served(FakeMaster()).get(f"/jobs/{JOB}/accumulators").json == {
        "job-accumulators": [],
        "user-task-accumulators": [],
        "serialized-user-task-accumulators": {},
    }


def test_failures_are_listed_with_where_they_were_and_what_followed() -> None:
    clock = ManualClock(1_000)
    master = FakeMaster(clock=clock).run()
    master.history.failed(UserCodeError("Map", 1, "ValueError: no", "Traceback …"), 2_000)
    clock.advance(10)
    master.history.attempt_started(1, None)
    master.history.failed(SlotLostError("slot 0 was lost: it died", 0), None)
    newest, oldest = served(master).get(f"/jobs/{JOB}/exceptions").json["exceptionHistory"]["entries"]
    assert "in operator 'Map', subtask 1" in oldest.pop("stacktrace")
    assert oldest == {
        "exceptionName": "rekindle.exceptions.UserCodeError",
        "timestamp": 1_000,
        "failureLabels": {},
        "attempt": 0,
        "taskName": "Map (subtask 1)",
        "endpoint": "there:22",
        "taskManagerId": "slot-1",
        "concurrentExceptions": [],
        "followedBy": "RESTARTING",
        "restartDelay": 2_000,
    }
    assert newest == {
        "exceptionName": "rekindle.exceptions.SlotLostError",
        "stacktrace": "slot 0 was lost: it died",
        "attempt": 1,
        "timestamp": 1_010,
        "failureLabels": {},
        "taskName": None,
        "endpoint": "here:11",
        "taskManagerId": "slot-0",
        "concurrentExceptions": [],
        "followedBy": "FAILED",
        "restartDelay": None,
    }


def test_fewer_failures_are_given_to_who_wants_fewer() -> None:
    master = FakeMaster().run()
    for number in range(20):
        master.history.failed(RuntimeError(str(number)), 0)
    client = served(master)
    everything = client.get(f"/jobs/{JOB}/exceptions").json["exceptionHistory"]
    assert [entry["stacktrace"] for entry in everything["entries"]] == [str(n) for n in range(19, 3, -1)]
    assert everything["truncated"] is True
    two = client.get(f"/jobs/{JOB}/exceptions?maxExceptions=2").json["exceptionHistory"]
    assert [entry["stacktrace"] for entry in two["entries"]] == ["19", "18"]
    assert client.get(f"/jobs/{JOB}/exceptions?maxExceptions=many").status == 400


def test_a_job_that_never_failed_has_an_empty_list() -> None:
    answer = served(FakeMaster()).get(f"/jobs/{JOB}/exceptions").json
    assert answer == {"exceptionHistory": {"entries": [], "truncated": False}}


@pytest.mark.parametrize("named", [vertex_id("map"), "map"])
def test_the_subtasks_of_an_operator_are_described(named: str) -> None:
    clock = ManualClock(1_000)
    master = FakeMaster(clock=clock).run()
    master.readings = SlotReadings((numbers("map", 0, 3, 2),), (), complete=False)
    clock.advance(3)
    vertex = served(master).get(f"/jobs/{JOB}/vertices/{named}").json
    first, second = vertex.pop("subtasks")
    assert vertex == {"id": vertex_id("map"), "name": "Map", "parallelism": 2, "maxParallelism": 128, "now": 1_003}
    metrics = first.pop("metrics")
    assert metrics.keys() == VERTEX_METRICS
    assert (metrics["read-records"], metrics["read-records-complete"]) == (3, True)
    assert second["metrics"]["read-records-complete"] is False
    assert first.pop("rates").keys() == RATES
    assert first == {
        "subtask": 0,
        "state-size": None,
        "status": "RUNNING",
        "attempt": 0,
        "endpoint": "here:11",
        "start-time": 1_000,
        "end-time": -1,
        "duration": 3,
        "taskmanager-id": "slot-0",
        "status-duration": {},
        "start_time": 1_000,
    }


def test_bytes_times_and_rates_of_an_operator_are_summed_up() -> None:
    master = FakeMaster().run()
    master.readings = SlotReadings((measured(0, 600.0, 50.0), measured(1, 100.0, 800.0)), (), complete=True)
    client = served(master)
    vertex = client.get(f"/jobs/{JOB}").json["vertices"][1]
    metrics, rates = vertex["metrics"], vertex["rates"]
    assert (metrics["read-bytes"], metrics["read-bytes-complete"]) == (200, True)
    assert (metrics["write-bytes"], metrics["write-bytes-complete"]) == (14, False)
    assert metrics["accumulated-busy-time"] == 80.0
    assert metrics["accumulated-backpressured-time"] == 60
    assert metrics["accumulated-idle-time"] == 40
    assert rates["records-in-per-second"] == 2.0
    assert rates["bytes-out-per-second"] == 8.0
    assert (rates["busy-time-ms-per-second"], rates["backpressured-time-ms-per-second"]) == (600.0, 800.0)
    assert rates["watermark"] == 6
    listed = {each["id"] for each in client.get(f"/jobs/{JOB}/vertices/map/metrics").json}
    assert {"0.busyTimeMsPerSecond", "1.backPressuredTimeMsPerSecond", "0.numBytesIn", "1.numBytesOut"} <= listed


def test_back_pressure_has_flinks_keys_and_words() -> None:
    master = FakeMaster(clock=ManualClock(9)).run()
    master.readings = SlotReadings((measured(1, 100.0, 800.0), measured(0, 600.0, 50.0)), (), complete=True)
    answer = served(master).get(f"/jobs/{JOB}/vertices/map/backpressure").json
    first, second = answer.pop("subtasks")
    assert answer == {"status": "ok", "backpressureLevel": "high", "end-timestamp": 9}
    assert first == {
        "subtask": 0,
        "attempt-number": 0,
        "backpressureLevel": "ok",
        "ratio": 0.05,
        "idleRatio": 0.35,
        "busyRatio": 0.6,
        "other-concurrent-attempts": None,
    }
    assert (second["subtask"], second["backpressureLevel"], second["ratio"]) == (1, "high", 0.8)


def test_back_pressure_is_not_known_where_no_slot_answers() -> None:
    client = served(FakeMaster())
    assert client.get(f"/jobs/{JOB}/vertices/map/backpressure").json["status"] == "deprecated"
    assert client.get(f"/jobs/{JOB}/vertices/nope/backpressure").status == 404


# --- cancelling ---


@pytest.mark.parametrize("query", ["?mode=cancel", "", "?mode=CANCEL"])
def test_a_job_is_cancelled(query: str) -> None:
    master = FakeMaster().run()
    answer = served(master).ask("PATCH", f"/jobs/{JOB}{query}")
    assert (answer.status, answer.json) == (202, {})
    assert master.asked == [("cancel",)]


@pytest.mark.parametrize("query", ["?mode=stop", "?mode=weird"])
def test_there_is_no_other_mode(query: str) -> None:
    master = FakeMaster().run()
    assert served(master).ask("PATCH", f"/jobs/{JOB}{query}").status == 400
    assert master.asked == []


@pytest.mark.parametrize("status", [JobStatus.FINISHED, JobStatus.FAILED, JobStatus.SUSPENDED])
def test_a_job_that_ended_otherwise_cannot_be_cancelled(status: JobStatus) -> None:
    master = FakeMaster().run()
    client = served(master)
    master.end(status)
    refused = client.ask("PATCH", f"/jobs/{JOB}")
    assert refused.status == 409
    assert status.name in refused.error


def test_cancelling_a_cancelled_job_changes_nothing() -> None:
    master = FakeMaster().run()
    client = served(master)
    master.end(JobStatus.CANCELED)
    assert client.ask("PATCH", f"/jobs/{JOB}").status == 202
    assert master.asked == []


# --- what is not there ---


@pytest.mark.parametrize("path", ["", "/status", "/plan", "/checkpoints", "/exceptions", "/metrics", "/vertices/map"])
def test_a_job_that_is_not_known_is_not_found(path: str) -> None:
    answer = served().get(f"/jobs/{OTHER}{path}")
    assert answer.status == 404
    assert answer.error == f"Job {OTHER} not found"


@pytest.mark.parametrize("job_id", ["abc", "g" * 32, "0" * 33, "%20" * 32])
def test_what_is_no_id_of_a_job_is_a_bad_request(job_id: str) -> None:
    assert served().get(f"/jobs/{job_id}").status == 400


def test_the_id_of_a_job_may_be_written_in_capitals() -> None:
    assert served(FakeMaster()).get(f"/jobs/{JOB.upper()}/status").status == 200


@pytest.mark.parametrize("path", ["/nope", "/jobs/x/y/z", "/overview/more", "//jobs", "/../jobs", "/index.html"])
def test_other_paths_are_not_found(path: str) -> None:
    answer = served(FakeMaster()).get(path)
    assert answer.status == 404
    assert answer.error == f"Not found: {path}"


def test_an_operator_that_is_not_there_is_not_found() -> None:
    assert served(FakeMaster()).get(f"/jobs/{JOB}/vertices/{OTHER}").status == 404


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        ("POST", "/overview", "GET, HEAD"),
        ("DELETE", f"/jobs/{JOB}", "GET, HEAD, PATCH"),
        ("OPTIONS", f"/jobs/{JOB}", "GET, HEAD, PATCH"),
        ("GET", f"/jobs/{JOB}/savepoints", "POST"),
        ("PATCH", f"/jobs/{JOB}/checkpoints", "GET, HEAD, POST"),
    ],
)
def test_other_methods_are_not_allowed(method: str, path: str, allowed: str) -> None:
    answer = served(FakeMaster()).ask(method, path)
    assert answer.status == 405
    assert answer.headers["allow"] == allowed


def test_a_slash_at_the_end_means_nothing() -> None:
    assert served().get("/jobs/").json == {"jobs": []}


def test_paths_may_begin_with_the_version_of_flinks_interface() -> None:
    client = served(FakeMaster())
    assert client.get(f"/v1/jobs/{JOB}/status").status == 200
    assert client.get("/v1/jobs").json == client.get("/jobs").json
    assert [client.get(path).status for path in ("/v1", "/v2/jobs", "/v1/v1/jobs")] == [404] * 3


# --- metrics ---


def value_of(client: Any, name: str) -> str:
    ((metric),) = client.get(f"/jobs/{JOB}/metrics?get={name}").json
    assert metric.keys() == {"id", "value"}
    assert metric["id"] == name
    return str(metric["value"])


def test_the_metrics_of_a_job_are_listed_and_read() -> None:
    clock = ManualClock(1_000)
    master = FakeMaster(clock=clock).run()
    master.history.failed(RuntimeError("once"), 0)
    master.history.epoch_finished(EpochSummary(epoch=3, polled=10, records=10, seconds=0.5, watermark=42))
    clock.advance(9)
    client = served(master)
    names = {metric["id"] for metric in client.get(f"/jobs/{JOB}/metrics").json}
    assert names >= {
        "numRestarts",
        "uptime",
        "downtime",
        "runningTime",
        "restartingTime",
        "cancellingTime",
        "failingTime",
        "createdTime",
        "lastCheckpointDuration",
        "lastCheckpointSize",
        "lastCheckpointFullSize",
        "lastCheckpointExternalPath",
        "lastCheckpointRestoreTimestamp",
        "lastCompletedCheckpointId",
        "lastCheckpointCompletedTimestamp",
        "totalNumberOfCheckpoints",
        "numberOfInProgressCheckpoints",
        "numberOfCompletedCheckpoints",
        "numberOfFailedCheckpoints",
    }
    assert value_of(client, "numRestarts") == "1"
    assert value_of(client, "uptime") == "9"
    assert value_of(client, "lastCheckpointDuration") == "-1"
    assert value_of(client, "lastCheckpointExternalPath") == "n/a"
    assert value_of(client, "numRecordsIn") == "10"
    assert value_of(client, "currentOutputWatermark") == "42"
    assert value_of(client, "lastEpochDuration") == "500"


def test_metrics_that_are_not_there_are_left_out() -> None:
    answer = served(FakeMaster()).get(f"/jobs/{JOB}/metrics?get=numRestarts,nope,numRestarts").json
    assert answer == [{"id": "numRestarts", "value": "0"}]


def test_a_job_that_is_over_has_no_uptime() -> None:
    master = FakeMaster().run()
    client = served(master)
    master.end(JobStatus.FINISHED)
    assert value_of(client, "uptime") == "-1"
    assert value_of(client, "downtime") == "-1"
