"""Programs that give no parameters are checked as ever: everything is ``Any``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, assert_type

from order_records import ORDERS

from rekindle.common import TypeInformation, WatermarkStrategy
from rekindle.datastream import (
    ConnectedStreams,
    DataStream,
    KeyedStream,
    OutputTag,
    RuntimeContext,
    StreamExecutionEnvironment,
    WindowedStream,
)
from rekindle.datastream.functions import KeyedProcessFunction, MapFunction, ProcessWindowFunction, SinkFunction
from rekindle.datastream.state import MapState, ValueState, ValueStateDescriptor

TAG = OutputTag("tag")


class Price(MapFunction):
    def map(self, value: Any) -> Any:
        return value.price


class Count(KeyedProcessFunction):
    state: ValueState
    others: MapState

    def open(self, runtime_context: RuntimeContext) -> None:
        self.state = runtime_context.get_state(ValueStateDescriptor("state"))

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Any:
        self.state.update((self.state.value() or 0) + 1)
        yield TAG, ctx.get_current_key()
        yield self.state.value()


class Window(ProcessWindowFunction):
    def process(self, key: Any, context: ProcessWindowFunction.Context, elements: Any) -> Any:
        yield key, context.window()


class Nowhere(SinkFunction):
    def invoke(self, value: Any, context: SinkFunction.Context) -> None:
        pass


def untyped(stream: DataStream, keyed: KeyedStream, windows: WindowedStream, both: ConnectedStreams) -> DataStream:
    stream.map(lambda record: record.anything).add_sink(Nowhere())
    assert_type(keyed.process(Count()), DataStream[Any])
    assert_type(windows.process(Window()), DataStream[Any])
    return stream.union(keyed.map(Price()), both.stream1)


def of_type(stream: DataStream, type_info: TypeInformation, strategy: WatermarkStrategy) -> DataStream:
    return stream.map(lambda record: record, output_type=type_info).assign_timestamps_and_watermarks(strategy)


def any_function(stream: DataStream, function: Any, call: Callable[..., Any]) -> DataStream:
    return stream.map(function).flat_map(call).key_by(function).process(function)


def any_key(record: Any) -> Any:
    return record


def program(env: StreamExecutionEnvironment) -> DataStream:
    orders = env.from_collection(ORDERS)
    prices = orders.map(Price())
    assert_type(prices, DataStream[Any])
    keyed = orders.map(lambda order: order.customer).map(lambda customer: customer[0]).key_by(any_key)
    assert_type(keyed, KeyedStream[str, Any])
    return keyed.process(Count())
