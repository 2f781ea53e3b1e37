"""Sources and sinks: the counterpart of ``pyflink.datastream.connectors``."""

from typing import TYPE_CHECKING

from rekindle.connectors.delivery_guarantee import DeliveryGuarantee
from rekindle.connectors.files.file_system import (
    BucketAssigner,
    FileEnumeratorProvider,
    FileSink,
    FileSource,
    FileSourceBuilder,
    FileSplitAssignerProvider,
    OutputFileConfig,
    RollingPolicy,
    StreamFormat,
    StreamingFileSink,
)
from rekindle.connectors.jdbc.connection_options import JdbcConnectionOptions
from rekindle.connectors.jdbc.execution_options import JdbcExecutionOptions
from rekindle.connectors.jdbc.jdbc_sink import JdbcSink
from rekindle.connectors.kafka.flink_kafka_consumer import FlinkKafkaConsumer
from rekindle.connectors.kafka.flink_kafka_producer import FlinkKafkaProducer, Semantic
from rekindle.connectors.kafka.kafka_source import KafkaSource
from rekindle.connectors.number_sequence import NumberSequenceSource
from rekindle.contracts.connectors import Sink, SinkWriter, SinkWriterContext, Source
from rekindle.contracts.functions import CheckpointCommitter, GenericWriteAheadSink, TwoPhaseCommitSinkFunction
from rekindle.pyflink_modules import names_elsewhere

__all__ = [
    "BucketAssigner",
    "CheckpointCommitter",
    "DeliveryGuarantee",
    "FileEnumeratorProvider",
    "FileSink",
    "FileSource",
    "FileSourceBuilder",
    "FileSplitAssignerProvider",
    "FlinkKafkaConsumer",
    "FlinkKafkaProducer",
    "GenericWriteAheadSink",
    "JdbcConnectionOptions",
    "JdbcExecutionOptions",
    "JdbcSink",
    "KafkaSource",
    "NumberSequenceSource",
    "OutputFileConfig",
    "RollingPolicy",
    "Semantic",
    "Sink",
    "SinkWriter",
    "SinkWriterContext",
    "Source",
    "StreamFormat",
    "StreamingFileSink",
    "TwoPhaseCommitSinkFunction",
]

if not TYPE_CHECKING:  # a type checker is to see only what there is
    __getattr__ = names_elsewhere(
        __name__,
        {
            "datastream.connectors.dynamic_kafka": [
                "DynamicKafkaSource",
                "DynamicKafkaSourceBuilder",
                "KafkaMetadataService",
                "KafkaRecordDeserializationSchema",
                "KafkaStreamSetSubscriber",
                "KafkaStreamSubscriber",
                "SingleClusterTopicMetadataService",
                "StreamPatternSubscriber",
            ],
            "datastream.connectors.pulsar": ["PulsarSource", "PulsarSourceBuilder", "StartCursor", "StopCursor"],
            "datastream.connectors.rabbitmq": ["RMQConnectionConfig", "RMQSink", "RMQSource"],
        },
    )
