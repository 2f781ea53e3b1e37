"""The builders take what PyFlink's take, and say what is missing before a job runs."""

from __future__ import annotations

import subprocess
import sys

import cloudpickle
import pytest

from rekindle.common import SimpleStringSchema
from rekindle.connectors.kafka.commit_markers import decode_marker, encode_marker, partition_of
from rekindle.connectors.kafka.kafka_clients import KafkaClientError
from rekindle.datastream.connectors import DeliveryGuarantee, FlinkKafkaProducer, Semantic
from rekindle.datastream.connectors.kafka import KafkaRecordSerializationSchema, KafkaSink, KafkaSinkBuilder
from rekindle.exceptions import ConfigurationError, InvalidArgumentError, InvalidCallError


def serializer() -> KafkaRecordSerializationSchema:
    builder = KafkaRecordSerializationSchema.builder().set_topic("t")
    return builder.set_value_serialization_schema(SimpleStringSchema()).build()


def complete() -> KafkaSinkBuilder:
    return KafkaSink.builder().set_bootstrap_servers("b:9092").set_record_serializer(serializer())


def test_a_sink_keeps_what_it_was_told() -> None:
    builder = complete().set_delivery_guarantee(DeliveryGuarantee.EXACTLY_ONCE).set_property("acks", "all")
    sink = builder.set_transactional_id_prefix("mine").set_commit_topic("commits").build()
    settings = cloudpickle.loads(cloudpickle.dumps(sink))._settings
    assert settings.guarantee is DeliveryGuarantee.EXACTLY_ONCE
    assert (settings.prefix, settings.commit_topic) == ("mine", "commits")
    assert settings.properties == {"bootstrap.servers": "b:9092", "acks": "all"}


def test_the_default_guarantee_is_flinks() -> None:
    assert complete().build()._settings.guarantee is DeliveryGuarantee.NONE


def test_brokers_and_a_serializer_are_required() -> None:
    with pytest.raises(InvalidArgumentError, match="set_bootstrap_servers"):
        KafkaSink.builder().set_record_serializer(serializer()).build()
    with pytest.raises(InvalidArgumentError, match="set_record_serializer"):
        KafkaSink.builder().set_bootstrap_servers("b:9092").build()


def test_wrong_arguments_are_refused_where_they_are_given() -> None:
    with pytest.raises(InvalidCallError, match="KafkaRecordSerializationSchema"):
        KafkaSink.builder().set_record_serializer(SimpleStringSchema())  # type: ignore[arg-type]
    with pytest.raises(InvalidCallError, match="DeliveryGuarantee"):
        KafkaSink.builder().set_delivery_guarantee("EXACTLY_ONCE")  # type: ignore[arg-type]
    with pytest.raises(InvalidArgumentError, match="6400"):
        KafkaSink.builder().set_transactional_id_prefix("ä" * 3201)
    with pytest.raises(ConfigurationError, match="set_transactional_id_prefix"):
        KafkaSink.builder().set_property("transactional.id", "x")
    with pytest.raises(ConfigurationError, match=r"partitioner\.class"):
        complete().set_property("partitioner.class", "com.example.P").build()


def test_a_sink_shows_no_secret() -> None:
    sink = complete().set_property("sasl.password", "hidden").build()
    assert "hidden" not in repr(sink)
    assert "b:9092" in repr(sink)


def test_the_older_sink_has_the_settings_of_pyflink() -> None:
    sink = FlinkKafkaProducer("t", SimpleStringSchema(), {"bootstrap.servers": "b:9092"})
    assert sink._guarantee is DeliveryGuarantee.AT_LEAST_ONCE
    exactly = FlinkKafkaProducer(
        "t", SimpleStringSchema(), {"bootstrap.servers": "b:9092"}, 5, semantic=Semantic.EXACTLY_ONCE
    )
    assert exactly._guarantee is DeliveryGuarantee.EXACTLY_ONCE
    assert sink.set_log_failures_only(True).set_flush_on_checkpoint(False).set_write_timestamp_to_kafka(True) is sink
    assert sink.ignore_failures_after_transaction_timeout() is sink
    with pytest.raises(InvalidArgumentError, match=r"bootstrap\.servers"):
        FlinkKafkaProducer("t", SimpleStringSchema(), {})


def test_markers_are_numbers_and_others_are_refused() -> None:
    assert [decode_marker(encode_marker(number)) for number in (1, 12, 1 << 40)] == [1, 12, 1 << 40]
    assert decode_marker(None) == 0
    with pytest.raises(KafkaClientError, match="not a marker"):
        decode_marker(b"2:7")
    assert {partition_of(f"writer-{number}") for number in range(200)} == set(range(8))


def test_programs_are_built_without_the_client() -> None:
    program = (
        "import sys; sys.modules['confluent_kafka'] = None\n"
        "from rekindle.datastream.connectors.kafka import *\n"
        "from rekindle.connectors.kafka.kafka_clients import KafkaClients\n"
        "try: KafkaClients({'bootstrap.servers': 'b'}).admin()\n"
        "except Exception as error: print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
    assert 'pip install "confluent-kafka>=2.6,<3"' in done.stdout
