"""Operator state of a job one slot of which is killed."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

from rekindle.common import Encoder, Types
from rekindle.datastream import MapFunction
from rekindle.datastream.connectors.file_system import BucketAssigner, FileSink
from rekindle.datastream.functions import (
    CheckpointedFunction,
    CheckpointListener,
    FunctionInitializationContext,
    FunctionSnapshotContext,
)
from rekindle.datastream.state import ListStateDescriptor, MapStateDescriptor
from rekindle.exceptions import StateRestoreError
from support.balances import environment, events, read_output
from support.paced_cluster import PacedCluster
from support.processes import wait_until
from support.seeds import seeded

EVENTS = 20_000


class CountPerSubtask(MapFunction, CheckpointedFunction, CheckpointListener):
    """Number the records of each subtask; the three kinds of operator state must tell the same after a restore.

    Args:
        completed: A file that is there once a checkpoint is complete.
    """

    def __init__(self, completed: Path) -> None:
        self._completed = completed

    def initialize_state(self, context: FunctionInitializationContext) -> None:
        store = context.get_operator_state_store()
        self._own = store.get_list_state(ListStateDescriptor("own", Types.LONG()))
        self._all = store.get_union_list_state(ListStateDescriptor("all", Types.TUPLE([Types.INT(), Types.LONG()])))
        self._last = store.get_broadcast_state(MapStateDescriptor("last", Types.STRING(), Types.LONG()))
        self._restored = context.get_restored_checkpoint_id()
        self._count = sum(self._own)

    def open(self, runtime_context: Any) -> None:
        self._subtask = runtime_context.get_index_of_this_subtask()
        if self._restored is not None:
            counts, last = dict(self._all), self._last.get("checkpoint")
            if sorted(counts) != [0, 1] or counts[self._subtask] != self._count or last != self._restored:
                raise StateRestoreError(f"{counts}, {self._count} and {last} were restored from {self._restored}")

    def notify_checkpoint_complete(self, checkpoint_id: int) -> None:
        self._completed.touch()

    def map(self, value: int) -> str:
        self._count += 1
        return f"{self._subtask},{self._count},{self._restored}"

    def snapshot_state(self, context: FunctionSnapshotContext) -> None:
        self._own.update([self._count])
        self._all.update([(self._subtask, self._count)])
        self._last.put("checkpoint", context.get_checkpoint_id())


def test_operator_state_of_a_killed_slot_comes_back(local_cluster: PacedCluster, tmp_path: Path) -> None:
    output, completed = str(tmp_path / "out"), tmp_path / "completed"
    env = environment(local_cluster, str(tmp_path / "checkpoints"), restarts=3)
    sink = FileSink.for_row_format(output, Encoder.simple_string_encoder())
    sink = sink.with_bucket_assigner(BucketAssigner.base_path_bucket_assigner()).build()
    events(env, EVENTS).map(CountPerSubtask(completed)).uid("counts").sink_to(sink).uid("sink")
    master = env._submit("operator state", None)
    wait_until(completed.exists, "a checkpoint is complete")
    local_cluster.kill_one(seeded())
    master.result.result(120)
    lines = [line.split(",") for line in read_output(output)]
    numbered = Counter((int(subtask), int(number)) for subtask, number, _ in lines)
    assert numbered == Counter((subtask, number) for subtask in (0, 1) for number in range(1, EVENTS // 2 + 1))
    assert {subtask for subtask, _, restored in lines if restored != "None"} == {"0", "1"}
