"""Where the reading of topics begins, and where it ends: what programs say, and the offsets that follow from it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from enum import Enum

from rekindle.connectors.kafka.kafka_admin import KafkaAdmin
from rekindle.connectors.kafka.topic_partition import KafkaTopicPartition, shown
from rekindle.exceptions import InvalidProgramError
from rekindle.graph.splits import Split

__all__ = ["KafkaOffsetResetStrategy", "KafkaOffsetsInitializer"]


class KafkaOffsetResetStrategy(Enum):
    """Names what is done where there is no offset, or none in range."""

    LATEST = 0
    EARLIEST = 1
    NONE = 2


class Rule(Enum):
    """Names the ways in which offsets are found."""

    EARLIEST = "earliest"
    LATEST = "latest"
    TIMESTAMP = "timestamp"
    COMMITTED = "committed"
    GIVEN = "given"


@dataclass(frozen=True)
class KafkaOffsetsInitializer:
    """Where to begin, or to end, in each partition; made by its static methods.

    Attributes:
        rule: How the offsets are found.
        at: The timestamp, if that is the rule.
        given: The offsets that the program gives.
        reset: What to do where there is none.
    """

    rule: Rule
    at: int = 0
    given: Mapping[Split, int] | None = None
    reset: KafkaOffsetResetStrategy = KafkaOffsetResetStrategy.NONE

    @staticmethod
    def committed_offsets(
        offset_reset_strategy: KafkaOffsetResetStrategy = KafkaOffsetResetStrategy.NONE,
    ) -> KafkaOffsetsInitializer:
        """Return the offsets that the consumer group has committed.

        Args:
            offset_reset_strategy: What to do in partitions where it has committed none, or one that is out of range.
        """
        return KafkaOffsetsInitializer(Rule.COMMITTED, reset=_strategy(offset_reset_strategy))

    @staticmethod
    def timestamp(timestamp: int) -> KafkaOffsetsInitializer:
        """Return the first record of each partition at or after a time; its end where there is none.

        Args:
            timestamp: Milliseconds since the epoch, compared with the timestamps of records.
        """
        if type(timestamp) is not int or timestamp < 0:
            raise ValueError(f"timestamp() takes milliseconds since the epoch, and was given {timestamp!r}")
        return KafkaOffsetsInitializer(Rule.TIMESTAMP, at=timestamp)

    @staticmethod
    def earliest() -> KafkaOffsetsInitializer:
        """Return the first record that there is in each partition."""
        return KafkaOffsetsInitializer(Rule.EARLIEST)

    @staticmethod
    def latest() -> KafkaOffsetsInitializer:
        """Return the end of each partition, as it is when the job starts."""
        return KafkaOffsetsInitializer(Rule.LATEST)

    @staticmethod
    def offsets(
        offsets: dict[KafkaTopicPartition, int],
        offset_reset_strategy: KafkaOffsetResetStrategy = KafkaOffsetResetStrategy.EARLIEST,
    ) -> KafkaOffsetsInitializer:
        """Return given offsets; in other partitions those that the consumer group has committed.

        Args:
            offsets: The offset in each partition.
            offset_reset_strategy: What to do where an offset is out of range, or where there is none.
        """
        for partition, offset in offsets.items():
            if not isinstance(partition, KafkaTopicPartition):
                raise TypeError(f"offsets() takes them by KafkaTopicPartition, and was given {partition!r}")
            if type(offset) is not int or offset < 0:
                raise ValueError(f"the offset of {partition!r} must be 0 or more, and {offset!r} was given")
        given = {partition.split: offset for partition, offset in offsets.items()}
        return KafkaOffsetsInitializer(Rule.GIVEN, given=given, reset=_strategy(offset_reset_strategy))


def begin_offsets(
    initializer: KafkaOffsetsInitializer, admin: KafkaAdmin, splits: Collection[Split], group: str | None
) -> dict[Split, int]:
    """Find out where the reading of partitions begins.

    Raises:
        InvalidProgramError: There is no offset in a partition, or none in range, and the program says not to reset it.
    """
    if initializer.rule not in (Rule.COMMITTED, Rule.GIVEN):
        return _found(initializer, admin, splits)
    found = _named(initializer, admin, splits, group)
    earliest, latest = admin.earliest(splits), admin.latest(splits)
    usable = {s: offset for s, offset in found.items() if earliest[s] <= offset <= latest[s]}
    return usable | _reset(initializer, {s: found.get(s) for s in splits if s not in usable}, earliest, latest, group)


def end_offsets(
    initializer: KafkaOffsetsInitializer, admin: KafkaAdmin, splits: Collection[Split], group: str | None
) -> dict[Split, int]:
    """Find out where the reading of partitions ends: a given offset may be one that is yet to come.

    Raises:
        InvalidProgramError: There is no offset in a partition, and the program says not to reset it.
    """
    if initializer.rule not in (Rule.COMMITTED, Rule.GIVEN):
        return _found(initializer, admin, splits)
    found = _named(initializer, admin, splits, group)
    missing = {split: None for split in splits if split not in found}
    return found | _reset(initializer, missing, admin.earliest(missing), admin.latest(missing), group)


def _found(initializer: KafkaOffsetsInitializer, admin: KafkaAdmin, splits: Collection[Split]) -> dict[Split, int]:
    match initializer.rule:
        case Rule.EARLIEST:
            return admin.earliest(splits)
        case Rule.LATEST:
            return admin.latest(splits)
        case _:
            return admin.latest(splits) | admin.at_timestamp(splits, initializer.at)


def _named(
    initializer: KafkaOffsetsInitializer, admin: KafkaAdmin, splits: Collection[Split], group: str | None
) -> dict[Split, int]:
    given = {split: offset for split, offset in (initializer.given or {}).items() if split in splits}
    others = [split for split in splits if split not in given]
    return given if group is None or not others else given | admin.committed(group, others)


def _reset(
    initializer: KafkaOffsetsInitializer,
    unusable: Mapping[Split, int | None],
    earliest: Mapping[Split, int],
    latest: Mapping[Split, int],
    group: str | None,
) -> dict[Split, int]:
    if not unusable:
        return {}
    match initializer.reset:
        case KafkaOffsetResetStrategy.EARLIEST:
            return {split: earliest[split] for split in unusable}
        case KafkaOffsetResetStrategy.LATEST:
            return {split: latest[split] for split in unusable}
    missing = [split for split, offset in unusable.items() if offset is None]
    if missing:
        whose = "the source has no group id" if group is None else f"group {group!r} has committed none"
        raise InvalidProgramError(
            f"there is no offset to begin or end with in {shown(missing)}: {whose}, and the offset reset strategy is "
            "NONE. Give KafkaOffsetResetStrategy.EARLIEST or LATEST"
        )
    ranges = {s: f"{offset}, not in {earliest[s]} to {latest[s]}" for s, offset in unusable.items()}
    raise InvalidProgramError(
        f"offsets are out of range in {shown(unusable)} (of the first: {ranges[min(ranges)]}), and the offset reset "
        "strategy is NONE. Give KafkaOffsetResetStrategy.EARLIEST or LATEST"
    )


def _strategy(strategy: KafkaOffsetResetStrategy) -> KafkaOffsetResetStrategy:
    if not isinstance(strategy, KafkaOffsetResetStrategy):
        raise TypeError(f"an offset reset strategy is given as KafkaOffsetResetStrategy, got {strategy!r}")
    return strategy
