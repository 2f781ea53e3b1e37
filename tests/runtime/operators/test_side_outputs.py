"""Side outputs: ``yield tag, value`` leaves apart from the main output, wherever the readers of it are."""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rekindle.checkpoint.storage import LocalCheckpointFiles
from rekindle.common import Types, WatermarkStrategy
from rekindle.common.watermark_strategy import TimestampAssigner
from rekindle.datastream import (
    DataStream,
    KeyedProcessFunction,
    OutputTag,
    ProcessFunction,
    RuntimeContext,
    StreamExecutionEnvironment,
)
from rekindle.datastream.connectors.number_seq import NumberSequenceSource
from rekindle.datastream.state import ValueStateDescriptor
from rekindle.exceptions import InvalidProgramError
from rekindle.graph.compilation.compiler import compile_job
from rekindle.runtime.slot.failure import OperatorError
from rekindle.state.backend_settings import BackendSettings
from rekindle.state.rocksdb.settings import RocksDBSettings
from rekindle.testing import OperatorHarness
from support.in_process_job import InProcessJob, collect

ODD = OutputTag("odd")
HALVES = OutputTag("halves", Types.FLOAT())
BACKENDS = {"heap": BackendSettings(), "RocksDB": BackendSettings(RocksDBSettings(), incremental=True)}


class Split(ProcessFunction):
    """Send even numbers on, odd ones to a side output, and the half of each to another."""

    def process_element(self, value: int, ctx: ProcessFunction.Context) -> Iterator[Any]:
        yield HALVES, value / 2
        if value % 2:
            yield ODD, value
        else:
            yield value


class Labelled(ProcessFunction):
    """Show each record with the name of its stream and its timestamp."""

    def __init__(self, name: str) -> None:
        self.name = name

    def process_element(self, value: Any, ctx: ProcessFunction.Context) -> Iterator[Any]:
        yield self.name, value, ctx.timestamp()


class Itself(TimestampAssigner):
    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        return int(value)


def environment() -> StreamExecutionEnvironment:
    return StreamExecutionEnvironment.get_execution_environment()


def run(env: StreamExecutionEnvironment, parallelism: int = 1, max_records: int = 1_000) -> list[Any]:
    with InProcessJob(env, parallelism) as job:
        return job.run_to_end(max_records)


def collected(*streams: DataStream, parallelism: int = 1) -> list[list[Any]]:
    """Run the job of some streams; give what each of them carried."""
    for number, stream in enumerate(streams):
        collect(stream.map(lambda value, number=number: (number, value)))
    result: list[list[Any]] = [[] for _ in streams]
    for number, value in run(streams[0].get_execution_environment(), parallelism):
        result[number].append(value)
    return result


class TestRouting:
    def test_main_and_side_outputs_are_streams_of_their_own(self) -> None:
        split = environment().from_collection([1, 2, 3, 4]).process(Split())
        odd, halves = split.get_side_output(ODD), split.get_side_output(HALVES)
        assert collected(split, odd, halves) == [[2, 4], [1, 3], [0.5, 1.0, 1.5, 2.0]]

    def test_a_side_output_that_nobody_reads_is_dropped(self) -> None:
        split = environment().from_collection([1, 2, 3, 4]).process(Split())
        assert collected(split) == [[2, 4]]
        split = environment().from_collection([1, 2, 3, 4]).process(Split())
        assert collected(split, split.get_side_output(ODD)) == [[2, 4], [1, 3]]

    def test_a_main_output_that_nobody_reads_is_dropped(self) -> None:
        split = environment().from_collection([1, 2, 3, 4]).process(Split())
        assert collected(split.get_side_output(ODD)) == [[1, 3]]

    def test_a_side_output_without_records_is_an_empty_stream(self) -> None:
        split = environment().from_collection([1, 2]).process(Split())
        assert collected(split, split.get_side_output(OutputTag("other"))) == [[2], []]

    @pytest.mark.parametrize("parallelism", [1, 2, 3])
    def test_side_outputs_cross_exchanges(self, parallelism: int) -> None:
        env = environment()
        numbers = env.from_source(NumberSequenceSource(1, 100), WatermarkStrategy.no_watermarks(), "numbers")
        split = numbers.process(Split())
        odd = split.get_side_output(ODD).key_by(lambda n: n % 5).map(lambda n: -n)
        halves = split.get_side_output(HALVES).rebalance()
        main, odds, floats = collected(split.rebalance(), odd, halves, parallelism=parallelism)
        assert sorted(main) == list(range(2, 101, 2))
        assert sorted(odds) == sorted(-n for n in range(1, 101, 2))
        assert sorted(floats) == [n / 2 for n in range(1, 101)]

    def test_each_of_several_readers_has_records_of_its_own(self) -> None:
        lists = OutputTag("lists")

        class Lists(ProcessFunction):
            def process_element(self, value: int, ctx: ProcessFunction.Context) -> Iterator[Any]:
                yield lists, [value]

        def grow(values: list[int]) -> list[int]:
            values.append(0)
            return values

        side = environment().from_collection([1, 2]).process(Lists()).get_side_output(lists)
        assert collected(side.map(grow), side, side.map(grow)) == [[[1, 0], [2, 0]], [[1], [2]], [[1, 0], [2, 0]]]

    def test_a_side_output_can_be_united_with_its_main_output(self) -> None:
        split = environment().from_collection([1, 2, 3, 4]).process(Split())
        (together,) = collected(split.union(split.get_side_output(ODD)))
        assert sorted(together) == [1, 2, 3, 4]

    def test_a_side_output_can_be_named_and_have_an_uid_and_a_parallelism(self) -> None:
        split = environment().from_collection([1, 2, 3, 4]).process(Split())
        side = split.get_side_output(ODD).name("odd numbers").uid("odd").set_parallelism(3)
        assert side.get_name() == "odd numbers"
        main, odd = collected(split, side, parallelism=2)
        assert (sorted(main), sorted(odd)) == ([2, 4], [1, 3])

    def test_records_of_side_outputs_keep_their_timestamps(self) -> None:
        strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(Itself())
        stream = environment().from_collection([10, 11, 13]).assign_timestamps_and_watermarks(strategy)
        split = stream.process(Split())
        collect(split.process(Labelled("main")))
        collect(split.get_side_output(ODD).rebalance().process(Labelled("odd")))
        assert sorted(run(stream.get_execution_environment())) == [
            ("main", 10, 10),
            ("odd", 11, 11),
            ("odd", 13, 13),
        ]

    def test_a_later_operator_does_not_pass_on_the_side_outputs_of_an_earlier_one(self) -> None:
        split = environment().from_collection([1, 2, 3, 4]).process(Split())
        again = split.process(Labelled("main"))
        assert collected(again, again.get_side_output(ODD)) == [[("main", 2, None), ("main", 4, None)], []]

    def test_a_function_that_returns_a_list_has_side_outputs_too(self) -> None:
        class Returns(ProcessFunction):
            def process_element(self, value: int, ctx: ProcessFunction.Context) -> list[Any]:
                return [value, (ODD, -value)]

        stream = environment().from_collection([1, 2]).process(Returns())
        assert collected(stream, stream.get_side_output(ODD)) == [[1, 2], [-1, -2]]

    def test_tuples_that_begin_with_anything_else_stay_in_the_main_output(self) -> None:
        class Pairs(ProcessFunction):
            def process_element(self, value: int, ctx: ProcessFunction.Context) -> Iterator[Any]:
                yield "odd", value
                yield [value], value
                yield ()

        stream = environment().from_collection([1]).process(Pairs())
        assert collected(stream, stream.get_side_output(ODD)) == [[("odd", 1), ([1], 1), ()], []]

    def test_what_was_sent_to_a_side_output_does_not_change_any_more(self) -> None:
        class Grows(ProcessFunction):
            def open(self, runtime_context: RuntimeContext) -> None:
                self.values: list[int] = []

            def process_element(self, value: int, ctx: ProcessFunction.Context) -> Iterator[Any]:
                self.values.append(value)
                yield ODD, self.values

        harness = OperatorHarness.unkeyed(Grows())
        harness.process(1, 2)
        assert harness.side_outputs == {"odd": [[1], [1, 2]]}


class TestTypes:
    def test_records_are_converted_to_the_type_of_the_tag_not_to_that_of_the_main_output(self) -> None:
        class Both(ProcessFunction):
            def process_element(self, value: float, ctx: ProcessFunction.Context) -> Iterator[Any]:
                yield 7
                yield HALVES, 0.1

        stream = environment().from_collection([1.0]).process(Both(), Types.INT())
        side = stream.get_side_output(HALVES)
        assert side.get_type() == Types.FLOAT()
        assert collected(stream, side) == [[7], [struct.unpack("f", struct.pack("f", 0.1))[0]]]

    def test_a_side_output_without_a_type_takes_any_object(self) -> None:
        stream = environment().from_collection([1]).process(Split()).get_side_output(ODD)
        assert stream.get_type() == Types.PICKLED_BYTE_ARRAY()

    def test_a_record_that_does_not_fit_fails_the_job_naming_the_operator(self) -> None:
        class Wrong(ProcessFunction):
            def process_element(self, value: int, ctx: ProcessFunction.Context) -> Iterator[Any]:
                yield HALVES, "text"

        stream = environment().from_collection([1]).process(Wrong()).name("splits")
        collect(stream.get_side_output(HALVES))
        with InProcessJob(stream.get_execution_environment()) as job, pytest.raises(OperatorError, match="splits"):
            job.run_epoch()

    def test_one_id_with_two_types_is_refused(self) -> None:
        stream = environment().from_collection([1]).process(Split())
        stream.get_side_output(HALVES)
        stream.get_side_output(OutputTag("halves", Types.FLOAT()))
        with pytest.raises(InvalidProgramError, match=r"side output 'halves' of 'PROCESS' .* give .* another id"):
            stream.get_side_output(OutputTag("halves", Types.STRING()))


class TestRefusals:
    def test_only_the_stream_of_an_operator_has_side_outputs(self) -> None:
        stream = environment().from_collection([1]).process(Split())
        for other in (stream.union(stream), stream.key_by(lambda n: n)):
            with pytest.raises(InvalidProgramError, match="get_side_output is for operators"):
                other.get_side_output(HALVES)

    def test_a_source_has_none(self) -> None:
        with pytest.raises(InvalidProgramError, match="source 'Collection Source' has no side outputs"):
            environment().from_collection([1]).get_side_output(ODD)

    def test_a_tag_comes_with_one_value(self) -> None:
        class Three(ProcessFunction):
            def process_element(self, value: int, ctx: ProcessFunction.Context) -> Iterator[Any]:
                yield ODD, value, value

        with pytest.raises(TypeError, match=r"3 values were yielded for side output 'odd'.* the tag and one value"):
            OperatorHarness.unkeyed(Three()).process(1)

    def test_it_takes_a_tag(self) -> None:
        with pytest.raises(TypeError, match="get_side_output takes an OutputTag, and was given 'odd'"):
            environment().from_collection([1]).process(Split()).get_side_output("odd")  # type: ignore[arg-type]


def test_readers_of_different_side_outputs_have_uids_of_their_own() -> None:
    def uids(read_main_first: bool) -> dict[str, str]:
        split = environment().from_collection([1]).process(Split())
        streams = {"main": split, "odd": split.get_side_output(ODD), "halves": split.get_side_output(HALVES)}
        for name in streams if read_main_first else reversed(streams):
            streams[name].map(str).name(name)
        graph = compile_job(split.get_execution_environment()._graph, 1, None)
        return {node.name: node.uid for node in graph.nodes if node.name in streams}

    assert len(set(uids(True).values())) == 3
    assert uids(True) == uids(False), "the order in which they were written does not matter"


class Alerts(KeyedProcessFunction):
    """Count per key; every fifth count goes to a side output, as does what a timer at the end finds."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count"))

    def process_element(self, value: int, ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        count = (self.count.value() or 0) + 1
        self.count.update(count)
        ctx.timer_service().register_event_time_timer(10_000)
        if count % 5 == 0:
            yield ALERTS, (ctx.get_current_key(), count)
        yield ctx.get_current_key(), count

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterator[Any]:
        yield ALERTS, (f"total of {ctx.get_current_key()}", self.count.value())


ALERTS = OutputTag("alerts", Types.TUPLE([Types.STRING(), Types.INT()]))
KEYS, NUMBERS = 11, 700


def alerting() -> StreamExecutionEnvironment:
    env = environment()
    numbers = env.from_source(NumberSequenceSource(1, NUMBERS), WatermarkStrategy.no_watermarks(), "numbers")
    alerts = numbers.uid("numbers").key_by(lambda n: str(n % KEYS)).process(Alerts()).uid("alerts")
    collect(alerts.map(lambda pair: ("main", *pair)))
    collect(alerts.get_side_output(ALERTS).key_by(lambda pair: pair[0]).map(lambda pair: ("alert", *pair)))
    return env


def expected() -> Counter[tuple[str, str, int]]:
    counts = Counter(str(n % KEYS) for n in range(1, NUMBERS + 1))
    result: Counter[tuple[str, str, int]] = Counter()
    for key, total in counts.items():
        result.update(("main", key, count) for count in range(1, total + 1))
        result.update(("alert", key, count) for count in range(5, total + 1, 5))
        result["alert", f"total of {key}", total] += 1
    return result


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("steps", [(2, 2), (1, 3, 2)])
def test_side_outputs_after_a_restore_and_with_another_parallelism(
    steps: tuple[int, ...], backend: str, tmp_path: Path
) -> None:
    files, checkpoint = LocalCheckpointFiles(str(tmp_path)), None
    seen: list[Any] = []
    for parallelism in steps:
        job = InProcessJob(alerting(), parallelism, files=files, restore=checkpoint, backend=BACKENDS[backend])
        with job:
            job.run_epoch(60)
            job.run_epoch(30)
            checkpoint = job.checkpoint()
            seen += job.collected
            job.run_epoch(30)  # lost with the job
    with InProcessJob(alerting(), 2, files=files, restore=checkpoint, backend=BACKENDS[backend]) as job:
        seen += job.run_to_end(50)
    assert Counter(seen) == expected()
