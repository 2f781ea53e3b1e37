"""The epochs of a job that reads streams of Spark's: each is a micro-batch of a query."""

from __future__ import annotations

from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from rekindle.runtime.spark.errors import ended_error
from rekindle.runtime.spark.versions import memory_stream

FIRST_TICK = "-1"
"""The offset of ticks before the first one, as Spark's log has it."""


class Ticks:
    """A stream in Spark's own memory. What is added to it lets Spark begin a micro-batch, also if nothing else is new.

    Attributes:
        frame: The stream: a row, and a partition, for each slot that is to be polled. Ticks that come between two
            micro-batches are in one of them, and then there are several rows for a slot.
    """

    def __init__(self, session: SparkSession, slots: int) -> None:
        jvm: Any = session._jvm
        self._rows = jvm.PythonUtils.toSeq(list(range(slots)))
        self._stream = memory_stream(session, slots)
        self.frame = DataFrame(self._stream.toDF(), session).toDF("slot")

    def add(self) -> None:
        """Add a tick."""
        self._stream.addData(self._rows)


class EpochQuery:
    """Let Spark begin epochs, see :class:`rekindle.runtime.master.cluster.EpochDriver`."""

    def __init__(self, query: StreamingQuery, ticks: Ticks) -> None:
        self._query = query
        self._ticks = ticks

    def tick(self) -> None:
        """Let Spark begin an epoch, though its own sources may have nothing new."""
        self._ticks.add()

    @property
    def active(self) -> bool:
        """Return whether there may be more epochs."""
        return self._query.isActive

    @property
    def error(self) -> BaseException:
        """Return why there will be no more."""
        return ended_error(self._query.exception())

    def stop(self) -> None:
        """Cut off the epoch under way, and wait for it."""
        self._query.stop()
