"""Records as rows of a table: by name, by place, nested, and what is said of those that do not fit."""

from __future__ import annotations

import datetime
import enum
import uuid
from collections import namedtuple
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, NamedTuple

import msgspec
import pyarrow as pa
import pytest

from rekindle.base.time import Instant
from rekindle.columns.table_rows import TableRows
from rekindle.exceptions import SerializationError
from rekindle.types.row import Row
from rekindle.types.spark_rows import row_maker

VISITS = pa.schema([("user", pa.string()), ("pages", pa.int64())])


@dataclass
class Visit:
    user: str
    pages: int


class VisitStruct(msgspec.Struct):
    pages: int
    user: str


class VisitTuple(NamedTuple):
    pages: int
    user: str


class Place:
    """Has neither column."""


class Colour(enum.Enum):
    RED = 1


Plain = namedtuple("Plain", ["user", "pages"])


def rows(records: list[Any], schema: pa.Schema = VISITS) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = TableRows(schema).batch(records).to_pylist()
    return found


@pytest.mark.parametrize(
    "record",
    [
        ("ann", 3),
        ["ann", 3],
        Row("ann", 3),
        Row(pages=3, user="ann"),
        {"pages": 3, "user": "ann", "other": 1},
        Visit("ann", 3),
        VisitStruct(3, "ann"),
        VisitTuple(3, "ann"),
        Plain("ann", 3),
        row_maker(("user", "pages"))(("ann", 3)),
        row_maker(("pages", "user"))((3, "ann")),
    ],
    ids=lambda record: type(record).__name__,
)
def test_records_of_every_kind_give_their_columns(record: Any) -> None:
    expected = {"user": "ann", "pages": 3}
    assert rows([record, record]) == [expected, expected]
    assert rows([record, ("bob", 1), record]) == [expected, {"user": "bob", "pages": 1}, expected], "among others"


def test_a_value_is_the_only_column() -> None:
    assert rows([1, None, 3], pa.schema([("value", pa.int64())])) == [{"value": 1}, {"value": None}, {"value": 3}]
    assert rows(["a"], pa.schema([("value", pa.string())])) == [{"value": "a"}]


def test_what_a_dict_does_not_have_is_none() -> None:
    assert rows([{"user": "ann"}]) == [{"user": "ann", "pages": None}]


def test_nested_records_are_structs_lists_and_maps() -> None:
    inner = pa.struct([("user", pa.string()), ("pages", pa.int64())])
    schema = pa.schema(
        [
            ("one", inner),
            ("many", pa.list_(inner)),
            ("by_name", pa.map_(pa.string(), inner)),
            ("tags", pa.list_(pa.string())),
        ]
    )
    visit, expected = Visit("ann", 3), {"user": "ann", "pages": 3}
    records = [
        (visit, [visit, ("ann", 3), None], {"a": VisitTuple(3, "ann"), "b": None}, {"x"}),
        (None, None, None, None),
        ({"user": "ann", "pages": 3}, [], {}, ()),
    ]
    assert rows(records, schema) == [
        {
            "one": expected,
            "many": [expected, expected, None],
            "by_name": [("a", expected), ("b", None)],
            "tags": ["x"],
        },
        {"one": None, "many": None, "by_name": None, "tags": None},
        {"one": expected, "many": [], "by_name": [], "tags": []},
    ]


def test_values_that_arrow_does_not_know_are_made_simpler() -> None:
    schema = pa.schema(
        [
            ("colour", pa.string()),
            ("id", pa.string()),
            ("at", pa.timestamp("us", "UTC")),
            ("time", pa.string()),
            ("amount", pa.decimal128(38, 18)),
            ("colours", pa.list_(pa.string())),
        ]
    )
    number = uuid.uuid4()
    record = (Colour.RED, number, Instant(1, 5_000), datetime.time(1, 2), Decimal("1.5"), [Colour.RED])
    [row] = rows([record], schema)
    assert row == {
        "colour": "RED",
        "id": str(number),
        "at": datetime.datetime(1970, 1, 1, 0, 0, 1, 5, tzinfo=datetime.UTC),
        "time": "01:02:00",
        "amount": Decimal("1.5"),
        "colours": ["RED"],
    }


@pytest.mark.parametrize(
    ("record", "problem"),
    [
        (("ann", "3"), r"column 'pages' \(int64\) cannot hold '3' \(str\): its type is not int64, in record"),
        (("ann", 2**63), r"column 'pages' \(int64\) cannot hold 9223372036854775808 \(int\)"),
        (("ann", 1.5), r"column 'pages' \(int64\) cannot hold 1.5 \(float\)"),
        ((b"ann" * 1000, 1), r"… \(bytes\).*, in record .*…\. The table has columns user string, pages int64"),
        (("ann",), r"there are 1 fields, and not 2, in record \('ann',\)"),
        (Row(user="ann"), r"there is no column 'pages', in record Row\(user='ann'\)"),
        (7, r"a int is one value, and not 2 columns, in record 7"),
        (object(), r"a object is one value, and not 2 columns"),
        (Place(), r"there is no column 'user'"),
        (("ann", True), r"column 'pages' \(int64\) cannot hold True \(bool\): its type is not int64"),
        ((b"ann", 1), r"column 'user' \(string\) cannot hold b'ann' \(bytes\)"),
    ],
)
def test_a_record_that_does_not_fit_is_named_with_its_column(record: Any, problem: str) -> None:
    with pytest.raises(SerializationError, match=problem):
        rows([("bob", 1), record, ("eve", 2)])


def test_nothing_is_cut_to_fit() -> None:
    for value, kind in [
        (datetime.datetime(2026, 1, 1, 12), pa.date32()),
        (1_700_000_000, pa.timestamp("us")),
        (1.5, pa.decimal128(10, 2)),
        ([1.5], pa.list_(pa.int64())),
    ]:
        with pytest.raises(SerializationError, match="column 'value'"):
            rows([(value,)], pa.schema([("value", kind)]))


def test_a_column_that_may_not_be_none_says_so() -> None:
    schema = pa.schema([pa.field("user", pa.string(), nullable=False), pa.field("pages", pa.int64())])
    with pytest.raises(SerializationError, match=r"column 'user' \(string\) cannot hold None .*it may not be None"):
        rows([("ann", 1), (None, 2)], schema)


def test_records_are_not_shown_where_they_are_private() -> None:
    with pytest.raises(SerializationError) as caught:
        TableRows(VISITS, show_records=False).batch([("secret", "hidden")])
    assert "column 'pages'" in str(caught.value)
    assert "secret" not in str(caught.value)
    assert "hidden" not in str(caught.value)
