"""A job, watched, saved and stopped over its REST interface."""

from __future__ import annotations

import json
import os
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

from prometheus_client.parser import text_string_to_metric_families

from rekindle.common import JobStatus, Types, WatermarkStrategy
from rekindle.datastream import KeyedProcessFunction, RuntimeContext
from rekindle.datastream.connectors.number_seq import NumberSequenceSource
from rekindle.graph.vertex_ids import vertex_id
from rekindle.rest.discovery import discovered
from support.balances import environment
from support.processes import wait_until


class Counted(KeyedProcessFunction):
    """Count what passes."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self._seen = runtime_context.get_metrics_group().add_group("kind", "number").counter("seen")

    def process_element(self, value: int, ctx: KeyedProcessFunction.Context) -> Any:
        self._seen.inc()
        if value < 0:
            yield value


def call(method: str, url: str, body: Any = None) -> Any:
    data = None if body is None else json.dumps(body).encode()
    (token,) = {endpoint.token for endpoint in discovered() if endpoint.pid == os.getpid()}
    headers = {"Content-Type": "application/json", "Authorization": f"Bearer {token}"}
    request = urllib.request.Request(url, data, headers, method=method)
    with urllib.request.urlopen(request, timeout=30) as response:
        text = response.read().decode()
        return json.loads(text) if response.headers["Content-Type"].startswith("application/json") else text


def eventually(ask: Callable[[], Any], what: str) -> Any:
    """Ask until there is an answer that counts."""
    found: list[Any] = []

    def asked() -> bool:
        time.sleep(0.1)  # a job that is asked too often does nothing else
        found[:] = [ask()]
        return bool(found[0])

    wait_until(asked, what)
    return found[0]


def test_a_job_is_watched_saved_and_stopped_over_rest(local_cluster: Any, tmp_path: Path) -> None:
    env = environment(local_cluster, f"{tmp_path}/checkpoints", rest_enabled="true", interval=100)
    numbers = env.from_source(
        NumberSequenceSource(0, 10**12), WatermarkStrategy.no_watermarks(), "numbers", Types.LONG()
    )
    counted = numbers.key_by(lambda value: value % 7).process(Counted(), Types.LONG())
    counted.uid("counted").name("Counted").print()
    client = env.execute_async("watched")
    (base,) = eventually(
        lambda: [endpoint.url for endpoint in discovered() if endpoint.pid == os.getpid()], "the driver is found"
    )
    job_id = str(client.get_job_id())
    job = f"{base}/jobs/{job_id}"

    # It runs, and tells how far it is.
    def running() -> Any:
        details = call("GET", job)
        records = {vertex["name"]: vertex["metrics"]["read-records"] for vertex in details["vertices"]}
        return details if details["state"] == "RUNNING" and records["Counted"] else None

    details = eventually(running, "it runs")
    assert {vertex["status"] for vertex in details["vertices"]} == {"RUNNING"}
    assert {"id": job_id, "status": "RUNNING"} in call("GET", f"{base}/jobs")["jobs"]
    assert call("GET", f"{base}/overview")["jobs-running"] >= 1
    assert [node["uid"] for node in call("GET", f"{job}/plan")["plan"]["nodes"]].count("counted") == 1
    assert call("GET", f"{job}/metrics?get=numRestarts") == [{"id": "numRestarts", "value": "0"}]

    # Its checkpoints are told in all their parts.
    checkpoints = eventually(
        lambda: (found := call("GET", f"{job}/checkpoints"))["latest"]["completed"] and found, "there is a checkpoint"
    )
    assert checkpoints["counts"]["completed"] >= 1
    number = checkpoints["latest"]["completed"]["id"]
    vertex = vertex_id("counted")
    tasks = call("GET", f"{job}/checkpoints/details/{number}")["tasks"]
    assert tasks[vertex]["num_acknowledged_subtasks"] == 2
    subtasks = call("GET", f"{job}/checkpoints/details/{number}/subtasks/{vertex}")["subtasks"]
    assert [subtask["index"] for subtask in subtasks] == [0, 1]
    assert call("GET", f"{job}/checkpoints/config")["interval"] == 100

    # So are its metrics, those of its functions among them.
    def seen() -> Any:
        families = text_string_to_metric_families(call("GET", f"{base}/metrics"))
        samples = [sample for family in families for sample in family.samples if sample.labels.get("job_id") == job_id]
        counts = [s for s in samples if s.name == "rekindle_taskmanager_job_task_operator_kind_seen_total"]
        return samples if sum(sample.value for sample in counts) and len(counts) == 2 else None

    samples = eventually(seen, "the function has counted")
    assert {s.labels["kind"] for s in samples if s.name.endswith("_kind_seen_total")} == {"number"}
    assert [s.value for s in samples if s.name == "rekindle_jobmanager_job_numRestarts_total"] == [0]
    assert [s.value > 0 for s in samples if s.name == "rekindle_jobmanager_job_numberOfCompletedCheckpoints_total"] == [
        True
    ]

    # A savepoint in passing, then the end with another.
    def completed(request: str) -> str:
        status = eventually(
            lambda: (told := call("GET", f"{job}/savepoints/{request}"))["status"]["id"] == "COMPLETED" and told,
            "the savepoint is complete",
        )
        return str(status["operation"]["location"])

    first = call("POST", f"{job}/savepoints", {"target-directory": f"file://{tmp_path}/savepoints"})
    passing = completed(first["request-id"])
    assert call("GET", f"{job}/status") == {"status": "RUNNING"}
    second = call("POST", f"{job}/stop", {"targetDirectory": f"file://{tmp_path}/savepoints", "drain": False})
    last = completed(second["request-id"])
    assert len({passing, last}) == 2
    assert len(list((tmp_path / "savepoints").iterdir())) == 2
    client.get_job_execution_result().result()
    assert client.get_job_status().result() is JobStatus.FINISHED

    # What is known of it is known after its end, too.
    details = call("GET", job)
    assert (details["state"], details["end-time"] > 0) == ("FINISHED", True)
    assert call("GET", f"{job}/checkpoints")["latest"]["savepoint"]["external_path"] == last.removeprefix("file://")
    disposal = call("POST", f"{base}/savepoint-disposal", {"savepoint-path": passing})["request-id"]
    eventually(
        lambda: call("GET", f"{base}/savepoint-disposal/{disposal}")["operation"] == {}, "the savepoint is disposed of"
    )
    assert len(list((tmp_path / "savepoints").iterdir())) == 1
