"""What jobs leave behind: written while they run and when they end, bounded, and shown by the same paths."""

from __future__ import annotations

import os
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest

from rekindle.archive.job_entry import LOST
from rekindle.checkpoint.slot_snapshot import TaskMeasurement
from rekindle.checkpoint.statistics import CheckpointStatistics, CheckpointStatus, SubtaskStatistics, TaskStatistics
from rekindle.checkpoint.statistics_overview import CheckpointsOverview
from rekindle.checkpoint.storage import LocalCheckpointFiles
from rekindle.common import JobStatus
from rekindle.graph.vertex_ids import vertex_id
from rekindle.rest.history_api import HistoryApi
from rekindle.rest.job_record import DIRECTORY, RecordName, record_names, record_of, write_record
from rekindle.rest.job_recorder import JobRecorder
from rekindle.runtime.master.slots.slot_metrics import SlotReadings
from rekindle.runtime.master.views.progress import EpochSummary
from rekindle.runtime.wire.messages import OperatorNumbers
from rekindle.testing import ManualClock
from support.processes import wait_until
from support.rest_jobs import JOB, Client, FakeMaster, registered, served

OTHER = "f" * 32


def full_of_events(job_id: str = JOB) -> FakeMaster:
    master = FakeMaster(job_id, clock=ManualClock(10**12)).run()
    master.readings = SlotReadings((OperatorNumbers("map", "Map", 0, 10, 20, 30, 40),), (), complete=True)
    subtask = SubtaskStatistics(0, 5, 5, TaskMeasurement("map", state_size=77))
    task = TaskStatistics("map", 2, (subtask,))
    entry = CheckpointStatistics(3, 0, CheckpointStatus.COMPLETED, False, 10**12, 5, size=9, tasks=(task,))
    master.overview = CheckpointsOverview(ended=(entry,), latest_completed=entry)
    master.history.epoch_finished(EpochSummary(1, 5, 5, 0.25, 70, 0.2))
    master.history.failed(ValueError("half \udc80 <b>"), 10)
    return master


@pytest.fixture
def files(tmp_path: Path) -> LocalCheckpointFiles:
    return LocalCheckpointFiles(str(tmp_path))


def written(files: LocalCheckpointFiles, *masters: FakeMaster, **changes: Any) -> Client:
    """Write the records of jobs; return a client of what shows them."""
    for number, job in enumerate(registered(*masters).all(), 1):
        record = record_of(job)
        entry = msgspec.structs.replace(record.entry, **changes)
        write_record(files, RecordName(10**12 + number, job.job_id, 1), msgspec.structs.replace(record, entry=entry))
    api = HistoryApi(files)
    return Client(api.handlers, routes=api.routes)


@pytest.mark.parametrize(
    "path",
    [
        "/config",
        "/configuration",
        "/attempts",
        "/epochs",
        "/plan",
        "/checkpoints",
        "/checkpoints/config",
        "/checkpoints/details/3",
        f"/checkpoints/details/3/subtasks/{vertex_id('map')}",
        f"/vertices/{vertex_id('map')}",
        "/metrics?get=numRestarts,numRecordsIn",
    ],
)
def test_a_record_answers_as_the_job_did(files: LocalCheckpointFiles, path: str) -> None:
    master = full_of_events()
    expected = served(master).get(f"/jobs/{JOB}{path}").json
    assert written(files, master).get(f"/jobs/{JOB}{path}").json == expected


def test_failures_are_kept_whatever_they_say(files: LocalCheckpointFiles) -> None:
    (failure,) = written(files, full_of_events()).get(f"/jobs/{JOB}/exceptions").json["exceptionHistory"]["entries"]
    assert failure["stacktrace"] == "half \\udc80 <b>"


def test_jobs_are_listed_with_how_they_ended(files: LocalCheckpointFiles) -> None:
    master = full_of_events()
    master.end(JobStatus.FINISHED)
    client = written(files, master)
    (job,) = client.get("/jobs/overview").json["jobs"]
    assert (job["jid"], job["state"], job["end-time"]) == (JOB, "FINISHED", 10**12)
    details = client.get(f"/jobs/{JOB}").json
    assert (details["state"], details["vertices"][1]["metrics"]["write-records"]) == ("FINISHED", 20)
    assert client.get("/config").json["features"]["web-history"] is True


def test_a_job_whose_driver_was_killed_is_lost(files: LocalCheckpointFiles) -> None:
    client = written(files, full_of_events(), pid=2**22 + 1, start_ticks=1)
    assert client.get("/jobs").json == {"jobs": [{"id": JOB, "status": LOST}]}
    details = client.get(f"/jobs/{JOB}").json
    assert (details["state"], details["end-time"]) == (LOST, 10**12)


def test_a_job_that_still_runs_is_not_lost(files: LocalCheckpointFiles) -> None:
    assert written(files, full_of_events()).get("/jobs").json["jobs"][0]["status"] == "RUNNING"


def test_nothing_can_be_changed(files: LocalCheckpointFiles) -> None:
    client = written(files, full_of_events())
    assert client.ask("PATCH", f"/jobs/{JOB}?mode=cancel").status == 405
    assert client.ask("POST", f"/jobs/{JOB}/savepoints", {}).status == 405
    assert client.ask("POST", f"/jobs/{JOB}/checkpoints", {}).status == 405


@pytest.mark.parametrize("path", [f"/jobs/{JOB}/events", f"/jobs/{JOB}/nothing", f"/jobs/{OTHER}", "/jobs/x/plan"])
def test_what_no_record_says_is_not_found(files: LocalCheckpointFiles, path: str) -> None:
    assert written(files, full_of_events()).get(path).status == 404


def test_a_damaged_record_does_not_hide_the_others(
    files: LocalCheckpointFiles, caplog: pytest.LogCaptureFixture
) -> None:
    client = written(files, full_of_events(), full_of_events(OTHER))
    name = next(name for name in record_names(files) if name.job_id == OTHER)
    Path(files.root, DIRECTORY, str(name)).write_bytes(b"{half")
    assert [job["id"] for job in client.get("/jobs").json["jobs"]] == [JOB]
    assert "is left out: it is damaged" in caplog.text


@pytest.mark.parametrize(
    "made_up",
    [
        b"[" * 100_000,
        b"\xff\xfe",
        b"{}",
        "no documents",
        "documents of another kind",
        "another job",
        "a link",
        "a pipe",
    ],
)
def test_a_record_that_somebody_made_up_neither_breaks_nor_hides_anything(
    files: LocalCheckpointFiles, tmp_path: Path, made_up: bytes | str
) -> None:
    client = written(files, full_of_events())
    (job,) = registered(FakeMaster(OTHER, clock=ManualClock(10**12)).run()).all()
    record, name = record_of(job), RecordName(10**12, OTHER, 1)
    place = tmp_path / "_history" / str(name)
    if made_up == "a link":
        (tmp_path / "elsewhere").write_bytes(msgspec.json.encode(record))
        place.symlink_to(tmp_path / "elsewhere")
    elif made_up == "a pipe":
        os.mkfifo(place)
    elif isinstance(made_up, bytes):
        place.write_bytes(made_up)
    else:
        documents = {"no documents": {}, "documents of another kind": {path: [1] for path in record.documents}}
        changes = {"documents": documents.get(made_up, record.documents)}
        write_record(files, name, msgspec.structs.replace(record, **changes))
        if made_up == "another job":
            place.rename(place.with_name(str(RecordName(10**12, "e" * 32, 1))))
    assert [job["jid"] for job in client.get("/jobs/overview").json["jobs"]] == [JOB]
    assert client.get(f"/jobs/{OTHER}").status == 404


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_a_record_of_somebody_else_is_left_out_unless_they_are_trusted(
    files: LocalCheckpointFiles, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    client = written(files, full_of_events())
    (place,) = (tmp_path / "_history").iterdir()
    os.chown(place, 4321, -1)
    assert client.get("/jobs").json == {"jobs": []}
    assert "belongs to user 4321" in caplog.text
    monkeypatch.setenv("REKINDLE_TRUSTED_USERS", "4321")
    assert len(client.get("/jobs").json["jobs"]) == 1


def test_other_files_are_passed_over(files: LocalCheckpointFiles) -> None:
    directory = Path(files.root, DIRECTORY)
    directory.mkdir()
    for name in ("notes.txt", f"1-{JOB}-1.json", f"{10**12}-{JOB}-000001.json.inprogress-1"):
        (directory / name).write_text("x")
    assert record_names(files) == []


# --- keeping it up to date ---


def kept(files: LocalCheckpointFiles, master: FakeMaster, **options: Any) -> None:
    (job,) = registered(master).all()
    JobRecorder(job, files, **{"kept": 3, "pause": 0.01, "period": 0.01, **options}).start()


def states(files: LocalCheckpointFiles) -> list[str]:
    return [record.entry.status for record in HistoryApi(files).records()]


def test_a_record_is_there_from_the_beginning_and_says_how_the_job_ended(files: LocalCheckpointFiles) -> None:
    master = FakeMaster(clock=ManualClock(10**12)).run()
    kept(files, master, pause=600.0, period=600.0)
    wait_until(lambda: states(files) == ["RUNNING"], "there is a record")
    master.end(JobStatus.CANCELED)
    assert states(files) == ["CANCELED"]
    assert [name.number for name in record_names(files)] == [2]


def test_what_happens_is_written_after_a_pause_and_one_version_stays(files: LocalCheckpointFiles) -> None:
    master = FakeMaster(clock=ManualClock(10**12)).run()
    kept(files, master, period=600.0)
    wait_until(lambda: states(files) == ["RUNNING"], "there is a record")
    master.history.enter(JobStatus.RESTARTING)
    wait_until(lambda: states(files) == ["RESTARTING"], "the record is up to date")
    master.end(JobStatus.FAILED)
    assert len(record_names(files)) == 1


def test_another_driver_goes_on_with_the_record(files: LocalCheckpointFiles) -> None:
    first = FakeMaster(clock=ManualClock(10**12)).run()
    kept(files, first)
    first.end(JobStatus.SUSPENDED)
    before = record_names(files)[-1].number
    second = FakeMaster(clock=ManualClock(10**12 + 5)).run()
    kept(files, second)
    second.end(JobStatus.FINISHED)
    assert states(files) == ["FINISHED"]
    assert [name.number > before for name in record_names(files)] == [True]


def test_the_oldest_jobs_are_forgotten(files: LocalCheckpointFiles) -> None:
    for number in range(6):
        master = FakeMaster(f"{number:032x}", clock=ManualClock(10**12 + number)).run()
        kept(files, master)
        master.end(JobStatus.FINISHED)
    assert [name.job_id for name in record_names(files)] == [f"{number:032x}" for number in (3, 4, 5)]


def test_a_storage_that_fails_is_told_once_and_harms_nobody(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "file").write_text("not a directory")
    master = FakeMaster(clock=ManualClock(10**12)).run()
    kept(LocalCheckpointFiles(str(tmp_path / "file")), master)
    wait_until(lambda: "no up-to-date record" in caplog.text, "the failure is told")
    master.end(JobStatus.FINISHED)
    assert caplog.text.count("no up-to-date record") == 1
    assert not [thread for thread in threading.enumerate() if thread.name == "job-record" and thread.is_alive()]


def test_a_record_is_small(files: LocalCheckpointFiles) -> None:
    master = full_of_events()
    for number in range(2_000):
        master.history.epoch_finished(EpochSummary(number, 5, 5, 0.25, 70, 0.2))
        master.history.failed(ValueError("x" * 20_000), 10)
    written(files, master)
    (name,) = record_names(files)
    assert os.path.getsize(Path(files.root, DIRECTORY, str(name))) < 600_000


def test_settings_decide_whether_there_is_a_record(tmp_path: Path) -> None:
    from rekindle.rest import job_recorder

    master = FakeMaster(clock=ManualClock(10**12)).run()
    master.settings = replace(master.settings, checkpoint_files=LocalCheckpointFiles(str(tmp_path)), history_jobs=0)
    job_recorder.keep_record(registered(master).all()[0])
    assert not (tmp_path / DIRECTORY).exists()
