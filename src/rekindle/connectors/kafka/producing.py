"""Hands batches of records to librdkafka, whose threads send them."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from rekindle.connectors.kafka.kafka_clients import KafkaClientError, require_client
from rekindle.connectors.kafka.kafka_records import RecordBatch
from rekindle.runtime.at_work import at_record

DEFAULTS: Mapping[str, Any] = {
    "partitioner": "murmur2_random",  # keys go where Java's clients put them
    "message.max.bytes": 1_048_576,  # Java's
    "linger.ms": 20,
    "batch.size": 512 << 10,
    "batch.num.messages": 100_000,
    "queue.buffering.max.messages": 1_000_000,
    "queue.buffering.max.kbytes": 256 << 10,
}
"""What holds where a program says nothing. The queue is large, so that the slot rarely waits for the network."""

RECORD_OVERHEAD = 70
"""What Kafka needs for a record beside key and value, at most."""


@at_record("value")
def produce(producer: Any, batch: RecordBatch, deadline: float | None = None) -> None:
    """Queue the records of a batch, and wait for room where the queue is full.

    One call per record takes 0.5 microseconds; ``produce_batch`` takes longer, as it wants a dictionary for each.

    Raises:
        KafkaClientError: There was no room until the deadline.
    """
    call, topic = producer.produce, batch.topic
    count = len(batch.values)
    keys = batch.keys if batch.keys is not None else [None] * count
    if batch.timestamps is None and batch.headers is None:
        rest = zip(batch.values, keys, strict=True)
        value = key = None
        again = False
        while True:
            try:
                if again:
                    call(topic, value, key)
                    again = False
                for value, key in rest:
                    call(topic, value, key)
                return
            except BufferError:
                again = True
                _await_room(producer, deadline)
    stamps = batch.timestamps if batch.timestamps is not None else [0] * count
    headers = batch.headers if batch.headers is not None else [None] * count
    for value, key, stamp, header in zip(batch.values, keys, stamps, headers, strict=True):
        while True:
            try:
                call(topic, value, key, -1, None, None, stamp, header)
                break
            except BufferError:
                _await_room(producer, deadline)


def produce_marker(producer: Any, topic: str, key: bytes, value: bytes, partition: int, deadline: float) -> None:
    """Queue one record for a given partition, and wait for room where the queue is full.

    Raises:
        KafkaClientError: There was no room until the deadline.
    """
    while True:
        try:
            producer.produce(topic, value, key, partition)
            return
        except BufferError:
            _await_room(producer, deadline)


def _await_room(producer: Any, deadline: float | None) -> None:
    producer.poll(0.05)
    if deadline is not None and time.monotonic() > deadline:
        error = require_client().KafkaError
        raise KafkaClientError(f"no room in the queue of Kafka's client for too long ({error._QUEUE_FULL})")
