"""Sources, sinks, timestamps, asynchronous functions and loops."""

from __future__ import annotations

from typing import Any, assert_type

from order_records import ORDERS, Bill, Order

from rekindle.common import Row, SimpleStringSchema, Time, Types, WatermarkStrategy
from rekindle.common.watermark_strategy import TimestampAssigner
from rekindle.datastream import (
    AsyncDataStream,
    CachedDataStream,
    DataStream,
    IterativeStream,
    SourceFunction,
    StreamExecutionEnvironment,
)
from rekindle.datastream.connectors.file_system import FileSource, StreamFormat
from rekindle.datastream.connectors.kafka import KafkaRecordSerializationSchema, KafkaSink, KafkaSource
from rekindle.datastream.connectors.number_seq import NumberSequenceSource
from rekindle.datastream.functions import AsyncFunction, CoMapFunction, SinkFunction


class Shop(SourceFunction[Order]):
    def run(self, ctx: SourceFunction.SourceContext[Order]) -> None:
        for order in ORDERS:
            ctx.collect(order)

    def cancel(self) -> None:
        pass


class Archive(SinkFunction[Order]):
    def invoke(self, value: Order, context: SinkFunction.Context) -> None:
        print(value.item, context.timestamp())


class Anywhere(SinkFunction[object]):
    def invoke(self, value: object, context: SinkFunction.Context) -> None:
        print(value)


class TimeOfOrder(TimestampAssigner[Order]):
    def extract_timestamp(self, value: Order, record_timestamp: int) -> int:
        return value.item


class Rating(AsyncFunction[Order, int]):
    async def async_invoke(self, value: Order) -> list[int]:
        return [value.item]


class Bills(CoMapFunction[int, Bill, Bill]):
    def map1(self, value: int) -> Bill:
        return Bill("Ann", value)

    def map2(self, value: Bill) -> Bill | None:
        return None


def customers(brokers: str) -> KafkaSink[str]:
    serializer = KafkaRecordSerializationSchema.builder().set_topic("customers")
    strings = serializer.set_value_serialization_schema(SimpleStringSchema()).build()
    return KafkaSink.builder().set_bootstrap_servers(brokers).set_record_serializer(strings).build()


def program(env: StreamExecutionEnvironment) -> DataStream[Any]:
    shop = env.add_source(Shop())
    assert_type(shop, DataStream[Order])
    monotonous = WatermarkStrategy.for_monotonous_timestamps()
    timed = shop.assign_timestamps_and_watermarks(monotonous.with_timestamp_assigner(TimeOfOrder()))
    assert_type(timed, DataStream[Order])
    assert_type(shop.assign_timestamps_and_watermarks(monotonous), DataStream[Order])

    none = WatermarkStrategy.no_watermarks()
    assert_type(env.from_source(NumberSequenceSource(1, 9), none, "numbers"), DataStream[int])
    lines = FileSource.for_record_stream_format(StreamFormat.text_line_format(), "/var/log").build()
    assert_type(env.from_source(lines, none, "lines"), DataStream[str])
    topic = (
        KafkaSource.builder()
        .set_bootstrap_servers("broker:9092")
        .set_topics("orders")
        .set_value_only_deserializer(SimpleStringSchema())
        .set_group_id("bills")
        .build()
    )
    assert_type(env.from_source(topic, none, "topic"), DataStream[str])
    assert_type(env.socket_text_stream("localhost", 9999), DataStream[str])

    rows = env.from_collection([("Ann", 1)], Types.ROW([Types.STRING(), Types.LONG()]))
    assert_type(rows, DataStream[Row])
    assert_type(rows.map(lambda row: row.name), DataStream[Any])
    assert_type(env.from_collection([1, 2], Types.LONG()), DataStream[int])
    assert_type(env.from_collection([[1], [2, 3]], list[int]), DataStream[list[int]])
    assert_type(env.from_collection([{}], Types.MAP(Types.STRING(), Types.DOUBLE())), DataStream[dict[str, float]])

    shop.add_sink(Archive())
    shop.add_sink(Anywhere())
    shop.map(lambda order: order.customer).sink_to(customers("broker:9092"))
    rated = AsyncDataStream.ordered_wait(shop, Rating(), Time.seconds(1))
    assert_type(rated, DataStream[int])

    assert_type(shop.cache(), CachedDataStream[Order])
    loop = env.from_collection([1, 2]).iterate()
    assert_type(loop, IterativeStream[int])
    loop.close_with(loop.map(lambda number: number - 1).filter(lambda number: number > 0))
    feedback = env.from_collection([1]).iterate().with_feedback_type(Bill)
    assert_type(feedback.stream2, DataStream[Bill])
    feedback.close_with(feedback.map(Bills(), output_type=Bill))
    return rated
