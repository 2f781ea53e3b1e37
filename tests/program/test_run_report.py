from __future__ import annotations

import io
import logging
from pathlib import Path

import pytest

from rekindle.checkpoint.completed_checkpoint import CompletedCheckpoint
from rekindle.checkpoint.metadata import CheckpointMetadata
from rekindle.checkpoint.storage import checkpoint_files
from rekindle.checkpoint.stored_checkpoint import StoredCheckpoint
from rekindle.program.program_errors import RUN_REPORT
from rekindle.program.run_report import JobReport, read_reports
from rekindle.runtime.master.views.job_reporter import job_reporter
from rekindle.runtime.master.views.observers import JobObservers
from rekindle.runtime.master.views.progress import EpochSummary, JobObserver, LogView, ProgressView

JOB = "a" * 32


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    path = tmp_path / "report"
    path.touch()
    monkeypatch.setenv(RUN_REPORT, str(path))
    return str(path)


@pytest.fixture
def view(path: str, caplog: pytest.LogCaptureFixture) -> ProgressView:
    caplog.set_level(logging.INFO, "rekindle")
    reporter = job_reporter(JOB, "job")
    assert reporter is not None
    return JobObservers(LogView("job"), then=(reporter,))


def test_without_a_file_nothing_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert job_reporter(JOB, "job") is None
    monkeypatch.setenv(RUN_REPORT, str(tmp_path / "gone"))
    reporter = job_reporter(JOB, "job")
    assert reporter is not None
    reporter.start()
    assert not (tmp_path / "gone").exists()


def test_observers_are_told_all_that_one_can_hear() -> None:
    methods = {name for name, value in vars(JobObserver).items() if callable(value) and not name.startswith("_")}
    assert methods <= vars(JobObservers).keys()


def test_a_job_is_told_from_its_start_to_its_end(
    path: str, view: ProgressView, caplog: pytest.LogCaptureFixture
) -> None:
    seen = []

    def look() -> None:
        (job,) = read_reports(path)
        seen.append((job.status, job.savepoint, job.failure, job.ended))

    assert read_reports(path) == []
    view.start()
    look()
    view.attempt_started(0, None)
    look()
    view.epoch_finished(EpochSummary(1, 2, 3, 4.0, 5))
    view.failed(RuntimeError("oops"), 10)
    look()
    view.attempt_started(1, None)
    view.savepoint_completed("/savepoint")
    look()
    view.notice("slow")
    view.ended("FINISHED")
    look()
    assert seen == [
        ("CREATED", None, None, False),
        ("RUNNING", None, None, False),
        ("RESTARTING", None, "oops", False),
        ("RUNNING", "/savepoint", "oops", False),
        ("FINISHED", "/savepoint", "oops", True),
    ]
    for line in ("attempt 1 runs", "failure (restart in 10 ms): oops", "savepoint /savepoint", "slow", "FINISHED"):
        assert line in "\n".join(caplog.messages)


def test_what_is_printed_is_shown(view: ProgressView) -> None:
    stream = io.StringIO()
    view.show("printed", stream)
    assert stream.getvalue() == "printed"


@pytest.mark.parametrize("kept", [True, False])
def test_the_last_checkpoint_is_told_if_it_was_kept(path: str, view: ProgressView, tmp_path: Path, kept: bool) -> None:
    files = checkpoint_files(str(tmp_path / "checkpoints"))
    metadata = CheckpointMetadata(3, JOB, "job", 0, 1, [], [], [])
    view.start()
    view.checkpoint_completed(CompletedCheckpoint(StoredCheckpoint(metadata, files, "job/chk-3")))
    if kept:
        files.create("job/chk-3/_metadata", b"")
    view.ended("FAILED")
    (job,) = read_reports(path)
    assert job.checkpoint == (files.describe("job/chk-3") if kept else None)


def test_a_line_that_is_being_written_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "report"
    first, second = JobReport(JOB, "first", "RUNNING"), JobReport("b" * 32, "second", "CREATED")
    line = JobReport(JOB, "first", "FINISHED").to_line()
    path.write_text(first.to_line() + second.to_line() + line[:20])
    assert read_reports(str(path)) == [first, second]
    path.write_text(first.to_line() + second.to_line() + line)
    assert [job.status for job in read_reports(str(path))] == ["FINISHED", "CREATED"]


def test_a_report_that_cannot_be_written_does_not_matter_to_the_job(
    path: str, view: ProgressView, caplog: pytest.LogCaptureFixture
) -> None:
    view.start()
    Path(path).unlink()
    Path(path).mkdir()
    view.ended("FINISHED")
    assert "[job] FINISHED" in caplog.messages
