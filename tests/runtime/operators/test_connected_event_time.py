"""Two inputs with timestamps: the lower watermark counts, and process functions have side outputs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rekindle.common import Duration, Types, WatermarkStrategy
from rekindle.common.watermark_strategy import TimestampAssigner
from rekindle.datastream import (
    BroadcastProcessFunction,
    CoProcessFunction,
    DataStream,
    KeyedBroadcastProcessFunction,
    KeyedCoProcessFunction,
    OutputTag,
    StreamExecutionEnvironment,
)
from rekindle.datastream.state import MapStateDescriptor
from rekindle.testing import OperatorHarness
from support.in_process_job import InProcessJob, collect

RULES = MapStateDescriptor("rules", Types.STRING(), Types.STRING())
ODD = OutputTag("odd", Types.INT())


class Itself(TimestampAssigner):
    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        return value


def timed(env: StreamExecutionEnvironment, *values: int) -> DataStream:
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(0)).with_timestamp_assigner(Itself())
    return env.from_collection(values, Types.INT()).assign_timestamps_and_watermarks(strategy)


class Timers(KeyedCoProcessFunction):
    """Set a timer at each record's own time, and tell how far the watermark is when it fires."""

    def process_element1(self, value: int, ctx: KeyedCoProcessFunction.Context) -> None:
        assert ctx.timestamp() == value
        ctx.timer_service().register_event_time_timer(value)

    process_element2 = process_element1

    def on_timer(self, timestamp: int, ctx: KeyedCoProcessFunction.OnTimerContext) -> Iterator[Any]:
        yield timestamp, ctx.timer_service().current_watermark()


def test_timers_wait_for_the_slower_of_both_inputs() -> None:
    env = StreamExecutionEnvironment()
    connected = timed(env, 10, 20, 30, 40).connect(timed(env, 1, 2, 3, 4))
    collect(connected.key_by(lambda value: 0, lambda value: 0).process(Timers()))
    with InProcessJob(env, 1) as job:
        seen = []
        for _ in range(4):
            job.run_epoch(2)
            seen.append(list(job.collected))
            job.collected.clear()
    # After the n-th epoch the inputs are at n * 10 - 1 and n - 1: the lower one counts.
    assert seen[:3] == [[], [(1, 1)], [(2, 2)]]


class Split(CoProcessFunction):
    def process_element1(self, value: int, ctx: CoProcessFunction.Context) -> Iterator[Any]:
        yield (ODD, value) if value % 2 else value

    def process_element2(self, value: int, ctx: CoProcessFunction.Context) -> Iterator[Any]:
        yield ODD, value
        yield value


class KeyedSplit(KeyedCoProcessFunction):
    def process_element1(self, value: int, ctx: KeyedCoProcessFunction.Context) -> Iterator[Any]:
        ctx.timer_service().register_event_time_timer(1)
        yield (ODD, value) if value % 2 else value

    def process_element2(self, value: int, ctx: KeyedCoProcessFunction.Context) -> Iterator[Any]:
        yield ODD, value
        yield value

    def on_timer(self, timestamp: int, ctx: KeyedCoProcessFunction.OnTimerContext) -> Iterator[Any]:
        yield ODD, 1_000


class BroadcastSplit(BroadcastProcessFunction[int, int, int]):
    def process_element(self, value: int, ctx: BroadcastProcessFunction.ReadOnlyContext) -> Iterator[Any]:
        yield (ODD, value) if value % 2 else value

    def process_broadcast_element(self, value: int, ctx: BroadcastProcessFunction.Context) -> Iterator[Any]:
        yield ODD, value
        yield value


class KeyedBroadcastSplit(KeyedBroadcastProcessFunction[int, int, int, int]):
    def process_element(self, value: int, ctx: KeyedBroadcastProcessFunction.ReadOnlyContext) -> Iterator[Any]:
        ctx.timer_service().register_event_time_timer(1)
        yield (ODD, value) if value % 2 else value

    def process_broadcast_element(self, value: int, ctx: KeyedBroadcastProcessFunction.Context) -> Iterator[Any]:
        yield ODD, value
        yield value

    def on_timer(self, timestamp: int, ctx: KeyedBroadcastProcessFunction.OnTimerContext) -> Iterator[Any]:
        yield ODD, 1_000


def same(value: int) -> int:
    return 0


def test_both_inputs_and_timers_have_side_outputs() -> None:
    for harness in (
        OperatorHarness.unkeyed(Split()),
        OperatorHarness.keyed(KeyedSplit(), same, same),
        OperatorHarness.unkeyed(BroadcastSplit(), RULES),
        OperatorHarness.keyed(KeyedBroadcastSplit(), same, RULES),
    ):
        assert harness.process(1, 2, 3) == [2]
        assert harness.process(4, 5, timestamps=[40, 50]) == [4]
        assert harness.process_second(6, 7) == [6, 7]
        assert harness.process_second(8, timestamps=[80]) == [8]
        harness.finish()
        expected = [1, 3, 5, 6, 7, 8]
        if "Keyed" in type(harness.operator.function).__name__:  # type: ignore[attr-defined]
            expected.append(1_000)
        assert harness.side_outputs == {"odd": expected}


def test_a_side_output_of_connected_streams_is_a_stream() -> None:
    env = StreamExecutionEnvironment()
    split = env.from_collection([1, 2, 3], Types.INT()).connect(env.from_collection([8], Types.INT())).process(Split())
    collect(split.map(lambda value: ("main", value)))
    collect(split.get_side_output(ODD).map(lambda value: ("odd", value)))
    with InProcessJob(env, 2) as job:
        assert sorted(job.run_to_end()) == [("main", 2), ("main", 8), ("odd", 1), ("odd", 3), ("odd", 8)]


def test_a_side_output_can_be_broadcast_and_connected() -> None:
    class Keep(BroadcastProcessFunction[int, int, Any]):
        def process_element(self, value: int, ctx: BroadcastProcessFunction.ReadOnlyContext) -> None: ...

        def process_broadcast_element(self, value: int, ctx: BroadcastProcessFunction.Context) -> Iterator[Any]:
            yield value

    env = StreamExecutionEnvironment()
    split = env.from_collection([1, 2, 3], Types.INT()).connect(env.from_collection([8], Types.INT())).process(Split())
    collect(split.connect(split.get_side_output(ODD).broadcast(RULES)).process(Keep()))
    with InProcessJob(env, 2) as job:
        assert sorted(job.run_to_end()) == [1, 1, 3, 3, 8, 8]
