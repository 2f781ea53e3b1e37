"""Sessions take a short way through the operator; what can be seen of it is what the long way gives."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rekindle.datastream import OutputTag
from rekindle.datastream.window import (
    DynamicEventTimeSessionWindows,
    EventTimeSessionWindows,
    MergingWindowAssigner,
    ProcessingTimeSessionWindows,
    SessionWindowTimeGapExtractor,
    TimeWindow,
)
from rekindle.runtime.operators.batch.batch_operators import batch_operator
from rekindle.state.backend_settings import BackendSettings
from rekindle.state.rocksdb.settings import RocksDBSettings
from rekindle.testing import ManualClock, OperatorHarness
from rekindle.testing.backends import BackendUnderTest
from support.seeds import rounds
from support.windows import Event, as_counter, operator_of, sessions, shown

LATE = OutputTag("late")
STEPS = st.lists(
    st.tuples(
        st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 40), st.integers(1, 9)), max_size=6),
        st.integers(0, 9),  # by how much the watermark advances then
        st.booleans(),  # whether the job is restarted then
    ),
    max_size=8,
)


class Gap(SessionWindowTimeGapExtractor):
    def extract(self, element: Event) -> int:
        return element[2]


class TheLongWay(EventTimeSessionWindows[Any]):
    """Merge as sessions do, in a method of its own: the operator knows nothing of it."""

    def merge_windows(
        self, windows: Iterable[TimeWindow], callback: MergingWindowAssigner.MergeCallback[TimeWindow]
    ) -> None:
        TimeWindow.merge_windows(windows, callback)


class TheLongWayWithGaps(DynamicEventTimeSessionWindows[Any]):
    merge_windows = TheLongWay.merge_windows


def by_key(event: Event) -> str:
    return event[0]


def run(assigner: Any, kind: str, steps: list[Any], lateness: int, state_backend: Any = None) -> list[Any]:
    """Return what comes out of each step."""
    watermark, shown_by_step, snapshots, outputs = 0, [], None, {}
    for events, advance, restart in steps:
        if snapshots is None or restart:
            operator = operator_of(assigner, kind, allowed_lateness=lateness, late_tag=LATE)
            harness = OperatorHarness(operator, by_key, restored=snapshots, state_backend=state_backend)
            harness.advance_watermark(watermark)
            harness.side_outputs = outputs
        results = harness.process(*events, timestamps=[event[1] for event in events])
        watermark += advance
        shown_by_step.append((as_counter(results), as_counter(harness.advance_watermark(watermark)), str(outputs)))
        snapshots = [harness.snapshot()]
    if steps:
        shown_by_step.append((as_counter(harness.finish()), harness.operator.timer_count(), harness.snapshot().blocks))
    return shown_by_step


@pytest.mark.parametrize("lateness", [0, 3])
@pytest.mark.parametrize("kind", ["process", "reduce", "aggregate"])
@pytest.mark.parametrize("gaps", ["fixed", "dynamic"])
@given(steps=STEPS)
@settings(max_examples=rounds(15, named=40))
def test_the_short_way_gives_what_the_long_way_gives(gaps: str, kind: str, lateness: int, steps: list[Any]) -> None:
    if gaps == "fixed":
        short, long = EventTimeSessionWindows.with_gap(5), TheLongWay(5)
    else:
        short, long = DynamicEventTimeSessionWindows(Gap()), TheLongWayWithGaps(Gap())
    assert run(short, kind, steps, lateness) == run(long, kind, steps, lateness)


@given(steps=STEPS)
@settings(max_examples=rounds(6, named=15))
def test_so_it_does_in_rocksdb(steps: list[Any]) -> None:
    backend = BackendUnderTest("rocksdb", BackendSettings(rocksdb=RocksDBSettings(cache_entries=4)))
    try:
        short = run(EventTimeSessionWindows.with_gap(5), "reduce", steps, 0, backend)
    finally:
        backend.close()
    assert short == run(TheLongWay(5), "reduce", steps, 0)


@given(events=st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 99), st.integers(1, 9)), max_size=40))
@settings(max_examples=rounds(15, named=40))
def test_each_session_fires_when_the_watermark_reaches_its_end(events: list[Event]) -> None:
    events = sorted(events, key=lambda event: event[1])
    expected = sessions(lambda event: 4)(events)
    harness = OperatorHarness(operator_of(EventTimeSessionWindows.with_gap(4)), by_key)
    for watermark in range(-1, 110):  # one behind the elements: a session that begins where another ends belongs to it
        now = [event for event in events if event[1] == watermark + 1]
        assert harness.process(*now, timestamps=[watermark + 1] * len(now)) == []
        due = [
            (key, (start, end), shown("process", key, held))
            for (key, start, end), held in expected.items()
            if end - 1 == watermark
        ]
        assert as_counter(harness.advance_watermark(watermark)) == as_counter(due)
    assert harness.operator.timer_count() == 0


def test_a_session_in_processing_time_that_grew_fires_at_its_new_end_only() -> None:
    clock = ManualClock()
    harness = OperatorHarness(operator_of(ProcessingTimeSessionWindows.with_gap(10)), by_key, clock=clock)
    harness.process(("a", 0, 1))
    harness.advance_processing_time(8)
    harness.process(("a", 0, 2))
    assert harness.advance_processing_time(16) == []
    assert harness.operator.next_processing_timer() == 17
    assert harness.advance_processing_time(17) == [("a", (0, 18), [1, 2])]
    assert harness.operator.timer_count() == 0


def test_a_session_that_grows_has_one_timer() -> None:
    harness = OperatorHarness(operator_of(EventTimeSessionWindows.with_gap(10), "reduce"), by_key)
    for time in range(100):
        harness.process(("a", time, 1), timestamps=[time])
        harness.advance_watermark(time - 1)
        assert harness.operator.timer_count() == 1


@pytest.mark.parametrize("lateness", [0, 100])
def test_a_session_that_grew_fires_in_a_job_with_another_lateness(lateness: int) -> None:
    before = OperatorHarness(operator_of(EventTimeSessionWindows.with_gap(10)), by_key)
    before.process(("a", 0, 1), ("a", 5, 2), timestamps=[0, 5])
    operator = operator_of(EventTimeSessionWindows.with_gap(10), allowed_lateness=lateness)
    after = OperatorHarness(operator, by_key, restored=[before.snapshot()])
    assert after.advance_watermark(13) == []
    assert after.advance_watermark(14) == [("a", (0, 15), [1, 2])]
    assert after.advance_watermark(14 + lateness) == []
    assert after.operator.timer_count() == 0
    assert after.snapshot().blocks == ()


def test_a_session_in_processing_time_that_grew_fires_at_the_end_of_a_batch() -> None:
    class Gaps(SessionWindowTimeGapExtractor):
        def extract(self, element: Event) -> int:
            return element[1]

    operator = batch_operator(operator_of(ProcessingTimeSessionWindows.with_dynamic_gap(Gaps())), 1_000)
    harness = OperatorHarness(operator, by_key)
    harness.process(("a", 10, 1), ("a", 50, 2), ("b", 10, 3))
    assert harness.finish() == [("a", (0, 50), [1, 2]), ("b", (0, 10), [3])]
