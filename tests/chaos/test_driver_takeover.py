"""Drivers that are stopped, killed and started again, with high availability: nothing is lost, nothing comes twice."""

from __future__ import annotations

import glob
import os
import re
import signal
from pathlib import Path

from support.balances import judge, read_output
from support.driver import Driver, driver
from support.processes import is_slot, tagged_pids, wait_until

EVENTS = 24_000
SLOW = ("pause=0.0005", "rekindle.epoch.max-records=500")
FAST = (f"rekindle.epoch.max-records={EVENTS}",)


def wait_for_more_output(running: Driver, directory: Path, lines: int) -> int:
    """Wait until a driver has committed output beyond so many lines; return how many there are."""
    wait_until(
        lambda: running.process.poll() is not None or len(read_output(f"{directory}/out")) > lines,
        "a checkpoint with output is complete",
        timeout=120,
    )
    assert running.process.poll() is None, running.output()
    return len(read_output(f"{directory}/out"))


def restored_from(running: Driver) -> list[int]:
    return [int(number) for number in re.findall(r"runs, from checkpoint (\d+)", running.output())]


def test_a_killed_driver_is_resumed_by_the_next_and_one_that_wakes_up_late_changes_nothing(tmp_path: Path) -> None:
    arguments = (str(EVENTS), str(tmp_path))
    with driver("ha_numbering.py", *arguments, *SLOW) as first:
        lines = wait_for_more_output(first, tmp_path, 0)
        os.kill(first.process.pid, signal.SIGSTOP)

        with driver("ha_numbering.py", *arguments, *SLOW) as second:
            lines = wait_for_more_output(second, tmp_path, lines)
            assert restored_from(second), "the second driver goes on by itself"
            second.process.kill()
            second.wait()
            second.assert_nothing_is_left()

        with driver("ha_numbering.py", *arguments, *FAST) as third:
            assert third.wait() == 0, third.output()
            assert restored_from(third), "the third driver goes on by itself"
            third.assert_nothing_is_left()
        assert lines < EVENTS
        assert judge(EVENTS, f"{tmp_path}/out").written == EVENTS

        os.kill(first.process.pid, signal.SIGCONT)
        assert first.wait() == 3, first.output()
        assert re.search(r"fenced: job 'numbering' was taken over by process \d+ on ", first.output())
        wait_until(lambda: not any(map(is_slot, tagged_pids(first.tag))), "the first driver's slots have ended")

    verdict = judge(EVENTS, f"{tmp_path}/out")
    assert (verdict.lost, verdict.duplicated, verdict.wrong_sums) == (0, 0, 0)
    assert glob.glob(f"{tmp_path}/checkpoints/*/chk-*/_metadata") == [], "the job is over"
    assert len(os.listdir(f"{tmp_path}/ha/default/numbering")) == 1
