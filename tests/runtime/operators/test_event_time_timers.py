"""Event-time timers: they fire as the watermark passes them, in the middle of a stream, after a restore, rescaled."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rekindle.checkpoint.storage import LocalCheckpointFiles
from rekindle.common import Duration, WatermarkStrategy
from rekindle.common.watermark_strategy import TimestampAssigner
from rekindle.datastream import KeyedProcessFunction, ProcessFunction, RuntimeContext, StreamExecutionEnvironment
from rekindle.datastream.connectors.number_seq import NumberSequenceSource
from rekindle.datastream.state import MapStateDescriptor
from rekindle.datastream.time_domain import TimeDomain
from rekindle.runtime.operators.operator import MAX_WATERMARK, MIN_WATERMARK
from rekindle.state.backend_settings import BackendSettings
from rekindle.state.rocksdb.settings import RocksDBSettings
from rekindle.testing import OperatorHarness
from support.in_process_job import InProcessJob, collect

BACKENDS = {"heap": BackendSettings(), "RocksDB": BackendSettings(RocksDBSettings(), incremental=True)}
NUMBERS = 2_000
KEYS = 7
SIZE = 50
BOUND = 30


def at(n: int) -> int:
    """Return the timestamp of a number: it is up to 30 behind that of the numbers before."""
    return n - (n * 17) % (BOUND + 1)


class Disordered(TimestampAssigner):
    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        return at(value)


class Second(TimestampAssigner):
    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        return int(value[1])


class CountsPerWindow(KeyedProcessFunction):
    """Count the records of each key in windows, by hand: a timer at the end of a window gives its count."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.counts = runtime_context.get_map_state(MapStateDescriptor("counts"))

    def process_element(self, value: int, ctx: KeyedProcessFunction.Context) -> None:
        window = ctx.timestamp() // SIZE
        self.counts.put(window, (self.counts.get(window) or 0) + 1)
        ctx.timer_service().register_event_time_timer((window + 1) * SIZE - 1)

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterator[Any]:
        assert ctx.time_domain() is TimeDomain.EVENT_TIME
        assert ctx.timestamp() == timestamp
        assert ctx.timer_service().current_watermark() >= timestamp
        window = timestamp // SIZE
        yield ctx.get_current_key(), window, self.counts.get(window)
        self.counts.remove(window)


def counts() -> Counter[tuple[int, int]]:
    """Count in one go what the job counts."""
    return Counter((n % KEYS, at(n) // SIZE) for n in range(NUMBERS))


def counting() -> StreamExecutionEnvironment:
    environment = StreamExecutionEnvironment.get_execution_environment()
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(BOUND))
    source = NumberSequenceSource(0, NUMBERS - 1)
    stream = environment.from_source(source, strategy.with_timestamp_assigner(Disordered()), "numbers").uid("numbers")
    collect(stream.key_by(lambda n: n % KEYS).process(CountsPerWindow()).uid("counts"))
    return environment


@pytest.mark.parametrize("parallelism", [1, 3])
def test_windows_by_hand_are_complete_when_their_timer_fires(parallelism: int) -> None:
    with InProcessJob(counting(), parallelism) as job:
        job.run_epoch(100)
        job.run_epoch(100)
        assert job.collected, "the first windows are over long before the input is"
        collected = job.run_to_end(100)
    assert Counter({(key, window): count for key, window, count in collected}) == counts()
    assert len(collected) == len(counts()), "each window once: nothing was late"


@pytest.mark.parametrize("backend", BACKENDS)
def test_after_a_restore_each_window_has_fired_once(backend: str, tmp_path: Path) -> None:
    files = LocalCheckpointFiles(str(tmp_path))
    with InProcessJob(counting(), 2, files=files, backend=BACKENDS[backend]) as job:
        for _ in range(5):
            job.run_epoch(70)
        checkpoint = job.checkpoint()
        before = list(job.collected)
        job.run_epoch(70)  # lost with the job
    with InProcessJob(counting(), 2, files=files, restore=checkpoint, backend=BACKENDS[backend]) as restored:
        collected = before + restored.run_to_end(70)
    assert before
    assert len(before) < len(collected)
    assert Counter({(key, window): count for key, window, count in collected}) == counts()
    assert len(collected) == len(counts())


@pytest.mark.parametrize("backend", BACKENDS)
def test_timers_follow_their_keys_to_other_subtasks(backend: str, tmp_path: Path) -> None:
    files, checkpoint = LocalCheckpointFiles(str(tmp_path)), None
    collected: list[Any] = []
    for parallelism in (1, 3, 2, 4):
        job = InProcessJob(counting(), parallelism, files=files, restore=checkpoint, backend=BACKENDS[backend])
        with job:
            for _ in range(3):
                job.run_epoch(40)
            checkpoint = job.checkpoint()
            collected += job.collected
    with InProcessJob(counting(), 2, files=files, restore=checkpoint, backend=BACKENDS[backend]) as job:
        collected += job.run_to_end(40)
    # The parts of the sequence that a new subtask takes over one after the other may be late to each other, so that a
    # window may fire again for them. Nothing is lost and nothing counts twice.
    sums: Counter[tuple[int, int]] = Counter()
    for key, window, count in collected:
        sums[key, window] += count
    assert sums == counts()


class Timers(KeyedProcessFunction):
    """Do with timers what the records say; tell of each that fires, with the watermark."""

    def process_element(self, value: tuple[str, int, Any], ctx: KeyedProcessFunction.Context) -> None:
        ctx.timer_service().register_event_time_timer(value[1])

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterator[Any]:
        service = ctx.timer_service()
        yield ctx.get_current_key(), timestamp, service.current_watermark()
        if ctx.get_current_key() == "deletes":
            service.delete_event_time_timer(timestamp + 1)
        if ctx.get_current_key() == "goes on" and timestamp < 30:
            service.register_event_time_timer(timestamp + 10)


def harness() -> OperatorHarness:
    return OperatorHarness.keyed(Timers(), lambda value: value[0])


def test_timers_fire_in_the_order_of_their_timestamps_with_the_watermark_that_passed_them() -> None:
    timers = harness()
    timers.process(("a", 30, None), ("b", 10, None), ("a", 20, None), ("c", 40, None), ("b", 10, None))
    assert timers.advance_watermark(9) == []
    assert timers.advance_watermark(10) == [("b", 10, 10)]
    assert timers.advance_watermark(35) == [("a", 20, 35), ("a", 30, 35)]
    assert timers.finish() == [("c", 40, MAX_WATERMARK)]


def test_a_timer_that_an_earlier_one_of_the_same_watermark_deleted_does_not_fire() -> None:
    timers = harness()
    timers.process(("deletes", 10, None), ("deletes", 11, None), ("deletes", 12, None), ("other", 11, None))
    assert timers.advance_watermark(100) == [("deletes", 10, 100), ("other", 11, 100), ("deletes", 12, 100)]


def test_a_timer_set_by_a_timer_fires_with_the_same_watermark_if_it_is_due() -> None:
    timers = harness()
    timers.process(("goes on", 5, None), ("other", 20, None))
    assert timers.advance_watermark(28) == [
        ("goes on", 5, 28),
        ("goes on", 15, 28),
        ("other", 20, 28),
        ("goes on", 25, 28),
    ]
    assert timers.advance_watermark(100) == [("goes on", 35, 100)]


def test_a_timer_behind_the_watermark_fires_with_the_next_one() -> None:
    timers = harness()
    timers.advance_watermark(50)
    assert timers.process(("late", 10, None)) == []
    assert timers.advance_watermark(51) == [("late", 10, 51)]


class ShowTime(ProcessFunction):
    def process_element(self, value: Any, ctx: ProcessFunction.Context) -> Iterator[Any]:
        yield value, ctx.timestamp(), ctx.timer_service().current_watermark()


def test_what_a_timer_emits_has_its_timestamp_and_comes_before_the_watermark_that_fired_it() -> None:
    environment = StreamExecutionEnvironment.get_execution_environment()
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(Second())
    stream = environment.from_collection([("a", 10), ("a", 20), ("a", 25)])
    timed = stream.assign_timestamps_and_watermarks(strategy).key_by(lambda value: value[0])
    collect(timed.process(Timers()).process(ShowTime()))
    with InProcessJob(environment) as job:
        assert job.run_to_end(1) == [
            (("a", 10, 19), 10, 9),
            (("a", 20, MAX_WATERMARK), 20, 19),
            (("a", 25, MAX_WATERMARK), 25, 19),
        ]


def test_what_a_processing_time_timer_emits_has_its_timestamp_too() -> None:
    class Later(KeyedProcessFunction):
        def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> None:
            ctx.timer_service().register_processing_time_timer(5)

        def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterator[Any]:
            yield "rings"

    environment = StreamExecutionEnvironment.get_execution_environment()
    stream = environment.from_collection(["a", "b"]).key_by(lambda value: value)
    collect(stream.process(Later()).process(ShowTime()))
    with InProcessJob(environment) as job:
        job.clock.set(10)
        assert job.run_to_end(1) == [("rings", 5, MIN_WATERMARK)] * 2
