"""The JobClient of a job in another process."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from rekindle.client import get_job_client
from rekindle.client.polling import FIRST_PAUSE, LONGEST_PAUSE, PATIENCE, poll
from rekindle.client.remote_job import failure_text
from rekindle.common import JobClient, JobStatus
from rekindle.exceptions import CheckpointError, JobCancelledError, JobExecutionError, RestError, UnreachableError
from support.fake_rest import FakeJob, FakeRest, serving

JOB = "5f1c".ljust(32, "0")


@pytest.fixture
def rest() -> Iterator[FakeRest]:
    with serving(FakeRest(FakeJob(JOB))) as server:
        yield server


@pytest.fixture
def client(rest: FakeRest) -> JobClient:
    return get_job_client("orders", rest.address)


def test_id_and_status(client: JobClient, rest: FakeRest) -> None:
    assert str(client.get_job_id()) == JOB
    assert client.get_job_status().result() is JobStatus.RUNNING
    rest.jobs[JOB].state = "RESTARTING"
    assert client.get_job_status().result() is JobStatus.RESTARTING
    assert client.get_accumulators().result() == {}


def test_a_savepoint_is_waited_for(client: JobClient, rest: FakeRest) -> None:
    rest.jobs[JOB].polls = 2
    assert client.trigger_savepoint("/here").result() == "/here/savepoint-1"
    assert rest.posted() == [(f"/jobs/{JOB}/savepoints", {"target-directory": "/here", "cancel-job": False})]
    assert client.trigger_savepoint().result() == "/here/savepoint-1"


def test_a_savepoint_that_fails_or_is_refused_says_why(client: JobClient, rest: FakeRest) -> None:
    rest.jobs[JOB].failure = "rekindle.exceptions.CheckpointError: Savepoint 3 failed: disk full"
    with pytest.raises(CheckpointError, match=r"^Savepoint 3 failed: disk full$"):
        client.trigger_savepoint("/here").result()
    rest.jobs[JOB].refusal = (400, "a savepoint needs a directory")
    with pytest.raises(RestError, match="needs a directory"):
        client.trigger_savepoint()


@pytest.mark.parametrize("drain", [False, True])
def test_stopping_gives_the_path(client: JobClient, rest: FakeRest, drain: bool) -> None:
    assert client.stop_with_savepoint(drain, "/here").result() == "/here/savepoint-1"
    assert rest.posted() == [(f"/jobs/{JOB}/stop", {"targetDirectory": "/here", "drain": drain})]
    result = client.get_job_execution_result().result()
    assert str(result.get_job_id()) == JOB
    assert result.get_net_runtime() == 90_000


def test_cancelling_with_a_savepoint_gives_the_path(client: JobClient, rest: FakeRest) -> None:
    assert client.cancel_with_savepoint("/here").result() == "/here/savepoint-1"
    assert rest.posted() == [(f"/jobs/{JOB}/savepoints", {"target-directory": "/here", "cancel-job": True})]


def test_cancelling_is_done_when_the_job_has_ended(client: JobClient, rest: FakeRest) -> None:
    rest.jobs[JOB].ending = 2
    assert client.cancel().result() is None
    assert rest.jobs[JOB].state == "CANCELED"
    with pytest.raises(JobCancelledError, match="'orders' was cancelled"):
        client.get_job_execution_result().result()


def test_a_failed_job_says_why(client: JobClient, rest: FakeRest) -> None:
    rest.jobs[JOB].failure = "ValueError: no"
    rest.jobs[JOB].state = "FAILED"
    with pytest.raises(JobExecutionError, match="job 'orders' failed: ValueError: no"):
        client.get_job_execution_result().result()


def test_a_suspended_job_has_no_result(client: JobClient, rest: FakeRest) -> None:
    rest.jobs[JOB].state = "SUSPENDED"
    with pytest.raises(JobExecutionError, match="'orders' was suspended"):
        client.get_job_execution_result().result()


def test_questions_become_rarer() -> None:
    answers: Iterator[int | None] = iter([*[None] * 20, 7])
    slept: list[float] = []
    assert poll(lambda: next(answers), slept.append) == 7
    assert slept[0] == FIRST_PAUSE
    assert slept == sorted(slept)
    assert slept[-1] == LONGEST_PAUSE


def unanswered(cause: type[Exception]) -> UnreachableError:
    error = UnreachableError("nobody")
    error.__cause__ = cause()
    return error


def test_a_driver_that_is_busy_is_asked_again() -> None:
    silence = [unanswered(TimeoutError)] * PATIENCE
    answers: Iterator[object] = iter([*silence, None, *silence, 7])
    assert poll(lambda: ask(answers), lambda _: None) == 7


@pytest.mark.parametrize("errors", [[TimeoutError] * (PATIENCE + 1), [ConnectionRefusedError]])
def test_one_that_is_gone_is_not(errors: list[type[Exception]]) -> None:
    answers: Iterator[object] = iter([None, *map(unanswered, errors), 7])
    with pytest.raises(UnreachableError):
        poll(lambda: ask(answers), lambda _: None)
    assert next(answers) == 7, "it was not asked once more"


def ask(answers: Iterator[object]) -> object | None:
    answer = next(answers)
    if isinstance(answer, Exception):
        raise answer
    return answer


@pytest.mark.parametrize(
    ("cause", "text"),
    [
        ({"class": "a.b.CheckpointError", "stack-trace": "a.b.CheckpointError: full\n\tat x"}, "full"),
        (
            {"class": "a.E", "stack-trace": "a.E: two: parts\nlines\nCaused by: b.F: disk"},
            "two: parts\nlines",
        ),
        ({"class": "a.E", "stack-trace": "a.E: "}, "a.E:"),
        ({"class": "a.b.E"}, "a.b.E"),
        ({}, "no reason was given"),
        (None, "no reason was given"),
    ],
)
def test_the_reason_is_the_message(cause: object, text: str) -> None:
    assert failure_text(cause) == text
