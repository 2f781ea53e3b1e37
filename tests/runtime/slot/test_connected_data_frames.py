"""Connected streams of which one side, or both, is a DataFrame: Spark reads it, in any number of tasks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest

from rekindle.common import Time, Types
from rekindle.datastream import (
    AsyncDataStream,
    AsyncFunction,
    BroadcastProcessFunction,
    DataStream,
    KeyedCoProcessFunction,
    RuntimeContext,
    StreamExecutionEnvironment,
)
from rekindle.datastream.state import MapStateDescriptor, ValueStateDescriptor
from rekindle.graph.partitioning import FORWARD
from rekindle.graph.stream_graph import StreamEdge
from rekindle.graph.transformations.sources import RowsTransformation
from support.in_process_job import InProcessJob, collect

RULES = MapStateDescriptor("rules", Types.LONG(), Types.LONG())


class Total(KeyedCoProcessFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        self.total = runtime_context.get_state(ValueStateDescriptor("total"))

    def process_element1(self, value: Any, ctx: KeyedCoProcessFunction.Context) -> None:
        self.total.update((self.total.value() or 0) + value[0])
        ctx.timer_service().register_event_time_timer(1)

    process_element2 = process_element1

    def on_timer(self, timestamp: int, ctx: KeyedCoProcessFunction.OnTimerContext) -> Iterator[Any]:
        yield ctx.get_current_key(), self.total.value()


class Sides(BroadcastProcessFunction[Any, Any, Any]):
    def process_element(self, value: Any, ctx: BroadcastProcessFunction.ReadOnlyContext) -> Iterator[Any]:
        yield "data", value[0]

    def process_broadcast_element(self, value: Any, ctx: BroadcastProcessFunction.Context) -> Iterator[Any]:
        ctx.get_broadcast_state(RULES).put(value[0], value[0])
        yield "rule", value[0]


def frame(env: StreamExecutionEnvironment, uid: str) -> DataStream:
    """Return the stream of a DataFrame, whose rows the test itself brings."""
    node = env._graph.add(uid, RowsTransformation(), (), uid=uid, data_frame=object())
    return DataStream(env, (StreamEdge(node.id, FORWARD),), node, None)


def rows(*numbers: int) -> pa.RecordBatch:
    return pa.RecordBatch.from_pydict({"n": list(numbers)})


@pytest.mark.parametrize("parallelism", [1, 2, 3])
def test_two_keyed_data_frames_share_state_and_end_together(parallelism: int) -> None:
    env = StreamExecutionEnvironment()
    first, second = frame(env, "first"), frame(env, "second")
    collect(first.connect(second).key_by(lambda row: row[0] % 2, lambda row: row[0] % 2).process(Total()))
    with InProcessJob(env, parallelism) as job:
        job.run_epoch(rows={0: [rows(1, 2), rows(3)], 1: [rows(10)]}, ended=[0])
        assert job.collected == []
        job.run_epoch(rows={1: [rows(21), rows(20), rows(30)]}, ended=[1])
        assert sorted(job.collected) == [(0, 62), (1, 25)]
        assert all(report.finished for report in job.run_epoch())


@pytest.mark.parametrize("parallelism", [1, 2, 3])
def test_a_data_frame_of_rules_reaches_every_subtask_of_another(parallelism: int) -> None:
    env = StreamExecutionEnvironment()
    data, rules = frame(env, "data"), frame(env, "rules")
    collect(data.connect(rules.broadcast(RULES)).process(Sides()))
    with InProcessJob(env, parallelism) as job:
        job.run_epoch(rows={0: [rows(1, 2), rows(3)], 1: [rows(7)]}, ended=[1])
        job.run_epoch(rows={0: [rows(4)]}, ended=[0])
        assert sorted(job.collected) == [("data", n) for n in (1, 2, 3, 4)] + [("rule", 7)] * parallelism
        assert all(report.finished for report in job.run_epoch())


@pytest.mark.parametrize("parallelism", [1, 2, 3])
def test_rules_of_a_collection_reach_every_subtask_of_a_data_frame(parallelism: int) -> None:
    env = StreamExecutionEnvironment()
    data = frame(env, "data")
    collect(data.connect(env.from_collection([(7,), (8,)]).broadcast(RULES)).process(Sides()))
    with InProcessJob(env, parallelism) as job:
        job.run_epoch(rows={0: [rows(1, 2), rows(3)]}, ended=[])
        job.run_epoch(rows={0: [rows(4)]}, ended=[0])
        expected = [("data", n) for n in (1, 2, 3, 4)] + [("rule", n) for n in (7, 8) for _ in range(parallelism)]
        assert sorted(job.collected) == expected
        assert all(report.finished for report in job.run_epoch())


@pytest.mark.parametrize("way", ["rescale", "shuffle", "global_", "broadcast", "forward"])
def test_rows_of_a_data_frame_can_be_dealt_out_any_way(way: str) -> None:
    env = StreamExecutionEnvironment()
    collect(getattr(frame(env, "data"), way)().map(lambda row: row[0]))
    with InProcessJob(env, 2) as job:
        job.run_epoch(rows={0: [rows(1, 2), rows(3), rows(4)]}, ended=[0])
        copies = 2 if way == "broadcast" else 1
        assert sorted(job.collected) == [n for n in (1, 2, 3, 4) for _ in range(copies)]
        assert all(report.finished for report in job.run_epoch())


class Same(AsyncFunction):
    async def async_invoke(self, value: Any) -> list[Any]:
        return [value]


@pytest.mark.parametrize("then", ["async", "union"])
def test_the_rows_of_one_task_keep_their_order_where_the_program_asks_for_no_exchange(then: str) -> None:
    env = StreamExecutionEnvironment()
    data = frame(env, "data")
    if then == "async":
        data = AsyncDataStream.ordered_wait(data, Same(), Time.hours(1), 10)
    else:
        data = data.union(env.from_collection([(-1,)])).map(lambda row: row)
    collect(data.key_by(lambda row: 0).map(lambda row: row[0]))
    with InProcessJob(env, 2) as job:
        job.run_epoch(rows={0: [rows(*range(50))]}, ended=[0])
        while not all(report.finished for report in job.run_epoch()):
            pass
        assert [n for n in job.collected if n >= 0] == list(range(50))


def test_forward_from_a_data_frame_that_is_united_with_another_source_stays_in_its_subtask() -> None:
    class Where(BroadcastProcessFunction[Any, Any, Any]):
        def open(self, runtime_context: RuntimeContext) -> None:
            self.subtask = runtime_context.get_index_of_this_subtask()

        def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
            yield self.subtask, value[0]

        def process_broadcast_element(self, value: Any, ctx: Any) -> None: ...

    env = StreamExecutionEnvironment()
    data = frame(env, "data").forward()
    collect(data.connect(env.from_collection([(7,)]).broadcast(RULES)).process(Where()))
    with InProcessJob(env, 2) as job:
        job.run_epoch(rows={0: [rows(10, 20), rows(11), rows(30)]}, ended=[0])
        assert sorted(job.collected) == [(0, 10), (0, 20), (0, 30), (1, 11)]
