"""A Kafka cluster as the driver sees it, in dictionaries."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from threading import Event
from typing import Any

from rekindle.exceptions import InvalidProgramError
from rekindle.graph.splits import Split


@dataclass
class FakeKafka:
    """Partitions with the timestamps of their records; the first offset that is kept; offsets of groups."""

    records: dict[Split, list[int]]
    first: dict[Split, int] = field(default_factory=dict)
    groups: dict[str, dict[Split, int]] = field(default_factory=dict)
    questions: int = 0
    open_clients: int = 0
    refuses_commits: bool = False
    answers: Event = field(default_factory=Event)

    def __post_init__(self) -> None:
        self.answers.set()

    def make_admin(self, session: Any, properties: Mapping[str, str]) -> FakeAdmin:
        self.open_clients += 1
        return FakeAdmin(self)


class FakeAdmin:
    """Answers as JvmKafkaAdmin does."""

    def __init__(self, kafka: FakeKafka) -> None:
        self.kafka = kafka

    def matching(self, pattern: str) -> set[str]:
        return {topic for topic, _ in self.kafka.records if re.fullmatch(pattern, topic)}

    def partitions(self, topics: Iterable[str]) -> list[Split]:
        wanted = set(topics)
        found = sorted(split for split in self.kafka.records if split[0] in wanted)
        if wanted - {topic for topic, _ in found}:
            raise InvalidProgramError("a topic is not there")
        return found

    def earliest(self, splits: Collection[Split]) -> dict[Split, int]:
        self.kafka.questions += 1
        return {split: self.kafka.first.get(split, 0) for split in splits if self.kafka.records[split] is not None}

    def latest(self, splits: Collection[Split]) -> dict[Split, int]:
        self.kafka.questions += 1
        return {split: len(self.kafka.records[split]) for split in splits}

    def at_timestamp(self, splits: Collection[Split], timestamp: int) -> dict[Split, int]:
        found = {}
        for split in splits:
            later = [offset for offset, stamp in enumerate(self.kafka.records[split]) if stamp >= timestamp]
            if later:
                found[split] = later[0]
        return found

    def committed(self, group: str, splits: Collection[Split]) -> dict[Split, int]:
        return {split: offset for split, offset in self.kafka.groups.get(group, {}).items() if split in splits}

    def commit(self, group: str, offsets: Mapping[Split, int]) -> None:
        assert self.kafka.answers.wait(30)
        if self.kafka.refuses_commits:
            raise RuntimeError("refused")
        self.kafka.groups[group] = dict(offsets)

    def close(self) -> None:
        self.kafka.open_clients -= 1
