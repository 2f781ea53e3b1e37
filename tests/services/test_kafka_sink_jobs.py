"""Whole jobs that write to Kafka, in this process: slots are killed, and what a reader sees is the golden result."""

from __future__ import annotations

import uuid
from pathlib import Path

import pytest

from rekindle.common import SimpleStringSchema
from rekindle.datastream.connectors import DeliveryGuarantee, FlinkKafkaProducer, Semantic
from rekindle.testing import local_environment
from support.balances import environment, events
from support.kafka_numbering import KafkaVerdict, judge_topic, number_into_kafka
from support.paced_cluster import PacedCluster
from support.processes import wait_until
from support.seeds import seeded
from support.services.kafka import Broker

EVENTS = 20_000


@pytest.fixture
def topic(kafka: Broker) -> str:
    name = f"job-{uuid.uuid4().hex[:8]}"
    kafka.create_topic(name, 3)
    return name


@pytest.mark.parametrize("guarantee", [DeliveryGuarantee.EXACTLY_ONCE, DeliveryGuarantee.AT_LEAST_ONCE])
def test_killed_slots_lose_nothing(
    kafka: Broker, topic: str, local_cluster: PacedCluster, tmp_path: Path, guarantee: DeliveryGuarantee
) -> None:
    rng = seeded()
    env = environment(local_cluster, str(tmp_path / "checkpoints"))
    number_into_kafka(events(env, EVENTS), kafka.bootstrap_servers, {topic: guarantee})
    master = env._submit("killed", None)
    for _ in range(3):
        before = sum(kafka.end_offsets(topic).values())
        wait_until(
            lambda before=before: master.result.done() or sum(kafka.end_offsets(topic).values()) > before,
            "more output is in Kafka",
        )
        assert not master.result.done(), "the job was over before it could be killed: the test proves nothing"
        local_cluster.kill_one(rng)
    master.result.result(300)
    verdict = judge_topic(kafka, topic, EVENTS)
    if guarantee is DeliveryGuarantee.EXACTLY_ONCE:
        assert verdict == KafkaVerdict()
    else:
        assert verdict.lost == 0


@pytest.mark.parametrize("guarantee", list(DeliveryGuarantee))
def test_a_job_without_checkpoints_writes_everything_by_its_end(
    kafka: Broker, topic: str, guarantee: DeliveryGuarantee
) -> None:
    env = local_environment(2)
    number_into_kafka(events(env, 500), kafka.bootstrap_servers, {topic: guarantee})
    env.execute()
    assert judge_topic(kafka, topic, 500) == KafkaVerdict()


@pytest.mark.parametrize("semantic", list(Semantic))
def test_the_older_sink_writes_through_add_sink(kafka: Broker, topic: str, semantic: Semantic) -> None:
    env = local_environment()
    config = {"bootstrap.servers": kafka.bootstrap_servers}
    sink = FlinkKafkaProducer(topic, SimpleStringSchema(), config, semantic=semantic)
    env.from_collection(["a", "b", "c"]).add_sink(sink)
    env.execute()
    assert sorted(record.value for record in kafka.consume_committed(topic)) == [b"a", b"b", b"c"]
