"""What is kept on disk of jobs, and what it says once their process is gone."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from rekindle.archive.directory import archive_directory, forget_oldest, kept_jobs, log_directory, write_entry
from rekindle.archive.job_entry import JobEntry, KeptCheckpoint
from rekindle.base.process_identity import start_ticks
from support.kept_jobs import START, entry, keep


@pytest.fixture(autouse=True)
def state(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("REKINDLE_STATE_DIR", str(tmp_path / "state"))
    return tmp_path / "state"


def only() -> JobEntry:
    (job,) = kept_jobs()
    return job.entry


def test_an_entry_is_read_as_it_was_written_and_by_its_user_only(state: Path) -> None:
    checkpoint = KeptCheckpoint(id=7, time=START + 1, path="file:///c/chk-7")
    written = keep(
        status="FAILED",
        ended=START + 9,
        why="broken\n  at x",
        checkpoint=checkpoint,
        savepoint="/s",
        log="/l",
        restarts=3,
    )
    assert only() == written
    (path,) = (state / "jobs").iterdir()
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700


def test_text_that_utf_8_cannot_write_is_kept_escaped() -> None:
    keep(status="FAILED", why="lone \udcff", arguments=("caf\udce9",))
    assert (only().why, only().arguments) == ("lone \\udcff", ("caf\\udce9",))


def test_a_job_of_a_process_that_lives_is_as_it_was_written() -> None:
    keep()
    (job,) = kept_jobs()
    assert (job.status, job.has_ended, job.ended, job.why, job.lost) == ("RUNNING", False, None, None, False)


def ended_process() -> tuple[int, int | None]:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        ticks = start_ticks(process.pid)
    return process.pid, ticks


@pytest.mark.parametrize("gone", ["process", "number used again", "machine restarted"])
def test_a_job_whose_process_is_gone_without_a_word_is_lost(gone: str) -> None:
    pid, ticks = ended_process() if gone == "process" else (os.getpid(), start_ticks(os.getpid()))
    fields = {
        "process": {"pid": pid, "start_ticks": ticks},
        "number used again": {"pid": pid, "start_ticks": (ticks or 0) - 1},
        "machine restarted": {"pid": pid, "start_ticks": ticks, "boot_id": "another"},
    }
    made = keep(**fields[gone])
    os.utime(archive_directory() / made.file_name, (START / 1000 + 60, START / 1000 + 60))
    (job,) = kept_jobs()
    assert (job.status, job.has_ended, job.ended) == ("LOST", True, START + 60_000)
    assert job.why is not None
    assert f"(pid {pid} on " in job.why
    assert "ended without reporting how, at about 2023-11-1" in job.why


@pytest.mark.parametrize(("silent", "status"), [(1, "RUNNING"), (3_600, "LOST")])
def test_a_job_of_another_machine_is_lost_when_it_has_been_silent(silent: int, status: str) -> None:
    made = keep(host="elsewhere", pid=1)
    heard = time.time() - silent
    os.utime(archive_directory() / made.file_name, (heard, heard))
    assert [job.status for job in kept_jobs()] == [status]


def test_a_job_that_said_how_it_ended_is_not_lost() -> None:
    pid, ticks = ended_process()
    keep(pid=pid, start_ticks=ticks, status="SUSPENDED", ended=START + 5, why="another driver has taken over")
    (job,) = kept_jobs()
    assert (job.status, job.ended, job.why) == ("SUSPENDED", START + 5, "another driver has taken over")


def test_of_a_job_that_was_taken_over_the_last_driver_tells() -> None:
    keep(pid=1, started=START, status="SUSPENDED", ended=START + 1)
    keep(started=START + 2)
    assert [job.status for job in kept_jobs()] == ["RUNNING"]


def test_files_that_are_none_of_ours_are_passed_over() -> None:
    made = keep()
    directory = archive_directory()
    (directory / "1-x-2.json").write_text("{")
    (directory / "another.json").write_bytes((directory / made.file_name).read_bytes())
    newer = entry("aaaa", version=99)
    write_entry(directory, newer)
    assert [job.job_id for job in kept_jobs()] == [made.job_id]


def test_the_oldest_ended_jobs_are_forgotten_with_their_logs_and_running_ones_are_not(tmp_path: Path) -> None:
    mine = tmp_path / "mine.log"
    mine.touch()
    logs = [log_directory() / f"{number}.log" for number in range(4)]
    for log in logs:
        log.touch()
        log.with_name(f"{log.name}.1").touch()
    running = keep("aaaa", started=START - 9, log=str(logs[3]))
    keep("bbb1", started=START + 1, status="FAILED", ended=START + 2, log=str(logs[0]))
    keep("bbb2", started=START + 2, status="FAILED", ended=START + 3, log=str(mine))
    kept = keep("bbb3", started=START + 3, status="FINISHED", ended=START + 4, log=str(logs[2]))
    forget_oldest(archive_directory(), 1)
    assert [job.job_id for job in kept_jobs()] == [running.job_id, kept.job_id]
    assert mine.exists(), "the user said where it goes"
    left = sorted(path.name for path in log_directory().iterdir())
    assert left == [f"{number}.log{end}" for number in (1, 2, 3) for end in ("", ".1")]


class TestPlace:
    @pytest.fixture(autouse=True)
    def _no_named_directory(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        monkeypatch.delenv("REKINDLE_STATE_DIR")
        monkeypatch.delenv("XDG_STATE_HOME", raising=False)
        monkeypatch.setenv("HOME", str(tmp_path / "home"))
        monkeypatch.setattr("tempfile.tempdir", str(tmp_path))

    def test_it_is_in_the_users_state(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        assert archive_directory() == tmp_path / "home/.local/state/rekindle/jobs"
        monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
        assert log_directory() == tmp_path / "state/rekindle/logs"
        assert log_directory().stat().st_mode & 0o777 == 0o700

    def test_without_a_home_it_is_among_the_temporary_files(
        self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        (tmp_path / "file").touch()
        monkeypatch.setenv("HOME", str(tmp_path / "file"))
        assert archive_directory() == tmp_path / f"rekindle-{os.getuid()}" / "jobs"
