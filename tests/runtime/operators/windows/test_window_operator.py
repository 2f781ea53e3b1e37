"""The window operator: what windows hold, when they fire, what becomes of late elements, restarts and rescaling."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rekindle.common import Time
from rekindle.contracts.key_groups import subtask_of_key_group
from rekindle.datastream import OutputTag
from rekindle.datastream.functions import ProcessWindowFunction, WindowFunction
from rekindle.datastream.state import ValueStateDescriptor
from rekindle.datastream.window import (
    ContinuousEventTimeTrigger,
    ContinuousProcessingTimeTrigger,
    CountEvictor,
    CountTrigger,
    CountTumblingWindowAssigner,
    DynamicEventTimeSessionWindows,
    EventTimeSessionWindows,
    GlobalWindows,
    ProcessingTimeSessionWindows,
    PurgingTrigger,
    SessionWindowTimeGapExtractor,
    SlidingEventTimeWindows,
    TimeWindow,
    TumblingEventTimeWindows,
    TumblingProcessingTimeWindows,
)
from rekindle.exceptions import InvalidProgramError
from rekindle.state.backend_settings import BackendSettings
from rekindle.state.key_hash import key_group_of
from rekindle.state.rocksdb.settings import RocksDBSettings
from rekindle.testing import OperatorHarness
from rekindle.testing.backends import BackendUnderTest
from support.seeds import rounds
from support.windows import (
    Contents,
    Event,
    as_counter,
    operator_of,
    sessions,
    shown,
    sliding,
    tumbling,
)

KINDS = ["process", "reduce", "aggregate"]
LATE = OutputTag("late")


class ValueGap(SessionWindowTimeGapExtractor):
    def extract(self, element: Event) -> int:
        return element[2]


ASSIGNERS: dict[str, Any] = {
    "tumbling": (lambda: TumblingEventTimeWindows.of(Time.milliseconds(7)), tumbling(7)),
    "tumbling with offset": (lambda: TumblingEventTimeWindows.of(Time.milliseconds(7), 3), tumbling(7, 3)),
    "sliding": (lambda: SlidingEventTimeWindows.of(Time.milliseconds(10), 4, 1), sliding(10, 4, 1)),
    "sliding with holes": (lambda: SlidingEventTimeWindows.of(Time.milliseconds(3), 5), sliding(3, 5)),
    "session": (lambda: EventTimeSessionWindows.with_gap(Time.milliseconds(4)), sessions(lambda event: 4)),
    "dynamic session": (lambda: DynamicEventTimeSessionWindows(ValueGap()), sessions(lambda event: event[2])),
}


@pytest.fixture(
    params=[
        BackendUnderTest("heap", BackendSettings(incremental=True)),
        BackendUnderTest("rocksdb", BackendSettings(rocksdb=RocksDBSettings())),
        BackendUnderTest("rocksdb without cache", BackendSettings(rocksdb=RocksDBSettings(cache_entries=0))),
    ],
    ids=lambda backend: backend.name,
)
def backend(request: pytest.FixtureRequest) -> Iterator[BackendUnderTest]:
    chosen: BackendUnderTest = request.param
    yield chosen
    chosen.close()


def by_key(event: Event) -> str:
    return event[0]


def feed(harness: OperatorHarness, events: list[Event]) -> list[Any]:
    return harness.process(*events, timestamps=[timestamp for _, timestamp, _ in events])


EVENTS = st.lists(
    st.tuples(st.sampled_from(["a", "b", "c"]), st.integers(-20, 40), st.integers(1, 9)), min_size=1, max_size=25
)


class TestWhatWindowsHold:
    @pytest.mark.parametrize("kind", KINDS)
    @pytest.mark.parametrize("assigner", ASSIGNERS)
    @given(events=EVENTS, cut=st.integers(0, 25))
    @settings(max_examples=rounds(8, named=20), suppress_health_check=[HealthCheck.function_scoped_fixture])
    def test_every_element_is_in_its_windows_whatever_the_order_and_a_restart_in_the_middle(
        self, assigner: str, kind: str, events: list[Event], cut: int
    ) -> None:
        make, golden = ASSIGNERS[assigner]
        before = OperatorHarness(operator_of(make(), kind), by_key)
        feed(before, events[:cut])
        after = OperatorHarness(operator_of(make(), kind), by_key, restored=[before.snapshot()])
        feed(after, events[cut:])
        results = after.finish()
        expected = [(key, (start, end), shown(kind, key, v)) for (key, start, end), v in golden(events).items()]
        assert as_counter(results) == as_counter(expected)
        assert after.operator.timer_count() == 0
        assert list(after.snapshot().blocks) == [], "nothing is kept of windows that are gone"

    @pytest.mark.parametrize("kind", KINDS)
    @pytest.mark.parametrize("assigner", ASSIGNERS)
    def test_windows_are_kept_in_every_backend_and_move_with_their_keys(
        self, assigner: str, kind: str, backend: BackendUnderTest
    ) -> None:
        make, golden = ASSIGNERS[assigner]
        events = [(f"k{n % 11}", (n * 7919) % 60, n % 5 + 1) for n in range(150)]
        parallelism, snapshots = 1, None
        results: list[Any] = []
        for round_, now in enumerate((1, 3, 2)):
            parallelism = now
            own = events[round_ * 50 : round_ * 50 + 50]
            harnesses = [
                OperatorHarness(
                    operator_of(make(), kind),
                    by_key,
                    subtask=subtask,
                    parallelism=parallelism,
                    restored=snapshots,
                    state_backend=backend,
                )
                for subtask in range(parallelism)
            ]
            for subtask, harness in enumerate(harnesses):
                feed(
                    harness,
                    [e for e in own if subtask_of_key_group(key_group_of(e[0], 128), parallelism, 128) == subtask],
                )
            snapshots = [harness.snapshot(round_ + 1) for harness in harnesses]
        for harness in harnesses:
            results += harness.finish()
            assert harness.operator.timer_count() == 0
        expected = [(key, (start, end), shown(kind, key, v)) for (key, start, end), v in golden(events).items()]
        assert as_counter(results) == as_counter(expected)

    @pytest.mark.parametrize("kind", KINDS)
    def test_an_element_that_bridges_two_open_sessions_loses_nothing(self, kind: str) -> None:
        harness = OperatorHarness(operator_of(EventTimeSessionWindows.with_gap(10), kind), by_key)
        feed(harness, [("a", 0, 1), ("a", 18, 2), ("b", 0, 5), ("a", 9, 4)])
        expected = [("a", (0, 28), shown(kind, "a", [1, 2, 4])), ("b", (0, 10), shown(kind, "b", [5]))]
        assert as_counter(harness.finish()) == as_counter(expected)

    def test_a_session_that_grew_fires_at_its_new_end_only(self) -> None:
        harness = OperatorHarness(operator_of(EventTimeSessionWindows.with_gap(10)), by_key)
        feed(harness, [("a", 0, 1), ("a", 5, 2)])
        assert harness.advance_watermark(9) == []
        feed(harness, [("a", 14, 3)])
        assert harness.advance_watermark(22) == []
        assert harness.advance_watermark(23) == [("a", (0, 24), [1, 2, 3])]

    def test_windows_that_share_an_element_do_not_share_what_they_make_of_it(self) -> None:
        from rekindle.contracts.functions.function_adapters import as_reduce_function
        from rekindle.datastream.functions import PassThroughWindowFunction
        from rekindle.graph.transformations.windows import WindowContents, Windowing
        from rekindle.runtime.operators.windows.window_operator import WindowOperator

        def add_in_place(a: dict[str, int], b: dict[str, int]) -> dict[str, int]:
            a["n"] += b["n"]
            return a

        assigner = SlidingEventTimeWindows.of(10, 5)
        contents = WindowContents(None, as_reduce_function(add_in_place))
        operator = WindowOperator(
            Windowing(assigner, assigner.get_default_trigger(None), contents), PassThroughWindowFunction()
        )
        harness = OperatorHarness(operator, lambda value: 0)
        harness.process({"n": 1}, {"n": 2}, {"n": 4}, timestamps=[6, 11, 3])
        assert sorted(result["n"] for result in harness.finish()) == [2, 3, 4, 5]


class TestLateness:
    def test_an_element_whose_window_is_over_is_dropped(self) -> None:
        harness = OperatorHarness(operator_of(TumblingEventTimeWindows.of(10)), by_key)
        feed(harness, [("a", 3, 1)])
        assert harness.advance_watermark(9) == [("a", (0, 10), [1])]
        assert feed(harness, [("a", 9, 2)]) == []
        assert harness.finish() == []

    def test_within_the_allowed_lateness_a_late_element_fires_its_window_again(self) -> None:
        harness = OperatorHarness(operator_of(TumblingEventTimeWindows.of(10), allowed_lateness=5), by_key)
        feed(harness, [("a", 3, 1)])
        assert harness.advance_watermark(9) == [("a", (0, 10), [1])]
        assert harness.advance_watermark(13) == []
        assert feed(harness, [("a", 4, 2)]) == [("a", (0, 10), [1, 2])]
        assert harness.advance_watermark(14) == []
        assert harness.operator.timer_count() == 0
        assert feed(harness, [("a", 5, 3)]) == []

    def test_late_elements_go_to_their_side_output(self) -> None:
        operator = operator_of(TumblingEventTimeWindows.of(10), allowed_lateness=2, late_tag=LATE)
        harness = OperatorHarness(operator, by_key)
        harness.advance_watermark(20)
        assert feed(harness, [("a", 3, 1), ("a", 19, 2), ("a", 9, 3)]) == [("a", (10, 20), [2])]
        assert harness.side_outputs == {"late": [("a", 3, 1), ("a", 9, 3)]}

    def test_a_late_element_that_no_window_was_assigned_goes_nowhere_unless_its_own_time_is_over(self) -> None:
        harness = OperatorHarness(operator_of(SlidingEventTimeWindows.of(3, 5), late_tag=LATE), by_key)
        harness.advance_watermark(20)
        feed(harness, [("a", 24, 1), ("a", 14, 2)])
        assert harness.side_outputs == {"late": [("a", 14, 2)]}

    def test_a_late_element_counts_in_a_session_that_is_still_open(self) -> None:
        harness = OperatorHarness(operator_of(EventTimeSessionWindows.with_gap(10)), by_key)
        feed(harness, [("a", 15, 1)])
        harness.advance_watermark(18)
        feed(harness, [("a", 6, 2), ("a", 4, 3)])
        assert harness.finish() == [("a", (4, 25), [1, 2, 3])]

    def test_a_late_session_of_its_own_is_dropped_and_forgotten(self) -> None:
        harness = OperatorHarness(operator_of(EventTimeSessionWindows.with_gap(10)), by_key)
        harness.advance_watermark(50)
        feed(harness, [("a", 6, 2)])
        assert harness.operator.timer_count() == 0
        assert harness.finish() == []
        assert list(harness.snapshot().blocks) == []

    def test_a_record_without_a_timestamp_is_refused_by_windows_in_event_time(self) -> None:
        harness = OperatorHarness(operator_of(TumblingEventTimeWindows.of(10)), by_key)
        with pytest.raises(InvalidProgramError, match="assign_timestamps_and_watermarks"):
            harness.process(("a", 3, 1))


class TestProcessingTime:
    def test_windows_follow_the_clock(self) -> None:
        harness = OperatorHarness(operator_of(TumblingProcessingTimeWindows.of(10)), by_key)
        harness.process(("a", 0, 1), ("b", 0, 2))
        harness.clock.set(8)
        harness.process(("a", 0, 3))
        assert harness.operator.next_processing_timer() == 9
        assert sorted(harness.advance_processing_time(9)) == [("a", (0, 10), [1, 3]), ("b", (0, 10), [2])]
        harness.process(("a", 0, 4))
        assert harness.operator.timer_count() == 1
        assert harness.advance_processing_time(30) == [("a", (0, 10), [4])]

    def test_sessions_follow_the_clock(self) -> None:
        harness = OperatorHarness(operator_of(ProcessingTimeSessionWindows.with_gap(10), "aggregate"), by_key)
        for now, value in ((0, 1), (6, 2), (30, 4)):
            harness.clock.set(now)
            harness.process(("a", 0, value))
        assert harness.advance_processing_time(15) == [("a", (0, 16), (3, 2))]
        assert harness.advance_processing_time(100) == [("a", (30, 40), (4, 1))]
        assert harness.operator.timer_count() == 0

    def test_overdue_windows_fire_after_a_restart(self) -> None:
        before = OperatorHarness(operator_of(TumblingProcessingTimeWindows.of(10)), by_key)
        before.process(("a", 0, 1))
        after = OperatorHarness(operator_of(TumblingProcessingTimeWindows.of(10)), by_key, restored=[before.snapshot()])
        assert after.advance_processing_time(1_000) == [("a", (0, 10), [1])]


class TestTriggersInTheOperator:
    def test_a_continuous_trigger_fires_at_every_interval_and_at_the_end(self) -> None:
        trigger: Any = ContinuousEventTimeTrigger.of(Time.milliseconds(4))
        harness = OperatorHarness(operator_of(TumblingEventTimeWindows.of(10), trigger=trigger), by_key)
        feed(harness, [("a", 1, 1)])
        assert harness.advance_watermark(4) == [("a", (0, 10), [1])]
        feed(harness, [("a", 5, 2)])
        assert harness.advance_watermark(8) == [("a", (0, 10), [1, 2])]
        assert harness.finish() == [("a", (0, 10), [1, 2])]
        assert harness.operator.timer_count() == 0
        assert list(harness.snapshot().blocks) == []

    def test_a_continuous_trigger_by_the_clock_ends_with_its_window(self) -> None:
        trigger: Any = ContinuousProcessingTimeTrigger.of(4)
        harness = OperatorHarness(operator_of(TumblingProcessingTimeWindows.of(10), trigger=trigger), by_key)
        harness.process(("a", 0, 1))
        assert len(harness.advance_processing_time(4)) == 1
        assert len(harness.advance_processing_time(100)) == 2
        assert harness.operator.timer_count() == 0
        assert list(harness.snapshot().blocks) == []

    def test_a_trigger_keeps_its_state_over_a_merge_and_a_restart(self) -> None:
        def make() -> Any:
            return operator_of(EventTimeSessionWindows.with_gap(10), trigger=CountTrigger.of(3))

        before = OperatorHarness(make(), by_key)
        assert feed(before, [("a", 0, 1), ("a", 18, 2)]) == []
        after = OperatorHarness(make(), by_key, restored=[before.snapshot()])
        assert feed(after, [("a", 9, 3)]) == [("a", (0, 28), [1, 2, 3])]
        assert after.finish() == []
        assert list(after.snapshot().blocks) == []

    def test_a_purging_trigger_drops_what_has_fired(self) -> None:
        trigger = PurgingTrigger.of(CountTrigger.of(2))
        harness = OperatorHarness(operator_of(GlobalWindows.create(), trigger=trigger), by_key)
        results = harness.process(*(("a", 0, n) for n in range(5)))
        assert results == [("a", (), [0, 1]), ("a", (), [2, 3])]
        resumed = OperatorHarness(
            operator_of(GlobalWindows.create(), trigger=trigger), by_key, restored=[harness.snapshot()]
        )
        assert resumed.process(("a", 0, 5)) == [("a", (), [4, 5])]

    def test_full_count_windows_leave_only_the_count(self) -> None:
        harness = OperatorHarness(operator_of(CountTumblingWindowAssigner.of(2)), by_key)
        assert harness.process(*(("a", 0, n) for n in range(4))) == [("a", (0,), [0, 1]), ("a", (1,), [2, 3])]
        assert {block.state for block in harness.snapshot().blocks} == {"tumble-count-assigner"}


class TestEvictors:
    def test_what_is_evicted_is_gone_for_later_firings_too(self) -> None:
        operator = operator_of(
            GlobalWindows.create(), trigger=CountTrigger.of(2), evictor=CountEvictor.of(3), function=Contents()
        )
        harness = OperatorHarness(operator, by_key)
        results = harness.process(*(("a", 0, n) for n in range(6)))
        assert results == [("a", (), [0, 1]), ("a", (), [1, 2, 3]), ("a", (), [3, 4, 5])]
        resumed = OperatorHarness(
            operator_of(GlobalWindows.create(), trigger=CountTrigger.of(2), evictor=CountEvictor.of(3)),
            by_key,
            restored=[harness.snapshot()],
        )
        assert resumed.process(("a", 0, 6), ("a", 0, 7)) == [("a", (), [5, 6, 7])]


class Counting(ProcessWindowFunction):
    """Count firings per window and per key."""

    def process(self, key: Any, context: Any, elements: Any) -> Iterator[Any]:
        for store in (context.window_state(), context.global_state()):
            name = "in window" if store is context.window_state() else "of key"
            state = store.get_state(ValueStateDescriptor(name))
            state.update((state.value() or 0) + 1)
            yield key, tuple(context.window()), name, state.value()

    def clear(self, context: Any) -> None:
        context.window_state().get_state(ValueStateDescriptor("in window")).clear()


class TestFunctions:
    def test_a_process_function_has_state_per_window_and_per_key_and_clears_the_former(self) -> None:
        def make() -> Any:
            return operator_of(TumblingEventTimeWindows.of(10), function=Counting(), allowed_lateness=100)

        harness = OperatorHarness(make(), by_key)
        feed(harness, [("a", 3, 1), ("a", 13, 1)])
        assert [r[2:] for r in harness.advance_watermark(20)] == [
            ("in window", 1), ("of key", 1), ("in window", 1), ("of key", 2)
        ]  # fmt: skip
        after = OperatorHarness(make(), by_key, restored=[harness.snapshot()])
        after.advance_watermark(20)
        assert [r[2:] for r in feed(after, [("a", 4, 1)])] == [("in window", 2), ("of key", 3)]
        after.finish()
        assert {block.state for block in after.snapshot().blocks} == {"of key"}

    def test_state_per_window_is_refused_where_windows_merge(self) -> None:
        harness = OperatorHarness(operator_of(EventTimeSessionWindows.with_gap(10), function=Counting()), by_key)
        feed(harness, [("a", 3, 1)])
        with pytest.raises(InvalidProgramError, match=r"use global_state\(\) with session windows"):
            harness.finish()

    def test_results_have_the_last_timestamp_of_their_window(self) -> None:
        class Names(WindowFunction):
            def apply(self, key: Any, window: TimeWindow, inputs: Any) -> list[str]:
                return [f"{key} {window}"]

        operator = operator_of(TumblingEventTimeWindows.of(10), function=Names())
        harness = OperatorHarness(operator, by_key)
        feed(harness, [("a", 3, 1)])
        chunk = operator.advance_watermark(9)
        assert chunk is not None
        assert (chunk.values, chunk.timestamps) == (["a TimeWindow(start=0, end=10)"], [9])
