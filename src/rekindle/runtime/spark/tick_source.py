"""The heartbeat of a job: a streaming source of Spark's whose offset is a number that the job master raises.

A higher number starts an epoch, in which every slot with hosted sources is asked to poll them. Asked for the latest
number, the source waits for it to change: an idle job costs next to nothing, and a tick is seen within milliseconds.

Only the query needs this module, which no Spark before 4.0 can import; see ``tick_file`` for the number itself.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition

from rekindle.runtime.spark.tick_file import read_tick

NAME = "rekindle_tick"
_POLL_SECONDS = 0.005
_SCHEMA = pa.schema([("slot", pa.int32())])


class TickSource(DataSource):
    """Register the source with Spark. Options: ``path``, ``slots``, ``wait`` (seconds)."""

    @classmethod
    def name(cls) -> str:
        """Give the name of the format."""
        return NAME

    def schema(self) -> str:
        """Give the schema of a row."""
        return "slot int"

    def streamReader(self, schema: Any) -> TickReader:
        """Create the reader."""
        options = self.options
        return TickReader(options["path"], int(options["slots"]), float(options["wait"]))


class TickReader(DataSourceStreamReader):
    """Read ticks; one partition for each slot that has sources of its own, at least one."""

    def __init__(self, path: str, slots: int, wait: float) -> None:
        self._path = path
        self._slots = slots
        self._wait = wait
        self._latest = 0  # where Spark is, as far as it was told: an attempt begins at 0
        self._quiet = False

    def initialOffset(self) -> dict[str, int]:
        """Start before the first tick."""
        return {"tick": 0}

    def latestOffset(self, start: dict[str, int] | None = None, limit: Any = None) -> dict[str, int]:
        """Wait for the next tick, for a while.

        Args:
            start: Where Spark is. Before 4.2 it does not say; then it is where it was told to go.
            limit: How much to read; there is no less than a tick.
        """
        if not self._quiet:
            # This process serves nothing else, and Spark ends it by hanging up on it in the middle of a wait: nobody
            # wants to read the traceback of that.
            self._quiet = True
            nothing = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nothing, 2)
            os.close(nothing)
        now = self._latest if start is None else start["tick"]
        until = time.monotonic() + self._wait
        while (tick := read_tick(self._path)) == now and time.monotonic() < until:
            time.sleep(_POLL_SECONDS)
        self._latest = max(tick, now)
        return {"tick": self._latest}

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> list[InputPartition]:
        """Give a partition per slot that is to be polled."""
        return [InputPartition(slot) for slot in range(self._slots)] if start != end else []

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Name the slot."""
        yield pa.RecordBatch.from_pydict({"slot": [partition.value]}, schema=_SCHEMA)
