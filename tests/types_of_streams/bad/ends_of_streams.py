"""Sources, sinks and assigners of other records."""

from __future__ import annotations

from order_records import ORDERS, Bill, Order

from rekindle.common import SimpleStringSchema, Time, Types, WatermarkStrategy
from rekindle.common.watermark_strategy import TimestampAssigner
from rekindle.datastream import AsyncDataStream, SourceFunction, StreamExecutionEnvironment
from rekindle.datastream.connectors.kafka import KafkaRecordSerializationSchema, KafkaSink
from rekindle.datastream.connectors.number_seq import NumberSequenceSource
from rekindle.datastream.functions import AsyncFunction, SinkFunction


class Shop(SourceFunction[Order]):
    def run(self, ctx: SourceFunction.SourceContext[Order]) -> None:
        ctx.collect(Bill("Ann", 1.0))  # error: arg-type

    def cancel(self) -> None:
        pass


class Archive(SinkFunction[Bill]):
    def invoke(self, value: Bill, context: SinkFunction.Context) -> None:
        print(value.total)


class TimeOfBill(TimestampAssigner[Bill]):
    def extract_timestamp(self, value: Bill, record_timestamp: int) -> int:
        return int(value.total)


class Rating(AsyncFunction[Bill, int]):
    async def async_invoke(self, value: Bill) -> list[int]:
        return [1]


def program(env: StreamExecutionEnvironment) -> None:
    shop = env.add_source(Shop())
    shop.map(lambda order: order.total)  # error: attr-defined
    strings = KafkaRecordSerializationSchema.builder().set_value_serialization_schema(SimpleStringSchema())
    shop.sink_to(KafkaSink.builder().set_record_serializer(strings.build()).build())  # error: arg-type
    shop.add_sink(Archive())  # error: arg-type
    monotonous = WatermarkStrategy.for_monotonous_timestamps()
    shop.assign_timestamps_and_watermarks(monotonous.with_timestamp_assigner(TimeOfBill()))  # error: arg-type
    AsyncDataStream.unordered_wait(shop, Rating(), Time.seconds(1))  # error: misc
    numbers = env.from_source(NumberSequenceSource(1, 9), WatermarkStrategy.no_watermarks(), "numbers")
    numbers.map(lambda number: number.nonsense)  # error: attr-defined
    env.from_collection(ORDERS, Types.LONG()).map(lambda number: number.customer)  # error: attr-defined
    loop = env.from_collection([1]).iterate()
    loop.close_with(loop.map(str))  # error: arg-type
