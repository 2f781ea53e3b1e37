"""Values of every type that Spark has something for go to Arrow and come back as they were."""

from __future__ import annotations

import datetime
import pickle
from dataclasses import dataclass
from decimal import Decimal
from enum import Enum
from typing import Any, NamedTuple

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyspark.sql import types as t
from pyspark.sql.pandas.types import to_arrow_type

from rekindle.columns.python_values import column_values
from rekindle.common import Types
from rekindle.common.time import Instant
from rekindle.common.typeinfo import TypeInformation
from rekindle.common.types import Row
from rekindle.contracts.declared_types import declared_type
from rekindle.contracts.windowing.serializers import TimeWindowSerializer
from rekindle.datastream.window import TimeWindow
from rekindle.exceptions import ConfigurationError
from rekindle.serialization import PickleSerializer
from rekindle.serialization.serializer_of import serializer_of
from rekindle.state.key_text import keys_meant
from rekindle.state.plain_values import as_json
from rekindle.state_processor.routing import Column, ColumnPairs, checked_keys
from rekindle.state_processor.spark_types import column_of, converter_to
from rekindle.types.type_serializer import TypeSerializer

LONGS = st.integers(-(2**63), 2**63 - 1)
MICROSECONDS = st.datetimes(datetime.datetime(1700, 1, 1), datetime.datetime(2200, 1, 1))


class Color(Enum):
    RED = 1
    GREEN = 2


class Point(NamedTuple):
    x: int
    label: str


@dataclass
class Order:
    number: int
    price: float
    color: Color
    tags: list[str]
    note: str | None = None


def row(number: int, text: str) -> Row:
    made = Row(number, text)
    made.set_field_names(["number", "text"])
    return made


CASES: dict[str, tuple[Any, Any]] = {
    "LONG": (Types.LONG(), LONGS),
    "INT": (Types.INT(), st.integers(-(2**31), 2**31 - 1)),
    "SHORT": (Types.SHORT(), st.integers(-(2**15), 2**15 - 1)),
    "STRING": (Types.STRING(), st.text()),
    "BOOLEAN": (Types.BOOLEAN(), st.booleans()),
    "DOUBLE": (Types.DOUBLE(), st.floats(allow_nan=False)),
    "BIG_INT": (Types.BIG_INT(), st.integers(-(10**37), 10**37)),
    "BIG_DEC": (Types.BIG_DEC(), st.decimals(-(10**15), 10**15, places=3)),
    "bytes": (Types.PRIMITIVE_ARRAY(Types.BYTE()), st.binary()),
    "SQL_DATE": (Types.SQL_DATE(), st.dates(datetime.date(1700, 1, 1))),
    "SQL_TIMESTAMP": (
        Types.SQL_TIMESTAMP(),
        MICROSECONDS.map(lambda at: at.replace(microsecond=at.microsecond // 1000 * 1000)),
    ),
    "INSTANT": (Types.INSTANT(), st.integers(-(10**9), 4 * 10**9).map(lambda at: Instant(at, 123_456_000))),
    "datetime": (datetime.datetime, MICROSECONDS),
    "timedelta": (datetime.timedelta, st.timedeltas(datetime.timedelta(-9999), datetime.timedelta(9999))),
    "enum": (Color, st.sampled_from(Color)),
    "list": (Types.LIST(Types.LONG()), st.lists(LONGS)),
    "set": (set[int], st.sets(st.integers(-(10**30), 10**30))),
    "map": (Types.MAP(Types.STRING(), Types.LONG()), st.dictionaries(st.text(), st.none() | LONGS)),
    "tuple": (Types.TUPLE([Types.LONG(), Types.LIST(Types.STRING())]), st.tuples(LONGS, st.lists(st.text()))),
    "named tuple": (Point, st.builds(Point, st.integers(-(10**20), 10**20), st.text())),
    "ROW": (Types.ROW_NAMED(["number", "text"], [Types.LONG(), Types.STRING()]), st.builds(row, LONGS, st.text())),
    "dataclass": (
        Order,
        st.builds(
            Order,
            st.integers(0, 10**20),
            st.floats(allow_nan=False),
            st.sampled_from(Color),
            st.lists(st.text()),
            st.none() | st.text(),
        ),
    ),
    "pickled": (Types.PICKLED_BYTE_ARRAY(), st.sampled_from([{"any": (1, Color.RED)}, [1, "a"], 7])),
}


def serializer(given_type: Any) -> TypeSerializer[Any]:
    declared = given_type if isinstance(given_type, TypeInformation) else declared_type(given_type, "test")
    assert declared is not None
    return serializer_of(declared)


def through_arrow(serializer: TypeSerializer[Any], values: list[Any]) -> list[Any]:
    column = column_of(serializer)
    array = pa.array([column.to_spark(value) for value in values], to_arrow_type(column.data_type, timezone="UTC"))
    return [column.from_spark(value) for value in column_values(pa.chunked_array([array]))]


@pytest.mark.parametrize("name", list(CASES))
def test_values_come_back_as_they_were(name: str) -> None:
    kind, strategy = CASES[name]
    own = serializer(kind)

    @settings(max_examples=25)
    @given(st.lists(strategy, max_size=5))
    def check(values: list[Any]) -> None:
        assert through_arrow(own, values) == values

    check()


def test_decimals_keep_their_value() -> None:
    assert through_arrow(serializer(Types.BIG_DEC()), [Decimal("1.50")]) == [Decimal("1.5")]


def test_windows_come_back() -> None:
    assert through_arrow(TimeWindowSerializer(), [TimeWindow(1, 2)]) == [TimeWindow(1, 2)]


def test_a_given_schema_takes_what_fits() -> None:
    names = {"number": t.LongType(), "price": t.DoubleType(), "tags": t.ArrayType(t.StringType())}
    convert = converter_to(t.StructType([t.StructField(name, kind) for name, kind in names.items()]))
    wanted = {"number": 1, "price": 2.0, "tags": ["a"]}
    assert convert(Order(1, 2.0, Color.RED, ["a"])) == wanted
    assert convert({"tags": ("a",), "price": 2, "number": 1}) == wanted
    assert convert((1, 2, ["a"])) == wanted


@pytest.mark.parametrize(
    ("kind", "text", "meant"),
    [
        (Types.LONG(), "7", [7]),
        (Types.STRING(), "7", ["7"]),
        (Types.DOUBLE(), "0.5", [0.5]),
        (Types.LONG(), "seven", []),
        (Types.TUPLE([Types.LONG(), Types.STRING()]), '[7, "a"]', [(7, "a")]),
        (Point, '{"x": 7, "label": "a"}', [Point(7, "a")]),
        (datetime.date, "2024-02-29", [datetime.date(2024, 2, 29)]),
        (Types.TUPLE([Types.LONG()]), "[" * 4000, []),
        (Types.PICKLED_BYTE_ARRAY(), "[" * 4000, ["[" * 4000]),
        (Types.PICKLED_BYTE_ARRAY(), "7", ["7", 7]),
        (Types.PICKLED_BYTE_ARRAY(), "a b", ["a b"]),
        (Types.PICKLED_BYTE_ARRAY(), '[1, ["a", null]]', ['[1, ["a", null]]', (1, ("a", None))]),
    ],
)
def test_keys_are_typed_as_their_type_is_written(kind: Any, text: str, meant: list[Any]) -> None:
    assert keys_meant(text, serializer(kind)) == meant


def test_values_become_json() -> None:
    order = Order(1, float("inf"), Color.RED, ["a"])
    assert as_json(order) == {"number": 1, "price": "inf", "color": "RED", "tags": ["a"], "note": None}
    assert as_json({("a", 1): b"\0"}) == [[["a", 1], {"bytes": "00"}]]
    assert as_json(row(1, "a")) == {"number": 1, "text": "a"}
    assert as_json((datetime.date(2024, 2, 29), Decimal("1.50"), Point(1, "x"))) == [
        "2024-02-29",
        "1.50",
        {"x": 1, "label": "x"},
    ]


def test_columns_of_pickles_are_unpickled_when_they_are_written() -> None:
    keys, lists = [("a", 1), None], [[{"any": 1}, "thing"], []]
    batch = pa.RecordBatch.from_pydict(
        {
            "key": [pickle.dumps(key) for key in keys],
            "value": [[pickle.dumps(element) for element in elements] for elements in lists],
            "plain": [b"\0", b""],
        }
    )
    untyped = PickleSerializer()
    pairs = ColumnPairs(Column("key", untyped, pickled=True), (Column("value", untyped, pickled=True),), untyped)
    assert pairs(batch) == (keys, lists)
    assert Column("plain", untyped).values(batch) == [b"\0", b""]


def test_several_columns_are_a_key_of_its_type() -> None:
    batch = pa.RecordBatch.from_pydict({"user": ["a"], "day": [datetime.date(2024, 2, 29)], "value": [True]})
    key = serializer(Types.TUPLE([Types.STRING(), Types.SQL_DATE()]))
    columns = (Column("user", serializer(Types.STRING())), Column("day", serializer(Types.SQL_DATE())))
    pairs = ColumnPairs(columns, (Column("value", serializer(Types.LONG())),), key)
    assert pairs(batch) == ([("a", datetime.date(2024, 2, 29))], [True])


def test_keys_that_cannot_be_keys_are_refused() -> None:
    with pytest.raises(ConfigurationError, match="is not hashable"):
        checked_keys([[1]], PickleSerializer())
