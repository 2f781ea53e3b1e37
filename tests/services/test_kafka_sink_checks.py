"""check_sink crashes the Kafka sink at every step, and lets zombies come back, on a broker."""

from __future__ import annotations

import uuid

import pytest

from rekindle.common import SimpleStringSchema
from rekindle.datastream.connectors import DeliveryGuarantee
from rekindle.datastream.connectors.kafka import KafkaRecordSerializationSchema, KafkaSink
from rekindle.testing import check_sink
from support.seeds import NAMED, SEED, rounds
from support.services.kafka import Broker

CRASHES = rounds(3, 100)  # a run takes a second: each attempt connects anew
GUARANTEES = [DeliveryGuarantee.EXACTLY_ONCE, DeliveryGuarantee.AT_LEAST_ONCE]


@pytest.mark.parametrize("guarantee", GUARANTEES)
def test_the_sink_keeps_its_promise(kafka: Broker, guarantee: DeliveryGuarantee) -> None:
    topic, partitions = f"check-{uuid.uuid4().hex[:8]}", 2
    kafka.create_topic(topic, partitions)
    builder = KafkaRecordSerializationSchema.builder().set_topic(topic)
    serializer = builder.set_value_serialization_schema(SimpleStringSchema()).build()
    servers = KafkaSink.builder().set_bootstrap_servers(kafka.bootstrap_servers)
    sink = servers.set_record_serializer(serializer).set_delivery_guarantee(guarantee).build()

    def visible() -> list[str]:
        found = kafka.consume_committed(topic, range(partitions))
        return [record.value.decode() for record in found if record.value is not None]

    check_sink(
        lambda: sink,
        visible,
        records=str,
        guarantee="exactly-once" if guarantee is DeliveryGuarantee.EXACTLY_ONCE else "at-least-once",
        parallelism=1 + NAMED,
        seed=SEED,
        crashes=CRASHES,
    )
