"""Metrics of functions: counters, gauges, meters, distributions, and how a slot lists them."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from rekindle.datastream import KeyedProcessFunction, MapFunction, RuntimeContext, StreamExecutionEnvironment
from rekindle.datastream.window import CountTrigger, GlobalWindows, Trigger, TriggerResult
from rekindle.metrics.slot_metrics import MetricRegistry, SlotMetricGroup
from rekindle.testing import ManualClock, OperatorHarness
from support.in_process_job import InProcessJob, collect


class Measured(MapFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        group = runtime_context.get_metrics_group()
        self.seen = group.counter("seen")
        self.even = group.add_group("parity", "even").counter("numbers")
        self.meter = group.meter("speed", 10)
        self.sizes = group.add_group("sizes").distribution("number")
        self.last = 0
        group.gauge("last", lambda: self.last)

    def map(self, value: int) -> int:
        self.seen.inc(2)
        self.seen.dec()
        if value % 2 == 0:
            self.even.inc()
        self.meter.mark_event()
        self.sizes.update(value)
        self.last = value
        return self.seen.get_count()


def group() -> tuple[SlotMetricGroup, MetricRegistry, ManualClock]:
    clock = ManualClock()
    registry = MetricRegistry(clock)
    return registry.group("uid", "operator", 0), registry, clock


def values(registry: MetricRegistry) -> dict[str, Any]:
    return {metric.name: metric.values for metric in registry.values()}


def test_a_function_counts_and_measures() -> None:
    harness = OperatorHarness.unkeyed(Measured())
    harness.process(4, 1, 8)
    harness.advance_processing_time(2_000)
    assert harness.output == [1, 2, 3]
    assert harness.metrics() == {
        "seen": {"count": 3},
        "parity.even.numbers": {"count": 2},
        "speed": {"count": 3, "rate": 1.5},
        "sizes.number": {"count": 3, "sum": 13, "min": 1, "max": 8, "mean": 13 / 3},
        "last": {"value": 8},
    }


def test_functions_of_keyed_streams_and_triggers_have_metrics() -> None:
    class Counting(KeyedProcessFunction):
        def open(self, runtime_context: RuntimeContext) -> None:
            self.seen = runtime_context.get_metrics_group().counter("seen")

        def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Any:
            self.seen.inc()
            yield value

    class Counted(CountTrigger):
        def on_element(self, element: Any, timestamp: int, window: Any, ctx: Trigger.TriggerContext) -> TriggerResult:
            ctx.get_metric_group().counter("triggered").inc()
            return super().on_element(element, timestamp, window, ctx)

    env = StreamExecutionEnvironment.get_execution_environment()
    counted = env.from_collection([1, 2, 3]).key_by(lambda value: value % 2).process(Counting()).uid("counting")
    windows = counted.key_by(lambda value: 0).window(GlobalWindows.create()).trigger(Counted(2))
    collect(windows.reduce(lambda a, b: a + b).uid("windows"))
    with InProcessJob(env) as job:
        job.run_to_end()
        found = {(metric.uid, metric.name): metric.values for metric in job.slots[0].metrics()}
    assert found == {("counting", "seen"): {"count": 3}, ("windows", "triggered"): {"count": 3}}


def test_a_slot_lists_the_metrics_of_its_own_subtasks() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    numbers = env.from_collection(range(10)).rebalance().map(Measured()).name("measured").uid("m")
    collect(numbers)
    with InProcessJob(env, parallelism=2) as job:
        job.run_to_end()
        listed = [metric for slot in job.slots for metric in slot.metrics() if metric.name == "numbers"]
    assert sum(metric.values["count"] for metric in listed) == 5
    assert [(m.uid, m.operator, m.subtask, m.groups, m.variables, m.kind) for m in listed] == [
        ("m", "measured", 0, ("parity", "even"), {"parity": "even"}, "counter"),
        ("m", "measured", 1, ("parity", "even"), {"parity": "even"}, "counter"),
    ]


def test_one_name_is_one_metric_and_one_group() -> None:
    own, _, _ = group()
    assert own.counter("c") is own.counter("c")
    assert own.meter("m") is own.meter("m")
    assert own.distribution("d") is own.distribution("d")
    assert own.add_group("g") is own.add_group("g")
    assert own.add_group("k", "v") is not own.add_group("k", "w")
    assert own.add_group("g").counter("c") is not own.counter("c")


def test_the_later_gauge_of_a_name_is_listed() -> None:
    own, registry, _ = group()
    own.gauge("g", lambda: 1)
    own.gauge("g", lambda: 2)
    assert values(registry) == {"g": {"value": 2}}


def test_another_kind_under_a_name_that_is_taken_works_and_is_not_listed(caplog: pytest.LogCaptureFixture) -> None:
    own, registry, _ = group()
    own.counter("c").inc()
    with caplog.at_level(logging.WARNING):
        own.distribution("c").update(3)
    assert "is a counter already; the distribution of that name is not listed" in caplog.text
    assert values(registry) == {"c": {"count": 1}}


def test_a_gauge_that_fails_is_left_out(caplog: pytest.LogCaptureFixture) -> None:
    own, registry, _ = group()
    own.gauge("broken", lambda: 1 // 0)
    own.counter("c")
    with caplog.at_level(logging.WARNING):
        assert values(registry) == {"c": {"count": 0}}
    assert "gauge 'broken' of operator 'operator' failed" in caplog.text


def test_a_distribution_without_values_has_no_least_and_no_mean() -> None:
    own, registry, _ = group()
    own.distribution("d")
    assert values(registry)["d"] == {"count": 0, "sum": 0, "min": None, "max": None, "mean": None}


def test_the_rate_of_a_meter_is_that_of_the_last_time_span() -> None:
    own, registry, clock = group()
    meter = own.meter("m", 10)
    for _ in range(30):  # 100 events a second
        clock.advance(1_000)
        meter.mark_event(100)
        registry.note_rates()
    assert values(registry)["m"] == {"count": 3_000, "rate": 100.0}
    for _ in range(5):  # and then none for half of the span
        clock.advance(1_000)
        registry.note_rates()
    assert values(registry)["m"]["rate"] == 50.0
    clock.advance(60_000)
    registry.note_rates()
    assert values(registry)["m"]["rate"] == 0.0


def test_a_meter_that_was_just_made_has_no_rate() -> None:
    own, registry, _ = group()
    own.meter("m").mark_event()
    assert values(registry)["m"] == {"count": 1, "rate": 0.0}


def test_metrics_begin_anew_with_an_attempt() -> None:
    def program() -> StreamExecutionEnvironment:
        env = StreamExecutionEnvironment.get_execution_environment()
        collect(env.from_collection([1, 2, 3]).map(Measured()).uid("m"))
        return env

    for attempt in (0, 1):
        with InProcessJob(program(), attempt=attempt) as job:
            job.run_to_end()
            assert {m.name: m.values for m in job.slots[0].metrics()}["seen"] == {"count": 3}
