"""Where reading begins and ends: each rule, in range and out of it, and how it is kept."""

from __future__ import annotations

import logging
import threading
from typing import Any

import pytest

from rekindle.connectors.kafka import subscription
from rekindle.connectors.kafka.kafka_frame import KafkaFrame
from rekindle.connectors.kafka.kafka_reading import KafkaReading
from rekindle.connectors.kafka.offsets_initializer import begin_offsets, end_offsets
from rekindle.connectors.kafka.source_properties import KafkaProperties
from rekindle.connectors.kafka.topic_partition import from_json, to_json
from rekindle.datastream.connectors.kafka import (
    KafkaOffsetResetStrategy,
    KafkaOffsetsInitializer,
    KafkaTopicPartition,
)
from rekindle.exceptions import InvalidProgramError
from rekindle.graph.splits import Split
from support.fake_kafka_admin import FakeAdmin, FakeKafka
from support.processes import wait_until

A, B, C = ("a", 0), ("a", 1), ("b", 0)
EARLIEST, LATEST, NONE = (
    KafkaOffsetResetStrategy.EARLIEST,
    KafkaOffsetResetStrategy.LATEST,
    KafkaOffsetResetStrategy.NONE,
)
committed = KafkaOffsetsInitializer.committed_offsets


def kafka() -> FakeKafka:
    """Return a cluster in which A has lost its first two records, and the group has committed in A and B."""
    return FakeKafka(
        {A: [10, 20, 30, 40, 50], B: [10, 20, 30], C: []}, first={A: 2}, groups={"g": {A: 3, B: 1}, "old": {A: 1, B: 9}}
    )


def given(offsets: dict[Split, int], reset: KafkaOffsetResetStrategy = EARLIEST) -> KafkaOffsetsInitializer:
    return KafkaOffsetsInitializer.offsets({KafkaTopicPartition(*s): o for s, o in offsets.items()}, reset)


@pytest.mark.parametrize(
    ("initializer", "group", "expected"),
    [
        (KafkaOffsetsInitializer.earliest(), None, {A: 2, B: 0, C: 0}),
        (KafkaOffsetsInitializer.latest(), None, {A: 5, B: 3, C: 0}),
        (KafkaOffsetsInitializer.timestamp(30), None, {A: 2, B: 2, C: 0}),
        (KafkaOffsetsInitializer.timestamp(35), None, {A: 3, B: 3, C: 0}),
        (committed(EARLIEST), "g", {A: 3, B: 1, C: 0}),
        (committed(LATEST), "other", {A: 5, B: 3, C: 0}),
        (committed(EARLIEST), "old", {A: 2, B: 0, C: 0}),
        (committed(LATEST), "old", {A: 5, B: 3, C: 0}),
        (given({A: 4, B: 2, C: 0}, NONE), None, {A: 4, B: 2, C: 0}),
        (given({A: 4}), "g", {A: 4, B: 1, C: 0}),
        (given({A: 0, B: 7}), None, {A: 2, B: 0, C: 0}),
        (given({A: 0, B: 7}, LATEST), None, {A: 5, B: 3, C: 0}),
        (given({A: 5}), None, {A: 5, B: 0, C: 0}),
    ],
)
def test_reading_begins_where_the_initializer_says(
    initializer: KafkaOffsetsInitializer, group: str | None, expected: dict[Split, int]
) -> None:
    assert begin_offsets(initializer, FakeAdmin(kafka()), [A, B, C], group) == expected


@pytest.mark.parametrize(
    ("initializer", "group", "message"),
    [
        (committed(), "g", r"no offset to begin or end with in b-0: group 'g' has committed none.*NONE"),
        (given({A: 4, B: 2}, NONE), None, r"in b-0: the source has no group id"),
        (given({A: 1, B: 2, C: 0}, NONE), None, r"out of range in a-0 \(of the first: 1, not in 2 to 5\)"),
    ],
)
def test_without_a_reset_strategy_a_missing_offset_is_an_error(
    initializer: KafkaOffsetsInitializer, group: str | None, message: str
) -> None:
    with pytest.raises(InvalidProgramError, match=message):
        begin_offsets(initializer, FakeAdmin(kafka()), [A, B, C], group)


@pytest.mark.parametrize(
    ("initializer", "group", "expected"),
    [
        (KafkaOffsetsInitializer.latest(), None, {A: 5, B: 3, C: 0}),
        (KafkaOffsetsInitializer.timestamp(30), None, {A: 2, B: 2, C: 0}),
        (committed(LATEST), "g", {A: 3, B: 1, C: 0}),
        (given({A: 100, B: 2}, LATEST), None, {A: 100, B: 2, C: 0}),
    ],
)
def test_reading_ends_where_the_initializer_says_also_in_the_future(
    initializer: KafkaOffsetsInitializer, group: str | None, expected: dict[Split, int]
) -> None:
    assert end_offsets(initializer, FakeAdmin(kafka()), [A, B, C], group) == expected


def test_offsets_are_written_as_spark_writes_them() -> None:
    assert to_json({B: 7, A: 3, C: 0}) == '{"a":{"0":3,"1":7},"b":{"0":0}}'
    assert from_json('{"b":{"0":0},"a":{"1":7,"0":3}}') == {A: 3, B: 7, C: 0}
    assert from_json(to_json({})) == {}


def test_a_reading_ends_when_all_partitions_are_at_their_ends() -> None:
    reading = KafkaReading({A: 0, B: 0}, {A: 5, B: 3})
    assert not reading.ended(to_json({A: 5, B: 2}))
    assert reading.ended(to_json({A: 9, B: 3, C: 1}))
    assert reading.within(to_json({A: 9, B: 2, C: 4})) == to_json({A: 5, B: 2})  # nothing was read of the third
    assert reading.open_splits(to_json({A: 5, B: 2}), to_json({A: 8, B: 3, C: 1})) == [B]
    assert KafkaReading({A: 0}).open_splits(to_json({A: 0}), to_json({A: 1, C: 1})) == [A, C]
    assert not KafkaReading({A: 0}).ended(to_json({A: 1}))
    assert KafkaReading({}, {}).ended(to_json({}))


def frame(cluster: FakeKafka, stopping: KafkaOffsetsInitializer | None = None, **properties: str) -> KafkaFrame:
    given = {"bootstrap.servers": "host:1"} | {key.replace("_", "."): value for key, value in properties.items()}
    starting = KafkaOffsetsInitializer.latest()
    return KafkaFrame(
        subscription.pattern("a|new"), KafkaProperties(given), starting, stopping, ("value",), cluster.make_admin
    )


SESSION: Any = None


def committing() -> list[str]:
    return [thread.name for thread in threading.enumerate() if thread.name.startswith("kafka-offsets")]


def test_a_second_attempt_without_a_checkpoint_begins_and_ends_where_the_first_did() -> None:
    cluster = kafka()
    read = frame(cluster, KafkaOffsetsInitializer.latest())
    first = read.begin(SESSION, None, None)
    cluster.records[A] += [60, 70]
    assert read.begin(SESSION, None, None) == first
    assert first == KafkaReading({A: 5, B: 3}, {A: 5, B: 3})
    assert cluster.open_clients == 0


def test_each_job_of_a_program_finds_offsets_of_its_own() -> None:
    """One stream may be executed twice: the second job begins and ends where topics do then."""
    cluster = kafka()
    described = frame(cluster, KafkaOffsetsInitializer.latest(), group_id="mine")
    described.for_job().begin(SESSION, None, None)
    cluster.records[A] += [60, 70]
    read = described.for_job().begin(SESSION, None, None)
    assert read == KafkaReading({A: 7, B: 3}, {A: 7, B: 3})


def test_a_checkpoint_says_where_reading_goes_on_and_ends() -> None:
    cluster = kafka()
    kept = KafkaReading({}, {A: 4, B: 3, C: 9}).kept  # nobody would wait for C, which is not read any more
    cluster.records["new", 0] = [1, 2]
    cluster.first["new", 0] = 1
    read = frame(cluster, KafkaOffsetsInitializer.latest()).begin(SESSION, to_json({A: 3, B: 2, C: 0}), kept)
    assert read.begin == {A: 3, B: 2, ("new", 0): 1}  # C is not read any more, and what is new is read from its start
    assert read.ends == {A: 4, B: 3}


def test_a_program_that_has_become_bounded_ends_where_topics_do_now() -> None:
    read = frame(kafka(), KafkaOffsetsInitializer.latest()).begin(SESSION, to_json({A: 3, B: 2}), None)
    assert read.ends == {A: 5, B: 3}


def test_a_program_that_is_bounded_no_more_forgets_the_end() -> None:
    kept = KafkaReading({}, {A: 4, B: 3}).kept
    read = frame(kafka()).begin(SESSION, to_json({A: 3, B: 2}), kept)
    assert (read.ends, read.kept) == (None, None)


def test_completed_checkpoints_commit_the_newest_offsets_and_wait_for_nothing() -> None:
    cluster = kafka()
    cluster.answers.clear()
    read = frame(cluster, group_id="mine")
    read.begin(SESSION, None, None)
    for offset in range(5):
        read.checkpoint_completed(to_json({A: offset}))  # returns though nobody answers
    assert "mine" not in cluster.groups
    cluster.answers.set()
    wait_until(lambda: cluster.groups.get("mine") == {A: 4}, "the newest offsets are committed")
    wait_until(lambda: cluster.open_clients == 0, "clients are closed")


@pytest.mark.parametrize("properties", [{}, {"group_id": "mine", "commit_offsets_on_checkpoint": "false"}])
def test_nothing_is_committed_without_a_group_or_if_it_is_switched_off(properties: dict[str, str]) -> None:
    cluster = kafka()
    read = frame(cluster, **properties)
    read.begin(SESSION, None, None)
    read.checkpoint_completed(to_json({A: 1}))
    assert (cluster.open_clients, "mine" in cluster.groups) == (0, False)


def test_a_failed_commit_is_said_once(caplog: pytest.LogCaptureFixture) -> None:
    cluster = kafka()
    cluster.refuses_commits = True
    read = frame(cluster, group_id="mine")
    read.begin(SESSION, None, None)
    with caplog.at_level(logging.WARNING, "rekindle"):
        for offset in range(3):
            read.checkpoint_completed(to_json({A: offset}))
            wait_until(lambda: not committing(), "the commit has failed")
    assert len([record for record in caplog.records if "consumer group 'mine'" in record.getMessage()]) == 1
