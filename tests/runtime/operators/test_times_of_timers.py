"""The time of a timer is an integer of milliseconds within 64 bits; anything else raises at the call."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import pytest

from rekindle.common import Time, WatermarkStrategy
from rekindle.common.watermark_generator import WatermarkGenerator, WatermarkOutput
from rekindle.common.watermark_strategy import TimestampAssigner
from rekindle.datastream import KeyedProcessFunction, TimeWindow, Trigger, TriggerResult
from rekindle.datastream.functions import (
    KeyedBroadcastProcessFunction,
    KeyedCoProcessFunction,
    ProcessWindowFunction,
)
from rekindle.datastream.operators import (
    AbstractStreamOperator,
    OneInputStreamOperator,
    StreamRecord,
    Triggerable,
    Watermark,
)
from rekindle.datastream.window import TumblingEventTimeWindows
from rekindle.runtime.operators.event_time import TimestampsAndWatermarksOperator
from rekindle.testing import OperatorHarness
from support.windows import operator_of

NO_INTEGERS = [1.5, 5_400_000.0, True, False, "1000", None, b"1", np.float64(3.0), np.bool_(True), float("nan"), [1]]
TOO_LARGE = [1 << 63, 1 << 70, -(1 << 63) - 1, 10**5000]
TIMES = [0, -5, (1 << 63) - 1, -(1 << 63), np.int64(7), np.uint8(7)]

Call = Callable[[Any], None]
"""What is done to a timer service, or what has its methods."""


class Process(KeyedProcessFunction):
    def process_element(self, value: Call, ctx: Any) -> Iterable[Any]:
        value(ctx.timer_service())
        return ()

    def on_timer(self, timestamp: int, ctx: Any) -> Iterable[Any]:
        yield timestamp


class CoProcess(KeyedCoProcessFunction):
    def process_element1(self, value: Call, ctx: Any) -> Iterable[Any]:
        value(ctx.timer_service())
        return ()

    def process_element2(self, value: Any, ctx: Any) -> Iterable[Any]:
        return ()

    def on_timer(self, timestamp: int, ctx: Any) -> Iterable[Any]:
        yield timestamp


class Broadcast(KeyedBroadcastProcessFunction):
    def process_element(self, value: Call, ctx: Any) -> Iterable[Any]:
        value(ctx.timer_service())
        return ()

    def process_broadcast_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        return ()

    def on_timer(self, timestamp: int, ctx: Any) -> Iterable[Any]:
        yield timestamp


class Triggered(Trigger):
    def on_element(self, element: Call, timestamp: int, window: Any, ctx: Any) -> TriggerResult:
        element(ctx)
        return TriggerResult.CONTINUE

    def on_processing_time(self, time: int, window: Any, ctx: Any) -> TriggerResult:
        return TriggerResult.FIRE

    def on_event_time(self, time: int, window: Any, ctx: Any) -> TriggerResult:
        return TriggerResult.FIRE

    def on_merge(self, window: Any, ctx: Any) -> None:
        raise AssertionError

    def clear(self, window: Any, ctx: Any) -> None:
        pass


class Fired(ProcessWindowFunction):
    def process(self, key: Any, context: Any, elements: Iterable[Any]) -> Iterable[Any]:
        yield "fired"


class Custom(AbstractStreamOperator, OneInputStreamOperator, Triggerable):
    def open(self) -> None:
        self.timers = self.get_internal_timer_service("timers", None, self)

    def process_element(self, record: StreamRecord[Any]) -> None:
        record.value(_InWindow(self.timers))

    def on_event_time(self, timer: Any) -> None:
        self.output.collect(StreamRecord(timer.timestamp, timer.timestamp))

    def on_processing_time(self, timer: Any) -> None:
        self.output.collect(StreamRecord(timer.timestamp, timer.timestamp))


class _InWindow:
    """Give the timer service of a custom operator, whose methods take a namespace, the face of the others."""

    def __init__(self, service: Any) -> None:
        self._service = service

    def __getattr__(self, name: str) -> Any:
        return lambda time: getattr(self._service, name)("window", time)


def windows() -> OperatorHarness:
    assigner = TumblingEventTimeWindows.of(Time.milliseconds(10))
    return OperatorHarness(operator_of(assigner, function=Fired(), trigger=Triggered()), lambda _: "key")


SERVICES: dict[str, Callable[[], OperatorHarness]] = {
    "keyed process": lambda: OperatorHarness.keyed(Process(), lambda _: "key"),
    "keyed co-process": lambda: OperatorHarness.keyed(CoProcess(), lambda _: "key", lambda _: "key"),
    "keyed broadcast": lambda: OperatorHarness.keyed(Broadcast(), lambda _: "key"),
    "trigger": windows,
    "custom operator": lambda: OperatorHarness.keyed(Custom(), lambda _: "key"),
}
METHODS = [
    "register_event_time_timer",
    "register_processing_time_timer",
    "delete_event_time_timer",
    "delete_processing_time_timer",
]


@pytest.mark.parametrize("service", SERVICES)
@pytest.mark.parametrize("method", METHODS)
def test_a_time_that_is_no_integer_within_64_bits_raises_at_the_call(service: str, method: str) -> None:
    harness = SERVICES[service]()
    for time in NO_INTEGERS:
        with pytest.raises(TypeError, match=r"timer of operator 'operator' .* a whole number of milliseconds"):
            harness.process(lambda timers, time=time: getattr(timers, method)(time), timestamps=[0])
    for time in TOO_LARGE:
        with pytest.raises(ValueError, match="has to fit into 64 bits"):
            harness.process(lambda timers, time=time: getattr(timers, method)(time), timestamps=[0])
    for time in TIMES:
        harness.process(lambda timers, time=time: getattr(timers, method)(time), timestamps=[0])
    harness.close()


@pytest.mark.parametrize("service", SERVICES)
def test_integers_of_numpy_are_times_too(service: str) -> None:
    harness = SERVICES[service]()
    harness.process(lambda timers: timers.register_event_time_timer(np.int64(7)), timestamps=[0])
    harness.process(lambda timers: timers.register_event_time_timer(7), timestamps=[0])
    harness.process(lambda timers: timers.delete_event_time_timer(np.int32(7)), timestamps=[0])
    assert harness.advance_watermark(8) == []


def test_the_message_names_the_time() -> None:
    harness = SERVICES["keyed process"]()
    with pytest.raises(TypeError, match=r"was given as 5400000\.0, a float"):
        harness.process(lambda timers: timers.register_event_time_timer(1.5 * 3_600_000))
    with pytest.raises(ValueError, match="was given as 9223372036854775808:"):
        harness.process(lambda timers: timers.register_event_time_timer(2**63))


class Halves(WatermarkGenerator):
    def on_event(self, event: Any, event_timestamp: int, output: WatermarkOutput) -> None:
        output.emit_watermark(event)

    def on_periodic_emit(self, output: WatermarkOutput) -> None:
        pass


class Itself(TimestampAssigner):
    def extract_timestamp(self, value: Any, record_timestamp: int) -> Any:
        return value


@pytest.mark.parametrize("time", [1.5, "7", 1 << 63])
def test_a_watermark_is_a_time_too(time: Any) -> None:
    strategy = WatermarkStrategy.for_generator(Halves)
    with pytest.raises((TypeError, ValueError), match="a watermark was given as"):
        OperatorHarness(TimestampsAndWatermarksOperator(strategy)).process(time)

    class Marking(AbstractStreamOperator, OneInputStreamOperator):
        def process_element(self, record: StreamRecord[Any]) -> None:
            self.output.emit_watermark(Watermark(record.value))

    with pytest.raises((TypeError, ValueError), match="a watermark was given as"):
        OperatorHarness.unkeyed(Marking()).process(time)


def test_a_record_has_a_timestamp_within_64_bits() -> None:
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(Itself())
    with pytest.raises(ValueError, match="the timestamp of a record was given as 1180591620717411303424:"):
        OperatorHarness(TimestampsAndWatermarksOperator(strategy)).process(1 << 70)

    class Stamping(AbstractStreamOperator, OneInputStreamOperator):
        def process_element(self, record: StreamRecord[Any]) -> None:
            self.output.collect(StreamRecord(record.value, record.value))

    with pytest.raises(TypeError, match=r"timestamp was given as 1\.5"):
        OperatorHarness.unkeyed(Stamping()).process(1.5)


def test_a_window_that_does_not_end_at_a_whole_millisecond_is_refused() -> None:
    class Odd(TumblingEventTimeWindows):
        def assign_windows(self, element: Any, timestamp: int, context: Any) -> Any:
            return [TimeWindow(0, 1.5)]  # type: ignore[arg-type]

    harness = OperatorHarness(operator_of(Odd(10, 0)), lambda _: "key")
    with pytest.raises(TypeError, match=r"was given as 0\.5, a float"):
        harness.process(("key", 0, 1), timestamps=[0])
