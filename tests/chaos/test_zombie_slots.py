"""A slot that falls silent, is replaced, and wakes up late: it changes nothing, and ends."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from typing import Any

import pytest

from support.balances import environment, judge, numbering_job, read_output
from support.left_behind import left_in
from support.processes import all_pids, process_name, wait_until

COUNT = 14_000


def lines(directory: Path) -> int:
    return len(read_output(f"{directory}/out"))


@pytest.mark.usefixtures("no_slots_left")
def test_a_slot_that_wakes_up_late_changes_nothing_and_ends(spark: Any, tmp_path: Path) -> None:
    quick = {"heartbeat_interval": "100 ms", "heartbeat_timeout": "1500 ms"}
    env = environment(spark, str(tmp_path / "checkpoints"), rekindle_epoch_max__records="1000", **quick)
    numbering_job(env, COUNT, str(tmp_path / "out"), lambda event, context: time.sleep(0.0003))
    master = env._submit("zombie", None)
    wait_until(lambda: master.result.done() or ((tmp_path / "out").exists() and lines(tmp_path) > 0), "output")
    zombie = master.slot_pids()[0]
    assert process_name(zombie) == "rekindle-slot", "it was forked, and did not need a Python of its own"
    os.kill(zombie, signal.SIGSTOP)
    try:
        before = lines(tmp_path)
        wait_until(lambda: 0 in master.slot_pids() and master.slot_pids()[0] != zombie, "the slot is replaced")
        wait_until(lambda: master.result.done() or lines(tmp_path) > before, "the new slot commits")
        assert not master.result.done(), "the job was over too early: the test proves nothing"
        assert zombie in all_pids()
    finally:
        os.kill(zombie, signal.SIGCONT)
    master.result.result(120)
    wait_until(lambda: zombie not in all_pids(), "the old slot has ended by itself")
    verdict = judge(COUNT, str(tmp_path / "out"))
    assert (verdict.lost, verdict.duplicated, verdict.wrong_sums) == (0, 0, 0)
    assert left_in(tmp_path / "checkpoints") == [], "nothing of its late snapshots is left"
