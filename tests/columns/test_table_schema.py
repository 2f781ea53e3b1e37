"""Which columns the records of a type make."""

from __future__ import annotations

import datetime
import enum
import uuid
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, NamedTuple

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rekindle.columns.table_rows import TableRows
from rekindle.columns.table_schema import NoColumnError, table_schema, with_nullable_parts
from rekindle.common import Types
from rekindle.types.annotations import as_type_info
from rekindle.types.native_typeinfo import NativeTypeInfo
from rekindle.types.type_information import TypeInformation


class Colour(enum.Enum):
    RED = 1


@dataclass
class Place:
    name: str
    at: tuple[float, float]


@dataclass
class Everything:
    place: Place | None
    count: int
    amount: Decimal
    day: datetime.date
    moment: datetime.datetime
    colour: Colour
    id: uuid.UUID
    tags: set[str]
    by_name: dict[str, int]
    data: bytes


class Struct(msgspec.Struct):
    x: int
    y: float | None = None


class Named(NamedTuple):
    a: str
    b: int


@dataclass
class Odd:
    fine: int
    anything: Any


def columns(type_info: TypeInformation) -> dict[str, pa.DataType]:
    schema = table_schema(type_info)
    return {field.name: field.type for field in schema}


def test_fields_of_rows_and_tuples() -> None:
    row = Types.ROW_NAMED(["a", "b"], [Types.STRING(), Types.INT()])
    assert columns(row) == {"a": pa.string(), "b": pa.int32()}
    assert columns(Types.TUPLE([Types.LONG(), row])) == {
        "f0": pa.int64(),
        "f1": pa.struct([("a", pa.string()), ("b", pa.int32())]),
    }


def test_fields_of_classes() -> None:
    place = pa.struct([("name", pa.string()), ("at", pa.struct([("f0", pa.float64()), ("f1", pa.float64())]))])
    assert columns(as_type_info(Everything, "")) == {
        "place": place,
        "count": pa.int64(),
        "amount": pa.decimal128(38, 18),
        "day": pa.date32(),
        "moment": pa.timestamp("us"),
        "colour": pa.string(),
        "id": pa.string(),
        "tags": pa.list_(pa.string()),
        "by_name": pa.map_(pa.string(), pa.int64()),
        "data": pa.binary(),
    }
    assert columns(as_type_info(Struct, "")) == {"x": pa.int64(), "y": pa.float64()}
    assert columns(as_type_info(Named, "")) == {"a": pa.string(), "b": pa.int64()}


@pytest.mark.parametrize(
    ("type_info", "kind"),
    [
        (Types.STRING(), pa.string()),
        (Types.BIG_INT(), pa.int64()),
        (Types.INSTANT(), pa.timestamp("us", "UTC")),
        (Types.SQL_DATE(), pa.date32()),
        (Types.SQL_TIMESTAMP(), pa.timestamp("us")),
        (Types.SQL_TIME(), pa.string()),
        (Types.LIST(Types.INT()), pa.list_(pa.int32())),
        (Types.MAP(Types.STRING(), Types.DOUBLE()), pa.map_(pa.string(), pa.float64())),
        (Types.PRIMITIVE_ARRAY(Types.FLOAT()), pa.list_(pa.float32())),
        (Types.OBJECT_ARRAY(Types.STRING()), pa.list_(pa.string())),
    ],
    ids=str,
)
def test_what_has_no_fields_is_one_column(type_info: TypeInformation, kind: pa.DataType) -> None:
    assert columns(type_info) == {"value": kind}


def test_a_part_of_a_column_may_be_null() -> None:
    part = pa.struct([pa.field("n", pa.int64(), nullable=False)])
    fields = [("one", part), ("many", pa.list_(part)), ("by_name", pa.map_(pa.string(), part))]
    schema = with_nullable_parts(pa.schema([pa.field(name, kind, nullable=False) for name, kind in fields]))
    assert not any(field.nullable for field in schema)
    rows = TableRows(schema).batch([({"n": None}, [None, {"n": 1}], {"a": None, "b": (None,)})])
    stream = pa.BufferOutputStream()
    pq.write_table(pa.Table.from_batches([rows]), stream)
    [row] = pq.read_table(pa.BufferReader(stream.getvalue())).to_pylist()
    assert row == {"one": {"n": None}, "many": [None, {"n": 1}], "by_name": [("a", None), ("b", {"n": None})]}


def test_a_field_without_a_form_is_named() -> None:
    with pytest.raises(NoColumnError, match="field 'anything': it may be any Python object"):
        table_schema(as_type_info(Odd, ""))
    with pytest.raises(NoColumnError, match=r"field 'f0': .*timedelta"):
        table_schema(Types.TUPLE([NativeTypeInfo(datetime.timedelta)]))
