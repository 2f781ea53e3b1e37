"""Rows of splits: each to the subtask that follows its split, and none from behind the split's end."""

from __future__ import annotations

import random

import pyarrow as pa
import pytest

from rekindle.graph.splits import Split, split_owner
from rekindle.runtime.column_chunk import ColumnChunk
from rekindle.runtime.exchange.payload import Passed, decode_all
from rekindle.runtime.exchange.split_routes import SplitEnds, SplitRoute
from support.kafka_tables import SCHEMA, read
from support.seeds import SEED


def offsets(batches: list[pa.RecordBatch]) -> list[int]:
    return [offset for batch in batches for offset in batch.column("offset").to_pylist()]


def batch(split: Split, first: int, count: int) -> pa.RecordBatch:
    return read(split[1], [(b"x", 0)] * count, split[0], first)


@pytest.mark.parametrize("parallelism", [1, 2, 3, 8])
def test_the_splits_of_a_topic_are_dealt_out_evenly(parallelism: int) -> None:
    owners = [split_owner(("topic", number), parallelism) for number in range(4 * parallelism)]
    assert all(owners.count(subtask) == 4 for subtask in range(parallelism))


def test_a_split_ends_exactly_at_its_offset_whatever_batches_it_comes_in() -> None:
    print("seed", SEED)
    draw = random.Random(SEED)
    for _ in range(50):
        first, end, batches = draw.randint(0, 50), draw.randint(0, 120), []
        at = first
        for count in (draw.randint(0, 30) for _ in range(4)):
            batches.append(batch(("t", 1), at, count))
            at += count
        kept = list(SplitEnds({("t", 1): end, ("t", 2): 10_000}).cut(iter(batches)))
        assert offsets(kept) == [offset for offset in range(first, at) if offset < end]


def test_offsets_with_gaps_are_cut_at_the_right_place() -> None:
    table = pa.Table.from_batches([batch(("t", 0), offset, 1) for offset in (0, 5, 9, 20)])
    (rows,) = table.combine_chunks().to_batches()
    assert offsets(list(SplitEnds({("t", 0): 9}).cut(iter([rows])))) == [0, 5]


def test_a_split_without_an_end_of_its_own_gives_nothing() -> None:
    assert list(SplitEnds({("t", 1): 7}).cut(iter([batch(("t", 2), 0, 3)]))) == []


def test_rows_go_to_the_owner_of_their_split_and_are_counted() -> None:
    route = SplitRoute(edge=5, parallelism=4, ends=SplitEnds({("t", 3): 4}))
    empty = pa.RecordBatch.from_pylist([], SCHEMA)
    tasks = [batch(("t", 3), 0, 2), empty, batch(("t", 3), 2, 3)]
    sent = [envelope for envelopes in route.envelopes(iter(tasks), 1, 0) for envelope in envelopes]
    assert {(edge, target) for edge, target, _ in sent} == {(5, split_owner(("t", 3), 4))}
    (first,), (second,), (told,) = (decode_all(bytearray(payload)) for _, _, payload in sent)
    assert isinstance(first, ColumnChunk)
    assert isinstance(second, ColumnChunk)
    assert (first.rows, second.rows) == (2, 2)
    assert told == Passed([4], [])
    assert list(route.envelopes(iter([empty]), 1, 0)) == []
