"""A signal ends a job, and the line that is printed goes on with it: nothing is lost, and nothing counts twice."""

from __future__ import annotations

import os
import re
import shlex
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from support.balances import assert_exactly_once, read_output
from support.command_line import rekindle_command
from support.driver import Driver, driver, python_path
from support.processes import command_line, tagged_pids, wait_until

PROGRAMS = Path(__file__).parent.parent / "support" / "programs"
EVENTS = 2_000
RUN = ("-m", "rekindle.cli", "run")
HERE = ("spark=no", "rekindle.epoch.max-records=100", "pause=0.002")  # in one process, and not over in a moment
ON_SPARK = ("rekindle.epoch.max-records=200", "pause=0.002")
ACTION = "rekindle.signal.action"


def arguments(directory: Path, *settings: str) -> list[str]:
    return [str(EVENTS), str(directory), "retain=no", *settings]


def completed(directory: Path) -> list[Path]:
    return list(directory.glob("checkpoints/*/chk-*/_metadata"))


def wait_for_progress(running: Driver, directory: Path) -> None:
    wait_until(
        lambda: running.process.poll() is not None or (completed(directory) and read_output(f"{directory}/out")),
        "a checkpoint with output is complete",
        timeout=120,
    )
    assert running.process.poll() is None, running.output()


def program_of(running: Driver) -> int:
    """Find the program that a command runs."""
    (pid,) = [
        pid
        for pid in tagged_pids(running.tag)
        if "numbering.py" in command_line(pid) and "rekindle.cli" not in command_line(pid)
    ]
    return pid


def line_to_go_on(running: Driver) -> str:
    (line,) = set(re.findall(r"go on from it with '(rekindle run .*?numbering\.py [^']*)'", running.output()))
    return line


def continued(line: str) -> subprocess.CompletedProcess[str]:
    """Run a line that begins with the name of the command."""
    words = shlex.split(line)
    assert words[0] == "rekindle"
    return subprocess.run(
        rekindle_command(*words[1:]),
        env={**os.environ, "PYTHONPATH": python_path(Path(__file__).parent.parent)},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def go_on(line: str, directory: Path) -> None:
    """Run the line as it was printed, and hold what comes out against the golden result."""
    before = len(read_output(f"{directory}/out"))
    assert before < EVENTS, "the job was over before it was stopped: the test proves nothing"
    ended = continued(line)
    assert ended.returncode == 0, ended.stderr[-4000:]
    assert re.search(r"attempt 1 runs, from checkpoint \d+", ended.stderr), ended.stderr[-4000:]
    assert_exactly_once(EVENTS, f"{directory}/out")


Send = Callable[[Driver], None]


def to_group(number: signal.Signals) -> Send:
    return lambda running: os.killpg(running.process.pid, number)


def to_command(number: signal.Signals) -> Send:
    return lambda running: os.kill(running.process.pid, number)


def to_program(number: signal.Signals) -> Send:
    return lambda running: os.kill(program_of(running), number)


SENT = {
    "SIGTERM to the group": (RUN, to_group(signal.SIGTERM), 143),
    "SIGTERM to the command": (RUN, to_command(signal.SIGTERM), 143),
    "SIGTERM to the program": (RUN, to_program(signal.SIGTERM), 143),
    "SIGHUP to the group": (RUN, to_group(signal.SIGHUP), 129),
    "SIGINT to the group": (RUN, to_group(signal.SIGINT), None),
    "SIGINT to the command": (RUN, to_command(signal.SIGINT), None),
    "SIGTERM, plain Python": ((), to_command(signal.SIGTERM), 143),
    "SIGINT, plain Python": ((), to_command(signal.SIGINT), None),
}


@pytest.mark.parametrize("how", list(SENT))
def test_a_job_that_a_signal_ends_goes_on_with_the_line_that_is_printed(how: str, tmp_path: Path) -> None:
    through, send, code = SENT[how]
    with driver("numbering.py", *arguments(tmp_path, *HERE), through=through) as running:
        wait_for_progress(running, tmp_path)
        send(running)
        ended = running.wait()
        assert ended == code if code is not None else ended != 0, running.output()
        assert "CANCELED" in running.output()
        line = line_to_go_on(running)
    go_on(line, tmp_path)


@pytest.mark.parametrize("how", ["SIGTERM to the group", "SIGTERM to the command", "SIGTERM, plain Python"])
def test_a_job_is_stopped_with_a_savepoint_though_the_signal_comes_twice(how: str, tmp_path: Path) -> None:
    through, send, code = SENT[how]
    settings = (f"{ACTION}=stop-with-savepoint", f"state.savepoints.dir=file://{tmp_path}/savepoints")
    with driver("numbering.py", *arguments(tmp_path, *HERE, *settings), through=through) as running:
        wait_for_progress(running, tmp_path)
        send(running)
        assert running.wait() == code
        assert "[numbering] FINISHED" in running.output()
        assert "cancels" not in running.output().replace("once more cancels it", "")
        assert len(list(tmp_path.glob("savepoints/*/_metadata"))) == 1
        line = line_to_go_on(running)
    assert f"{tmp_path}/savepoints/" in line
    go_on(line, tmp_path)


def test_a_program_that_timeout_ends_is_stopped_with_a_savepoint(tmp_path: Path) -> None:
    settings = (f"{ACTION}=stop-with-savepoint", f"state.savepoints.dir=file://{tmp_path}/savepoints")
    with driver("numbering.py", *arguments(tmp_path, *HERE, *settings), through=RUN) as running:
        wait_for_progress(running, tmp_path)
        # what timeout does, to the process and then to the group that it is in
        os.kill(running.process.pid, signal.SIGTERM)
        os.killpg(running.process.pid, signal.SIGTERM)
        assert running.wait() == 143
        assert "[numbering] FINISHED" in running.output()
        line = line_to_go_on(running)
    go_on(line, tmp_path)


@pytest.mark.spark
@pytest.mark.parametrize("action", ["cancel", "stop-with-savepoint"])
def test_spark_outlives_a_signal_to_the_group_as_long_as_the_job_needs_it(action: str, tmp_path: Path) -> None:
    settings = (f"{ACTION}={action}", f"state.savepoints.dir=file://{tmp_path}/savepoints")
    with driver("numbering.py", *arguments(tmp_path, *ON_SPARK, *settings), through=RUN) as running:
        wait_for_progress(running, tmp_path)
        os.killpg(running.process.pid, signal.SIGTERM)
        assert running.wait() == 143
        output = running.output()
        assert ("[numbering] CANCELED" if action == "cancel" else "[numbering] FINISHED") in output
        assert "SparkLostError" not in output
        line = line_to_go_on(running)
        running.assert_nothing_is_left()
    go_on(line, tmp_path)


def test_a_restarted_driver_goes_on_though_the_log_of_its_command_is_gone(tmp_path: Path) -> None:
    with driver("numbering.py", *arguments(tmp_path, *HERE), through=(*RUN, "--restart-driver")) as running:
        wait_for_progress(running, tmp_path)
        os.killpg(running.process.pid, signal.SIGTERM)
        assert running.wait() == 143
        line = line_to_go_on(running)
    assert "--restart-driver" in line
    assert "high-availability" not in line
    go_on(line, tmp_path)


def test_a_job_without_a_complete_checkpoint_says_so(tmp_path: Path) -> None:
    with driver("numbering.py", *arguments(tmp_path, *HERE, "interval=3600000"), through=RUN) as running:
        wait_until(lambda: "attempt 1 runs" in running.output(), "the job runs")
        os.killpg(running.process.pid, signal.SIGTERM)
        assert running.wait() == 143
        assert "No checkpoint is left to start from: none was complete" in running.output()


def test_a_job_that_waits_for_its_restart_keeps_its_checkpoint(tmp_path: Path) -> None:
    settings = ("fail=1500", "restart-strategy.type=fixed-delay", "restart-strategy.fixed-delay.delay=1 h")
    with driver("numbering.py", *arguments(tmp_path, *HERE, *settings), through=RUN) as running:
        wait_until(lambda: "restart in 3600000 ms" in running.output(), "the job waits for its restart")
        os.killpg(running.process.pid, signal.SIGTERM)
        assert running.wait() == 143
        line = line_to_go_on(running)
    go_on(line.replace(" fail=1500", ""), tmp_path)


def test_the_second_signal_that_somebody_sends_cancels_at_once(tmp_path: Path) -> None:
    settings = (f"{ACTION}=stop-with-savepoint", f"state.savepoints.dir=file://{tmp_path}/savepoints", "hold=yes")
    with driver("numbering.py", *arguments(tmp_path, *HERE, *settings), through=RUN) as running:
        wait_for_progress(running, tmp_path)
        os.killpg(running.process.pid, signal.SIGTERM)
        wait_until(lambda: "the savepoint is held" in running.output(), "the savepoint has begun")
        assert "at once" not in running.output()
        time.sleep(1.5)  # what comes within a second is a copy
        os.killpg(running.process.pid, signal.SIGTERM)
        wait_until(lambda: "the job is cancelled at once, without waiting" in running.output(), "it is cancelled")
        (tmp_path / "release").touch()
        assert running.wait() == 143
        line = line_to_go_on(running)
    go_on(line.replace(" hold=yes", ""), tmp_path)


def test_a_driver_killed_in_the_middle_of_its_stop_leaves_no_savepoint_that_could_be_taken_for_one(
    tmp_path: Path,
) -> None:
    settings = (f"{ACTION}=stop-with-savepoint", f"state.savepoints.dir=file://{tmp_path}/savepoints", "hold=yes")
    with driver("numbering.py", *arguments(tmp_path, *HERE, *settings)) as running:
        wait_for_progress(running, tmp_path)
        running.process.send_signal(signal.SIGTERM)
        wait_until(lambda: "the savepoint is held" in running.output(), "the savepoint has begun")
        running.process.kill()
        running.wait()
    program = str(PROGRAMS / "numbering.py")
    (tmp_path / "savepoints" / "savepoint-0a1b2c-0a1b2c3d4e5f").mkdir(parents=True, exist_ok=True)  # as far as it came
    assert not list(tmp_path.glob("savepoints/*/_metadata"))
    for interrupted in (tmp_path / "savepoints").iterdir():
        refused = continued(f"rekindle run -s {interrupted} {program} {EVENTS} {tmp_path} retain=no spark=no")
        assert refused.returncode == 3, refused.stderr
        assert str(interrupted) in refused.stderr
    go_on(f"rekindle run -s {tmp_path}/checkpoints {program} {EVENTS} {tmp_path} retain=no spark=no", tmp_path)
