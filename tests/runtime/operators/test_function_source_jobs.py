"""Whole jobs with source functions, without Spark: crashes at any epoch, restores at any parallelism."""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rekindle.checkpoint.storage import checkpoint_files
from rekindle.common import Types, WatermarkStrategy
from rekindle.common.watermark_strategy import TimestampAssigner
from rekindle.datastream import ProcessFunction, SinkFunction, StreamExecutionEnvironment
from rekindle.datastream.functions import CheckpointedFunction, ParallelSourceFunction, SourceFunction
from rekindle.datastream.state import ListStateDescriptor
from rekindle.exceptions import InvalidProgramError
from rekindle.runtime.slot.failure import OperatorError
from support.in_process_job import InProcessJob, collect
from support.processes import wait_until
from support.seeds import seeds
from support.sources import Numbers

RANGES, SIZE = 6, 250


def numbers_job(pause: Callable[[int], None] | None = None, type_info: Any = None) -> StreamExecutionEnvironment:
    env = StreamExecutionEnvironment.get_execution_environment()
    stream = env.add_source(Numbers(RANGES, SIZE, pause), type_info=type_info).uid("source")
    collect(stream.key_by(lambda n: n % 7).map(lambda n: n).uid("next"))
    return env


class SleepsAtTimes:
    """Let other threads run in the middle of a step, now and then."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def __call__(self, number: int) -> None:
        if self._random.random() < 0.1:
            time.sleep(self._random.random() / 2000)


@pytest.mark.parametrize("seed", seeds(6, named=12))
def test_nothing_is_lost_or_doubled_whenever_the_job_crashes_and_however_it_is_rescaled(
    tmp_path: Path, seed: int
) -> None:
    """Run epochs, take snapshots at random moments of the source threads, crash, go on with another parallelism."""
    rng = random.Random(seed)
    type_info = rng.choice([None, Types.LONG()])
    files = checkpoint_files(f"file://{tmp_path}")
    restore, kept, parallelism, crashes = None, [], rng.choice([1, 2, 3]), 0
    for attempt in range(100):
        program = numbers_job(SleepsAtTimes(seed * 100 + attempt), type_info)
        job = InProcessJob(program, parallelism, files=files, restore=restore, attempt=attempt)
        since: list[int] = []  # collected since the last checkpoint: comes again after a crash
        with job:
            for _ in range(rng.randrange(1, 8)):
                reports = job.run_epoch(rng.choice([1, 10, 60]))
                since, job.collected = since + job.collected, []
                if rng.random() < 0.5:
                    restore = job.checkpoint()
                    kept += since
                    since = []
                if all(report.finished for report in reports):
                    break
            else:
                crashes += 1
                if rng.random() < 0.5:
                    parallelism = rng.choice([1, 2, 3, 4])
                continue
            kept += since
            break
    assert sorted(kept) == list(range(RANGES * SIZE))
    assert crashes, "the job never crashed: the test proves nothing"
    for own in range(RANGES):
        for key in range(7):
            of_one_range = [n for n in kept if n // SIZE == own and n % 7 == key]
            assert of_one_range == sorted(of_one_range), "what one subtask at a time emits, in its order"


@pytest.mark.parametrize("crash_at", range(1, 9))
@pytest.mark.parametrize("after", [1, 2, 3])
def test_a_crash_after_any_epoch(tmp_path: Path, crash_at: int, after: int) -> None:
    files = checkpoint_files(f"file://{tmp_path}")
    with InProcessJob(numbers_job(), 2, files=files) as job:
        for _ in range(crash_at):
            job.run_epoch(60)
        kept = list(job.collected)
        restore = job.checkpoint()
        job.run_epoch(60)  # lost
    with InProcessJob(numbers_job(), after, files=files, restore=restore, attempt=1) as job:
        kept += job.run_to_end()
    assert Counter(kept) == Counter(range(RANGES * SIZE))


@pytest.mark.parametrize("seed", seeds(5))
def test_state_and_output_change_together(tmp_path: Path, seed: int) -> None:
    """Every snapshot holds as many elements in its ranges as were neither processed nor are in its buffer."""
    rng = random.Random(seed)
    files = checkpoint_files(f"file://{tmp_path}")
    with InProcessJob(numbers_job(SleepsAtTimes(seed)), 1, files=files) as job:
        for _ in range(20):
            job.run_epoch(rng.choice([1, 5, 50]))
            done = list(job.collected)
            restore = job.checkpoint()
            with InProcessJob(numbers_job(), 1, files=files, restore=restore, attempt=1) as again:
                assert sorted(done + again.run_to_end()) == list(range(RANGES * SIZE))


def test_a_job_that_had_ended_does_not_begin_again(tmp_path: Path) -> None:
    files = checkpoint_files(f"file://{tmp_path}")
    with InProcessJob(numbers_job(), 2, files=files) as job:
        assert len(job.run_to_end()) == RANGES * SIZE
        restore = job.checkpoint()
    for parallelism in (1, 2, 3):
        with InProcessJob(numbers_job(), parallelism, files=files, restore=restore, attempt=1) as job:
            assert job.run_to_end() == []


class Ticks(SourceFunction):
    """Emit numbers with timestamps and a watermark after each."""

    def run(self, ctx: Any) -> None:
        for number in range(5):
            ctx.collect_with_timestamp(number, number * 10)
            ctx.emit_watermark(number * 10)

    def cancel(self) -> None:
        pass


class ShowTime(ProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Any:
        yield value, ctx.timestamp(), ctx.timer_service().current_watermark()


def test_timestamps_and_watermarks_of_a_source_reach_the_next_operators() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    collect(env.add_source(Ticks()).process(ShowTime()))
    with InProcessJob(env) as job:
        assert job.run_to_end(max_records=2) == [
            (0, 0, -(1 << 63)),
            (1, 10, 0),
            (2, 20, 10),
            (3, 30, 20),
            (4, 40, 30),
        ]


def test_a_watermark_strategy_may_follow_a_source() -> None:
    class TenTimes(TimestampAssigner):
        def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
            return value * 100 + record_timestamp

    env = StreamExecutionEnvironment.get_execution_environment()
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(TenTimes())
    collect(env.add_source(Ticks()).assign_timestamps_and_watermarks(strategy).process(ShowTime()))
    with InProcessJob(env) as job:
        assert job.run_to_end(max_records=4)[-1] == (4, 440, 329)


def test_a_source_that_is_idle_does_not_hold_up_event_time() -> None:
    class OneIsIdle(ParallelSourceFunction):
        def open(self, runtime_context: Any) -> None:
            self._idle = runtime_context.get_index_of_this_subtask() == 1
            self._running = True

        def run(self, ctx: Any) -> None:
            if self._idle:
                ctx.mark_as_temporarily_idle()
            else:
                ctx.collect_with_timestamp(1, 50)
                ctx.emit_watermark(50)
            while self._running:
                time.sleep(0.005)

        def cancel(self) -> None:
            self._running = False

    env = StreamExecutionEnvironment.get_execution_environment()
    collect(env.add_source(OneIsIdle()).rebalance().process(ShowTime()))
    with InProcessJob(env, 2) as job:
        wait_until(lambda: all(report.watermark == 50 for report in job.run_epoch()), "event time goes on")


def test_types_convert_what_a_source_emits() -> None:
    class Booleans(SourceFunction):
        def run(self, ctx: Any) -> None:
            ctx.collect(True)
            ctx.collect(2)

        def cancel(self) -> None:
            pass

    env = StreamExecutionEnvironment.get_execution_environment()
    stream = env.add_source(Booleans(), "flags", Types.FLOAT())
    assert stream.get_type() == Types.FLOAT()
    assert stream.get_name() == "flags"
    collect(stream)
    with InProcessJob(env) as job:
        assert list(map(repr, job.run_to_end())) == ["1.0", "2.0"]


def test_an_exception_names_the_operator_and_shows_the_users_code() -> None:
    class Broken(SourceFunction):
        def run(self, ctx: Any) -> None:
            ctx.collect(1)
            raise ValueError("no such table")

        def cancel(self) -> None:
            pass

    env = StreamExecutionEnvironment.get_execution_environment()
    collect(env.add_source(Broken(), "orders"))
    with InProcessJob(env) as job, pytest.raises(OperatorError, match="orders") as caught:
        job.run_to_end()
    assert isinstance(caught.value.__cause__, ValueError)


def test_a_source_function_has_parallelism_one_and_a_parallel_one_the_environments() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    single = env.add_source(Ticks())
    with pytest.raises(InvalidProgramError, match="'Custom Source' is not parallel"):
        single.set_parallelism(2)
    collect(env.add_source(Numbers(3, 4)).name("many"))
    with InProcessJob(env, 3) as job:
        found = {node.name: node.parallelism for node in job.graph.nodes}
        assert (found["Custom Source"], found["many"]) == (1, 3)
        assert sorted(n for n in job.run_to_end()) == list(range(12))
    with pytest.raises(TypeError, match="add_source"):
        env.add_source(lambda ctx: None)  # type: ignore[arg-type]


WRITTEN: list[list[Any]] = []


class BufferingSink(SinkFunction, CheckpointedFunction):
    def __init__(self, threshold: int) -> None:
        self._threshold = threshold

    def initialize_state(self, context: Any) -> None:
        self._state = context.get_operator_state_store().get_list_state(ListStateDescriptor("buffer", Types.LONG()))
        self._buffer = list(self._state.get())

    def invoke(self, value: Any, context: Any) -> None:
        self._buffer.append(value)
        if len(self._buffer) >= self._threshold:
            WRITTEN.append(self._buffer)
            self._buffer = []

    def snapshot_state(self, context: Any) -> None:
        self._state.update(self._buffer)


@pytest.mark.parametrize("parallelism", [1, 2, 3])
def test_the_buffer_of_a_buffering_sink_survives(tmp_path: Path, parallelism: int) -> None:
    WRITTEN.clear()

    def program() -> StreamExecutionEnvironment:
        env = StreamExecutionEnvironment.get_execution_environment()
        env.add_source(Numbers(RANGES, SIZE)).uid("source").rebalance().add_sink(BufferingSink(8)).uid("sink")
        return env

    files = checkpoint_files(f"file://{tmp_path}")
    with InProcessJob(program(), 2, files=files) as job:
        while sum(map(len, WRITTEN)) < 100:
            job.run_epoch(33)
        restore = job.checkpoint()
        kept = list(WRITTEN)
        job.run_epoch(33)  # lost
    WRITTEN[:] = kept
    with InProcessJob(program(), parallelism, files=files, restore=restore, attempt=1) as job:
        job.run_to_end()
        left = [slot._graph._nodes[1].operator.function._buffer for slot in job.slots]
    assert all(len(batch) >= 8 for batch in WRITTEN)
    assert sorted(n for batch in WRITTEN + left for n in batch) == list(range(RANGES * SIZE))
