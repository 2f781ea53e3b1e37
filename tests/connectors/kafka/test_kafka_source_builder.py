"""The builder and its properties: what is refused, what goes where, and that secrets are never shown."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from rekindle.common import SimpleStringSchema, Types, WatermarkStrategy
from rekindle.datastream import StreamExecutionEnvironment
from rekindle.datastream.connectors.kafka import (
    FlinkKafkaConsumer,
    KafkaOffsetResetStrategy,
    KafkaOffsetsInitializer,
    KafkaSource,
    KafkaSourceBuilder,
    KafkaTopicPartition,
)
from rekindle.exceptions import ConfigurationError, InvalidProgramError
from rekindle.formats.schemas import ByteArraySchema

CONNECTOR = "org.apache.spark:spark-sql-kafka-0-10_2.13"


def builder() -> KafkaSourceBuilder:
    return KafkaSource.builder().set_bootstrap_servers("host:9092").set_value_only_deserializer(SimpleStringSchema())


def options(source: KafkaSource) -> dict[str, str]:
    return source.frame().options()


@pytest.mark.parametrize(
    ("choose", "option"),
    [
        (lambda b: b.set_topics("x", "y"), ("subscribe", "x,y")),
        (lambda b: b.set_topic_pattern("x-.*"), ("subscribePattern", "x-.*")),
        (
            lambda b: b.set_partitions({KafkaTopicPartition("x", 1), KafkaTopicPartition("x", 0)}),
            ("assign", '{"x": [0, 1]}'),
        ),
    ],
)
def test_topics_patterns_and_partitions_become_options_of_spark(
    choose: Callable[[KafkaSourceBuilder], KafkaSourceBuilder], option: tuple[str, str]
) -> None:
    assert option in options(choose(builder()).build()).items()


def test_properties_go_on_with_a_prefix_and_those_that_spark_refuses_do_not() -> None:
    given = {
        "isolation.level": "read_committed",
        "sasl.jaas.config": "secret",
        "key.deserializer": "x",
        "value.deserializer": "x",
        "auto.offset.reset": "latest",
        "enable.auto.commit": "true",
        "partition.discovery.interval.ms": "10",
        "commit.offsets.on.checkpoint": "false",
    }
    found = options(builder().set_topics("t").set_group_id("g").set_properties(given).build())
    assert found == {
        "kafka.bootstrap.servers": "host:9092",
        "kafka.isolation.level": "read_committed",
        "kafka.sasl.jaas.config": "secret",
        "groupIdPrefix": "g",
        "subscribe": "t",
        "maxOffsetsPerTrigger": "500000",
        "failOnDataLoss": "true",
        "includeHeaders": "false",
    }


def test_an_epoch_is_limited_and_data_loss_fails_unless_the_program_says_otherwise() -> None:
    source = builder().set_topics("t").set_property("maxOffsetsPerTrigger", "7").set_property("failOnDataLoss", "false")
    found = options(source.build())
    assert (found["maxOffsetsPerTrigger"], found["failOnDataLoss"]) == ("7", "false")


@pytest.mark.parametrize(
    ("properties", "message"),
    [
        ({"interceptor.classes": "x"}, "interceptor.classes"),
        ({"minPartitions": "8"}, "order would be lost"),
        ({"maxOffsetsPerTrigger": "0"}, "above 0"),
        ({"commit.offsets.on.checkpoint": "yes"}, "true or false"),
        ({"bootstrap.servers": ""}, "set_bootstrap_servers"),
        ({"fetch.max.bytes": 7}, "strings"),
    ],
)
def test_properties_that_cannot_work_are_refused(properties: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        builder().set_topics("t").set_properties(properties).build()


@pytest.mark.parametrize(
    ("build", "error", "message"),
    [
        (lambda: builder().build(), InvalidProgramError, "set_topics, set_topic_pattern or set_partitions"),
        (lambda: KafkaSource.builder().set_topics("t").build(), InvalidProgramError, "a deserializer"),
        (lambda: builder().set_topics("t").set_topic_pattern("t"), InvalidProgramError, "subscribe t"),
        (lambda: builder().set_topics(), ValueError, "names of topics"),
        (lambda: builder().set_bounded(KafkaOffsetsInitializer.earliest()), ValueError, "earliest"),
        (
            lambda: builder().set_topics("t").set_starting_offsets(KafkaOffsetsInitializer.committed_offsets()).build(),
            InvalidProgramError,
            "set_group_id",
        ),
        (lambda: builder().set_starting_offsets("earliest"), TypeError, "KafkaOffsetsInitializer"),
        (lambda: KafkaSource(), TypeError, "builder"),
    ],
)
def test_what_cannot_be_built_says_what_to_call(build: Callable[[], Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        build()


def test_bounded_is_what_set_bounded_says_and_set_unbounded_does_not() -> None:
    end = KafkaOffsetsInitializer.latest()
    assert builder().set_topics("t").set_bounded(end).build().bounded
    assert not builder().set_topics("t").set_unbounded(end).build().bounded
    assert not builder().set_topics("t").build().bounded


def test_only_the_columns_that_are_needed_are_read() -> None:
    plain = builder().set_topics("t").build()
    ending = builder().set_topics("t").set_bounded(KafkaOffsetsInitializer.latest()).build()
    assert plain.frame()._columns == ("value", "timestamp")
    assert plain.split_frame()._columns == ("value", "timestamp", "topic", "partition")
    assert ending.frame()._columns == ("value", "timestamp", "topic", "partition", "offset")


def test_the_type_of_records_follows_from_the_deserializer() -> None:
    assert builder().set_topics("t").build().type_info == Types.STRING()
    binary = builder().set_topics("t").set_value_only_deserializer(ByteArraySchema()).build()
    assert binary.type_info is None


def test_secrets_are_in_no_description_and_no_plan() -> None:
    source = builder().set_topics("t").set_property("sasl.jaas.config", "hidden-word").build()
    env = StreamExecutionEnvironment()
    env.from_source(source, WatermarkStrategy.for_monotonous_timestamps(), "in").print()
    graph = env._compile()
    shown = [source, source.frame(), source._properties, graph, env.get_execution_plan()]
    assert "hidden-word" not in " ".join(map(repr, shown))


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda c: c, KafkaOffsetsInitializer.committed_offsets(KafkaOffsetResetStrategy.LATEST)),
        (lambda c: c.set_start_from_earliest(), KafkaOffsetsInitializer.earliest()),
        (lambda c: c.set_start_from_latest(), KafkaOffsetsInitializer.latest()),
        (lambda c: c.set_start_from_timestamp(7), KafkaOffsetsInitializer.timestamp(7)),
        (
            lambda c: c.set_start_from_latest().set_start_from_group_offsets(),
            KafkaOffsetsInitializer.committed_offsets(KafkaOffsetResetStrategy.LATEST),
        ),
    ],
)
def test_a_flink_kafka_consumer_is_a_kafka_source(change: Callable[[Any], Any], expected: Any) -> None:
    with pytest.warns(DeprecationWarning, match="Use KafkaSource"):
        consumer = FlinkKafkaConsumer("t", SimpleStringSchema(), {"bootstrap.servers": "host:9092", "group.id": "g"})
    source = change(consumer).set_commit_offsets_on_checkpoints(False).source()
    assert source._starting == expected
    assert not source._properties.commits
    env = StreamExecutionEnvironment()
    env.add_source(consumer, "in").print()
    assert env._compile().cluster_sources[0].data_frame.packages == (CONNECTOR,)
