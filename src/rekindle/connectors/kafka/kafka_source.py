"""Kafka topics as the beginning of a stream, under PyFlink's names. Spark reads them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Generic, Self, cast

from rekindle.base.type_variables import OUT, R, T
from rekindle.connectors.kafka import subscription
from rekindle.connectors.kafka.kafka_frame import KafkaFrame
from rekindle.connectors.kafka.offsets_initializer import KafkaOffsetsInitializer, Rule
from rekindle.connectors.kafka.record_decoders import SOURCE_KIND, KafkaDecoder, decoder_of
from rekindle.connectors.kafka.record_deserialization import KafkaRecordDeserializationSchema, ValueOnly
from rekindle.connectors.kafka.source_properties import KafkaProperties
from rekindle.connectors.kafka.subscription import Subscription
from rekindle.connectors.kafka.topic_partition import KafkaTopicPartition
from rekindle.connectors.spark_source import SparkSource
from rekindle.contracts.time.watermark_strategy import WatermarkStrategy
from rekindle.exceptions import InvalidProgramError
from rekindle.formats.schemas import DeserializationSchema
from rekindle.graph.splits import OFFSET_COLUMN, SPLIT_COLUMNS
from rekindle.graph.transformations.split_sources import SplitRecordsTransformation

__all__ = ["KafkaSource", "KafkaSourceBuilder"]


class KafkaSource(SparkSource[OUT]):
    """Read Kafka topics through Spark, for ``env.from_source``; made by :meth:`builder`.

    The offset of each partition is part of every checkpoint. Watermarks follow each partition by itself.
    """

    makes_watermarks: ClassVar[bool] = True
    _subscription: Subscription
    _properties: KafkaProperties
    _starting: KafkaOffsetsInitializer
    _stopping: KafkaOffsetsInitializer | None
    _bounded: bool
    _decoder: KafkaDecoder

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise TypeError("a KafkaSource is made by KafkaSource.builder()")

    @staticmethod
    def builder() -> KafkaSourceBuilder[Any]:
        """Configure a source."""
        return KafkaSourceBuilder()

    def __repr__(self) -> str:
        return f"KafkaSource({self._subscription.option} {self._subscription.value} at {self._properties.servers})"

    @property
    def kind(self) -> str:
        """Return what uids are derived from."""
        return SOURCE_KIND

    @property
    def bounded(self) -> bool:
        """Return whether the source was made with ``set_bounded``."""
        return self._bounded

    def frame(self) -> KafkaFrame:
        """Return what Spark is to read."""
        ends = (*SPLIT_COLUMNS, OFFSET_COLUMN) if self._stopping is not None else ()
        return self._frame(ends)

    def split_frame(self) -> KafkaFrame:
        """Return what Spark is to read where each row has to name its partition."""
        return self._frame(SPLIT_COLUMNS if self._stopping is None else (*SPLIT_COLUMNS, OFFSET_COLUMN))

    def transformation(self, strategy: WatermarkStrategy | None) -> SplitRecordsTransformation:
        """Describe what turns Spark's rows into records, with watermarks that follow each partition."""
        return SplitRecordsTransformation(self._decoder, strategy)

    def _frame(self, named: tuple[str, ...]) -> KafkaFrame:
        columns = tuple(dict.fromkeys((*self._decoder.columns, *named)))
        return KafkaFrame(self._subscription, self._properties, self._starting, self._stopping, columns)


class KafkaSourceBuilder(Generic[T]):
    """Configure a :class:`KafkaSource`; made by ``KafkaSource.builder()``.

    Bootstrap servers, what to read, and a deserializer must be set. Reading begins at the earliest offsets unless
    :meth:`set_starting_offsets` says otherwise, and never ends unless :meth:`set_bounded` or :meth:`set_unbounded` says
    where.
    """

    def __init__(self) -> None:
        self._properties: dict[str, str] = {}
        self._subscription: Subscription | None = None
        self._starting = KafkaOffsetsInitializer.earliest()
        self._stopping: KafkaOffsetsInitializer | None = None
        self._bounded = False
        self._schema: KafkaRecordDeserializationSchema[Any] | None = None

    def build(self) -> KafkaSource[T]:
        """Return the source.

        Raises:
            InvalidProgramError: Something that must be set is not.
            ConfigurationError: A property cannot be used.
        """
        if self._subscription is None:
            raise InvalidProgramError(
                "a KafkaSource needs something to read: call set_topics, set_topic_pattern or set_partitions"
            )
        if self._schema is None:
            raise InvalidProgramError(
                "a KafkaSource needs a deserializer: call set_value_only_deserializer(SimpleStringSchema())"
            )
        properties = KafkaProperties(dict(self._properties))
        for initializer in (self._starting, self._stopping):
            if initializer is not None and initializer.rule is Rule.COMMITTED and properties.group is None:
                raise InvalidProgramError("a KafkaSource with committed offsets needs a group: call set_group_id")
        source: KafkaSource[T] = KafkaSource.__new__(KafkaSource)
        source.type_info = self._schema.get_produced_type()
        source._subscription = self._subscription
        source._properties = properties
        source._starting = self._starting
        source._stopping = self._stopping
        source._bounded = self._bounded
        source._decoder = decoder_of(self._schema)
        return source

    def set_bootstrap_servers(self, bootstrap_servers: str) -> Self:
        """Set the brokers that clients begin with: ``host:port``, separated by commas."""
        return self.set_property("bootstrap.servers", bootstrap_servers)

    def set_group_id(self, group_id: str) -> Self:
        """Set the consumer group: its committed offsets may be where reading begins, and completed checkpoints commit.

        Args:
            group_id: The group.
        """
        return self.set_property("group.id", group_id)

    def set_topics(self, *topics: str) -> Self:
        """Read topics, which must be there when the job starts. Partitions that are added to them are read, too."""
        if not topics or not all(isinstance(topic, str) and topic and "," not in topic for topic in topics):
            raise ValueError(f"set_topics takes names of topics, and was given {topics!r}")
        return self._read(subscription.topics(topics))

    def set_topic_pattern(self, topic_pattern: str) -> Self:
        """Read all topics whose whole names match a pattern of Java's, those that are created later, too."""
        if not isinstance(topic_pattern, str) or not topic_pattern:
            raise ValueError(f"set_topic_pattern takes a pattern, and was given {topic_pattern!r}")
        return self._read(subscription.pattern(topic_pattern))

    def set_partitions(self, partitions: set[KafkaTopicPartition]) -> Self:
        """Read given partitions, which must be there when the job starts, and no others."""
        if not partitions or not all(isinstance(partition, KafkaTopicPartition) for partition in partitions):
            raise ValueError(f"set_partitions takes a set of KafkaTopicPartition, and was given {partitions!r}")
        return self._read(subscription.partitions({partition.split for partition in partitions}))

    def _read(self, what: Subscription) -> Self:
        if self._subscription is not None:
            raise InvalidProgramError(
                "a KafkaSource reads topics, or a pattern of topics, or partitions, and one of them was set before: "
                f"{self._subscription.option} {self._subscription.value}"
            )
        self._subscription = what
        return self

    def set_starting_offsets(self, starting_offsets_initializer: KafkaOffsetsInitializer) -> Self:
        """Set where reading begins, unless the job continues from a checkpoint; by default at the earliest offsets."""
        self._starting = _initializer(starting_offsets_initializer)
        return self

    def set_unbounded(self, stopping_offsets_initializer: KafkaOffsetsInitializer) -> Self:
        """Set where a stream ends that counts as unbounded: the program runs in streaming mode."""
        self._stopping, self._bounded = _end(stopping_offsets_initializer), False
        return self

    def set_bounded(self, stopping_offsets_initializer: KafkaOffsetsInitializer) -> Self:
        """Set where a bounded stream ends."""
        self._stopping, self._bounded = _end(stopping_offsets_initializer), True
        return self

    def set_value_only_deserializer(self, deserialization_schema: DeserializationSchema[R]) -> KafkaSourceBuilder[R]:
        """Set what turns the values of records into records of the stream. Records without a value are skipped."""
        self._schema = ValueOnly(deserialization_schema)
        return cast(KafkaSourceBuilder[R], self)

    def set_deserializer(self, deserializer: KafkaRecordDeserializationSchema[R]) -> KafkaSourceBuilder[R]:
        """Set what turns whole records of Kafka, with their keys and headers, into records of the stream.

        Rekindle's own: PyFlink's KafkaSourceBuilder has only :meth:`set_value_only_deserializer`.
        """
        if not isinstance(deserializer, KafkaRecordDeserializationSchema):
            raise TypeError(
                f"set_deserializer takes a KafkaRecordDeserializationSchema, and was given {deserializer!r}"
            )
        self._schema = deserializer
        return cast(KafkaSourceBuilder[R], self)

    def set_client_id_prefix(self, prefix: str) -> Self:
        """Set what the names of Spark's consumer groups begin with; by default the group of :meth:`set_group_id`."""
        return self.set_property("client.id.prefix", prefix)

    def set_property(self, key: str, value: str) -> Self:
        """Set a property of Kafka's consumer, or of the source: docs/kafka.md lists those that are special."""
        self._properties[key] = value
        return self

    def set_properties(self, props: Mapping[str, str]) -> Self:
        """Set properties of Kafka's consumer, or of the source."""
        self._properties.update(props)
        return self


def _initializer(initializer: KafkaOffsetsInitializer) -> KafkaOffsetsInitializer:
    if not isinstance(initializer, KafkaOffsetsInitializer):
        raise TypeError(f"offsets are given as KafkaOffsetsInitializer, got {initializer!r}")
    return initializer


def _end(initializer: KafkaOffsetsInitializer) -> KafkaOffsetsInitializer:
    if _initializer(initializer).rule is Rule.EARLIEST:
        raise ValueError("a KafkaSource cannot end at the earliest offsets: there is nothing before them")
    return initializer
