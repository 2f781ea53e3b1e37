"""Sources and sinks: the counterpart of ``pyflink.datastream.connectors``."""

from typing import TYPE_CHECKING

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
from rekindle.connectors.number_sequence import NumberSequenceSource
from rekindle.contracts.connectors import Sink, SinkWriter, SinkWriterContext, Source
from rekindle.contracts.functions import CheckpointCommitter, GenericWriteAheadSink, TwoPhaseCommitSinkFunction
from rekindle.pyflink_modules import names_elsewhere

__all__ = [
    "BucketAssigner",
    "CheckpointCommitter",
    "FileEnumeratorProvider",
    "FileSink",
    "FileSource",
    "FileSourceBuilder",
    "FileSplitAssignerProvider",
    "GenericWriteAheadSink",
    "NumberSequenceSource",
    "OutputFileConfig",
    "RollingPolicy",
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
            "datastream.connectors.jdbc": ["JdbcConnectionOptions", "JdbcExecutionOptions", "JdbcSink"],
            "datastream.connectors.kafka": ["FlinkKafkaConsumer", "FlinkKafkaProducer", "KafkaSource", "Semantic"],
            "datastream.connectors.pulsar": ["PulsarSource", "PulsarSourceBuilder", "StartCursor", "StopCursor"],
            "datastream.connectors.rabbitmq": ["RMQConnectionConfig", "RMQSink", "RMQSource"],
        },
    )
