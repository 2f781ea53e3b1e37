"""Requests about checkpoints. What the JSON says is tested with the functions that make it."""

from __future__ import annotations

import pytest

from rekindle.checkpoint.coordinator import CheckpointCoordinator
from rekindle.checkpoint.options import CheckpointOptions
from rekindle.common import Configuration, JobStatus
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
