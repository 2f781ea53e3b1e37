"""Topics as a stream that Spark reads, whose offsets are found, and committed, by the driver."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import closing
from typing import TYPE_CHECKING, Any, ClassVar

from rekindle.connectors.kafka.group_offsets import GroupOffsets
from rekindle.connectors.kafka.kafka_admin import JvmKafkaAdmin, KafkaAdmin
from rekindle.connectors.kafka.kafka_reading import KafkaReading, kept_ends
from rekindle.connectors.kafka.offsets_initializer import KafkaOffsetsInitializer, begin_offsets, end_offsets
from rekindle.connectors.kafka.source_properties import KafkaProperties
from rekindle.connectors.kafka.subscription import Subscription
from rekindle.connectors.kafka.topic_partition import from_json
from rekindle.exceptions import SparkSetupError
from rekindle.graph.splits import Split
from rekindle.graph.transformations.split_sources import SplitFrame

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_CONNECTOR = "org.apache.spark:spark-sql-kafka-0-10_2.13"

MakeAdmin = Callable[["SparkSession", Mapping[str, str]], KafkaAdmin]
"""Makes a client, given its properties."""


class KafkaFrame(SplitFrame):
    """Topics that Spark reads.

    Where reading begins and ends is found once in a job, when its first attempt begins: if that fails before its first
    checkpoint, the next one reads the same records. Later attempts begin where a checkpoint left the source.

    Args:
        subscription: What is read.
        properties: Those of the clients.
        starting: Where reading begins, without a checkpoint.
        stopping: Where it ends; None: nowhere.
        columns: What is read of each record.
        make_admin: Makes the client of the driver.
    """

    packages: ClassVar[tuple[str, ...]] = (_CONNECTOR,)

    def __init__(
        self,
        subscription: Subscription,
        properties: KafkaProperties,
        starting: KafkaOffsetsInitializer,
        stopping: KafkaOffsetsInitializer | None,
        columns: tuple[str, ...],
        make_admin: MakeAdmin = JvmKafkaAdmin,
    ) -> None:
        self._subscription = subscription
        self._properties = properties
        self._starting = starting
        self._stopping = stopping
        self._columns = columns
        self._make_admin = make_admin
        self._first: KafkaReading | None = None
        self._group: GroupOffsets | None = None

    def __repr__(self) -> str:
        return f"KafkaFrame({self._subscription.option} {self._subscription.value} at {self._properties.servers})"

    def for_job(self) -> KafkaFrame:
        """Return a frame that finds its own offsets."""
        return KafkaFrame(
            self._subscription, self._properties, self._starting, self._stopping, self._columns, self._make_admin
        )

    def options(self) -> dict[str, str]:
        """Return the options of Spark's reader."""
        headers = str("headers" in self._columns).lower()
        subscribed = {self._subscription.option: self._subscription.value, "includeHeaders": headers}
        return self._properties.spark_options() | subscribed

    def open(self, session: SparkSession) -> DataFrame:
        """Let Spark describe the topics.

        Raises:
            SparkSetupError: Spark has no connector to Kafka.
        """
        from pyspark.errors import AnalysisException  # programs are described without Spark

        reader: Any = session.readStream.format("kafka").options(**self.options())
        try:
            frame: DataFrame = reader.load()
        except AnalysisException as error:
            if "Failed to find data source" not in str(error):
                raise
            raise SparkSetupError(_no_connector(session.version)) from error
        return frame.select(*self._columns)

    def begin(self, session: SparkSession, offsets: str | None, kept: bytes | None) -> KafkaReading:
        """Find out where to begin and to end, unless a checkpoint says it.

        Raises:
            KafkaAccessError: The cluster does not answer.
            InvalidProgramError: There are no such topics, or no offsets in them to begin with.
        """
        if self._properties.commits:
            self._group = GroupOffsets(str(self._properties.group), lambda: self._admin(session))
        with closing(self._admin(session)) as admin:
            splits = self._subscription.splits(admin)
            if offsets is None:
                if self._first is None:
                    begin = begin_offsets(self._starting, admin, splits, self._properties.group)
                    self._first = KafkaReading(begin, self._ends(admin, splits))
                return self._first
            restored = from_json(offsets)
            new = [split for split in splits if split not in restored]
            begin = {split: restored[split] for split in splits if split in restored} | admin.earliest(new)
            if self._stopping is not None and kept is not None:
                ends = kept_ends(kept)
                return KafkaReading(begin, {split: ends[split] for split in splits if split in ends})
            return KafkaReading(begin, self._ends(admin, splits) if self._first is None else self._first.end)

    def checkpoint_completed(self, offsets: str) -> None:
        """Let the consumer group know how far the job is."""
        if self._group is not None:
            self._group.commit(from_json(offsets))

    def _admin(self, session: SparkSession) -> KafkaAdmin:
        return self._make_admin(session, self._properties.client())

    def _ends(self, admin: KafkaAdmin, splits: list[Split]) -> dict[Split, int] | None:
        if self._stopping is None:
            return None
        return end_offsets(self._stopping, admin, splits, self._properties.group)


def _no_connector(version: str) -> str:
    return (
        f"this Spark {version} was started without its connector to Kafka. Start it with spark.jars.packages="
        f"{_CONNECTOR}:{version} (the newest version there is, if that one is not published yet: 4.2.0 works with "
        "4.3), as in pyspark --packages …; or let Rekindle start Spark, after the source is made: then it fetches the "
        "connector. A JVM that runs already cannot get it any more"
    )
