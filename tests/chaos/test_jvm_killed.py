"""Spark's JVM is killed while the Python driver lives: nothing is lost, nothing comes twice, whoever goes on.

With high availability the driver itself does, with a new JVM; else the program is started again, by hand or by
``rekindle run --restart-driver``.
"""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from support.balances import judge, read_output
from support.driver import Driver, driver
from support.ha_jobs import NAME, ha_program, latest_entry
from support.processes import is_jvm, tagged_pids, wait_until

pytestmark = pytest.mark.spark

EVENTS = 9_000
RUN = ("-m", "rekindle.cli", "run")
SLOW = ("pause=0.0005", "rekindle.epoch.max-records=500")


def jvms(running: Driver) -> set[int]:
    return set(filter(is_jvm, tagged_pids(running.tag)))


def wait_for(running: Driver, condition: Callable[[], object], what: str) -> None:
    wait_until(lambda: running.process.poll() is not None or condition(), what, timeout=180)
    assert running.process.poll() is None, running.output()


def wait_for_more_output(running: Driver, directory: Path) -> None:
    lines = len(read_output(f"{directory}/out"))
    wait_for(running, lambda: len(read_output(f"{directory}/out")) > lines, "more output is committed")


def kill_jvm(running: Driver) -> int:
    (jvm,) = jvms(running)
    os.kill(jvm, signal.SIGKILL)
    return jvm


def assert_golden(directory: Path) -> None:
    verdict = judge(EVENTS, f"{directory}/out")
    assert (verdict.lost, verdict.duplicated, verdict.wrong_sums) == (0, 0, 0), verdict


def under_way(directory: Path) -> list[Path]:
    """List the checkpoints that slots have written to, and that are not complete."""
    return [path for path in directory.glob("checkpoints/*/chk-*") if not (path / "_metadata").exists()]


def test_without_high_availability_the_job_is_suspended_and_goes_on_from_the_checkpoint_that_is_named(
    spark: Any, tmp_path: Path
) -> None:
    options = (*SLOW, "high-availability.type=NONE", "execution.checkpointing.data-inline-threshold=0")
    with driver("restartable.py", str(EVENTS), str(tmp_path), *options, through=RUN) as running:
        wait_for_more_output(running, tmp_path)
        wait_for(running, lambda: under_way(tmp_path), "a checkpoint is under way")
        jvm = kill_jvm(running)
        assert running.wait() == 6, running.output()
        output = running.output()
        wait_until(lambda: not tagged_pids(running.tag), "all processes are gone")
    said = re.search(
        rf"^error: job 'numbering' is suspended, because Spark's JVM \(process {jvm}\) was killed by SIGKILL\. "
        r"Checkpoint \d+ is kept: go on from it with 'rekindle run -s (\S+) [^']*'",
        output,
        re.MULTILINE,
    )
    assert said, output
    assert "restart in" not in output
    assert len(read_output(f"{tmp_path}/out")) < EVENTS, "the job was over before: the test proves nothing"
    again = {
        "high-availability.type": "NONE",
        "execution.state-recovery.path": said[1],
        "rekindle.epoch.max-records": str(EVENTS),
    }
    ha_program(EVENTS, str(tmp_path), again, spark).execute(NAME)
    assert_golden(tmp_path)


def test_with_high_availability_the_driver_goes_on_with_a_new_jvm(tmp_path: Path) -> None:
    with driver("restartable.py", str(EVENTS), str(tmp_path), *SLOW) as running:
        wait_for_more_output(running, tmp_path)
        kill_jvm(running)
        assert running.wait() == 0, running.output()
        assert running.output().count("Restarting Spark") == 1, running.output()
        wait_until(lambda: not tagged_pids(running.tag), "all processes are gone")
    assert (latest_entry(tmp_path).kind, latest_entry(tmp_path).status) == ("ended", "FINISHED")
    assert_golden(tmp_path)


def test_a_program_with_a_session_and_data_frames_of_its_own_is_started_again_by_the_command(tmp_path: Path) -> None:
    files = tmp_path / "files"
    files.mkdir()
    for first in range(1, EVENTS, 1_000):  # one is an epoch
        (files / f"{first:06}.txt").write_text("".join(f"{event}\n" for event in range(first, first + 1_000)))
    options = ("high-availability.type=", f"frame={files}")  # the command switches it on
    with driver("restartable.py", str(EVENTS), str(tmp_path), *options, through=(*RUN, "--restart-driver")) as running:
        wait_for_more_output(running, tmp_path)
        jvm = kill_jvm(running)
        wait_for(running, lambda: jvms(running) - {jvm}, "there is another JVM")
        assert running.wait() == 0, running.output()
        assert running.output().count("is restarted in") == 1, running.output()
    assert_golden(tmp_path)
