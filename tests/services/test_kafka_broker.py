"""The broker that the tests of Kafka use is one: it keeps records over a kill, and shows what transactions hide."""

from __future__ import annotations

import uuid

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from support.services.kafka import Broker


@pytest.fixture
def topic(kafka: Broker) -> str:
    name = f"broker-{uuid.uuid4().hex[:8]}"
    kafka.create_topic(name, partitions=2)
    return name


def test_what_is_written_is_read(kafka: Broker, topic: str) -> None:
    kafka.produce(topic, [(f"k{number}", f"v{number}") for number in range(100)])
    read = kafka.consume_committed(topic)
    assert sorted(record.value for record in read) == sorted(b"v%d" % number for number in range(100))
    assert {record.partition for record in read} == {0, 1}
    assert sum(kafka.end_offsets(topic).values()) == 100


def test_a_partition_can_be_named(kafka: Broker, topic: str) -> None:
    kafka.produce(topic, ["a", b"b"], partition=1)
    assert [(record.partition, record.key, record.value) for record in kafka.consume_committed(topic)] == [
        (1, None, b"a"),
        (1, None, b"b"),
    ]


def test_records_outlive_a_kill_of_the_broker(kafka: Broker, topic: str) -> None:
    before = kafka.bootstrap_servers
    kafka.produce(topic, ["a", "b"], partition=0)
    kafka.kill()
    assert not kafka.running
    kafka.start()
    kafka.produce(topic, ["c"], partition=0)
    assert kafka.bootstrap_servers == before
    assert [record.value for record in kafka.consume_committed(topic)] == [b"a", b"b", b"c"]


def test_open_and_aborted_transactions_are_not_seen(kafka: Broker, topic: str) -> None:
    settings = kafka.client_settings(transactional_id=topic)
    with Producer(settings) as producer:
        producer.init_transactions(30)
        for number, end in enumerate([producer.commit_transaction, producer.abort_transaction, lambda timeout: None]):
            producer.begin_transaction()
            producer.produce(topic, str(number), partition=0)
            producer.flush(30)
            end(30)
        assert [record.value for record in kafka.consume_committed(topic)] == [b"0"]
        assert [record.value for record in kafka.consume_uncommitted(topic)] == [b"0", b"1", b"2"]
        producer.abort_transaction(30)


def test_offsets_of_a_group_can_be_seen(kafka: Broker, topic: str) -> None:
    kafka.produce(topic, ["a", "b", "c"], partition=1)
    with Consumer(kafka.client_settings(group_id=topic)) as consumer:
        consumer.commit(offsets=[TopicPartition(topic, 1, 2)], asynchronous=False)
    assert kafka.group_offsets(topic) == {(topic, 1): 2}


def test_there_is_no_topic_until_it_is_created(kafka: Broker) -> None:
    assert kafka.partitions("no-such-topic") == []
