"""Restores committables of a Kafka sink, and kills itself with SIGKILL at a step of their commit.

Usage: kafka_commit.py BOOTSTRAP_SERVERS TOPIC LINEAGE COMMITTABLES STEP
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from pathlib import Path
from typing import Any

import msgspec

from rekindle.connectors.kafka.commit_markers import DEFAULT_COMMIT_TOPIC
from rekindle.connectors.kafka.kafka_clients import KafkaClients
from support.kafka_writers import context, kafka_sink


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


class DyingProducer:
    """A producer whose process dies at a step."""

    def __init__(self, producer: Any, step: str) -> None:
        self._producer = producer
        self._step = step
        self._produced = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._producer, name)

    def init_transactions(self, timeout: float) -> None:
        self._die_at("before init_transactions")
        self._producer.init_transactions(timeout)
        self._die_at("after init_transactions")

    def begin_transaction(self) -> None:
        self._producer.begin_transaction()
        self._die_at("after begin_transaction")

    def produce(self, topic: str, *arguments: Any) -> None:
        if topic == DEFAULT_COMMIT_TOPIC:
            self._producer.flush(30)
            self._die_at("before the marker")
        self._producer.produce(topic, *arguments)
        self._produced += 1
        if self._produced == 50:
            self._producer.flush(30)
            self._die_at("in the middle of the records")
        if topic == DEFAULT_COMMIT_TOPIC:
            self._producer.flush(30)
            self._die_at("after the marker")

    def commit_transaction(self, timeout: float) -> None:
        if self._step.startswith("during commit_transaction"):
            threading.Timer(float(self._step.split()[-1]), die).start()
        self._producer.commit_transaction(timeout)
        self._die_at("after commit_transaction")
        if self._step.startswith("during commit_transaction"):
            threading.Event().wait(30)

    def _die_at(self, step: str) -> None:
        if self._step == step:
            die()


class DyingConsumer:
    """A consumer whose process dies when it reads."""

    def __init__(self, consumer: Any) -> None:
        self._consumer = consumer

    def __getattr__(self, name: str) -> Any:
        return getattr(self._consumer, name)

    def poll(self, timeout: float) -> None:
        self._consumer.poll(timeout)
        die()


def main() -> None:
    servers, topic, lineage, path, step = sys.argv[1:]
    make_producer, make_consumer = KafkaClients.producer, KafkaClients.consumer
    KafkaClients.producer = lambda self, *args: DyingProducer(make_producer(self, *args), step)  # type: ignore[method-assign]
    if step == "while markers are read":
        KafkaClients.consumer = lambda self, *args: DyingConsumer(make_consumer(self, *args))  # type: ignore[method-assign]
    writer = kafka_sink(servers, topic).build().create_writer(context(lineage))
    writer.commit(msgspec.msgpack.decode(Path(path).read_bytes()))
    print("the commit was not interrupted")


if __name__ == "__main__":
    main()
