"""Rows of a DataFrame whose keys a function computes: they cross the exchange as the columns they came in."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any

import pyarrow as pa
import pytest

from rekindle.columns.shapes import Shape
from rekindle.graph.job_graph import JobEdge
from rekindle.graph.partitioning import Partitioner, Partitioning
from rekindle.runtime.chunk import Chunk
from rekindle.runtime.column_chunk import ColumnChunk
from rekindle.runtime.exchange.edge_serializers import EdgeSerializers
from rekindle.runtime.exchange.key_routes import KeyRoutes
from rekindle.runtime.exchange.payload import decode, is_batch
from rekindle.runtime.exchange.writers import Envelope, HashWriter
from rekindle.runtime.slot.failed_record import failed_record
from rekindle.serialization.serializer_of import serializer_of
from rekindle.state.key_hash import key_group_of
from rekindle.types.native_typeinfo import NativeTypeInfo, NullableTypeInfo
from rekindle.types.spark_rows import row_maker
from rekindle.types.spark_typeinfo import SparkRowTypeInfo
from rekindle.types.typeinfo import Types

ROWS = 100
NAMES = ("number", "text", "at")
ROW_TYPE = SparkRowTypeInfo(
    NAMES, [NullableTypeInfo(each) for each in (Types.LONG(), Types.STRING(), NativeTypeInfo(datetime))]
)


def rows() -> ColumnChunk:
    number = pa.array([None if place % 7 == 3 else 2**40 + place for place in range(ROWS)])
    text = pa.array([f"row {place}" for place in range(ROWS)])
    at = pa.array([datetime(2026, 1, 1, 0, 0, place % 60) for place in range(ROWS)], pa.timestamp("us"))
    return ColumnChunk([number, text, at], Shape.row(NAMES))


def writer(selector: Callable[[Any], Any]) -> HashWriter:
    edge = JobEdge(0, 0, 1, 0, Partitioner(Partitioning.HASH, selector), exchange=True, type_info=ROW_TYPE)
    (serializers,) = EdgeSerializers.of([edge])
    return HashWriter(edge, 2, KeyRoutes(2, 128), "the counter", serializers)


def arrived(envelopes: list[Envelope]) -> list[list[tuple[Any, Any]]]:
    targets: list[list[tuple[Any, Any]]] = [[], []]
    for _, target, payload in envelopes:
        chunk = decode(bytearray(payload), serializer_of(ROW_TYPE))
        assert isinstance(chunk, Chunk)
        assert chunk.keys is not None
        targets[target] += zip(chunk.keys, chunk.values, strict=True)
    return targets


def expected(selector: Callable[[Any], Any]) -> list[list[tuple[Any, Any]]]:
    targets: list[list[tuple[Any, Any]]] = [[], []]
    for row in rows().values:
        targets[key_group_of(selector(row), 128) * 2 // 128].append((selector(row), row))
    return targets


@pytest.mark.parametrize(
    "selector",
    [lambda row: row.text[-1], lambda row: len(row.text), lambda row: hash(row.at) if row.number is None else 7],
    ids=["text", "number", "some of one, one of all"],
)
def test_each_row_arrives_where_its_key_belongs_in_order(selector: Callable[[Any], Any]) -> None:
    writing = writer(selector)

    envelopes = writing.write(rows()) + writing.flush()

    assert all(is_batch(bytearray(payload)) for _, _, payload in envelopes)
    assert arrived(envelopes) == expected(selector)
    assert [type(row) for part in arrived(envelopes) for _, row in part] == [type(rows().values[0])] * ROWS


@pytest.mark.parametrize(
    "selector",
    [
        lambda row: (row.text, 1),
        lambda row: row.number is None,
        lambda row: row.number,
        lambda row: 2**64,
        lambda row: "\ud800",
        lambda row: 1.0 if row.number is None else 1,
    ],
    ids=["tuples", "truth values", "none among them", "large", "half a character", "of two types"],
)
def test_keys_that_make_no_column_go_with_the_rows_as_objects(selector: Callable[[Any], Any]) -> None:
    writing = writer(selector)

    envelopes = writing.write(rows()) + writing.flush()

    assert not any(is_batch(bytearray(payload)) for _, _, payload in envelopes)
    assert arrived(envelopes) == expected(selector)


def test_rows_that_wait_for_a_target_leave_before_columns_for_it() -> None:
    writing = writer(lambda row: 1)
    make = row_maker(NAMES)
    waiting = Chunk([make((1, "first", None))])

    assert writing.write(waiting) == []
    first, *later = writing.write(rows())

    assert not is_batch(bytearray(first[2]))
    assert [is_batch(bytearray(payload)) for _, _, payload in later] == [True]
    assert writing.flush() == []


def test_the_row_is_known_whose_key_could_not_be_computed() -> None:
    with pytest.raises(TypeError) as raised:
        writer(lambda row: row.number + 1).write(rows())

    record = failed_record(raised.value)

    assert record is not None
    assert "text='row 3'" in record.text
