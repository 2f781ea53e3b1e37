"""A Kafka broker in a process of its own: started, stopped, killed, and started again with the data it had."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import confluent_kafka
from confluent_kafka import Consumer, ConsumerGroupTopicPartitions, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, ConfigResource, NewTopic, OffsetSpec, ResourceType

from support.processes import wait_until
from support.services.jars import kafka_jars
from support.services.server_process import HOST, free_ports, start_server

CLUSTER_ID = "UmVraW5kbGVLYWZrYVRlc3"
JAVA_OPTIONS = ("-Xmx512m", "-Xms256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto")
SECONDS = 30.0

# Any client says in its log that a broker is gone, which is what some tests are about.
QUIET: dict[str, Any] = {"log_level": 0}


@dataclass(frozen=True, slots=True)
class Record:
    """A record as a consumer gets it."""

    topic: str
    partition: int
    offset: int
    key: bytes | None
    value: bytes | None
    timestamp: int
    headers: tuple[tuple[str, bytes | None], ...] = ()


class Broker:
    """One broker that is its own controller, on the loopback, and helpers to look at it from outside."""

    def __init__(self, directory: Path, settings: Mapping[str, object] | None = None) -> None:
        self.directory = directory
        self.port, controller = free_ports(2)
        self._settings = _server_properties(directory / "data", self.port, controller) | (settings or {})
        self._properties = directory / "server.properties"
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def bootstrap_servers(self) -> str:
        """Where clients begin."""
        return f"{HOST}:{self.port}"

    @property
    def running(self) -> bool:
        """Whether there is a process."""
        return self._process is not None and self._process.poll() is None

    def start(self) -> None:
        """Start the broker with the data that it has, and wait until it answers."""
        if not self._properties.exists():
            lines = [f"{name}={value}" for name, value in self._settings.items()]
            self._properties.write_text("\n".join(lines) + "\n")
            self._format()
        command = _java("kafka.Kafka", str(self._properties))
        self._process = start_server(command, self.log, env=_environment())
        wait_until(self._answers_or_ended, "the broker answers", timeout=90)
        if not self.running:
            raise AssertionError(f"the broker ended at once:\n{self.log.read_text(errors='replace')[-3000:]}")

    @property
    def log(self) -> Path:
        """The file with what the broker prints."""
        return self.directory / "broker.log"

    def stop(self) -> None:
        """End the broker as an operator does, and wait."""
        if self._process is not None:
            self._process.terminate()
            self._wait_for_end(self._process)

    def kill(self) -> None:
        """End the broker with SIGKILL, and wait."""
        if self._process is not None:
            self._process.kill()
            self._wait_for_end(self._process)

    def restart(self) -> None:
        """Kill the broker and start it on the same data and port."""
        self.kill()
        self.start()

    def create_topic(self, name: str, partitions: int = 1, settings: Mapping[str, str] | None = None) -> None:
        """Create a topic, and wait until its partitions have a leader."""
        with AdminClient(self.client_settings()) as admin:
            topic = NewTopic(name, num_partitions=partitions, replication_factor=1, config=dict(settings or {}))
            admin.create_topics([topic], operation_timeout=SECONDS)[name].result(SECONDS)
            wait_until(lambda: len(_led_partitions(admin, name)) == partitions, f"{name} has leaders")

    def produce(self, topic: str, values: Iterable[Any], partition: int | None = None) -> None:
        """Write values, or pairs of a key and a value, all bytes or strings; keys go where Java's clients put them."""
        with Producer(self.client_settings(partitioner="murmur2_random", linger_ms=5)) as producer:
            for item in values:
                key, value = item if isinstance(item, tuple) else (None, item)
                where = {} if partition is None else {"partition": partition}
                while True:
                    try:
                        producer.produce(topic, value=value, key=key, **where)
                        break
                    except BufferError:
                        producer.poll(0.1)
            assert producer.flush(SECONDS) == 0

    def produce_with_java(self, topic: str, pairs: Iterable[tuple[str, str]]) -> None:
        """Write keys and values with Java's own producer."""
        words = ("--bootstrap-server", self.bootstrap_servers, "--topic", topic, "--property", "parse.key=true")
        command = _java("org.apache.kafka.tools.ConsoleProducer", *words, "--property", "key.separator=|")
        lines = "".join(f"{key}|{value}\n" for key, value in pairs)
        environment = _environment() | {"LC_ALL": "C.UTF-8"}
        done = subprocess.run(command, input=lines.encode(), capture_output=True, env=environment, timeout=60)
        assert done.returncode == 0, done.stderr.decode(errors="replace")

    def consume_committed(self, topic: str, partitions: Iterable[int] = ()) -> list[Record]:
        """Return records up to the stable end, as a reader of committed records sees them: of all partitions, or of
        those that are named, which is faster.
        """
        return self._consume(topic, "read_committed", partitions)

    def consume_uncommitted(self, topic: str) -> list[Record]:
        """Return all records that are in the log, those of open and aborted transactions, too."""
        return self._consume(topic, "read_uncommitted", ())

    def partitions(self, topic: str) -> list[int]:
        """List the partitions of a topic; none where there is no such topic."""
        with AdminClient(self.client_settings()) as admin:
            return _led_partitions(admin, topic)

    def end_offsets(self, topic: str) -> dict[int, int]:
        """Return the offset after the last record of each partition."""
        with AdminClient(self.client_settings()) as admin:
            wanted = {TopicPartition(topic, number): OffsetSpec.latest() for number in _led_partitions(admin, topic)}
            found = admin.list_offsets(wanted)
            return {place.partition: answer.result(SECONDS).offset for place, answer in found.items()}

    def topic_setting(self, topic: str, name: str) -> str | None:
        """Return a setting of a topic."""
        with AdminClient(self.client_settings()) as admin:
            resource = ConfigResource(ResourceType.TOPIC, topic)
            return admin.describe_configs([resource])[resource].result(SECONDS)[name].value

    def group_offsets(self, group: str) -> dict[tuple[str, int], int]:
        """Return the offsets that a consumer group has committed, by topic and partition."""
        with AdminClient(self.client_settings()) as admin:
            asked = admin.list_consumer_group_offsets([ConsumerGroupTopicPartitions(group)])
            found = asked[group].result(SECONDS).topic_partitions
            return {(place.topic, place.partition): place.offset for place in found}

    def client_settings(self, **settings: object) -> dict[str, Any]:
        """Return the settings of a client; underscores stand for dots."""
        named = {name.replace("_", "."): value for name, value in settings.items()}
        return {"bootstrap.servers": self.bootstrap_servers, **QUIET, **named}

    def _consume(self, topic: str, isolation: str, partitions: Iterable[int]) -> list[Record]:
        settings = self.client_settings(group_id="reader", enable_auto_commit=False, isolation_level=isolation)
        settings |= {"enable.partition.eof": True, "auto.offset.reset": "error", "fetch.wait.max.ms": 10}
        with Consumer(settings) as consumer:
            open_ends = set(partitions) or set(self.partitions(topic))
            consumer.assign([TopicPartition(topic, number, 0) for number in open_ends])
            records: list[Record] = []
            while open_ends:
                first = consumer.poll(0.5)  # consume alone waits for as many as it may return
                for message in [] if first is None else [first, *consumer.consume(10_000, 0)]:
                    error = message.error()
                    if error is None:
                        records.append(_record(message))
                    elif error.code() == confluent_kafka.KafkaError._PARTITION_EOF:
                        open_ends.discard(message.partition())
                    elif not error.retriable() and error.code() != confluent_kafka.KafkaError._TRANSPORT:
                        raise KafkaException(error)
            consumer.unassign()
            return sorted(records, key=lambda record: (record.partition, record.offset))

    def _format(self) -> None:
        command = _java("kafka.tools.StorageTool", "format", "-t", CLUSTER_ID, "-c", str(self._properties))
        done = subprocess.run(command, capture_output=True, text=True, env=_environment(), timeout=60, check=False)
        assert done.returncode == 0, f"the storage of the broker could not be made:\n{done.stdout}{done.stderr}"

    def _answers_or_ended(self) -> bool:
        if not self.running:
            return True
        try:
            with AdminClient(self.client_settings()) as admin:
                return len(admin.list_topics(timeout=1).brokers) == 1
        except KafkaException:
            return False

    @staticmethod
    def _wait_for_end(process: subprocess.Popen[bytes]) -> None:
        try:
            process.wait(30)
        finally:
            process.kill()
            process.wait()


def missing() -> str | None:
    """Say what this machine lacks for a broker; None: nothing."""
    if shutil.which("java") is None:
        return "a Kafka broker needs Java, and there is none on the PATH"
    if not kafka_jars().exists():
        return f"the jars of Kafka's broker are not in {kafka_jars()}: make services fetches them with Maven"
    return None


def new_broker(settings: Mapping[str, object] | None = None) -> Broker:
    """Return a broker with a directory of its own, started."""
    broker = Broker(Path(tempfile.mkdtemp(prefix="rekindle-kafka-")), settings)
    try:
        broker.start()
    except BaseException:
        remove(broker)
        raise
    return broker


def remove(broker: Broker) -> None:
    """End a broker, and remove what it wrote."""
    broker.kill()
    shutil.rmtree(broker.directory, ignore_errors=True)


def _record(message: confluent_kafka.Message) -> Record:
    topic, partition, offset = message.topic(), message.partition(), message.offset()
    assert topic is not None
    assert partition is not None
    assert offset is not None
    headers = tuple(message.headers() or ())
    return Record(topic, partition, offset, message.key(), message.value(), message.timestamp()[1], headers)


def _led_partitions(admin: AdminClient, topic: str) -> list[int]:
    found = admin.list_topics(topic, timeout=SECONDS).topics[topic].partitions
    return sorted(number for number, partition in found.items() if partition.leader >= 0)


def _server_properties(data: Path, port: int, controller: int) -> dict[str, object]:
    return {
        "process.roles": "broker,controller",
        "node.id": 1,
        "controller.quorum.voters": f"1@{HOST}:{controller}",
        "listeners": f"PLAINTEXT://{HOST}:{port},CONTROLLER://{HOST}:{controller}",
        "advertised.listeners": f"PLAINTEXT://{HOST}:{port}",
        "controller.listener.names": "CONTROLLER",
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
        "log.dirs": data,
        "log.retention.ms": -1,  # tests write records that are years old: nothing deletes them under way
        "auto.create.topics.enable": "false",
        "offsets.topic.replication.factor": 1,
        "offsets.topic.num.partitions": 4,
        "transaction.state.log.replication.factor": 1,
        "transaction.state.log.min.isr": 1,
        "transaction.state.log.num.partitions": 4,
        "share.coordinator.state.topic.replication.factor": 1,
        "share.coordinator.state.topic.min.isr": 1,
        "group.initial.rebalance.delay.ms": 0,
        "controlled.shutdown.enable": "false",
        "broker.session.timeout.ms": 3000,
        "broker.heartbeat.interval.ms": 500,
    }


def _java(main: str, *arguments: str) -> Sequence[str]:
    return ("java", *JAVA_OPTIONS, "-cp", f"{kafka_jars()}/*", main, *arguments)


def _environment() -> dict[str, str]:
    """Return the environment of a broker: the Java options of Spark's processes are not for it."""
    return {name: value for name, value in os.environ.items() if name != "JDK_JAVA_OPTIONS"}
