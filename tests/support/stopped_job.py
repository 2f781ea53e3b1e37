"""The numbering job, to be stopped in the middle and to go on from its savepoint."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rekindle.runtime.master.job_master import JobMaster
from rekindle.runtime.wire import messages as m
from support.balances import assert_exactly_once, environment, numbering_job, read_output
from support.in_process_master import Cluster
from support.processes import wait_until

EVENTS = 6_000
SLOW = {"rekindle_epoch_max__records": "20"}


def hidden(output: Path) -> list[str]:
    return [name for name in os.listdir(output) if name.startswith(".")]


class Job:
    """The numbering job, with its output and its savepoints."""

    def __init__(self, cluster: Cluster, directory: Path) -> None:
        self.cluster = cluster
        self.output = directory / "out"
        self.savepoints = directory / "savepoints"
        self._checkpoints = directory / "checkpoints"

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

    def check_rest(self, savepoint: str, kept: bool = False) -> None:
        """Go on from a savepoint; all output together must be golden."""
        before = len(read_output(str(self.output)))
        assert before < EVENTS, "the job was over before it was stopped: the test proves nothing"
        self.run(savepoint, parallelism=3).result.result(60)
        assert_exactly_once(EVENTS, str(self.output), kept)


def savepoint_orders(job: Job, then: Callable[[int, m.ToSlot], bool]) -> None:
    """Call a function for all orders that belong to a savepoint which the job stops with."""
    savepoints: set[int] = set()

    def obeys(slot: int, order: m.ToSlot) -> bool:
        if isinstance(order, m.TriggerSnapshot) and order.savepoint is not None:
            savepoints.add(order.checkpoint_id)
        return getattr(order, "checkpoint_id", None) not in savepoints or then(slot, order)

    job.cluster.obeys = obeys
