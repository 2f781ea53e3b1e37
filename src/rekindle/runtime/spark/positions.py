"""Where Spark's sources stand: read from Spark's own checkpoint directory, or written into one to start there.

That directory is scratch. The truth about positions is in Rekindle's checkpoints, and every attempt writes the
directory afresh: batch 0 is "done" and ends at the restored positions, so Spark goes on with batch 1 from there.
"""

from __future__ import annotations

import json
import os
import uuid
from collections.abc import Mapping
from dataclasses import dataclass

from rekindle.checkpoint.metadata import SourceLog, SourcePosition
from rekindle.exceptions import CheckpointCorruptError, StateRestoreError
from rekindle.runtime.spark.epoch_query import FIRST_TICK

_NO_OFFSET = "-"


@dataclass(frozen=True, slots=True)
class SourceLayout:
    """Say which lines of an offset log belong to a DataFrame: ``first`` to ``first + count - 1``."""

    uid: str
    first: int
    count: int


class SparkScratch:
    """Manage Spark's checkpoint directory of one attempt. The tick is always the last source.

    Without a source of Spark's there is no query, and nothing in the directory.
    """

    def __init__(self, directory: str, layout: tuple[SourceLayout, ...]) -> None:
        self.directory = directory
        self._layout = layout
        self._sources = sum(source.count for source in layout)

    def prepare(self, positions: Mapping[str, SourcePosition], now: int) -> None:
        """Write a directory from which Spark starts at the given positions, and at its own beginning elsewhere."""
        if not self._layout:
            return
        for name in ("offsets", "commits", "sources"):
            os.makedirs(os.path.join(self.directory, name))
        self._write("metadata", json.dumps({"id": str(uuid.uuid4())}))
        lines = [_NO_OFFSET] * self._sources
        for source in self._layout:
            position = positions.get(source.uid)
            if position is None or not position.offsets:
                continue
            if len(position.offsets) != source.count:
                raise StateRestoreError(
                    f"source {source.uid!r} reads {source.count} streams, and in the checkpoint it was "
                    f"{len(position.offsets)}; give the changed source another uid"
                )
            lines[source.first : source.first + source.count] = position.offsets
            for log in position.logs:
                self._write_log(source.first + log.source, log)
        head = {"batchWatermarkMs": 0, "batchTimestampMs": now, "conf": {"spark.sql.shuffle.partitions": "1"}}
        self._write("offsets/0", "\n".join(["v1", json.dumps(head), *lines, FIRST_TICK]))
        self._write("commits/0", 'v1\n{"nextBatchWatermarkMs":0}')

    def offset(self, uid: str, batch: int) -> str:
        """Return the end of a batch in the only stream inside a source."""
        (line,) = (source.first for source in self._layout if source.uid == uid)
        return self._offsets(batch)[line]

    def positions(self, batch: int) -> list[SourcePosition]:
        """Read where every source stands at the end of a batch."""
        if not self._layout:
            return []
        lines = self._offsets(batch)
        return [
            SourcePosition(
                source.uid,
                [] if all(line == _NO_OFFSET for line in own) else own,
                [log for i in range(source.count) if (log := self._read_log(source.first + i, i)).files],
            )
            for source in self._layout
            for own in (lines[source.first : source.first + source.count],)
        ]

    def moved(self, batch: int) -> set[str]:
        """Return which sources got records in a batch, by uid."""
        if not self._layout:
            return set()
        now, before = self._offsets(batch), self._offsets(batch - 1)
        return {
            source.uid
            for source in self._layout
            for line in range(source.first, source.first + source.count)
            if now[line] != before[line]
        }

    def ticked(self, batch: int) -> bool:
        """Return whether the tick was raised before a batch."""
        return self._offsets(batch)[-1] != self._offsets(batch - 1)[-1]

    def _offsets(self, batch: int) -> list[str]:
        path = os.path.join(self.directory, "offsets", str(batch))
        with open(path, encoding="utf-8") as file:
            version, _, *lines = file.read().split("\n")
        if version != "v1" or len(lines) != self._sources + 1:
            raise CheckpointCorruptError(
                f"Spark's offset log {path} has version {version!r} and {len(lines)} sources; v1 and "
                f"{self._sources + 1} were expected. Leave spark.sql.streaming.offsetLog.formatVersion at 1"
            )
        return lines

    def _read_log(self, index: int, source: int) -> SourceLog:
        directory = os.path.join(self.directory, "sources", str(index))
        files: dict[str, bytes] = {}
        if os.path.isdir(directory):
            names = [name for name in os.listdir(directory) if not name.startswith(".") and ".tmp" not in name]
            for name in _needed(names):
                with open(os.path.join(directory, name), "rb") as file:
                    files[name] = file.read()
        return SourceLog(source, files)

    def _write_log(self, index: int, log: SourceLog) -> None:
        directory = os.path.join(self.directory, "sources", str(index))
        os.makedirs(directory, exist_ok=True)
        for name, data in log.files.items():
            with open(os.path.join(directory, name), "wb") as file:
                file.write(data)

    def _write(self, name: str, text: str) -> None:
        with open(os.path.join(self.directory, name), "w", encoding="utf-8") as file:
            file.write(text)


def _needed(names: list[str]) -> list[str]:
    """Leave out what the newest compacted log file covers."""
    compacted = max((int(name.split(".")[0]) for name in names if name.endswith(".compact")), default=-1)
    return [
        name
        for name in names
        if not name.split(".")[0].isdigit() or int(name.split(".")[0]) > compacted or name == f"{compacted}.compact"
    ]
