"""What a Kafka sink writes is there once, whatever is killed: writers, the broker, at each step of a commit."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec
import pytest
from confluent_kafka import Producer

from rekindle.connectors.kafka import exactly_once_writer, kafka_transactions
from rekindle.connectors.kafka.commit_markers import DEFAULT_COMMIT_TOPIC, CommitMarkers, encode_marker, partition_of
from rekindle.connectors.kafka.kafka_clients import KafkaClientError, KafkaClients
from rekindle.connectors.kafka.kafka_records import decode_committable
from rekindle.connectors.kafka.kafka_transactions import KafkaFencedError
from rekindle.contracts.connectors import SinkWriter
from rekindle.datastream.connectors import DeliveryGuarantee
from rekindle.exceptions import OutputLostError
from support.driver import python_path
from support.kafka_writers import Writers, context, kafka_sink
from support.seeds import SEED
from support.services.kafka import Broker

PROGRAM = Path(__file__).parents[1] / "support" / "programs" / "kafka_commit.py"
PARTITIONS = 3


@pytest.fixture
def topic(kafka: Broker) -> str:
    name = f"sink-{uuid.uuid4().hex[:8]}"
    kafka.create_topic(name, PARTITIONS)
    return name


@pytest.fixture
def writers(kafka: Broker, topic: str) -> Iterator[Writers]:
    opened = Writers(kafka.bootstrap_servers, topic)
    yield opened
    opened.close()


def records(name: str, count: int = 100) -> list[str]:
    return [f"k{number % 7}:{name}-{number:05}" for number in range(count)]


def prepared(writer: SinkWriter, values: list[str], checkpoint: int = 1) -> list[bytes]:
    writer.write(values, None)
    return writer.prepare_commit(checkpoint)


def assert_holds(kafka: Broker, topic: str, *runs: list[str]) -> None:
    """Require that a topic holds all records once, and those of a key in their order."""
    found = [record.value.decode() for record in kafka.consume_committed(topic) if record.value is not None]
    expected = [value for run in runs for value in run]
    assert sorted(found) == sorted(expected)
    for run in runs:
        for key in {value.partition(":")[0] for value in run}:
            own = [value for value in run if value.startswith(f"{key}:")]
            assert [value for value in found if value in set(own)] == own


# --- what is seen, and when ---


def test_a_commit_waits_for_room_in_the_queue_of_the_client(kafka: Broker, topic: str, writers: Writers) -> None:
    writer = writers.open(change=lambda builder: builder.set_property("queue.buffering.max.messages", "1"))
    writer.commit(prepared(writer, records("a", 5)))
    assert_holds(kafka, topic, records("a", 5))


@pytest.mark.parametrize("problem", ["missing", "too large"])
def test_what_kafka_does_not_take_is_said_with_its_topic(kafka: Broker, problem: str) -> None:
    name = f"refusing-{uuid.uuid4().hex[:8]}"
    if problem == "too large":
        kafka.create_topic(name, 1, {"max.message.bytes": "1000"})
    opened = Writers(kafka.bootstrap_servers, name)
    writer = opened.open(change=lambda builder: builder.set_property("topic.metadata.propagation.max.ms", "100"))
    with pytest.raises(KafkaClientError, match=f"topic '{name}'"):
        writer.commit(prepared(writer, ["k:" + "x" * 5000]))
    opened.close()


def test_nothing_is_seen_before_the_checkpoint_is_complete(kafka: Broker, topic: str, writers: Writers) -> None:
    writer = writers.open()
    committables = prepared(writer, records("a"))
    assert kafka.consume_uncommitted(topic) == []
    writer.commit(committables)
    assert_holds(kafka, topic, records("a"))


def test_checkpoints_are_committed_one_by_one_and_together(kafka: Broker, topic: str, writers: Writers) -> None:
    writer = writers.open()
    runs = [records(name, 20) for name in "abcd"]
    first, *others = [prepared(writer, run, number) for number, run in enumerate(runs)]
    writer.commit(first)
    writer.commit([committable for committables in others for committable in committables])
    assert_holds(kafka, topic, *runs)


def test_a_checkpoint_without_records_needs_no_transaction(kafka: Broker, topic: str, writers: Writers) -> None:
    writer = writers.open()
    before = kafka.end_offsets(DEFAULT_COMMIT_TOPIC)
    assert writer.prepare_commit(1) == []
    writer.commit([])
    assert kafka.end_offsets(DEFAULT_COMMIT_TOPIC) == before
    assert kafka.end_offsets(topic) == dict.fromkeys(range(PARTITIONS), 0)


def test_the_commit_topic_is_compacted(kafka: Broker, writers: Writers) -> None:
    writers.open()
    assert kafka.topic_setting(DEFAULT_COMMIT_TOPIC, "cleanup.policy") == "compact"
    forgetful = f"commits-{uuid.uuid4().hex[:8]}"
    kafka.create_topic(forgetful, 8, {"cleanup.policy": "delete"})
    with pytest.raises(KafkaClientError, match=r"cleanup\.policy 'delete'"):
        writers.open(change=lambda builder: builder.set_commit_topic(forgetful))


def test_timestamps_and_headers_arrive(kafka: Broker, topic: str) -> None:
    for guarantee in DeliveryGuarantee:
        builder = kafka_sink(kafka.bootstrap_servers, topic, guarantee)
        assert builder._serializer is not None
        builder._serializer._header_provider = lambda value: [("who", value.encode()), ("no", None)]
        writer = builder.build().create_writer(context(topic))
        writer.abort_leftovers()
        writer.write([f"k:{guarantee.name}"], [1_700_000_000_123])
        writer.commit(writer.prepare_commit(1))
        writer.close()
    found = kafka.consume_committed(topic)
    assert {record.timestamp for record in found} == {1_700_000_000_123}
    assert [record.headers for record in found] == [(("who", record.value), ("no", None)) for record in found]
    assert len(found) == 3


def test_keys_go_where_javas_producer_puts_them(kafka: Broker, topic: str, writers: Writers) -> None:
    run = [f"{key}:1" for key in ("", "a", "key", "grüße", "0123456789abcdef", *(f"user-{n}" for n in range(40)))]
    writer = writers.open()
    writer.commit(prepared(writer, run))
    ours = {record.key: record.partition for record in kafka.consume_committed(topic)}
    other = f"{topic}-java"
    kafka.create_topic(other, PARTITIONS)
    kafka.produce_with_java(other, [(value.partition(":")[0], value) for value in run])
    javas = {record.key: record.partition for record in kafka.consume_committed(other)}
    assert ours == javas
    assert len(set(ours.values())) == PARTITIONS


# --- commits that are repeated ---

STEPS = [
    "while markers are read",
    "before init_transactions",
    "after init_transactions",
    "after begin_transaction",
    "in the middle of the records",
    "before the marker",
    "after the marker",
    "after commit_transaction",
    *(f"during commit_transaction {random.Random(f'{SEED}-{n}').uniform(0, 0.02):.4f}" for n in range(2)),
]


@pytest.mark.parametrize("step", STEPS)
def test_a_process_killed_at_any_step_of_a_commit_loses_and_doubles_nothing(
    step: str, kafka: Broker, topic: str, writers: Writers, tmp_path: Path
) -> None:
    committables = prepared(writers.open(), records("a"))
    (tmp_path / "committables").write_bytes(msgspec.msgpack.encode(committables))
    arguments = [kafka.bootstrap_servers, topic, writers.lineage, str(tmp_path / "committables"), step]
    environment = {**os.environ, "PYTHONPATH": python_path(PROGRAM.parents[2])}
    command = [sys.executable, str(PROGRAM), *arguments]
    child = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=60)
    assert child.returncode == -9, child.stdout + child.stderr
    seen = kafka.consume_committed(topic)
    assert len(seen) in (0, 100)
    if step == "after commit_transaction":
        assert len(seen) == 100
    elif not step.startswith("during"):
        assert seen == []
    writer = writers.open(committables)
    assert_holds(kafka, topic, records("a"))
    writer.commit(committables)  # and once more
    writer.commit(prepared(writer, records("b"), 2))
    assert_holds(kafka, topic, records("a"), records("b"))


def test_a_zombie_commits_nothing_after_its_successor_has_begun(kafka: Broker, topic: str, writers: Writers) -> None:
    zombie = writers.open()
    committables = prepared(zombie, records("a"))
    later = prepared(zombie, records("never"), 2)
    successor = writers.open(committables)
    with pytest.raises(KafkaFencedError):
        zombie.commit(committables)
    with pytest.raises(KafkaFencedError):  # nor does it come back
        zombie.commit(later)
    successor.commit(prepared(successor, records("b"), 2))
    assert_holds(kafka, topic, records("a"), records("b"))


def test_a_zombie_that_takes_over_late_finds_what_its_successor_committed(
    kafka: Broker, topic: str, writers: Writers
) -> None:
    zombie = writers.create()  # it never came as far as init_transactions
    committables = prepared(zombie, records("a"))
    writers.open(committables)
    zombie.commit(committables)
    assert_holds(kafka, topic, records("a"))


def test_of_two_that_commit_the_same_at_once_one_does(kafka: Broker, topic: str, writers: Writers) -> None:
    rng = random.Random(SEED)
    runs = []
    for round_number in range(6):
        run = records(f"r{round_number}", 30)
        runs.append(run)
        old = writers.open()
        committables = prepared(old, run)
        new = writers.create()
        start = threading.Barrier(2)
        delays = [rng.uniform(0, 0.02), rng.uniform(0, 0.02)]

        def commit(
            writer: SinkWriter, delay: float, start: threading.Barrier = start, what: list[bytes] = committables
        ) -> bool:
            start.wait()
            threading.Event().wait(delay)
            try:
                writer.commit(what)
            except KafkaClientError:
                return False
            return True

        with ThreadPoolExecutor(2) as pool:
            done = list(pool.map(commit, (old, new), delays))
        if not any(done):
            writers.open(committables)
    assert_holds(kafka, topic, *runs)


def test_committables_of_other_subtasks_are_committed_once_after_a_rescale(
    kafka: Broker, topic: str, writers: Writers
) -> None:
    old = [writers.open(subtask=subtask, parallelism=3) for subtask in range(3)]
    runs = [records(f"s{subtask}") for subtask in range(3)]
    committables = [prepared(writer, run) for writer, run in zip(old, runs, strict=True)]
    old[1].commit(committables[1])  # one of them came as far as that
    new = writers.open([one for several in committables for one in several])
    for zombie, several in ((old[0], committables[0]), (old[2], committables[2])):
        with pytest.raises(KafkaFencedError):
            zombie.commit(several)
    new.commit(prepared(new, records("new"), 2))
    assert_holds(kafka, topic, *runs, records("new"))
    again = [writers.open(committables[subtask], subtask, 3) for subtask in range(3)]
    again[2].commit(prepared(again[2], records("later"), 3))
    assert_holds(kafka, topic, *runs, records("new"), records("later"))


def test_a_job_that_goes_back_to_an_older_savepoint_writes_on(kafka: Broker, topic: str, writers: Writers) -> None:
    first = writers.open()
    savepoint = prepared(first, records("a"))
    first.commit(savepoint)
    for number in range(5):
        first.commit(prepared(first, records(f"b{number}", 10), 2 + number))
    second = writers.open(savepoint)
    second.commit(prepared(second, records("c"), 2))  # numbers that the first one has had
    assert_holds(kafka, topic, records("a"), *(records(f"b{number}", 10) for number in range(5)), records("c"))


def test_two_jobs_from_one_savepoint_run_side_by_side_with_different_prefixes(
    kafka: Broker, topic: str, writers: Writers
) -> None:
    first = writers.open()
    savepoint = prepared(first, records("a"))
    first.commit(savepoint)
    second = writers.open(savepoint, change=lambda builder: builder.set_transactional_id_prefix("other"))
    second.commit(prepared(second, records("c"), 2))
    first.commit(prepared(first, records("b"), 2))
    assert_holds(kafka, topic, records("a"), records("b"), records("c"))


def test_much_is_committed_in_several_transactions_and_goes_on_where_it_stopped(
    kafka: Broker, topic: str, writers: Writers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exactly_once_writer, "PIECE_BYTES", 2000)
    monkeypatch.setattr(kafka_transactions, "TRANSACTION_BYTES", 5000)
    writer = writers.open()
    for start in range(0, 1000, 50):
        writer.write(records("a", 1000)[start : start + 50], None)
    committables = writer.prepare_commit(1)
    assert len(committables) > 6
    transactions = []
    commit_once = kafka_transactions.KafkaTransactions._commit_once

    def commit(self: object, name: str, group: list, deadline: float) -> None:
        transactions.append(len(group))
        if len(transactions) == 3:
            raise ConnectionError("lost in the middle")
        commit_once(self, name, group, deadline)  # type: ignore[arg-type]

    monkeypatch.setattr(kafka_transactions.KafkaTransactions, "_commit_once", commit)
    with pytest.raises(ConnectionError):
        writer.commit(committables)
    seen = len(kafka.consume_committed(topic))
    assert 0 < seen < 1000
    writers.open(committables)
    assert len(transactions) > 3
    assert_holds(kafka, topic, records("a", 1000))


def test_a_marker_behind_an_open_transaction_is_waited_for(kafka: Broker, topic: str, writers: Writers) -> None:
    writer = writers.open()
    committables = prepared(writer, records("a"))
    name = decode_committable(committables[0]).writer
    with Producer(kafka.client_settings(transactional_id=f"other-{topic}")) as other:
        other.init_transactions(30)
        other.begin_transaction()
        other.produce(DEFAULT_COMMIT_TOPIC, encode_marker(1), b"somebody", partition_of(name))
        other.flush(30)
        writer.commit(committables)
        markers = CommitMarkers(KafkaClients({"bootstrap.servers": kafka.bootstrap_servers}), DEFAULT_COMMIT_TOPIC)
        with ThreadPoolExecutor(1) as pool:
            answer = pool.submit(markers.committed, name, time.monotonic() + 60)
            with pytest.raises(TimeoutError):  # without the wait it takes a tenth of that, and is wrong
                answer.result(1.0)
            other.commit_transaction(30)
            assert answer.result(30) == 1


# --- the broker fails ---


def test_a_broker_killed_in_the_middle_of_commits_loses_and_doubles_nothing(
    kafka: Broker, topic: str, writers: Writers
) -> None:
    rng = random.Random(SEED)
    delay = rng.uniform(0, 0.3)
    writer = writers.open()
    runs = [records(f"r{number}", 200) for number in range(40)]
    committed = threading.Event()

    def commit_all() -> None:
        for number, run in enumerate(runs):
            writer.commit(prepared(writer, run, number))
            committed.set()

    with ThreadPoolExecutor(1) as pool:
        done = pool.submit(commit_all)
        assert committed.wait(30)
        threading.Event().wait(delay)
        kafka.restart()
        done.result(90)
    assert_holds(kafka, topic, *runs)


def test_what_a_broker_that_is_down_did_not_take_is_committed_later(
    kafka: Broker, topic: str, writers: Writers
) -> None:
    def impatient(builder: object) -> None:
        builder.set_property("delivery.timeout.ms", "2000")  # type: ignore[attr-defined]

    exactly = writers.open(change=impatient)
    builder = kafka_sink(kafka.bootstrap_servers, topic, DeliveryGuarantee.AT_LEAST_ONCE)
    impatient(builder)
    at_least = builder.build().create_writer(context(topic))
    at_least.write(records("b"), None)
    assert at_least.prepare_commit(1) == []
    assert_holds(kafka, topic, records("b"))
    committables = prepared(exactly, records("a"))
    kafka.kill()
    try:
        with pytest.raises(KafkaClientError, match="They are in the checkpoint"):
            exactly.commit(committables)
        at_least.write(records("c"), None)
        with pytest.raises(OutputLostError, match="100 records did not reach Kafka"):
            at_least.prepare_commit(2)
    finally:
        kafka.start()
    at_least.close()
    writers.open(committables)
    found = [record.value.decode() for record in kafka.consume_committed(topic) if record.value is not None]
    assert sorted(value for value in found if "c-" not in value) == sorted(records("a") + records("b"))
