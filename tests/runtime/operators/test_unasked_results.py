"""Operators that emit when no record comes, right behind a DataFrame: what they emit at the end is not lost."""

from __future__ import annotations

import asyncio
from typing import Any

import pyarrow as pa
import pytest

from rekindle.common import Time
from rekindle.datastream import AsyncDataStream, AsyncFunction, DataStream, StreamExecutionEnvironment
from rekindle.datastream.operators import AbstractStreamOperator, OneInputStreamOperator, StreamRecord
from rekindle.graph.partitioning import FORWARD
from rekindle.graph.stream_graph import StreamEdge
from rekindle.graph.transformations.sources import RowsTransformation
from support.in_process_job import InProcessJob, collect


class Slow(AsyncFunction):
    async def async_invoke(self, value: Any) -> list[int]:
        await asyncio.sleep(0.001)
        return [value[0]]


class AtTheEnd(AbstractStreamOperator, OneInputStreamOperator):
    def open(self) -> None:
        self.kept: list[int] = []

    def process_element(self, record: StreamRecord[Any]) -> None:
        self.kept.append(record.value[0])

    def finish(self) -> None:
        for value in self.kept:
            self.output.collect(StreamRecord(value))


def rows(*numbers: int) -> pa.RecordBatch:
    return pa.RecordBatch.from_pydict({"n": list(numbers)})


@pytest.mark.parametrize("kind", ["async", "custom"])
@pytest.mark.parametrize("parallelism", [1, 3])
def test_all_results_leave_the_slot(kind: str, parallelism: int) -> None:
    env = StreamExecutionEnvironment()
    node = env._graph.add("frame", RowsTransformation(), (), uid="frame", data_frame=object())
    frame = DataStream(env, (StreamEdge(node.id, FORWARD),), node, None)
    if kind == "async":
        stream = AsyncDataStream.unordered_wait(frame, Slow(), Time.hours(1))
    else:
        stream = frame.transform("at the end", None, AtTheEnd())
    collect(stream.rebalance().map(lambda value: value))
    with InProcessJob(env, parallelism) as job:
        job.run_epoch(rows={0: [rows(1, 2), rows(3), rows(4)]})
        job.run_epoch(rows={0: [rows(5, 6)]}, ended=[0])
        assert sorted(job.collected) == [1, 2, 3, 4, 5, 6]
