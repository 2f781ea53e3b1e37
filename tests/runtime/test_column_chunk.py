"""Chunks of columns: rows are made of them when they are asked for, each once."""

from __future__ import annotations

import gc

import pyarrow as pa

from rekindle.columns.shapes import Shape
from rekindle.runtime.column_chunk import ColumnChunk


def pairs() -> ColumnChunk:
    k, v = pa.array([1, 2, 3]), pa.array(["a", None, "c"])
    return ColumnChunk([k, v], Shape.row(["k", "v"]), [k])


def test_rows_come_one_by_one_and_are_those_of_the_list() -> None:
    one_by_one = list(pairs().each())

    assert one_by_one == pairs().values == [(1, "a"), (2, None), (3, "c")]
    assert [row.v for row in one_by_one] == ["a", None, "c"]
    assert [type(row) for row in one_by_one] == [type(row) for row in pairs().values]


def test_a_row_is_gone_when_the_next_one_comes() -> None:
    rows = iter(pairs().each())
    kind = type(next(rows))

    next(rows)

    assert sum(type(known) is kind for known in gc.get_objects()) == 0


def test_rows_that_are_there_are_not_made_again() -> None:
    chunk = pairs()

    assert all(first is second for first, second in zip(chunk.values, chunk.each(), strict=True))


def test_a_key_that_is_a_field_is_the_same_object_also_in_a_part() -> None:
    k = pa.array([2**40 + place for place in range(4)])
    chunk = ColumnChunk([k], Shape.row(["k"]), [k]).cut(1, 3)

    assert chunk.keys == [2**40 + 1, 2**40 + 2]
    assert all(key is row.k for key, row in zip(chunk.keys, chunk.each(), strict=True))


def test_records_that_are_no_rows_come_as_they_are() -> None:
    numbers = pa.array([1, 2])

    assert list(ColumnChunk([numbers], Shape.value()).each()) == [1, 2]
    assert list(ColumnChunk([numbers, numbers], Shape.tuple(2)).each()) == [(1, 1), (2, 2)]
