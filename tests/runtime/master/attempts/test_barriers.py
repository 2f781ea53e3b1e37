"""Barriers in the middle of an epoch, as at-least-once allows them: nothing is lost where they may stand there."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rekindle.checkpoint.storage import LocalCheckpointFiles
from rekindle.common import Time
from rekindle.datastream import AsyncDataStream, AsyncFunction, DataStream, StreamExecutionEnvironment
from rekindle.datastream.functions import CheckpointedFunction, FlatMapFunction, KeyedProcessFunction, RuntimeContext
from rekindle.datastream.state import ListStateDescriptor
from rekindle.graph.compilation.compiler import compile_job
from rekindle.runtime.exchange.writers import Envelope
from rekindle.runtime.master.attempts.barriers import only_between_epochs
from support.in_process_job import InProcessJob, collect

KEPT = ListStateDescriptor("kept")


class Threes(FlatMapFunction, CheckpointedFunction):
    """Emit elements by threes; the others are kept in operator state."""

    def initialize_state(self, context: Any) -> None:
        self._state = context.get_operator_state_store().get_list_state(KEPT)
        self._kept = list(self._state.get())

    def snapshot_state(self, context: Any) -> None:
        self._state.update(self._kept)

    def flat_map(self, value: int) -> Iterator[int]:
        self._kept.append(value)
        if len(self._kept) == 3:
            yield from self._kept
            self._kept = []


class ThreesOfAKey(KeyedProcessFunction):
    """Emit elements by threes; the others are kept in keyed state."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self._kept = runtime_context.get_list_state(KEPT)

    def process_element(self, value: int, ctx: Any) -> Iterator[int]:
        self._kept.add(value)
        kept = list(self._kept.get())
        if len(kept) == 3:
            yield from kept
            self._kept.clear()


class Later(AsyncFunction):
    async def async_invoke(self, value: int) -> list[int]:
        return [value]


def plain(stream: DataStream) -> DataStream:
    return stream.map(lambda value: value)


def in_operator_state(stream: DataStream) -> DataStream:
    return stream.flat_map(Threes())


def in_keyed_state(stream: DataStream) -> DataStream:
    return stream.key_by(lambda value: 0).process(ThreesOfAKey())


def under_way(stream: DataStream) -> DataStream:
    return AsyncDataStream.unordered_wait(stream, Later(), Time.hours(1), 10)


def program(put: Any) -> StreamExecutionEnvironment:
    env = StreamExecutionEnvironment.get_execution_environment()
    numbers = env.from_collection(list(range(6)))
    collect(put(numbers).set_parallelism(1).rebalance().map(lambda value: value))
    return env


class StoppedOnTheWay(InProcessJob):
    """Take a checkpoint when the first level of an epoch is done, if one may stand there."""

    on_the_way: Any = None

    def _run_levels(self, envelopes: list[Envelope]) -> None:
        if not only_between_epochs(self.graph):
            self.on_the_way = self.checkpoint()
        super()._run_levels(envelopes)


@pytest.mark.parametrize(
    ("put", "between"), [(plain, False), (in_operator_state, True), (in_keyed_state, True), (under_way, True)]
)
def test_a_barrier_stands_in_an_epoch_only_where_replaying_brings_all_again(put: Any, between: bool) -> None:
    assert only_between_epochs(compile_job(program(put)._graph, 2, None)) is between


@pytest.mark.parametrize("put", [plain, in_operator_state, in_keyed_state])
def test_a_barrier_in_the_middle_of_an_epoch_loses_nothing(put: Any, tmp_path: Path) -> None:
    files = LocalCheckpointFiles(str(tmp_path))
    with StoppedOnTheWay(program(put), 2, files=files) as job:
        job.run_epoch(4)
        seen = list(job.collected)
        job.run_epoch(2)
        checkpoint = job.on_the_way
        if checkpoint is None:
            seen, checkpoint = list(job.collected), job.checkpoint()
    with InProcessJob(program(put), 2, files=files, restore=checkpoint) as job:
        seen += job.run_to_end()
    assert set(seen) >= set(range(6))
