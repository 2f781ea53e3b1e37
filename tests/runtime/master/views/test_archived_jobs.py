"""A job is written down when it starts, when something happens, and when it ends."""

from __future__ import annotations

import logging
import os
import sys
from pathlib import Path

import pytest

from rekindle.archive.directory import archive_directory, kept_jobs
from rekindle.archive.job_entry import KeptJob
from rekindle.checkpoint.completed_checkpoint import CompletedCheckpoint
from rekindle.checkpoint.metadata import CheckpointMetadata
from rekindle.checkpoint.storage import checkpoint_files
from rekindle.checkpoint.stored_checkpoint import StoredCheckpoint
from rekindle.common import Configuration, ExecutionConfig, JobStatus
from rekindle.datastream import StreamExecutionEnvironment
from rekindle.datastream.checkpoint_config import CheckpointConfig
from rekindle.exceptions import JobExecutionError
from rekindle.runtime.master.settings.job_settings import JobSettings, settle
from rekindle.runtime.master.views.job_archiver import ArchiveObserver, JobArchiver, first_lines
from rekindle.runtime.master.views.job_history import HistoryObserver, JobHistory
from rekindle.runtime.master.views.observers import JobObservers
from rekindle.runtime.master.views.progress import ProgressView
from rekindle.testing import ManualClock
from support.in_process_master import Cluster, cluster  # noqa: F401 - a fixture
from support.processes import wait_until

JOB = "a" * 32


@pytest.fixture(autouse=True)
def _own_directory(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("REKINDLE_STATE_DIR", str(tmp_path / "state"))


def settings(kept: int = 100) -> JobSettings:
    configuration = Configuration.from_dict({"rekindle.archive.max-jobs": kept})
    return settle(JOB, "orders", configuration, CheckpointConfig(configuration), ExecutionConfig())


@pytest.fixture
def history() -> JobHistory:
    return JobHistory(ManualClock(1_000))


@pytest.fixture
def archiver(history: JobHistory) -> JobArchiver:
    return JobArchiver(settings(), history, 2)


@pytest.fixture
def view(archiver: JobArchiver, history: JobHistory) -> ProgressView:
    return JobObservers(ProgressView("orders"), (HistoryObserver(history),), (ArchiveObserver(archiver),))


def only() -> KeptJob:
    (job,) = kept_jobs()
    return job


def test_it_is_told_from_its_start_to_its_end(view: ProgressView, archiver: JobArchiver, history: JobHistory) -> None:
    archiver.begin()
    entry = only().entry
    assert (entry.job_id, entry.job_name, entry.status, entry.started) == (JOB, "orders", "CREATED", 1_000)
    assert (entry.pid, entry.program, entry.arguments) == (
        os.getpid(),
        os.path.abspath(sys.argv[0]),
        tuple(sys.argv[1:]),
    )
    history.enter(JobStatus.RUNNING)
    view.attempt_started(0, None)
    wait_until(lambda: only().status == "RUNNING", "it is written that it runs")
    view.failed(RuntimeError("oops\nin x"), 10)
    history.enter(JobStatus.RESTARTING)
    view.savepoint_completed("/s/1")
    wait_until(lambda: only().entry.savepoint == "/s/1", "the savepoint is written")
    assert (only().status, only().why, only().entry.restarts) == ("RESTARTING", "oops\nin x", 1)
    history.enter(JobStatus.FINISHED)
    archiver.end()
    job = only()
    assert (job.status, job.ended, job.why, job.entry.parallelism) == ("FINISHED", 1_000, None, 2)


def test_secrets_among_the_arguments_are_not_written(history: JobHistory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["orders.py", "--password", "hush", "--api-key=hush", "--day", "monday"])
    archiver = JobArchiver(settings(), history, 2)
    archiver.begin()
    archiver.end()
    assert only().entry.arguments == ("--password", "******", "--api-key=******", "--day", "monday")
    assert "hush" not in (archive_directory() / only().entry.file_name).read_text()


@pytest.mark.parametrize("kept", [True, False])
def test_its_last_checkpoint_is_told_and_after_the_end_only_if_it_was_kept(
    view: ProgressView, archiver: JobArchiver, history: JobHistory, tmp_path: Path, kept: bool
) -> None:
    files = checkpoint_files(str(tmp_path / "checkpoints"))
    files.create("job/chk-3/_metadata", b"")
    metadata = CheckpointMetadata(3, JOB, "job", 0, 1, [], [], [])
    archiver.begin()
    view.checkpoint_completed(CompletedCheckpoint(StoredCheckpoint(metadata, files, "job/chk-3")))
    wait_until(lambda: only().entry.checkpoint is not None, "the checkpoint is written")
    checkpoint = only().entry.checkpoint
    assert checkpoint is not None
    assert (checkpoint.id, checkpoint.path) == (3, files.describe("job/chk-3"))
    if not kept:
        files.delete("job/chk-3")
    history.enter(JobStatus.CANCELED)
    archiver.end()
    assert (only().entry.checkpoint is not None) == kept


def test_a_sign_of_life_is_given_while_nothing_happens(history: JobHistory) -> None:
    archiver = JobArchiver(settings(), history, 1, heartbeat=0.01)
    archiver.begin()
    path = archive_directory() / only().entry.file_name
    os.utime(path, (1, 1))
    wait_until(lambda: path.stat().st_mtime > 1, "the file is touched")
    archiver.end()


def test_why_a_job_was_cancelled_is_told_if_it_is_known(
    view: ProgressView, archiver: JobArchiver, history: JobHistory
) -> None:
    archiver.begin()
    view.failed(RuntimeError("long ago"), 10)
    assert history.ask_for_end("SIGTERM was received")
    assert not history.ask_for_end("SIGINT was received (Ctrl-C)")
    history.enter(JobStatus.CANCELED)
    archiver.end()
    assert only().why == "SIGTERM was received"


def test_an_archive_that_cannot_be_written_does_not_matter_to_the_job(
    view: ProgressView, archiver: JobArchiver, history: JobHistory, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "state").touch()
    archiver.begin()
    view.attempt_started(0, None)
    history.enter(JobStatus.FINISHED)
    archiver.end()
    assert [record.levelno for record in caplog.records] == [logging.WARNING]
    assert "what becomes of job 'orders' is not kept on disk" in caplog.text


def test_nothing_is_kept_if_that_is_set(history: JobHistory) -> None:
    archiver = JobArchiver(settings(0), history, 2)
    archiver.begin()
    archiver.note()
    archiver.end()
    assert kept_jobs() == []


@pytest.mark.parametrize(
    ("text", "shown"),
    [("one", "one"), ("\n".join("abcdefg"), "a\nb\nc\nd\ne …"), ("x" * 2_000, "x" * 1_000 + " …")],
)
def test_long_reasons_are_cut_off(text: str, shown: str) -> None:
    assert first_lines(text) == shown


def test_a_job_that_fails_is_written_down_with_the_reason_before_anybody_hears_of_it(
    cluster: Cluster,  # noqa: F811
) -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.from_collection([1]).map(lambda number: number // 0).print()
    master = cluster.submit(env)
    with pytest.raises(JobExecutionError):
        master.result.result(60)
    job = only()
    assert (job.status, job.job_id, job.name) == ("FAILED", master.settings.job_id, "in process")
    assert job.why is not None
    assert "ZeroDivisionError" in job.why
