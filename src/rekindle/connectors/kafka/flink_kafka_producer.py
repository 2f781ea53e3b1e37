"""PyFlink's older Kafka sink, for ``add_sink``: the same writers as ``KafkaSink``'s."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Any, NoReturn, Self

from rekindle.connectors.delivery_guarantee import DeliveryGuarantee
from rekindle.connectors.kafka.client_properties import translated
from rekindle.connectors.kafka.kafka_sink import KafkaSinkSettings, require_property
from rekindle.connectors.kafka.record_serialization import KafkaRecordSerializationSchema
from rekindle.contracts.connectors import Sink, SinkWriter, SinkWriterContext
from rekindle.contracts.functions import SinkFunction
from rekindle.exceptions import InvalidArgumentError
from rekindle.formats.schemas import SerializationSchema


class Semantic(Enum):
    """What a :class:`FlinkKafkaProducer` promises; see :class:`DeliveryGuarantee`."""

    EXACTLY_ONCE = 0
    AT_LEAST_ONCE = 1
    NONE = 2


class FlinkKafkaProducerBase(SinkFunction, Sink):
    """The settings of the older Kafka sink.

    It is a sink that takes part in checkpoints, which ``add_sink`` knows: ``invoke`` is never called.
    """

    def __init__(
        self, properties: Mapping[str, str], serializer: KafkaRecordSerializationSchema, guarantee: DeliveryGuarantee
    ) -> None:
        self._properties = {key: require_property(key, value) for key, value in properties.items()}
        if not self._properties.get("bootstrap.servers"):
            raise InvalidArgumentError("a FlinkKafkaProducer needs brokers: set 'bootstrap.servers' in its config")
        translated(self._properties)
        self._serializer = serializer
        self._guarantee = guarantee
        self._only_log = False
        self._flush = True
        self._with_timestamps = False

    def set_log_failures_only(self, log_failures_only: bool) -> Self:
        """Let the job go on when Kafka does not take records, which are then only logged."""
        self._only_log = log_failures_only
        return self

    def set_flush_on_checkpoint(self, flush_on_checkpoint: bool) -> Self:
        """Choose whether checkpoints wait until Kafka has what was written before them."""
        self._flush = flush_on_checkpoint
        return self

    def set_write_timestamp_to_kafka(self, write_timestamp_to_kafka: bool) -> Self:
        """Choose whether the records' timestamps become those of Kafka; they do not unless called."""
        self._with_timestamps = write_timestamp_to_kafka
        return self

    def create_writer(self, context: SinkWriterContext) -> SinkWriter:
        """Create the writer of one subtask, in its slot."""
        guarantee = self._guarantee
        if guarantee is DeliveryGuarantee.AT_LEAST_ONCE and not self._flush:
            guarantee = DeliveryGuarantee.NONE
        settings = KafkaSinkSettings(
            self._properties,
            self._serializer,
            guarantee,
            with_timestamps=self._with_timestamps,
            only_log=self._only_log,
        )
        return settings.create_writer(context)

    def invoke(self, value: Any, context: SinkFunction.Context) -> NoReturn:
        """Raise: chunks of records go to the writer."""
        raise NotImplementedError("a FlinkKafkaProducer writes through its writer; give it to add_sink or sink_to")


class FlinkKafkaProducer(FlinkKafkaProducerBase):
    """Write records to a topic, for ``stream.add_sink``; :class:`KafkaSink` is its successor.

    Args:
        topic: The topic.
        serialization_schema: Makes the values; records have no keys.
        producer_config: Properties of the producer, ``bootstrap.servers`` among them.
        kafka_producer_pool_size: Accepted, without effect: no transaction is open between checkpoints.
        semantic: What holds after a failure.
    """

    def __init__(
        self,
        topic: str,
        serialization_schema: SerializationSchema[Any],
        producer_config: dict[str, str],
        kafka_producer_pool_size: int = 5,
        semantic: Semantic = Semantic.AT_LEAST_ONCE,
    ) -> None:
        serializer = (
            KafkaRecordSerializationSchema.builder()
            .set_topic(topic)
            .set_value_serialization_schema(serialization_schema)
            .build()
        )
        super().__init__(producer_config, serializer, DeliveryGuarantee[semantic.name])

    def ignore_failures_after_transaction_timeout(self) -> FlinkKafkaProducer:
        """Return the sink: the records of a transaction that timed out are in the checkpoint, and written again."""
        return self
