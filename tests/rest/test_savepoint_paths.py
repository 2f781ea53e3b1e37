"""Requests for savepoints: begun by one, asked for by others."""

from __future__ import annotations

import threading
from concurrent.futures import Future
from typing import Any

import pytest

from rekindle.common import JobStatus
from rekindle.exceptions import CheckpointError, ConfigurationError
from rekindle.rest import api
from rekindle.rest.messages import RequestError
from rekindle.rest.operations import Operations, failure_cause
from support.processes import wait_until
from support.rest_jobs import JOB, Answer, Client, FakeMaster, served

SAVEPOINTS = f"/jobs/{JOB}/savepoints"
STOP = f"/jobs/{JOB}/stop"
TRIGGER = "ab" * 16


def begun(answer: Answer, status: int = 202) -> str:
    assert answer.status == status
    assert answer.json.keys() == {"request-id"}
    assert len(answer.json["request-id"]) == 32
    return str(answer.json["request-id"])


def test_a_savepoint_is_begun_and_asked_for_until_it_is_complete() -> None:
    master = FakeMaster().run()
    client = served(master)
    request = begun(client.ask("POST", SAVEPOINTS, {"target-directory": "/there", "cancel-job": False}))
    assert master.asked == [("savepoint", "/there")]
    waiting = client.get(f"{SAVEPOINTS}/{request}")
    assert (waiting.status, waiting.json) == (200, {"status": {"id": "IN_PROGRESS"}, "operation": None})
    master.savepoint.set_result("/there/savepoint-1")
    done = client.get(f"{SAVEPOINTS}/{request}").json
    assert done == {"status": {"id": "COMPLETED"}, "operation": {"location": "/there/savepoint-1"}}


@pytest.mark.parametrize(
    ("path", "body", "asked"),
    [
        (SAVEPOINTS, {"target-directory": "/d"}, ("savepoint", "/d")),
        (SAVEPOINTS, {"target-directory": "/d", "cancel-job": None}, ("savepoint", "/d")),
        (SAVEPOINTS, {"target-directory": "/d", "cancel-job": True}, ("cancel", "/d")),
        (SAVEPOINTS, {"target-directory": "/d", "formatType": "CANONICAL", "triggerId": None}, ("savepoint", "/d")),
        (STOP, {"targetDirectory": "/d"}, ("stop", "/d", False)),
        (STOP, {"targetDirectory": "/d", "drain": True}, ("stop", "/d", True)),
        (STOP, {"targetDirectory": "/d", "drain": False, "formatType": "CANONICAL"}, ("stop", "/d", False)),
    ],
)
def test_the_body_says_what_is_wanted(path: str, body: dict[str, Any], asked: tuple[Any, ...]) -> None:
    master = FakeMaster().run()
    begun(served(master).ask("POST", path, body))
    assert master.asked == [asked]


def test_a_stop_is_asked_for_as_a_savepoint_is() -> None:
    master = FakeMaster().run()
    client = served(master)
    request = begun(client.ask("POST", STOP, {"targetDirectory": "/d"}))
    master.savepoint.set_result("/d/savepoint-1")
    master.end(JobStatus.FINISHED)
    assert client.get(f"{SAVEPOINTS}/{request}").json["operation"] == {"location": "/d/savepoint-1"}


@pytest.mark.parametrize("form", ["CANONICAL", "NATIVE"])
def test_either_format_can_be_asked_for(form: str) -> None:
    client = served(FakeMaster().run())
    assert client.ask("POST", SAVEPOINTS, {"target-directory": "/d", "formatType": form}).status == 202
    assert client.ask("POST", STOP, {"targetDirectory": "/d", "formatType": form}).status == 202


def test_a_savepoint_that_failed_says_why() -> None:
    master = FakeMaster().run()
    client = served(master)
    request = begun(client.ask("POST", SAVEPOINTS, {"target-directory": "/d"}))
    error = CheckpointError("no room")
    error.__cause__ = OSError("disk full")
    master.savepoint.set_exception(error)
    assert client.get(f"{SAVEPOINTS}/{request}").json == {
        "status": {"id": "COMPLETED"},
        "operation": {
            "failure-cause": {
                "class": "rekindle.exceptions.CheckpointError",
                "stack-trace": "rekindle.exceptions.CheckpointError: no room\nCaused by: OSError: disk full",
            }
        },
    }


def test_a_job_that_has_ended_takes_no_savepoint() -> None:
    master = FakeMaster().run()
    client = served(master)
    master.end(JobStatus.CANCELED)
    request = begun(client.ask("POST", SAVEPOINTS, {"target-directory": "/d"}))
    cause = client.get(f"{SAVEPOINTS}/{request}").json["operation"]["failure-cause"]
    assert "has ended (CANCELED)" in cause["stack-trace"]


@pytest.mark.parametrize("path", [SAVEPOINTS, STOP])
@pytest.mark.parametrize("body", [None, {}])
def test_without_a_directory_it_is_a_bad_request(path: str, body: Any) -> None:
    answer = served(FakeMaster().run()).ask("POST", path, body)
    assert answer.status == 400
    assert "needs a directory" in answer.error


@pytest.mark.parametrize(
    ("path", "body", "says"),
    [
        (SAVEPOINTS, b"{bad", "malformed"),
        (SAVEPOINTS, b"\xff\xfe", "cannot be read"),
        (SAVEPOINTS, b"[" * 5_000, "cannot be read"),
        (SAVEPOINTS, [], "Expected `object`"),
        (SAVEPOINTS, {"target-directory": 5}, "target-directory"),
        (SAVEPOINTS, {"cancel-job": "maybe"}, "cancel-job"),
        (SAVEPOINTS, {"formatType": "weird"}, "formatType"),
        (SAVEPOINTS, {"targetDirectory": "/d"}, "unknown field `targetDirectory`"),
        (SAVEPOINTS, {"target-directory": "/d", "triggerId": "xyz"}, "'xyz' is not a trigger id"),
        (STOP, {"target-directory": "/d"}, "unknown field `target-directory`"),
        (STOP, {"drain": 1}, "drain"),
        ("/savepoint-disposal", {}, "savepoint-path must not be omitted"),
        ("/savepoint-disposal", {"savepoint-path": 1}, "savepoint-path"),
    ],
)
def test_a_body_that_is_wrong_is_a_bad_request(path: str, body: Any, says: str) -> None:
    master = FakeMaster().run()
    answer = served(master).ask("POST", path, body)
    assert answer.status == 400
    assert says in answer.error
    assert master.asked == []


def test_the_same_trigger_id_begins_nothing_again() -> None:
    master = FakeMaster().run()
    client = served(master)
    body = {"target-directory": "/d", "triggerId": TRIGGER}
    assert begun(client.ask("POST", SAVEPOINTS, body)) == TRIGGER
    assert begun(client.ask("POST", SAVEPOINTS, body)) == TRIGGER
    assert master.asked == [("savepoint", "/d")]


def test_operations_that_are_not_there_are_not_found() -> None:
    client = served(FakeMaster())
    assert client.get(f"{SAVEPOINTS}/{TRIGGER}").status == 404
    assert client.get(f"{SAVEPOINTS}/abc").status == 400
    assert client.get(f"/savepoint-disposal/{TRIGGER}").status == 404
    assert client.ask("POST", f"/jobs/{'f' * 32}/savepoints", {"target-directory": "/d"}).status == 404


# --- disposal ---


def disposed(client: Client, request: str) -> Any:
    wait_until(lambda: client.get(f"/savepoint-disposal/{request}").json["operation"] is not None, "it is done")
    return client.get(f"/savepoint-disposal/{request}").json


def test_a_savepoint_is_disposed_of(monkeypatch: pytest.MonkeyPatch) -> None:
    gone: list[str] = []
    monkeypatch.setattr(api, "_dispose", gone.append)
    client = served()
    request = begun(client.ask("POST", "/savepoint-disposal", {"savepoint-path": "/d/savepoint-1"}), 200)
    assert disposed(client, request) == {"status": {"id": "COMPLETED"}, "operation": {}}
    assert gone == ["/d/savepoint-1"]


def test_what_is_no_savepoint_cannot_be_disposed_of(tmp_path: Any) -> None:
    client = served()
    request = begun(client.ask("POST", "/savepoint-disposal", {"savepoint-path": str(tmp_path)}), 200)
    assert "failure-cause" in disposed(client, request)["operation"]


# --- operations by themselves ---


def test_operations_that_are_over_are_forgotten_the_oldest_first() -> None:
    operations = Operations(kept=2)
    futures = [Future[str]() for _ in range(4)]
    ids = [operations.begin("job", None, lambda future=future: future) for future in futures]  # type: ignore[misc]
    for future in futures[1:]:
        future.set_result("done")
    operations.begin("job", None, Future)
    assert operations.describe("job", ids[0], lambda _: {})["status"] == {"id": "IN_PROGRESS"}
    with pytest.raises(RequestError, match="There is no operation"):
        operations.describe("job", ids[1], lambda _: {})
    assert operations.describe("job", ids[3], lambda where: {"at": where})["operation"] == {"at": "done"}


def test_an_operation_of_one_job_is_not_found_at_another() -> None:
    operations = Operations()
    trigger = operations.begin("a", None, Future)
    with pytest.raises(RequestError, match="for b"):
        operations.describe("b", trigger, lambda _: {})


def test_an_operation_that_could_not_begin_may_be_begun_again() -> None:
    operations = Operations()

    def refuse() -> Future[Any]:
        raise ConfigurationError("no")

    with pytest.raises(ConfigurationError):
        operations.begin("job", TRIGGER, refuse)
    assert operations.begin("job", TRIGGER, Future) == TRIGGER


def test_an_operation_that_was_given_up_has_failed() -> None:
    operations = Operations()
    future: Future[str] = Future()
    trigger = operations.begin("job", None, lambda: future)
    future.cancel()
    future.set_running_or_notify_cancel()
    assert "CancelledError" in operations.describe("job", trigger, lambda _: {})["operation"]["failure-cause"]["class"]


def test_the_end_waits_until_somebody_has_asked_how_it_came_out() -> None:
    operations = Operations()
    future: Future[str] = Future()
    trigger = operations.begin("job", None, lambda: future)
    operations.describe("job", trigger, lambda _: {})  # it was not over yet: that does not count
    lingering = threading.Thread(target=operations.linger, args=(30.0,))
    lingering.start()
    future.set_result("there")
    assert lingering.is_alive()
    operations.describe("job", trigger, lambda where: {"location": where})
    lingering.join(30)
    assert not lingering.is_alive()


def test_the_end_does_not_wait_for_what_was_begun_long_ago() -> None:
    now = [0.0]
    operations = Operations(now=lambda: now[0])
    operations.begin("job", None, Future)
    now[0] = 61.0
    operations.linger(30.0)


def test_the_causes_of_an_error_are_told_without_a_traceback() -> None:
    first, second = ValueError("first"), CheckpointError("second")
    second.__cause__, first.__cause__ = first, second  # even where they go round
    assert failure_cause(second) == {
        "class": "rekindle.exceptions.CheckpointError",
        "stack-trace": "rekindle.exceptions.CheckpointError: second\nCaused by: ValueError: first",
    }
