"""Interval joins against joins that try every pair: bounds, order, lateness, every backend, restarts, rescaling."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rekindle.checkpoint.storage import LocalCheckpointFiles
from rekindle.common import Duration, Time, Types, WatermarkStrategy
from rekindle.common.watermark_strategy import TimestampAssigner
from rekindle.datastream import KeyedStream, OutputTag, ProcessJoinFunction, RuntimeContext, StreamExecutionEnvironment
from rekindle.datastream.state import ValueStateDescriptor
from rekindle.exceptions import ConfigurationError, InvalidProgramError
from rekindle.graph.transformations.two_inputs import Interval, IntervalJoinTransformation, JoinSide
from rekindle.runtime.operators.interval_join import IntervalJoinOperator
from rekindle.state.backend_settings import BackendSettings
from rekindle.state.rocksdb.settings import RocksDBSettings
from rekindle.testing import OperatorHarness
from rekindle.testing.backends import BackendUnderTest
from support.in_process_job import InProcessJob, collect
from support.joins import Event, Timed, interval_joined, random_events
from support.seeds import rounds

EVENT = Types.TUPLE([Types.STRING(), Types.LONG(), Types.LONG()])
BACKENDS = {
    "heap": BackendSettings(incremental=True),
    "rocksdb": BackendSettings(rocksdb=RocksDBSettings(cache_entries=8)),
    "rocksdb without cache": BackendSettings(rocksdb=RocksDBSettings(cache_entries=0)),
}
BOUNDS = [(-2, 2), (0, 0), (-20, 30), (3, 9), (-9, -3), (-1000, 1000), (0, 1 << 62)]
EVENTS = st.lists(st.tuples(st.sampled_from("ab"), st.integers(-20, 30), st.integers(0, 5)), max_size=15)


@pytest.fixture(params=BACKENDS)
def backend(request: pytest.FixtureRequest) -> Iterator[BackendUnderTest]:
    chosen = BackendUnderTest(request.param, BACKENDS[request.param])
    yield chosen
    chosen.close()


def by_key(event: Event) -> str:
    return event[0]


def harness_of(
    lower: int, upper: int, sides: tuple[JoinSide, JoinSide] = (JoinSide(), JoinSide()), **settings: Any
) -> OperatorHarness:
    operator = IntervalJoinOperator(Timed(), Interval(lower, upper), *sides)
    return OperatorHarness(operator, by_key, by_key, **settings)


def feed(harness: OperatorHarness, side: int, events: list[Event]) -> list[Any]:
    process = harness.process_second if side else harness.process
    return process(*events, timestamps=[timestamp for _, timestamp, _ in events])


class TestWhatIsJoined:
    @pytest.mark.parametrize(("lower", "upper"), BOUNDS)
    @given(left=EVENTS, right=EVENTS, cut=st.integers(0, 15))
    @settings(max_examples=rounds(6, named=15), suppress_health_check=[HealthCheck.function_scoped_fixture])
    def test_every_pair_in_the_interval_is_joined_whatever_the_order_and_a_restart_in_the_middle(
        self, backend: BackendUnderTest, lower: int, upper: int, left: list[Event], right: list[Event], cut: int
    ) -> None:
        before = harness_of(lower, upper, state_backend=backend)
        results = feed(before, 0, left[:cut]) + feed(before, 1, right[:cut]) + feed(before, 0, left[cut:])
        after = harness_of(lower, upper, restored=[before.snapshot()], state_backend=backend)
        before.close()
        results += feed(after, 1, right[cut:])
        after.finish()
        assert sorted(results) == sorted(interval_joined(left, right, lower, upper))
        assert after.operator.timer_count() == 0
        assert list(after.snapshot().blocks) == [], "nothing is kept once nothing can come any more"
        after.close()

    @pytest.mark.parametrize("backend_name", BACKENDS)
    @pytest.mark.parametrize("typed", [True, False])
    def test_pairs_are_joined_in_every_backend_and_across_a_rescale(
        self, backend_name: str, typed: bool, tmp_path: Path
    ) -> None:
        left, right = random_events(3, 80), random_events(4, 80)
        checkpoint, collected = None, []
        for parallelism, epochs in ((1, 2), (3, 2), (2, None)):
            one, two = keyed_streams(left, right, EVENT if typed else None)
            stream = one.interval_join(two).between(-3, Time.milliseconds(8)).process(Timed())
            collect(stream)
            files, env = LocalCheckpointFiles(tmp_path), stream.get_execution_environment()
            settings_ = BACKENDS[backend_name]
            with InProcessJob(env, parallelism, files=files, backend=settings_, restore=checkpoint) as job:
                if epochs is None:
                    job.run_to_end()
                else:
                    for _ in range(epochs):
                        job.run_epoch(max_records=40)
                    checkpoint = job.checkpoint()
                collected += job.collected
        assert sorted(collected) == sorted(interval_joined(left, right, -3, 8))

    @pytest.mark.parametrize(
        ("exclusive", "lower", "upper"),
        [((), -2, 3), (("lower",), -1, 3), (("upper",), -2, 2), (("lower", "upper"), -1, 2)],
    )
    def test_bounds_may_be_exclusive(self, exclusive: tuple[str, ...], lower: int, upper: int) -> None:
        left, right = random_events(5, 40, keys=2), random_events(6, 40, keys=2)
        one, two = keyed_streams(left, right)
        joining = one.interval_join(two).in_event_time().between(Time.milliseconds(-2), Duration.of_millis(3))
        for bound in exclusive:
            getattr(joining, f"{bound}_bound_exclusive")()
        assert sorted(run(joining.process(Timed()))) == sorted(interval_joined(left, right, lower, upper))

    def test_results_have_the_later_timestamp(self) -> None:
        harness = harness_of(-5, 5)
        feed(harness, 0, [("a", 3, 1)])
        chunk = harness.operator.process_second(_chunk([("a", 1, 2), ("a", 8, 3), ("a", 9, 4)]))
        assert chunk is not None
        assert chunk.timestamps == [3, 8]


class TestTime:
    def test_late_elements_are_dropped(self) -> None:
        harness = harness_of(-5, 5)
        feed(harness, 0, [("a", 10, 1)])
        harness.advance_watermark(9)
        assert feed(harness, 1, [("a", 8, 2), ("a", 9, 3)]) == [(("a", 10, 1), ("a", 9, 3), 10, 9, 10)]

    def test_late_elements_go_to_their_side_outputs(self) -> None:
        sides = JoinSide(late_tag=OutputTag("left")), JoinSide(late_tag=OutputTag("right"))
        harness = harness_of(-5, 5, sides)
        harness.advance_watermark(9)
        feed(harness, 0, [("a", 8, 1), ("a", 9, 2)])
        feed(harness, 1, [("a", 7, 3), ("a", 6, 4)])
        assert harness.side_outputs == {"left": [("a", 8, 1)], "right": [("a", 7, 3), ("a", 6, 4)]}

    @pytest.mark.parametrize(("lower", "upper"), [(-5, 7), (2, 7), (-7, -2)])
    def test_elements_are_kept_while_others_may_come_for_them_and_no_longer(self, lower: int, upper: int) -> None:
        harness = harness_of(lower, upper)
        feed(harness, 0, [("a", 20, 1)])
        feed(harness, 1, [("a", 20, 2)])
        kept_left, kept_right = max(upper, 0), max(-lower, 0)
        for watermark in range(15, 40):
            harness.advance_watermark(watermark)
            kept = (watermark < 20 + kept_left) + (watermark < 20 + kept_right)
            assert harness.operator.timer_count() == kept
        assert list(harness.snapshot().blocks) == []

    def test_elements_of_one_timestamp_are_removed_though_the_interval_has_changed(self) -> None:
        before = harness_of(-5, 10)
        feed(before, 0, [("a", 20, 1), ("a", 20, 2), ("b", 20, 3)])
        after = harness_of(-5, 2, restored=[before.snapshot()])
        after.finish()
        assert list(after.snapshot().blocks) == []

    def test_elements_need_timestamps(self) -> None:
        harness = harness_of(-5, 5)
        with pytest.raises(InvalidProgramError, match="assign_timestamps_and_watermarks before key_by"):
            harness.process(("a", 1, 1))

    def test_processing_time_is_refused(self) -> None:
        one, two = keyed_streams([], [])
        with pytest.raises(InvalidProgramError, match="only supported in event time"):
            one.interval_join(two).in_processing_time().between(1, 2)


class Second(TimestampAssigner):
    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        return int(value[1])


def keyed_streams(left: list[Event], right: list[Event], type_info: Any = EVENT) -> tuple[KeyedStream, KeyedStream]:
    env = StreamExecutionEnvironment()
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(100).with_timestamp_assigner(Second())  # type: ignore[arg-type]
    one, two = (
        env.from_collection(events, type_info=type_info)
        .assign_timestamps_and_watermarks(strategy)
        .key_by(by_key, key_type=Types.STRING())
        for events in (left, right)
    )
    return one, two


def run(stream: Any, parallelism: int = 2) -> list[Any]:
    collect(stream)
    with InProcessJob(stream.get_execution_environment(), parallelism) as job:
        return job.run_to_end()


def _chunk(events: list[Event]) -> Any:
    from rekindle.runtime.chunk import Chunk

    return Chunk(list(events), [event[1] for event in events], [event[0] for event in events])


EVEN = OutputTag("even", Types.LONG())
LIVES: list[Any] = []


class Rich(ProcessJoinFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        LIVES.append("open")
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, left: Any, right: Any, ctx: ProcessJoinFunction.Context) -> Iterator[Any]:
        self.count.update((self.count.value() or 0) + 1)
        if right[2] % 2 == 0:
            yield EVEN, right[2]
        yield left[0], self.count.value()

    def close(self) -> None:
        LIVES.append("close")


class TestFunctions:
    def test_functions_have_state_and_side_outputs_and_are_opened_and_closed(self) -> None:
        LIVES.clear()
        one, two = keyed_streams([("a", 1, 1)], [("a", n, n) for n in range(3)])
        stream = (
            one.interval_join(two)
            .between(-5, 5)
            .process(Rich(), output_type=Types.TUPLE([Types.STRING(), Types.LONG()]))
        )
        collect(stream.get_side_output(EVEN))
        assert sorted(run(stream, 1), key=repr) == [("a", 1), ("a", 2), ("a", 3), 0, 2]
        assert LIVES == ["open", "close"]

    def test_each_side_has_its_type_and_its_late_tag(self) -> None:
        left, right = OutputTag("left"), OutputTag("right")
        one, two = keyed_streams([], [])
        joining = one.interval_join(two).between(0, 1)
        stream = joining.side_output_left_late_data(left).side_output_right_late_data(right).process(Timed())
        assert stream._node is not None
        transformation = stream._node.transformation
        assert isinstance(transformation, IntervalJoinTransformation)
        assert (transformation.left, transformation.right) == (JoinSide(EVENT, left), JoinSide(EVENT, right))
        assert transformation.key_type == Types.STRING()

    def test_what_does_not_fit_is_refused(self) -> None:
        one, two = keyed_streams([], [])
        with pytest.raises(ConfigurationError, match="must not be above the upper one, got 2 ms and 1 ms"):
            one.interval_join(two).between(2, 1)
        with pytest.raises(TypeError, match="call key_by on it"):
            one.interval_join(one.map(lambda value: value))  # type: ignore[arg-type]
        with pytest.raises(TypeError, match="interval_join takes a KeyedStream, and was given an int"):
            one.interval_join(1)  # type: ignore[arg-type]
        with pytest.raises(InvalidProgramError, match="must be of one type"):
            one.interval_join(two.key_by(by_key, key_type=Types.LONG()))
        with pytest.raises(TypeError, match="takes a ProcessJoinFunction"):
            one.interval_join(two).between(1, 2).process(lambda a, b, ctx: None)  # type: ignore[arg-type]
        with pytest.raises(TypeError, match="takes an OutputTag"):
            one.interval_join(two).between(1, 2).side_output_left_late_data("late")  # type: ignore[arg-type]
