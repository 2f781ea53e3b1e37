"""A partition of a topic, and offsets in partitions, as programs name them and as Spark's offset log does."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from rekindle.graph.splits import Split

__all__ = ["KafkaTopicPartition"]

Offsets = Mapping[Split, int]
"""Offsets by topic and partition."""


class KafkaTopicPartition:
    """A partition of a topic.

    Args:
        topic: The topic.
        partition: The number of the partition, counted from 0.
    """

    def __init__(self, topic: str, partition: int) -> None:
        if not isinstance(topic, str) or not topic:
            raise ValueError(f"KafkaTopicPartition takes the name of a topic, and was given {topic!r}")
        if type(partition) is not int or partition < 0:
            raise ValueError(f"KafkaTopicPartition takes the number of a partition, and was given {partition!r}")
        self._topic = topic
        self._partition = partition

    @property
    def split(self) -> Split:
        """Return topic and partition."""
        return self._topic, self._partition

    def __eq__(self, other: Any) -> bool:
        return isinstance(other, KafkaTopicPartition) and self.split == other.split

    def __hash__(self) -> int:
        return hash(self.split)

    def __repr__(self) -> str:
        return f"KafkaTopicPartition({self._topic!r}, {self._partition})"


def to_json(offsets: Offsets) -> str:
    """Write offsets as Spark's log has them: ``{"topic":{"0":23}}``."""
    topics: dict[str, dict[str, int]] = {}
    for (topic, partition), offset in sorted(offsets.items()):
        topics.setdefault(topic, {})[str(partition)] = offset
    return json.dumps(topics, separators=(",", ":"))


def from_json(text: str) -> dict[Split, int]:
    """Read offsets as Spark's log has them."""
    return {
        (topic, int(partition)): int(offset)
        for topic, partitions in json.loads(text).items()
        for partition, offset in partitions.items()
    }


def shown(splits: object) -> str:
    """Name partitions in a message: ``orders-0, orders-1``; many of them are cut short."""
    names = [f"{topic}-{partition}" for topic, partition in sorted(splits)]  # type: ignore[call-overload]
    return ", ".join(names[:10]) + (f" and {len(names) - 10} more" if len(names) > 10 else "")
