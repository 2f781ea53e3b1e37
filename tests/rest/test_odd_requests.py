"""Whatever somebody sends: it is refused with a sentence, and the job goes on."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rekindle.common import JobStatus
from rekindle.exceptions import StopFailedError
from rekindle.rest.api import RestApi
from rekindle.runtime.master.checkpoints.stopping import StopMode
from rekindle.runtime.master.job_master import JobMaster
from rekindle.runtime.master.running_jobs import RunningJobs
from rekindle.runtime.wire import messages as m
from support.balances import environment, numbering_job
from support.in_process_master import Cluster, cluster
from support.odd_text import ODD, odd_text
from support.processes import wait_until
from support.rest_jobs import JOB, Answer, Client, FakeMaster, served

__all__ = ["cluster"]

KNOWN = {200, 202, 400, 401, 403, 404, 405, 409, 413, 414, 415, 431}
SAVEPOINTS, STOP = f"/jobs/{JOB}/savepoints", f"/jobs/{JOB}/stop"


def is_sentence(answer: Answer) -> bool:
    """Return whether a refusal says why, in one line."""
    return answer.status < 400 or len(answer.error) > 10


# --- every argument of every path ---

PLACES = [
    "/{}",
    "/jobs/{}",
    "/jobs/{}/status",
    f"/jobs/{JOB}/{{}}",
    f"/jobs/{JOB}/vertices/{{}}",
    f"/jobs/{JOB}/vertices/{{}}/metrics",
    f"/jobs/{JOB}/checkpoints/details/{{}}",
    f"/jobs/{JOB}/checkpoints/details/1/subtasks/{{}}",
    f"/jobs/{JOB}/savepoints/{{}}",
    f"/jobs/{JOB}/exceptions?maxExceptions={{}}",
    f"/jobs/{JOB}/metrics?get={{}}",
    f"/jobs/{JOB}?{{}}",
    "/savepoint-disposal/{}",
]


@given(st.sampled_from(PLACES), odd_text, st.booleans())
def test_any_path_and_query_is_answered_with_a_sentence(place: str, text: str, quoted: bool) -> None:
    client = served(FakeMaster().run())
    answer = client.get(place.format(quote(text, safe="") if quoted else text))
    assert answer.status in KNOWN, answer.body
    assert is_sentence(answer)


@given(odd_text)
def test_a_job_is_cancelled_by_nothing_but_its_mode(mode: str) -> None:
    master = FakeMaster().run()
    answer = served(master).ask("PATCH", f"/jobs/{JOB}?mode={quote(mode, safe='')}")
    assert answer.status in ({202} if mode.lower() == "cancel" else {400, 414})
    assert bool(master.asked) is (answer.status == 202)


HEADERS = ["host", "origin", "authorization", "content-type", "content-length", "transfer-encoding"]
header_text = odd_text.map(lambda text: text.encode("latin-1", "replace").decode("latin-1"))


@given(st.sampled_from(HEADERS), header_text)
def test_any_header_is_answered_with_a_sentence(name: str, value: str) -> None:
    answer = served(FakeMaster().run()).ask("POST", SAVEPOINTS, {"target-directory": "/d"}, {name: value})
    assert answer.status in KNOWN, answer.body
    assert is_sentence(answer)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | odd_text,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(odd_text, inner, max_size=3),
    max_leaves=5,
)
FIELDS = ["target-directory", "targetDirectory", "cancel-job", "drain", "formatType", "triggerId", "savepoint-path"]


@given(st.sampled_from([SAVEPOINTS, STOP]), st.dictionaries(st.sampled_from(FIELDS), json_values, max_size=3))
def test_any_body_is_answered_with_a_sentence(path: str, body: dict[str, Any]) -> None:
    answer = served(FakeMaster().run()).ask("POST", path, body)
    assert answer.status in KNOWN, answer.body
    assert is_sentence(answer)


@given(st.binary(max_size=60) | odd_text.map(lambda text: json.dumps({"target-directory": text + "\udc80"}).encode()))
def test_a_body_that_is_no_document_is_answered_with_a_sentence(body: bytes) -> None:
    answer = served(FakeMaster().run()).ask("POST", SAVEPOINTS, body)
    assert answer.status == 400
    assert is_sentence(answer)


@pytest.mark.parametrize("path", [text for text in ODD if not text.startswith("/jobs")])
def test_a_savepoint_that_can_be_nowhere_is_not_disposed_of(path: str) -> None:
    answer = served().ask("POST", "/savepoint-disposal", {"savepoint-path": path})
    assert answer.status == 400
    assert "savepoint-path" in answer.error or "checkpoint location" in answer.error


# --- directories, to a job that runs ---


class Job:
    """A job that runs without an end, and a client of its interface."""

    def __init__(self, cluster: Cluster, directory: Path) -> None:
        self.directory = directory
        self._cluster = cluster
        env = environment(None, str(directory / "checkpoints"), rekindle_epoch_max__records="20")
        numbering_job(env, 1_000_000, str(directory / "out"))
        self.master: JobMaster = cluster.submit(env)
        jobs = RunningJobs()
        jobs.register(self.master)
        self._client = Client(RestApi(jobs).handlers)
        self.path = f"/jobs/{self.master.settings.job_id}"
        wait_until(lambda: len(cluster.attempts) == 1, "it runs")

    def post(self, path: str, body: Any) -> Answer:
        return self._client.ask("POST", self.path + path, body)

    def outcome(self, answer: Answer) -> Any:
        """Wait for what an operation comes to."""
        path = f"{self.path}/savepoints/{answer.json['request-id']}"
        wait_until(lambda: self._client.get(path).json["operation"] is not None, "it has an outcome")
        return self._client.get(path).json["operation"]

    def goes_on(self) -> bool:
        """Return whether the job runs on as if nothing had been asked."""
        answer = self.post("/savepoints", {"target-directory": str(self.directory / "good")})
        assert "location" in self.outcome(answer)
        return self.master.status is JobStatus.RUNNING and len(self._cluster.attempts) == 1


@pytest.fixture
def job(cluster: Cluster, tmp_path: Path) -> Job:
    return Job(cluster, tmp_path)


def requests(directory: Any) -> list[tuple[str, dict[str, Any]]]:
    """Return all that a directory can be part of."""
    return [
        ("/savepoints", {"target-directory": directory}),
        ("/savepoints", {"target-directory": directory, "cancel-job": True}),
        ("/stop", {"targetDirectory": directory}),
        ("/stop", {"targetDirectory": directory, "drain": True}),
    ]


def test_a_directory_that_can_be_nowhere_never_reaches_the_job(job: Job) -> None:
    """Text that might be one is not tried here: savepoints are written where it says."""
    for directory in (text for text in ODD if text.strip() and not text.startswith(("/jobs", "/x/x"))):
        for path, body in requests(directory):
            answer = job.post(path, body)
            assert answer.status == 400, (directory, path)
            assert "savepoint directory" in answer.error or "checkpoint location" in answer.error
    assert job.goes_on()


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(odd_text, min_size=1, max_size=3).map("/".join))
def test_a_job_goes_on_whatever_its_savepoints_are_called(job: Job, name: str) -> None:
    answer = job.post("/savepoints", {"target-directory": f"{job.directory}/{name.replace('..', '')}"})
    assert answer.status in (202, 400)
    if answer.status == 202:
        assert job.outcome(answer).keys() <= {"location", "failure-cause"}
    assert job.master.status is JobStatus.RUNNING
    assert len(job._cluster.attempts) == 1


def test_a_directory_that_cannot_be_written_fails_the_savepoint_alone(job: Job) -> None:
    (job.directory / "file").write_text("")
    for path, body in requests(str(job.directory / "file" / "below")):
        assert "failure-cause" in job.outcome(job.post(path, body))
        assert job.goes_on() or "drain" in body
        if "drain" in body:
            return  # a job whose sources had been ended goes back to its checkpoint


@pytest.mark.parametrize("where", ["taking", "telling"])
def test_a_savepoint_that_cannot_begin_fails_alone(job: Job, where: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail_once(original: Callable[..., Any], error: Exception, only: Callable[..., bool]) -> Callable[..., Any]:
        errors = [error]

        def failing(*args: Any, **kwargs: Any) -> Any:
            if errors and only(*args):
                raise errors.pop()
            return original(*args, **kwargs)

        return failing

    attempt = job.master._attempt
    assert attempt is not None
    error = UnicodeEncodeError("utf-8", "\udc80", 0, 1, "surrogates not allowed")
    if where == "taking":
        place, placed = attempt._place_barrier, list[m.TriggerSnapshot]()

        def placing(order: m.TriggerSnapshot) -> None:
            placed.append(order)
            place(order)

        positions = fail_once(attempt._epochs.positions, error, lambda epoch: placed[-1].savepoint is not None)
        monkeypatch.setattr(attempt, "_place_barrier", placing)
        monkeypatch.setattr(attempt._epochs, "positions", positions)
        answer = job.post("/savepoints", {"target-directory": str(job.directory)})
    else:
        is_savepoint = lambda message: isinstance(message, m.TriggerSnapshot) and message.savepoint is not None  # noqa: E731
        broadcast = attempt._shared.slot_pool.broadcast
        monkeypatch.setattr(attempt._shared.slot_pool, "broadcast", fail_once(broadcast, error, is_savepoint))
        answer = job.post("/savepoints", {"target-directory": str(job.directory)})
    cause = job.outcome(answer)["failure-cause"]["stack-trace"]
    assert "it could not begin: 'utf-8' codec can't encode" in cause
    assert job.goes_on()


def test_a_stop_whose_savepoint_cannot_begin_fails_alone(job: Job) -> None:
    future = job.master._stopping.request(StopMode.SUSPEND, "nobody://knows/this")  # past all checks
    job.master._wake()
    error = future.exception(60)
    assert isinstance(error, StopFailedError)
    assert str(error).startswith("the job was not stopped, and goes on: ")
    assert "checkpoint location 'nobody://knows/this" in str(error)
    assert job.goes_on()
