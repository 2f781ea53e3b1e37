"""``rekindle run --restart-driver``: which ends of a program are followed by another start, and with which settings.

The programs here play drivers; tests/chaos/test_jvm_killed.py kills real ones.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
from pathlib import Path

import pytest

from rekindle.cli.program_end import ProgramEnd
from rekindle.cli.restarting import run_restarting, taken_over, wait_for_restart
from rekindle.common.job_status import JobStatus
from rekindle.program.run_report import ErrorReport, JobReport
from rekindle.testing import ManualClock
from support.command_line import TIMEOUT, rekindle, rekindle_command, rekindle_here
from support.processes import wait_until

RUNNING, SUSPENDED, FINISHED = JobStatus.RUNNING, JobStatus.SUSPENDED, JobStatus.FINISHED
LOST = "job 'job' is suspended, because Spark's JVM (process 1) was killed by SIGKILL. Go on"


def end(code: int, *statuses: JobStatus, kind: str | None = None) -> ProgramEnd:
    jobs = tuple(
        JobReport(f"{number:032x}", "job", status.name, recoverable=True) for number, status in enumerate(statuses)
    )
    return ProgramEnd(code, jobs, None if kind is None else ErrorReport(LOST, kind))


KILLED = end(137, RUNNING)
SPARK_LOST = end(1, SUSPENDED, kind="SparkLostError")
OVER = end(0, FINISHED)


class Drivers:
    """Let drivers end as they are told to, each after a while, and note how long is waited for the next."""

    def __init__(self, *ends: ProgramEnd, runs_ms: int = 5_000) -> None:
        self._ends = iter(ends)
        self._runs_ms = runs_ms
        self._clock = ManualClock()
        self.waits: list[float] = []

    def run(self) -> ProgramEnd:
        """Run until the command has ended; return its end."""
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("random.random", lambda: 0.5)  # no jitter
            return run_restarting("driver.py", self._once, self._clock, self._wait)

    def _once(self) -> ProgramEnd:
        self._clock.advance(self._runs_ms)
        return next(self._ends)

    def _wait(self, seconds: float) -> None:
        self.waits.append(seconds)
        self._clock.advance(round(seconds * 1000))


@pytest.mark.parametrize("lost", [KILLED, SPARK_LOST, end(137), end(139, RUNNING), end(134, RUNNING)])
def test_a_driver_that_dies_is_started_again(lost: ProgramEnd, capsys: pytest.CaptureFixture[str]) -> None:
    drivers = Drivers(lost, lost, OVER)
    assert drivers.run() is OVER
    assert drivers.waits == [1.0, 2.0]
    said = " ".join(capsys.readouterr().err.split())
    assert "driver.py is restarted in 1 s" in said
    assert ("driver.py was ended by" in said) == (lost.error is None), "an error the program has shown itself"


@pytest.mark.parametrize(
    "other",
    [
        OVER,
        end(1, JobStatus.FAILED, kind="JobExecutionError"),
        end(1, SUSPENDED, kind="JobFencedError"),
        end(1, kind="ConfigurationError"),
        end(5, JobStatus.CANCELED),
        end(6, RUNNING),
        end(129, RUNNING),
        end(130, RUNNING),
        end(143, RUNNING),
    ],
)
def test_any_other_end_is_the_end(other: ProgramEnd) -> None:
    drivers = Drivers(other)
    assert drivers.run() is other
    assert drivers.waits == []


def test_a_driver_that_dies_again_and_again_is_given_up(capsys: pytest.CaptureFixture[str]) -> None:
    drivers = Drivers(*[SPARK_LOST] * 11)
    assert drivers.run().exit_code == 6
    assert drivers.waits == [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 60.0, 60.0, 60.0, 60.0]
    assert "too often in a row" in " ".join(capsys.readouterr().err.split())


def test_one_that_has_run_for_long_was_worth_it() -> None:
    drivers = Drivers(*[SPARK_LOST] * 30, OVER, runs_ms=600_000)
    assert drivers.run() is OVER
    assert drivers.waits == [1.0] * 30


def test_a_program_whose_first_job_is_over_would_run_it_again_and_is_not_started(
    capsys: pytest.CaptureFixture[str],
) -> None:
    lost = end(137, FINISHED, RUNNING)
    assert Drivers(lost, OVER).run() is lost
    said = " ".join(capsys.readouterr().err.split())
    assert "driver.py is not restarted: job 'job' is FINISHED, and would run again" in said


def test_neither_is_one_that_switches_high_availability_off_and_would_begin_anew(
    capsys: pytest.CaptureFixture[str],
) -> None:
    lost = ProgramEnd(137, (JobReport("a" * 32, "job", RUNNING.name),))
    assert Drivers(lost, OVER).run() is lost
    assert "job 'job' would start from scratch, because the program switches" in " ".join(
        capsys.readouterr().err.split()
    )


def test_drivers_take_over_by_a_log_of_the_command_which_is_gone_afterwards() -> None:
    with taken_over({"pipeline.name": "x"}) as settings:
        directory = settings["high-availability.storageDir"]
        assert os.path.isdir(directory)
        assert settings == {
            "pipeline.name": "x",
            "high-availability.type": "filesystem",
            "high-availability.storageDir": directory,
        }
    assert not os.path.exists(directory)


def test_high_availability_that_is_configured_is_left_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    given = {"high-availability.type": "filesystem", "high-availability.storageDir": "/shared"}
    with taken_over(given) as settings:
        assert settings == given
    monkeypatch.setenv("REKINDLE_HIGH_AVAILABILITY_TYPE", "filesystem")
    with taken_over({}) as settings:
        assert settings == {}


def test_a_signal_that_is_ignored_does_not_end_the_wait_for_the_next_start(monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[float] = []

    def send(seconds: float) -> None:
        signal.raise_signal(signal.SIGHUP)
        sent.append(seconds)

    monkeypatch.setattr("rekindle.cli.restarting.time.sleep", send)
    mine = signal.signal(signal.SIGHUP, signal.SIG_IGN)  # as nohup does
    try:
        wait_for_restart(1.0)
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
        assert sent == [1.0]
        signal.signal(signal.SIGHUP, signal.SIG_DFL)
        with pytest.raises(SystemExit) as end:
            wait_for_restart(1.0)
        assert end.value.code == 129
    finally:
        signal.signal(signal.SIGHUP, mine)


# --- with processes ---

PROGRAM = """\
import json, os, signal, sys, time
from pathlib import Path
from rekindle.exceptions import SparkLostError
from rekindle.program.program_errors import explain_errors
from rekindle.program.run_report import JobReport, write_line

explain_errors()
here = Path(__file__).parent
ends = json.loads((here / "ends").read_text())
settings = json.loads(os.environ["REKINDLE_DYNAMIC_PROPERTIES"])
with (here / "starts").open("a+") as file:
    file.write(json.dumps({"settings": settings, "pid": os.getpid()}) + "\\n")
    file.seek(0)
    number = len(file.read().splitlines())

def job(status):
    report = JobReport("a" * 32, "job", status, pid=os.getpid(), recoverable=True)
    write_line(os.environ["REKINDLE_RUN_REPORT"], report.to_line())

end = ends[min(number, len(ends)) - 1]
job("RUNNING")
if end == "killed":
    os.kill(os.getpid(), signal.SIGKILL)
elif end == "lost":
    job("SUSPENDED")
    raise SparkLostError("Spark is gone. Go on")
elif end == "waits":
    time.sleep(600)
job("FINISHED")
"""


def program(directory: Path, *ends: str) -> str:
    path = directory / "driver.py"
    path.write_text(PROGRAM)
    (directory / "ends").write_text(json.dumps(ends))
    return str(path)


def starts(directory: Path) -> list[dict[str, object]]:
    path = directory / "starts"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def test_a_lost_spark_has_an_exit_code_of_its_own(tmp_path: Path) -> None:
    ended = rekindle_here("run", program(tmp_path, "lost"))
    assert ended.code == 6
    assert len(starts(tmp_path)) == 1, "nobody has asked for more"


def test_the_next_start_has_the_settings_of_the_first(tmp_path: Path) -> None:
    ended = rekindle_here("run", "-D", "pipeline.name=x", "--restart-driver", program(tmp_path, "lost", "finished"))
    assert ended.code == 0, ended.err
    first, second = starts(tmp_path)
    assert first["settings"] == second["settings"]
    assert isinstance(first["settings"], dict)
    assert (first["settings"]["pipeline.name"], first["settings"]["high-availability.type"]) == ("x", "filesystem")


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_a_request_to_end_ends_the_wait_for_the_next_start(tmp_path: Path, number: signal.Signals, code: int) -> None:
    (tmp_path / "tmp").mkdir()
    with subprocess.Popen(
        rekindle_command("run", "--restart-driver", program(tmp_path, "killed")),
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "TMPDIR": str(tmp_path / "tmp"), "COLUMNS": "1000"},
    ) as process:
        assert process.stderr is not None
        wait_until(lambda: "is restarted in 4 s" in process.stderr.readline(), "it waits")
        process.send_signal(number)
        assert process.wait(TIMEOUT) == code
    assert os.listdir(tmp_path / "tmp") == []


def test_a_detached_program_is_started_again_by_a_command_that_stays(tmp_path: Path) -> None:
    name, log = program(tmp_path, "waits", "finished"), tmp_path / "log"
    ended = rekindle("run", "-d", "--json", "--restart-driver", "-Dpipeline.name=x", "--log", str(log), name)
    assert ended.code == 0, ended.err
    stays, driver = ended.json()["pid"], starts(tmp_path)[0]["pid"]
    assert isinstance(driver, int)
    assert stays != driver
    readable_by_all = Path(f"/proc/{stays}/cmdline").read_bytes()
    os.kill(driver, signal.SIGKILL)
    wait_until(lambda: len(starts(tmp_path)) == 2, "it is started again")
    assert [start["settings"]["pipeline.name"] for start in starts(tmp_path)] == ["x", "x"]  # type: ignore[index]
    wait_until(lambda: not Path(f"/proc/{stays}").exists(), "the command ends with the program")
    assert "was ended by SIGKILL while job 'job'" in " ".join(log.read_text().split())
    assert b"--restart-driver" in readable_by_all
    assert b"pipeline.name" not in readable_by_all, "settings may be secret"
