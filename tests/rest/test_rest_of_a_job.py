"""A real job master without Spark, watched and steered over REST."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from rekindle.common import JobStatus
from rekindle.rest.api import RestApi
from rekindle.runtime.master.job_master import JobMaster
from rekindle.runtime.master.running_jobs import RegisteredJob, RunningJobs
from support.balances import environment, numbering_job, read_output
from support.in_process_master import Cluster, cluster
from support.processes import wait_until
from support.rest_jobs import Client

__all__ = ["cluster"]


class Job:
    """The numbering job, and a client of its interface."""

    def __init__(self, cluster: Cluster, directory: Path, restarts: int = 20) -> None:
        self.savepoints = directory / "savepoints"
        self.output = directory / "out"
        env = environment(None, str(directory / "checkpoints"), restarts=restarts, rekindle_epoch_max__records="20")
        env.set_parallelism(2)
        numbering_job(env, 1_000_000, str(self.output))
        jobs = RunningJobs()
        self.master: JobMaster = cluster.submit(env)
        self.registered: RegisteredJob = jobs.register(self.master)
        self.job_id = self.master.settings.job_id
        self._client = Client(RestApi(jobs).handlers)
        wait_until(lambda: self.output.exists() and bool(read_output(str(self.output))), "there is output")

    def get(self, path: str = "") -> Any:
        answer = self._client.get(f"/jobs/{self.job_id}{path}")
        assert answer.status == 200, answer.body
        return answer.json

    def health(self) -> int:
        return self._client.get("/healthz").status

    def prometheus(self, name: str) -> list[float]:
        text = self._client.get("/metrics").body.decode()
        families = text_string_to_metric_families(text)
        return [sample.value for family in families for sample in family.samples if sample.name == name]

    def post(self, path: str, body: Any) -> str:
        answer = self._client.ask("POST", f"/jobs/{self.job_id}{path}", body)
        assert answer.status == 202, answer.body
        return str(answer.json["request-id"])

    def completed(self, request: str) -> Any:
        path = f"/savepoints/{request}"
        wait_until(lambda: self.get(path)["status"]["id"] == "COMPLETED", "the savepoint is complete")
        return self.get(path)["operation"]

    def until(self, condition: Callable[[], object]) -> None:
        wait_until(condition, "it is as expected")

    def cancel(self) -> None:
        assert self._client.ask("PATCH", f"/jobs/{self.job_id}?mode=cancel").status == 202


@pytest.fixture
def job(cluster: Cluster, tmp_path: Path) -> Job:
    return Job(cluster, tmp_path)


def test_a_running_job_tells_of_its_records_and_checkpoints(job: Job) -> None:
    job.until(lambda: all(vertex["metrics"]["write-records"] for vertex in job.get()["vertices"][:-1]))
    details = job.get()
    assert details["state"] == "RUNNING"
    job.until(lambda: job.get("/checkpoints")["latest"]["completed"] is not None)
    number = job.get("/checkpoints")["latest"]["completed"]["id"]
    assert job.get(f"/checkpoints/details/{number}")["status"] == "COMPLETED"
    assert job.get("/metrics?get=lastCheckpointExternalPath")[0]["value"].startswith(("/", "file:"))
    assert job.prometheus("rekindle_jobmanager_job_numberOfCompletedCheckpoints_total")[0] >= 1
    assert sum(job.prometheus("rekindle_taskmanager_job_task_operator_numRecordsOut_total")) > 0
    assert job.prometheus("rekindle_jobmanager_job_numRecordsIn_total")[0] > 0


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_job_that_nobody_looks_after_any_more_is_noticed(job: Job, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*arguments: object) -> None:
        raise AssertionError("a bug")

    assert job.health() == 200
    monkeypatch.setattr(job.master, "_note_end", fail)
    job.cancel()
    job.until(lambda: job.health() == 503)
    job.master.result.set_result(None)  # type: ignore[arg-type]  # nobody else will


def test_a_lost_slot_is_told_with_what_followed(job: Job, cluster: Cluster) -> None:
    cluster.slots[1].lose()
    job.until(lambda: job.get("/exceptions")["exceptionHistory"]["entries"])
    (failure,) = job.get("/exceptions")["exceptionHistory"]["entries"]
    assert "slot 1 was lost: it was killed" in failure["stacktrace"]
    assert (failure["endpoint"], failure["taskManagerId"]) == (f"{socket.gethostname()}:{os.getpid()}", "slot-1")
    assert failure["followedBy"] == "RESTARTING"
    job.until(lambda: job.get()["vertices"][0]["status"] == "RUNNING")
    assert job.get("/metrics?get=numRestarts") == [{"id": "numRestarts", "value": "1"}]
    timestamps = job.get()["timestamps"]
    assert timestamps["CREATED"] <= timestamps["RESTARTING"] <= timestamps["RUNNING"]


def test_the_failure_that_ends_a_job_is_told_once(cluster: Cluster, tmp_path: Path) -> None:
    job = Job(cluster, tmp_path, restarts=0)
    cluster.slots[0].lose()
    assert job.master.result.exception(60) is not None
    job.until(lambda: job.registered.ended)
    (failure,) = job.get("/exceptions")["exceptionHistory"]["entries"]
    assert (failure["followedBy"], failure["restartDelay"]) == ("FAILED", None)
    assert job.get()["state"] == "FAILED"


def test_a_savepoint_is_taken_and_the_job_goes_on(job: Job) -> None:
    location = job.completed(job.post("/savepoints", {"target-directory": str(job.savepoints)}))["location"]
    assert Path(location, "_metadata").is_file()
    assert job.get("/status") == {"status": "RUNNING"}


@pytest.mark.parametrize("drain", [False, True])
def test_a_job_is_stopped_with_a_savepoint(job: Job, drain: bool) -> None:
    request = job.post("/stop", {"targetDirectory": str(job.savepoints), "drain": drain})
    location = job.completed(request)["location"]
    assert Path(location, "_metadata").is_file()
    job.master.result.result(60)
    assert job.get("/status") == {"status": "FINISHED"}
    assert job.get("/checkpoints")["latest"]["savepoint"]["external_path"] == location


def test_a_job_is_cancelled_with_a_savepoint(job: Job) -> None:
    request = job.post("/savepoints", {"target-directory": str(job.savepoints), "cancel-job": True})
    assert Path(job.completed(request)["location"], "_metadata").is_file()
    job.until(lambda: job.get("/status") == {"status": "CANCELED"})


def test_a_job_is_cancelled(job: Job) -> None:
    job.cancel()
    job.until(lambda: job.get("/status") == {"status": "CANCELED"})
    assert job.master.status is JobStatus.CANCELED
    details = job.get()
    assert details["end-time"] >= details["timestamps"]["CANCELLING"] > 0
    assert {vertex["status"] for vertex in details["vertices"]} == {"CANCELED"}


def test_a_savepoint_that_cannot_be_written_says_why(job: Job) -> None:
    job.savepoints.write_text("a file where the directory should be")
    cause = job.completed(job.post("/savepoints", {"target-directory": str(job.savepoints)}))["failure-cause"]
    assert cause["class"].startswith("rekindle.exceptions.")
    assert "File " not in cause["stack-trace"]  # no line of anybody's code
    assert job.get("/status") == {"status": "RUNNING"}


def test_a_checkpoint_is_taken_by_hand_and_the_job_goes_on(job: Job) -> None:
    request = job.post("/checkpoints", {"checkpointType": "FULL"})
    path = f"/checkpoints/{request}"
    job.until(lambda: job.get(path)["status"]["id"] == "COMPLETED")
    number = job.get(path)["operation"]["checkpointId"]
    assert job.get(f"/checkpoints/details/{number}")["status"] == "COMPLETED"
    assert job.get("/status") == {"status": "RUNNING"}
