"""The counterpart of ``pyflink.datastream.connectors.kafka``."""

from __future__ import annotations

from rekindle.connectors.kafka.flink_kafka_consumer import FlinkKafkaConsumer, FlinkKafkaConsumerBase
from rekindle.connectors.kafka.flink_kafka_producer import FlinkKafkaProducer, FlinkKafkaProducerBase, Semantic
from rekindle.connectors.kafka.kafka_sink import KafkaSink, KafkaSinkBuilder
from rekindle.connectors.kafka.kafka_source import KafkaSource, KafkaSourceBuilder
from rekindle.connectors.kafka.offsets_initializer import KafkaOffsetResetStrategy, KafkaOffsetsInitializer
from rekindle.connectors.kafka.record_deserialization import KafkaRecord, KafkaRecordDeserializationSchema
from rekindle.connectors.kafka.record_serialization import (
    KafkaRecordSerializationSchema,
    KafkaRecordSerializationSchemaBuilder,
    KafkaTopicSelector,
)
from rekindle.connectors.kafka.topic_partition import KafkaTopicPartition

__all__ = [
    "FlinkKafkaConsumer",
    "FlinkKafkaConsumerBase",
    "FlinkKafkaProducer",
    "FlinkKafkaProducerBase",
    "KafkaOffsetResetStrategy",
    "KafkaOffsetsInitializer",
    "KafkaRecord",
    "KafkaRecordDeserializationSchema",
    "KafkaRecordSerializationSchema",
    "KafkaRecordSerializationSchemaBuilder",
    "KafkaSink",
    "KafkaSinkBuilder",
    "KafkaSource",
    "KafkaSourceBuilder",
    "KafkaTopicPartition",
    "KafkaTopicSelector",
    "Semantic",
]
