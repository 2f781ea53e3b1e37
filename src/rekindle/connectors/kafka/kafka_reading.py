"""Where the reading of topics begins and ends, for as long as a job runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from rekindle.connectors.kafka.topic_partition import from_json, to_json
from rekindle.graph.splits import Split
from rekindle.graph.transformations.split_sources import SplitReading


@dataclass(frozen=True)
class KafkaReading(SplitReading):
    """Hold the offsets between which topics are read.

    Attributes:
        begin: Where each partition begins.
        end: Where each partition ends; None: nowhere. Others that appear later are not read.
    """

    begin: Mapping[Split, int]
    end: Mapping[Split, int] | None = None

    @property
    def offsets(self) -> str:
        return to_json(self.begin)

    @property
    def ends(self) -> Mapping[Split, int] | None:
        return self.end

    @property
    def kept(self) -> bytes | None:
        return None if self.end is None else to_json(self.end).encode()

    def open_splits(self, before: str, after: str) -> list[Split]:
        known = sorted(from_json(after))
        if self.end is None:
            return known
        reached = from_json(before)
        return [split for split in known if reached.get(split, 0) < self.end.get(split, 0)]

    def ended(self, offsets: str) -> bool:
        reached = from_json(offsets)
        return self.end is not None and all(reached.get(split, 0) >= end for split, end in self.end.items())

    def within(self, offsets: str) -> str:
        end = self.end
        if end is None:
            return offsets
        reached = from_json(offsets).items()
        return to_json({split: min(offset, end[split]) for split, offset in reached if split in end})


def kept_ends(kept: bytes) -> dict[Split, int]:
    """Read the ends that a checkpoint keeps."""
    return from_json(kept.decode())
