"""The ways a driver ends, as a process of its own: nothing is left behind, and nothing is lost."""

from __future__ import annotations

import glob
import os
import signal
from pathlib import Path
from typing import Any

import pytest

from support.balances import assert_exactly_once, environment, numbering_job, read_output
from support.driver import Driver, driver
from support.left_behind import left_in
from support.processes import is_slot, tagged_pids, wait_until

pytestmark = pytest.mark.spark

EVENTS = 24_000


def completed_checkpoints(directory: Path) -> list[str]:
    return glob.glob(f"{directory}/checkpoints/*/chk-*/_metadata")


def wait_for_progress(running: Driver, directory: Path) -> None:
    """Wait until a checkpoint is complete and part of the output, but not all, is visible."""
    wait_until(
        lambda: (
            running.process.poll() is not None or (completed_checkpoints(directory) and read_output(f"{directory}/out"))
        ),
        "a checkpoint with output is complete",
        timeout=120,
    )
    assert running.process.poll() is None, running.output()
    assert 0 < len(read_output(f"{directory}/out")) < EVENTS


def test_jobs_that_finish_or_fail_know_the_classes_of_their_script_and_leave_nothing_behind(tmp_path: Path) -> None:
    """Let classes that the script defines cross exchanges, live in state, and come back from a checkpoint."""
    with driver("main_classes.py", str(tmp_path)) as running:
        assert running.wait() == 1, running.output()
        assert (
            "collected: [Total(shop=Shop(name='a'), amount=6), Total(shop=Shop(name='b'), amount=4)]"
            in running.output()
        )
        assert "ZeroDivisionError: division by zero" in running.output(), "the second job says why it fails"
        running.assert_nothing_is_left()
    assert left_in(f"{tmp_path}/checkpoints") == [], "the checkpoints of a finished job are deleted"


def test_ctrl_c_cancels_and_leaves_nothing_behind(tmp_path: Path) -> None:
    with driver("numbering.py", str(EVENTS), str(tmp_path)) as running:
        wait_for_progress(running, tmp_path)
        os.killpg(running.process.pid, signal.SIGINT)  # as a terminal does: to the whole process group
        assert running.wait() != 0
        assert "KeyboardInterrupt" in running.output()
        running.assert_nothing_is_left()
    assert completed_checkpoints(tmp_path), "the last checkpoint is retained, as the program asked for"


def test_a_driver_killed_with_sigkill_is_resumed_from_its_retained_checkpoint(spark: Any, tmp_path: Path) -> None:
    with driver("numbering.py", str(EVENTS), str(tmp_path)) as running:
        wait_for_progress(running, tmp_path)
        assert sum(map(is_slot, tagged_pids(running.tag))) == 2
        running.process.kill()
        running.wait()
        running.assert_nothing_is_left()
    before = len(read_output(f"{tmp_path}/out"))
    assert before < EVENTS, "the job was over before it was killed: the test proves nothing"
    resume = {"execution_state__recovery_path": f"{tmp_path}/checkpoints", "rekindle_epoch_max__records": str(EVENTS)}
    env = environment(spark, f"{tmp_path}/checkpoints", **resume).set_parallelism(3)  # it was 2
    numbering_job(env, EVENTS, f"{tmp_path}/out")
    env.execute("numbering")
    assert_exactly_once(EVENTS, f"{tmp_path}/out")
