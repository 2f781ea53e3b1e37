"""Timestamps and watermarks: how a strategy makes them, how they move through a job, what idleness does to them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest

from rekindle.checkpoint.storage import LocalCheckpointFiles
from rekindle.common import Duration, WatermarkStrategy
from rekindle.common.watermark_generator import WatermarkGenerator, WatermarkOutput
from rekindle.common.watermark_strategy import TimestampAssigner
from rekindle.datastream import DataStream, ProcessFunction, StreamExecutionEnvironment
from rekindle.datastream.connectors.number_seq import NumberSequenceSource
from rekindle.exceptions import InvalidCallError
from rekindle.graph.partitioning import FORWARD
from rekindle.graph.stream_graph import StreamEdge
from rekindle.graph.transformations.sources import RowsTransformation
from rekindle.runtime.chunk import Chunk
from rekindle.runtime.exchange.payload import Progress
from rekindle.runtime.operators.event_time import EventTime, TimestampsAndWatermarksOperator
from rekindle.runtime.operators.operator import MAX_WATERMARK, MIN_WATERMARK
from rekindle.runtime.operators.slot_source import SlotSource
from rekindle.runtime.operators.source_operator import SourceOperator
from rekindle.runtime.slot.failed_record import failed_record
from rekindle.runtime.slot.failure import OperatorError
from rekindle.runtime.slot.progress import InputProgress, combined_watermark
from rekindle.state.operator_state.stored import StoredList
from rekindle.testing import ManualClock, OperatorHarness
from support.in_process_job import InProcessJob, collect

MONOTONOUS = WatermarkStrategy.for_monotonous_timestamps()


class Itself(TimestampAssigner):
    """The record is its own timestamp."""

    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        return int(value)


class Field(TimestampAssigner):
    def __init__(self, name: str) -> None:
        self.name = name

    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        return int(value[self.name])


class TimeOfRecords(ProcessFunction):
    """Show each record with its timestamp and the watermark it saw."""

    def process_element(self, value: Any, ctx: ProcessFunction.Context) -> Iterator[Any]:
        yield value, ctx.timestamp(), ctx.timer_service().current_watermark()


def bounded(millis: int) -> WatermarkStrategy:
    return WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(millis))


def by_itself(strategy: WatermarkStrategy) -> WatermarkStrategy:
    return strategy.with_timestamp_assigner(Itself())


def environment() -> StreamExecutionEnvironment:
    return StreamExecutionEnvironment.get_execution_environment()


def seen_by(stream: DataStream, parallelism: int = 1, max_records: int = 1) -> list[Any]:
    """Run the job of a stream, so many records an epoch; give records, timestamps and watermarks."""
    collect(stream.process(TimeOfRecords()))
    with InProcessJob(stream.get_execution_environment(), parallelism) as job:
        return job.run_to_end(max_records)


class TestStrategies:
    def test_bounded_out_of_orderness_is_the_highest_timestamp_minus_the_bound_minus_one(self) -> None:
        stream = environment().from_collection([100, 90, 130, 120])
        seen = seen_by(stream.assign_timestamps_and_watermarks(by_itself(bounded(20))))
        assert seen == [(100, 100, MIN_WATERMARK), (90, 90, 79), (130, 130, 79), (120, 120, 109)]

    def test_monotonous_timestamps_have_a_bound_of_zero(self) -> None:
        stream = environment().from_collection([100, 200, 300])
        seen = seen_by(stream.assign_timestamps_and_watermarks(by_itself(MONOTONOUS)))
        assert seen == [(100, 100, MIN_WATERMARK), (200, 200, 99), (300, 300, 199)]

    def test_no_watermarks_gives_timestamps_and_no_watermark_but_the_last(self) -> None:
        stream = environment().from_collection([100, 200])
        stream = stream.assign_timestamps_and_watermarks(by_itself(WatermarkStrategy.no_watermarks()))
        collect(stream.process(TimeOfRecords()))
        with InProcessJob(stream.get_execution_environment()) as job:
            assert job.run_to_end(1) == [(100, 100, MIN_WATERMARK), (200, 200, MIN_WATERMARK)]
            assert job.run_epoch()[0].watermark == MAX_WATERMARK

    def test_watermarks_advance_between_epochs_and_a_small_collection_sees_none(self) -> None:
        stream = environment().from_collection([100, 200, 300])
        seen = seen_by(stream.assign_timestamps_and_watermarks(by_itself(MONOTONOUS)), max_records=100)
        assert {watermark for _, _, watermark in seen} == {MIN_WATERMARK}

    def test_without_an_assigner_records_keep_the_timestamps_they_have(self) -> None:
        stream = environment().from_collection([100, 200, 300])
        timed = stream.assign_timestamps_and_watermarks(by_itself(MONOTONOUS))
        assert seen_by(timed.assign_timestamps_and_watermarks(bounded(49))) == [
            (100, 100, MIN_WATERMARK),
            (200, 200, 50),
            (300, 300, 150),
        ]

    def test_records_without_timestamps_move_no_watermark(self) -> None:
        stream = environment().from_collection([1, 2])
        seen = seen_by(stream.assign_timestamps_and_watermarks(MONOTONOUS))
        assert seen == [(1, None, MIN_WATERMARK), (2, None, MIN_WATERMARK)]

    def test_an_assigner_sees_the_timestamp_so_far_and_minus_2_to_the_63_where_there_is_none(self) -> None:
        class Earlier(TimestampAssigner):
            def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
                return 7 if record_timestamp == MIN_WATERMARK else record_timestamp - 1

        strategy = MONOTONOUS.with_timestamp_assigner(Earlier())
        harness = OperatorHarness(TimestampsAndWatermarksOperator(strategy))
        chunk = harness.operator.process(Chunk(["a", "b"], [50, None]))
        assert chunk is not None
        assert chunk.timestamps == [49, 7]
        untimed = harness.operator.process(Chunk(["c"]))
        assert untimed is not None
        assert untimed.timestamps == [7]

    def test_watermarks_from_before_do_not_count_but_the_last_one(self) -> None:
        harness = OperatorHarness(TimestampsAndWatermarksOperator(by_itself(MONOTONOUS)))
        harness.process(10)
        harness.advance_processing_time(0)
        assert harness.operator.output_watermark(5_000) == 9
        assert harness.operator.output_watermark(MAX_WATERMARK) == MAX_WATERMARK

    def test_what_is_no_whole_number_is_refused_naming_assigner_and_value(self) -> None:
        class Wrong(TimestampAssigner):
            def extract_timestamp(self, value: Any, record_timestamp: int) -> Any:
                return 1.5

        harness = OperatorHarness(TimestampsAndWatermarksOperator(MONOTONOUS.with_timestamp_assigner(Wrong())))
        with pytest.raises(
            InvalidCallError, match=r"the timestamp from Wrong.extract_timestamp was given as 1.5, a float: .*"
        ):
            harness.process("record")

    def test_alignment_is_accepted(self) -> None:
        stream = environment().from_collection([100, 200])
        strategy = by_itself(MONOTONOUS).with_watermark_alignment("group", Duration.of_millis(1))
        assert seen_by(stream.assign_timestamps_and_watermarks(strategy)) == [
            (100, 100, MIN_WATERMARK),
            (200, 200, 99),
        ]

    def test_only_a_strategy_is_taken(self) -> None:
        with pytest.raises(TypeError, match="takes a WatermarkStrategy, and was given 5"):
            environment().from_collection([1]).assign_timestamps_and_watermarks(5)  # type: ignore[arg-type]
        with pytest.raises(TypeError, match="from_source takes a WatermarkStrategy, and was given None"):
            environment().from_source(NumberSequenceSource(1, 2), None, "numbers")  # type: ignore[arg-type]

    def test_the_type_of_the_stream_stays(self) -> None:
        from rekindle.common import Types

        stream = environment().from_collection([1.5, 2.5], Types.FLOAT())
        assert stream.assign_timestamps_and_watermarks(MONOTONOUS).get_type() == Types.FLOAT()


class Punctuated(WatermarkGenerator):
    """Emit with every even record, and idle with a negative one."""

    def on_event(self, value: Any, timestamp: int, output: WatermarkOutput) -> None:
        if value < 0:
            output.mark_idle()
        elif value % 2 == 0:
            output.emit_watermark(timestamp)

    def on_periodic_emit(self, output: WatermarkOutput) -> None:
        pass


class EverySecond(WatermarkGenerator):
    """Emit the last timestamp in every second call."""

    def __init__(self) -> None:
        self.calls = self.last = 0

    def on_event(self, value: Any, timestamp: int, output: WatermarkOutput) -> None:
        self.last = timestamp

    def on_periodic_emit(self, output: WatermarkOutput) -> None:
        self.calls += 1
        if self.calls % 2 == 0:
            output.emit_watermark(self.last)


class TestGenerators:
    def test_a_generator_may_emit_with_a_record(self) -> None:
        strategy = by_itself(WatermarkStrategy.for_generator(Punctuated))
        stream = environment().from_collection([10, 11, 13, 12, 14])
        seen = seen_by(stream.assign_timestamps_and_watermarks(strategy))
        assert [watermark for _, _, watermark in seen] == [MIN_WATERMARK, 10, 10, 10, 12]

    def test_a_generator_is_asked_once_an_epoch(self) -> None:
        strategy = by_itself(WatermarkStrategy.for_generator(EverySecond))
        stream = environment().from_collection([10, 20, 30, 40, 50])
        seen = seen_by(stream.assign_timestamps_and_watermarks(strategy))
        assert [watermark for _, _, watermark in seen] == [MIN_WATERMARK, MIN_WATERMARK, 20, 20, 40]

    def test_a_watermark_never_goes_back(self) -> None:
        event_time = EventTime(by_itself(WatermarkStrategy.for_generator(Punctuated)))
        event_time.assign(Chunk([20, 10]))
        assert event_time.watermark == 20

    def test_a_generator_may_say_that_it_is_idle_until_it_emits_again(self) -> None:
        event_time = EventTime(by_itself(WatermarkStrategy.for_generator(Punctuated)))
        event_time.assign(Chunk([10, -1]))
        assert event_time.idle
        event_time.assign(Chunk([-1, 12]))
        assert not event_time.idle


class TestSources:
    def test_a_strategy_given_to_from_source_acts_in_the_source(self) -> None:
        env = environment()
        stream = env.from_source(NumberSequenceSource(1, 4), by_itself(bounded(1)), "numbers")
        assert stream.get_name() == "numbers"
        assert seen_by(stream) == [(1, 1, MIN_WATERMARK), (2, 2, -1), (3, 3, 0), (4, 4, 1)]

    def test_the_slowest_of_several_upstream_subtasks_counts(self) -> None:
        env = environment()
        # The subtasks count from 1, from 35 and from 68; the first is always behind the others.
        stream = env.from_source(NumberSequenceSource(1, 100), by_itself(MONOTONOUS), "numbers")
        seen = seen_by(stream.rebalance(), parallelism=3, max_records=10)
        assert sorted(value for value, _, _ in seen) == list(range(1, 101))
        assert all(timestamp == value for value, timestamp, _ in seen)
        assert {w for value, _, w in seen if value <= 34} == {MIN_WATERMARK, 9, 19, 29}
        assert {w for value, _, w in seen if value > 67} == {MIN_WATERMARK, 19, 29, 96}, "the others come first"

    def test_of_united_streams_the_slowest_counts(self) -> None:
        env = environment()
        slow = env.from_source(PausedSource(10, 20, 30), by_itself(MONOTONOUS), "slow")
        fast = env.from_source(PausedSource(100, 200, 300), by_itself(bounded(95)), "fast")
        seen = seen_by(slow.union(fast), max_records=100)
        assert [(value, watermark) for value, _, watermark in seen] == [
            (10, MIN_WATERMARK),
            (100, MIN_WATERMARK),
            (20, 4),
            (200, 4),
            (30, 19),
            (300, 19),
        ]

    def test_a_stream_that_has_ended_holds_no_other_back(self) -> None:
        env = environment()
        short = env.from_source(PausedSource(10), by_itself(MONOTONOUS), "short")
        long = env.from_source(PausedSource(100, 200, 300), by_itself(MONOTONOUS), "long")
        seen = seen_by(short.union(long), max_records=100)
        assert [(v, w) for v, _, w in seen if v >= 100] == [(100, MIN_WATERMARK), (200, 99), (300, 199)]

    def test_records_keep_their_timestamps_through_functions_and_exchanges(self) -> None:
        stream = environment().from_source(NumberSequenceSource(1, 20), by_itself(MONOTONOUS), "numbers")
        stream = stream.map(lambda n: n * 10).filter(lambda n: n % 20 == 0).key_by(lambda n: n % 30)
        stream = stream.flat_map(lambda n: [n, n]).rebalance().map(lambda n: -n)
        seen = seen_by(stream, parallelism=2, max_records=3)
        assert sorted((v, t) for v, t, _ in seen) == sorted((-n * 10, n) for n in range(2, 21, 2) for _ in range(2))

    def test_after_a_restore_the_watermark_begins_anew(self, tmp_path: Path) -> None:
        def program() -> StreamExecutionEnvironment:
            stream = environment().from_collection([10, 20, 30, 40]).uid("source")
            stream = stream.assign_timestamps_and_watermarks(by_itself(MONOTONOUS)).uid("time")
            collect(stream.process(TimeOfRecords()).uid("seen"))
            return stream.get_execution_environment()

        files = LocalCheckpointFiles(str(tmp_path))
        with InProcessJob(program(), files=files) as job:
            job.run_epoch(1)
            job.run_epoch(1)
            checkpoint = job.checkpoint()
        with InProcessJob(program(), files=files, restore=checkpoint) as restored:
            assert restored.run_to_end(1) == [(30, 30, MIN_WATERMARK), (40, 40, 29)]


def spark_stream(env: StreamExecutionEnvironment, uid: str) -> DataStream:
    """Make a stream whose rows the test hands out in the place of Spark."""
    node = env._graph.add(uid, RowsTransformation(), (), uid=uid, data_frame=object())
    return DataStream(env, (StreamEdge(node.id, FORWARD),), node)


def rows(*values: int) -> list[pa.RecordBatch]:
    return [pa.RecordBatch.from_pydict({"n": pa.array([value], pa.int64())}) for value in values]


class TestDataFrames:
    @pytest.mark.parametrize("parallelism", [1, 2])
    def test_rows_get_watermarks_in_the_epoch_that_reads_them(self, parallelism: int) -> None:
        env = environment()
        strategy = bounded(5).with_timestamp_assigner(Field("n"))
        collect(
            spark_stream(env, "rows")
            .map(lambda row: row)
            .assign_timestamps_and_watermarks(strategy)
            .key_by(lambda row: row["n"] % 3)
            .map(lambda row: row["n"])
            .process(TimeOfRecords())
        )
        with InProcessJob(env, parallelism) as job:
            # Four rows in as many tasks: with two subtasks each of them gets 30 and 40.
            first = job.run_epoch(rows={0: rows(30, 30, 40, 40)})
            assert {report.watermark for report in first} == {34}
            job.run_epoch(rows={0: rows(100, 100, 100, 100)})
            job.run_epoch(ended=[0])
            assert sorted((v, t) for v, t, _ in job.collected) == [(n, n) for n in (30, 30, 40, 40, *[100] * 4)]
            assert {w for v, _, w in job.collected if v == 100} == {34}
            assert {w for v, _, w in job.collected if v < 100} == {MIN_WATERMARK}

    def test_the_end_of_a_data_frame_is_the_last_watermark(self) -> None:
        env = environment()
        strategy = bounded(5).with_timestamp_assigner(Field("n"))
        collect(spark_stream(env, "rows").assign_timestamps_and_watermarks(strategy))
        with InProcessJob(env, 2) as job:
            reports = job.run_epoch(rows={0: rows(1, 2)}, ended=[0])
            assert {report.watermark for report in reports} == {MAX_WATERMARK}
            assert all(report.finished for report in reports)


class Paused(SourceOperator):
    """Give one record an epoch, or none where the script has None."""

    def __init__(self, script: list[int | None]) -> None:
        self.script = list(script)
        self.given = False  # in this epoch

    def poll(self, max_records: int) -> Chunk | None:
        value = None if self.given else self.script.pop(0)
        self.given = value is not None
        return None if value is None else Chunk([value])

    def finished(self) -> bool:
        return not self.script

    def snapshot_lists(self) -> dict[str, StoredList]:
        return {}

    def read_lists_back(self, lists: dict[str, StoredList]) -> None:
        assert not lists


class PausedSource(SlotSource):
    def __init__(self, *script: int | None) -> None:
        self.script = list(script)

    def create_operator(self) -> SourceOperator:
        return Paused(self.script)


class TestIdleness:
    def test_a_stream_is_idle_after_longer_than_the_timeout_without_records(self) -> None:
        event_time = EventTime(by_itself(MONOTONOUS).with_idleness(Duration.of_millis(100)))
        event_time.assign(Chunk([1]))
        event_time.advance(1_000)
        assert event_time.next_check() == 1_101
        event_time.advance(1_100)
        assert not event_time.idle
        event_time.advance(1_101)
        assert event_time.idle
        assert event_time.next_check() is None, "an idle stream needs no more looks"

    def test_a_record_ends_it_and_the_time_counts_anew(self) -> None:
        event_time = EventTime(by_itself(MONOTONOUS).with_idleness(Duration.of_millis(100)))
        event_time.advance(0)
        event_time.advance(200)
        assert event_time.idle
        event_time.assign(Chunk([1]))
        assert not event_time.idle
        event_time.advance(300)
        event_time.advance(400)
        assert not event_time.idle
        event_time.advance(401)
        assert event_time.idle

    def test_a_stream_that_never_had_records_becomes_idle_as_well(self) -> None:
        event_time = EventTime(MONOTONOUS.with_idleness(Duration.of_millis(100)))
        event_time.advance(5_000)
        assert not event_time.idle
        assert event_time.next_check() == 5_101
        event_time.advance(5_101)
        assert event_time.idle

    @pytest.mark.parametrize("in_the_source", [True, False])
    def test_an_idle_stream_does_not_hold_the_others_back(self, in_the_source: bool) -> None:
        env = environment()
        idle_after = by_itself(MONOTONOUS).with_idleness(Duration.of_millis(100))
        quiet_source, busy_source = (
            PausedSource(10, None, None, None, 500, 600),
            PausedSource(100, 200, 300, 400, 510, 610),
        )
        if in_the_source:
            quiet = env.from_source(quiet_source, idle_after, "quiet")
            busy = env.from_source(busy_source, by_itself(MONOTONOUS), "busy")
        else:
            none = WatermarkStrategy.no_watermarks()
            quiet = env.from_source(quiet_source, none, "quiet").assign_timestamps_and_watermarks(idle_after)
            busy = env.from_source(busy_source, none, "busy").assign_timestamps_and_watermarks(by_itself(MONOTONOUS))
        collect(quiet.union(busy).process(TimeOfRecords()))
        clock = ManualClock()
        with InProcessJob(env, clock=clock) as job:
            watermarks = []
            for _ in range(4):
                watermarks.append(job.run_epoch()[0].watermark)
                clock.advance(80)
            assert watermarks == [9, 9, 299, 399], "idle from the third epoch on"
            assert job.run_epoch()[0].watermark == 499, "the quiet one counts again, with what it has now"

    def test_the_slot_asks_for_an_epoch_when_a_stream_is_about_to_be_idle(self) -> None:
        env = environment()
        idle_after = by_itself(MONOTONOUS).with_idleness(Duration.of_millis(100))
        collect(env.from_source(PausedSource(10, None, None, None), idle_after, "quiet"))
        clock = ManualClock(1_000)
        with InProcessJob(env, clock=clock) as job:
            assert job.run_epoch()[0].next_timer == 1_101
            clock.set(1_101)
            assert job.run_epoch()[0].next_timer is None

    @pytest.mark.parametrize("in_the_source", [True, False])
    @pytest.mark.parametrize("jump", [-3_600_000, 3_600_000])
    def test_a_stream_is_idle_when_time_has_passed_not_when_the_clock_was_set(
        self, in_the_source: bool, jump: int
    ) -> None:
        env = environment()
        idle_after = by_itself(MONOTONOUS).with_idleness(Duration.of_millis(100))
        source = PausedSource(10, *[None] * 4)
        if in_the_source:
            stream = env.from_source(source, idle_after, "quiet")
        else:
            none = WatermarkStrategy.no_watermarks()
            stream = env.from_source(source, none, "quiet").assign_timestamps_and_watermarks(idle_after)
        collect(stream)
        clock, start = ManualClock(10_000_000), 10_000_000
        with InProcessJob(env, clock=clock) as job:
            job.run_epoch()
            clock.set(start + 60 + jump)
            steps = [jump]
            job.slots[0]._clock_steps = SimpleNamespace(millis=lambda: steps.pop() if steps else 0)  # type: ignore[assignment]
            report = job.run_epoch()[0]
            assert (report.clock_set, report.next_timer) == (jump, start + jump + 101), "40 ms more"
            clock.advance(41)
            report = job.run_epoch()[0]
            assert (report.clock_set, report.next_timer) == (0, None), "idle now"

    def test_idleness_crosses_exchanges(self) -> None:
        env = environment()
        idle_after = by_itself(MONOTONOUS).with_idleness(Duration.of_millis(100))
        quiet = env.from_source(PausedSource(10, *[None] * 5), idle_after, "quiet").set_parallelism(1)
        busy = env.from_source(PausedSource(*range(100, 110)), by_itself(MONOTONOUS), "busy").set_parallelism(1)
        stream = quiet.rebalance().map(lambda n: n).union(busy.rebalance())
        collect(stream.key_by(lambda n: n).map(lambda n: n))
        clock = ManualClock()
        with InProcessJob(env, 2, clock=clock) as job:
            assert {report.watermark for report in job.run_epoch()} == {9}
            clock.advance(101)
            assert {report.watermark for report in job.run_epoch()} == {100}


def channels(*states: tuple[int, bool]) -> list[InputProgress]:
    """Make one input whose upstream subtasks have the given watermarks, idle or not."""
    progress = InputProgress(len(states))
    for producer, (watermark, idle) in enumerate(states):
        progress.update(Progress(producer, watermark, False, idle))
    return [progress]


class TestCombinedWatermark:
    def test_idle_subtasks_do_not_count(self) -> None:
        assert combined_watermark(channels((10, True), (50, False), (40, False)), MIN_WATERMARK) == (40, False)

    def test_when_all_are_idle_so_is_the_operator_and_the_fastest_counts(self) -> None:
        assert combined_watermark(channels((10, True), (50, True)), 10) == (50, True)

    def test_one_that_comes_back_behind_the_others_does_not_count_until_it_has_caught_up(self) -> None:
        assert combined_watermark(channels((10, False), (60, False)), 50) == (60, False)
        assert combined_watermark(channels((50, False), (60, False)), 50) == (50, False)

    def test_when_only_such_are_left_the_watermark_stays(self) -> None:
        assert combined_watermark(channels((10, False), (60, True)), 60) == (60, False)

    def test_those_that_have_ended_count_neither_as_active_nor_as_idle(self) -> None:
        (progress,) = channels((10, False), (20, True))
        progress.update(Progress(0, 10, True))
        assert combined_watermark([progress], 10) == (20, True)
        progress.settle(None)
        assert combined_watermark([progress], 20) == (MAX_WATERMARK, False)

    def test_all_inputs_count(self) -> None:
        inputs = [*channels((10, True)), *channels((30, False), (20, False)), *channels((25, False))]
        assert combined_watermark(inputs, MIN_WATERMARK) == (20, False)


def test_an_error_of_an_assigner_names_the_source() -> None:
    class Fails(TimestampAssigner):
        def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
            raise ValueError("no time")

    env = environment()
    strategy = MONOTONOUS.with_timestamp_assigner(Fails())
    collect(env.from_source(NumberSequenceSource(1, 2), strategy, "numbers"))
    with InProcessJob(env) as job, pytest.raises(OperatorError, match="numbers"):
        job.run_epoch()


@pytest.mark.parametrize("stamps", [None, [1, 2, 3]])
def test_a_timestamp_that_is_no_integer_names_the_record_that_has_it(stamps: list[int | None] | None) -> None:
    class AsItIs(TimestampAssigner):
        def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
            return value  # type: ignore[no-any-return]

    event_time = EventTime(bounded(0).with_timestamp_assigner(AsItIs()))
    with pytest.raises(InvalidCallError, match="the timestamp from AsItIs") as caught:
        event_time.assign(Chunk([1, "two", 3], stamps))
    found = failed_record(caught.value)
    assert found is not None
    assert found.text == "record 'two'"
