"""The numbering job, to be stopped in the middle and to go on from its savepoint."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from rekindle.ha.entry import LogEntry, Owner
from rekindle.runtime.master.job_master import JobMaster
from rekindle.runtime.wire import messages as m
from support.balances import Verdict, environment, judge, numbering_job, read_output
from support.in_process_master import Cluster
from support.processes import wait_until

EVENTS = 6_000
SLOW = {"rekindle_epoch_max__records": "20"}


def hidden(output: Path, may_keep: bool = False) -> list[str]:
    """List what is not committed; with ``may_keep`` without what was kept for a savepoint, whatever became of that."""
    names = [name for name in os.listdir(output) if name.startswith(".")]
    return [name for name in names if not (may_keep and name.endswith(".kept"))]


class Job:
    """The numbering job, with its output and its savepoints."""

    def __init__(self, cluster: Cluster, directory: Path) -> None:
        self.cluster = cluster
        self.output = directory / "out"
        self.savepoints = directory / "savepoints"
        self._checkpoints = directory / "checkpoints"
        self._log = directory / "log"

    def run(self, savepoint: str | None = None, parallelism: int = 2, **changes: Any) -> JobMaster:
        settings = {**SLOW, "state_savepoints_dir": str(self.savepoints)}
        if savepoint is not None:
            settings = {"execution_state__recovery_path": savepoint}
        checkpoints = changes.pop("checkpoints", str(self._checkpoints))
        env = environment(None, checkpoints, **(settings | changes))
        env.set_parallelism(parallelism)
        numbering_job(env, EVENTS, str(self.output))
        return self.cluster.submit(env)

    def started(self, **changes: Any) -> JobMaster:
        master = self.run(**changes)
        wait_until(lambda: self.output.exists() and bool(read_output(str(self.output))), "there is output")
        return master

    @property
    def shared(self) -> dict[str, str]:
        """Return the settings with which other drivers can take over."""
        return {"high__availability_type": "filesystem", "high__availability_storageDir": str(self._log)}

    def taken_over(self, master: JobMaster) -> None:
        """Be another driver that takes over."""
        other = Owner("another", "elsewhere", 2)

        def claim(latest: LogEntry | None) -> LogEntry:
            assert latest is not None
            return msgspec.structs.replace(latest, number=latest.number + 1, kind="claim", owner=other)

        log = master._ownership._log
        assert log is not None
        log.claim(claim)

    def check_rest(self, savepoint: str, may_keep: bool = False) -> None:
        """Go on from a savepoint; all output together must be golden."""
        before = len(read_output(str(self.output)))
        assert before < EVENTS, "the job was over before it was stopped: the test proves nothing"
        self.run(savepoint, parallelism=3).result.result(60)
        self.check_output(may_keep)

    def check_output(self, may_keep: bool = False) -> None:
        """Require the golden output, and nothing hidden but what may be kept."""
        assert judge(EVENTS, str(self.output)) == Verdict(lost=0, duplicated=0, wrong_sums=0, written=EVENTS)
        assert hidden(self.output, may_keep) == []


def savepoint_orders(job: Job, then: Callable[[int, m.ToSlot], bool]) -> None:
    """Call a function for all orders that belong to a savepoint which the job stops with."""
    savepoints: set[int] = set()

    def obeys(slot: int, order: m.ToSlot) -> bool:
        if isinstance(order, m.TriggerSnapshot) and order.savepoint is not None:
            savepoints.add(order.checkpoint_id)
        return getattr(order, "checkpoint_id", None) not in savepoints or then(slot, order)

    job.cluster.obeys = obeys
