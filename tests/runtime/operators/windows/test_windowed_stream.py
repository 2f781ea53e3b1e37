"""Programs with windows: what PyFlink 2.3 gives for the same programs, and what is refused."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from rekindle.checkpoint.storage import LocalCheckpointFiles
from rekindle.common import Time, Types
from rekindle.datastream import (
    AggregateFunction,
    DataStream,
    KeyedStream,
    OutputTag,
    ProcessWindowFunction,
    StreamExecutionEnvironment,
    WindowFunction,
)
from rekindle.datastream.functions import AllWindowFunction, ProcessAllWindowFunction
from rekindle.datastream.state import ValueStateDescriptor
from rekindle.datastream.window import (
    CountEvictor,
    CountTrigger,
    EventTimeSessionWindows,
    GlobalWindows,
    NeverTrigger,
    PurgingTrigger,
    SessionWindowTimeGapExtractor,
    SlidingEventTimeWindows,
    TimeEvictor,
    TumblingEventTimeWindows,
    TumblingProcessingTimeWindows,
)
from rekindle.exceptions import ConfigurationError, InvalidProgramError
from rekindle.runtime.operators.building import OperatorBuilder
from rekindle.state.backend_settings import BackendSettings
from rekindle.state.rocksdb.settings import RocksDBSettings
from rekindle.testing import OperatorHarness
from support.in_process_job import InProcessJob, collect

EVENTS = [
    ("a", 1, 3), ("b", 2, 5), ("a", 7, 2), ("a", 4, 4), ("b", 12, 9),
    ("a", 21, 1), ("b", 20, 2), ("a", -3, 6), ("a", 10, 7), ("b", 13, 1),
]  # fmt: skip
EVENT = Types.TUPLE([Types.STRING(), Types.LONG(), Types.LONG()])
BACKENDS = {"heap": BackendSettings(), "rocksdb": BackendSettings(rocksdb=RocksDBSettings())}


class Show(ProcessWindowFunction):
    def process(self, key: str, context: Any, elements: Iterable[Any]) -> Iterator[str]:
        yield f"{key} {context.window()} {sorted(elements)}"


class ShowApplied(WindowFunction):
    def apply(self, key: str, window: Any, inputs: Iterable[Any]) -> Iterator[str]:
        yield f"{key} {window} {sorted(inputs)}"


class ShowAll(AllWindowFunction):
    def apply(self, window: Any, inputs: Iterable[Any]) -> Iterator[str]:
        yield f"{window} {sorted(inputs)}"


class Seen(ProcessWindowFunction):
    def process(self, key: str, context: Any, elements: Iterable[Any]) -> Iterator[str]:
        of_key = context.global_state().get_state(ValueStateDescriptor("total", Types.LONG()))
        of_window = context.window_state().get_state(ValueStateDescriptor("count", Types.LONG()))
        of_key.update((of_key.value() or 0) + 1)
        of_window.update((of_window.value() or 0) + 1)
        yield f"{key} {context.window()} {len(list(elements))} {of_key.value()} {of_window.value()}"


class Mean(AggregateFunction):
    def create_accumulator(self) -> tuple[int, int]:
        return 0, 0

    def add(self, value: Any, accumulator: tuple[int, int]) -> tuple[int, int]:
        return accumulator[0] + value[2], accumulator[1] + 1

    def get_result(self, accumulator: tuple[int, int]) -> float:
        return accumulator[0] / accumulator[1]

    def merge(self, acc_a: tuple[int, int], acc_b: tuple[int, int]) -> tuple[int, int]:
        return acc_a[0] + acc_b[0], acc_a[1] + acc_b[1]


class Gap(SessionWindowTimeGapExtractor):
    def extract(self, element: Any) -> int:
        return int(element[2])


def source() -> DataStream:
    return StreamExecutionEnvironment().from_collection(EVENTS, type_info=EVENT)


def keyed() -> KeyedStream:
    return source().key_by(lambda event: event[0], key_type=Types.STRING())


def millis(amount: int) -> Time:
    return Time.milliseconds(amount)


# What PyFlink 2.3 printed for these programs over EVENTS, with their second field as timestamp. Windows of one end fire
# in any order there, and the elements of merged sessions come in any.
SEEN_IN_PYFLINK: dict[str, tuple[Callable[[], DataStream], list[Any]]] = {
    "tumbling, process": (
        lambda: keyed().window(TumblingEventTimeWindows.of(millis(5))).process(Show()),
        [
            "a TimeWindow(start=-5, end=0) [('a', -3, 6)]",
            "b TimeWindow(start=0, end=5) [('b', 2, 5)]",
            "a TimeWindow(start=0, end=5) [('a', 1, 3), ('a', 4, 4)]",
            "a TimeWindow(start=5, end=10) [('a', 7, 2)]",
            "a TimeWindow(start=10, end=15) [('a', 10, 7)]",
            "b TimeWindow(start=10, end=15) [('b', 12, 9), ('b', 13, 1)]",
            "b TimeWindow(start=20, end=25) [('b', 20, 2)]",
            "a TimeWindow(start=20, end=25) [('a', 21, 1)]",
        ],
    ),
    "tumbling with an offset, reduce": (
        lambda: (
            keyed()
            .window(TumblingEventTimeWindows.of(millis(5), millis(2)))
            .reduce(lambda a, b: (a[0], max(a[1], b[1]), a[2] + b[2]))
        ),
        [
            ("a", 1, 9),
            ("b", 2, 5),
            ("a", 4, 4),
            ("a", 10, 9),
            ("b", 13, 10),
            ("a", 21, 1),
            ("b", 20, 2),
        ],
    ),
    "sliding, aggregate and process": (
        lambda: keyed().window(SlidingEventTimeWindows.of(millis(10), millis(5))).aggregate(Mean(), Show()),
        [
            "a TimeWindow(start=-10, end=0) [6.0]",
            "b TimeWindow(start=-5, end=5) [5.0]",
            "a TimeWindow(start=-5, end=5) [4.333333333333333]",
            "a TimeWindow(start=0, end=10) [3.0]",
            "b TimeWindow(start=0, end=10) [5.0]",
            "a TimeWindow(start=5, end=15) [4.5]",
            "b TimeWindow(start=5, end=15) [5.0]",
            "a TimeWindow(start=10, end=20) [7.0]",
            "b TimeWindow(start=10, end=20) [5.0]",
            "b TimeWindow(start=15, end=25) [2.0]",
            "a TimeWindow(start=15, end=25) [1.0]",
            "a TimeWindow(start=20, end=30) [1.0]",
            "b TimeWindow(start=20, end=30) [2.0]",
        ],
    ),
    "session, apply": (
        lambda: keyed().window(EventTimeSessionWindows.with_gap(millis(3))).apply(ShowApplied()),
        [
            "a TimeWindow(start=-3, end=0) [('a', -3, 6)]",
            "b TimeWindow(start=2, end=5) [('b', 2, 5)]",
            "a TimeWindow(start=1, end=13) [('a', 1, 3), ('a', 4, 4), ('a', 7, 2), ('a', 10, 7)]",
            "b TimeWindow(start=12, end=16) [('b', 12, 9), ('b', 13, 1)]",
            "b TimeWindow(start=20, end=23) [('b', 20, 2)]",
            "a TimeWindow(start=21, end=24) [('a', 21, 1)]",
        ],
    ),
    "dynamic session, apply": (
        lambda: keyed().window(EventTimeSessionWindows.with_dynamic_gap(Gap())).apply(ShowApplied()),
        [
            "b TimeWindow(start=2, end=7) [('b', 2, 5)]",
            "a TimeWindow(start=-3, end=9) [('a', -3, 6), ('a', 1, 3), ('a', 4, 4), ('a', 7, 2)]",
            "a TimeWindow(start=10, end=17) [('a', 10, 7)]",
            "b TimeWindow(start=12, end=22) [('b', 12, 9), ('b', 13, 1), ('b', 20, 2)]",
            "a TimeWindow(start=21, end=22) [('a', 21, 1)]",
        ],
    ),
    "count": (
        lambda: keyed().count_window(3).apply(ShowApplied()),
        [
            "a CountWindow(id=0) [('a', 1, 3), ('a', 4, 4), ('a', 7, 2)]",
            "b CountWindow(id=0) [('b', 2, 5), ('b', 12, 9), ('b', 20, 2)]",
            "a CountWindow(id=1) [('a', -3, 6), ('a', 10, 7), ('a', 21, 1)]",
        ],
    ),
    "count, sliding": (
        lambda: keyed().count_window(3, 2).apply(ShowApplied()),
        [
            "a CountWindow(id=0) [('a', 1, 3), ('a', 4, 4), ('a', 7, 2)]",
            "b CountWindow(id=0) [('b', 2, 5), ('b', 12, 9), ('b', 20, 2)]",
            "a CountWindow(id=1) [('a', -3, 6), ('a', 4, 4), ('a', 21, 1)]",
        ],
    ),
    "count, with holes": (
        lambda: keyed().count_window(1, 3).apply(ShowApplied()),
        [
            "a CountWindow(id=0) [('a', 1, 3)]",
            "b CountWindow(id=0) [('b', 2, 5)]",
            "a CountWindow(id=1) [('a', 21, 1)]",
            "b CountWindow(id=1) [('b', 13, 1)]",
        ],
    ),
    "global, with state": (
        lambda: keyed().window(GlobalWindows.create()).trigger(CountTrigger.of(2)).process(Seen()),
        [
            "a GlobalWindow 2 1 1",
            "b GlobalWindow 2 1 1",
            "a GlobalWindow 4 2 2",
            "a GlobalWindow 6 3 3",
            "b GlobalWindow 4 2 2",
        ],
    ),
    "global, purging": (
        lambda: keyed().window(GlobalWindows.create()).trigger(PurgingTrigger.of(CountTrigger.of(2))).process(Show()),
        [
            "a GlobalWindow [('a', 1, 3), ('a', 7, 2)]",
            "b GlobalWindow [('b', 2, 5), ('b', 12, 9)]",
            "a GlobalWindow [('a', 4, 4), ('a', 21, 1)]",
            "a GlobalWindow [('a', -3, 6), ('a', 10, 7)]",
            "b GlobalWindow [('b', 13, 1), ('b', 20, 2)]",
        ],
    ),
    "all, tumbling": (
        lambda: source().window_all(TumblingEventTimeWindows.of(millis(10))).apply(ShowAll()),
        [
            "TimeWindow(start=-10, end=0) [('a', -3, 6)]",
            "TimeWindow(start=0, end=10) [('a', 1, 3), ('a', 4, 4), ('a', 7, 2), ('b', 2, 5)]",
            "TimeWindow(start=10, end=20) [('a', 10, 7), ('b', 12, 9), ('b', 13, 1)]",
            "TimeWindow(start=20, end=30) [('a', 21, 1), ('b', 20, 2)]",
        ],
    ),
}


@pytest.mark.parametrize("name", SEEN_IN_PYFLINK)
def test_a_program_gives_what_it_gives_in_pyflink(name: str) -> None:
    program, expected = SEEN_IN_PYFLINK[name]
    stream = program()
    assert stream._node is not None
    selector = stream._node.inputs[0].partitioner.key_selector
    harness = OperatorHarness(OperatorBuilder().build(stream._node.transformation), selector)
    harness.process(*EVENTS, timestamps=[timestamp for _, timestamp, _ in EVENTS])
    harness.finish()
    assert sorted(map(str, harness.output)) == sorted(map(str, expected))


def numbers_by_remainder(count: int, remainder: int = 5) -> tuple[StreamExecutionEnvironment, KeyedStream]:
    env = StreamExecutionEnvironment()
    numbers = env.from_collection([(n % remainder, n) for n in range(count)])
    return env, numbers.key_by(lambda pair: pair[0])


class Pairs(WindowFunction):
    def apply(self, key: int, window: Any, inputs: Iterable[Any]) -> Iterator[Any]:
        yield key, window.id, [n for _, n in inputs]


class TestJobs:
    @pytest.mark.parametrize("backend", BACKENDS)
    @pytest.mark.parametrize("after", [1, 3])
    def test_windows_survive_a_restart_at_another_parallelism(self, tmp_path: Path, backend: str, after: int) -> None:
        def program() -> StreamExecutionEnvironment:
            env, keyed = numbers_by_remainder(100)
            collect(keyed.count_window(8, 4).apply(Pairs()).uid("windows"))
            return env

        expected = [
            (key, window, list(range(key + window * 20, key + window * 20 + 40, 5)))
            for key in range(5)
            for window in range(4)
        ]
        files = LocalCheckpointFiles(str(tmp_path))
        with InProcessJob(program(), 2, files=files, backend=BACKENDS[backend]) as job:
            job.run_epoch(max_records=37)
            checkpoint = job.checkpoint()
            seen = list(job.collected)
        with InProcessJob(
            program(), after, files=files, backend=BACKENDS[backend], restore=checkpoint, attempt=1
        ) as job:
            seen += job.run_to_end()
        assert sorted(seen) == sorted(expected)

    def test_windows_by_the_clock_fire_while_the_job_runs(self) -> None:
        env, keyed = numbers_by_remainder(10, 2)
        collect(
            keyed.window(TumblingProcessingTimeWindows.of(millis(1_000))).reduce(
                lambda a, b: (a[0], a[1] + b[1]), output_type=Types.TUPLE([Types.INT(), Types.INT()])
            )
        )
        with InProcessJob(env, 2) as job:
            job.run_epoch(max_records=4)
            job.clock.set(5_000)
            job.run_epoch(max_records=0)
            assert sorted(job.collected) == [(0, 0 + 2), (1, 1 + 3)]

    def test_a_stream_without_a_key_is_windowed_in_one_subtask(self) -> None:
        class Numbers(ProcessAllWindowFunction):
            def process(self, context: Any, elements: Iterable[Any]) -> list[Any]:
                return [(context.window().id, sum(elements))]

        env = StreamExecutionEnvironment()
        collect(env.from_collection(range(10)).count_window_all(4).process(Numbers()))
        with InProcessJob(env, 3) as job:
            assert job.run_to_end() == [(0, 0 + 1 + 2 + 3), (1, 4 + 5 + 6 + 7)]

    def test_a_window_that_is_emitted_is_a_window_behind_an_exchange(self) -> None:
        class Windows(WindowFunction):
            def apply(self, key: int, window: Any, inputs: Iterable[Any]) -> list[Any]:
                return [window]

        env, keyed = numbers_by_remainder(10, 2)
        windows = keyed.count_window(5).apply(Windows())
        collect(windows.key_by(lambda window: window).map(lambda window: f"{window} {window.id}"))
        with InProcessJob(env, 2) as job:
            assert job.run_to_end() == ["CountWindow(id=0) 0"] * 2


class TestAccumulatingWithAnEvictor:
    def test_reduce_and_aggregate_see_what_the_evictor_leaves(self) -> None:
        windowed = keyed().window(GlobalWindows.create()).trigger(CountTrigger.of(3)).evictor(CountEvictor.of(2))
        reduced = windowed.reduce(lambda a, b: (a[0], b[1], a[2] + b[2]))
        averaged = windowed.aggregate(Mean())
        for stream, expected in ((reduced, [("a", 4, 6), ("b", 20, 11), ("a", 10, 13)]), (averaged, [3.0, 5.5, 6.5])):
            assert stream._node is not None
            harness = OperatorHarness(OperatorBuilder().build(stream._node.transformation), lambda event: event[0])
            assert harness.process(*EVENTS, timestamps=[t for _, t, _ in EVENTS]) == expected

    def test_what_is_evicted_after_the_function_was_still_seen_by_it(self) -> None:
        windowed = keyed().window(GlobalWindows.create()).trigger(CountTrigger.of(2))
        stream = windowed.evictor(TimeEvictor.of(millis(5), do_evict_after=True)).apply(ShowApplied())
        assert stream._node is not None
        harness = OperatorHarness(OperatorBuilder().build(stream._node.transformation), lambda event: event[0])
        assert harness.process(*[("a", t, 0) for t in (1, 9, 6, 2)], timestamps=[1, 9, 6, 2]) == [
            "a GlobalWindow [('a', 1, 0), ('a', 9, 0)]",
            "a GlobalWindow [('a', 2, 0), ('a', 6, 0), ('a', 9, 0)]",
        ]


class TestRefused:
    def test_a_trigger_that_cannot_merge_with_windows_that_do(self) -> None:
        windowed = keyed().window(EventTimeSessionWindows.with_gap(millis(3)))
        with pytest.raises(InvalidProgramError, match=r"NeverTrigger cannot be used.*merge"):
            windowed.trigger(NeverTrigger())

    def test_what_is_no_assigner_trigger_evictor_tag_or_function(self) -> None:
        windowed: Any = keyed().count_window(2)
        for call, words in (
            (lambda: keyed().window(Show()), "window takes a WindowAssigner, and was given a Show"),  # type: ignore[arg-type]
            (lambda: windowed.trigger(1), "trigger takes a Trigger"),
            (lambda: windowed.evictor(1), "evictor takes an Evictor"),
            (lambda: windowed.side_output_late_data("late"), "side_output_late_data takes an OutputTag"),
            (lambda: windowed.process(ShowApplied()), "process takes a ProcessWindowFunction"),
            (lambda: windowed.apply(ShowAll()), "apply takes a WindowFunction"),
            (
                lambda: windowed.reduce(max, ShowAll()),
                "a ProcessWindowFunction, and was given a ShowAll",
            ),
        ):
            with pytest.raises(TypeError, match=words):
                call()

    def test_a_negative_lateness(self) -> None:
        with pytest.raises(ConfigurationError, match="must not be negative"):
            keyed().count_window(2).allowed_lateness(-1)

    def test_settings_reach_the_operator(self) -> None:
        tag = OutputTag("late")
        windowed = keyed().window(TumblingEventTimeWindows.of(millis(5)))
        stream = windowed.allowed_lateness(7).side_output_late_data(tag).process(Show())
        assert stream._node is not None
        windowing = stream._node.transformation.windowing
        assert (windowing.allowed_lateness, windowing.late_tag) == (7, tag)
