"""Requests about checkpoints. What the JSON says is tested with the functions that make it."""

from __future__ import annotations

import pytest

from rekindle.checkpoint.coordinator import CheckpointCoordinator
from rekindle.checkpoint.options import CheckpointOptions
from rekindle.common import Configuration, JobStatus
from rekindle.exceptions import CheckpointError
from rekindle.graph.vertex_ids import vertex_id
from rekindle.rest import checkpoints_json
from support.rest_jobs import JOB, FakeMaster, served

PATH = f"/jobs/{JOB}/checkpoints"


def with_a_checkpoint() -> FakeMaster:
    coordinator = CheckpointCoordinator(CheckpointOptions(interval_ms=1), frozenset({0}), 0, 1, 0)
    coordinator.trigger(5, 1)
    master = FakeMaster().run()
    master.overview = coordinator.statistics()
    return master


def test_checkpoints_are_summed_up() -> None:
    master = with_a_checkpoint()
    summary = served(master).get(PATH).json
    assert summary == checkpoints_json.checkpoints(master.overview)
    assert summary.keys() == {"counts", "summary", "latest", "history"}
    assert summary["counts"] == {"restored": 0, "total": 1, "in_progress": 1, "completed": 0, "failed": 0}
    assert [entry["id"] for entry in summary["history"]] == [1]


def test_one_checkpoint_is_described() -> None:
    details = served(with_a_checkpoint()).get(f"{PATH}/details/1").json
    assert (details["id"], details["status"]) == (1, "IN_PROGRESS")


def test_the_settings_of_checkpoints_are_told() -> None:
    configuration = Configuration()
    configuration.set_string("execution.checkpointing.interval", "7 s")
    config = served(FakeMaster(configuration=configuration)).get(f"{PATH}/config").json
    assert (config["mode"], config["interval"], config["timeout"]) == ("exactly_once", 7_000, 600_000)


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/details/2", 404),
        ("/details/9999999999999999999", 404),
        ("/details/99999999999999999999", 400),
        ("/details/abc", 400),
        ("/details/-1", 400),
        (f"/details/1/subtasks/{vertex_id('nobody')}", 404),
        ("/details/2/subtasks/map", 404),
    ],
)
def test_what_is_not_there_is_not_found(path: str, status: int) -> None:
    assert served(with_a_checkpoint()).get(PATH + path).status == status


def test_the_checkpoints_of_an_ended_job_are_still_told() -> None:
    master = with_a_checkpoint()
    client = served(master)
    before = client.get(PATH).json
    master.end(JobStatus.CANCELED)
    master.overview = None  # type: ignore[assignment]
    assert client.get(PATH).json == before


# --- a checkpoint triggered by hand ---


def periodic() -> FakeMaster:
    configuration = Configuration()
    configuration.set_string("execution.checkpointing.interval", "10 s")
    return FakeMaster(configuration=configuration).run()


@pytest.mark.parametrize(
    ("body", "kind"),
    [({}, "CONFIGURED"), ({"checkpointType": "FULL"}, "FULL"), ({"checkpointType": None}, "CONFIGURED")],
)
def test_a_checkpoint_is_begun_and_asked_for_until_it_is_complete(body: dict[str, str], kind: str) -> None:
    master = periodic()
    client = served(master)
    begun = client.ask("POST", PATH, body)
    assert begun.status == 202
    assert master.asked == [("checkpoint", kind)]
    path = f"{PATH}/{begun.json['request-id']}"
    assert client.get(path).json == {"status": {"id": "IN_PROGRESS"}, "operation": None}
    master.checkpoint.set_result(7)
    assert client.get(path).json == {"status": {"id": "COMPLETED"}, "operation": {"checkpointId": 7}}


def test_a_checkpoint_that_fails_says_why() -> None:
    master = periodic()
    client = served(master)
    trigger = client.ask("POST", PATH, {"triggerId": "ab" * 16}).json["request-id"]
    assert trigger == "ab" * 16
    master.checkpoint.set_exception(CheckpointError("disk full"))
    cause = client.get(f"{PATH}/{trigger}").json["operation"]["failureCause"]
    assert cause["stack-trace"] == "rekindle.exceptions.CheckpointError: disk full"


@pytest.mark.parametrize(
    ("master", "body", "says"),
    [
        (FakeMaster().run(), {}, "takes no checkpoints: set execution.checkpointing.interval"),
        (periodic(), {"checkpointType": "INCREMENTAL"}, "takes no incremental checkpoints"),
        (periodic(), {"checkpointType": "HUGE"}, "cannot be read"),
        (periodic(), {"type": "FULL"}, "cannot be read"),
    ],
)
def test_what_cannot_be_taken_is_refused_at_once(master: FakeMaster, body: dict[str, str], says: str) -> None:
    refused = served(master).ask("POST", PATH, body)
    assert refused.status == 400
    assert says in refused.error


def test_nobody_has_asked_for_an_unknown_checkpoint() -> None:
    client = served(periodic())
    assert client.get(f"{PATH}/{'cd' * 16}").status == 404
    assert client.get(f"{PATH}/nothing").status == 400


def test_of_a_job_that_has_ended_no_checkpoint_is_taken() -> None:
    master = periodic()
    client = served(master)
    master.end(JobStatus.FINISHED)
    request = client.ask("POST", PATH, {}).json["request-id"]
    cause = client.get(f"{PATH}/{request}").json["operation"]["failureCause"]
    assert "no checkpoint was taken" in cause["stack-trace"]
