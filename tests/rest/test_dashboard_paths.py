"""What only the dashboard asks for: epochs, attempts, settings with their origins, what a checkpoint holds."""

from __future__ import annotations

from typing import Any

import pytest

from rekindle.checkpoint.statistics import CheckpointStatistics, CheckpointStatus
from rekindle.checkpoint.statistics_overview import CheckpointsOverview
from rekindle.common import Configuration
from rekindle.config.configuration_origin import COMMAND_LINE
from rekindle.rest import checkpoint_contents as contents_module
from rekindle.rest.dashboard_requests import DashboardRequests
from rekindle.rest.messages import RequestError
from rekindle.runtime.master.views.epoch_history import EpochHistory, FinishedEpoch
from rekindle.runtime.master.views.progress import EpochSummary
from rekindle.testing import ManualClock
from support.rest_jobs import JOB, Client, FakeMaster, registered, served


def test_epochs_are_told_the_newest_first_and_over_the_whole_run() -> None:
    clock = ManualClock(10_000)
    master = FakeMaster(clock=clock).run()
    master.history.epoch_finished(EpochSummary(1, 5, 5, 0.25, 70, 0.2))
    clock.advance(1_500)
    master.history.epoch_finished(EpochSummary(2, 7, 7, 0.5, 80, 0.4))
    told = served(master).get(f"/jobs/{JOB}/epochs").json
    assert (told["epochs"], told["records"], told["watermark"]) == (2, 12, 80)
    assert told["recent"][0] == {
        "epoch": 2,
        "attempt": 0,
        "end-time": 11_500,
        "duration": 500,
        "records": 7,
        "busy-time": 400,
        "watermark": 80,
    }
    assert told["timeline"] == {
        "step": 1000,
        "points": [
            {"time": 10_000, "epochs": 1, "records": 5, "duration": 250, "busy-time": 200},
            {"time": 11_000, "epochs": 1, "records": 7, "duration": 500, "busy-time": 400},
        ],
    }


def test_however_long_a_job_runs_its_epochs_take_the_same_room_and_none_is_lost() -> None:
    history = EpochHistory(recent=10, points=16)
    for second in range(1_000):
        history.add(FinishedEpoch(second, 0, second * 1_000, 0.5, 3, 0.25, 0))
    assert len(history.recent()) == 10
    points = history.timeline()
    assert len(points) <= 16
    assert sum(point.epochs for point in points) == 1_000
    assert sum(point.records for point in points) == 3_000
    assert all(point.time % history.step_ms == 0 for point in points)
    assert [point.time for point in points] == sorted(point.time for point in points)


def test_attempts_are_told_with_what_they_restored_and_where_they_ran() -> None:
    master = FakeMaster(clock=ManualClock(5)).run()
    master.history.failed(RuntimeError("x"), 10)
    master.history.attempt_started(1, 7)
    told = served(master).get(f"/jobs/{JOB}/attempts").json
    assert told["restarts"] == 1
    assert [(each["attempt"], each["restored-checkpoint"]) for each in told["attempts"]] == [(1, 7), (0, None)]
    assert told["attempts"][0]["slots"] == [
        {"subtask": 0, "endpoint": "here:11"},
        {"subtask": 1, "endpoint": "there:22"},
    ]


def test_settings_are_told_with_where_they_were_written_and_without_secrets() -> None:
    configuration = Configuration()
    configuration.put_from(COMMAND_LINE, "parallelism.default", "3")
    configuration.set_string("rest.token", "very secret")
    configuration.set_string("pipeline.global-job-parameters", "a:b,db.password:very secret")
    answer = served(FakeMaster(configuration=configuration)).get(f"/jobs/{JOB}/configuration")
    assert b"very secret" not in answer.body
    settings = {setting["key"]: setting for setting in answer.json["settings"]}
    assert (settings["parallelism.default"]["value"], settings["parallelism.default"]["layer"]) == ("3", "command line")
    assert (settings["rest.token"]["value"], settings["rest.token"]["origin"]) == ("******", "program")
    assert settings["pipeline.global-job-parameters"]["value"] == "a:b,db.password:******"
    assert settings["rest.bind-address"]["layer"] == "default"


def test_what_the_program_sets_later_is_not_what_the_job_runs_with() -> None:
    configuration = Configuration()
    master = FakeMaster(configuration=configuration)
    configuration.set_string("parallelism.default", "9")
    told = served(master).get(f"/jobs/{JOB}/configuration").json["settings"]
    assert [setting["layer"] for setting in told if setting["key"] == "parallelism.default"] == ["default"]


def with_checkpoint(**more: Any) -> FakeMaster:
    master = FakeMaster().run()
    given: dict[str, Any] = {"status": CheckpointStatus.COMPLETED, "external_path": "/there/chk-4"} | more
    entry = CheckpointStatistics(4, 0, savepoint=False, trigger_timestamp=0, duration_ms=5, **given)
    master.overview = CheckpointsOverview(ended=(entry,))
    return master


def test_what_a_checkpoint_holds_is_read_where_it_was_written() -> None:
    asked: list[str] = []

    def read(location: str) -> Any:
        asked.append(location)
        return {"operators": []}

    client = Client(DashboardRequests(registered(with_checkpoint()), read).handlers())
    assert client.get(f"/jobs/{JOB}/checkpoints/details/4/state").json == {"operators": []}
    assert asked == ["/there/chk-4"]


@pytest.mark.parametrize(
    ("master", "number", "says"),
    [
        (with_checkpoint(), 5, "no completed checkpoint 5"),
        (with_checkpoint(status=CheckpointStatus.FAILED), 4, "no completed checkpoint 4"),
        (with_checkpoint(discarded=True), 4, "has been deleted"),
        (with_checkpoint(external_path=None), 4, "in the driver's memory"),
    ],
)
def test_what_is_not_there_cannot_be_read(master: FakeMaster, number: int, says: str) -> None:
    answer = served(master).get(f"/jobs/{JOB}/checkpoints/details/{number}/state")
    assert answer.status == 404
    assert says in answer.error


def test_a_checkpoint_that_is_gone_says_so_and_is_not_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(contents_module, "_known", type(contents_module._known)())
    with pytest.raises(RequestError, match="there is no"):
        contents_module.checkpoint_contents("/nowhere/at/all")
    assert not contents_module._known
