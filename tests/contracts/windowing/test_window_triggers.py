"""Triggers and evictors: pure, with a context that writes down what it is asked."""

from __future__ import annotations

from typing import Any

import pytest

from rekindle.common import Time
from rekindle.datastream.window import (
    ContinuousEventTimeTrigger,
    ContinuousProcessingTimeTrigger,
    CountEvictor,
    CountTrigger,
    DeltaEvictor,
    EventTimeTrigger,
    GlobalWindow,
    NeverTrigger,
    ProcessingTimeTrigger,
    PurgingTrigger,
    TimeEvictor,
    TimestampedValue,
    TimeWindow,
    Trigger,
    TriggerResult,
)
from rekindle.exceptions import ConfigurationError

WINDOW = TimeWindow(0, 20)
CONTINUE, FIRE = TriggerResult.CONTINUE, TriggerResult.FIRE


class Reduced:
    """A reducing state of one key and window."""

    def __init__(self, function: Any) -> None:
        self.function = function
        self.value: Any = None

    def get(self) -> Any:
        return self.value

    def add(self, value: Any) -> None:
        self.value = value if self.value is None else self.function.reduce(self.value, value)

    def clear(self) -> None:
        self.value = None


class Context(Trigger.OnMergeContext):
    def __init__(self, watermark: int = -100, now: int = 0) -> None:
        self.watermark, self.now = watermark, now
        self.event: set[int] = set()
        self.processing: set[int] = set()
        self.states: dict[str, Any] = {}
        self.merged: list[str] = []

    def get_current_processing_time(self) -> int:
        return self.now

    def get_current_watermark(self) -> int:
        return self.watermark

    def get_metric_group(self) -> Any:
        raise AssertionError

    def register_processing_time_timer(self, time: int) -> None:
        self.processing.add(time)

    def register_event_time_timer(self, time: int) -> None:
        self.event.add(time)

    def delete_processing_time_timer(self, time: int) -> None:
        self.processing.discard(time)

    def delete_event_time_timer(self, time: int) -> None:
        self.event.discard(time)

    def get_partitioned_state(self, state_descriptor: Any) -> Any:
        return self.states.setdefault(state_descriptor.get_name(), Reduced(state_descriptor.get_reduce_function()))

    def merge_partitioned_state(self, state_descriptor: Any) -> None:
        self.merged.append(state_descriptor.get_name())


class TestEventTimeTrigger:
    def test_it_waits_for_the_end_of_the_window(self) -> None:
        trigger, ctx = EventTimeTrigger.create(), Context()
        assert trigger.on_element("x", 3, WINDOW, ctx) is CONTINUE
        assert ctx.event == {19}
        assert trigger.on_event_time(18, WINDOW, ctx) is CONTINUE
        assert trigger.on_event_time(19, WINDOW, ctx) is FIRE
        assert trigger.on_processing_time(19, WINDOW, ctx) is CONTINUE
        trigger.clear(WINDOW, ctx)
        assert ctx.event == set()

    def test_an_element_of_a_window_that_is_over_fires_at_once(self) -> None:
        ctx = Context(watermark=19)
        assert EventTimeTrigger().on_element("x", 3, WINDOW, ctx) is FIRE
        assert ctx.event == set()

    @pytest.mark.parametrize(("watermark", "timers"), [(18, {19}), (19, set())])
    def test_a_merged_window_waits_for_its_end_unless_it_is_over(self, watermark: int, timers: set[int]) -> None:
        trigger, ctx = EventTimeTrigger[Any](), Context(watermark)
        assert trigger.can_merge()
        trigger.on_merge(WINDOW, ctx)
        assert ctx.event == timers


class TestProcessingTimeTrigger:
    def test_it_waits_for_the_end_of_the_window(self) -> None:
        trigger, ctx = ProcessingTimeTrigger.create(), Context()
        assert trigger.on_element("x", 3, WINDOW, ctx) is CONTINUE
        assert ctx.processing == {19}
        assert trigger.on_event_time(19, WINDOW, ctx) is CONTINUE
        assert trigger.on_processing_time(19, WINDOW, ctx) is FIRE
        trigger.clear(WINDOW, ctx)
        assert ctx.processing == set()

    @pytest.mark.parametrize(("now", "timers"), [(18, {19}), (19, set())])
    def test_a_merged_window_waits_for_its_end_unless_it_is_over(self, now: int, timers: set[int]) -> None:
        ctx = Context(now=now)
        ProcessingTimeTrigger[Any]().on_merge(WINDOW, ctx)
        assert ctx.processing == timers


class TestContinuousTriggers:
    def test_it_fires_at_multiples_of_the_interval_and_at_the_end(self) -> None:
        trigger, ctx = ContinuousEventTimeTrigger.of(Time.milliseconds(8)), Context()
        assert trigger.on_element("x", 3, WINDOW, ctx) is CONTINUE
        assert ctx.event == {8, 19}
        assert trigger.on_event_time(7, WINDOW, ctx) is CONTINUE
        assert trigger.on_event_time(8, WINDOW, ctx) is FIRE
        assert trigger.on_event_time(16, WINDOW, ctx) is FIRE
        assert ctx.event == {8, 16, 19}
        assert trigger.on_event_time(19, WINDOW, ctx) is FIRE
        ctx.event.clear()
        ctx.event.add(19)
        trigger.clear(WINDOW, ctx)
        assert ctx.event == set()

    def test_by_the_clock_the_first_time_is_counted_from_now(self) -> None:
        trigger, ctx = ContinuousProcessingTimeTrigger.of(8), Context(now=9)
        assert trigger.on_element("x", 3, WINDOW, ctx) is CONTINUE
        assert ctx.processing == {16}
        assert trigger.on_processing_time(16, WINDOW, ctx) is FIRE
        assert ctx.processing == {16, 19}
        assert trigger.on_processing_time(17, WINDOW, ctx) is CONTINUE

    def test_a_merged_window_fires_when_the_first_of_its_parts_would_have(self) -> None:
        trigger, ctx = ContinuousEventTimeTrigger.of(8), Context()
        for time in (16, 8):
            ctx.get_partitioned_state(trigger.state_desc).add(time)
        trigger.on_merge(WINDOW, ctx)
        assert (ctx.merged, ctx.event) == (["fire-time"], {8})

    def test_an_interval_of_nothing_is_refused(self) -> None:
        with pytest.raises(ConfigurationError, match="must be above 0, got 0 ms"):
            ContinuousEventTimeTrigger.of(0)


class TestOtherTriggers:
    def test_a_count_trigger_fires_at_every_nth_element(self) -> None:
        trigger, ctx = CountTrigger.of(3), Context()
        assert [trigger.on_element("x", 0, WINDOW, ctx) for _ in range(7)] == [CONTINUE, CONTINUE, FIRE] * 2 + [
            CONTINUE
        ]
        trigger.clear(WINDOW, ctx)
        assert [trigger.on_element("x", 0, WINDOW, ctx) for _ in range(3)] == [CONTINUE, CONTINUE, FIRE]

    def test_a_purging_trigger_purges_when_the_other_fires(self) -> None:
        trigger, ctx = PurgingTrigger.of(CountTrigger.of(2)), Context()
        assert trigger.on_element("x", 0, WINDOW, ctx) is CONTINUE
        assert trigger.on_element("x", 0, WINDOW, ctx) is TriggerResult.FIRE_AND_PURGE
        assert PurgingTrigger.of(EventTimeTrigger.create()).on_event_time(19, WINDOW, ctx).is_purge()
        assert trigger.can_merge()
        assert not PurgingTrigger.of(NeverTrigger[Any, Any]()).can_merge()

    def test_never_means_never(self) -> None:
        trigger, ctx, window = NeverTrigger[Any, Any](), Context(), GlobalWindow.get()
        assert trigger.on_element("x", 0, window, ctx) is CONTINUE
        assert trigger.on_event_time(0, window, ctx) is trigger.on_processing_time(0, window, ctx) is CONTINUE

    def test_results_say_what_they_mean(self) -> None:
        assert [(r.is_fire(), r.is_purge()) for r in TriggerResult] == [
            (False, False), (True, True), (True, False), (False, True)
        ]  # fmt: skip


def left(evictor: Any, *elements: tuple[Any, int], after: bool = False) -> list[Any]:
    values = [TimestampedValue(*element) for element in elements]
    evict = evictor.evict_after if after else evictor.evict_before
    evict(values, len(values), WINDOW, None)
    return [value for value, _ in values]


class TestEvictors:
    def test_a_count_evictor_keeps_the_last(self) -> None:
        assert left(CountEvictor.of(2), ("a", 1), ("b", 2), ("c", 3)) == ["b", "c"]
        assert left(CountEvictor.of(3), ("a", 1), ("b", 2)) == ["a", "b"]
        assert left(CountEvictor.of(0), ("a", 1)) == []

    def test_a_time_evictor_keeps_what_is_less_than_its_size_below_the_highest_timestamp(self) -> None:
        assert left(TimeEvictor.of(Time.milliseconds(5)), ("a", 5), ("b", 10), ("c", 6)) == ["b", "c"]

    def test_a_time_evictor_keeps_elements_without_timestamps(self) -> None:
        assert left(TimeEvictor.of(5), ("a", -(1 << 63)), ("b", -(1 << 63))) == ["a", "b"]

    def test_a_delta_evictor_keeps_what_is_near_the_last(self) -> None:
        evictor = DeltaEvictor.of(3.0, lambda element, last: abs(element - last))
        assert left(evictor, (1, 0), (5, 0), (9, 0), (7, 0)) == [5, 9, 7]

    @pytest.mark.parametrize("after", [False, True])
    def test_an_evictor_works_before_the_function_or_after_it(self, after: bool) -> None:
        evictor = CountEvictor.of(1, do_evict_after=after)
        assert left(evictor, ("a", 1), ("b", 2), after=False) == (["a", "b"] if after else ["b"])
        assert left(evictor, ("a", 1), ("b", 2), after=True) == (["b"] if after else ["a", "b"])
