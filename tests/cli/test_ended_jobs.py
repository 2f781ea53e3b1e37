"""Jobs that have ended: ``rekindle list -a`` and ``rekindle logs``."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rekindle.archive.directory import archive_directory
from rekindle.archive.job_entry import KeptCheckpoint
from rekindle.base.process_identity import start_ticks
from rekindle.cli.log_writer import LogWriter
from rekindle.rest.discovery import Endpoint, publish
from support.command_line import TIMEOUT, rekindle, rekindle_command, rekindle_here
from support.driver import python_path
from support.fake_rest import START, FakeJob, FakeRest, serving
from support.kept_jobs import keep
from support.processes import all_pids, wait_until

GONE = {"pid": 1, "start_ticks": 1}
ENDLESS = str(Path(__file__).parents[1] / "support" / "programs" / "endless_without_spark.py")


@pytest.fixture(autouse=True)
def state(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("REKINDLE_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.setenv("TZ", "UTC")
    return tmp_path / "state"


@pytest.fixture
def orders() -> Iterator[FakeRest]:
    """Serve a job that runs, and is found on this machine."""
    with serving(FakeRest(FakeJob("5f1c".ljust(32, "0"), name="orders"))) as rest:
        pid = os.getpid()
        publish(Endpoint(pid=pid, start_ticks=start_ticks(pid), url=rest.url, token=None, started=1))
        yield rest


def listed(*options: str) -> list[dict[str, Any]]:
    jobs: list[dict[str, Any]] = rekindle_here("list", *options, "--json").json()["jobs"]
    return jobs


class TestList:
    def test_all_tells_of_ended_jobs_when_and_why(self, orders: FakeRest) -> None:
        checkpoint = KeptCheckpoint(id=7, time=START + 5_000, path="file:///c/chk-7")
        keep("aaaa", job_name="broken", status="FAILED", ended=START + 9_000, why="no [b]x[/b]\n  at y", **GONE)
        keep("bbbb", job_name="stopped", status="FINISHED", ended=START + 9_000, savepoint="/s/1", started=START + 1)
        keep("cccc", job_name="killed", checkpoint=checkpoint, started=START + 2, **GONE)
        os.utime(next(archive_directory().glob("*-cccc*")), (START / 1000 + 60, START / 1000 + 60))
        jobs = {job["job_name"]: job for job in listed("-a")}
        assert list(jobs) == ["broken", "orders", "stopped", "killed"], "by their start"
        assert (jobs["broken"]["status"], jobs["broken"]["end_time"]) == ("FAILED", START + 9_000)
        assert jobs["broken"]["why"] == "no [b]x[/b]\n  at y"
        assert (jobs["killed"]["status"], jobs["killed"]["end_time"]) == ("LOST", START + 60_000)
        assert jobs["killed"]["last_checkpoint"] == {"id": 7, "time": START + 5_000, "path": "file:///c/chk-7"}
        assert (jobs["orders"]["status"], jobs["orders"]["url"], jobs["orders"]["why"]) == ("RUNNING", orders.url, None)
        heading, _, broken, running, stopped, killed = rekindle_here("list", "-a").out.splitlines()
        assert heading.split()[-2:] == ["Ended", "Why"]
        assert broken.rstrip().endswith("2023-11-14 22:13:29  no [b]x[/b]")
        assert running.rstrip().endswith(f"-                    runs at {orders.url}")
        assert stopped.rstrip().endswith("2023-11-14 22:13:29  savepoint /s/1")
        assert "LOST" in killed
        assert "2023-11-14 22:14:20  its process (pid 1 on " in killed

    def test_without_all_only_running_ones_are_listed(self, orders: FakeRest) -> None:
        keep("aaaa", status="FAILED", ended=START + 9_000, **GONE)
        keep("bbbb", **GONE)
        assert [job["job_id"][:4] for job in listed()] == ["5f1c"]
        assert [job["job_id"][:4] for job in listed("-r", "-a")] == ["5f1c"]
        assert rekindle_here("list").out.splitlines()[0].rstrip().endswith("At")

    def test_a_job_that_answers_is_told_once_with_what_is_known_on_disk(self, orders: FakeRest) -> None:
        keep("5f1c", log="/l", status="CREATED")
        (job,) = listed("-a")
        assert (job["status"], job["log"], job["program"], job["pid"]) == (
            "RUNNING",
            "/l",
            "/jobs/orders.py",
            os.getpid(),
        )
        assert job["arguments"] == ["--day", "monday"]

    def test_a_job_without_a_rest_interface_is_told_by_what_is_on_disk(self) -> None:
        keep()
        (job,) = listed("--all")
        assert (job["status"], job["url"], job["end_time"], job["duration_ms"]) == ("RUNNING", None, None, None)
        assert "runs without a REST interface" in rekindle_here("list", "-a").out
        assert listed() == []

    def test_secrets_among_the_arguments_are_not_told(self) -> None:
        keep(arguments=("--password", "hush", "--db", "postgresql://u:hush@h/x", "--day", "monday"))
        (job,) = listed("-a")
        assert job["arguments"] == ["--password", "******", "--db", "postgresql://u:******@h/x", "--day", "monday"]

    def test_elsewhere_nothing_on_disk_counts(self, orders: FakeRest) -> None:
        keep("aaaa", status="FAILED", ended=START, **GONE)
        assert [job["job_id"][:4] for job in listed("-a", "-m", orders.address)] == ["5f1c"]

    def test_other_commands_say_how_a_job_ended(self) -> None:
        keep("aaaa", job_name="broken", status="FAILED", ended=START + 9_000, why="no x", **GONE)
        ended = rekindle_here("cancel", "broken")
        assert ended.code == 3
        said = (
            f"error: job 'broken' ({'aaaa'.ljust(32, '0')}) has ended: it is FAILED since 2023-11-14 22:13:29, no x\n"
        )
        assert ended.err == said


class TestLogs:
    @pytest.fixture
    def log(self, tmp_path: Path) -> LogWriter:
        path = tmp_path / "orders.log"
        keep(log=str(path))
        writer = LogWriter(str(path), 50, 3)
        for number in range(20):
            writer.write(b"line %02d [b]\n" % number)
        return writer

    @pytest.mark.usefixtures("log")
    def test_it_prints_the_last_lines_across_files(self, tmp_path: Path) -> None:
        assert len(list(tmp_path.glob("orders.log*"))) == 3
        lines = [f"line {number:02} [b]" for number in range(20)]
        assert rekindle_here("logs", "orders", "--lines", "7").out.splitlines() == lines[-7:]
        kept = rekindle_here("logs", "5f1c", "-n", "0").out.splitlines()
        assert len(kept) > 8
        assert kept == lines[-len(kept) :]
        assert rekindle_here("logs", "orders").out.splitlines() == kept

    @pytest.mark.usefixtures("log")
    def test_json_has_the_lines(self, tmp_path: Path) -> None:
        assert rekindle_here("logs", "orders", "-n", "1", "--json").json() == {
            "job_id": "5f1c".ljust(32, "0"),
            "job_name": "orders",
            "log": str(tmp_path / "orders.log"),
            "lines": ["line 19 [b]"],
        }
        assert rekindle_here("logs", "orders", "-f", "--json").code == 2

    def test_of_several_runs_the_last_is_meant(self, tmp_path: Path) -> None:
        for number in (1, 2):
            (tmp_path / f"{number}.log").write_text(f"run {number}\n")
            keep(
                f"aaa{number}",
                started=START + number,
                status="FAILED",
                ended=START,
                log=str(tmp_path / f"{number}.log"),
            )
        assert rekindle_here("logs", "orders").out == "run 2\n"
        assert rekindle_here("logs", "aaa1").out == "run 1\n"

    def test_what_there_is_not_is_said(self, tmp_path: Path) -> None:
        assert rekindle_here("logs", "orders").code == 3
        keep("aaaa", job_name="attached")
        ended = rekindle_here("logs", "attached")
        assert (ended.code, "only programs that are started with run -d write one" in ended.err) == (1, True)
        keep("bbbb", job_name="removed", log=str(tmp_path / "gone.log"))
        ended = rekindle_here("logs", "removed")
        assert (ended.code, f"is gone: {tmp_path / 'gone.log'}" in ended.err) == (3, True)

    def test_following_goes_on_across_files_and_ends_with_the_job(self, tmp_path: Path, log: LogWriter) -> None:
        process = subprocess.Popen(
            rekindle_command("logs", "-f", "orders", "-n", "1"),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert process.stdout is not None
        assert process.stdout.readline() == "line 19 [b]\n"
        for number in range(20, 26):  # fewer than are kept
            log.write(b"line %02d [b]\n" % number)
        seen = [process.stdout.readline() for _ in range(6)]
        assert seen == [f"line {number} [b]\n" for number in range(20, 26)]
        keep(log=str(tmp_path / "orders.log"), status="CANCELED", ended=START, why="SIGTERM was received")
        log.write(b"the end\n")
        out, err = process.communicate(timeout=TIMEOUT)
        assert (process.returncode, out) == (0, "the end\n")
        assert err == "job 'orders' has ended, CANCELED: SIGTERM was received\n"

    @pytest.mark.usefixtures("log")
    def test_ctrl_c_ends_following_without_a_word(self) -> None:
        process = subprocess.Popen(
            rekindle_command("logs", "-f", "orders"), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        assert process.stdout is not None
        process.stdout.readline()
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=TIMEOUT)
        assert (process.returncode, err) == (130, "")


@pytest.fixture
def programs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", python_path(Path(__file__).parents[1]))


@pytest.mark.usefixtures("programs")
def test_a_detached_job_that_is_killed_is_told_with_its_log(state: Path) -> None:
    ended = rekindle("run", "-d", "-D", "rekindle.log.format=json", "--json", ENDLESS, "execute")
    assert ended.code == 0, ended.err
    started = ended.json()
    try:
        (job,) = listed("-a")
        assert (job["job_id"], job["status"], job["pid"]) == (started["job_id"], "RUNNING", started["pid"])
        assert job["log"] == started["log"]
        assert Path(job["log"]).parent == state / "logs"
    finally:
        os.kill(started["pid"], signal.SIGKILL)
    wait_until(lambda: started["pid"] not in all_pids(), "it is gone")
    (job,) = listed("-a")
    assert (job["status"], job["program"], job["arguments"]) == ("LOST", ENDLESS, ["execute"])
    said = rekindle_here("logs", "endless", "--json").json()["lines"]
    assert said[0] == "began"
    (runs,) = [line for line in map(json.loads, said[1:]) if line["event"] == "attempt_started"]
    assert (runs["job_id"], runs["level"], runs["message"]) == (
        started["job_id"],
        "INFO",
        "[endless] attempt 1 runs, from the beginning",
    )


def test_a_log_that_cannot_be_written_is_found_out_before_the_program_starts(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text("raise AssertionError('it was started')")
    ended = rekindle_here("run", "-d", "--log", str(tmp_path / "not" / "there"), str(program))
    assert (ended.code, ended.out) == (2, "")
    assert "the log cannot be written to" in ended.err


def test_the_size_of_logs_is_limited_by_keys(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text("for number in range(1000):\n    print('a line of some length', number)\n")
    limits = "-D", "rekindle.log.max-size=4kb", "-D", "rekindle.log.max-files=2"
    ended = rekindle("run", "-d", *limits, "--log", str(tmp_path / "log"), str(program))
    assert ended.code == 1, "there is no job in it"
    sizes = [path.stat().st_size for path in tmp_path.glob("log*")]
    assert len(sizes) == 2
    assert max(sizes) < 4_200
    assert "a line of some length 999" in (tmp_path / "log").read_text()
