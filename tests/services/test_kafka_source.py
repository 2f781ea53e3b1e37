"""Kafka through Spark, with a real broker: where reading begins and ends, failures, timestamps, groups, watermarks."""

from __future__ import annotations

import os
import random
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewPartitions
from pyspark.sql import SparkSession

from rekindle.common import (
    Configuration,
    Duration,
    Encoder,
    RestartStrategies,
    SimpleStringSchema,
    Time,
    Types,
    WatermarkStrategy,
)
from rekindle.connectors.kafka import kafka_admin
from rekindle.connectors.kafka.kafka_admin import KafkaAccessError
from rekindle.datastream import (
    DataStream,
    KeyedProcessFunction,
    MapFunction,
    ProcessFunction,
    ProcessWindowFunction,
    StreamExecutionEnvironment,
)
from rekindle.datastream.connectors.file_system import FileSink
from rekindle.datastream.connectors.kafka import (
    FlinkKafkaConsumer,
    KafkaOffsetResetStrategy,
    KafkaOffsetsInitializer,
    KafkaRecord,
    KafkaRecordDeserializationSchema,
    KafkaSource,
    KafkaSourceBuilder,
    KafkaTopicPartition,
)
from rekindle.datastream.state import ValueStateDescriptor
from rekindle.datastream.window import TumblingEventTimeWindows
from rekindle.exceptions import InvalidProgramError, JobExecutionError
from support.processes import slot_pids, wait_until
from support.seeds import SEED
from support.services.kafka import Broker

EARLIEST, LATEST = KafkaOffsetsInitializer.earliest(), KafkaOffsetsInitializer.latest()
NO_WATERMARKS = WatermarkStrategy.no_watermarks()
Environment = Callable[..., StreamExecutionEnvironment]


@pytest.fixture
def env(spark: SparkSession, tmp_path: Path) -> Environment:
    """Make environments on one session, with checkpoints in a directory of the test."""

    def made(parallelism: int = 2, interval: int | None = 300, **settings: str) -> StreamExecutionEnvironment:
        given = {"state.checkpoints.dir": str(tmp_path / "checkpoints"), "rest.enabled": "false"} | {
            key.replace("_", "."): value for key, value in settings.items()
        }
        environment = StreamExecutionEnvironment.get_execution_environment(Configuration.from_dict(given), spark)
        environment.set_parallelism(parallelism)
        if interval is not None:
            environment.enable_checkpointing(interval)
        return environment

    return made


@pytest.fixture
def topic(kafka: Broker, request: pytest.FixtureRequest) -> str:
    """Create a topic of three partitions for a test."""
    name = "".join(c if c.isalnum() else "-" for c in request.node.name)[:180]
    kafka.create_topic(name, 3, {"retention.ms": "-1"})  # records of tests are from 1970
    return name


def source(kafka: Broker) -> KafkaSourceBuilder:
    builder = KafkaSource.builder().set_bootstrap_servers(kafka.bootstrap_servers)
    return builder.set_value_only_deserializer(SimpleStringSchema())


def stamped(kafka: Broker, topic: str, messages: list[tuple[int, str, int]], headers: Any = None) -> None:
    """Write values with timestamps into partitions."""
    with Producer(kafka.client_settings()) as producer:
        for partition, value, stamp in messages:
            producer.produce(topic, value=value, partition=partition, timestamp=stamp, headers=headers)
        assert producer.flush(30) == 0


def collected(env: StreamExecutionEnvironment, builder: KafkaSourceBuilder, **kwargs: Any) -> list[Any]:
    stream = env.from_source(builder.build(), kwargs.get("strategy", NO_WATERMARKS), "kafka")
    with stream.map(lambda value: value).execute_and_collect() as results:
        return sorted(results)


def three_each(kafka: Broker, topic: str) -> None:
    """Write records 0, 1 and 2 into each partition, at the times 1000, 2000 and 3000."""
    stamped(kafka, topic, [(p, f"{p}:{n}", (n + 1) * 1000) for p in range(3) for n in range(3)])


def commit(kafka: Broker, group: str, topic: str, offsets: dict[int, int]) -> None:
    from confluent_kafka import Consumer

    with Consumer(kafka.client_settings(group_id=group)) as consumer:
        consumer.commit(offsets=[TopicPartition(topic, p, o) for p, o in offsets.items()], asynchronous=False)


@pytest.mark.parametrize(
    ("name", "from_each"),
    [
        ("earliest", {0: 0, 1: 0, 2: 0}),
        ("latest", {0: 3, 1: 3, 2: 3}),
        ("timestamp", {0: 1, 1: 1, 2: 1}),
        ("timestamp-later", {0: 3, 1: 3, 2: 3}),
        ("committed", {0: 2, 1: 3, 2: 0}),
        ("given", {0: 1, 1: 3, 2: 0}),
    ],
)
def test_reading_begins_where_it_is_told(
    kafka: Broker, topic: str, env: Environment, name: str, from_each: dict[int, int]
) -> None:
    three_each(kafka, topic)
    builder = source(kafka).set_topics(topic)
    match name:
        case "committed":
            commit(kafka, f"group-{topic}", topic, {0: 2, 1: 3})
            builder.set_group_id(f"group-{topic}")
            starting = KafkaOffsetsInitializer.committed_offsets(KafkaOffsetResetStrategy.EARLIEST)
        case "given":
            offsets = {KafkaTopicPartition(topic, 0): 1, KafkaTopicPartition(topic, 1): 99}
            starting = KafkaOffsetsInitializer.offsets(
                offsets | {KafkaTopicPartition(topic, 2): 0}, KafkaOffsetResetStrategy.LATEST
            )
        case "timestamp" | "timestamp-later":
            starting = KafkaOffsetsInitializer.timestamp(1500 if name == "timestamp" else 9999)
        case _:
            starting = EARLIEST if name == "earliest" else LATEST
    builder.set_starting_offsets(starting).set_bounded(LATEST)
    expected = [f"{p}:{n}" for p, first in from_each.items() for n in range(first, 3)]
    assert collected(env(interval=None), builder) == expected


@pytest.mark.parametrize("strategy", [NO_WATERMARKS, WatermarkStrategy.for_monotonous_timestamps()])
def test_a_bounded_source_ends_exactly_at_its_offsets_while_records_keep_coming(
    kafka: Broker, topic: str, env: Environment, strategy: WatermarkStrategy
) -> None:
    kafka.produce(topic, [f"{n}" for n in range(100)], partition=0)
    kafka.produce(topic, [f"{n}" for n in range(50)], partition=1)
    ends = {KafkaTopicPartition(topic, 0): 77, KafkaTopicPartition(topic, 1): 60, KafkaTopicPartition(topic, 2): 0}
    end = KafkaOffsetsInitializer.offsets(ends, KafkaOffsetResetStrategy.LATEST)
    builder = source(kafka).set_topics(topic).set_bounded(end).set_property("maxOffsetsPerTrigger", "20")
    stream = env().from_source(builder.build(), strategy, "kafka")
    with stream.map(int).execute_and_collect() as results:
        kafka.produce(topic, [f"{n}" for n in range(50, 90)], partition=1)  # it waits for these
        kafka.produce(topic, ["999"] * 30, partition=2)
        assert sorted(results) == sorted([*range(77), *range(60)])


def test_a_stream_that_is_executed_again_ends_where_its_topics_end_then(
    kafka: Broker, topic: str, env: Environment
) -> None:
    stream = env().from_source(source(kafka).set_topics(topic).set_bounded(LATEST).build(), NO_WATERMARKS, "kafka")
    stream = stream.map(lambda value: value)
    for times in (1, 2):
        three_each(kafka, topic)
        with stream.execute_and_collect() as results:
            assert len(list(results)) == 9 * times


def test_a_pattern_finds_topics_and_partitions_that_are_added_later(
    kafka: Broker, topic: str, env: Environment, tmp_path: Path
) -> None:
    kafka.produce(topic, ["first"])
    builder = source(kafka).set_topic_pattern(f"{topic}.*").set_starting_offsets(EARLIEST)
    builder.set_property("metadata.max.age.ms", "500")
    values = env().from_source(builder.build(), NO_WATERMARKS, "kafka").map(lambda v: v).execute_and_collect()
    with values as results:
        assert next(results) == "first"
        kafka.create_topic(f"{topic}-more", 1)
        kafka.produce(f"{topic}-more", ["second"])
        assert next(results) == "second"
        with AdminClient(kafka.client_settings()) as admin:
            admin.create_partitions([NewPartitions(topic, 4)])[topic].result(30)
        wait_until(lambda: len(kafka.partitions(topic)) == 4, "there is another partition")
        kafka.produce(topic, ["third", "fourth"], partition=3)
        assert [next(results), next(results)] == ["third", "fourth"]


def test_a_pattern_waits_for_the_first_topic(kafka: Broker, env: Environment) -> None:
    builder = source(kafka).set_topic_pattern("yet-to-come-.*").set_property("metadata.max.age.ms", "500")
    environment = env()
    values = environment.from_source(builder.build(), WatermarkStrategy.for_monotonous_timestamps(), "kafka")
    with values.map(lambda value: value).execute_and_collect() as results:
        wait_until(slot_pids, "the job runs")
        kafka.create_topic("yet-to-come-1", 2)
        kafka.produce("yet-to-come-1", ["here"])
        assert next(results) == "here"


def test_only_given_partitions_are_read(kafka: Broker, topic: str, env: Environment) -> None:
    three_each(kafka, topic)
    builder = source(kafka).set_partitions({KafkaTopicPartition(topic, 2)}).set_bounded(LATEST)
    assert collected(env(), builder) == ["2:0", "2:1", "2:2"]


class Whole(KafkaRecordDeserializationSchema[Any]):
    def deserialize(self, record: KafkaRecord) -> Any:
        return tuple(record)


def test_a_whole_record_has_its_place_timestamp_key_and_headers(kafka: Broker, topic: str, env: Environment) -> None:
    with Producer(kafka.client_settings()) as producer:
        headers = [("h", b"1"), ("h", None), ("i", b"\x00")]
        producer.produce(topic, key=b"k", value=b"v", partition=1, timestamp=123_456, headers=headers)
        producer.produce(topic, key=b"k", value=None, partition=1, timestamp=123_457)
        assert producer.flush(30) == 0
    builder = source(kafka).set_topics(topic).set_bounded(LATEST).set_deserializer(Whole())
    assert collected(env(), builder) == [
        (topic, 1, 0, 123_456, 0, b"k", b"v", (("h", b"1"), ("h", None), ("i", b"\x00"))),
        (topic, 1, 1, 123_457, 0, b"k", None, ()),
    ]


class Stamp(ProcessFunction):
    def process_element(self, value: str, ctx: ProcessFunction.Context) -> Iterator[Any]:
        yield value, ctx.timestamp()


def test_timestamps_of_kafka_are_those_of_records_and_deleted_keys_are_skipped(
    kafka: Broker, topic: str, env: Environment
) -> None:
    stamped(kafka, topic, [(0, "a", 5000), (2, "b", 1)])
    kafka.produce(topic, [("key", None)])
    built = source(kafka).set_topics(topic).set_bounded(LATEST).build()
    with env().from_source(built, NO_WATERMARKS, "kafka").process(Stamp()).execute_and_collect() as results:
        assert sorted(results) == [("a", 5000), ("b", 1)]


class Number(KeyedProcessFunction):
    """Number the records of each key."""

    def open(self, runtime_context: Any) -> None:
        self.seen = runtime_context.get_state(ValueStateDescriptor("seen", Types.LONG()))

    def process_element(self, value: str, ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        number = (self.seen.value() or 0) + 1
        self.seen.update(number)
        yield f"{value[0]}:{number}"


def numbered(stream: DataStream) -> DataStream:
    return stream.key_by(lambda value: value[0]).process(Number())


class Slow(MapFunction):
    def map(self, value: str) -> str:
        time.sleep(0.0005)  # so that the job lives long enough to be killed
        return value


@pytest.mark.parametrize("strategy", [NO_WATERMARKS, WatermarkStrategy.for_monotonous_timestamps()])
def test_each_record_counts_once_in_state_though_slots_are_killed(
    kafka: Broker, topic: str, env: Environment, strategy: WatermarkStrategy
) -> None:
    print("seed", SEED)
    draw = random.Random(SEED)
    keys = [draw.choice("abcdefgh") for _ in range(4000)]
    kafka.produce(topic, [f"{key}{n}" for n, key in enumerate(keys)])
    environment = env()
    environment.set_restart_strategy(RestartStrategies.fixed_delay_restart(10, 0))
    builder = source(kafka).set_topics(topic).set_bounded(LATEST).set_property("maxOffsetsPerTrigger", "400")
    stream = numbered(environment.from_source(builder.build(), strategy, "kafka").map(Slow()))
    found = []
    kills = 0
    with stream.execute_and_collect() as results:
        for result in results:  # those of a checkpoint come when it is complete
            found.append(result)
            if len(found) in (300, 1500):
                os.kill(draw.choice(slot_pids()), signal.SIGKILL)
                kills += 1
    assert kills == 2
    assert sorted(found) == sorted(counted(keys))


def counted(keys: list[str]) -> list[str]:
    return [f"{key}:{n}" for key, count in Counter(keys).items() for n in range(1, count + 1)]


def test_a_savepoint_is_restored_with_another_parallelism_and_more_partitions(
    kafka: Broker, topic: str, env: Environment, tmp_path: Path
) -> None:
    before, after = ["a", "b", "c"] * 40, ["a", "c", "d"] * 30
    kafka.produce(topic, before)
    builder = source(kafka).set_topics(topic).set_group_id(f"group-{topic}").set_starting_offsets(EARLIEST)
    first, second = tmp_path / "first", tmp_path / "second"

    environment = env(2)
    stream = numbered(environment.from_source(builder.build(), NO_WATERMARKS, "kafka").uid("source")).uid("numbers")
    write(stream, first)
    client = environment.execute_async()
    wait_until(lambda: len(written(first)) == len(before), "all is written")
    ends = {(topic, partition): end for partition, end in kafka.end_offsets(topic).items()}
    wait_until(lambda: kafka.group_offsets(f"group-{topic}") == ends, "the group has the offsets of a checkpoint")
    savepoint = client.stop_with_savepoint(False, str(tmp_path / "savepoint")).result()

    kafka.produce(topic, after[:45])
    with AdminClient(kafka.client_settings()) as admin:
        admin.create_partitions([NewPartitions(topic, 5)])[topic].result(30)
    wait_until(lambda: len(kafka.partitions(topic)) == 5, "there are more partitions")
    kafka.produce(topic, after[45:], partition=4)

    environment = env(3, execution_savepoint_path=savepoint)
    bounded = builder.set_bounded(LATEST).build()
    strategy = WatermarkStrategy.for_monotonous_timestamps()
    stream = numbered(environment.from_source(bounded, strategy, "kafka").uid("source")).uid("numbers")
    write(stream, second)
    environment.execute()
    assert sorted(written(first) + written(second)) == sorted(counted(before + after))


def write(stream: DataStream, directory: Path) -> None:
    stream.sink_to(FileSink.for_row_format(str(directory), Encoder.simple_string_encoder()).build())


def written(directory: Path) -> list[str]:
    files = [file for file in directory.rglob("*") if file.is_file() and not file.name.startswith(".")]
    return [line for file in files for line in file.read_text().splitlines()]


class Counts(ProcessWindowFunction):
    def process(self, key: str, context: ProcessWindowFunction.Context, elements: Any) -> Iterator[Any]:
        yield context.window().start, len(list(elements))


def test_a_partition_that_is_behind_in_event_time_loses_nothing(kafka: Broker, topic: str, env: Environment) -> None:
    print("seed", SEED)
    draw = random.Random(SEED)
    messages = []
    for partition, start in ((0, 3_600_000), (1, 0), (2, 60_000)):
        stamps = sorted(start + draw.randint(0, 300_000) for _ in range(500))
        messages += [(partition, "x", stamp) for stamp in stamps]
    stamped(kafka, topic, messages)
    builder = source(kafka).set_topics(topic).set_bounded(LATEST).set_property("maxOffsetsPerTrigger", "200")
    strategy = WatermarkStrategy.for_monotonous_timestamps()
    windows = env().from_source(builder.build(), strategy, "kafka").key_by(lambda value: value)
    counts = windows.window(TumblingEventTimeWindows.of(Time.seconds(10))).process(Counts())
    with counts.execute_and_collect() as results:
        found = Counter(dict(results))
    assert found == Counter(stamp // 10_000 * 10_000 for _, _, stamp in messages)


def test_windows_close_while_a_partition_is_idle(kafka: Broker, topic: str, env: Environment) -> None:
    """Without idleness the two partitions that have no records would hold the watermark back for ever."""
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_idleness(Duration.of_millis(500))
    stamped(kafka, topic, [(0, "x", 1000), (0, "x", 2000), (0, "x", 30_000)])
    windows = env().from_source(source(kafka).set_topics(topic).build(), strategy, "kafka").key_by(lambda value: value)
    counts = windows.window(TumblingEventTimeWindows.of(Time.seconds(10))).process(Counts())
    with counts.execute_and_collect() as results:
        assert next(results) == (0, 2)


def test_a_flink_kafka_consumer_reads_from_the_offsets_of_its_group(
    kafka: Broker, topic: str, env: Environment
) -> None:
    three_each(kafka, topic)
    commit(kafka, f"group-{topic}", topic, {0: 2, 1: 3, 2: 1})
    properties = {"bootstrap.servers": kafka.bootstrap_servers, "group.id": f"group-{topic}"}
    with pytest.warns(DeprecationWarning, match="Use KafkaSource"):
        consumer = FlinkKafkaConsumer(topic, SimpleStringSchema(), properties)
    with env().add_source(consumer).map(lambda value: value).execute_and_collect() as results:
        assert sorted(next(results) for _ in range(3)) == ["0:2", "2:1", "2:2"]


def test_only_committed_records_are_read_if_that_is_set(kafka: Broker, topic: str, env: Environment) -> None:
    producer = Producer(kafka.client_settings(transactional_id=topic))
    producer.init_transactions()
    for value, ends in (("kept", producer.commit_transaction), ("dropped", producer.abort_transaction)):
        producer.begin_transaction()
        producer.produce(topic, value=value, partition=0)
        assert producer.flush(30) == 0  # or an aborted one would never get to the broker
        ends()
    builder = source(kafka).set_topics(topic).set_bounded(LATEST)
    assert collected(env(), builder.set_property("isolation.level", "read_committed")) == ["kept"]
    builder = source(kafka).set_topics(topic).set_bounded(LATEST)
    assert collected(env(), builder) == ["dropped", "kept"]


def test_a_topic_that_is_not_there_is_named(kafka: Broker, env: Environment) -> None:
    with pytest.raises(JobExecutionError) as raised:
        collected(env(), source(kafka).set_topics("no-such-topic").set_bounded(LATEST))
    assert isinstance(raised.value.__cause__, InvalidProgramError)
    assert "is not there" in str(raised.value.__cause__)


def test_what_is_no_pattern_fails_the_job_whatever_the_restart_strategy(kafka: Broker, env: Environment) -> None:
    with pytest.raises(JobExecutionError) as raised:
        collected(env(), source(kafka).set_topic_pattern("a[").set_bounded(LATEST))
    assert isinstance(raised.value.__cause__, InvalidProgramError)
    assert "no pattern of Java's: Unclosed character class" in str(raised.value.__cause__)


def test_brokers_that_do_not_answer_are_named(env: Environment, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kafka_admin, "ANSWER_SECONDS", 2)
    monkeypatch.setattr(kafka_admin, "TIMEOUTS", {"default.api.timeout.ms": 2000, "request.timeout.ms": 2000})
    builder = KafkaSource.builder().set_bootstrap_servers("127.0.0.1:1").set_topics("t").set_bounded(LATEST)
    environment = env()
    environment.set_restart_strategy(RestartStrategies.no_restart())
    with pytest.raises(JobExecutionError) as raised:
        collected(environment, builder.set_value_only_deserializer(SimpleStringSchema()))
    assert isinstance(raised.value.__cause__, KafkaAccessError)
    assert "127.0.0.1:1 could not describe its topics within 2 s" in str(raised.value.__cause__)


def test_records_that_retention_has_deleted_fail_the_job_and_the_error_says_what_to_do(
    kafka: Broker, topic: str, env: Environment, tmp_path: Path
) -> None:
    three_each(kafka, topic)
    environment = env()
    stream = numbered(environment.from_source(source(kafka).set_topics(topic).build(), NO_WATERMARKS, "in").uid("in"))
    write(stream, tmp_path / "out")
    client = environment.execute_async()
    wait_until(lambda: len(written(tmp_path / "out")) == 9, "all is written")
    savepoint = client.stop_with_savepoint(False, str(tmp_path / "savepoint")).result()
    three_each(kafka, topic)
    after = {"execution_savepoint_path": savepoint, "execution_state-recovery_ignore-unclaimed-state": "true"}
    with AdminClient(kafka.client_settings()) as admin:
        admin.delete_records([TopicPartition(topic, 0, 5)])[TopicPartition(topic, 0, 5)].result(30)

    environment = env(**after)
    environment.set_restart_strategy(RestartStrategies.no_restart())
    builder = source(kafka).set_topics(topic).set_bounded(LATEST)
    numbered(environment.from_source(builder.build(), NO_WATERMARKS, "in").uid("in")).print()
    with pytest.raises(JobExecutionError, match="failOnDataLoss"):
        environment.execute()

    environment = env(**after)
    builder = source(kafka).set_topics(topic).set_bounded(LATEST).set_property("failOnDataLoss", "false")
    stream = numbered(environment.from_source(builder.build(), NO_WATERMARKS, "in").uid("in"))
    with stream.execute_and_collect() as results:
        assert len(list(results)) == 7
