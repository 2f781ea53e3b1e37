"""A function that has to return its results and returns one value, of which the parts would be emitted: refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from rekindle.common import RestartStrategies, Time, Types, WatermarkStrategy
from rekindle.common.watermark_strategy import TimestampAssigner
from rekindle.datastream import (
    AsyncDataStream,
    AsyncFunction,
    CoFlatMapFunction,
    CoProcessFunction,
    DataStream,
    FlatMapFunction,
    KeyedProcessFunction,
    ProcessFunction,
    ProcessWindowFunction,
)
from rekindle.datastream.functions import CoGroupFunction, FlatJoinFunction
from rekindle.datastream.window import CountTumblingWindowAssigner, TumblingEventTimeWindows
from rekindle.exceptions import JobExecutionError
from rekindle.testing import local_environment

GIVEN: Any = None


class _Process(ProcessFunction):
    def process_element(self, value: Any, ctx: ProcessFunction.Context) -> Any:
        return GIVEN


class _Keyed(KeyedProcessFunction):
    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Any:
        return GIVEN


class _OnTimer(KeyedProcessFunction):
    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Any:
        ctx.timer_service().register_event_time_timer(1)

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Any:
        return GIVEN


class _FlatMap(FlatMapFunction):
    def flat_map(self, value: Any) -> Any:
        return GIVEN


class _Window(ProcessWindowFunction):
    def process(self, key: Any, context: Any, elements: Any) -> Any:
        return GIVEN


class _CoProcess(CoProcessFunction):
    def process_element1(self, value: Any, ctx: Any) -> Any:
        return GIVEN

    def process_element2(self, value: Any, ctx: Any) -> Any:
        return GIVEN


class _CoFlatMap(CoFlatMapFunction):
    def flat_map1(self, value: Any) -> Any:
        return GIVEN

    def flat_map2(self, value: Any) -> Any:
        return GIVEN


class _Async(AsyncFunction):
    async def async_invoke(self, value: Any) -> Any:
        return GIVEN


class _FlatJoin(FlatJoinFunction):
    def join(self, first: Any, second: Any) -> Any:
        return GIVEN


class _CoGroup(CoGroupFunction):
    def co_group(self, first: Any, second: Any) -> Any:
        return GIVEN


class _Stamps(TimestampAssigner):
    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        return 1


def _paired(pair: Callable[[DataStream, DataStream], Any], stream: DataStream, function: Any) -> DataStream:
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(_Stamps())
    stamped = stream.assign_timestamps_and_watermarks(strategy)
    paired = pair(stamped, stamped).where(lambda v: v).equal_to(lambda v: v)
    result: DataStream = paired.window(TumblingEventTimeWindows.of(Time.hours(1))).apply(function)
    return result


WAYS: dict[str, Callable[[DataStream], DataStream]] = {
    "process": lambda stream: stream.process(_Process()),
    "keyed process": lambda stream: stream.key_by(lambda v: v).process(_Keyed()),
    "timer": lambda stream: stream.key_by(lambda v: v).process(_OnTimer()),
    "window": lambda stream: stream.key_by(lambda v: v).window(CountTumblingWindowAssigner.of(1)).process(_Window()),
    "connected": lambda stream: stream.connect(stream).process(_CoProcess()),
    "connected flat_map": lambda stream: stream.connect(stream).flat_map(_CoFlatMap()),
    "connected and keyed": lambda stream: (
        stream.connect(stream).key_by(lambda v: v, lambda v: v).flat_map(_CoFlatMap())
    ),
    "async": lambda stream: AsyncDataStream.ordered_wait(stream, _Async(), Time.seconds(60)),
    "flat join": lambda stream: _paired(DataStream.join, stream, _FlatJoin()),
    "co-group": lambda stream: _paired(DataStream.co_group, stream, _CoGroup()),
}


def _collected(way: str) -> list[Any]:
    env = local_environment(parallelism=1)
    env.set_restart_strategy(RestartStrategies.no_restart())
    stream = env.from_collection([1], Types.LONG())
    with WAYS[way](stream).execute_and_collect() as records:
        return list(records)


@pytest.mark.parametrize("way", WAYS)
def test_text_is_not_taken_for_its_letters(way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(globals(), "GIVEN", "anna")
    with pytest.raises(JobExecutionError, match="returned a str, of which its characters would be the results: yield"):
        _collected(way)


@pytest.mark.parametrize(
    ("given", "parts"), [(b"an", "its bytes as numbers"), (bytearray(b"a"), "its bytes"), ({"a": 1}, "its keys")]
)
def test_neither_are_bytes_and_dicts(given: Any, parts: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(globals(), "GIVEN", given)
    for way in ("keyed process", "window"):
        with pytest.raises(JobExecutionError, match=f"returned a {type(given).__name__}, of which {parts}"):
            _collected(way)


@pytest.mark.parametrize(
    "given", [("anna", "bob"), ["anna", "bob"], {"anna": 1, "bob": 2}.keys(), iter(["anna", "bob"])]
)
def test_every_other_iterable_is_several_results(given: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(globals(), "GIVEN", given)
    assert _collected("keyed process") == ["anna", "bob"]
