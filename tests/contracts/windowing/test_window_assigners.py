"""Windows and their assigners: pure."""

from __future__ import annotations

import pickle
from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rekindle.common import Duration, Time
from rekindle.datastream import window as module
from rekindle.datastream.window import (
    CountSlidingWindowAssigner,
    CountTrigger,
    CountTumblingWindowAssigner,
    CountWindow,
    CountWindowSerializer,
    DynamicProcessingTimeSessionWindows,
    EventTimeSessionWindows,
    EventTimeTrigger,
    GlobalWindow,
    GlobalWindows,
    GlobalWindowSerializer,
    MergingWindowAssigner,
    NeverTrigger,
    ProcessingTimeSessionWindows,
    ProcessingTimeTrigger,
    PurgingTrigger,
    SessionWindowTimeGapExtractor,
    SlidingEventTimeWindows,
    SlidingProcessingTimeWindows,
    TimeWindow,
    TimeWindowSerializer,
    TumblingEventTimeWindows,
    TumblingProcessingTimeWindows,
    WindowAssigner,
)
from rekindle.exceptions import ConfigurationError, SerializationError
from rekindle.serialization.snapshots.stored_snapshot import snapshot_from_bytes
from rekindle.state.state_evolution import StateName, stored_snapshot_of

PYFLINK_NAMES = {
    "Window", "TimeWindow", "CountWindow", "GlobalWindow", "WindowAssigner", "MergingWindowAssigner", "TriggerResult",
    "Trigger", "EventTimeTrigger", "ContinuousEventTimeTrigger", "ProcessingTimeTrigger",
    "ContinuousProcessingTimeTrigger", "PurgingTrigger", "CountTrigger", "NeverTrigger", "CountTumblingWindowAssigner",
    "CountSlidingWindowAssigner", "TumblingProcessingTimeWindows", "TumblingEventTimeWindows",
    "SlidingProcessingTimeWindows", "SlidingEventTimeWindows", "ProcessingTimeSessionWindows",
    "EventTimeSessionWindows", "DynamicProcessingTimeSessionWindows", "DynamicEventTimeSessionWindows",
    "SessionWindowTimeGapExtractor", "GlobalWindows", "TimeWindowSerializer", "CountWindowSerializer",
    "GlobalWindowSerializer",
}  # fmt: skip
WINDOWS = [TimeWindow(-3, 1 << 40), CountWindow(7), GlobalWindow.get()]
SERIALIZERS: list[Any] = [TimeWindowSerializer(), CountWindowSerializer(), GlobalWindowSerializer()]


class Clock(WindowAssigner.WindowAssignerContext):
    def __init__(self, now: int) -> None:
        self.now = now

    def get_current_processing_time(self) -> int:
        return self.now

    def get_runtime_context(self) -> Any:
        raise AssertionError


class Merged(MergingWindowAssigner.MergeCallback[TimeWindow]):
    def __init__(self) -> None:
        self.found: dict[TimeWindow, set[TimeWindow]] = {}

    def merge(self, to_be_merged: Iterable[TimeWindow], merge_result: TimeWindow) -> None:
        self.found[merge_result] = set(to_be_merged)


NOW = Clock(0)


def test_the_module_has_the_names_of_pyflinks() -> None:
    assert set(module.__all__) >= PYFLINK_NAMES
    assert all(hasattr(module, name) for name in module.__all__)


class TestWindows:
    def test_a_time_window_ends_before_its_end(self) -> None:
        window = TimeWindow(10, 20)
        assert (window.start, window.end, window.max_timestamp()) == (10, 20, 19)

    def test_windows_that_touch_intersect(self) -> None:
        assert TimeWindow(10, 20).intersects(TimeWindow(20, 30))
        assert TimeWindow(20, 30).intersects(TimeWindow(10, 20))
        assert not TimeWindow(10, 20).intersects(TimeWindow(21, 30))

    def test_a_cover_holds_both(self) -> None:
        assert TimeWindow(10, 20).cover(TimeWindow(35, 40)) == TimeWindow(10, 40)

    def test_windows_without_time_never_end(self) -> None:
        assert CountWindow(3).max_timestamp() == GlobalWindow.get().max_timestamp() == (1 << 63) - 1

    def test_there_is_one_global_window(self) -> None:
        assert GlobalWindow.get() is GlobalWindow.get()
        assert GlobalWindow() == GlobalWindow.get()

    @given(timestamp=st.integers(-100, 100), offset=st.integers(-9, 9))
    def test_the_start_of_a_window_is_at_most_its_size_before_the_timestamp(self, timestamp: int, offset: int) -> None:
        start = TimeWindow.get_window_start_with_offset(timestamp, offset, 10)
        assert start <= timestamp < start + 10
        assert (start - offset) % 10 == 0

    def test_windows_that_intersect_are_merged_and_others_left_alone(self) -> None:
        merged = Merged()
        alone, a, b, c = TimeWindow(50, 60), TimeWindow(10, 20), TimeWindow(0, 5), TimeWindow(5, 10)
        TimeWindow.merge_windows([alone, a, b, c], merged)
        assert merged.found == {TimeWindow(0, 20): {a, b, c}}

    @pytest.mark.parametrize("window", WINDOWS, ids=repr)
    def test_windows_are_pickled_as_what_they_are(self, window: Any) -> None:
        again = pickle.loads(pickle.dumps(window))
        assert again == window
        assert type(again) is type(window)


class TestSerializers:
    @pytest.mark.parametrize(("window", "serializer"), list(zip(WINDOWS, SERIALIZERS, strict=True)), ids=repr)
    def test_windows_come_back_and_are_small(self, window: Any, serializer: Any) -> None:
        data = serializer.to_bytes(window)
        assert len(data) <= 11
        for again in (serializer.from_bytes(data), *serializer.all_from_bytes(serializer.all_to_bytes([window]))):
            assert again == window
            assert type(again) is type(window)

    @pytest.mark.parametrize("serializer", SERIALIZERS, ids=repr)
    def test_other_things_are_refused(self, serializer: Any) -> None:
        with pytest.raises(SerializationError, match="get_window_serializer"):
            serializer.to_bytes((1, 2))

    @pytest.mark.parametrize("serializer", SERIALIZERS, ids=repr)
    def test_a_serializer_comes_back_from_its_snapshot(self, serializer: Any) -> None:
        stored = stored_snapshot_of(serializer, StateName("operator", "uid", "state"))
        assert snapshot_from_bytes(stored).restore_serializer() == serializer
        assert b"pickle" not in stored


class TestAssigners:
    def test_tumbling_windows_in_event_time(self) -> None:
        assigner = TumblingEventTimeWindows.of(Time.seconds(1), Time.milliseconds(100))
        assert assigner.assign_windows("x", 1_099, NOW) == [TimeWindow(100, 1_100)]
        assert assigner.assign_windows("x", 1_100, NOW) == [TimeWindow(1_100, 2_100)]
        assert assigner.assign_windows("x", -1, NOW) == [TimeWindow(-900, 100)]

    def test_sliding_windows_in_event_time(self) -> None:
        assigner = SlidingEventTimeWindows.of(Duration.of_millis(10), Duration.of_millis(4))
        assert assigner.assign_windows("x", 11, NOW) == [TimeWindow(8, 18), TimeWindow(4, 14)]
        assert assigner.assign_windows("x", 12, NOW) == [TimeWindow(12, 22), TimeWindow(8, 18), TimeWindow(4, 14)]

    def test_windows_in_processing_time_look_at_the_clock(self) -> None:
        clock = Clock(25)
        assert TumblingProcessingTimeWindows.of(10).assign_windows("x", 3, clock) == [TimeWindow(20, 30)]
        assert SlidingProcessingTimeWindows.of(10, 5).assign_windows("x", 3, clock) == [
            TimeWindow(25, 35),
            TimeWindow(20, 30),
        ]
        assert ProcessingTimeSessionWindows.with_gap(4).assign_windows("x", 3, clock) == [TimeWindow(25, 29)]

    def test_sessions_begin_with_an_element_and_last_for_the_gap(self) -> None:
        class Length(SessionWindowTimeGapExtractor):
            def extract(self, element: str) -> int:
                return len(element)

        assert EventTimeSessionWindows.with_gap(4).assign_windows("x", 3, NOW) == [TimeWindow(3, 7)]
        dynamic = EventTimeSessionWindows.with_dynamic_gap(Length())
        assert dynamic.assign_windows("xx", 3, NOW) == [TimeWindow(3, 5)]
        by_clock = ProcessingTimeSessionWindows.with_dynamic_gap(Length())
        assert isinstance(by_clock, DynamicProcessingTimeSessionWindows)
        assert by_clock.assign_windows("xx", 3, Clock(9)) == [TimeWindow(9, 11)]
        with pytest.raises(ConfigurationError, match="gap of 0 ms"):
            dynamic.assign_windows("", 3, NOW)

    def test_default_triggers_follow_the_kind_of_time(self) -> None:
        assert isinstance(TumblingEventTimeWindows.of(1).get_default_trigger(None), EventTimeTrigger)
        assert isinstance(EventTimeSessionWindows.with_gap(1).get_default_trigger(None), EventTimeTrigger)
        assert isinstance(SlidingProcessingTimeWindows.of(1, 1).get_default_trigger(None), ProcessingTimeTrigger)
        assert isinstance(GlobalWindows.create().get_default_trigger(None), NeverTrigger)
        purging = CountTumblingWindowAssigner.of(3).get_default_trigger(None)
        assert isinstance(purging, PurgingTrigger)
        assert isinstance(purging._nested, CountTrigger)

    @pytest.mark.parametrize(
        "make",
        [
            lambda: TumblingEventTimeWindows.of(0),
            lambda: TumblingEventTimeWindows.of(5, 5),
            lambda: TumblingProcessingTimeWindows.of(5, -5),
            lambda: SlidingEventTimeWindows.of(0, 1),
            lambda: SlidingEventTimeWindows.of(5, 0),
            lambda: SlidingProcessingTimeWindows.of(10, 5, 5),
            lambda: EventTimeSessionWindows.with_gap(0),
            lambda: CountTumblingWindowAssigner.of(0),
            lambda: CountSlidingWindowAssigner.of(3, 0),
        ],
    )
    def test_sizes_that_make_no_windows_are_refused(self, make: Any) -> None:
        with pytest.raises(ConfigurationError):
            make()
