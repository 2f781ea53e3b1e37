"""The commit topic: which committables have been committed, written in the same transactions as their records.

Its keys are writers, its values the number of the writer's last committable that is committed. The topic is compacted:
the last value of each key stays for good, however old a savepoint is that still refers to it.
"""

from __future__ import annotations

import time
import zlib
from typing import Any

from rekindle.connectors.kafka.kafka_clients import (
    KafkaClientError,
    KafkaClients,
    close_quietly,
    require_admin,
    require_client,
)

DEFAULT_COMMIT_TOPIC = "__rekindle_commits"
PARTITIONS = 8
"""How many partitions keys are spread over; a topic with more is used, too, but no further ones."""

_SETTINGS = {"cleanup.policy": "compact", "segment.bytes": str(16 << 20), "segment.ms": str(3600 * 1000)}
_CHUNK = 10_000


def partition_of(writer: str) -> int:
    """Return where the marker of a writer is."""
    return zlib.crc32(writer.encode()) % PARTITIONS


def encode_marker(number: int) -> bytes:
    """Return the marker of a commit."""
    return b"1:%d" % number


def decode_marker(value: bytes | None) -> int:
    """Return the number in a marker; 0 where there is none.

    Raises:
        KafkaClientError: It is not a marker of this version.
    """
    if not value:
        return 0
    version, _, number = value.partition(b":")
    if version != b"1" or not number.isdigit():
        raise KafkaClientError(
            f"the commit topic holds {value[:40]!r}, which is not a marker of this version of Rekindle. Name a topic "
            "of its own with set_commit_topic, or use the version that wrote it"
        )
    return int(number)


class CommitMarkers:
    """Read a commit topic, which is made if it is missing.

    Args:
        clients: Makes clients.
        topic: The topic.
    """

    def __init__(self, clients: KafkaClients, topic: str) -> None:
        self._clients = clients
        self.topic = topic
        self._exists = False

    def ensure_topic(self, deadline: float) -> None:
        """Create the topic, compacted, unless it is there.

        Raises:
            KafkaClientError: It can neither be found nor be created, or it forgets markers.
        """
        if self._exists:
            return
        admin = self._clients.admin()
        try:
            partitions = _partitions(admin, self.topic, deadline)
            if partitions is None:
                partitions = self._create(admin, deadline)
            if partitions < PARTITIONS:
                raise KafkaClientError(
                    f"the commit topic {self.topic!r} has {partitions} partitions, and needs {PARTITIONS}: add some"
                )
            self._require_compaction(admin, deadline)
        except require_client().KafkaException as error:
            raise KafkaClientError(
                f"the commit topic {self.topic!r} cannot be used: {self._clients.describe(error)}"
            ) from error
        finally:
            close_quietly(admin)
        self._exists = True

    def seen(self, writer: str, deadline: float) -> int:
        """Return a number up to which the writer's committables are committed; there may be more."""
        return self._number(self._scan(writer, "read_committed", deadline))

    def committed(self, writer: str, deadline: float) -> int:
        """Return the number of the writer's last committable that is committed; 0: none.

        Right for as long as nobody else can commit for the writer: ask after ``init_transactions`` of its
        transactional id. If a marker was written, this waits until it is known whether its transaction is committed:
        an earlier one of another writer may still be open, and hides it from those who read what is committed.
        """
        written = self._scan(writer, "read_uncommitted", deadline)
        if written is None:
            return 0
        self._await_stable(partition_of(writer), written[0], deadline)
        return self._number(self._scan(writer, "read_committed", deadline))

    @staticmethod
    def _number(found: tuple[int, int] | None) -> int:
        return 0 if found is None else found[1]

    def _scan(self, writer: str, isolation: str, deadline: float) -> tuple[int, int] | None:
        """Read the partition of a writer to its end; return the offset and the number of the last marker."""
        self.ensure_topic(deadline)
        client = require_client()
        consumer = self._clients.consumer(
            {
                "group.id": "rekindle-commits",  # librdkafka wants a name; nothing is committed under it
                "enable.auto.commit": False,
                "enable.partition.eof": True,
                "auto.offset.reset": "earliest",
                "isolation.level": isolation,
                "fetch.wait.max.ms": 10,  # the end is known by an answer that has nothing in it
            }
        )
        found: tuple[int, int] | None = None
        key = writer.encode()
        try:
            consumer.assign([client.TopicPartition(self.topic, partition_of(writer), 0)])
            while True:
                for message in _messages(consumer):
                    error = message.error()
                    if error is None:
                        if message.key() == key:
                            found = (message.offset(), decode_marker(message.value()))
                    elif error.code() == client.KafkaError._PARTITION_EOF:
                        return found
                    elif error.fatal() or not _passes(client, error):
                        raise self._unreadable(self._clients.describe(client.KafkaException(error)))
                if time.monotonic() > deadline:
                    raise self._unreadable("its end was not reached in time")
        finally:
            close_quietly(consumer)

    def _await_stable(self, partition: int, offset: int, deadline: float) -> None:
        """Wait until all transactions have ended that began before a marker."""
        client = require_client()
        admin = self._clients.admin()
        try:
            place = client.TopicPartition(self.topic, partition)
            while True:
                left = deadline - time.monotonic()
                asked = admin.list_offsets(
                    {place: require_admin().OffsetSpec.latest()},
                    isolation_level=client.IsolationLevel.READ_COMMITTED,
                    request_timeout=max(1.0, left),
                )
                if asked[place].result().offset > offset:
                    return
                if left <= 0:
                    raise self._unreadable("a transaction of another writer has not ended in time")
                time.sleep(0.05)
        except client.KafkaException as error:
            raise self._unreadable(self._clients.describe(error)) from error
        finally:
            close_quietly(admin)

    def _unreadable(self, why: str) -> KafkaClientError:
        return KafkaClientError(f"the commit topic {self.topic!r} cannot be read: {why}")

    def _create(self, admin: Any, deadline: float) -> int:
        client = require_client()
        new = require_admin().NewTopic(self.topic, num_partitions=PARTITIONS, replication_factor=-1, config=_SETTINGS)
        left = max(1.0, deadline - time.monotonic())
        try:
            admin.create_topics([new], operation_timeout=left, request_timeout=left)[self.topic].result()
        except client.KafkaException as error:
            if error.args[0].code() != client.KafkaError.TOPIC_ALREADY_EXISTS:
                raise
        while (partitions := _partitions(admin, self.topic, deadline)) is None:
            if time.monotonic() > deadline:
                raise KafkaClientError(f"the commit topic {self.topic!r} was created, and is not there")
            time.sleep(0.05)
        return partitions

    def _require_compaction(self, admin: Any, deadline: float) -> None:
        client = require_client()
        resource = require_admin().ConfigResource(require_admin().ResourceType.TOPIC, self.topic)
        try:
            asked = admin.describe_configs([resource], request_timeout=max(1.0, deadline - time.monotonic()))
            policy = asked[resource].result()["cleanup.policy"].value
        except client.KafkaException as error:
            if error.args[0].code() == client.KafkaError.TOPIC_AUTHORIZATION_FAILED:
                return  # whoever may not look has been given the topic by somebody
            raise
        if policy != "compact":
            raise KafkaClientError(
                f"the commit topic {self.topic!r} has the cleanup.policy {policy!r}, which forgets what is committed. "
                "Set it to 'compact'"
            )


def _partitions(admin: Any, topic: str, deadline: float) -> int | None:
    found = admin.list_topics(topic, timeout=max(1.0, deadline - time.monotonic())).topics.get(topic)
    if found is None or found.error is not None or not found.partitions:
        return None
    led = [partition for partition in found.partitions.values() if partition.leader >= 0]
    return len(led) if len(led) == len(found.partitions) else None


def _messages(consumer: Any) -> list[Any]:
    """Return what is there, after waiting for the first: ``consume`` alone waits for as many as it may return."""
    first = consumer.poll(0.5)
    return [] if first is None else [first, *consumer.consume(_CHUNK, 0)]


def _passes(client: Any, error: Any) -> bool:
    """Return whether a consumer goes on by itself after an error."""
    codes = (client.KafkaError._TRANSPORT, client.KafkaError._ALL_BROKERS_DOWN, client.KafkaError._TIMED_OUT)
    return error.retriable() or error.code() in codes
