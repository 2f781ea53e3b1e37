"""Watermarks travel with the records: what stands behind one is late, and time goes on inside an epoch."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rekindle.common import Time, WatermarkStrategy
from rekindle.common.watermark_generator import WatermarkGenerator, WatermarkOutput
from rekindle.common.watermark_strategy import TimestampAssigner
from rekindle.contracts.operators.stream_record import StreamRecord, Watermark
from rekindle.datastream import (
    CoProcessFunction,
    DataStream,
    KeyedProcessFunction,
    OutputTag,
    ProcessFunction,
    StreamExecutionEnvironment,
    WindowFunction,
)
from rekindle.datastream.connectors.number_seq import NumberSequenceSource
from rekindle.datastream.operators import AbstractStreamOperator, OneInputStreamOperator
from rekindle.datastream.window import TumblingEventTimeWindows
from rekindle.graph.compilation.compiler import compile_job
from rekindle.runtime.exchange.payload import Progress, decode_all, encode_progress, encode_several
from rekindle.runtime.operators.operator import MAX_WATERMARK, MIN_WATERMARK
from rekindle.runtime.slot.arrivals import in_band_edges, record_order
from rekindle.runtime.slot.failure import OperatorError
from rekindle.testing import ManualClock
from rekindle.testing.in_process.flink_order import FlinkOrderedSlot
from runtime.operators.test_event_time import Field, Itself, rows, spark_stream
from support.in_process_job import InProcessJob, collect

LATE = OutputTag("late")


class PerElement(WatermarkGenerator):
    """Follow each record with its timestamp, as long as that is a multiple of ``step``."""

    step = 1

    def on_event(self, event: Any, event_timestamp: int, output: WatermarkOutput) -> None:
        if event_timestamp % self.step == 0:
            output.emit_watermark(event_timestamp)

    def on_periodic_emit(self, output: WatermarkOutput) -> None:
        pass


class Seen(ProcessFunction):
    """Show each record with the watermark that it sees."""

    def process_element(self, value: Any, ctx: ProcessFunction.Context) -> Iterator[Any]:
        yield value, ctx.timer_service().current_watermark()


class SeenByBoth(CoProcessFunction):
    process_element1 = process_element2 = Seen.process_element


PER_ELEMENT = WatermarkStrategy.for_generator(PerElement).with_timestamp_assigner(Itself())


def environment() -> StreamExecutionEnvironment:
    return StreamExecutionEnvironment.get_execution_environment()


def numbers(*values: int, strategy: WatermarkStrategy = PER_ELEMENT) -> DataStream:
    return environment().from_collection(list(values)).assign_timestamps_and_watermarks(strategy)


def result(stream: DataStream, parallelism: int = 1, clock: ManualClock | None = None, most: int = 1_000) -> list[Any]:
    collect(stream)
    with InProcessJob(stream.get_execution_environment(), parallelism, clock=clock, slot_class=FlinkOrderedSlot) as job:
        return job.run_to_end(most)


class TestOneStream:
    def test_a_watermark_from_on_event_takes_effect_before_the_next_element(self) -> None:
        assert result(numbers(3, 1, 7).process(Seen())) == [(3, MIN_WATERMARK), (1, 3), (7, 3)]

    def test_what_comes_behind_it_is_late(self) -> None:
        windows = TumblingEventTimeWindows.of(Time.milliseconds(10))
        keyed = numbers(1, 12, 5, 13, 25, 14).key_by(lambda n: 0)
        sums = keyed.window(windows).side_output_late_data(LATE).reduce(lambda a, b: a + b)
        late = sums.get_side_output(LATE).map(lambda n: ("late", n))
        assert result(sums.union(late)) == [1, ("late", 5), 25, ("late", 14), 25]

    def test_timers_fire_as_time_passes(self) -> None:
        class Alarm(KeyedProcessFunction):
            def process_element(self, value: int, ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
                ctx.timer_service().register_event_time_timer(value + 5)
                yield value

            def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterator[Any]:
                yield "timer", timestamp

        fired = result(numbers(1, 4, 7, 20).key_by(lambda n: 0).process(Alarm()))
        assert fired == [1, 4, 7, ("timer", 6), 20, ("timer", 9), ("timer", 12), ("timer", 25)]

    def test_a_chunk_is_cut_only_where_the_watermark_moves(self) -> None:
        class Third(PerElement):
            step = 3

        sizes: list[int] = []
        stream = numbers(
            1, 2, 3, 3, 4, 6, 5, strategy=WatermarkStrategy.for_generator(Third).with_timestamp_assigner(Itself())
        )
        collect(stream)
        with InProcessJob(stream.get_execution_environment()) as job:
            (operator,) = [r.operator for r in job.slots[0]._graph if r.node.name == "Collect"]
            process = operator.process
            operator.process = lambda chunk: (sizes.append(len(chunk.values)), process(chunk))[1]  # type: ignore[method-assign]
            job.run_to_end()
        assert sizes == [1, 2, 3, 1], "a portion of one record; then up to 3, to 6, and what is left"

    def test_it_goes_through_functions_and_sees_the_end(self) -> None:
        stream = numbers(1, 2, 3).map(lambda n: n * 10).filter(lambda n: n != 20).flat_map(lambda n: [n, -n])
        assert result(stream.process(Seen())) == [(10, MIN_WATERMARK), (-10, MIN_WATERMARK), (30, 2), (-30, 2)]

    def test_a_watermark_that_goes_back_says_nothing(self) -> None:
        assert result(numbers(5, 2, 4).process(Seen())) == [(5, MIN_WATERMARK), (2, 5), (4, 5)]

    def test_a_watermark_is_a_whole_number(self) -> None:
        class Half(PerElement):
            def on_event(self, event: Any, event_timestamp: int, output: WatermarkOutput) -> None:
                output.emit_watermark(event_timestamp / 2)  # type: ignore[arg-type]

        stream = numbers(1, strategy=WatermarkStrategy.for_generator(Half).with_timestamp_assigner(Itself()))
        with pytest.raises(OperatorError) as failure:
            result(stream)
        assert "a watermark was given as 0.5, a float: it is a whole number" in str(failure.value.__cause__)


class TestPeriodicWatermarks:
    class Slow(ManualClock):
        """A clock that goes on whenever somebody looks."""

        def __init__(self, step: int) -> None:
            super().__init__(0)
            self.step = step

        def now(self) -> int:
            self.advance(self.step)
            return super().now()

    def seen(self, clock: ManualClock, interval: int | None = None) -> list[int]:
        env = environment()
        if interval is not None:
            env.get_config().set_auto_watermark_interval(interval)
        strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(Itself())
        stream = env.from_source(NumberSequenceSource(1, 25_000), strategy, "numbers").process(Seen())
        collect(stream)
        with InProcessJob(
            env, clock=clock, watermark_interval_ms=env.get_config().get_auto_watermark_interval()
        ) as job:
            watermarks = [watermark for _, watermark in job.run_to_end(100_000)]
        return sorted(set(watermarks))

    def test_they_are_asked_for_between_two_chunks_when_the_interval_has_passed(self) -> None:
        # The first record is a portion, as nothing is known of them yet; how many follow is a matter of time.
        seen = self.seen(self.Slow(250))
        assert seen[0] == MIN_WATERMARK
        assert {0, 9_999, 19_999} < set(seen), "behind the first portion, and behind each chunk of the source"

    def test_a_short_epoch_sees_none_until_its_end(self) -> None:
        assert self.seen(ManualClock(0)) == [MIN_WATERMARK]

    def test_an_interval_of_zero_switches_them_off(self) -> None:
        assert self.seen(self.Slow(250), interval=0) == [MIN_WATERMARK]


class TestExchanges:
    def test_the_order_of_one_sender_is_kept(self) -> None:
        values = [value for n in range(0, 200, 10) for value in (n, n - 25)]
        seen = result(numbers(*values).set_parallelism(1).key_by(lambda n: n % 7).process(SeenByKey()), parallelism=3)
        highest = MIN_WATERMARK
        expected = []
        for value in values:
            expected.append((value, highest))
            highest = max(highest, value)
        assert sorted(seen) == sorted(expected)

    def test_the_lowest_of_all_senders_counts(self) -> None:
        env = environment()
        # The first subtask counts from 1, the second from 51; what they send arrives one after the other.
        stream = env.from_source(NumberSequenceSource(1, 100), PER_ELEMENT, "numbers")
        seen = result(stream.key_by(lambda n: 0).process(SeenByKey()), parallelism=2, most=10)
        for number, watermark in seen:
            own = number - 1 if number not in (1, 51) else MIN_WATERMARK
            assert watermark <= own, "no record is behind the watermark of its own sender"
        assert [w for n, w in seen if n <= 50] == [MIN_WATERMARK] * 10 + list(range(10, 50))

    def test_one_watermark_or_many_come_out_as_they_went_in(self) -> None:
        payloads = [encode_progress(Progress(0, n, False)) for n in range(3)]
        assert decode_all(bytearray(payloads[1])) == [Progress(0, 1, False)]
        assert decode_all(bytearray(encode_several(payloads))) == [Progress(0, n, False) for n in range(3)]


class SeenByKey(KeyedProcessFunction):
    process_element = Seen.process_element  # type: ignore[assignment]


class TestWhereSeveralSendersMeet:
    """What several senders sent in an epoch comes one after the other: none makes what the next has sent late."""

    def test_a_generator_behind_several_senders_moves_time_when_all_have_been_heard(self) -> None:
        env = environment()
        spread = env.from_source(NumberSequenceSource(1, 100), WatermarkStrategy.no_watermarks(), "numbers").rebalance()
        seen = result(spread.assign_timestamps_and_watermarks(PER_ELEMENT).process(Seen()), parallelism=2, most=10)
        assert len({watermark for n, watermark in seen if n in range(1, 11) or n in range(51, 61)}) == 1

    @pytest.mark.parametrize("tasks", [1, 2])
    def test_a_data_frame_that_is_read_in_one_task_has_an_order(self, tasks: int) -> None:
        env = environment()
        strategy = WatermarkStrategy.for_generator(PerElement).with_timestamp_assigner(Field("n"))
        stream = spark_stream(env, "rows").assign_timestamps_and_watermarks(strategy)
        collect(stream.map(lambda row: row["n"]).process(Seen()))
        batches = rows(5, 3)
        if tasks == 1:
            batches = [batches[0].from_pydict({"n": [5, 3]}, schema=batches[0].schema)]
        with InProcessJob(env) as job:
            job.run_epoch(rows={0: batches}, ended=[0])
        assert job.collected == [(5, MIN_WATERMARK), (3, 5 if tasks == 1 else MIN_WATERMARK)]

    def test_the_end_of_a_data_frame_does_not_come_before_its_rows(self) -> None:
        env = environment()
        stream = spark_stream(env, "rows").map(lambda row: row["n"])
        other = env.from_collection([7]).assign_timestamps_and_watermarks(PER_ELEMENT)
        collect(stream.union(other).process(Seen()))
        with InProcessJob(env) as job:
            job.run_epoch(rows={0: rows(5)}, ended=[0])
        assert (5, MIN_WATERMARK) in job.collected

    def test_who_sends_in_two_levels_is_heard_when_all_has_arrived(self) -> None:
        env = environment()
        one, other = (env.from_source(NumberSequenceSource(1, 40), PER_ELEMENT, name) for name in "ab")
        both = one.connect(other.rebalance()).process(SeenByBoth())
        collect(both.map(lambda pair: pair[0]).rebalance().process(Seen()))
        with InProcessJob(env, parallelism=2) as job:
            sending = [edge for edge in job.graph.edges if edge.exchange and edge.id not in in_band_edges(job.graph)]
            assert [job.graph.nodes[edge.target].name for edge in sending] == ["PROCESS"]
            # In the first epoch all is there before time goes on; in those that follow, nothing is behind it.
            seen = job.run_to_end(5)
        assert sorted(value for value, _ in seen) == sorted([*range(1, 41)] * 2)
        assert all(watermark < value for value, watermark in seen)

    def test_an_order_survives_only_from_one_sender_to_the_next(self) -> None:
        env = environment()
        one = env.from_collection([1]).map(lambda n: n).set_parallelism(1)
        many = one.rebalance().map(lambda n: n).set_parallelism(2)
        again = many.rebalance().map(lambda n: n).set_parallelism(2)
        again.map(lambda n: n).set_parallelism(2).print()
        graph = compile_job(env._graph, 2, None)
        order = record_order(graph, 0)
        assert [node.id in order.one_sender for node in graph.nodes] == [True, True, True, False, False, False]


class TestSeveralInputs:
    def test_few_records_that_wait_for_each_other_keep_their_watermarks(self) -> None:
        env = environment()
        one = env.from_collection([10, 5, 30]).assign_timestamps_and_watermarks(PER_ELEMENT)
        other = env.from_collection([20, 15, 40]).assign_timestamps_and_watermarks(PER_ELEMENT)
        seen = result(one.connect(other).process(SeenByBoth()))
        assert seen == [
            (10, MIN_WATERMARK),
            (5, MIN_WATERMARK),
            (30, MIN_WATERMARK),
            (20, MIN_WATERMARK),
            (15, 20),  # the first stream is at 30, the second at 20
            (40, 20),
        ]

    def test_records_in_turn_are_followed_by_their_watermarks(self) -> None:
        env = environment()
        one, other = (env.from_source(NumberSequenceSource(n, n + 2), PER_ELEMENT, f"from {n}") for n in (1, 11))
        seen = result(one.connect(other).process(SeenByBoth()))
        assert seen == [(1, MIN_WATERMARK), (11, MIN_WATERMARK), (2, 1), (12, 2), (3, 2), (13, 12)], (
            "the first has ended"
        )

    def test_both_inputs_hold_each_other_back(self) -> None:
        env = environment()
        one = env.from_collection(list(range(0, 1_000, 10))).assign_timestamps_and_watermarks(PER_ELEMENT)
        other = env.from_collection(list(range(5, 1_005, 10))).assign_timestamps_and_watermarks(PER_ELEMENT)
        for value, watermark in result(one.connect(other).process(SeenByBoth())):
            assert watermark < value


class Delaying(AbstractStreamOperator, OneInputStreamOperator):
    """Emit a watermark of its own behind every record, and none that comes."""

    def process_element(self, record: StreamRecord[Any]) -> None:
        self.output.collect(record)
        self.output.emit_watermark(Watermark(record.value - 100))

    def process_watermark(self, mark: Watermark) -> None:
        if mark.timestamp == MAX_WATERMARK:
            self.output.emit_watermark(mark)


def test_a_custom_operator_may_move_time_between_two_records() -> None:
    stream = environment().from_collection([1, 2, 3]).transform("delay", None, Delaying())
    assert result(stream.process(Seen())) == [(1, MIN_WATERMARK), (2, -99), (3, -98)]


# --- against a model of Flink's windows ---


def model(events: list[tuple[int, int, bool]], size: int, lateness: int) -> tuple[list[Any], list[Any]]:
    """Put events (key, time, whether a watermark follows) through windows, one by one, as Flink does."""
    contents: dict[tuple[int, int], list[int]] = defaultdict(list)
    fired: list[Any] = []
    late: list[Any] = []
    watermark = MIN_WATERMARK

    def fire(key: int, start: int) -> None:
        fired.append((key, start, tuple(contents[key, start])))

    for key, time, followed in events:
        start = time - time % size
        end = start + size - 1
        if end + lateness <= watermark:
            late.append((key, time))
        else:
            contents[key, start].append(time)
            if end <= watermark:
                fire(key, start)
        if followed and time > watermark:
            before, watermark = watermark, time
            for window in sorted(contents, key=lambda window: window[1]):
                if before < window[1] + size - 1 <= watermark:
                    fire(*window)
                if window[1] + size - 1 + lateness <= watermark:
                    contents.pop(window, None) if window[1] + size - 1 + lateness > before else None
    for window in sorted(contents, key=lambda window: window[1]):
        if window[1] + size - 1 > watermark:
            fire(*window)
    return fired, late


class Marked(WatermarkGenerator):
    """Emit where the event says so."""

    def on_event(self, event: Any, event_timestamp: int, output: WatermarkOutput) -> None:
        if event[2]:
            output.emit_watermark(event_timestamp)

    def on_periodic_emit(self, output: WatermarkOutput) -> None:
        pass


class Second(TimestampAssigner):
    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        return int(value[1])


class Times(WindowFunction[Any, Any, int, Any]):
    """Show the times in a window."""

    def apply(self, key: int, window: Any, inputs: Iterable[Any]) -> Iterable[Any]:
        yield key, window.start, tuple(event[1] for event in inputs)


@settings(max_examples=60)
@given(
    events=st.lists(st.tuples(st.integers(0, 3), st.integers(0, 40), st.booleans()), max_size=30),
    size=st.integers(1, 12),
    lateness=st.integers(0, 10),
    parallelism=st.integers(1, 3),
    most=st.integers(1, 12),
)
def test_windows_fire_and_refuse_as_in_flink_at_any_parallelism(
    events: list[tuple[int, int, bool]], size: int, lateness: int, parallelism: int, most: int
) -> None:
    strategy = WatermarkStrategy.for_generator(Marked).with_timestamp_assigner(Second())
    stream = environment().from_collection(events).assign_timestamps_and_watermarks(strategy).set_parallelism(1)
    windowed = stream.key_by(lambda event: event[0]).window(TumblingEventTimeWindows.of(Time.milliseconds(size)))
    fired = windowed.allowed_lateness(lateness).side_output_late_data(LATE).apply(Times())
    late = fired.get_side_output(LATE).map(lambda event: ("late", event[0], event[1]))
    found = result(fired.union(late), parallelism, most=most)
    expected_fired, expected_late = model(events, size, lateness)
    assert sorted(e[1:] for e in found if e[0] == "late") == sorted(expected_late)
    by_key = [[e for e in found if e[0] == key] for key in range(4)]
    assert by_key == [[e for e in expected_fired if e[0] == key] for key in range(4)]
