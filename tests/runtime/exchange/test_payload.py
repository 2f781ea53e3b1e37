"""Payloads: whatever Python object crosses an exchange comes out as it went in."""

from __future__ import annotations

import datetime
import decimal
import enum
import math
import pickle
import pickletools
from dataclasses import dataclass
from typing import Any, NamedTuple

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql import Row as SparkRow

from rekindle.columns.pipeline import KeyedRows
from rekindle.columns.shapes import Shape
from rekindle.common.types import Row, RowKind
from rekindle.exceptions import SerializationError
from rekindle.runtime.chunk import Chunk
from rekindle.runtime.exchange.arrow_batches import encode_batch, encode_rows
from rekindle.runtime.exchange.object_lists import Form, read_objects, write_objects
from rekindle.runtime.exchange.payload import (
    Progress,
    decode,
    encode_chunk,
    encode_progress,
    is_batch,
)
from rekindle.types.spark_rows import is_schema_row, row_class, row_maker


class Point(NamedTuple):
    x: int
    y: int


@dataclass
class Event:
    name: str
    at: int


def crossed(chunk: Chunk) -> Chunk:
    received = decode(bytearray(encode_chunk(chunk)))
    assert isinstance(received, Chunk)
    return received


def types_in(value: Any) -> Any:
    """Return the type of a value, and those of what it holds."""
    parts: list[Any] = []
    if isinstance(value, tuple | list | Row):
        parts = list(value)
    elif isinstance(value, dict):
        parts = [*value, *value.values()]
    elif isinstance(value, Event | Frozen | Plain) and not isinstance(value, WithState):
        parts = list(vars(value).values())
    return type(value), [types_in(part) for part in parts]


def assert_crosses(values: list[Any]) -> None:
    keys, timestamps = [f"key-{i}" for i in range(len(values))], list(range(len(values)))
    for given_keys, given_timestamps in ((None, None), (keys, timestamps), (keys, None), (None, timestamps)):
        received = crossed(Chunk(values, given_timestamps, given_keys))  # type: ignore[arg-type]
        assert received.values == values
        assert list(map(types_in, received.values)) == list(map(types_in, values))
        assert (received.keys, received.timestamps) == (given_keys, given_timestamps)


SCHEMA_ROW = row_maker(("name", "amount"))

CHUNKS: dict[str, list[Any]] = {
    "integers": [1, 2, 3],
    "strings": ["a", "", "Grüße"],
    "none": [None],
    "tuples": [(1, "a"), (2, "b")],
    "tuples of one": [(1,), (2,)],
    "tuples with none": [(None, 1), (2, None)],
    "empty tuples": [(), ()],
    "an empty tuple among others": [(), (1,), (1, 2)],
    "tuples of different lengths": [(1,), (1, 2)],
    "tuples in tuples": [((1, 2), [3]), ((4, 5), [6])],
    "tuples and others": [(1, 2), [1, 2], "x"],
    "named tuples": [Point(1, 2), Point(3, 4)],
    "named tuples and tuples": [Point(1, 2), (3, 4)],
    "rows of Spark": [SparkRow(a=1, b=2), SparkRow(b=1, c=2)],
    "rows of a schema": [SCHEMA_ROW(("a", 1)), SCHEMA_ROW(("b", None))],
    "rows of two schemas": [SCHEMA_ROW(("a", 1)), row_maker(("other",))((5,))],
    "rows and tuples": [SCHEMA_ROW(("a", 1)), ("a", 1)],
    "rows of Rekindle": [Row(a=1, b=2), Row(3, 4)],
    "dataclasses": [Event("a", 1), Event("b", 2)],
    "dicts and lists": [{"a": [1, {2}]}, [b"x"]],
}


class Level(enum.IntEnum):
    LOW = 1


class Text(str):
    """A string that is more than one."""


class Plain:
    def __init__(self, **attributes: Any) -> None:
        self.__dict__.update(attributes)

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.__dict__ == other.__dict__

    __hash__ = None  # type: ignore[assignment]


@dataclass(frozen=True)
class Frozen:
    name: str
    at: int | None = None


@dataclass(slots=True)
class Slotted:
    name: str


class Guarded(Plain):
    """An attribute of the instance hides behind a property of the same name."""

    @property
    def name(self) -> str:
        return str(self.__dict__["name"]).upper()


class WithState(Plain):
    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "stored": True}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, WithState) and {**self.__dict__, "stored": 1} == {**other.__dict__, "stored": 1}


class Dictionary(dict[str, Any]):
    """A dict with attributes."""


CHUNKS.update(
    {
        "booleans among integers": [True, 1, False, 0],
        "tuples of booleans and integers": [(True, 1), (0, False)],
        "integers of 64 bits and beyond": [-(2**63), 2**64 - 1, 2**64, -(2**63) - 1],
        "an integer beyond 64 bits in a tuple": [(1, 2**70), (2, 3)],
        "half of a surrogate pair": ["\ud800", "a"],
        "half of a surrogate pair in a tuple": [("\ud800", 1), ("a", 2)],
        "bytes": [b"", b"\xff"],
        "lists": [[1, "a", None], []],
        "lists of lists": [[[1]], [[2]]],
        "members of an enum": [Level.LOW, Level.LOW],
        "an enum in a tuple": [(Level.LOW, 1), (1, 2)],
        "strings that are more than strings": [Text("a"), "b"],
        "a string that is more in a tuple": [("a", 1), (Text("b"), 2)],
        "times in tuples": [(datetime.datetime(2024, 1, 1), decimal.Decimal("1.10"))],
        "instances of a frozen dataclass": [Frozen("a"), Frozen("b", 2)],
        "instances with slots": [Slotted("a"), Slotted("b")],
        "instances of a plain class": [Plain(a=1, b="x"), Plain(a=2, b=None)],
        "instances with other attributes": [Plain(a=1), Plain(b=1)],
        "instances without attributes": [Plain(), Plain()],
        "instances that hold more than plain values": [Plain(a=1), Plain(a=[1])],
        "instances with attributes named like keywords": [Plain(**{"class": 1, "not a name": 2})],
        "instances with properties": [Guarded(name="a"), Guarded(name="b")],
        "instances that say what their state is": [WithState(a=1), WithState(a=2)],
        "instances that are dicts": [Dictionary(a=1), Dictionary(b=2)],
        "rows of Rekindle with names": [Row(a=1, b="x"), Row(a=2, b=None)],
        "rows of Rekindle with other names": [Row(a=1), Row(b=1)],
        "rows of Rekindle of another kind": [Row(1), Row.of_kind(RowKind.DELETE, 2)],
        "rows of Rekindle in rows": [Row(Row(1)), Row(Row(2))],
    }
)


@pytest.mark.parametrize("values", CHUNKS.values(), ids=CHUNKS)
def test_records_keys_and_timestamps_come_out_as_they_went_in(values: list[Any]) -> None:
    assert_crosses(values)


LEAVES = st.none() | st.integers() | st.text(max_size=5) | st.floats(allow_nan=False) | st.booleans()


@given(st.lists(st.one_of(LEAVES, st.lists(LEAVES, max_size=3).map(tuple), st.lists(LEAVES, max_size=3)), min_size=1))
def test_any_mixture_of_records_comes_out_as_it_went_in(values: list[Any]) -> None:
    assert_crosses(values)


@given(st.integers(1, 4).flatmap(lambda width: st.lists(st.tuples(*[LEAVES] * width), min_size=1)))
def test_tuples_of_one_length_come_out_as_they_went_in(values: list[Any]) -> None:
    assert_crosses(values)


NESTED = [(number, {"a": number}) for number in range(1_000)]


@pytest.mark.parametrize("values", [NESTED, list(map(SCHEMA_ROW, NESTED))], ids=["tuples", "rows"])
def test_tuples_and_rows_of_a_schema_are_pickled_as_columns(values: list[Any]) -> None:
    """Pickling a few lists is what makes the exchange fast: no tuple may be pickled for each record."""
    _, data = write_objects(values)
    operations = [opcode.name for opcode, _, _ in pickletools.genops(data)]
    assert sum(name.startswith("TUPLE") for name in operations) < 10
    assert_crosses(values)


@pytest.mark.parametrize(
    ("values", "form"),
    [
        ([1, "a", None, 0.5, True, b"x"], Form.PLAIN),
        ([(1, "a"), (2, None, 3)], Form.TUPLES),
        ([[1], []], Form.LISTS),
        (CHUNKS["rows of a schema"], Form.ROWS),
        (CHUNKS["rows of Rekindle with names"], Form.FLINK_ROWS),
        (CHUNKS["dataclasses"], Form.INSTANCES),
        (CHUNKS["instances of a frozen dataclass"], Form.INSTANCES),
    ],
    ids=lambda value: getattr(value, "name", None),
)
def test_plain_values_and_what_holds_nothing_else_cross_without_pickle(values: list[Any], form: Form) -> None:
    assert write_objects(values)[0] is form


def test_numbers_cross_to_the_last_bit() -> None:
    form, data = write_objects([math.nan, -0.0, 5e-324, math.inf])
    assert form is Form.PLAIN
    nan, *others = read_objects(form, memoryview(data))
    assert math.isnan(nan)
    assert list(map(str, others)) == ["-0.0", "5e-324", "inf"]


@given(st.lists(st.tuples(st.text(max_size=3), st.integers(0, 3), st.integers(0, 3)), min_size=1), st.integers(0, 3))
def test_keys_that_are_fields_of_their_records_come_out_as_they_went_in(values: list[Any], position: int) -> None:
    keys = [value[position] if position < 3 else number for number, value in enumerate(values)]
    received = crossed(Chunk(values, None, keys))
    assert (received.values, received.keys) == (values, keys)


def test_keys_that_are_fields_of_their_records_are_sent_once() -> None:
    values = [(f"a long key of record {number}", number) for number in range(100)]
    keyed = encode_chunk(Chunk(values, None, [value[0] for value in values]))
    assert len(keyed) < len(encode_chunk(Chunk(values))) + 10


def test_keys_that_are_fields_of_some_records_only_come_out_as_they_went_in() -> None:
    key = "the key"
    for values in ([(key, 1), (key,)], [(1, key), (2,)], [(1, key), 5], [(key, 1), ["x"]]):
        received = crossed(Chunk(list(values), None, [key, key]))
        assert (received.values, received.keys) == (values, [key, key])


def test_a_record_that_cannot_be_pickled_raises() -> None:
    with pytest.raises(SerializationError, match="cannot pickle 'generator' object"):
        encode_chunk(Chunk([(number for number in range(3))]))


@pytest.mark.parametrize("progress", [Progress(3, -(1 << 63), False), Progress(0, (1 << 63) - 1, True)])
def test_word_of_progress_comes_out_as_it_went_in(progress: Progress) -> None:
    assert decode(bytearray(encode_progress(progress))) == progress


class TestBatches:
    def rows(self, batch: pa.RecordBatch, key: tuple[int, ...] = (), single_key: bool = True) -> Chunk:
        columns = list(batch.columns)
        keys = [columns[place] for place in key]
        rows = KeyedRows(columns, Shape.row(batch.schema.names), keys, None, batch.num_rows)
        payload = bytearray(encode_rows(rows, single_key, None)[0][1] if key else encode_batch(batch))
        assert is_batch(payload)
        received = decode(payload)
        assert isinstance(received, Chunk)
        return received

    def test_rows_are_those_of_the_batch_nulls_included(self) -> None:
        columns: dict[str, list[Any]] = {
            "number": [1, None, 3],
            "whole": [1, 2, 3],
            "ratio": [0.5, None, float("inf")],
            "text": ["a", None, ""],
            "flag": [True, None, False],
            "bytes": [b"x", None, b""],
            "day": [datetime.date(2024, 1, 2), None, datetime.date(1, 1, 1)],
            "at": [datetime.datetime(2024, 1, 2, 3), None, datetime.datetime(1970, 1, 1)],
            "price": [decimal.Decimal("1.10"), None, decimal.Decimal("2.00")],
            "list": [[1, None], None, []],
            "nothing": [None, None, None],
        }
        received = self.rows(pa.RecordBatch.from_pydict(columns))
        assert [row.asDict() for row in received.values] == [
            {name: column[i] for name, column in columns.items()} for i in range(3)
        ]
        assert received.keys is None

    @pytest.mark.parametrize(
        ("kind", "python"),
        [(pa.int8(), int), (pa.int64(), int), (pa.uint64(), int), (pa.float32(), float), (pa.bool_(), bool)],
        ids=str,
    )
    def test_numbers_are_those_of_python_with_nulls_and_without(self, kind: pa.DataType, python: type) -> None:
        for values in ([1, 0], [1, None]):
            received = self.rows(pa.RecordBatch.from_arrays([pa.array(values).cast(kind)], ["x"]))
            assert [row.x for row in received.values] == values
            assert {type(row.x) for row in received.values if row.x is not None} == {python}

    def test_a_batch_without_rows_is_an_empty_chunk(self) -> None:
        assert self.rows(pa.RecordBatch.from_pydict({"x": pa.array([], pa.int64())})).values == []

    def test_a_slice_of_a_batch_gives_its_own_rows_only(self) -> None:
        batch = pa.RecordBatch.from_pydict({"x": list(range(10))}).slice(3, 2)
        assert [row.x for row in self.rows(batch).values] == [3, 4]

    def test_a_key_of_one_column_is_the_value_of_the_column(self) -> None:
        batch = pa.RecordBatch.from_pydict({"n": [1, 2], "user": ["ada", None]})
        assert self.rows(batch, key=(1,)).keys == ["ada", None]

    def test_a_key_of_several_columns_is_a_tuple_in_the_order_of_the_key(self) -> None:
        batch = pa.RecordBatch.from_pydict({"n": [1, 2], "user": ["ada", "bob"]})
        assert self.rows(batch, key=(1, 0), single_key=False).keys == [("ada", 1), ("bob", 2)]
        assert self.rows(batch, key=(1,), single_key=False).keys == [("ada",), ("bob",)]

    def test_other_payloads_are_no_batches(self) -> None:
        assert not is_batch(bytearray(encode_chunk(Chunk([1]))))
        assert not is_batch(bytearray(encode_progress(Progress(0, 0, False))))


class TestSchemaRows:
    def test_a_field_is_found_by_name_and_by_position(self) -> None:
        row = SCHEMA_ROW(("ada", 3))
        assert (row.name, row["amount"], row[0]) == ("ada", 3, "ada")
        name, amount = row
        assert (name, amount) == ("ada", 3)
        assert row.asDict() == {"name": "ada", "amount": 3}

    def test_a_field_that_is_not_there_raises_as_spark_does(self) -> None:
        row = SCHEMA_ROW(("ada", 3))
        with pytest.raises(AttributeError):
            _ = row.missing
        with pytest.raises(Exception, match="missing"):
            _ = row["missing"]

    @pytest.mark.parametrize("field", ["my field", "count", "index", "class", "1st", "_private", "Grüße"])
    def test_a_field_with_any_name_is_found_by_it(self, field: str) -> None:
        row = row_maker(("first", field))((1, 2))
        assert row[field] == 2
        if field not in ("count", "index"):  # methods of every tuple, as in Spark
            assert getattr(row, field) == 2

    def test_a_row_is_shown_and_compared_as_a_row_of_spark(self) -> None:
        row = SCHEMA_ROW(("ada", 3))
        assert row == SparkRow(name="ada", amount=3)
        assert hash(row) == hash(SparkRow(name="ada", amount=3))
        assert repr(row) == repr(SparkRow(name="ada", amount=3))
        assert isinstance(row, SparkRow)

    def test_a_row_cannot_be_changed(self) -> None:
        with pytest.raises((AttributeError, RuntimeError)):
            SCHEMA_ROW(("ada", 3)).name = "bob"  # type: ignore[attr-defined]

    def test_a_pickled_row_comes_back_as_a_row_of_the_same_schema(self) -> None:
        row = SCHEMA_ROW(("ada", [3]))
        again = pickle.loads(pickle.dumps(row, 5))
        assert again == row
        assert type(again) is type(row)
        assert again.amount == [3]

    def test_rows_of_one_schema_share_a_class(self) -> None:
        assert row_class(("a", "b")) is row_class(("a", "b"))
        assert row_class(("a", "b")) is not row_class(("b", "a"))

    def test_only_rows_made_here_are_schema_rows(self) -> None:
        assert is_schema_row(row_class(("a",)))
        assert not is_schema_row(SparkRow)
        assert not is_schema_row(tuple)
