"""What the driver asks a Kafka cluster, through the client that Spark's connector brings along.

That client takes the same properties as the one that reads, also those of its security.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Protocol

from rekindle.exceptions import InvalidProgramError, RekindleError
from rekindle.graph.splits import Split

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ANSWER_SECONDS = 30
TIMEOUTS = {"default.api.timeout.ms": ANSWER_SECONDS * 1000, "request.timeout.ms": ANSWER_SECONDS * 1000}


class KafkaAccessError(RekindleError):
    """A Kafka cluster did not answer, or refused; a restart may find it willing."""


class KafkaAdmin(Protocol):
    """Ask a Kafka cluster. Every question has an answer, or fails, within a bounded time."""

    def matching(self, pattern: str) -> set[str]:
        """Return the topics whose whole names match a pattern of Java's.

        Raises:
            InvalidProgramError: It is no pattern.
        """

    def partitions(self, topics: Iterable[str]) -> list[Split]:
        """Return the partitions of topics.

        Raises:
            InvalidProgramError: There is no such topic.
        """

    def earliest(self, splits: Collection[Split]) -> dict[Split, int]:
        """Return the first offset that there is in each partition."""

    def latest(self, splits: Collection[Split]) -> dict[Split, int]:
        """Return the offset behind the last record of each partition that readers may see."""

    def at_timestamp(self, splits: Collection[Split], timestamp: int) -> dict[Split, int]:
        """Return the first offset at or after a time, in partitions that have one."""

    def committed(self, group: str, splits: Collection[Split]) -> dict[Split, int]:
        """Return the offsets that a group has committed, in partitions where it has."""

    def commit(self, group: str, offsets: Mapping[Split, int]) -> None:
        """Commit offsets for a group."""

    def close(self) -> None:
        """Let go of connections."""


class JvmKafkaAdmin:
    """Ask by the Java client in Spark's JVM.

    Args:
        session: The session.
        properties: Those of the client.
    """

    def __init__(self, session: SparkSession, properties: Mapping[str, str]) -> None:
        jvm: Any = session._jvm
        self._jvm = jvm
        self._servers = properties["bootstrap.servers"]
        self._committed_only = properties.get("isolation.level") == "read_committed"
        settings = self._jvm.java.util.Properties()
        for key, value in {**TIMEOUTS, **properties}.items():
            settings.setProperty(key, str(value))
        admin = self._jvm.org.apache.kafka.clients.admin.Admin
        self._admin: Any = self._asked("be reached", lambda: admin.create(settings))

    def matching(self, pattern: str) -> set[str]:
        """Return the topics whose whole names match a pattern of Java's."""
        compiled = self._asked("be reached", lambda: self._jvm.java.util.regex.Pattern.compile(pattern))
        names = self._answer("list its topics", lambda: self._admin.listTopics().names())
        return {name for name in names if compiled.matcher(name).matches()}

    def partitions(self, topics: Iterable[str]) -> list[Split]:
        """Return the partitions of topics."""
        names = self._jvm.java.util.ArrayList()
        for topic in topics:
            names.add(topic)
        described = self._answer("describe its topics", lambda: self._admin.describeTopics(names).allTopicNames())
        return sorted(
            (topic, partition.partition()) for topic in described for partition in described[topic].partitions()
        )

    def earliest(self, splits: Collection[Split]) -> dict[Split, int]:
        """Return the first offset that there is in each partition."""
        return self._offsets(splits, self._spec().earliest())

    def latest(self, splits: Collection[Split]) -> dict[Split, int]:
        """Return the offset behind the last record of each partition that readers may see."""
        return self._offsets(splits, self._spec().latest())

    def at_timestamp(self, splits: Collection[Split], timestamp: int) -> dict[Split, int]:
        """Return the first offset at or after a time, in partitions that have one."""
        found = self._offsets(splits, self._spec().forTimestamp(timestamp))
        return {split: offset for split, offset in found.items() if offset >= 0}

    def committed(self, group: str, splits: Collection[Split]) -> dict[Split, int]:
        """Return the offsets that a group has committed, in partitions where it has."""
        answered = self._answer(
            f"tell the offsets of group {group!r}",
            lambda: self._admin.listConsumerGroupOffsets(group).partitionsToOffsetAndMetadata(),
        )
        found: dict[Split, int] = {}
        for place in answered.keySet():
            offset = answered.get(place)
            if offset is not None and (split := (place.topic(), place.partition())) in splits:
                found[split] = offset.offset()
        return found

    def commit(self, group: str, offsets: Mapping[Split, int]) -> None:
        """Commit offsets for a group."""
        consumer = self._jvm.org.apache.kafka.clients.consumer
        committed = self._jvm.java.util.HashMap()
        for split, offset in offsets.items():
            committed.put(self._place(split), consumer.OffsetAndMetadata(offset))
        self._answer(
            f"commit offsets of group {group!r}",
            lambda: self._admin.alterConsumerGroupOffsets(group, committed).all(),
        )

    def close(self) -> None:
        """Let go of connections."""
        self._admin.close(self._jvm.java.time.Duration.ofSeconds(1))

    def _spec(self) -> Any:
        return self._jvm.org.apache.kafka.clients.admin.OffsetSpec

    def _place(self, split: Split) -> Any:
        return self._jvm.org.apache.kafka.common.TopicPartition(*split)

    def _offsets(self, splits: Collection[Split], spec: Any) -> dict[Split, int]:
        if not splits:
            return {}
        places = {split: self._place(split) for split in splits}
        asked = self._jvm.java.util.HashMap()
        for place in places.values():
            asked.put(place, spec)
        level = self._jvm.org.apache.kafka.common.IsolationLevel
        isolation = level.READ_COMMITTED if self._committed_only else level.READ_UNCOMMITTED
        options = self._jvm.org.apache.kafka.clients.admin.ListOffsetsOptions(isolation)
        answered = self._answer("tell offsets", lambda: self._admin.listOffsets(asked, options).all())
        return {split: answered.get(place).offset() for split, place in places.items()}

    def _answer(self, what: str, ask: Callable[[], Any]) -> Any:
        """Wait for what the client promises."""
        seconds = self._jvm.java.util.concurrent.TimeUnit.SECONDS
        return self._asked(what, lambda: ask().get(ANSWER_SECONDS + 5, seconds))

    def _asked(self, what: str, ask: Callable[[], Any]) -> Any:
        from py4j.protocol import Py4JJavaError  # programs are described without Spark
        from pyspark.errors.exceptions.captured import CapturedException

        try:
            return ask()
        except Py4JJavaError as error:
            raise _readable(error.java_exception, what, self._servers) from error
        except CapturedException as error:  # PySpark makes its own of some of Java's
            if error._origin is None:
                raise
            raise _readable(error._origin, what, self._servers) from error


def _readable(thrown: Any, what: str, servers: str) -> RekindleError:
    """Make an error of Java's client readable."""
    while thrown.getCause() is not None:
        thrown = thrown.getCause()
    kind, message = thrown.getClass().getSimpleName(), thrown.getMessage()
    if kind == "UnknownTopicOrPartitionException":
        return InvalidProgramError(
            f"a topic or partition that is to be read is not there, says the Kafka cluster at {servers} ({message}). "
            "Create it, or name another; a source with set_topic_pattern waits for topics"
        )
    if kind == "PatternSyntaxException":
        return InvalidProgramError(f"set_topic_pattern was given what is no pattern of Java's: {message}")
    if kind == "TimeoutException":
        return KafkaAccessError(
            f"the Kafka cluster at {servers} could not {what} within {ANSWER_SECONDS} s: {message}. Check that the "
            "brokers run, that bootstrap.servers names them, and that security settings are theirs"
        )
    return KafkaAccessError(f"the Kafka cluster at {servers} could not {what}: {kind}: {message}")
