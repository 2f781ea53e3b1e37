"""Two streams into one function: both inputs, state and timers they share, what may be connected."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from rekindle.checkpoint.storage import LocalCheckpointFiles
from rekindle.common import Types, WatermarkStrategy
from rekindle.datastream import (
    CoFlatMapFunction,
    CoMapFunction,
    ConnectedStreams,
    CoProcessFunction,
    DataStream,
    KeyedCoProcessFunction,
    RuntimeContext,
    StreamExecutionEnvironment,
    TimeDomain,
)
from rekindle.datastream.connectors.number_seq import NumberSequenceSource
from rekindle.datastream.functions import CheckpointedFunction, FunctionInitializationContext, FunctionSnapshotContext
from rekindle.datastream.state import ListStateDescriptor, ValueStateDescriptor
from rekindle.exceptions import InvalidProgramError, StateAccessError
from rekindle.state.backend_settings import BackendSettings
from rekindle.state.rocksdb.settings import RocksDBSettings
from rekindle.testing import OperatorHarness
from support.in_process_job import InProcessJob, collect

BACKENDS = [BackendSettings(), BackendSettings(rocksdb=RocksDBSettings())]
each_backend = pytest.mark.parametrize("backend", BACKENDS, ids=["heap", "rocksdb"])


class Shout(CoMapFunction):
    def map1(self, value: int) -> int:
        return value + 1

    def map2(self, value: str) -> str | None:
        return None if value == "x" else value + "!"


class Repeat(CoFlatMapFunction):
    def flat_map1(self, value: int) -> Iterator[int]:
        yield from [value] * value

    def flat_map2(self, value: str) -> list[str] | None:
        return None if value == "x" else [value, value.upper()]


class Sides(CoProcessFunction):
    def process_element1(self, value: Any, ctx: CoProcessFunction.Context) -> Iterator[Any]:
        yield "first", value, ctx.timestamp(), ctx.timer_service().current_watermark()

    def process_element2(self, value: Any, ctx: CoProcessFunction.Context) -> Iterator[Any]:
        yield "second", value, ctx.timestamp(), ctx.timer_service().current_watermark()


class Total(KeyedCoProcessFunction):
    """Add up both inputs of a key, and give the total at the end."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.total = runtime_context.get_state(ValueStateDescriptor("total", Types.LONG()))

    def process_element1(self, value: Any, ctx: KeyedCoProcessFunction.Context) -> None:
        self._add(value, ctx)

    def process_element2(self, value: Any, ctx: KeyedCoProcessFunction.Context) -> None:
        self._add(value, ctx)

    def _add(self, value: int, ctx: KeyedCoProcessFunction.Context) -> None:
        self.total.update((self.total.value() or 0) + value)
        ctx.timer_service().register_event_time_timer(7)

    def on_timer(self, timestamp: int, ctx: KeyedCoProcessFunction.OnTimerContext) -> Iterator[Any]:
        assert ctx.time_domain() is TimeDomain.EVENT_TIME
        yield timestamp, ctx.get_current_key(), self.total.value()


class Join(KeyedCoProcessFunction):
    """Join the two inputs by key: every pair once, whichever of the two comes last."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.left = runtime_context.get_list_state(ListStateDescriptor("left", Types.LONG()))
        self.right = runtime_context.get_list_state(ListStateDescriptor("right", Types.LONG()))

    def process_element1(self, value: int, ctx: KeyedCoProcessFunction.Context) -> Iterator[Any]:
        self.left.add(value)
        for other in self.right.get():
            yield ctx.get_current_key(), value, other

    def process_element2(self, value: int, ctx: KeyedCoProcessFunction.Context) -> Iterator[Any]:
        self.right.add(value)
        for other in self.left.get():
            yield ctx.get_current_key(), other, value


def results(build: Callable[[StreamExecutionEnvironment], DataStream], parallelism: int = 1) -> list[Any]:
    env = StreamExecutionEnvironment()
    collect(build(env))
    with InProcessJob(env, parallelism) as job:
        return job.run_to_end(3)


def numbers(env: StreamExecutionEnvironment, first: int, last: int) -> DataStream:
    return env.from_source(NumberSequenceSource(first, last), WatermarkStrategy.no_watermarks(), "numbers")


def integers(env: StreamExecutionEnvironment, *values: int) -> DataStream:
    return env.from_collection(values, Types.INT())


def words(env: StreamExecutionEnvironment, *values: str) -> DataStream:
    return env.from_collection(values, Types.STRING())


class TestWithoutKeys:
    def test_each_input_has_a_map_of_its_own_and_none_is_no_result(self) -> None:
        harness = OperatorHarness.unkeyed(Shout())
        assert harness.process(1, 2) == [2, 3]
        assert harness.process_second("a", "x", "b") == ["a!", "b!"]

    def test_each_input_has_a_flat_map_of_its_own(self) -> None:
        harness = OperatorHarness.unkeyed(Repeat())
        assert harness.process(0, 1, 2) == [1, 2, 2]
        assert harness.process_second("a", "x") == ["a", "A"]

    def test_results_have_the_timestamps_of_their_records(self) -> None:
        harness = OperatorHarness.unkeyed(Sides())
        harness.advance_watermark(40)
        assert harness.process("a", timestamps=[50]) == [("first", "a", 50, 40)]
        assert harness.process_second("b", timestamps=[60]) == [("second", "b", 60, 40)]
        assert harness.process("c") == [("first", "c", None, 40)]

    def test_timers_need_a_key(self) -> None:
        class Early(Sides):
            def process_element2(self, value: Any, ctx: CoProcessFunction.Context) -> Any:
                ctx.timer_service().register_event_time_timer(1)

        with pytest.raises(TypeError, match="no key"):
            OperatorHarness.unkeyed(Early()).process_second("a")

    def test_keyed_state_needs_a_key(self) -> None:
        class Early(Sides):
            def open(self, runtime_context: RuntimeContext) -> None:
                runtime_context.get_state(ValueStateDescriptor("total"))

        with pytest.raises(StateAccessError, match="key_by"):
            OperatorHarness.unkeyed(Early())

    @pytest.mark.parametrize("parallelism", [1, 2])
    def test_maps_of_two_streams_give_what_pyflink_gives(self, parallelism: int) -> None:
        build = lambda env: integers(env, 1, 2, 3).connect(words(env, "a", "x")).map(Shout())  # noqa: E731
        assert sorted(results(build, parallelism), key=str) == [2, 3, 4, "a!"]

    @pytest.mark.parametrize("parallelism", [1, 2])
    def test_flat_maps_of_two_streams_give_what_pyflink_gives(self, parallelism: int) -> None:
        build = lambda env: integers(env, 0, 1, 2).connect(words(env, "a", "x")).flat_map(Repeat())  # noqa: E731
        assert sorted(results(build, parallelism), key=str) == [1, 2, 2, "A", "a"]

    @pytest.mark.parametrize("parallelism", [1, 2])
    def test_a_union_may_stand_on_either_side(self, parallelism: int) -> None:
        def build(env: StreamExecutionEnvironment) -> DataStream:
            first = integers(env, 1, 2).union(integers(env, 3))
            return first.connect(words(env, "a").union(words(env, "b"), words(env, "x"))).map(Shout())

        assert sorted(results(build, parallelism), key=str) == [2, 3, 4, "a!", "b!"]

    def test_a_stream_may_be_connected_with_itself(self) -> None:
        def build(env: StreamExecutionEnvironment) -> DataStream:
            stream = words(env, "a", "b")
            return stream.connect(stream).process(Sides()).map(lambda result: result[:2])

        assert sorted(results(build)) == [("first", "a"), ("first", "b"), ("second", "a"), ("second", "b")]

    def test_records_of_both_sides_are_converted_by_their_types(self) -> None:
        def build(env: StreamExecutionEnvironment) -> DataStream:
            first = env.from_collection([1, 2]).map(lambda value: value + 0.9, Types.INT())
            second = env.from_collection([3]).map(lambda value: value, Types.DOUBLE())
            return first.connect(second).process(Sides()).map(lambda result: repr(result[:2]))

        assert sorted(results(build)) == ["('first', 1)", "('first', 2)", "('second', 3.0)"]

    def test_the_function_may_have_operator_state(self, tmp_path: Path) -> None:
        class Counting(Sides, CheckpointedFunction):
            def initialize_state(self, context: FunctionInitializationContext) -> None:
                store = context.get_operator_state_store()
                self.state = store.get_list_state(ListStateDescriptor("seen", Types.LONG()))
                self.seen = sum(self.state.get())

            def snapshot_state(self, context: FunctionSnapshotContext) -> None:
                self.state.update([self.seen])

            def process_element1(self, value: Any, ctx: CoProcessFunction.Context) -> Any:
                self.seen += 1
                return [self.seen]

            process_element2 = process_element1

        harness = OperatorHarness.unkeyed(Counting())
        assert harness.process("a", "b") + harness.process_second("c") == [1, 2, 3]
        again = OperatorHarness.unkeyed(Counting(), restored=[harness.snapshot()])
        assert again.process_second("d") == [4]


class TestWithKeys:
    def test_both_inputs_share_the_state_and_the_timers_of_a_key(self) -> None:
        harness = OperatorHarness.keyed(Total(), lambda value: value % 2, lambda value: value % 2)
        harness.process(1, 2)
        harness.process_second(10, 21)
        assert harness.advance_watermark(6) == []
        assert sorted(harness.advance_watermark(7)) == [(7, 0, 12), (7, 1, 22)]
        assert harness.finish() == []

    def test_the_inputs_have_key_selectors_of_their_own(self) -> None:
        harness = OperatorHarness.keyed(Join(), lambda value: value, lambda value: value // 10)
        harness.process(1, 2)
        assert harness.process_second(10, 25, 31) == [(1, 1, 10), (2, 2, 25)]

    def test_timers_that_one_input_set_fire_after_a_restore_at_another_parallelism(self) -> None:
        first = OperatorHarness.keyed(Total(), lambda value: value % 10, lambda value: value % 10)
        first.process(*range(20))
        snapshot = first.snapshot()
        fired = []
        for subtask in range(3):
            again = OperatorHarness.keyed(
                Total(), lambda v: v % 10, lambda v: v % 10, subtask=subtask, parallelism=3, restored=[snapshot]
            )
            fired += again.advance_watermark(7)
        assert sorted(fired) == [(7, key, 10 + 2 * key) for key in range(10)]

    @pytest.mark.parametrize("function", [Shout(), Repeat(), Sides()], ids=lambda function: type(function).__name__)
    def test_functions_for_streams_without_keys_run_on_keyed_ones_too(self, function: Any) -> None:
        keyed = OperatorHarness.keyed(function, lambda value: 0, lambda value: 0)
        unkeyed = OperatorHarness.unkeyed(function)
        assert keyed.process(1, 2) == unkeyed.process(1, 2)
        assert keyed.process_second("a", "x") == unkeyed.process_second("a", "x")

    def test_a_map_of_keyed_streams_may_keep_state_per_key(self) -> None:
        class Latest(CoMapFunction):
            def open(self, runtime_context: RuntimeContext) -> None:
                self.latest = runtime_context.get_state(ValueStateDescriptor("latest"))

            def map1(self, value: Any) -> None:
                self.latest.update(value[1])

            def map2(self, value: Any) -> Any:
                return (*value, self.latest.value())

        harness = OperatorHarness.keyed(Latest(), lambda value: value[0], lambda value: value[0])
        harness.process(("a", 1), ("b", 2), ("a", 3))
        assert harness.process_second(("a", "?"), ("b", "?"), ("c", "?")) == [
            ("a", "?", 3),
            ("b", "?", 2),
            ("c", "?", None),
        ]

    @pytest.mark.parametrize("timer", ["register_event_time_timer", "register_processing_time_timer"])
    def test_a_function_without_on_timer_cannot_set_timers(self, timer: str) -> None:
        class Early(Sides):
            def process_element1(self, value: Any, ctx: CoProcessFunction.Context) -> Any:
                getattr(ctx.timer_service(), timer)(1)

        with pytest.raises(TypeError, match="on_timer"):
            OperatorHarness.keyed(Early(), lambda value: 0, lambda value: 0).process(1)

    @pytest.mark.parametrize("parallelism", [1, 2, 3])
    def test_totals_at_the_end_are_those_of_pyflink(self, parallelism: int) -> None:
        """PyFlink gives the total 8 for the key 1 and 4 for the key 0."""

        def build(env: StreamExecutionEnvironment) -> DataStream:
            connected = integers(env, 1, 2, 3).connect(integers(env, 1, 2, 3))
            return connected.key_by(lambda value: value % 2, lambda value: value % 2).process(Total())

        assert sorted(results(build, parallelism)) == [(7, 0, 4), (7, 1, 8)]

    def test_streams_may_be_keyed_before_they_are_connected(self) -> None:
        def build(env: StreamExecutionEnvironment) -> DataStream:
            first = integers(env, 1, 2, 3).key_by(lambda value: value % 2, Types.INT())
            return first.connect(integers(env, 1, 2, 3).key_by(lambda value: value % 2, Types.INT())).process(Total())

        assert sorted(results(build, 2)) == [(7, 0, 4), (7, 1, 8)]

    def test_a_join_gives_the_pairs_that_pyflink_gives(self) -> None:
        def build(env: StreamExecutionEnvironment) -> DataStream:
            connected = integers(env, 1, 2, 3, 4, 5, 6).connect(integers(env, 10, 21, 32, 43, 14))
            return connected.key_by(lambda value: value % 3, lambda value: value % 10 % 3, Types.INT()).process(Join())

        assert sorted(results(build, 2)) == [
            (0, 3, 10),
            (0, 3, 43),
            (0, 6, 10),
            (0, 6, 43),
            (1, 1, 14),
            (1, 1, 21),
            (1, 4, 14),
            (1, 4, 21),
            (2, 2, 32),
            (2, 5, 32),
        ]


class TestTime:
    def test_the_watermark_is_the_lower_one_of_both_inputs(self) -> None:
        """The first stream ends early; its end alone moves no time."""
        env = StreamExecutionEnvironment()
        connected = numbers(env, 0, 1).connect(numbers(env, 10, 29))
        collect(connected.key_by(lambda value: value % 2, lambda value: value % 2).process(Total()))
        with InProcessJob(env, 1) as job:
            while not job.slots[0]._graph.finished():
                assert job.collected == []
                job.run_epoch(6)
            assert sorted(job.collected) == [(7, 0, sum(range(10, 30, 2))), (7, 1, 1 + sum(range(11, 30, 2)))]

    def test_processing_time_timers_of_connected_streams_fire(self) -> None:
        class Later(Total):
            def _add(self, value: int, ctx: KeyedCoProcessFunction.Context) -> None:
                ctx.timer_service().register_processing_time_timer(1_000)

            def on_timer(self, timestamp: int, ctx: KeyedCoProcessFunction.OnTimerContext) -> Iterator[Any]:
                yield timestamp, ctx.get_current_key(), ctx.time_domain()

        harness = OperatorHarness.keyed(Later(), lambda value: value, lambda value: value)
        harness.process_second("a")
        assert harness.advance_processing_time(1_000) == [(1_000, "a", TimeDomain.PROCESSING_TIME)]


def test_sources_of_one_slot_are_read_in_turn() -> None:
    """A long stream does not keep the other one from beginning."""
    env = StreamExecutionEnvironment()
    collect(numbers(env, 0, 99).connect(numbers(env, 100, 199)).process(Sides()))
    with InProcessJob(env, 1) as job:
        job.run_epoch(11)
        assert sorted(result[1] for result in job.collected) == [*range(6), *range(100, 105)]


class TestRefused:
    @staticmethod
    def stream() -> DataStream:
        return StreamExecutionEnvironment().from_collection([1])

    @pytest.mark.parametrize("keyed", ["first", "second"])
    @pytest.mark.parametrize(("method", "function"), [("map", Shout()), ("flat_map", Repeat()), ("process", Sides())])
    def test_one_keyed_and_one_not(self, keyed: str, method: str, function: Any) -> None:
        first = self.stream()
        second = first.map(lambda value: value)
        if keyed == "first":
            connected = first.key_by(lambda value: value).connect(second)
        else:
            connected = first.connect(second.key_by(lambda value: value))
        with pytest.raises(InvalidProgramError, match="one of the connected streams is keyed and the other is not"):
            getattr(connected, method)(function)
        again = connected.key_by(lambda value: value, lambda value: value)
        getattr(again, method)(function)

    def test_keys_of_two_types(self) -> None:
        stream = self.stream()
        connected = stream.key_by(abs, Types.INT()).connect(stream.key_by(str, Types.STRING()))
        with pytest.raises(InvalidProgramError, match="must be of one type"):
            connected.process(Total())

    def test_a_keyed_function_on_streams_without_keys(self) -> None:
        stream = self.stream()
        with pytest.raises(TypeError, match="key_by"):
            stream.connect(stream).process(Total())

    @pytest.mark.parametrize("method", ["map", "flat_map", "process"])
    def test_what_is_no_function_of_two_streams(self, method: str) -> None:
        stream = self.stream()
        with pytest.raises(TypeError, match="connected streams takes a Co"):
            getattr(stream.connect(stream), method)(lambda value: value)

    def test_streams_of_two_programs(self) -> None:
        with pytest.raises(InvalidProgramError, match="one environment"):
            self.stream().connect(self.stream())

    def test_what_is_no_stream(self) -> None:
        with pytest.raises(TypeError, match="connect takes a DataStream"):
            self.stream().connect([1, 2])  # type: ignore[call-overload]


def test_the_streams_can_be_asked_for() -> None:
    env = StreamExecutionEnvironment()
    first, second = integers(env, 1), words(env, "a")
    connected = first.connect(second)
    assert isinstance(connected, ConnectedStreams)
    assert (connected.stream1, connected.stream2) == (first, second)


@each_backend
@pytest.mark.parametrize("then", [1, 2, 3])
def test_a_join_goes_on_after_a_restore_at_any_parallelism(backend: BackendSettings, then: int, tmp_path: Path) -> None:
    def job(parallelism: int, **settings: Any) -> InProcessJob:
        env = StreamExecutionEnvironment()
        connected = numbers(env, 0, 59).uid("left").connect(numbers(env, 100, 139).uid("right"))
        joined = connected.key_by(lambda value: value % 7, lambda value: value % 7, Types.LONG()).process(Join())
        collect(joined.uid("join"))
        files = LocalCheckpointFiles(str(tmp_path))
        return InProcessJob(env, parallelism, files=files, backend=backend, **settings)

    with job(2) as first:
        first.run_epoch(30)
        before = list(first.collected)
        checkpoint = first.checkpoint()
        first.run_epoch(10)  # lost
    with job(then, restore=checkpoint) as second:
        after = second.run_to_end(7)
    golden = [(a % 7, a, b) for a in range(60) for b in range(100, 140) if a % 7 == b % 7]
    assert before
    assert after
    assert sorted(before + after) == sorted(golden)


@each_backend
@pytest.mark.parametrize("then", [1, 3])
def test_timers_of_both_inputs_go_on_after_a_restore(backend: BackendSettings, then: int, tmp_path: Path) -> None:
    def job(parallelism: int, **settings: Any) -> InProcessJob:
        env = StreamExecutionEnvironment()
        connected = numbers(env, 0, 59).uid("left").connect(numbers(env, 100, 139).uid("right"))
        totals = connected.key_by(lambda value: value % 7, lambda value: value % 7).process(Total())
        collect(totals.uid("totals"))
        files = LocalCheckpointFiles(str(tmp_path))
        return InProcessJob(env, parallelism, files=files, backend=backend, **settings)

    with job(2) as first:
        first.run_epoch(20)
        assert first.collected == []
        checkpoint = first.checkpoint()
    with job(then, restore=checkpoint) as second:
        totals = second.run_to_end(9)
    values = [*range(60), *range(100, 140)]
    assert sorted(totals) == [(7, key, sum(value for value in values if value % 7 == key)) for key in range(7)]
