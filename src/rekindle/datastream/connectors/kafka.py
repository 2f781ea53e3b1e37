"""The counterpart of ``pyflink.datastream.connectors.kafka``."""

from __future__ import annotations

from rekindle.connectors.kafka.flink_kafka_consumer import FlinkKafkaConsumer, FlinkKafkaConsumerBase
from rekindle.connectors.kafka.kafka_source import KafkaSource, KafkaSourceBuilder
from rekindle.connectors.kafka.offsets_initializer import KafkaOffsetResetStrategy, KafkaOffsetsInitializer
from rekindle.connectors.kafka.record_deserialization import KafkaRecord, KafkaRecordDeserializationSchema
from rekindle.connectors.kafka.topic_partition import KafkaTopicPartition

__all__ = [
    "FlinkKafkaConsumer",
    "FlinkKafkaConsumerBase",
    "KafkaOffsetResetStrategy",
    "KafkaOffsetsInitializer",
    "KafkaRecord",
    "KafkaRecordDeserializationSchema",
    "KafkaSource",
    "KafkaSourceBuilder",
    "KafkaTopicPartition",
]
