"""What is in the savepoint that a job is stopped with, with and without drain: timers, sources, loops, requests."""

from __future__ import annotations

import asyncio
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from rekindle.common import Encoder, Time, Types, WatermarkStrategy
from rekindle.common.watermark_strategy import TimestampAssigner
from rekindle.datastream import (
    AsyncDataStream,
    AsyncFunction,
    KeyedProcessFunction,
    RuntimeContext,
    StreamExecutionEnvironment,
)
from rekindle.datastream.connectors.file_system import BucketAssigner, FileSink
from rekindle.datastream.connectors.number_seq import NumberSequenceSource
from rekindle.datastream.functions import SourceFunction
from rekindle.datastream.state import ValueStateDescriptor
from support.balances import environment, read_output
from support.in_process_master import Cluster, cluster
from support.processes import wait_until
from support.sources import Numbers
from support.stopped_job import SLOW

__all__ = ["cluster"]

# --- what is in the savepoint: windows, timers, sources ---


class SecondsOf(TimestampAssigner):
    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        return int(value)


class Counting(KeyedProcessFunction):
    """Count; a timer at the end of all time tells how many."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self._count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value: int, ctx: Any) -> None:
        self._count.update((self._count.value() or 0) + 1)
        ctx.timer_service().register_event_time_timer(1 << 60)

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[str]:
        yield f"timer,{ctx.get_current_key()},{self._count.value()}"
        self._count.clear()


def timer_job(env: StreamExecutionEnvironment, output: Path, last: int = 3_000) -> None:
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(SecondsOf())
    numbers = env.from_source(NumberSequenceSource(1, last), strategy, "numbers").uid("numbers")
    sink = FileSink.for_row_format(str(output), Encoder.simple_string_encoder())
    sink = sink.with_bucket_assigner(BucketAssigner.base_path_bucket_assigner())
    seen = numbers.map(lambda n: f"seen,{n},1").uid("seen")
    timers = numbers.key_by(lambda n: n % 5).process(Counting()).uid("timers")
    seen.union(timers).sink_to(sink.build()).uid("sink")


def fired(output: Path) -> Counter[str]:
    """Add up what timers told, by key; under "seen", how many records there were."""
    sums: Counter[str] = Counter()
    for line in read_output(str(output)):
        kind, key, count = line.split(",")
        sums[key if kind == "timer" else "seen"] += int(count)
    return sums


@pytest.mark.parametrize("drain", [False, True], ids=["stop", "drain"])
def test_event_time_ends_only_with_drain_and_state_goes_on_in_either_case(
    cluster: Cluster, tmp_path: Path, drain: bool
) -> None:
    output = tmp_path / "out"
    env = environment(None, str(tmp_path / "checkpoints"), **SLOW)
    timer_job(env, output)
    master = cluster.submit(env)
    wait_until(lambda: output.exists() and bool(read_output(str(output))), "there is output")
    location = master.stop_with_savepoint(str(tmp_path), drain).result(60)
    sums = fired(output)
    seen = sums.pop("seen")
    assert 0 < seen < 3_000
    assert sums.total() == (seen if drain else 0)
    env = environment(None, None, execution_state__recovery_path=location)
    timer_job(env, output)
    cluster.submit(env).result.result(60)
    assert fired(output) == {"seen": 3_000, **{str(key): 600 for key in range(5)}}


def source_job(env: StreamExecutionEnvironment, output: Path, pause: Callable[[int], None] | None) -> None:
    sink = FileSink.for_row_format(str(output), Encoder.simple_string_encoder())
    sink = sink.with_bucket_assigner(BucketAssigner.base_path_bucket_assigner())
    numbers = env.add_source(Numbers(4, 2_000, pause), type_info=Types.LONG()).uid("numbers")
    numbers.map(str, Types.STRING()).uid("text").sink_to(sink.build()).uid("sink")


def slowly(number: int) -> None:
    threading.Event().wait(0.001)


@pytest.mark.parametrize("drain", [False, True], ids=["stop", "drain"])
@pytest.mark.parametrize("parallelism", [2, 3])
def test_a_source_function_goes_on_where_it_was_stopped(
    cluster: Cluster, tmp_path: Path, drain: bool, parallelism: int
) -> None:
    output = tmp_path / "out"
    env = environment(None, str(tmp_path / "checkpoints"))
    source_job(env, output, slowly)
    master = cluster.submit(env)
    wait_until(lambda: output.exists() and bool(read_output(str(output))), "there is output")
    location = master.stop_with_savepoint(str(tmp_path), drain).result(60)
    before = len(read_output(str(output)))
    assert 0 < before < 8_000
    env = environment(None, None, execution_state__recovery_path=location)
    env.set_parallelism(parallelism)
    source_job(env, output, None)
    cluster.submit(env).result.result(60)
    assert sorted(map(int, read_output(str(output)))) == list(range(8_000))


class Blocked(SourceFunction):
    """Emit one element, then wait until it is cancelled."""

    def __init__(self) -> None:
        self._cancelled = False

    def run(self, ctx: SourceFunction.SourceContext) -> None:
        ctx.collect(1)
        while not self._cancelled:
            threading.Event().wait(0.005)
        ctx.collect(2)

    def cancel(self) -> None:
        self._cancelled = True


@pytest.mark.parametrize(("drain", "expected"), [(False, ["1"]), (True, ["1", "2"])], ids=["stop", "drain"])
def test_what_a_source_function_emits_after_its_cancel_counts_only_with_drain(
    cluster: Cluster, tmp_path: Path, drain: bool, expected: list[str]
) -> None:
    output = tmp_path / "out"
    env = environment(None, str(tmp_path / "checkpoints"))
    sink = FileSink.for_row_format(str(output), Encoder.simple_string_encoder())
    sink = sink.with_bucket_assigner(BucketAssigner.base_path_bucket_assigner())
    env.add_source(Blocked(), type_info=Types.LONG()).map(str, Types.STRING()).sink_to(sink.build())
    master = cluster.submit(env)
    wait_until(lambda: output.exists() and read_output(str(output)) == ["1"], "the first element is out")
    master.stop_with_savepoint(str(tmp_path), drain).result(60)
    assert sorted(read_output(str(output))) == expected


class Asking(AsyncFunction):
    async def async_invoke(self, value: int) -> list[int]:
        await asyncio.sleep(0.01)
        return [value]


def test_loops_and_requests_come_to_their_end_with_drain(cluster: Cluster, tmp_path: Path) -> None:
    output = tmp_path / "out"

    def program(env: StreamExecutionEnvironment) -> None:
        numbers = env.from_source(NumberSequenceSource(1, 1_000), WatermarkStrategy.no_watermarks(), "n").uid("n")
        asked = AsyncDataStream.unordered_wait(numbers, Asking(), Time.seconds(60), output_type=Types.LONG()).uid("ask")
        loop = asked.map(lambda n: (n, 3)).uid("pairs").iterate().uid("loop")
        stepped = loop.map(lambda pair: (pair[0], pair[1] - 1)).uid("step")
        loop.close_with(stepped.filter(lambda pair: pair[1] > 0).uid("again"))
        sink = FileSink.for_row_format(str(output), Encoder.simple_string_encoder())
        sink = sink.with_bucket_assigner(BucketAssigner.base_path_bucket_assigner())
        done = stepped.filter(lambda pair: pair[1] == 0).uid("done").map(lambda pair: str(pair[0]), Types.STRING())
        done.uid("text").sink_to(sink.build()).uid("sink")

    env = environment(None, str(tmp_path / "checkpoints"), **SLOW)
    env.enable_checkpointing(100, force=True)
    program(env)
    master = cluster.submit(env)
    wait_until(lambda: output.exists() and bool(read_output(str(output))), "there is output")
    location = master.stop_with_savepoint(str(tmp_path), True).result(60)
    before = sorted(map(int, read_output(str(output))))
    assert 0 < len(before) < 1_000
    env = environment(None, None, execution_state__recovery_path=location)
    program(env)
    cluster.submit(env).result.result(60)
    assert sorted(map(int, read_output(str(output)))) == list(range(1, 1_001))
