"""What a Kafka source reads: topics, those that match a pattern, or given partitions."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass

from rekindle.connectors.kafka.kafka_admin import KafkaAdmin
from rekindle.graph.splits import Split


@dataclass(frozen=True, slots=True)
class Subscription:
    """Say what is read.

    Attributes:
        option: How Spark's connector calls the way it is said.
        value: What that option is.
        splits: Finds the partitions that there are.
    """

    option: str
    value: str
    splits: Callable[[KafkaAdmin], list[Split]]


def topics(names: tuple[str, ...]) -> Subscription:
    """Read topics, which must be there."""
    return Subscription("subscribe", ",".join(names), lambda admin: admin.partitions(names))


def pattern(expression: str) -> Subscription:
    """Read all topics whose names match a pattern of Java's, those that are created later, too."""
    return Subscription(
        "subscribePattern", expression, lambda admin: admin.partitions(sorted(admin.matching(expression)))
    )


def partitions(splits: set[Split]) -> Subscription:
    """Read given partitions, which must be there."""
    by_topic: dict[str, list[int]] = {}
    for topic, partition in sorted(splits):
        by_topic.setdefault(topic, []).append(partition)

    def found(admin: KafkaAdmin) -> list[Split]:
        admin.earliest(splits)  # refuses those that are not there
        return sorted(splits)

    return Subscription("assign", json.dumps(by_topic), found)
