"""Jobs that are stopped, in random schedules of savepoints, lost slots, and answers that come late or never."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path

import pytest

from rekindle.common import JobStatus
from rekindle.exceptions import CheckpointError
from rekindle.runtime.master.job_master import JobMaster
from rekindle.runtime.wire import messages as m
from support.in_process_master import Cluster, cluster
from support.seeds import seeds
from support.stopped_job import Job, hidden

__all__ = ["cluster"]

_TRIES = 5
_SETTINGS = {
    "execution_checkpointing_max__concurrent__checkpoints": "3",
    "execution_checkpointing_timeout": "700 ms",
    "execution_checkpointing_tolerable__failed__checkpoints": "100",
}


class Schedule:
    """Let happen what a seed says, and note what has happened."""

    def __init__(self, cluster: Cluster, seed: int) -> None:
        self.random = random.Random(seed)
        self.seed = seed
        self.losses = 0
        self._cluster = cluster
        self._timers: list[threading.Timer] = []
        cluster.hears = self._hears

    def later(self, longest: float, act: Callable[[], object]) -> None:
        """Do something soon."""
        timer = threading.Timer(self.random.random() * longest, act)
        self._timers.append(timer)
        timer.start()

    def lose_a_slot(self) -> None:
        running = list(self._cluster.slots.values())
        if running:
            self.losses += 1
            running[self.seed % len(running)].lose()

    def end(self) -> None:
        """Let nothing happen any more."""
        self._cluster.hears = lambda slot, message: True
        while self._timers:
            self._timers.pop().join()

    def _hears(self, slot: int, message: m.ToMaster) -> bool:
        if not isinstance(message, m.SnapshotDone):
            return True
        fate = random.Random(f"{self.seed} {slot} {message.checkpoint_id}").random()
        if fate < 0.3:
            listener = self._cluster.listener
            self.later(0.3, lambda: self._cluster.listener is listener and listener.slot_said(slot, message))
        return fate >= 0.35


def stop(master: JobMaster, how: str) -> str | None:
    """Stop a job; give the savepoint, or None if the job was over before."""
    for _ in range(_TRIES):
        if how == "cancel":
            future = master.cancel_with_savepoint(None)
        else:
            future = master.stop_with_savepoint(None, drain=how == "drain")
        try:
            return future.result(60)
        except CheckpointError:
            if master.status.is_terminal_state():
                break
    return None


@pytest.mark.parametrize("seed", seeds(12, named=25))
def test_whatever_happens_on_the_way_output_is_whole_and_savepoints_can_be_restored(
    cluster: Cluster, tmp_path: Path, seed: int
) -> None:
    job = Job(cluster, tmp_path)
    schedule = Schedule(cluster, seed)
    choose = schedule.random
    settings = dict(_SETTINGS)
    if choose.random() < 0.5:
        settings |= job.shared
    master = job.started(**settings)
    in_passing: list[Future[str]] = []
    events: list[Callable[[], object]] = [
        schedule.lose_a_slot,
        lambda: in_passing.append(master.trigger_savepoint(None)),
        master.read_metrics,
    ]
    for _ in range(choose.randrange(5)):
        schedule.later(0.2, choose.choice(events))
    how = choose.choice(["stop", "drain", "cancel"])
    location = stop(master, how)
    schedule.end()
    may_keep = schedule.losses > 0 and (how == "cancel" or bool(in_passing))
    if location is None:
        master.result.result(60)
    else:
        master.result.exception(60)
        assert master.status is (JobStatus.CANCELED if how == "cancel" else JobStatus.FINISHED)
        if how != "cancel":
            assert hidden(job.output, may_keep) == []
        job.run(location, parallelism=3).result.result(60)
    job.check_output(may_keep)
    for future in in_passing:
        if future.exception(0) is None:
            job.run(future.result(0), restarts=0).result.result(60)
