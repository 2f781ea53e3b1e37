"""Properties have the names of Java's clients, and become librdkafka's; secrets are shown to nobody."""

from __future__ import annotations

import pytest
from confluent_kafka import Producer

from rekindle.common import SimpleStringSchema
from rekindle.config.secrets import all_shown
from rekindle.connectors.kafka.client_properties import translated, without_secrets
from rekindle.connectors.kafka.immediate_writer import ImmediateKafkaWriter, can_be_idempotent
from rekindle.connectors.kafka.kafka_clients import KafkaClients
from rekindle.connectors.kafka.producing import DEFAULTS
from rekindle.connectors.kafka.record_serialization import ChunkSerialization, KafkaRecordSerializationSchema
from rekindle.exceptions import ConfigurationError

JAAS = 'org.apache.kafka.common.security.{}LoginModule required username="ann" password="s\\"e;cret" extra="x";'


def test_names_that_are_the_same_stay() -> None:
    properties = {"linger.ms": "5", "acks": "all", "compression.type": "zstd", "security.protocol": "SASL_SSL"}
    assert translated(properties) == properties


@pytest.mark.parametrize(
    ("java", "librdkafka"),
    [
        ({"max.request.size": "99"}, {"message.max.bytes": "99"}),
        ({"buffer.memory": "33554432"}, {"queue.buffering.max.kbytes": "32768"}),
        ({"sasl.mechanism": "SCRAM-SHA-512"}, {"sasl.mechanisms": "SCRAM-SHA-512"}),
        ({"compression.zstd.level": "7"}, {"compression.level": "7"}),
        ({"send.buffer.bytes": "131072"}, {"socket.send.buffer.bytes": "131072"}),
        ({"receive.buffer.bytes": "-1"}, {"socket.receive.buffer.bytes": "0"}),
        ({"batch.size": "0"}, {"batch.size": "1"}),
        ({"ssl.endpoint.identification.algorithm": ""}, {"ssl.endpoint.identification.algorithm": "none"}),
        ({"ssl.truststore.type": "PEM", "ssl.truststore.location": "/ca"}, {"ssl.ca.location": "/ca"}),
        (
            {"ssl.keystore.type": "PKCS12", "ssl.keystore.location": "/k", "ssl.keystore.password": "p"},
            {"ssl.keystore.location": "/k", "ssl.keystore.password": "p"},
        ),
        (
            {"ssl.keystore.type": "PEM", "ssl.keystore.location": "/k", "ssl.key.password": "p"},
            {"ssl.certificate.location": "/k", "ssl.key.location": "/k", "ssl.key.password": "p"},
        ),
        ({"key.serializer": "org.apache.kafka.common.serialization.ByteArraySerializer"}, {}),
    ],
)
def test_names_that_differ_are_translated(java: dict[str, str], librdkafka: dict[str, str]) -> None:
    assert translated(java) == librdkafka


@pytest.mark.parametrize("module", ["plain.Plain", "scram.Scram"])
def test_credentials_come_out_of_a_jaas_configuration(module: str) -> None:
    assert translated({"sasl.jaas.config": JAAS.format(module)}) == {
        "sasl.username": "ann",
        "sasl.password": 's"e;cret',
    }


@pytest.mark.parametrize(
    "properties",
    [
        {"partitioner.class": "com.example.P"},
        {"interceptor.classes": "com.example.I"},
        {"ssl.truststore.location": "/trust.jks"},
        {"ssl.keystore.location": "/key.jks", "ssl.keystore.type": "JKS"},
        {"buffer.memory": "much"},
        {"sasl.jaas.config": "com.sun.security.auth.module.Krb5LoginModule required;"},
        {"sasl.jaas.config": 'PlainLoginModule required password="secret";'},
    ],
)
def test_what_only_java_can_do_is_refused_by_name(properties: dict[str, str]) -> None:
    with pytest.raises(ConfigurationError) as refused:
        translated(properties)
    named = next(iter(properties))
    assert named in str(refused.value) or f"{named.rpartition('.')[0]}.type" in str(refused.value)
    assert "secret" not in str(refused.value)


def test_a_property_that_nobody_knows_is_named_when_a_client_is_made() -> None:
    clients = KafkaClients({"bootstrap.servers": "localhost:1", "linger.millis": "5"})
    with pytest.raises(ConfigurationError, match=r"linger\.millis"):
        clients.producer(DEFAULTS, {})


def test_all_translated_properties_are_librdkafkas() -> None:
    properties = {
        "bootstrap.servers": "localhost:1",
        "max.request.size": "99999",
        "buffer.memory": "33554432",
        "sasl.mechanism": "PLAIN",
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.jaas.config": JAAS.format("plain.Plain"),
        "compression.lz4.level": "3",
        "receive.buffer.bytes": "32768",
        "retries": "5",
        "delivery.timeout.ms": "10000",
        "max.in.flight.requests.per.connection": "5",
        "reconnect.backoff.ms": "50",
        "metadata.max.age.ms": "300000",
        "request.timeout.ms": "30000",
        "connections.max.idle.ms": "540000",
        "client.id": "me",
    }
    assert isinstance(KafkaClients(properties).producer(DEFAULTS, {}), Producer)


def test_secrets_are_not_all_shown() -> None:
    properties = {
        "bootstrap.servers": "localhost:1",
        "sasl.jaas.config": JAAS.format("plain.Plain"),
        "ssl.key.password": "hidden",
        "ssl.keystore.key": "-----BEGIN",
        "sasl.password": "also hidden",
    }
    text = f"{all_shown(properties)} {KafkaClients(properties)!r}"
    assert "localhost:1" in text
    for secret in ("cret", "hidden", "BEGIN"):
        assert secret not in text
    said = without_secrets('wrong: hidden, s"e;cret, also hidden', properties)
    assert said == "wrong: ******, ******, also ******"


def test_an_error_of_the_client_has_no_secret_in_it() -> None:
    clients = KafkaClients({"bootstrap.servers": "localhost:1", "sasl.password": "5", "linger.ms": "hidden 5"})
    with pytest.raises(ConfigurationError) as refused:
        clients.producer({}, {})
    assert "5" not in str(refused.value).partition("linger.ms")[0]


@pytest.mark.parametrize(
    ("properties", "idempotent"),
    [
        ({}, True),
        ({"acks": "-1", "retries": "3", "max.in.flight.requests.per.connection": "5"}, True),
        ({"acks": "1"}, False),
        ({"retries": "0"}, False),
        ({"max.in.flight.requests.per.connection": "10"}, False),
    ],
)
def test_properties_that_rule_out_idempotence_switch_it_off_as_in_java(
    properties: dict[str, str], idempotent: bool
) -> None:
    clients = KafkaClients({"bootstrap.servers": "127.0.0.1:1", "log_level": "0", **properties})
    assert can_be_idempotent(clients) is idempotent
    schema = (
        KafkaRecordSerializationSchema.builder().set_topic("t").set_value_serialization_schema(SimpleStringSchema())
    )
    ImmediateKafkaWriter(ChunkSerialization(schema.build()), clients, flush=True).close()
