"""The streams of an attempt that are read in splits: where each began, how far it is, and whether it has ended."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import SparkSession

from rekindle.checkpoint.metadata import SourceLog, SourcePosition
from rekindle.graph.splits import Split
from rekindle.graph.transformations.split_sources import SplitFrame, SplitReading
from rekindle.runtime.exchange.split_routes import SplitEnds
from rekindle.runtime.spark.positions import SparkScratch

_KEPT = "rekindle-ends"  # among the files of Spark's source, which are part of its position; Spark's own are numbers


class SplitReadings:
    """Follow the streams that are read in splits.

    Args:
        frames: The streams, by uid.
    """

    def __init__(self, frames: Mapping[str, SplitFrame]) -> None:
        self._frames = frames
        self._readings: dict[str, SplitReading] = {}

    def begin(self, session: SparkSession, positions: Mapping[str, SourcePosition]) -> dict[str, SourcePosition]:
        """Settle where streams begin and end; return their positions together with the others."""
        begun = dict(positions)
        for uid, frame in self._frames.items():
            restored = positions.get(uid)
            offsets, kept = (None, None) if restored is None else (_offsets(restored), _kept(restored))
            reading = self._readings[uid] = frame.begin(session, offsets, kept)
            logs = [] if reading.kept is None else [SourceLog(0, {_KEPT: reading.kept})]
            begun[uid] = SourcePosition(uid, [reading.offsets], logs)
        return begun

    @property
    def ends(self) -> dict[str, SplitEnds]:
        """Return where the splits of streams end, by uid."""
        return {uid: SplitEnds(r.ends) for uid, r in self._readings.items() if r.ends is not None}

    @property
    def delimited(self) -> set[str]:
        """Return the streams that end, by uid."""
        return {uid for uid, reading in self._readings.items() if reading.ends is not None}

    def ended(self, scratch: SparkScratch, epoch: int) -> set[str]:
        """Return the streams that are at their end with an epoch, by uid."""
        return {uid for uid in self.delimited if self._readings[uid].ended(scratch.offset(uid, epoch))}

    def splits(self, scratch: SparkScratch, epoch: int) -> dict[str, list[Split]]:
        """Return the splits that may have records in an epoch, by uid."""
        return {
            uid: reading.open_splits(scratch.offset(uid, epoch - 1), scratch.offset(uid, epoch))
            for uid, reading in self._readings.items()
        }

    def within_ends(self, position: SourcePosition) -> SourcePosition:
        """Return a position that is not past the end of its stream."""
        reading = self._readings.get(position.uid)
        if reading is None or not position.offsets:
            return position
        return SourcePosition(position.uid, [reading.within(position.offsets[0])], position.logs, position.consumed)


def _offsets(position: SourcePosition) -> str | None:
    return position.offsets[0] if position.offsets else None


def _kept(position: SourcePosition) -> bytes | None:
    return next((log.files[_KEPT] for log in position.logs if _KEPT in log.files), None)
