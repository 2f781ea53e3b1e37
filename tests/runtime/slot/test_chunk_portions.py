"""What takes long is processed in small portions, and other work has its turn in between."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from rekindle.common import Time, WatermarkStrategy
from rekindle.common.watermark_strategy import TimestampAssigner
from rekindle.datastream import DataStream, KeyedProcessFunction, OutputTag, StreamExecutionEnvironment
from rekindle.datastream.window import TumblingEventTimeWindows
from rekindle.runtime.slot.chunk_portions import TimeLimit, first_portion
from rekindle.runtime.wire import messages as m
from support.hooks import HOOKS, hooked
from support.in_process_job import InProcessJob, ManualClock, collect

LATE = OutputTag("late")
SLOW_SECONDS = 0.005
INTERVAL_MS = 1


class TestTimeLimit:
    def test_it_begins_with_one_record_and_doubles_while_there_is_time(self) -> None:
        limit = TimeLimit(0.2)
        taken = []
        for _ in range(9):
            taken.append(limit.records)
            limit.learn(limit.records, limit.records * 0.001)
        assert taken == [1, 2, 4, 8, 16, 32, 64, 128, 128], "256 would take longer than wanted"

    @pytest.mark.parametrize(("records", "seconds", "then"), [(100, 1.0, 20), (100, 40.0, 1), (1, 40.0, 1)])
    def test_what_took_too_long_is_followed_by_as_many_as_there_is_time_for(
        self, records: int, seconds: float, then: int
    ) -> None:
        limit = TimeLimit(0.2)
        limit.records = records
        limit.learn(records, seconds)
        assert limit.records == then

    def test_less_than_a_portion_does_not_tell_what_more_would_take(self) -> None:
        limit = TimeLimit(0.2)
        limit.records = 64
        limit.learn(3, 0.0)
        assert limit.records == 64


class Itself(TimestampAssigner):
    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        timestamp: int = value
        return timestamp


def slow(value: Any) -> Any:
    time.sleep(SLOW_SECONDS)
    return value


class Passing(ManualClock):
    """A clock that goes on whenever somebody looks."""

    def now(self) -> int:
        self.advance(10 * INTERVAL_MS)
        return super().now()


def run(env: StreamExecutionEnvironment, parallelism: int = 1) -> list[Any]:
    with InProcessJob(env, parallelism, clock=Passing(0), watermark_interval_ms=INTERVAL_MS) as job:
        return job.run_to_end()


@pytest.mark.parametrize("parallelism", [1, 2])
def test_what_comes_behind_a_slow_record_is_late_as_in_flink(parallelism: int) -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(Itself())
    stream = env.from_collection([100, 2_000, 500, 3_000, 700]).rebalance().map(slow).set_parallelism(1)
    keyed = stream.assign_timestamps_and_watermarks(strategy).set_parallelism(1).key_by(lambda n: 0)
    windows = keyed.window(TumblingEventTimeWindows.of(Time.seconds(1))).side_output_late_data(LATE)
    sums = windows.reduce(lambda a, b: a + b)
    collect(sums.union(sums.get_side_output(LATE).map(lambda n: ("late", n))))
    found = run(env, parallelism)
    assert [each for each in found if isinstance(each, tuple)] == [("late", 500), ("late", 700)]
    assert [each for each in found if not isinstance(each, tuple)] == [100, 2_000, 3_000]


def test_processing_time_timers_fire_between_two_portions() -> None:
    class Alarm(KeyedProcessFunction):
        def process_element(self, value: int, ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
            if value == 1:
                ctx.timer_service().register_processing_time_timer(ctx.timer_service().current_processing_time() + 1)
            yield value

        def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterator[Any]:
            yield "timer"

    env = StreamExecutionEnvironment.get_execution_environment()
    collect(env.from_collection(list(range(1, 31))).map(slow).key_by(lambda n: 0).process(Alarm()))
    found = run(env)
    assert [each for each in found if each != "timer"] == list(range(1, 31))
    assert found.index("timer") < 30, "before the epoch was over"


def test_an_order_is_carried_out_between_two_portions() -> None:
    jobs: list[InProcessJob] = []
    carried_out = threading.Event()
    seen: list[bool] = []

    def order() -> None:
        jobs[0].slots[0].report_metrics(m.AskMetrics(1))
        carried_out.set()

    def ordering(value: int) -> int:
        seen.append(carried_out.is_set())
        if value == 1:
            threading.Thread(target=order, daemon=True).start()
            while not jobs[0].slots[0]._order_waits:
                time.sleep(0.001)
        return value

    env = StreamExecutionEnvironment.get_execution_environment()
    collect(env.from_collection(list(range(1, 31))).map(hooked))
    HOOKS[:] = [ordering]
    try:
        with InProcessJob(env) as job:
            jobs.append(job)
            assert job.run_to_end() == list(range(1, 31))
            assert carried_out.wait(10)
    finally:
        HOOKS.clear()
    assert seen == [False] + [True] * 29, "between the first portion and the second"


class TestFirstPortion:
    def first(self, build: Callable[[DataStream], DataStream]) -> int:
        env = StreamExecutionEnvironment.get_execution_environment()
        collect(build(env.from_collection([1, 2, 3])))
        with InProcessJob(env) as job:
            graph = job.graph
        return first_portion(graph, graph.nodes[0].id)

    def test_it_is_one_record_where_streams_stay_apart(self) -> None:
        def apart(stream: DataStream) -> DataStream:
            stream.map(str).print()
            return stream.map(slow).key_by(lambda n: 0).union(stream.filter(bool).rebalance())

        assert self.first(apart) == 1

    def test_it_is_a_handful_where_they_meet_again_in_the_slot(self) -> None:
        assert self.first(lambda stream: stream.filter(bool).union(stream.map(slow)).map(slow)) == 16
        assert self.first(lambda stream: stream.union(stream).map(slow)) == 16
