"""The job on two executors of a cluster; one executor's JVM is killed."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest

from support.balances import assert_exactly_once, read_output
from support.driver import driver
from support.local_cluster import MASTER, executors
from support.local_cluster import own_work_directory as own_work_directory
from support.processes import is_slot, tagged_pids, wait_until
from support.seeds import seeded

pytestmark = pytest.mark.spark

EVENTS = 24_000


@pytest.mark.usefixtures("own_work_directory")
def test_an_executor_killed_in_the_middle_of_an_epoch_loses_nothing(tmp_path: Path) -> None:
    """Kill executors, one after the other, until one was hit in the middle of an epoch and the job had to restart."""
    rng = seeded()
    with driver("numbering.py", str(EVENTS), str(tmp_path), MASTER, "pause=0.0005") as running:
        wait_until(
            lambda: running.process.poll() is not None or read_output(f"{tmp_path}/out"), "output is committed", 180
        )
        assert running.process.poll() is None, running.output()
        assert sum(map(is_slot, tagged_pids(running.tag))) == 2
        killed = 0
        while "restart in" not in running.output():
            wait_until(lambda: len(executors(running.tag)) == 2, "two executors run", 60)
            assert running.process.poll() is None, "no executor was hit in the middle of an epoch"
            time.sleep(rng.uniform(0.1, 0.6))  # output is committed between two epochs: go on into the next one
            os.kill(rng.choice(executors(running.tag)), signal.SIGKILL)
            killed += 1
            written = len(read_output(f"{tmp_path}/out"))
            wait_until(
                lambda written=written: (
                    "restart in" in running.output()
                    or len(read_output(f"{tmp_path}/out")) > written
                    or running.process.poll() is not None
                ),
                "the job goes on, or restarts",
                120,
            )
        print("executors killed:", killed)
        assert len(read_output(f"{tmp_path}/out")) < EVENTS
        assert running.wait(240) == 0, running.output()
        running.assert_nothing_is_left(timeout=30)
    assert_exactly_once(EVENTS, f"{tmp_path}/out")
