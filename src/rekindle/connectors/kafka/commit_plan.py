"""Which transactions commit which committables. Pure: what is committed already is asked for elsewhere."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from rekindle.connectors.kafka.kafka_records import KafkaCommittable
from rekindle.connectors.lineage_hash import lineage_hash


@dataclass(frozen=True, slots=True)
class WriterCommits:
    """What is to be committed of one writer, in its order.

    Attributes:
        transactional_id: Under which it is committed, by whomever.
        commit_topic: The topic that says what is committed.
        writer: Its key there.
        committables: At least one.
    """

    transactional_id: str
    commit_topic: str
    writer: str
    committables: tuple[KafkaCommittable, ...]

    def after(self, number: int) -> WriterCommits | None:
        """Return what is left when all up to a number are committed; None: nothing."""
        left = tuple(committable for committable in self.committables if committable.number > number)
        return WriterCommits(self.transactional_id, self.commit_topic, self.writer, left) if left else None


def by_writer(committables: Iterable[KafkaCommittable]) -> list[WriterCommits]:
    """Return committables by the writer that prepared them; writers in the order of their first."""
    found: dict[tuple[str, str, str], dict[int, KafkaCommittable]] = {}
    for committable in committables:
        key = (committable.transactional_id, committable.commit_topic, committable.writer)
        found.setdefault(key, {})[committable.number] = committable
    return [
        WriterCommits(*key, tuple(numbered[number] for number in sorted(numbered))) for key, numbered in found.items()
    ]


def in_transactions(
    committables: Iterable[KafkaCommittable], transaction_bytes: int
) -> Iterator[list[KafkaCommittable]]:
    """Split what is to be committed into transactions of a bounded size; none is empty."""
    group: list[KafkaCommittable] = []
    size = 0
    for committable in committables:
        length = memoryview(committable.records).nbytes
        if group and size + length > transaction_bytes:
            yield group
            group, size = [], 0
        group.append(committable)
        size += length
    if group:
        yield group


def transactional_id(prefix: str, lineage: str, subtask: int) -> str:
    """Return the transactional id of a subtask: the same after restarts and restores."""
    return f"{prefix}-{lineage_hash(lineage)}-{subtask}"
