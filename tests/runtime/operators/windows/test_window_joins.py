"""Window joins and co-groups against joins that try every pair: every backend, restarts, rescaling, lateness, types."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rekindle.checkpoint.storage import LocalCheckpointFiles
from rekindle.common import Time, Types, WatermarkStrategy
from rekindle.common.watermark_strategy import TimestampAssigner
from rekindle.datastream import (
    CoGroupFunction,
    DataStream,
    JoinFunction,
    RuntimeContext,
    StreamExecutionEnvironment,
)
from rekindle.datastream.functions import Function, KeySelector
from rekindle.datastream.joined_streams import WithWindow
from rekindle.datastream.state import ValueStateDescriptor
from rekindle.datastream.window import (
    CountEvictor,
    CountTrigger,
    EventTimeSessionWindows,
    GlobalWindows,
    PurgingTrigger,
    SessionWindowTimeGapExtractor,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
    WindowAssigner,
)
from rekindle.exceptions import InvalidProgramError
from rekindle.graph.transformations.windows import WindowContents, Windowing
from rekindle.runtime.operators.windows.co_group import CoGroupOperator
from rekindle.state.backend_settings import BackendSettings
from rekindle.state.rocksdb.settings import RocksDBSettings
from rekindle.testing import OperatorHarness
from support.in_process_job import InProcessJob, collect
from support.joins import BothOrders, Event, Groups, Pair, Windows, groups, joined, random_events
from support.seeds import rounds
from support.windows import sessions, sliding, tumbling

EVENT = Types.TUPLE([Types.STRING(), Types.LONG(), Types.LONG()])
BACKENDS = {
    "heap": BackendSettings(incremental=True),
    "rocksdb": BackendSettings(rocksdb=RocksDBSettings(cache_entries=8)),
    "rocksdb without cache": BackendSettings(rocksdb=RocksDBSettings(cache_entries=0)),
}
ASSIGNERS: dict[str, tuple[Callable[[], WindowAssigner[Any, Any]], Windows]] = {
    "tumbling": (lambda: TumblingEventTimeWindows.of(Time.milliseconds(7)), tumbling(7)),
    "sliding": (lambda: SlidingEventTimeWindows.of(Time.milliseconds(10), 4, 1), sliding(10, 4, 1)),
    "session": (lambda: EventTimeSessionWindows.with_gap(Time.milliseconds(4)), sessions(lambda event: 4)),
}
EVENTS = st.lists(st.tuples(st.sampled_from("ab"), st.integers(-20, 30), st.integers(0, 5)), max_size=12)


class Second(TimestampAssigner):
    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        return int(value[1])


class Key(KeySelector):
    def get_key(self, value: Any) -> str:
        return str(value[0])


def streams(
    first: list[Any], second: list[Any], types: tuple[Any, Any] = (EVENT, EVENT)
) -> tuple[DataStream, DataStream]:
    env = StreamExecutionEnvironment()
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(100).with_timestamp_assigner(Second())  # type: ignore[arg-type]
    one, two = (
        env.from_collection(events, type_info=type_info).assign_timestamps_and_watermarks(strategy)
        for events, type_info in zip((first, second), types, strict=True)
    )
    return one, two


def windowed(first: list[Any], second: list[Any], assigner: Any, kind: str = "join", **settings: Any) -> WithWindow:
    one, two = streams(first, second, **settings)
    paired = one.join(two) if kind == "join" else one.co_group(two)
    return paired.where(Key(), key_type=Types.STRING()).equal_to(lambda event: event[0]).window(assigner)


def run(stream: DataStream, parallelism: int = 2, **settings: Any) -> list[Any]:
    collect(stream)
    with InProcessJob(stream.get_execution_environment(), parallelism, **settings) as job:
        return job.run_to_end()


def operator_of(assigner: WindowAssigner[Any, Any], function: Function, **settings: Any) -> CoGroupOperator:
    trigger = assigner.get_default_trigger(None)  # type: ignore[arg-type]
    return CoGroupOperator(Windowing(assigner, trigger, WindowContents(None), **settings), function)


def by_key(event: Event) -> str:
    return event[0]


def feed(harness: OperatorHarness, side: int, events: list[Event]) -> list[Any]:
    process = harness.process_second if side else harness.process
    return process(*events, timestamps=[timestamp for _, timestamp, _ in events])


class TestWhatIsJoined:
    @pytest.mark.parametrize("assigner", ASSIGNERS)
    @given(first=EVENTS, second=EVENTS, cut=st.integers(0, 12))
    @settings(max_examples=rounds(10, named=25))
    def test_every_pair_of_a_window_is_joined_whatever_the_order_and_a_restart_in_the_middle(
        self, assigner: str, first: list[Event], second: list[Event], cut: int
    ) -> None:
        make, golden = ASSIGNERS[assigner]
        for function, expected in (
            (Pair(), joined(golden, first, second)),
            (
                BothOrders(),
                [p for a, b in joined(golden, first, second) if a[2] != b[2] for p in ((a, b), (b, a))],
            ),
            (Groups(), [(sorted(a), sorted(b)) for a, b in groups(golden, first, second)]),
        ):
            before = OperatorHarness(operator_of(make(), function), by_key, by_key)
            feed(before, 0, first[:cut])
            feed(before, 1, second[:cut])
            after = OperatorHarness(operator_of(make(), function), by_key, by_key, restored=[before.snapshot()])
            feed(after, 1, second[cut:])
            feed(after, 0, first[cut:])
            assert sorted(after.finish()) == sorted(expected)
            assert after.operator.timer_count() == 0
            assert list(after.snapshot().blocks) == [], "nothing is kept of windows that are gone"

    @pytest.mark.parametrize("backend", BACKENDS)
    @pytest.mark.parametrize("assigner", ASSIGNERS)
    def test_windows_are_joined_in_every_backend_and_across_a_rescale(
        self, assigner: str, backend: str, tmp_path: Path
    ) -> None:
        make, golden = ASSIGNERS[assigner]
        first, second = random_events(1, 80), random_events(2, 80)
        files = LocalCheckpointFiles(tmp_path)
        checkpoint, collected = None, []
        for parallelism, epochs in ((1, 2), (3, 2), (2, None)):
            grouped = windowed(first, second, make(), "co_group").apply(Groups())
            paired = windowed_again(grouped, first, second, make())
            collect(grouped)
            collect(paired)
            env = grouped.get_execution_environment()
            with InProcessJob(env, parallelism, files=files, backend=BACKENDS[backend], restore=checkpoint) as job:
                if epochs is None:
                    job.run_to_end()
                else:
                    for _ in range(epochs):
                        job.run_epoch(max_records=40)
                    checkpoint = job.checkpoint()
                collected += job.collected
        expected = [(sorted(a), sorted(b)) for a, b in groups(golden, first, second)]
        expected += joined(golden, first, second)  # type: ignore[arg-type]
        assert sorted(map(repr, collected)) == sorted(map(repr, expected))

    def test_results_have_the_last_timestamp_of_their_window(self) -> None:
        operator = operator_of(TumblingEventTimeWindows.of(10), Pair())
        harness = OperatorHarness(operator, by_key, by_key)
        feed(harness, 0, [("a", 3, 1)])
        feed(harness, 1, [("a", 5, 2)])
        chunk = operator.advance_watermark(9)
        assert chunk is not None
        assert (chunk.values, chunk.timestamps) == ([(("a", 3, 1), ("a", 5, 2))], [9])

    def test_a_join_may_give_none_and_a_flat_join_nothing(self) -> None:
        joining = windowed([("a", 1, 1)], [("a", 2, 2)], TumblingEventTimeWindows.of(10))
        assert run(joining.apply(lambda first, second: None)) == [None]

        def nothing(first: list[Any], second: list[Any]) -> None:
            return None

        grouping = windowed([("a", 1, 1)], [("a", 2, 2)], TumblingEventTimeWindows.of(10), "co_group")
        assert run(grouping.apply(nothing)) == []


def windowed_again(stream: DataStream, first: list[Any], second: list[Any], assigner: Any) -> DataStream:
    """Join two more streams in the program of a stream."""
    env = stream.get_execution_environment()
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(100).with_timestamp_assigner(Second())  # type: ignore[arg-type]
    one, two = (
        env.from_collection(events, type_info=EVENT).assign_timestamps_and_watermarks(strategy)
        for events in (first, second)
    )
    return one.join(two).where(Key()).equal_to(Key()).window(assigner).apply(Pair())


class TestLateElements:
    def test_an_element_whose_window_is_over_is_dropped(self) -> None:
        harness = OperatorHarness(operator_of(TumblingEventTimeWindows.of(10), Groups()), by_key, by_key)
        feed(harness, 0, [("a", 3, 1)])
        assert harness.advance_watermark(9) == [([("a", 3, 1)], [])]
        assert feed(harness, 1, [("a", 4, 2)]) == []
        assert harness.finish() == []

    def test_within_the_allowed_lateness_a_late_element_joins_all_that_is_there(self) -> None:
        operator = operator_of(TumblingEventTimeWindows.of(10), Pair(), allowed_lateness=5)
        harness = OperatorHarness(operator, by_key, by_key)
        feed(harness, 0, [("a", 3, 1)])
        assert harness.advance_watermark(9) == []
        assert feed(harness, 1, [("a", 4, 2)]) == [(("a", 3, 1), ("a", 4, 2))]
        assert harness.advance_watermark(14) == []
        assert feed(harness, 1, [("a", 5, 3)]) == []

    def test_lateness_is_set_as_for_other_windows(self) -> None:
        joining = windowed([], [], TumblingEventTimeWindows.of(10)).allowed_lateness(Time.seconds(1))
        node = joining.apply(Pair())._node
        assert node is not None
        assert node.transformation.windowing.allowed_lateness == 1000


class Gap(SessionWindowTimeGapExtractor):
    def extract(self, element: Any) -> int:
        side, (_, _, value) = element
        return value if side else 2 * value


class TestTriggersAndEvictors:
    def test_assigners_see_elements_with_the_number_of_their_stream(self) -> None:
        first, second = [("a", 0, 5)], [("a", 11, 1), ("a", 10, 1)]
        joining = windowed(first, second, EventTimeSessionWindows.with_dynamic_gap(Gap()))
        assert sorted(run(joining.apply(Pair()))) == sorted((first[0], two) for two in second)

    def test_a_trigger_counts_the_elements_of_both_streams(self) -> None:
        first, second = [("a", n, n) for n in range(3)], [("a", n, n + 10) for n in range(3)]
        joining = windowed(first, second, GlobalWindows.create()).trigger(PurgingTrigger.of(CountTrigger.of(6)))
        assert len(run(joining.apply(Pair()))) == 9

    def test_an_evictor_drops_elements_of_either_stream(self) -> None:
        first, second = [("a", 1, 1), ("a", 2, 2)], [("b", 1, 3), ("b", 2, 4), ("b", 3, 5)]
        grouping = windowed(first, second, TumblingEventTimeWindows.of(10), "co_group").evictor(CountEvictor.of(1))
        assert sorted(run(grouping.apply(Groups()), parallelism=1)) == [([], [("b", 3, 5)]), ([("a", 2, 2)], [])]

    def test_nothing_is_called_for_a_window_whose_elements_were_all_evicted(self) -> None:
        grouping = windowed([("a", 1, 1)], [], TumblingEventTimeWindows.of(10), "co_group")
        assert run(grouping.evictor(CountEvictor.of(0)).apply(Groups())) == []


@dataclass
class Order:
    """Be an element that can change."""

    key: str
    time: int
    items: list[str]

    def __getitem__(self, place: int) -> Any:
        return (self.key, self.time, self.items)[place]


class TestTypes:
    @pytest.mark.parametrize("backend", BACKENDS)
    @pytest.mark.parametrize(
        "types", [(None, None), (EVENT, None), (None, Order), (EVENT, Order)], ids=["none", "first", "second", "both"]
    )
    def test_elements_of_each_stream_keep_their_type(
        self, types: tuple[Any, Any], backend: str, tmp_path: Path
    ) -> None:
        first, second = [("a", 1, 1), ("a", 2, 2)], [Order("a", 3, ["x", "y"])]
        checkpoint, collected = None, []
        for epochs in (True, False):
            stream = windowed(first, second, TumblingEventTimeWindows.of(10), types=types).apply(Pair())
            collect(stream)
            env = stream.get_execution_environment()
            files = LocalCheckpointFiles(tmp_path)
            with InProcessJob(env, 1, files=files, backend=BACKENDS[backend], restore=checkpoint) as job:
                if epochs:
                    job.run_epoch(max_records=1)
                    checkpoint = job.checkpoint()
                else:
                    job.run_to_end()
                collected += job.collected
        assert sorted(collected) == [(one, second[0]) for one in first]

    def test_the_type_of_the_keys_holds_for_both_streams(self) -> None:
        one, two = streams([("1", 0, 1)], [("1", 1, 2)])
        paired = one.join(two).where(lambda e: int(e[0])).equal_to(lambda e: float(e[0]), key_type=Types.LONG())
        assert run(paired.window(TumblingEventTimeWindows.of(5)).apply(Pair())) == [(("1", 0, 1), ("1", 1, 2))]

    def test_keys_of_two_types_are_refused(self) -> None:
        one, two = streams([], [])
        with pytest.raises(InvalidProgramError, match="must be of one type"):
            one.join(two).where(Key(), Types.STRING()).equal_to(Key(), Types.LONG())


LIVES: list[Any] = []


class Rich(JoinFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        LIVES.append(("open", runtime_context.get_index_of_this_subtask()))
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def join(self, first: Any, second: Any) -> Any:
        self.count.update((self.count.value() or 0) + 1)
        return first[0], self.count.value()

    def close(self) -> None:
        LIVES.append("close")


class TestFunctions:
    def test_rich_functions_are_opened_and_closed_and_have_state_per_key(self) -> None:
        LIVES.clear()
        joining = windowed([("a", 1, 1), ("a", 12, 1)], [("a", 2, 2), ("a", 13, 3)], TumblingEventTimeWindows.of(10))
        assert run(joining.apply(Rich(), output_type=Types.TUPLE([Types.STRING(), Types.LONG()]))) == [
            ("a", 1),
            ("a", 2),
        ]
        assert LIVES == [("open", 0), ("open", 1), "close", "close"]

    def test_callables_do(self) -> None:
        first, second = [("a", 1, 1)], [("a", 2, 2), ("b", 1, 3)]
        joining = windowed(first, second, TumblingEventTimeWindows.of(10))
        assert run(joining.apply(lambda one, two: one[2] + two[2])) == [3]
        grouping = windowed(first, second, TumblingEventTimeWindows.of(10), "co_group")
        assert sorted(run(grouping.apply(lambda ones, twos: [(len(ones), len(twos))]))) == [(0, 1), (1, 1)]

    def test_what_is_no_function_is_refused(self) -> None:
        def flat(first: Any, second: Any) -> Iterable[Any]:
            yield first

        joining = windowed([], [], TumblingEventTimeWindows.of(10))
        with pytest.raises(TypeError, match="make it the join method of a FlatJoinFunction"):
            joining.apply(flat)
        with pytest.raises(TypeError, match="takes a JoinFunction or a callable, and was given an int"):
            joining.apply(1)  # type: ignore[arg-type]
        with pytest.raises(TypeError, match=r"was given the class: write Groups\(\)"):
            windowed([], [], TumblingEventTimeWindows.of(10), "co_group").apply(Groups)
        assert issubclass(Groups, CoGroupFunction)

    def test_what_is_no_stream_or_of_another_program_is_refused(self) -> None:
        one, _ = streams([], [])
        other, _ = streams([], [])
        with pytest.raises(TypeError, match="join takes a DataStream, and was given an int"):
            one.join(1)  # type: ignore[arg-type]
        with pytest.raises(InvalidProgramError, match="co_group takes streams of one environment"):
            one.co_group(other)
        with pytest.raises(TypeError, match="takes a KeySelector or a callable"):
            one.join(one).where(0).equal_to(Key())  # type: ignore[arg-type]
