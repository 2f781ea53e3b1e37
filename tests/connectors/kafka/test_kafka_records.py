"""Records are kept in a checkpoint in columns, and come out as they went in."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rekindle.connectors.kafka.commit_plan import by_writer, in_transactions, transactional_id
from rekindle.connectors.kafka.exactly_once_writer import require_size
from rekindle.connectors.kafka.kafka_records import (
    KafkaCommittable,
    PendingRecords,
    RecordBatch,
    decode_committable,
    encode_batches,
)
from rekindle.connectors.lineage_hash import lineage_hash
from rekindle.exceptions import RecordTooLargeError, StateRestoreError

TEXTS = st.none() | st.binary(max_size=20)


@st.composite
def batches(draw: st.DrawFn) -> RecordBatch:
    count = draw(st.integers(1, 5))

    def column(item: st.SearchStrategy) -> list | None:
        return draw(st.none() | st.lists(item, min_size=count, max_size=count))

    values = draw(st.lists(TEXTS, min_size=count, max_size=count))
    headers = st.lists(st.tuples(st.text(max_size=5), TEXTS), max_size=2)
    topic = draw(st.sampled_from(["a", "b"]))
    return RecordBatch(topic, values, column(TEXTS), column(st.integers(0, 1 << 50)), column(headers))


def records(several: list[RecordBatch]) -> dict[str, list[tuple]]:
    found: dict[str, list[tuple]] = {}
    for batch in several:
        empty = [None] * len(batch)
        rows = zip(batch.values, batch.keys or empty, batch.timestamps or empty, batch.headers or empty, strict=True)
        found.setdefault(batch.topic, []).extend(
            (value, key, stamp, None if headers is None else [tuple(pair) for pair in headers])
            for value, key, stamp, headers in rows
        )
    return found


@given(st.lists(batches(), max_size=12), st.integers(1, 200))
def test_pieces_hold_all_records_of_a_topic_in_their_order(given_batches: list[RecordBatch], size: int) -> None:
    expected = records(given_batches)
    pending = PendingRecords(size)
    for batch in given_batches:
        pending.add([msgspec.msgpack.decode(msgspec.msgpack.encode(batch), type=RecordBatch)])
    taken = [batch for piece in pending.take() for batch in msgspec.msgpack.decode(piece, type=list[RecordBatch])]
    assert records(taken) == expected
    assert pending.take() == []


def test_small_chunks_become_one_batch() -> None:
    pending = PendingRecords(1 << 20)
    for number in range(100):
        pending.add([RecordBatch("t", [b"%d" % number])])
    [piece] = pending.take()
    [batch] = msgspec.msgpack.decode(piece, type=list[RecordBatch])
    assert batch.values == [b"%d" % number for number in range(100)]


def committable(number: int, writer: str = "w", size: int = 10) -> KafkaCommittable:
    piece = encode_batches([RecordBatch("t", [b"x" * size])])
    return KafkaCommittable(f"id-{writer}", "__commits", writer, number, msgspec.Raw(piece))


def test_a_committable_comes_out_of_a_checkpoint_as_it_went_in() -> None:
    found = decode_committable(msgspec.msgpack.encode(committable(7)))
    assert (found.transactional_id, found.commit_topic, found.writer, found.number) == ("id-w", "__commits", "w", 7)
    assert found.batches() == [RecordBatch("t", [b"x" * 10])]


def test_what_another_sink_prepared_is_refused() -> None:
    with pytest.raises(StateRestoreError, match="not of this version's KafkaSink"):
        decode_committable(msgspec.msgpack.encode({"format": "rekindle-file-1", "pending": "p"}))


def test_committables_are_committed_by_writer_in_the_order_of_their_numbers() -> None:
    found = by_writer([committable(2), committable(1, "v"), committable(1), committable(2)])
    assert [(c.writer, c.transactional_id, [x.number for x in c.committables]) for c in found] == [
        ("w", "id-w", [1, 2]),
        ("v", "id-v", [1]),
    ]


def test_what_a_marker_covers_is_left_out() -> None:
    [commits] = by_writer([committable(5), committable(6), committable(7)])
    assert commits.after(0) == commits
    left = commits.after(6)
    assert left is not None
    assert [x.number for x in left.committables] == [7]
    assert commits.after(7) is None
    assert commits.after(9) is None


def test_a_transaction_is_bounded_and_never_empty() -> None:
    several = [committable(number, size=100) for number in range(1, 8)]
    groups = [[x.number for x in group] for group in in_transactions(several, 250)]
    assert [number for group in groups for number in group] == list(range(1, 8))
    assert {len(group) for group in groups} == {1, 2}
    assert [[x.number for x in group] for group in in_transactions(several[:2], 1)] == [[1], [2]]
    assert list(in_transactions([], 250)) == []


def test_transactional_ids_differ_by_prefix_lineage_and_subtask() -> None:
    ids = {transactional_id(prefix, lineage, n) for prefix in "pq" for lineage in ("a", "b") for n in range(3)}
    assert len(ids) == 12
    assert transactional_id("p", "a", 1) == f"p-{lineage_hash('a')}-1"


def test_a_record_that_kafka_would_refuse_is_refused_when_it_is_written() -> None:
    require_size(RecordBatch("t", [b"x" * 60, None, b"x" * 100], [b"y" * 40, None, None]), 100)
    with pytest.raises(RecordTooLargeError, match=r"'t' has 101 bytes.*max\.request\.size"):
        require_size(RecordBatch("t", [b"x" * 60, b"x" * 61], [b"y", b"y" * 40]), 100)
    with pytest.raises(RecordTooLargeError):
        require_size(RecordBatch("t", [b"x" * 101]), 100)


def test_headers_count_in_the_size_of_a_record() -> None:
    batch = RecordBatch("t", [b"v", b"v"], headers=[[], [("name", b"x" * 50), ("other", b"x" * 50)]])
    with pytest.raises(RecordTooLargeError, match="has 130 bytes"):
        require_size(batch, 100)
    require_size(batch, 130)
    assert batch.size() > 130


def test_headers_count_in_the_size_of_what_is_pending() -> None:
    pending = PendingRecords(1000)
    pending.add([RecordBatch("t", [b"x"], headers=[[("h", b"z" * 1000)]])])
    pending.add([RecordBatch("t", [b"x"], headers=[[]])])
    assert len(pending.take()) == 2
