"""The counterpart of ``pyflink.datastream.connectors.kafka``."""

from __future__ import annotations

# --- sink ---
from rekindle.connectors.kafka.flink_kafka_producer import FlinkKafkaProducer as FlinkKafkaProducer
from rekindle.connectors.kafka.flink_kafka_producer import FlinkKafkaProducerBase as FlinkKafkaProducerBase
from rekindle.connectors.kafka.flink_kafka_producer import Semantic as Semantic
from rekindle.connectors.kafka.kafka_sink import KafkaSink as KafkaSink
from rekindle.connectors.kafka.kafka_sink import KafkaSinkBuilder as KafkaSinkBuilder
from rekindle.connectors.kafka.record_serialization import (
    KafkaRecordSerializationSchema as KafkaRecordSerializationSchema,
)
from rekindle.connectors.kafka.record_serialization import (
    KafkaRecordSerializationSchemaBuilder as KafkaRecordSerializationSchemaBuilder,
)
from rekindle.connectors.kafka.record_serialization import KafkaTopicSelector as KafkaTopicSelector
