"""Drivers that are stopped, killed and started again, with high availability: nothing is lost, nothing comes twice."""

from __future__ import annotations

import logging
import os
import re
import signal
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from rekindle.common import JobStatus
from rekindle.ha.entry import LogEntry, encode_entry
from rekindle.ha.log import JobLog
from rekindle.ha.ownership import JobOwnership
from rekindle.runtime.master.attempts.attempt import Attempt
from rekindle.runtime.master.high_availability import takeover
from rekindle.runtime.master.job_master import JobMaster
from support.balances import Verdict, judge, read_output
from support.driver import Driver, driver
from support.ha_jobs import NAME, ha_program, latest_entry
from support.left_behind import left_in
from support.processes import is_slot, tagged_pids, wait_until

EVENTS = 24_000
SLOW = ("pause=0.0005", "rekindle.epoch.max-records=500")


def golden(count: int) -> Verdict:
    return Verdict(lost=0, duplicated=0, wrong_sums=0, written=count)


def wait_for_more_output(running: Driver, directory: Path, lines: int) -> int:
    """Wait until a driver has committed output beyond so many lines; return how many there are."""
    wait_until(
        lambda: running.process.poll() is not None or len(read_output(f"{directory}/out")) > lines,
        "a checkpoint with output is complete",
        timeout=120,
    )
    assert running.process.poll() is None, running.output()
    return len(read_output(f"{directory}/out"))


def test_a_killed_driver_is_resumed_by_the_next_and_one_that_wakes_up_late_changes_nothing(
    spark: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    gates = [tmp_path / "first", tmp_path / "second"]
    arguments = [(str(EVENTS), str(tmp_path), str(gate), *SLOW) for gate in gates]
    with (
        driver("ha_numbering.py", *arguments[0]) as first,
        driver("ha_numbering.py", *arguments[1]) as second,
    ):
        gates[0].touch()
        wait_for_more_output(first, tmp_path, 0)
        os.kill(first.process.pid, signal.SIGSTOP)

        gates[1].touch()
        wait_until(
            lambda: second.process.poll() is not None or "runs, from checkpoint" in second.output(),
            "the second driver has taken over",
            timeout=180,
        )
        lines = wait_for_more_output(second, tmp_path, len(read_output(f"{tmp_path}/out")))
        assert re.search(r"taken over from process \d+ on .*runs, from checkpoint \d+", second.output(), re.DOTALL)
        second.process.kill()
        second.wait()
        assert lines < EVENTS, "the job was over before it was killed: the test proves nothing"

        third = ha_program(EVENTS, str(tmp_path), {"rekindle.epoch.max-records": str(EVENTS)}, spark)
        with caplog.at_level(logging.INFO, "rekindle.job"):
            third.execute(NAME)
        assert re.search(r"runs, from checkpoint \d+", caplog.text), "it goes on by itself"
        assert judge(EVENTS, f"{tmp_path}/out") == golden(EVENTS)

        os.kill(first.process.pid, signal.SIGCONT)
        assert first.wait() == 3, first.output()
        assert re.search(r"fenced: job 'numbering' was taken over by process \d+ on ", first.output())
        wait_until(lambda: not any(map(is_slot, tagged_pids(first.tag))), "the first driver's slots have ended")
        second.assert_nothing_is_left()
    assert judge(EVENTS, f"{tmp_path}/out") == golden(EVENTS)
    assert left_in(f"{tmp_path}/checkpoints") == [], "the job is over"
    assert (latest_entry(tmp_path).kind, latest_entry(tmp_path).status) == ("ended", "FINISHED")


class Hold:
    """Let a driver wait before it does something, the first or a later time."""

    def __init__(self, what: Callable[..., None], time: int) -> None:
        self._what = what
        self._left = time
        self.reached = threading.Event()
        self.go_on = threading.Event()

    def __call__(self, *arguments: Any) -> None:
        self._left -= 1
        if self._left == 0:
            self.reached.set()
            assert self.go_on.wait(120)
        self._what(*arguments)


@dataclass(frozen=True)
class Seen:
    """What there is to be seen after an old driver has ended, while the new one waits; and at the very end."""

    old: JobStatus
    missing: list[str]
    after: Verdict
    end: Verdict


def submit_held_before_a_barrier(env: Any, patch: pytest.MonkeyPatch) -> tuple[JobMaster, Hold]:
    """Start a job that stands still before its first checkpoint."""
    hold = Hold(Attempt._place_barrier, 1)
    patch.setattr(Attempt, "_place_barrier", lambda attempt, order: hold(attempt, order))
    return env._submit(NAME, None), hold


def submit_held_before_a_commit(env: Any, patch: pytest.MonkeyPatch, time: int) -> tuple[JobMaster, Hold]:
    """Start a job that does not get on to commit a checkpoint."""
    start, holds = JobMaster.start, list[Hold]()

    def held(self: JobMaster) -> None:
        holds.append(Hold(self._ownership.commit, time))
        self._ownership.commit = holds[0]  # type: ignore[method-assign]
        start(self)

    patch.setattr(JobMaster, "start", held)
    return env._submit(NAME, None), holds[0]


def late_driver(cluster: Any, directory: Path, count: int, patch: pytest.MonkeyPatch) -> Seen:
    """Hold a driver before its first checkpoint, let another get on with the job, then let the first go on."""

    def program() -> Any:
        quiet = {"rekindle.progress": "none", "rekindle.epoch.max-records": "100"}
        return ha_program(count, str(directory), quiet, cluster).enable_checkpointing(10)

    old, first_checkpoint = submit_held_before_a_barrier(program(), patch)
    wait_until(first_checkpoint.reached.is_set, "the old driver is about to take a checkpoint")
    new, later_commit = submit_held_before_a_commit(program(), patch, 4)
    wait_until(lambda: later_commit.reached.is_set() or new.result.done(), "the new driver has got on")
    assert not new.result.done(), "the new driver was done too early: the test proves nothing"
    needed = latest_entry(directory).checkpoints
    first_checkpoint.go_on.set()
    old.result.exception(120)
    missing = [one.location for one in needed if not Path(one.location, "_metadata").exists()]
    after = judge(count, f"{directory}/out")
    later_commit.go_on.set()
    new.result.exception(120)
    return Seen(old.status, missing, after, judge(count, f"{directory}/out"))


@pytest.fixture
def drivers_in_one_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let drivers of one job run in this process, as if they did not know of each other."""

    class Forgetful(set[str]):
        def add(self, location: str) -> None:
            pass

    monkeypatch.setattr(takeover, "_running", Forgetful())


@pytest.mark.usefixtures("drivers_in_one_process")
def test_a_driver_that_commits_after_a_takeover_changes_nothing(
    local_cluster: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    count = 4_000
    seen = late_driver(local_cluster, tmp_path, count, monkeypatch)
    assert seen.old is JobStatus.SUSPENDED
    assert seen.missing == []
    assert seen.after.duplicated == 0
    assert seen.end == golden(count)


@pytest.mark.usefixtures("drivers_in_one_process")
def test_without_the_fence_it_writes_twice_and_deletes_what_others_need(
    local_cluster: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Show that the test above would notice."""

    def overwrite(self: JobLog, entry: LogEntry, last: LogEntry) -> None:
        self._files.delete(self._path(entry.number))
        self._files.create(self._path(entry.number), encode_entry(entry))

    monkeypatch.setattr(JobLog, "append", overwrite)
    monkeypatch.setattr(JobLog, "trim", lambda *_: None)
    monkeypatch.setattr(JobOwnership, "check", lambda self: None)
    seen = late_driver(local_cluster, tmp_path, 4_000, monkeypatch)
    assert seen.old is JobStatus.FINISHED, "nobody has told it"
    assert seen.missing, "it has deleted the checkpoint that the new driver would go back to"
    assert seen.end.duplicated > 0, "both have committed the same records"
