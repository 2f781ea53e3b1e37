"""What a request to end the process does to its jobs, and that it is said."""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import Future
from pathlib import Path

import pytest

from rekindle.common import Configuration, ExecutionConfig, JobStatus
from rekindle.datastream.checkpoint_config import CheckpointConfig
from rekindle.exceptions import ConfigurationError, StopFailedError
from rekindle.runtime.master import signals
from rekindle.runtime.master.running_jobs import RunningJobs
from rekindle.runtime.master.settings.job_settings import settle
from rekindle.runtime.master.settings.signal_action import SignalAction
from rekindle.runtime.master.signals import SignalWatch, say_interrupted
from support.driver import driver
from support.processes import wait_until
from support.rest_jobs import FakeMaster, registered

KEY = "rekindle.signal.action"
NUMBER = signal.SIGUSR1  # instead of SIGTERM, which may be sent to the tests themselves
PASSED_ON = signal.SIGRTMIN + 9  # how the command would pass it on
KEEPS = ("cancel", "keep")
CODE = 128 + NUMBER
SAVEPOINTS = {"state.savepoints.dir": "file:///s"}


def action(configuration: dict[str, str]) -> SignalAction:
    settings = Configuration.from_dict(configuration)
    return settle("a" * 32, "job", settings, CheckpointConfig(settings), ExecutionConfig()).signal_action


class TestSetting:
    def test_a_job_is_cancelled_by_default(self) -> None:
        assert action({}) is SignalAction.CANCEL

    def test_a_job_that_another_driver_can_take_over_is_left_to_it(self, tmp_path: Path) -> None:
        ha = {"high-availability.type": "filesystem", "high-availability.storageDir": f"file://{tmp_path}"}
        assert action(ha) is SignalAction.SUSPEND
        assert action({**ha, KEY: "cancel"}) is SignalAction.CANCEL

    @pytest.mark.parametrize("text", ["stop-with-savepoint", "STOP_WITH_SAVEPOINT"])
    def test_savepoints_need_a_directory(self, text: str) -> None:
        assert action({KEY: text, **SAVEPOINTS}) is SignalAction.STOP_WITH_SAVEPOINT
        with pytest.raises(ConfigurationError, match=r"rekindle\.signal\.action .* set execution.*savepoint-dir"):
            action({KEY: text})


class Job(FakeMaster):
    """A job that ends when the test says so; its savepoint likewise."""

    def __init__(self, action: str, directory: str | None = "/s") -> None:
        super().__init__()
        self.run()
        self._savepoint_directory = directory
        settings = Configuration.from_dict({KEY: action, **SAVEPOINTS})
        self.settings = settle("a" * 32, "a job", settings, CheckpointConfig(settings), ExecutionConfig())

    def stop_with_savepoint(self, directory: str | None, drain: bool) -> Future[str]:
        assert (directory, drain) == (None, False)
        return super().stop_with_savepoint(self._savepoint_directory, drain)


class TestWatch:
    @pytest.fixture(autouse=True)
    def watch(self, caplog: pytest.LogCaptureFixture) -> Iterator[SignalWatch]:
        caplog.set_level(logging.INFO, "rekindle")
        self.seconds = 0.0
        watch = SignalWatch((NUMBER,), {PASSED_ON: NUMBER}, lambda: self.seconds)
        assert watch.install()
        yield watch
        watch.uninstall()
        assert signal.getsignal(NUMBER) is signal.SIG_DFL

    @pytest.fixture
    def jobs(self, monkeypatch: pytest.MonkeyPatch) -> list[RunningJobs]:
        found: list[RunningJobs] = [RunningJobs()]
        monkeypatch.setattr(signals, "running_jobs", lambda: found[0])
        return found

    def begin(self, jobs: list[RunningJobs], job: Job, asked: object) -> None:
        jobs[0] = registered(job)
        signal.raise_signal(NUMBER)
        wait_until(lambda: asked in job.asked, "the job is asked to end")

    def again(self, number: int = NUMBER, seconds: float = 2.0) -> None:
        self.seconds += seconds
        signal.raise_signal(number)

    def end(self, job: Job, status: JobStatus) -> None:
        """Let the job end, and with it the program."""

        def end_and_go_on() -> None:
            job.end(status)
            time.sleep(60)

        with pytest.raises(SystemExit) as end:
            end_and_go_on()
        assert end.value.code == CODE

    def test_without_jobs_the_program_ends(self, jobs: list[RunningJobs], caplog: pytest.LogCaptureFixture) -> None:
        def go_on() -> None:
            signal.raise_signal(NUMBER)
            time.sleep(60)

        with pytest.raises(SystemExit) as end:
            go_on()
        assert end.value.code == CODE
        assert caplog.messages == ["SIGUSR1 was received: no job runs, and the program ends"]

    def test_a_job_is_cancelled_and_the_program_ends_after_it(
        self, jobs: list[RunningJobs], caplog: pytest.LogCaptureFixture
    ) -> None:
        job = Job("cancel")
        self.begin(jobs, job, KEEPS)
        self.end(job, JobStatus.CANCELED)
        (record,) = caplog.records
        assert (
            record.getMessage() == "[a job] SIGUSR1 was received: the job is cancelled, and its last checkpoint stays"
        )
        assert (record.levelname, vars(record)["signal"], vars(record)["event"]) == ("WARNING", "SIGUSR1", "signal")

    def test_who_waits_for_the_job_is_ended_with_it(self, jobs: list[RunningJobs], watch: SignalWatch) -> None:
        job = Job("cancel")
        watch.end_if_signalled()  # not yet
        self.begin(jobs, job, KEEPS)

        def end_when_waited_for() -> None:
            wait_until(lambda: watch._leaving, "the program waits")
            job.end(JobStatus.CANCELED)

        ending = threading.Thread(target=end_when_waited_for)
        ending.start()
        with pytest.raises(SystemExit) as end:
            watch.end_if_signalled()
        assert end.value.code == CODE
        ending.join()
        signal.raise_signal(NUMBER)  # once more changes nothing: the program is ending

    def test_a_suspended_job_is_not_cancelled_by_a_second_signal(self, jobs: list[RunningJobs]) -> None:
        job = Job("suspend")
        self.begin(jobs, job, ("suspend",))
        self.again()
        self.end(job, JobStatus.SUSPENDED)
        assert job.asked == [("suspend",)]

    def test_a_job_is_stopped_with_a_savepoint(self, jobs: list[RunningJobs], caplog: pytest.LogCaptureFixture) -> None:
        job = Job("stop-with-savepoint")
        self.begin(jobs, job, ("stop", "/s", False))
        job.savepoint.set_result("/s/savepoint-1")
        self.end(job, JobStatus.FINISHED)
        assert job.asked == [("stop", "/s", False)]
        said = "[a job] SIGUSR1 was received: the job is stopped with a savepoint; once more cancels it"
        assert caplog.messages == [said]

    def test_the_second_signal_cancels_at_once(self, jobs: list[RunningJobs], caplog: pytest.LogCaptureFixture) -> None:
        job = Job("stop-with-savepoint")
        self.begin(jobs, job, ("stop", "/s", False))
        self.again()
        wait_until(lambda: KEEPS in job.asked, "it is cancelled")
        self.end(job, JobStatus.CANCELED)
        assert "the job is cancelled at once, without waiting for its savepoint" in caplog.messages[1]

    @pytest.mark.parametrize(
        "copies",
        [
            [(NUMBER, 0.0), (NUMBER, 0.5)],
            [(PASSED_ON, 0.0)],
            [(PASSED_ON, 9.9)],
            [(NUMBER, 0.001), (PASSED_ON, 0.001), (PASSED_ON, 0.001)],
            [(PASSED_ON, 0.9), (PASSED_ON, 0.5)],
        ],
        ids=["twice to the process", "and the command", "a slow command", "all of them twice", "a slow command twice"],
    )
    def test_copies_of_one_request_are_one(
        self, copies: list[tuple[int, float]], jobs: list[RunningJobs], caplog: pytest.LogCaptureFixture
    ) -> None:
        job = Job("stop-with-savepoint")
        self.begin(jobs, job, ("stop", "/s", False))
        for number, seconds in copies:
            self.again(number, seconds)
        job.savepoint.set_result("/s/savepoint-1")
        self.end(job, JobStatus.FINISHED)
        assert job.asked == [("stop", "/s", False)]
        assert len(caplog.messages) == 1

    def test_a_second_request_that_only_the_command_gets_counts(self, jobs: list[RunningJobs]) -> None:
        job = Job("stop-with-savepoint")
        jobs[0] = registered(job)
        signal.raise_signal(PASSED_ON)
        wait_until(lambda: ("stop", "/s", False) in job.asked, "the job is asked to end")
        self.again(PASSED_ON)
        wait_until(lambda: KEEPS in job.asked, "it is cancelled")
        self.end(job, JobStatus.CANCELED)

    @pytest.mark.parametrize(("first", "second"), [(NUMBER, PASSED_ON), (PASSED_ON, NUMBER)])
    @pytest.mark.parametrize("seconds", [10.0, 60.0])
    def test_a_second_request_that_comes_the_other_way_counts(
        self, jobs: list[RunningJobs], first: int, second: int, seconds: float
    ) -> None:
        job = Job("stop-with-savepoint")
        jobs[0] = registered(job)
        signal.raise_signal(first)
        wait_until(lambda: ("stop", "/s", False) in job.asked, "the job is asked to end")
        self.again(second, seconds)
        wait_until(lambda: KEEPS in job.asked, "it is cancelled", timeout=10)
        self.end(job, JobStatus.CANCELED)

    def test_a_copy_of_the_second_request_is_not_a_third(self, jobs: list[RunningJobs]) -> None:
        job = Job("stop-with-savepoint")
        self.begin(jobs, job, ("stop", "/s", False))
        self.again(PASSED_ON, 60.0)
        self.again(NUMBER, 0.1)  # a third would end the process
        wait_until(lambda: KEEPS in job.asked, "it is cancelled")
        self.end(job, JobStatus.CANCELED)

    def test_ctrl_c_after_a_signal_does_not_take_its_place(self, jobs: list[RunningJobs]) -> None:
        job = Job("cancel")
        self.begin(jobs, job, KEEPS)
        assert say_interrupted(job) is None
        self.end(job, JobStatus.CANCELED)
        assert job.history.end_request == "SIGUSR1 was received"

    def test_a_signal_after_ctrl_c_does_not_take_its_place(self, jobs: list[RunningJobs], watch: SignalWatch) -> None:
        job = Job("cancel")
        first = say_interrupted(job)
        assert first is signal.SIGINT
        self.begin(jobs, job, KEEPS)

        def end_when_waited_for() -> None:
            wait_until(lambda: watch._leaving, "the program waits")
            job.end(JobStatus.CANCELED)

        ending = threading.Thread(target=end_when_waited_for)
        ending.start()
        with pytest.raises(SystemExit) as end:
            watch.end_if_signalled(first)
        ending.join()
        assert end.value.code == 128 + signal.SIGINT
        assert job.history.end_request == "SIGINT was received (Ctrl-C)"

    @pytest.mark.parametrize("at_once", [True, False])
    def test_a_job_that_cannot_be_saved_is_cancelled_with_the_reason(
        self, jobs: list[RunningJobs], caplog: pytest.LogCaptureFixture, at_once: bool
    ) -> None:
        job = Job("stop-with-savepoint", directory=None if at_once else "/s")
        if not at_once:
            job.savepoint.set_exception(StopFailedError("the disk is full"))
        self.begin(jobs, job, KEEPS)
        self.end(job, JobStatus.CANCELED)
        reason = "a savepoint needs a directory, and none is configured" if at_once else "the disk is full"
        assert caplog.messages[1] == f"[a job] there is no savepoint, and the job is cancelled: {reason}"


@pytest.mark.parametrize(("seconds", "interrupts"), [(9.9, 1), (60.0, 2)])
def test_ctrl_c_that_the_command_passes_on_is_a_copy_for_a_second(seconds: float, interrupts: int) -> None:
    times = iter([0.0, seconds])
    watch = SignalWatch((), {PASSED_ON: signal.SIGINT}, lambda: next(times))
    received = []

    def interrupt(number: int, frame: object) -> None:
        received.append(number)

    interrupt.__module__ = "pyspark.core.context"  # whose handler is called, too
    mine = signal.signal(signal.SIGINT, interrupt)
    try:
        watch.watch_interrupts()
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(PASSED_ON)
    finally:
        watch.uninstall()
        signal.signal(signal.SIGINT, mine)
    assert received == [signal.SIGINT] * interrupts


def test_handlers_of_the_program_are_left_alone() -> None:
    mine = signal.signal(NUMBER, lambda number, frame: None)
    try:
        assert not SignalWatch((NUMBER,)).install()
        signal.signal(NUMBER, signal.SIG_IGN)  # as nohup does with SIGHUP
        assert not SignalWatch((NUMBER,)).install()
    finally:
        signal.signal(NUMBER, mine)


@pytest.mark.parametrize(
    ("how", "number"), [("execute", signal.SIGTERM), ("collect", signal.SIGHUP), ("async", signal.SIGTERM)]
)
def test_a_program_ends_with_its_job_and_does_not_go_on(how: str, number: signal.Signals) -> None:
    with driver("endless_without_spark.py", how, f"{KEY}=cancel") as running:
        wait_until(lambda: "attempt 1 runs" in running.output(), "the job runs")
        running.process.send_signal(number)
        assert running.wait() == 128 + number
        output = running.output()
    assert f"WARNING [endless] {number.name} was received: the job is cancelled" in output
    assert "INFO    [endless] CANCELED" in output
    assert "went on" not in output
    assert "Traceback" not in output


def test_ctrl_c_is_said() -> None:
    with driver("endless_without_spark.py", "execute") as running:
        wait_until(lambda: {"attempt", "REST"} <= set(running.output().split()), "all has started")
        running.process.send_signal(signal.SIGINT)
        assert running.wait() == -signal.SIGINT
        assert "WARNING [endless] SIGINT was received: the job is cancelled" in running.output()


def test_a_job_is_stopped_with_a_savepoint_if_that_is_configured(tmp_path: Path) -> None:
    settings = f"{KEY}=stop-with-savepoint", f"state.savepoints.dir=file://{tmp_path}"
    with driver("endless_without_spark.py", "execute", *settings) as running:
        wait_until(lambda: "attempt 1 runs" in running.output(), "the job runs")
        running.process.send_signal(signal.SIGTERM)
        assert running.wait() == 143
        assert "[endless] FINISHED" in running.output()
    assert len(list(tmp_path.glob("savepoint-*/_metadata"))) == 1


def test_with_high_availability_the_next_driver_goes_on(tmp_path: Path) -> None:
    settings = (
        "high-availability.type=filesystem",
        f"high-availability.storageDir=file://{tmp_path}/ha",
        f"execution.checkpointing.dir=file://{tmp_path}/checkpoints",
        "execution.checkpointing.interval=50 ms",
    )
    with driver("endless_without_spark.py", "execute", *settings) as running:
        wait_until(lambda: list(tmp_path.glob("checkpoints/*/chk-*/_metadata")), "there is a checkpoint")
        running.process.send_signal(signal.SIGTERM)
        assert running.wait() == 143
        assert "the job is suspended: its checkpoints stay" in running.output()
        assert "[endless] SUSPENDED" in running.output()
    with driver("endless_without_spark.py", "execute", *settings) as running:
        wait_until(lambda: "attempt 1 runs, from checkpoint" in running.output(), "it goes on")
        assert "is taken over from" in running.output()


FORKS = """\
import os, signal
from rekindle.runtime.master.signals import watch_signals

watch_signals()
for _ in range(50):
    child = os.fork()
    if child == 0:
        signal.pause()
    os.kill(child, signal.SIGTERM)  # as early as can be
    _, status = os.waitpid(child, 0)
    assert os.WTERMSIG(status) == signal.SIGTERM
"""


def test_processes_that_the_program_forks_end_by_signals_as_ever() -> None:
    subprocess.run([sys.executable, "-c", FORKS], check=True, timeout=60)


def test_elsewhere_than_in_the_main_thread_nothing_is_watched() -> None:
    program = (
        "import signal, threading\nfrom rekindle.runtime.master.signals import watch_signals\n"
        "thread = threading.Thread(target=watch_signals)\nthread.start()\nthread.join()\n"
        "assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60, env={**os.environ})
