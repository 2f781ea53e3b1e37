"""Changes of Debezium as rows of a changelog."""

from __future__ import annotations

import json
import pickle
from decimal import Decimal
from typing import Any

import pytest

from rekindle.common import Row, RowKind, Types
from rekindle.datastream.formats.json import DebeziumJsonDeserializationSchema
from rekindle.exceptions import NotSupportedError, SerializationError

TYPE = Types.ROW_NAMED(["id", "name", "weight"], [Types.INT(), Types.STRING(), Types.BIG_DEC()])
INSERT, BEFORE, AFTER, DELETE = RowKind.INSERT, RowKind.UPDATE_BEFORE, RowKind.UPDATE_AFTER, RowKind.DELETE


def table_row(number: int, name: str) -> dict[str, Any]:
    return {"id": number, "name": name, "weight": 1.25}


def change(op: str, before: Any = None, after: Any = None) -> bytes:
    return json.dumps({"before": before, "after": after, "op": op, "source": {"db": "shop"}, "ts_ms": 1}).encode()


def row(kind: RowKind, number: int, name: str) -> Row:
    return Row.of_kind(kind, id=number, name=name, weight=Decimal("1.25"))


MESSAGES = [
    change("r", after=table_row(1, "a")),
    change("c", after=table_row(2, "b")),
    change("u", table_row(1, "a"), table_row(1, "c")),
    change("d", table_row(2, "b")),
    b"",
    change("c", after=table_row(3, "d")),
]
ROWS = [row(INSERT, 1, "a"), row(INSERT, 2, "b"), row(BEFORE, 1, "a"), row(AFTER, 1, "c"), row(DELETE, 2, "b")]
ROWS += [row(INSERT, 3, "d")]


@pytest.mark.parametrize("included", [False, True])
def test_a_change_is_one_row_or_two(included: bool) -> None:
    schema = pickle.loads(pickle.dumps(DebeziumJsonDeserializationSchema(TYPE, schema_include=included)))
    wrap = b'{"schema":{"type":"struct"},"payload":%s}' if included else b"%s"
    messages = [wrap % message if message else message for message in MESSAGES]
    assert schema.deserialize_all([*messages, None]) == (ROWS, [0, 1, 2, 2, 3, 5])
    assert schema.deserialize_all([]) == ([], [])
    assert schema.get_produced_type() == TYPE


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        (change("u", None, table_row(1, "a")), 'The "before" field of UPDATE message is null.*IDENTITY to FULL level'),
        (change("d"), 'The "before" field of DELETE message is null.*IDENTITY to FULL level'),
        (change("t"), 'Unknown "op" value "t"'),
        (change("c"), "expected an object"),
        (change("c", after={"id": "x"}), "'x' is not a whole number"),
        (b"nope", "Expecting value"),
        (b"[]", "expected an object"),
        (b'{"schema":{},"payload":{"op":"c"}}', "set schema_include=True"),
    ],
)
def test_what_is_not_a_change_is_refused_or_skipped(message: bytes, reason: str) -> None:
    with pytest.raises(SerializationError, match=f"Corrupt Debezium JSON message[^$]*{reason}"):
        DebeziumJsonDeserializationSchema(TYPE).deserialize_all([MESSAGES[0], message])
    lenient = DebeziumJsonDeserializationSchema(TYPE, ignore_parse_errors=True)
    rows, origins = lenient.deserialize_all([MESSAGES[0], message, MESSAGES[3]])
    if "whole number" in reason:  # only the field is lost
        assert (rows, origins) == ([ROWS[0], Row(id=None, name=None, weight=None), ROWS[4]], [0, 1, 2])
    else:
        assert (rows, origins) == ([ROWS[0], ROWS[4]], [0, 2])


def test_an_envelope_without_a_schema_is_not_taken_for_one_with_it() -> None:
    with pytest.raises(SerializationError, match="is schema_include right"):
        DebeziumJsonDeserializationSchema(TYPE, schema_include=True).deserialize_all(MESSAGES)


def test_a_single_message_cannot_be_one_record() -> None:
    with pytest.raises(NotSupportedError, match="deserialize_all"):
        DebeziumJsonDeserializationSchema(TYPE).deserialize(MESSAGES[0])


def test_half_a_pair_of_surrogates_does_not_reach_what_cannot_encode_it() -> None:
    message = change("c", after=table_row(1, "a\ud800\U0001f600"))
    rows, _ = DebeziumJsonDeserializationSchema(TYPE).deserialize_all([message])
    assert rows == [row(INSERT, 1, "a?\U0001f600")]
