"""Slots killed while their job is stopped with a savepoint: the output stays golden."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from rekindle.common import JobStatus
from rekindle.datastream import MapFunction, RuntimeContext
from rekindle.datastream.functions import (
    CheckpointedFunction,
    CheckpointListener,
    FunctionInitializationContext,
    FunctionSnapshotContext,
)
from support.balances import assert_exactly_once, environment, events, numbering_job, read_output
from support.paced_cluster import PacedCluster
from support.processes import wait_until

EVENTS = 6_000


class Gate(MapFunction, CheckpointedFunction, CheckpointListener):
    """Keep the slot where the test wants to kill it: in a snapshot, or before it commits.

    Args:
        directory: Has a file ``closed`` while the gate is closed, and one for each subtask and checkpoint that wait.
        where: What waits.
    """

    def __init__(self, directory: Path, where: str) -> None:
        self._directory = directory
        self._where = where

    def open(self, runtime_context: RuntimeContext) -> None:
        self._subtask = runtime_context.get_index_of_this_subtask()

    def map(self, value: Any) -> Any:
        return value

    def initialize_state(self, context: FunctionInitializationContext) -> None:
        pass

    def snapshot_state(self, context: FunctionSnapshotContext) -> None:
        self._pass("in the snapshot", context.get_checkpoint_id())

    def notify_checkpoint_complete(self, checkpoint_id: int) -> None:
        self._pass("before the commit", checkpoint_id)

    def _pass(self, where: str, checkpoint_id: int) -> None:
        closed, passes = self._directory / "closed", self._directory / f"pass {checkpoint_id}"
        if where == self._where and closed.exists():
            (self._directory / f"waiting {self._subtask} {checkpoint_id}").touch()
            wait_until(lambda: not closed.exists() or passes.exists(), "the gate opens")


@pytest.mark.parametrize("where", ["in the snapshot", "before the commit"])
def test_a_slot_killed_while_its_job_is_stopped_loses_nothing_and_the_job_is_stopped(
    local_cluster: PacedCluster, tmp_path: Path, where: str
) -> None:
    output, gate = tmp_path / "out", tmp_path / "gate"
    gate.mkdir()

    def job(checkpoints: str | None, **settings: str) -> Any:
        env = environment(local_cluster, checkpoints, **settings)
        numbering_job(env, EVENTS, str(output), source=events(env, EVENTS).map(Gate(gate, where)).uid("gate"))
        return env._submit("stopped", None)

    master = job(str(tmp_path / "checkpoints"), rekindle_epoch_max__records="200")
    wait_until(lambda: output.exists() and bool(read_output(str(output))), "there is output")
    (gate / "closed").touch()
    stopped = master.stop_with_savepoint(str(tmp_path / "savepoints"), False)

    def waits_with_the_savepoint() -> bool:
        found = False
        for path in gate.glob("waiting *"):
            slot, number = map(int, path.name.split()[1:])
            if master._savepoints.find(number) is not None:
                found |= slot == 1
            else:  # an earlier checkpoint, which other slots may have passed before the gate was closed
                (gate / f"pass {number}").touch()
        return found

    wait_until(waits_with_the_savepoint, "the slot is where it is to die", 180)
    local_cluster.kill_slot(1)
    (gate / "closed").unlink()
    location = stopped.result(180)
    assert master.status is JobStatus.FINISHED
    assert 0 < len(read_output(str(output))) < EVENTS
    assert [name for name in os.listdir(output) if name.startswith(".")] == [], "all that is in it is committed"
    settings = {"execution_state__recovery_path": location, "rekindle_epoch_max__records": str(EVENTS)}
    job(None, **settings).result.result(180)
    assert_exactly_once(EVENTS, str(output))
