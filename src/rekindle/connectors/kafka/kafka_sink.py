"""KafkaSink and its builder: what PyFlink calls them, on this package's writers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Generic, Self, cast

from rekindle.base.type_variables import IN, R, T
from rekindle.config.secrets import all_shown
from rekindle.connectors.delivery_guarantee import DeliveryGuarantee
from rekindle.connectors.kafka.client_properties import translated
from rekindle.connectors.kafka.commit_markers import DEFAULT_COMMIT_TOPIC
from rekindle.connectors.kafka.exactly_once_writer import ExactlyOnceKafkaWriter
from rekindle.connectors.kafka.immediate_writer import ImmediateKafkaWriter
from rekindle.connectors.kafka.kafka_clients import KafkaClients
from rekindle.connectors.kafka.record_serialization import ChunkSerialization, KafkaRecordSerializationSchema
from rekindle.contracts.connectors import Sink, SinkWriter, SinkWriterContext
from rekindle.exceptions import ConfigurationError, InvalidArgumentError, InvalidCallError

MAXIMUM_PREFIX_BYTES = 6400
_DEFAULT_PREFIX = "kafka-sink"


@dataclass(frozen=True, slots=True)
class KafkaSinkSettings:
    """What a program said about a Kafka sink.

    Attributes:
        properties: Properties of the producer, by the names of Java's client.
        serializer: Makes Kafka's records.
        guarantee: What holds after a failure.
        prefix: What transactional ids begin with.
        commit_topic: The topic that says what is committed.
        with_timestamps: Whether the records' timestamps become those of Kafka.
        only_log: Whether records that Kafka does not take are logged, and the job goes on.
    """

    properties: dict[str, str]
    serializer: KafkaRecordSerializationSchema
    guarantee: DeliveryGuarantee = DeliveryGuarantee.NONE
    prefix: str = _DEFAULT_PREFIX
    commit_topic: str = DEFAULT_COMMIT_TOPIC
    with_timestamps: bool = True
    only_log: bool = False

    def __repr__(self) -> str:
        return f"KafkaSinkSettings({self.guarantee.name}, {all_shown(self.properties)})"

    def create_writer(self, context: SinkWriterContext) -> SinkWriter:
        """Create the writer of one subtask."""
        clients = KafkaClients(self.properties)
        serialization = ChunkSerialization(self.serializer, self.with_timestamps)
        if self.guarantee is DeliveryGuarantee.EXACTLY_ONCE:
            return ExactlyOnceKafkaWriter(serialization, clients, self.prefix, self.commit_topic, context)
        flush = self.guarantee is DeliveryGuarantee.AT_LEAST_ONCE
        return ImmediateKafkaWriter(serialization, clients, flush, self.only_log)


class KafkaSink(Sink[IN]):
    """Write records to Kafka, with one of three guarantees; made by :meth:`builder`.

    * ``DeliveryGuarantee.EXACTLY_ONCE``: records appear once, to consumers with ``isolation.level=read_committed``,
      when the checkpoint after them is complete.
    * ``DeliveryGuarantee.AT_LEAST_ONCE``: records appear immediately, and again after a failure.
    * ``DeliveryGuarantee.NONE``, the default: records appear immediately; after a failure some may appear again and
      some not at all.

    Example::

        sink = (
            KafkaSink.builder()
            .set_bootstrap_servers("broker:9092")
            .set_record_serializer(
                KafkaRecordSerializationSchema.builder()
                .set_topic("results")
                .set_value_serialization_schema(SimpleStringSchema())
                .build()
            )
            .set_delivery_guarantee(DeliveryGuarantee.EXACTLY_ONCE)
            .build()
        )
    """

    def __init__(self, settings: KafkaSinkSettings) -> None:
        self._settings = settings

    def __repr__(self) -> str:
        return f"KafkaSink({self._settings!r})"

    @staticmethod
    def builder() -> KafkaSinkBuilder[Any]:
        """Return a builder."""
        return KafkaSinkBuilder()

    def create_writer(self, context: SinkWriterContext) -> SinkWriter[IN]:
        """Create the writer of one subtask, in its slot."""
        return self._settings.create_writer(context)


class KafkaSinkBuilder(Generic[T]):
    """Build a :class:`KafkaSink`: bootstrap servers and a record serializer are required."""

    def __init__(self) -> None:
        self._properties: dict[str, str] = {}
        self._serializer: KafkaRecordSerializationSchema | None = None
        self._guarantee = DeliveryGuarantee.NONE
        self._prefix = _DEFAULT_PREFIX
        self._commit_topic = DEFAULT_COMMIT_TOPIC

    def set_bootstrap_servers(self, bootstrap_servers: str) -> Self:
        """Say where the brokers are: ``host:port``, several with commas between them."""
        return self.set_property("bootstrap.servers", bootstrap_servers)

    def set_delivery_guarantee(self, delivery_guarantee: DeliveryGuarantee) -> Self:
        """Choose what holds after a failure; ``DeliveryGuarantee.NONE`` unless called."""
        if not isinstance(delivery_guarantee, DeliveryGuarantee):
            raise InvalidCallError(
                f"set_delivery_guarantee takes a DeliveryGuarantee, and was given a {type(delivery_guarantee).__name__}"
            )
        self._guarantee = delivery_guarantee
        return self

    def set_transactional_id_prefix(self, transactional_id_prefix: str) -> Self:
        """Choose what transactional ids begin with; ``kafka-sink`` unless called.

        Ids of different jobs differ anyway. Two jobs started from the same savepoint need different prefixes.
        """
        if len(transactional_id_prefix.encode()) > MAXIMUM_PREFIX_BYTES:
            raise InvalidArgumentError(
                f"the prefix of transactional ids has more than {MAXIMUM_PREFIX_BYTES} bytes in UTF-8"
            )
        self._prefix = transactional_id_prefix
        return self

    def set_record_serializer(self, record_serializer: KafkaRecordSerializationSchema[R]) -> KafkaSinkBuilder[R]:
        """Say how records of the stream become Kafka's."""
        if not isinstance(record_serializer, KafkaRecordSerializationSchema):
            raise InvalidCallError(
                "set_record_serializer takes a KafkaRecordSerializationSchema, and was given a "
                f"{type(record_serializer).__name__}: KafkaRecordSerializationSchema.builder() makes one"
            )
        self._serializer = record_serializer
        return cast(KafkaSinkBuilder[R], self)

    def set_property(self, key: str, value: str) -> Self:
        """Set a property of the producer, by the name that Java's client has for it, or librdkafka.

        Raises:
            ConfigurationError: The property cannot be used.
        """
        self._properties[key] = require_property(key, value)
        return self

    def set_commit_topic(self, topic: str) -> Self:
        """Choose the topic that says what is committed exactly once; ``__rekindle_commits`` unless called.

        PyFlink does not have this, as Flink relies on transactions that outlive processes.
        """
        self._commit_topic = topic
        return self

    def build(self) -> KafkaSink[T]:
        """Return the sink.

        Raises:
            InvalidArgumentError: Bootstrap servers or the record serializer are missing.
            ConfigurationError: A property cannot be used.
        """
        if not self._properties.get("bootstrap.servers"):
            raise InvalidArgumentError("a KafkaSink needs brokers: call set_bootstrap_servers")
        if self._serializer is None:
            raise InvalidArgumentError("a KafkaSink needs a record serializer: call set_record_serializer")
        translated(self._properties)
        settings = KafkaSinkSettings(
            dict(self._properties), self._serializer, self._guarantee, self._prefix, self._commit_topic
        )
        return KafkaSink(settings)


def require_property(key: str, value: str) -> str:
    """Return the value of a property, unless the sink sets it itself.

    Raises:
        ConfigurationError: The sink does.
    """
    if key == "transactional.id":
        raise ConfigurationError("the Kafka property 'transactional.id' is the sink's: use set_transactional_id_prefix")
    return str(value)
