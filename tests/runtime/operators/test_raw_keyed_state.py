"""Raw keyed state: bytes that an operator writes per key group move with the key group, and nobody looks into them."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from rekindle.checkpoint.storage import LocalCheckpointFiles
from rekindle.contracts.key_groups import key_group_range
from rekindle.datastream import KeyedProcessFunction, StreamExecutionEnvironment
from rekindle.datastream.state import ValueStateDescriptor
from rekindle.runtime.operators.keyed import KeyedProcessOperator
from rekindle.runtime.operators.operator_context import OperatorContext
from rekindle.state.blocks import RAW, RAW_STATE, KeyGroupBlock
from rekindle.state.snapshots import KeyedSnapshot, SnapshotRequest
from support.in_process_job import InProcessJob, collect
from support.ready_operators import ready

MAX_PARALLELISM = 128  # the default


class Count(KeyedProcessFunction):
    """Keep managed state beside the raw."""

    def open(self, runtime_context: Any) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count"))

    def process_element(self, value: int, ctx: Any) -> Iterable[tuple[int, int]]:
        self.count.update((self.count.value() or 0) + 1)
        yield value, self.count.value()


class Noting(KeyedProcessOperator):
    """Write a note for each of its key groups: its number, and how often it has been restored."""

    def __init__(self) -> None:
        super().__init__(Count())
        self.notes: dict[int, int] = {}

    def open(self, context: OperatorContext) -> None:
        super().open(context)
        task = context.task
        own = key_group_range(task.subtask, task.parallelism, task.max_parallelism)
        self.notes = dict.fromkeys(own, 0)
        for key_group, data in context.restored.raw:
            written_by, times = map(int, data.split())
            assert written_by == key_group
            self.notes[key_group] = times + 1
        self.restored = sorted(key_group for key_group, _ in context.restored.raw)

    def snapshot_keyed(self, request: SnapshotRequest) -> KeyedSnapshot:
        raw = [
            KeyGroupBlock(RAW_STATE, RAW, group, 1, f"{group} {times}".encode()) for group, times in self.notes.items()
        ]
        return super().snapshot_keyed(request).followed_by(RAW, lambda: iter(raw))

    def keyed_state_names(self) -> list[str]:
        return [*super().keyed_state_names(), RAW_STATE]


def noting() -> StreamExecutionEnvironment:
    environment = StreamExecutionEnvironment.get_execution_environment()
    keyed = environment.from_collection(list(range(20))).uid("numbers").key_by(lambda number: number)
    collect(keyed._transform("Noting", ready(Noting()), None, None).uid("noting"))
    return environment


def operators(job: InProcessJob) -> list[Noting]:
    return [r.operator for slot in job.slots for r in slot._graph if isinstance(r.operator, Noting)]


@pytest.mark.parametrize("steps", [(1, 2, 4, 3, 1), (3, 3), (4, 1)])
def test_each_key_group_gets_its_own_bytes_back_at_any_parallelism(tmp_path: Path, steps: tuple[int, ...]) -> None:
    files = LocalCheckpointFiles(str(tmp_path))
    stored = None
    for number, parallelism in enumerate(steps):
        with InProcessJob(noting(), parallelism, files=files, restore=stored, attempt=number) as job:
            for subtask, operator in enumerate(operators(job)):
                own = key_group_range(subtask, parallelism, MAX_PARALLELISM)
                assert operator.notes == dict.fromkeys(own, number)
                assert operator.restored == (list(own) if number else [])
            if number == 0:
                job.run_to_end()
            stored = job.checkpoint()
    assert "_raw" in next(op for op in stored.metadata.operators if op.uid == "noting").keyed_states


def test_managed_state_beside_it_is_untouched(tmp_path: Path) -> None:
    files = LocalCheckpointFiles(str(tmp_path))
    with InProcessJob(noting(), 2, files=files) as job:
        assert sorted(job.run_to_end()) == [(number, 1) for number in range(20)]
        stored = job.checkpoint()
    with InProcessJob(noting(), 3, files=files, restore=stored) as job:
        held = {key for operator in operators(job) for key in operator.backend.keys("count")}
    assert held == set(range(20))
