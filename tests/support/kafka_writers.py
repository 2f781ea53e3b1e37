"""Writers of a Kafka sink without a job around them: what a checkpoint would hold goes from one to the next."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from typing import Any

from rekindle.base.clock import SystemClock
from rekindle.common import SimpleStringSchema
from rekindle.contracts.connectors import SinkWriter, SinkWriterContext
from rekindle.datastream.connectors import DeliveryGuarantee
from rekindle.datastream.connectors.kafka import KafkaRecordSerializationSchema, KafkaSink, KafkaSinkBuilder


def strings(topic: str) -> KafkaRecordSerializationSchema:
    """Return a schema for strings ``key:value``, which are values; what is before the colon is the key."""
    builder = KafkaRecordSerializationSchema.builder().set_topic(topic).set_key_serialization_schema(Keys())
    return builder.set_value_serialization_schema(SimpleStringSchema()).build()


class Keys(SimpleStringSchema):
    """Take what is before the colon."""

    def serialize(self, element: str) -> bytes:
        return element.partition(":")[0].encode()


def kafka_sink(
    bootstrap_servers: str, topic: str, guarantee: DeliveryGuarantee = DeliveryGuarantee.EXACTLY_ONCE
) -> KafkaSinkBuilder:
    """Return the builder of a sink for strings."""
    builder = KafkaSink.builder().set_bootstrap_servers(bootstrap_servers).set_record_serializer(strings(topic))
    return builder.set_delivery_guarantee(guarantee)


def context(lineage: str, subtask: int = 0, parallelism: int = 1) -> SinkWriterContext:
    """Return where a writer runs."""
    return SinkWriterContext(subtask, parallelism, 0, lineage, SystemClock())


class Writers:
    """Open the writers of a sink as an operator does, and close them at the end of the test."""

    def __init__(self, bootstrap_servers: str, topic: str) -> None:
        self.bootstrap_servers = bootstrap_servers
        self.topic = topic
        self.lineage = f"job-{uuid.uuid4().hex}"
        self._open: list[SinkWriter] = []

    def create(
        self, subtask: int = 0, parallelism: int = 1, change: Callable[[KafkaSinkBuilder], Any] = lambda builder: None
    ) -> SinkWriter:
        """Create a writer, without opening it."""
        builder = kafka_sink(self.bootstrap_servers, self.topic)
        change(builder)
        writer = builder.build().create_writer(context(self.lineage, subtask, parallelism))
        self._open.append(writer)
        return writer

    def open(
        self,
        restored: list[bytes] | None = None,
        subtask: int = 0,
        parallelism: int = 1,
        change: Callable[[KafkaSinkBuilder], Any] = lambda builder: None,
    ) -> SinkWriter:
        """Create a writer and do what an operator does before the first record."""
        writer = self.create(subtask, parallelism, change)
        if restored:
            writer.commit(restored)
        writer.abort_leftovers()
        return writer

    def close(self) -> None:
        """Close all writers."""
        for writer in self._open:
            writer.close()
