"""Kafka topics under the names of Flink 1.x, for ``env.add_source``: a KafkaSource that is told in another way."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

from rekindle.connectors.kafka.kafka_source import KafkaSource
from rekindle.connectors.kafka.offsets_initializer import KafkaOffsetResetStrategy, KafkaOffsetsInitializer
from rekindle.connectors.kafka.record_deserialization import ValueOnly
from rekindle.connectors.kafka.source_properties import COMMIT_ON_CHECKPOINT
from rekindle.connectors.spark_source import SparkSourceFunction
from rekindle.contracts.functions import SourceFunction
from rekindle.exceptions import ConfigurationError
from rekindle.formats.schemas import DeserializationSchema
from rekindle.types.type_information import TypeInformation

__all__ = ["FlinkKafkaConsumer", "FlinkKafkaConsumerBase"]

_RESETS = {
    "earliest": KafkaOffsetResetStrategy.EARLIEST,
    "latest": KafkaOffsetResetStrategy.LATEST,
    "none": KafkaOffsetResetStrategy.NONE,
}


class FlinkKafkaConsumerBase(SparkSourceFunction):
    """Read topics; made as :class:`FlinkKafkaConsumer`."""

    def __init__(
        self, topics: list[str], deserialization_schema: DeserializationSchema[Any], properties: Mapping[str, str]
    ) -> None:
        self._topics = topics
        self._schema = ValueOnly(deserialization_schema)
        self._properties = dict(properties)
        self._starting: KafkaOffsetsInitializer | None = None

    def set_commit_offsets_on_checkpoints(self, commit_on_checkpoints: bool) -> FlinkKafkaConsumerBase:
        """Set whether completed checkpoints commit offsets for the group; by default they do."""
        self._properties[COMMIT_ON_CHECKPOINT] = str(bool(commit_on_checkpoints)).lower()
        return self

    def set_start_from_earliest(self) -> FlinkKafkaConsumerBase:
        """Begin with the first record of each partition."""
        self._starting = KafkaOffsetsInitializer.earliest()
        return self

    def set_start_from_latest(self) -> FlinkKafkaConsumerBase:
        """Begin at the end of each partition."""
        self._starting = KafkaOffsetsInitializer.latest()
        return self

    def set_start_from_timestamp(self, startup_offsets_timestamp: int) -> FlinkKafkaConsumerBase:
        """Begin with the first record at or after a time, in milliseconds since the epoch."""
        self._starting = KafkaOffsetsInitializer.timestamp(startup_offsets_timestamp)
        return self

    def set_start_from_group_offsets(self) -> FlinkKafkaConsumerBase:
        """Begin where the group has committed, which is the default; elsewhere as ``auto.offset.reset`` says."""
        self._starting = None
        return self

    def disable_filter_restored_partitions_with_subscribed_topics(self) -> FlinkKafkaConsumerBase:
        """Raise: partitions of topics that the program does not name are never read."""
        raise NotImplementedError(
            "disable_filter_restored_partitions_with_subscribed_topics is not available in Rekindle: Spark reads the "
            "topics that the program names. Name all topics that are to be read"
        )

    def get_produced_type(self) -> TypeInformation | None:
        """Return the type of the records; None: any Python object."""
        return self.source().type_info

    def source(self) -> KafkaSource:
        """Return the source that does what this one says."""
        builder = KafkaSource.builder().set_topics(*self._topics).set_properties(self._properties)
        return builder.set_deserializer(self._schema).set_starting_offsets(self._starting or self._group()).build()

    def _group(self) -> KafkaOffsetsInitializer:
        reset = self._properties.get("auto.offset.reset", "latest").lower()
        if reset not in _RESETS:
            raise ConfigurationError(
                f"the Kafka property 'auto.offset.reset' must be earliest, latest or none, and is {reset!r}"
            )
        return KafkaOffsetsInitializer.committed_offsets(_RESETS[reset])

    def run(self, ctx: SourceFunction.SourceContext) -> None:
        """Refuse: Spark reads the topics."""
        raise AssertionError("Spark reads the topics")

    def cancel(self) -> None:
        """Do nothing: Spark reads the topics."""


class FlinkKafkaConsumer(FlinkKafkaConsumerBase):
    """Read topics, beginning where the consumer group has committed; :class:`KafkaSource` has replaced it.

    Args:
        topics: The topics.
        deserialization_schema: What turns values into records.
        properties: Those of Kafka's consumer, ``bootstrap.servers`` and ``group.id`` among them.
    """

    def __init__(
        self,
        topics: str | list[str],
        deserialization_schema: DeserializationSchema[Any],
        properties: dict[str, str],
    ) -> None:
        warnings.warn("Deprecated in 1.16. Use KafkaSource instead.", DeprecationWarning, stacklevel=2)
        super().__init__([topics] if isinstance(topics, str) else list(topics), deserialization_schema, properties)
